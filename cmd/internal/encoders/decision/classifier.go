// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/regress"
	"github.com/noisewright/noisewright/internal/check"
)

const (
	folds = 5
	// mostTuned is of how many people the penalty is chosen: it is a number for all of them.
	mostTuned, mostTunedNumbers = 5000, 1 << 20
	// mostNumbers is how many features of people there may be for a fit in each fold.
	mostNumbers = 1 << 24
)

// penalties times the squares of the weights, of the log-odds for two classes, over twice the people, are
// added to the mean loss, of features of variance 1: half decades, as is usual.
var penalties = []float64{10000, 3000, 1000, 300, 100, 30, 10, 3, 1, 0.3}

// classifier is a network whose outputs are scores of the classes for features as they are, and
// what it says of people whom it was not fitted to.
type classifier struct {
	name string
	net  *dense.Network
	// unseen are scores of the people of rows, from networks that were fitted without them.
	unseen people
	rows   []int
	fold   []int // of each of the rows
}

// parts are numbers of a part for each person, of each class alike.
func parts(labels []int, count int, seed uint64, purpose string) []int {
	order := encoders.Rand(seed, purpose, 0).Perm(len(labels))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(labels[a], labels[b]) })
	part := make([]int, len(labels))
	for i, person := range order {
		part[person] = i % count
	}
	return part
}

// divided returns those in a part, and the others.
func divided(part []int, k int) (in, out []int) {
	for i, p := range part {
		if p == k {
			in = append(in, i)
		} else {
			out = append(out, i)
		}
	}
	return in, out
}

// fitter fits a network to some people.
type fitter func(ctx context.Context, x dense.Matrix, labels []int) (*dense.Network, error)

// Outer divides people for a judgment of what was chosen otherwise: those to train on again, and a
// fifth to judge it.
func (p *Prepared) Outer() (rest, held []int) {
	held, rest = divided(parts(p.data.Target.Labels, folds, p.options.Seed, "outer"), 0)
	return rest, held
}

// train fits a classifier, and what it says of people it has not seen: of all in turn, or where that
// would take long of a part of them, which the classifier is then fitted without.
func train(ctx context.Context, d *encoders.Data, name string, seed uint64, fit fitter) (*classifier, error) {
	labels, k := d.Target.Labels, len(d.Target.Classes)
	part := parts(labels, folds, seed, "folds")
	c := &classifier{name: name, unseen: people{scores: dense.Matrix{Cols: k, Stride: k}}}
	held := folds
	if len(d.X.Data) > mostNumbers {
		held = 1
	}
	for f := range held {
		in, out := divided(part, f)
		net, err := fit(ctx, dense.Pick(d.X, out), dense.Chosen(labels, out))
		if err != nil {
			return nil, err
		}
		scores := net.Forward(&dense.Pass{}, dense.Pick(d.X, in))
		c.unseen.scores.Data = append(c.unseen.scores.Data, scores.Data...)
		c.unseen.labels = append(c.unseen.labels, dense.Chosen(labels, in)...)
		c.rows, c.net = append(c.rows, in...), net
	}
	c.unseen.scores.Rows = len(c.rows)
	var err error
	if held > 1 {
		if c.net, err = fit(ctx, d.X, labels); err != nil {
			return nil, err
		}
	}
	if !check.Finite(c.unseen.scores.Data...) || !check.Finite(c.net.Params()...) {
		return nil, check.Errorf("decision", nil, "the scores of the %s are not finite, want features of one scale", name)
	}
	c.fold = parts(c.unseen.labels, folds, seed, "laws")
	return c, nil
}

// scalings are how features are brought to the variance 1: each, or all together.
func scalings(x dense.Matrix) []dense.Scaling {
	each := dense.Standardize(x)
	_, deviations := dense.Moments(x)
	scale := math.Sqrt(floats.Dot(deviations, deviations) / float64(len(deviations)))
	if scale == 0 {
		scale = 1
	}
	return []dense.Scaling{each, {Mean: each.Mean, Scale: slices.Repeat([]float64{scale}, x.Cols)}}
}

// regression is how logistic regression is fitted.
type regression struct {
	classes int
	scaling int     // of scalings
	penalty float64 // of penalties
}

