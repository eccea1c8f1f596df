// SPDX-License-Identifier: Apache-2.0

package latent

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/taskspace"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/latent/internal/budget"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/tables"
)

var domains = []bundle.Domain{bundle.Ball, bundle.Box, bundle.Bounds}

// randomData returns rows of n correlated features around 3, with tails.
func randomData(r *rand.Rand, rows, n int) *mat.Dense {
	mix := mat.NewDense(n, n, nil)
	mix.Apply(func(i, j int, _ float64) float64 { return r.NormFloat64() / float64(1+j) }, mix)
	source := mat.NewDense(rows, n, nil)
	source.Apply(func(_, _ int, _ float64) float64 { return math.Copysign(r.ExpFloat64(), r.NormFloat64()) }, source)
	var data mat.Dense
	data.Mul(source, mix)
	data.Apply(func(_, _ int, v float64) float64 { return 3 + v }, &data)
	return &data
}

// randomProblem has bounds that some of the data lies outside of.
func randomProblem(r *rand.Rand, d bundle.Domain) Problem {
	n := 1 + r.IntN(6)
	m := 1 + r.IntN(n+1) // often of lower rank than n
	task := mat.NewDense(m, n, nil)
	task.Apply(func(_, _ int, _ float64) float64 { return r.NormFloat64() }, task)
	p := Problem{
		Data: randomData(r, 200+r.IntN(200), n), Task: task,
		Promise: bundle.Promise{Epsilon: math.Exp(4*r.Float64() - 1), Delta: math.Pow(10, -2-4*r.Float64())},
		Domain:  d, Clip: 0.9 + 0.1*r.Float64(),
	}
	return named(p)
}

// named completes a problem with names and bounds.
func named(p Problem) Problem {
	n := len(p.Mean)
	if p.Data != nil {
		_, n = p.Data.Dims()
	}
	for i := range n {
		p.Features = append(p.Features, fmt.Sprintf("x%d", i+1))
		p.Low, p.High = append(p.Low, 1), append(p.High, 6)
	}
	return p
}

func testStore(t testing.TB) *tables.Store {
	t.Helper()
	return storeOf(t, cutLaplace)
}

