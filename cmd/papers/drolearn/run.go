// SPDX-License-Identifier: Apache-2.0

package drolearn

import (
	"context"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Learner is a Bayes or a Descent.
type Learner interface {
	// Releases is how many numbers with noise a person enters.
	Releases() int
	// learn takes what the rows to train say, without noise.
	learn(train []bool) trial
}

// trial is one split. It is not safe for concurrent use.
type trial interface {
	// draw adds noise and returns the shares of errors among training rows and the others.
	draw(r *rand.Rand, n Noise) (in, out float64)
}

// Options tune a Run.
type Options struct {
	Splits, Draws int
	// Progress, if not nil, is told how many splits are done; by one goroutine at a time.
	Progress func(done int)
}

// Errors are the shares of errors with one noise, in the splits: the mean over the draws.
type Errors struct {
	Noise   string
	In, Out []float64
}

// Run splits a set at random, a fifth of the rows being kept for the test, and learns with
// each noise so many times. Splits and draws are a function of the name and the seed of the set, and are
// the same for all noises; without noise naive Bayes needs one draw. All cores work.
func Run(ctx context.Context, s *Set, l Learner, noises []Noise, o Options) ([]Errors, error) {
	out := make([]Errors, len(noises))
	for k, n := range noises {
		out[k] = Errors{n.Name, make([]float64, o.Splits), make([]float64, o.Splits)}
	}
	var lock sync.Mutex
	done := 0
	err := Each(ctx, o.Splits, func(ctx context.Context, split int) error {
		t := l.learn(s.split(split))
		for k, n := range noises {
			draws := o.Draws
			if _, exact := l.(*Bayes); exact && n.Name == None.Name {
				draws = 1
			}
			for draw := range draws {
				if ctx.Err() != nil {
					break
				}
				in, test := t.draw(s.random(split, draw+1), n)
				out[k].In[split] += in / float64(draws)
				out[k].Out[split] += test / float64(draws)
			}
		}
		if o.Progress != nil {
			lock.Lock()
			defer lock.Unlock()
			done++
			o.Progress(done)
		}
		return nil
	})
	return out, err
}

// Each calls do with 0 to n−1 on all cores, until one fails or the context ends: the error is that.
func Each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var workers sync.WaitGroup
	var next atomic.Int64
	for range min(runtime.GOMAXPROCS(0), n) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if err := do(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	workers.Wait()
	return context.Cause(ctx)
}

// Gradients runs a Descent of one split without noise several times, and passes every
// component of the sum of gradients that noise would be added to.
func (d *Descent) Gradients(ctx context.Context, runs int, each func(gradient float64)) (rows int, err error) {
	f := d.fit(d.set.split(0))
	f.each = each
	for run := range runs {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		f.descend(d.set.random(0, run+1), None)
	}
	return len(f.labels), nil
}

// random is the source of a draw in a split; the draw 0 is the split itself.
func (s *Set) random(split, draw int) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s.Recipe.Name))
	return rand.New(rand.NewPCG(h.Sum64()+uint64(split), s.Seed<<32+uint64(draw))) //nolint:gosec // a study, the same for a seed
}

// split says which rows train.
func (s *Set) split(number int) []bool {
	train := make([]bool, s.Rows)
	for _, i := range s.random(number, 0).Perm(s.Rows)[s.Rows/5:] {
		train[i] = true
	}
	return train
}

// Estimate is a mean over splits with its standard error, as if splits were independent.
type Estimate struct{ Mean, Error float64 }

// NewEstimate returns the mean of the splits.
func NewEstimate(splits []float64) Estimate {
	if len(splits) < 2 {
		return Estimate{stat.Mean(splits, nil), math.NaN()}
	}
	mean, deviation := stat.MeanStdDev(splits, nil)
	return Estimate{mean, deviation / math.Sqrt(float64(len(splits)))}
}

// Test is a paired t test of two noises over the splits.
type Test struct {
	Difference Estimate // of the first less the second
	T, P       float64  // P two-sided
}

// Paired tests two noises for equal errors. Where all differences are equal T is 0 or infinite.
func Paired(a, b []float64) Test {
	differences := make([]float64, len(a))
	for i := range a {
		differences[i] = a[i] - b[i]
	}
	d := NewEstimate(differences)
	t := Test{Difference: d, P: 1}
	if d.Mean != 0 && !math.IsNaN(d.Error) {
		t.T = d.Mean / d.Error
		t.P = 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(len(a) - 1)}.CDF(-math.Abs(t.T))
	}
	return t
}
