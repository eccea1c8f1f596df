// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/proof"
)

func randomLaw(r *rand.Rand, cells, classes int) law {
	p, sum := make(law, cells), 0.0
	for i := range p {
		p[i] = make([]float64, classes)
		for l := range p[i] {
			p[i][l] = math.Pow(r.Float64(), 3) + 1e-3
			sum += p[i][l]
		}
	}
	for i := range p {
		floats.Scale(1/sum, p[i])
	}
	return p
}

// TestDesignIsBest: by the prices of the programme no column of all 2^m is worth more than it costs, so no
// mechanism has less cross entropy; the certificate of the randomizer says the same of its own costs,
// in exact arithmetic.
func TestDesignIsBest(t *testing.T) {
	ctx, r := context.Background(), rand.New(rand.NewPCG(3, 1))
	for _, size := range [][2]int{{2, 2}, {4, 2}, {8, 2}, {3, 3}, {6, 3}, {8, 4}, {12, 2}} {
		for _, epsilon := range []float64{0.1, 1, 3, 8, 20, 60} {
			p := randomLaw(r, size[0], size[1])
			c, _, err := design(ctx, p, min(epsilon, mostEpsilon))
			if err != nil {
				t.Fatal(err)
			}
			for set := range 1 << size[0] {
				high := make([]bool, size[0])
				for i := range high {
					high[i] = set>>i&1 == 1
				}
				if gain := c.gain(c.newColumn(high)); gain > 1e-6 {
					t.Errorf("%v, epsilon %g: the set %b gains %g", size, epsilon, set, gain)
				}
			}
			v, err := newRandomizer(ctx, p, epsilon)
			if err != nil {
				t.Fatalf("%v, epsilon %g: %v", size, epsilon, err)
			}
			loss, _ := v.Certificate().MeanLoss.Float64()
			bound, _ := v.Certificate().LowerBound.Float64()
			if epsilon <= mostEpsilon && !(loss-bound <= 1e-5*loss) { // beyond the prices are those of less

				t.Errorf("%v, epsilon %g: cross entropy %g above the bound %g", size, epsilon, loss, bound)
			}
			rows := make([][]float64, len(p))
			for i := range rows {
				rows[i] = v.Mechanism().PMF(i)
			}
			ce := 0.0
			for j := range rows[0] {
				value, _ := worth(masses(p, rows, j))
				ce -= value
			}
			if math.Abs(ce-loss) > 1e-9 {
				t.Errorf("%v, epsilon %g: cross entropy %g, certified %g", size, epsilon, ce, loss)
			}
		}
	}
}

// TestDivide compares with all divisions.
func TestDivide(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	entropy := func(mass, right []float64, from, to int) float64 {
		m, a := floats.Sum(mass[from:to]), floats.Sum(right[from:to])
		return -(a*math.Log(a/m) + (m-a)*math.Log((m-a)/m))
	}
	for range 20 {
		const n = 7
		mass, right := make([]float64, n), make([]float64, n)
		for i := range mass {
			mass[i] = 1 + r.Float64()
			right[i] = mass[i] * (0.05 + 0.9*r.Float64())
		}
		total := func(firsts []int) (s float64) {
			ends := append(firsts[1:len(firsts):len(firsts)], n)
			for i, f := range firsts {
				s += entropy(mass, right, f, ends[i])
			}
			return s
		}
		least := math.Inf(1)
		for a := 1; a < n; a++ {
			for b := a + 1; b < n; b++ {
				least = min(least, total([]int{0, a, b}))
			}
		}
		if got := divide(mass, right, 3); len(got) != 3 || got[0] != 0 || math.Abs(total(got)-least) > 1e-12 {
			t.Fatalf("%v has %g, want %g", got, total(got), least)
		}
	}
	if got := divide([]float64{1, 1}, []float64{0, 1}, 5); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("more runs than parts: %v", got)
	}
}