func (r regression) fit(x dense.Matrix, labels []int, iterations int, start *regress.Softmax) (*dense.Network, *regress.Softmax, error) {
	scaling, penalty := scalings(x)[r.scaling], r.penalty
	if r.classes == 2 {
		penalty *= 2 // regress takes the weights of the classes, ∓ half of those of the log-odds
	}
	s, err := regress.FitSoftmax(scaling.Apply(x), labels, r.classes, regress.Options{
		Ridge: penalty / float64(x.Rows), Bias: true, MajorIterations: iterations, Start: start,
	})
	if err != nil {
		return nil, nil, check.Errorf("decision", nil, "%w", err)
	}
	n := dense.MLP(x.Cols, nil, dense.Identity, r.classes)
	copy(n.Layers[0].Weights.Data, s.Weights.Data)
	copy(n.Layers[0].Bias, s.Bias)
	return scaling.Raw(n), s, nil
}

// logistic trains a logistic regression, with the scaling and the penalty of the least cross entropy
// on people it was not fitted to.
func logistic(ctx context.Context, d *encoders.Data, seed uint64, progress func(done, of int)) (*classifier, error) {
	labels := d.Target.Labels
	some := encoders.Rand(seed, "tuning", 0).Perm(len(labels))
	some = some[:min(len(some), mostTuned, max(mostTunedNumbers/d.X.Cols, 200))]
	tried := folds
	if len(d.X.Data) > mostNumbers {
		tried = 1
	}
	x, y := dense.Pick(d.X, some), dense.Chosen(labels, some)
	part := parts(y, folds, seed, "tuning folds")
	losses := map[regression]float64{}
	r, done := regression{classes: len(d.Target.Classes)}, 0
	for r.scaling = range 2 {
		for f := range tried {
			in, out := divided(part, f)
			var start *regress.Softmax
			for _, r.penalty = range penalties {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				net, s, err := r.fit(dense.Pick(x, out), dense.Chosen(y, out), 30, start)
				if err != nil {
					return nil, err
				}
				start = s
				scores := net.Forward(&dense.Pass{}, dense.Pick(x, in))
				losses[r] += float64(len(in)) * dense.CrossEntropy(scores, dense.Chosen(y, in), dense.Matrix{})
			}
			done++
			progress(done, 2*tried)
		}
	}
	best := r
	for r, loss := range losses {
		if loss < losses[best] || loss == losses[best] && (r.penalty > best.penalty || r.penalty == best.penalty && r.scaling < best.scaling) {
			best = r
		}
	}
	return train(ctx, d, Logistic, seed, func(_ context.Context, x dense.Matrix, labels []int) (*dense.Network, error) {
		iterations := 100
		if len(x.Data) > mostNumbers {
			iterations = 60
		}
		net, _, err := best.fit(x, labels, iterations, nil)
		return net, err
	})
}

// trained trains a network with hidden layers of ReLUs by Adam on batches of people.
func trained(ctx context.Context, d *encoders.Data, hidden []int, seed uint64, progress func(done, of int)) (*classifier, error) {
	const batch = 128
	done := 0
	return train(ctx, d, fmt.Sprintf("network %v", hidden), seed, func(ctx context.Context, x dense.Matrix, labels []int) (*dense.Network, error) {
		scaling := scalings(x)[0]
		z := scaling.Apply(x)
		n := dense.NewLearner(dense.MLP(x.Cols, hidden, dense.ReLU, len(d.Target.Classes)), dense.Adam{WeightDecay: 1e-3})
		n.Init(encoders.Rand(seed, "network", 0))
		steps := min(max(6*x.Rows/batch, 300), 4000)
		var order []int
		r := encoders.Rand(seed, "batches", 0)
		for step := range steps {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if len(order) == 0 {
				order = shuffled(r, x.Rows)
			}
			some := order[:min(batch, len(order))]
			order = order[len(some):]
			n.Adam.Rate = 5e-3 * (1 - 0.95*float64(step)/float64(steps))
			of := dense.Chosen(labels, some)
			n.Fit(dense.Pick(z, some), dense.NewMatrix(len(some), n.Out()), func(out, d dense.Matrix) float64 { return dense.CrossEntropy(out, of, d) })
		}
		done++
		progress(done, folds+1)
		return scaling.Raw(n.Network), nil
	})
}

func shuffled(r *rand.Rand, n int) []int { return r.Perm(n) }