func design(t testing.TB, p Problem, o Options) *Result {
	t.Helper()
	r, err := Design(t.Context(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func find(t *testing.T, r *Result, kind bundle.Kind, encoder string) *Candidate {
	t.Helper()
	for _, c := range r.Candidates {
		if c.Noise == kind && c.Encoder == encoder {
			return c
		}
	}
	t.Fatalf("no candidate with %s noise and the %s encoder", kind, encoder)
	return nil
}

func wantNear(t *testing.T, what string, got, want, relative float64) {
	t.Helper()
	if !(math.Abs(got-want) <= relative*math.Abs(want)) {
		t.Errorf("%s = %.12g, want %.12g to %g of it", what, got, want, relative)
	}
}

// Where nothing is clipped the designs are those of the closed forms.
func TestDesignFollowsClosedForms(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	data := randomData(rand.New(rand.NewPCG(1, 0)), 500, 5)
	m, err := taskspace.NewMoments(data)
	if err != nil {
		t.Fatal(err)
	}
	p := named(Problem{Mean: m.Mean, Covariance: m.Covariance, Promise: bundle.Promise{Epsilon: 20, Delta: 1e-4}, Radius: 4})
	for _, d := range []bundle.Domain{bundle.Ball, bundle.Box} {
		p.Domain = d
		r := design(t, p, Options{})
		for _, c := range r.Candidates {
			wantNear(t, fmt.Sprintf("%s: loss with %s noise and the %s encoder", d, c.Noise, c.Encoder), c.Loss, c.UnclippedLoss, 1e-9)
		}
		laplace := find(t, r, noise.Laplace, taskAware)
		gaussian := find(t, r, noise.Gaussian, taskAware)
		if d == bundle.Ball {
			want, err := taskspace.Waterfill(r.Lambda, 4, 20)
			if err != nil {
				t.Fatal(err)
			}
			wantNear(t, "ball: laplace", laplace.Loss, want.Loss, 1e-9)
			if laplace.Z != want.Z {
				t.Errorf("ball: %d coordinates, want %d", laplace.Z, want.Z)
			}
			wantNear(t, "ball: task-agnostic laplace", find(t, r, noise.Laplace, taskAgnostic).Loss, featuresLoss(t, m.Covariance, 4, 20), 1e-9)
			continue
		}
		split, err := budget.Split(t.Context(), r.Lambda, r.Radii, 20, 0, budget.Laplace())
		if err != nil {
			t.Fatal(err)
		}
		wantNear(t, "box: laplace", laplace.Loss, split.Loss, 1e-9)
		box := taskspace.GaussianBox(r.Lambda, r.Radii, math.Sqrt(gaussian.variances[0]))
		wantNear(t, "box: gaussian", gaussian.Loss, box.Loss, 1e-9)
	}
	// A ball of one radius that all the data lies in.
	p = named(Problem{Data: data, Promise: bundle.Promise{Epsilon: 20}, Domain: bundle.Ball, Radius: 100})
	r := design(t, p, Options{})
	want, err := taskspace.Waterfill(r.Lambda, 100, 20)
	if err != nil {
		t.Fatal(err)
	}
	wantNear(t, "large ball", find(t, r, noise.Laplace, taskAware).Loss, want.Loss, 1e-9)
	// Clip = 1 has a radius for each number of coordinates.
	p = named(Problem{Data: data, Promise: bundle.Promise{Epsilon: 20}, Domain: bundle.Ball, Clip: 1})
	r = design(t, p, Options{})
	least := math.Inf(1)
	for z, radius := range r.Radii {
		s, err := taskspace.Waterfill(r.Lambda[:z+1], radius, 20)
		if err != nil {
			t.Fatal(err)
		}
		least = min(least, s.Loss+sum(r.Lambda[z+1:]))
	}
	wantNear(t, "clip 1", find(t, r, noise.Laplace, taskAware).Loss, least, 1e-9)
}

// featuresLoss is the loss, over all features alike, of Laplace noise on the features
// themselves in a ball of the radius r (Cheng, Tang and Chinchali 2022, (54)): with
// Σ = LLᵀ the sensitivity is 2r·max ‖Lᵀs‖₂ over signs s, the noise has a variance v of
// twice the square of that over ε, and the loss is v·tr((Σ + vI)⁻¹Σ).
func featuresLoss(t *testing.T, covariance *mat.SymDense, r, epsilon float64) float64 {
	t.Helper()
	n := covariance.SymmetricDim()
	largest := 0.0 // sᵀΣs
	for signs := range 1 << n {
		s := mat.NewVecDense(n, nil)
		for i := range n {
			s.SetVec(i, float64(2*(signs>>i&1)-1))
		}
		largest = max(largest, mat.Inner(s, covariance, s))
	}
	v := 8 * r * r / (epsilon * epsilon) * largest
	noisy := mat.DenseCopyOf(covariance)
	for i := range n {
		noisy.Set(i, i, noisy.At(i, i)+v)
	}
	var solved mat.Dense
	if err := solved.Solve(noisy, covariance); err != nil {
		t.Fatal(err)
	}
	return v * mat.Trace(&solved)
}

// The loss of every candidate is that of its encoder, row by row, and the best is
// never worse than a benchmark or than releasing nothing.
func TestDesignLosses(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	r := rand.New(rand.NewPCG(2, 0))
	for trial := range 60 {
		p := randomProblem(r, domains[trial%3])
		if trial%4 == 3 {
			p.Ridge = 0.01
		}
		if trial%5 == 4 && p.Domain != bundle.Bounds {
			p.Radius = 0.5 + 3*r.Float64()
		}
		res := design(t, p, Options{Store: testStore(t)})
		seen := map[string]bool{}
		for _, c := range res.Candidates {
			what := fmt.Sprintf("trial %d, %s, %s noise, %s", trial, p.Domain, c.Noise, c.Encoder)
			if seen[what] {
				t.Errorf("%s is there twice", what)
			}
			seen[what] = true
			loss, err := res.Loss(c, p.Data)
			if err != nil {
				t.Fatal(err)
			}
			wantNear(t, what+": loss", c.Loss, loss.Total, 1e-8)
			if c.Loss > res.BaselineLoss*(1+1e-9) {
				t.Errorf("%s: loss %g, %g for nothing", what, c.Loss, res.BaselineLoss)
			}
			if c.Encoder == taskAware {
				continue
			}
			for _, o := range res.Candidates {
				if o.Noise == c.Noise && o.Encoder == taskAware && c.Encoder == privacyAgnostic && o.Loss > c.Loss {
					t.Errorf("%s: loss %g, less than the %g of the task-aware encoder", what, c.Loss, o.Loss)
				}
			}
		}
		for i, c := range res.Candidates[1:] {
			if c.Loss < res.Candidates[i].Loss*(1-1e-8) { // equals are in no order, and one coordinate is equal for two kinds of noise
				t.Errorf("trial %d: candidate %d has a loss below that before", trial, i+1)
			}
		}
		if b := res.Best(""); b == nil || !b.Bundled || b.Loss > res.Best(noise.Laplace).Loss {
			t.Errorf("trial %d: the best is %+v", trial, b)
		}
	}
}

// Units of the features and of the loss, and an orthogonal map of the outputs, change
// nothing but the scale of the loss.
func TestDesignInvariance(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	r := rand.New(rand.NewPCG(3, 0))
	for trial := range 12 {
		p := randomProblem(r, domains[trial%3])
		rows, n := p.Data.Dims()
		m, _ := p.Task.Dims()
		q := p
		scale := make([]float64, n)
		q.Low, q.High = make([]float64, n), make([]float64, n)
		for j := range scale {
			scale[j] = math.Exp(3 * r.NormFloat64())
			q.Low[j], q.High[j] = p.Low[j]*scale[j], p.High[j]*scale[j]
		}
		scaled := mat.NewDense(rows, n, nil)
		scaled.Apply(func(i, j int, _ float64) float64 { return p.Data.At(i, j) * scale[j] }, scaled)
		q.Data = scaled
		turn := mat.NewDense(m, m, nil)
		turn.Apply(func(_, _ int, _ float64) float64 { return r.NormFloat64() }, turn)
		var qr mat.QR
		qr.Factorize(turn)
		var orthogonal mat.Dense
		qr.QTo(&orthogonal)
		task := mat.NewDense(m, n, nil)
		task.Mul(&orthogonal, p.Task)
		task.Apply(func(_, j int, v float64) float64 { return 7 * v / scale[j] }, task)
		q.Task = task
		a, b := design(t, p, Options{}), design(t, q, Options{})
		wantNear(t, "nothing", b.BaselineLoss, 49*a.BaselineLoss, 1e-9)
		for _, c := range a.Candidates {
			if c.Encoder == taskAgnostic {
				continue // it adds the same noise to all features, whatever their units
			}
			d := find(t, b, c.Noise, c.Encoder)
			wantNear(t, fmt.Sprintf("trial %d, %s: loss with %s noise, %s", trial, p.Domain, c.Noise, c.Encoder), d.Loss, 49*c.Loss, 1e-5)
		}
	}
}

// Bundles of all kinds of noise verify, have the losses that were planned, and
// measure what they predict. False alarms: 4.5 standard errors for each of about
// 100 numbers, 7 in 10^4 for all of them if they were normal.
// proved verifies a bundle.
// Noise that is not centered is decoded with its mean.
func TestDesignExtremes(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	r := rand.New(rand.NewPCG(5, 0))
	plain := randomData(r, 300, 4)
	constant := mat.DenseCopyOf(plain)
	sparse := mat.DenseCopyOf(plain)
	for i := range 300 {
		constant.Set(i, 2, 4)
		if i >= 10 {
			sparse.Set(i, 1, 2)
		}
	}
	heavy := mat.NewDense(4, 4, nil)
	for j := range 4 {
		heavy.Set(j, j, 1)
	}
	heavy.Set(2, 2, 1e3)
	few := randomData(r, 5, 8)
	for name, p := range map[string]Problem{
		"one feature":               {Data: randomData(r, 50, 1)},
		"one output":                {Data: plain, Task: mat.NewDense(1, 4, []float64{1, 2, 3, 4})},
		"constant":                  {Data: constant, Ridge: 1e-6},
		"constant, dear":            {Data: constant, Ridge: 1e-6, Task: heavy},
		"sparse":                    {Data: sparse, Clip: 0.9, Task: heavy},
		"fewer rows than features":  {Data: few, Ridge: 1e-3},
		"little epsilon":            {Data: plain, Promise: bundle.Promise{Epsilon: 0.01}},
		"much epsilon":              {Data: plain, Promise: bundle.Promise{Epsilon: 50}},
		"much delta":                {Data: plain, Promise: bundle.Promise{Delta: 0.3}},
		"everything out of bounds":  {Data: plain, Low: []float64{100, 100, 100, 100}, High: []float64{101, 101, 101, 101}},
		"bounds that leave 64":      {Data: plain, Low: []float64{64, 64, 64, 64}, High: []float64{128, 128, 128, 128}},
		"a wide and a narrow bound": {Data: plain, Low: []float64{3, 2, 2, -1e6}, High: []float64{3.001, 5, 5, 1e6}},
		"little clip":               {Data: plain, Clip: 0.02},
	} {
		for _, d := range domains {
			for _, pure := range []bool{false, true} {
				if pure && d != bundle.Box {
					continue
				}
				p := p
				low, high := p.Low, p.High
				p = named(p)
				if low != nil {
					p.Low, p.High = low, high
				}
				p.Domain = d
				if p.Epsilon == 0 {
					p.Epsilon = 2
				}
				if p.Clip == 0 {
					p.Clip = 0.99
				}
				if p.Delta == 0 {
					p.Delta = 1e-3
				}
				if pure {
					p.Delta = 0
				}
				checkExtreme(t, fmt.Sprintf("%s, %s, delta %g", name, d, p.Delta), p)
			}
		}
	}
}

// checkExtreme designs, compares losses with those row by row, and makes a bundle.
func checkExtreme(t *testing.T, what string, p Problem) {
	t.Helper()
	o := Options{}
	if p.Delta > 0 {
		o.Store = testStore(t)
	}
	res, err := Design(t.Context(), p, o)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	for _, c := range res.Candidates {
		if !(c.Loss > 0 && c.Loss <= res.BaselineLoss*(1+1e-9)) {
			t.Errorf("%s: %s noise, %s: loss %g, the baseline %g", what, c.Noise, c.Encoder, c.Loss, res.BaselineLoss)
		}
		loss, err := res.Loss(c, p.Data)
		if err != nil {
			t.Errorf("%s: %s noise, %s: %v", what, c.Noise, c.Encoder, err)
			continue
		}
		wantNear(t, fmt.Sprintf("%s: %s noise, %s: loss", what, c.Noise, c.Encoder), c.Loss, loss.Total, 1e-7)
	}
	c := res.Best("")
	if p.Domain == bundle.Ball || c == nil {
		return
	}
	b, err := res.Bundle(c)
	if err != nil {
		t.Errorf("%s: %s noise, %s: %v", what, c.Noise, c.Encoder, err)
		return
	}
	wantNear(t, fmt.Sprintf("%s: %s noise, %s: loss of the bundle", what, c.Noise, c.Encoder), b.Spec().Predicted.TrainingLoss, c.Loss, 1e-3)
}

// No other share leaves a smaller loss.
func TestBestClip(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	r := rand.New(rand.NewPCG(7, 0))
	for _, d := range []bundle.Domain{bundle.Ball, bundle.Box} {
		p := randomProblem(r, d)
		for kind, kinds := range map[bundle.Kind][]bundle.Kind{
			"":              nil,
			noise.Gaussian:  {noise.Gaussian},
			bundle.Designed: {noise.TruncatedLaplace, noise.Staircase},
		} {
			best, err := p.BestClip(t.Context(), kind, nil)
			if err != nil {
				t.Fatal(err)
			}
			least := func(clip float64) float64 {
				p.Clip = clip
				var losses []float64
				for _, c := range design(t, p, Options{Kinds: kinds}).Candidates {
					if c.Encoder == taskAware {
						losses = append(losses, c.Loss)
					}
				}
				return slices.Min(losses)
			}
			found := least(best)
			for _, clip := range []float64{0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 1} {
				if loss := least(clip); loss < found {
					t.Errorf("%s, %q: the loss is %g at the clip %g found, %g at %g", d, kind, found, best, loss, clip)
				}
			}
		}
	}
	if _, err := (Problem{Domain: bundle.Box}).BestClip(t.Context(), "", nil); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("no data: error %v, want ErrInvalid", err)
	}
}

// The bounds are about features that are not clipped.
func TestLaplaceBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 0))
	for range 20 {
		p := randomProblem(r, bundle.Box)
		p.Radius, p.Clip = math.Exp(r.NormFloat64()), 0
		res := design(t, p, Options{Kinds: []bundle.Kind{noise.Laplace}})
		lower, upper, ok := res.LaplaceBounds()
		loss := find(t, res, noise.Laplace, taskAware).UnclippedLoss
		if !ok || !(lower <= upper) || !(lower <= loss*(1+1e-9)) {
			t.Errorf("bounds %g to %g (%v), a design has %g", lower, upper, ok, loss)
		}
	}
	if _, _, ok := design(t, randomProblem(r, bundle.Ball), Options{Kinds: []bundle.Kind{noise.Laplace}}).LaplaceBounds(); ok {
		t.Error("bounds for a ball")
	}
}