// groups are people of classes around points in the plane; of two classes the second is the rarer.
func groups(n, classes int, seed uint64) *encoders.Data {
	r := rand.New(rand.NewPCG(seed, 9))
	d := &encoders.Data{Features: []string{"a", "b", "c"}, X: dense.NewMatrix(n, 3), Target: encoders.Column{Name: "kind"}}
	for l := range classes {
		d.Target.Classes = append(d.Target.Classes, fmt.Sprintf("kind %d", l))
	}
	for i := range n {
		l := i % classes
		if classes == 2 && i%3 == 0 {
			l = 0
		}
		angle := 2 * math.Pi * float64(l) / float64(classes)
		copy(dense.Row(d.X, i), []float64{1.6*math.Cos(angle) + r.NormFloat64(), 16*math.Sin(angle) + 10*r.NormFloat64(), r.NormFloat64()})
		d.Target.Labels = append(d.Target.Labels, l)
	}
	return d
}

// TestOutOfFoldIsTrue: what trials say of people they have not seen is what new people lose by the bundle,
// within five standard errors of both: a false alarm in a million runs for each. The bundles are proved, and their order is
// as it has to be: no way does worse than no answer.
func TestOutOfFoldIsTrue(t *testing.T) {
	ctx := context.Background()
	for _, classes := range []int{2, 3} {
		if testing.Short() && classes > 2 {
			continue
		}
		p, err := Prepare(ctx, groups(900, classes, 1), Options{Seed: 2})
		if err != nil {
			t.Fatal(err)
		}
		fresh := groups(6000, classes, 7)
		trials, err := p.Search(ctx, 3)
		if err != nil {
			t.Fatal(err)
		}
		if len(trials) != 1+2*4 || trials[0].Kind != NoAnswer {
			t.Fatalf("%d ways, the first %v", len(trials), trials[0])
		}
		for _, trial := range trials {
			b, err := p.Bundle(ctx, trial.Way, 3)
			if err != nil {
				t.Fatal(err)
			}
			v, err := b.Verify(nil)
			if err != nil || v.EpsilonUpper().Cmp(big.NewRat(3, 1)) != 0 || v.DeltaUpper().Sign() != 0 {
				t.Fatalf("%s: proved %v, %v: %v", trial, v.EpsilonUpper(), v.DeltaUpper(), err)
			}
			losses, err := encoders.Losses(ctx, b, nil, fresh, 1, nil)
			if err != nil {
				t.Fatal(err)
			}
			for k, own := range [][]float64{trial.Errors, trial.CrossEntropy} {
				a, sa := Mean(own)
				c, sc := Mean(losses[k].People)
				if math.Abs(a-c) > 5*math.Hypot(sa, sc)+0.01 {
					t.Errorf("%d classes, %s: %s %g ± %g out of fold, %g ± %g of others", classes, trial, losses[k].Name, a, sa, c, sc)
				}
			}
			if trial.Kind != NoAnswer && trial.mean(encoders.MeasureCrossEntropy) > trials[0].mean(encoders.MeasureCrossEntropy)-0.1 {
				t.Errorf("%d classes, %s: cross entropy %g, %g without an answer", classes, trial, trial.mean(encoders.MeasureCrossEntropy), trials[0].mean(encoders.MeasureCrossEntropy))
			}
		}
		for _, measure := range []string{encoders.MeasureError, encoders.MeasureCrossEntropy} {
			ranked := Rank(trials, measure)
			more, standardError := ranked[0].Less(&ranked[1].Expected, measure)
			if len(ranked) != len(trials) || more > standardError {
				t.Errorf("%s: taken is %s, worse by %g ± %g than %s", measure, ranked[0], more, standardError, ranked[1])
			}
		}
	}
}

// TestFilterIsTheRegression: the filter decides as its classifier does.
func TestFilterIsTheRegression(t *testing.T) {
	d := groups(600, 3, 4)
	p, err := Prepare(context.Background(), d, Options{Plain: true})
	if err != nil {
		t.Fatal(err)
	}
	b, err := p.Filter()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Verify(nil); !errors.Is(err, bundle.ErrNoPromise) {
		t.Errorf("a filter: %v", err)
	}
	scores := p.classifiers[0].net.Forward(&dense.Pass{}, d.X)
	for i := range 100 {
		u, err := b.Filter(nil, dense.Row(d.X, i))
		if err != nil {
			t.Fatal(err)
		}
		y, err := b.Decode(nil, u)
		if err != nil {
			t.Fatal(err)
		}
		if want := posterior(dense.Row(scores, i), 1); !floats.EqualApprox(y, want, 1e-9) {
			t.Fatalf("row %d: %v, want %v", i, y, want)
		}
	}
}

