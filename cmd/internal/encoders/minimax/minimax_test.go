// SPDX-License-Identifier: Apache-2.0

package minimax

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/attack"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/latent"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/proof"
)

// people draws six features: the first two tell the target, the next two the private class,
// and there is a number that follows the last two.
func people(seed uint64, rows int) Data {
	const n = 6
	r := rand.New(rand.NewPCG(seed, 1))
	d := Data{Features: []string{"a", "b", "c", "d", "e", "f"}, X: dense.NewMatrix(rows, n)}
	target := Task{Column: encoders.Column{Name: "target", Classes: []string{"no", "yes"}}}
	private := Task{Column: encoders.Column{Name: "private", Classes: []string{"no", "yes"}}}
	for i := range rows {
		t, p := i%2, i/2%2
		target.Labels, private.Labels = append(target.Labels, t), append(private.Labels, p)
		x := dense.Row(d.X, i)
		for j := range x {
			x[j] = 1 + r.NormFloat64()
		}
		for j := range 2 {
			x[j] += 1.5 * float64(2*t-1)
			x[j+2] += 1.5 * float64(2*p-1)
		}
	}
	d.Targets, d.Private = []Task{target}, []Task{private}
	return d
}

// value is the task of telling the sum of the last two features.
func value(d *Data) Task {
	t := Task{Column: encoders.Column{Name: "value", Values: make([]float64, d.X.Rows)}}
	for i := range d.X.Rows {
		x := dense.Row(d.X, i)
		t.Values[i] = 100 + 3*(x[4]+x[5])
	}
	return t
}