// All that is wrong is said at once.
func TestDesignReportsAllBadFields(t *testing.T) {
	_, err := Design(t.Context(), Problem{Promise: bundle.Promise{Epsilon: -1, Delta: 1}, Domain: "cube"}, Options{})
	for _, field := range []string{"epsilon", "delta", "data", "domain"} {
		if err == nil || !strings.Contains(err.Error(), field+" = ") {
			t.Errorf("%q does not name %s", err, field)
		}
	}
}

func TestDesignRefuses(t *testing.T) {
	data := randomData(rand.New(rand.NewPCG(6, 0)), 50, 3)
	good := named(Problem{Data: data, Promise: bundle.Promise{Epsilon: 1, Delta: 1e-3}, Domain: bundle.Ball, Clip: 0.9})
	for name, change := range map[string]func(p *Problem){
		"epsilon 0":      func(p *Problem) { p.Epsilon = 0 },
		"epsilon NaN":    func(p *Problem) { p.Epsilon = math.NaN() },
		"delta 1":        func(p *Problem) { p.Delta = 1 },
		"clip 0":         func(p *Problem) { p.Clip = 0 },
		"radius < 0":     func(p *Problem) { p.Radius = -1 },
		"no data":        func(p *Problem) { p.Data = nil },
		"names":          func(p *Problem) { p.Features = p.Features[:2] },
		"task":           func(p *Problem) { p.Task = mat.NewDense(1, 2, nil) },
		"bounds":         func(p *Problem) { p.Domain, p.Low = bundle.Bounds, nil },
		"empty bounds":   func(p *Problem) { p.Domain, p.Low = bundle.Bounds, p.High },
		"constant":       func(p *Problem) { p.Data = mat.NewDense(5, 3, nil) },
		"radius unknown": func(p *Problem) { p.Mean, p.Covariance, p.Data = make([]float64, 3), taskspace.Identity(3), nil },
		"domain":         func(p *Problem) { p.Domain = "cube" },
		"mean alone":     func(p *Problem) { p.Mean, p.Data = make([]float64, 3), nil },
		"two sources":    func(p *Problem) { p.Mean, p.Covariance = make([]float64, 3), taskspace.Identity(3) },
	} {
		p := good
		change(&p)
		if _, err := Design(t.Context(), p, Options{}); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%s: error %v, want ErrInvalid", name, err)
		}
	}
}