// TestCosts: with costs the class is the one of least expected cost by the calibrated scores, and the
// programme shows randomized response on it to be near what any mechanism costs.
func TestCosts(t *testing.T) {
	ctx := context.Background()
	costs := [][]float64{{0, 1}, {7, 0}}
	d := groups(1200, 2, 3)
	p, err := Prepare(ctx, d, Options{Plain: true, Costs: costs})
	if err != nil {
		t.Fatal(err)
	}
	b, err := p.Bundle(ctx, p.Baseline(), 4)
	if err != nil {
		t.Fatal(err)
	}
	c := p.classifiers[0]
	factor := c.unseen.temperature()
	scores, differ := c.net.Forward(&dense.Pass{}, d.X), 0
	for i := range scores.Rows {
		u, err := b.Encode(nil, dense.Row(d.X, i))
		if err != nil {
			t.Fatal(err)
		}
		q := posterior(dense.Row(scores, i), factor)
		want := 0
		if q[0]*costs[0][1] < q[1]*costs[1][0] {
			want = 1
		}
		if math.Abs(q[0]*costs[0][1]-q[1]*costs[1][0]) > 1e-9 && int(u[0]) != want {
			t.Fatalf("row %d: class %v for the posterior %v", i, u[0], q)
		}
		if want == 1 && q[0] > q[1] {
			differ++
		}
	}
	if differ < 20 {
		t.Errorf("the costs change %d classes: the test sees little", differ)
	}
	for _, wrong := range [][][]float64{{{0, 1}}, {{0, 1}, {1}}, {{0, -1}, {1, 0}}, {{0, math.NaN()}, {1, 0}}} {
		if _, err := Prepare(ctx, d, Options{Plain: true, Costs: wrong}); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("costs %v: %v", wrong, err)
		}
	}
}

func TestPrepareRefuses(t *testing.T) {
	ctx := context.Background()
	d := groups(60, 2, 1)
	d.Target = encoders.Column{Name: "y", Values: make([]float64, 60)}
	if _, err := Prepare(ctx, d, Options{}); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("numbers: %v", err)
	}
	d = groups(60, 2, 1)
	d.X.Data[7] = math.NaN()
	if _, err := Prepare(ctx, d, Options{}); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("NaN: %v", err)
	}
	stopped, stop := context.WithCancel(ctx)
	stop()
	if _, err := Prepare(stopped, groups(60, 2, 1), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}

// TestDecisionsAreNotSpent: levels of less cross entropy and more errors than randomized response are taken
// where they have less by two standard errors, or where the errors are less than half a person more.
func TestDecisionsAreNotSpent(t *testing.T) {
	const n = 400
	trials := func(gain, errors float64) []*Trial {
		of := func(w Way, ce, spread, errors float64) *Trial {
			t := &Trial{Way: w}
			for i := range n {
				t.Rows, t.Cost = append(t.Rows, i), append(t.Cost, 0)
				t.Errors, t.CrossEntropy = append(t.Errors, errors), append(t.CrossEntropy, ce+spread*float64(1-i%2*2))
			}
			return t
		}
		return []*Trial{
			of(Way{Kind: Category, Classifier: Logistic}, 1, 0, 0.1),
			of(Way{Kind: Levels, Classifier: Logistic, Cells: 4}, 1-gain/math.Sqrt(n), 1, 0.1+errors), // differences of deviation 1
		}
	}
	for _, c := range []struct {
		gain, errors float64 // in standard errors; for each person
		want         string
	}{
		{0.9, 0, Category}, {1.7, 0, Levels}, {1.7, 0.49 / n, Levels}, {1.7, 0.51 / n, Category}, {1.9, 0.1, Category}, {2.1, 0.1, Levels}, {1.7, -0.1, Levels},
	} {
		list := trials(c.gain, c.errors)
		ranked := Rank(list, encoders.MeasureCrossEntropy)
		if ranked[0].Kind != c.want || len(ranked) != len(list) {
			t.Errorf("%+v: took %s of %d", c, ranked[0].Kind, len(ranked))
		}
	}
}