func train(t *testing.T, d Data, o Options) *Result {
	t.Helper()
	r, err := Train(t.Context(), d, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// noised adds noise to a filter.
func noised(t *testing.T, r *Result, o NoiseOptions) *Noisy {
	t.Helper()
	n, err := r.AddNoise(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func accuracy(t *testing.T, a attack.Attacker, train, test Task, x, y encoder.Matrix) float64 {
	t.Helper()
	s, err := attack.Guess(t.Context(), a, attack.People{X: x, Target: train.Target()}, attack.People{X: y, Target: test.Target()}, 1)
	if err != nil {
		t.Fatal(err)
	}
	return s.Value
}

// TestGradient compares the gradient of Φ with differences, with the heads as they are.
func TestGradient(t *testing.T) {
	d := people(1, 40)
	d.Targets = append(d.Targets, Reconstruction(d.X))
	d.Private = append(SingleOut(d.Private[0]), value(&d))
	d.Private[0].Weight = 3
	for name, net := range map[string]*dense.Network{
		"linear":  dense.New([]int{6, 2}, []dense.Activation{dense.Identity}),
		"network": newNetwork(6, []int{4}, 2),
	} {
		o := Options{Ridge: 0.01}
		if name == "network" {
			o.Hidden = []int{4}
		}
		o.fill()
		net.Init(encoders.Rand(1, name, 0))
		if name == "linear" {
			clear(net.Layers[0].Bias)
		}
		tr := newTrainer(&o, d.X, net, &d)
		if _, err := tr.answer(); err != nil {
			t.Fatal(err)
		}
		tr.gradient()
		for i := range net.Params() {
			const h = 1e-5
			at := net.Params()[i]
			difference := 0.0
			for _, sign := range []float64{1, -1} {
				net.Params()[i] = at + sign*h
				difference += sign * tr.phi(net.Forward(&dense.Pass{}, d.X), false) / (2 * h)
			}
			net.Params()[i] = at
			if name == "linear" && i >= 12 {
				difference = 0 // there is no bias
			}
			if math.Abs(difference-tr.grad[i]) > 1e-6*(1+math.Abs(difference)) {
				t.Errorf("%s: derivative %d = %g, want %g", name, i, tr.grad[i], difference)
			}
		}
	}
}

// TestMinimaxHides wants the target told and the private class hidden by all filters that
// know of it, and found by those that do not. Bayes' error of either class is 0.017.
func TestMinimaxHides(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	learn, test := people(1, 400), people(2, 1000)
	for name, c := range map[string]struct {
		o      Options
		target float64 // at least
		hidden bool
	}{
		"minimax":        {Options{Coordinates: 3, Steps: 30}, 0.95, true},
		"no intercept":   {Options{Coordinates: 3, Steps: 30, NoIntercept: true, Standardize: true}, 0.95, true},
		"network":        {Options{Hidden: []int{8}, Coordinates: 3, Steps: 150, Rho: 3}, 0.93, true},
		"closed form":    {Options{Method: ClosedForm, Coordinates: 1}, 0.95, true},
		"privacy lds":    {Options{Method: LDS, Coordinates: 2}, 0.7, true},
		"ppls":           {Options{Method: PPLS, Coordinates: 1}, 0.9, true},
		"pca":            {Options{Method: PCA, Coordinates: 3}, 0.9, false},
		"random":         {Options{Method: Random, Coordinates: 6}, 0.95, false},
		"mask":           {Options{Method: Masked, Mask: []float64{1, 1, 0, 0, 1, 1}}, 0.95, true},
		"mask of target": {Options{Method: Masked, Mask: []float64{0, 0, 1, 1, 1, 1}}, 0, false},
	} {
		r := train(t, learn, c.o)
		x, y := r.Encode(learn.X), r.Encode(test.X)
		target := accuracy(t, attack.Linear, learn.Targets[0], test.Targets[0], x, y)
		private := accuracy(t, attack.Linear, learn.Private[0], test.Private[0], x, y)
		t.Logf("%s: target %.3f, private %.3f, objective %g", name, target, private, r.Objective)
		if target < c.target {
			t.Errorf("%s: target %g, want at least %g", name, target, c.target)
		}
		if hidden := private < 0.65; hidden != c.hidden {
			t.Errorf("%s: private %g, want hidden %v", name, private, c.hidden)
		}
	}
}

// TestLinearFilters has the identities that define them.
func TestLinearFilters(t *testing.T) {
	d := people(3, 300)
	x := toMat(d.X)
	orthonormal := func(name string, u *mat.Dense) {
		var g mat.Dense
		g.Mul(u.T(), u)
		_, k := u.Dims()
		for i := range k {
			for j := range k {
				want := 0.0
				if i == j {
					want = 1
				}
				if math.Abs(g.At(i, j)-want) > 1e-9 {
					t.Errorf("%s: columns %d and %d have the product %g", name, i, j, g.At(i, j))
				}
			}
		}
	}
	orthonormal("random", randomFilter(6, 4, encoders.Rand(1, "test", 0)))
	u, err := topVectors(gram(x), 3)
	if err != nil {
		t.Fatal(err)
	}
	orthonormal("pca", u)
	// xᵀx·u = u·diagonal, largest first.
	var along mat.Dense
	along.Mul(gram(x), u)
	last := math.Inf(1)
	for j := range 3 {
		value := mat.Dot(u.ColView(j), along.ColView(j))
		var rest mat.VecDense
		rest.AddScaledVec(along.ColView(j), -value, u.ColView(j))
		if mat.Norm(&rest, 2) > 1e-8*value || value > last {
			t.Errorf("pca: column %d is no eigenvector, or out of order", j)
		}
		last = value
	}
	// Privacy LDS: the mean of the private classes is the same in every coordinate.
	u, err = discriminant(centered(x), &d, 5)
	if err != nil {
		t.Fatal(err)
	}
	c := crossScatter(centered(x), d.Private, func(float64) float64 { return 1 })
	var quadratic mat.Dense
	quadratic.Mul(c, u)
	for j := range 5 {
		if v := mat.Dot(u.ColView(j), quadratic.ColView(j)); v > 1e-10*mat.Trace(c) {
			t.Errorf("privacy lds: coordinate %d has a scatter of %g between private classes", j, v)
		}
	}
	// The closed form of one coordinate is the best of many directions.
	u, err = closedForm(centered(x), &d, 10, 1)
	if err != nil {
		t.Fatal(err)
	}
	one := func(float64) float64 { return 1 }
	target, private, total := crossScatter(centered(x), d.Targets, one), crossScatter(centered(x), d.Private, one), gram(centered(x))
	ratio := func(v mat.Vector) float64 {
		return (10*mat.Inner(v, target, v) - mat.Inner(v, private, v)) / mat.Inner(v, total, v)
	}
	best := ratio(u.ColView(0))
	r := rand.New(rand.NewPCG(5, 5))
	for range 300 {
		v := mat.NewVecDense(6, nil)
		for i := range 6 {
			v.SetVec(i, u.At(i, 0)+0.3*r.NormFloat64())
		}
		if ratio(v) > best*(1+1e-9) {
			t.Fatalf("closed form: %g, and %g in another direction", best, ratio(v))
		}
	}
}

// TestResume interrupts a training twice.
func TestResume(t *testing.T) {
	d := people(4, 100)
	o := Options{Coordinates: 2, Steps: 6, Starts: 2}
	o.Seed = 7
	whole := train(t, d, o)
	o.Directory = filepath.Join(t.TempDir(), "checkpoint")
	for _, stop := range []int{3, 8} {
		ctx, cancel := context.WithCancel(t.Context())
		broken := o
		broken.Progress = func(step, _ int, _ float64) {
			if step == stop {
				cancel()
			}
		}
		if _, err := Train(ctx, d, broken); !errors.Is(err, context.Canceled) {
			t.Fatalf("%v, want an interrupted training", err)
		}
	}
	resumed := train(t, d, o)
	if !slices.Equal(resumed.net.Params(), whole.net.Params()) || resumed.Objective != whole.Objective {
		t.Error("a resumed training ends at another filter")
	}
	other, another := o, o
	other.Rho, another.Seed = 3, 8
	for _, o := range []Options{other, another} {
		if _, err := Train(t.Context(), d, o); !errors.Is(err, check.ErrInvalid) {
			t.Errorf("%v, want a refusal of a checkpoint of other options", err)
		}
	}
}

// TestLineSearchFails goes uphill, where no step helps: the filter is shaken, and then begins
// again at the best one.
func TestLineSearchFails(t *testing.T) {
	d := people(8, 60)
	o := Options{Coordinates: 2}
	o.fill()
	net := dense.New([]int{6, 2}, []dense.Activation{dense.Identity})
	net.Init(encoders.Rand(1, "test", 0))
	tr := newTrainer(&o, d.X, net, &d)
	far := func(from []float64) float64 {
		most := 0.0
		for i, v := range net.Params() {
			most = max(most, math.Abs(v-from[i]))
		}
		return most
	}
	uphill := func() {
		phi, err := tr.answer()
		if err != nil {
			t.Fatal(err)
		}
		tr.gradient()
		for i := range tr.grad {
			tr.grad[i] = -tr.grad[i]
		}
		tr.descend(phi, encoders.Rand(1, "shake", 0))
	}
	at := slices.Clone(net.Params())
	tr.length = 4
	uphill()
	if moved := far(at); !(moved > 0 && moved < 10*perturbation) || tr.failed != 1 || tr.length != firstLength {
		t.Errorf("after a failure the filter moved by %g, %g failures, length %g", moved, tr.failed, tr.length)
	}
	for i := range tr.best {
		tr.best[i] = float64(i)
	}
	tr.value = math.Inf(-1) // nothing is better
	uphill()
	if moved := far(tr.best); !(moved > 0 && moved < 10*perturbation) || tr.failed != 0 {
		t.Errorf("after two failures the filter is %g from the best, %g failures", moved, tr.failed)
	}
}

// TestRegression hides a number, and keeps features and another number.
func TestRegression(t *testing.T) {
	learn, test := people(1, 300), people(2, 300)
	learn.Private, test.Private = []Task{value(&learn)}, []Task{value(&test)}
	learn.Targets = append(learn.Targets, Reconstruction(learn.X))
	r := train(t, learn, Options{Coordinates: 3, Rho: 1})
	s, err := attack.Guess(t.Context(), attack.Linear, attack.People{X: r.Encode(learn.X), Target: learn.Private[0].Target()}, attack.People{X: r.Encode(test.X), Target: test.Private[0].Target()}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if s.Value < 0.9 {
		t.Errorf("the hidden number has the relative error %g, want about 1", s.Value)
	}
	b, err := noised(t, r, NoiseOptions{}).Bundle()
	if err != nil {
		t.Fatal(err)
	}
	if s := b.Spec(); s.Output != bundle.Values || !slices.Equal(s.Outputs, []string{"target = no", "target = yes", "a", "b", "c", "d", "e", "f"}) {
		t.Errorf("output %s of %q", s.Output, s.Outputs)
	}
	only := learn
	only.Targets = only.Targets[1:]
	if b, err = noised(t, train(t, only, Options{Method: PCA, Coordinates: 2}), NoiseOptions{}).Bundle(); err != nil {
		t.Fatal(err)
	}
	if s := b.Spec(); s.Output != bundle.Features || s.Outputs != nil {
		t.Errorf("output %q of %q, want features", s.Output, s.Outputs)
	}
}

// TestBundles compares what devices do with Encode, and proves promises.
func TestBundles(t *testing.T) {
	d := people(6, 200)
	for name, c := range map[string]struct {
		o     Options
		kind  bundle.Kind
		noise NoiseOptions
	}{
		"filter":              {Options{Coordinates: 2, Steps: 5}, bundle.None, NoiseOptions{}},
		"filter, standard":    {Options{Coordinates: 2, Steps: 5, Standardize: true}, bundle.None, NoiseOptions{}},
		"network":             {Options{Coordinates: 2, Steps: 5, Standardize: true, Hidden: []int{4}}, noise.Laplace, NoiseOptions{Clip: 0.9}},
		"spherical":           {Options{Coordinates: 3, Steps: 5}, bundle.Spherical, NoiseOptions{Clip: 0.9}},
		"spherical around 0":  {Options{Coordinates: 3, Steps: 5}, bundle.Spherical, NoiseOptions{AroundZero: true}},
		"designed, delta = 0": {Options{Coordinates: 2, Steps: 5, Standardize: true}, bundle.Designed, NoiseOptions{Clip: 0.5}},
		"mask":                {Options{Method: Masked, Mask: []float64{1, 0, 1, 0, 1, 0}}, bundle.Spherical, NoiseOptions{Clip: 0.5}},
	} {
		c.noise.Kind, c.noise.Promise = c.kind, bundle.Promise{Epsilon: 3}
		n := noised(t, train(t, d, c.o), c.noise)
		b, err := n.Bundle()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_, err = latent.Verify(t.Context(), b, proof.Options{})
		if c.kind == bundle.None {
			if !errors.Is(err, bundle.ErrNoPromise) {
				t.Errorf("%s: %v, want no promise", name, err)
			}
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if s := b.Spec(); s.Output != bundle.Classes || !slices.Equal(s.Outputs, []string{"no", "yes"}) {
			t.Errorf("%s: output %s of %q", name, s.Output, s.Outputs)
		}
		u := n.Encode(d.X)
		clipped := 0
		for i := range 50 {
			got, err := b.Encode(nil, dense.Row(d.X, i))
			if err != nil {
				t.Fatal(err)
			}
			for j, v := range dense.Row(u, i) {
				near := 1e-6
				if c.kind == noise.Laplace {
					near = 0x1p-6 // steps of its grid
				}
				if math.Abs(v-got[j]) > near {
					t.Errorf("%s: coordinate %d of row %d is %g on a device, want %g", name, j, i, got[j], v)
				}
			}
			if mat.Norm(mat.NewVecDense(u.Cols, dense.Row(u, i)), 2) > 1-1e-9 {
				clipped++
			}
		}
		if c.noise.Clip == 0.5 && clipped < 10 {
			t.Errorf("%s: %d of 50 rows were clipped, want about half", name, clipped)
		}
	}
}

func TestBadInput(t *testing.T) {
	good := people(1, 40)
	for want, change := range map[string]func(d *Data, o *Options){
		"coordinates = 7, want 1 to 6":       func(_ *Data, o *Options) { o.Coordinates = 7 },
		"rho = -1, want above 0":             func(_ *Data, o *Options) { o.Rho = -1 },
		"rho = NaN, want above 0":            func(_ *Data, o *Options) { o.Rho = math.NaN() },
		"ridge = 2, want":                    func(_ *Data, o *Options) { o.Ridge = 2 },
		"steps = -1, want 1 to":              func(_ *Data, o *Options) { o.Steps = -1 },
		"method = \"best\", want one of":     func(_ *Data, o *Options) { o.Method = "best" },
		"hidden = [3], want none":            func(_ *Data, o *Options) { o.Method, o.Hidden = PCA, []int{3} },
		"mask = 2 numbers":                   func(_ *Data, o *Options) { o.Method, o.Mask = Masked, []float64{1, 2} },
		"private tasks = none, want":         func(d *Data, _ *Options) { d.Private = nil },
		"targets = none, want at least 1":    func(d *Data, _ *Options) { d.Targets = nil },
		"NaN in row 1, want finite numbers":  func(d *Data, _ *Options) { d.X = dense.NewMatrix(40, 6); d.X.Data[0] = math.NaN() },
		"the same for all people, want":      func(d *Data, _ *Options) { d.X = dense.NewMatrix(40, 6) },
		"want at least 2 people":             func(d *Data, _ *Options) { d.Private[0].Labels = append([]int{1}, make([]int, 39)...) },
		"weight of target = -1":              func(d *Data, _ *Options) { d.Targets[0].Weight = -1 },
		"v = 0 numbers, want 40":             func(d *Data, _ *Options) { d.Targets = []Task{{Column: encoders.Column{Name: "v"}}} },
		"want 40, one for each":              func(d *Data, _ *Options) { d.Private[0].Labels = []int{0, 1} },
		"starts = 1000000000, want 1 to":     func(_ *Data, o *Options) { o.Starts = 1e9 },
		"hidden = 0, want widths from 1 to ": func(_ *Data, o *Options) { o.Hidden = []int{0} },
	} {
		d, o := good, Options{Coordinates: 2, Steps: 2}
		d.Targets, d.Private = slices.Clone(d.Targets), slices.Clone(d.Private)
		change(&d, &o)
		if _, err := Train(t.Context(), d, o); err == nil || !errors.Is(err, check.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	filter := train(t, good, Options{Coordinates: 2, Steps: 2})
	for want, o := range map[string]NoiseOptions{
		"clip = 2, want above 0": {Clip: 2},
		"epsilon = 0, want":      {Kind: noise.Laplace},
	} {
		if _, err := filter.AddNoise(t.Context(), o); err == nil || !errors.Is(err, check.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