// Gaussian noise that weights cannot be fine enough for is no bundle.
func TestDesignGaussianWithoutTable(t *testing.T) {
	data := randomData(rand.New(rand.NewPCG(8, 0)), 50, 2)
	for epsilon, want := range map[float64]bool{5: true, 50: false} {
		r := design(t, named(Problem{Data: data, Promise: bundle.Promise{Epsilon: epsilon, Delta: 1e-3}, Domain: bundle.Ball, Clip: 0.9}), Options{Kinds: []bundle.Kind{noise.Gaussian}})
		c := find(t, r, noise.Gaussian, taskAware)
		_, err := r.Bundle(c)
		if c.Bundled != want || (err == nil) != want {
			t.Errorf("epsilon %g: Bundled = %v, error %v, want %v", epsilon, c.Bundled, err, want)
		}
	}
}

func BenchmarkDesign(b *testing.B) {
	for _, n := range []int{24, 300, 1000} {
		data := randomData(rand.New(rand.NewPCG(7, 0)), 2*n, n)
		for _, d := range domains {
			b.Run(fmt.Sprintf("%s/n=%d", d, n), func(b *testing.B) {
				p := named(Problem{Data: data, Ridge: 1e-6, Promise: bundle.Promise{Epsilon: 10, Delta: 1e-5}, Domain: d, Clip: 0.99})
				for b.Loop() {
					design(b, p, Options{Store: testStore(b)})
				}
			})
		}
	}
}