// TestBeatsSurely: numbers have to be better by two standard errors with one more person who loses what another gains,
// and not by errors.
func TestBeatsSurely(t *testing.T) {
	const n = 80
	of := func(errs, entropy func(i int) float64) *Expected {
		e := &Expected{}
		for i := range n {
			e.Rows, e.Errors, e.CrossEntropy = append(e.Rows, i), append(e.Errors, errs(i)), append(e.CrossEntropy, entropy(i))
		}
		return e
	}
	first := func(k int) func(int) float64 {
		return func(i int) float64 {
			if i < k {
				return 1
			}
			return 0
		}
	}
	for _, c := range []struct {
		wrong, numbersWrong int // people
		gain                float64
		measure             string
		want                bool
	}{
		{0, 0, 0, encoders.MeasureError, false},
		{5, 0, 0, encoders.MeasureError, false},
		{7, 0, 0, encoders.MeasureError, true},
		{0, 5, 0, encoders.MeasureError, false},
		{3, 3, 0.1, encoders.MeasureCrossEntropy, true},
		{3, 4, 0.1, encoders.MeasureCrossEntropy, false},
		{3, 3, 0, encoders.MeasureCrossEntropy, false},
	} {
		own := of(func(i int) float64 { return max(first(c.wrong)(i), 1e-9) }, func(int) float64 { return 0.5 })
		numbers := of(first(c.numbersWrong), func(int) float64 { return 0.5 - c.gain })
		if _, _, beats := numbers.BeatsSurely(own, c.measure); beats != c.want {
			t.Errorf("%+v: %v", c, beats)
		}
	}
}

// TestOwnRandomizer: a randomizer of the classes answers each class by its own law, in whatever order it has them;
// numbered categories stay in their order; others, and one that is not private, are refused.
func TestOwnRandomizer(t *testing.T) {
	made := func(labels ...string) *local.Randomizer {
		const unit = 1 << 61
		s := local.Spec{Epsilon: 2, Objective: local.Mean, Values: local.Values{Kind: local.Category, Labels: labels}, AnswerLabels: []string{"yes", "no"}}
		for i := range labels {
			yes := uint64(2+i) * unit // of 8
			s.Rows, s.Costs = append(s.Rows, []uint64{yes, -yes}), append(s.Costs, []float64{float64(i), 0})
		}
		r, err := local.New(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	classes := []string{"a", "b", "c"}
	for _, c := range []struct {
		labels []string
		want   []float64 // of yes, by class; nil: refused
	}{
		{[]string{"a", "b", "c"}, []float64{2. / 8, 3. / 8, 4. / 8}},
		{[]string{"b", "c", "a"}, []float64{4. / 8, 2. / 8, 3. / 8}},
		{[]string{"c", "b", "a"}, []float64{4. / 8, 3. / 8, 2. / 8}},
		{[]string{"0", "1", "2"}, []float64{2. / 8, 3. / 8, 4. / 8}},
		{[]string{"0", "1", "2", "3", "4", "5"}, []float64{2. / 8, 3. / 8, 4. / 8, 5. / 8, 6. / 8, 7. / 8}},
		{[]string{"a", "b", "d"}, nil},
		{[]string{"1", "0", "2"}, nil},
		{[]string{"0", "1"}, nil},
		{[]string{"0", "1", "2", "3"}, nil},
		{[]string{"a", "b", "c", "d", "e", "f"}, nil},
	} {
		v, err := OwnRandomizer(made(c.labels...), classes)
		if c.want == nil {
			if !errors.Is(err, check.ErrInvalid) || !strings.Contains(err.Error(), "want one of the classes a, b, c, or of categories numbered from 0, a multiple of 3 of them") {
				t.Errorf("%v: %v", c.labels, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%v: %v", c.labels, err)
			continue
		}
		for i, want := range c.want {
			if got := v.Mechanism().PMF(i)[0]; math.Abs(got-want) > 1e-15 {
				t.Errorf("%v: class %d has yes with %g, want %g", c.labels, i, got, want)
			}
			if cost := v.Mechanism().Spec().Costs[i][0]; cost != math.Round(want*8-2) {
				t.Errorf("%v: class %d has the cost %g", c.labels, i, cost)
			}
		}
	}
	s := made("b", "a", "c").Spec()
	s.Epsilon = 0.5
	loud, err := local.New(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OwnRandomizer(loud, classes); !errors.Is(err, proof.ErrNotPrivate) {
		t.Errorf("%v, want %v", err, proof.ErrNotPrivate)
	}
}
