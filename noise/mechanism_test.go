// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/quadrature"
	"github.com/noisewright/noisewright/loss"
)

// grid is where properties are checked; sensitivities are set by the tests.
var (
	gridEpsilons = []float64{0.001, 0.03, 0.3, 0.9, 1, 3, 8, 20}
	gridDeltas   = []float64{1e-12, 1e-6, 1e-3, 0.1, 0.4, 0.5, 0.7, 0.9}
)

// forEach calls f for each baseline that applies at each point of the grid.
func forEach(t *testing.T, sensitivity float64, loss loss.Loss, f func(p dp.Privacy, m Mechanism)) {
	t.Helper()
	for _, epsilon := range gridEpsilons {
		for _, delta := range gridDeltas {
			p := dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: sensitivity}
			for _, b := range Baselines() {
				m, err := b.New(p, loss)
				switch {
				case err == nil:
					f(p, m)
				case !inapplicable(err):
					t.Errorf("%s %+v: %v", b.Name, p, err)
				}
			}
		}
	}
}

// kinks returns, in increasing order, the points of [0, end] at which the density of
// m, made for p and tuned to l, is not smooth, and end, beyond which its mass is below
// e^-60.
func kinks(t *testing.T, m Mechanism, p dp.Privacy, l loss.Loss) (points []float64, end float64) {
	t.Helper()
	switch m.Name() {
	case "laplace":
		end = 60 * p.Sensitivity / p.Epsilon
	case "gaussian", "analytic-gaussian":
		end = 12 * sigma(m)
	case "truncated-laplace":
		end = truncatedBound(p)
	case "uniform":
		end = p.Sensitivity / (2 * p.Delta)
	case "canonical":
		c := newConditions("canonical", p)
		s := c.newTulap()
		if c.err != nil {
			t.Fatal(c.err)
		}
		points = []float64{0}
		for k := 0.0; k <= s.steps && k+0.5 < s.end && k*p.Epsilon <= 60; k++ {
			points = append(points, (k+0.5)*p.Sensitivity)
		}
		if s.end < s.steps+1 {
			points = append(points, s.end*p.Sensitivity)
		}
		return points, points[len(points)-1]
	case "staircase", "staircase-atom":
		step := must(t)(StaircaseStep(p, l))
		for k := 0.0; k*p.Epsilon <= 60; k++ {
			points = append(points, k*p.Sensitivity, (k+step)*p.Sensitivity)
		}
		return points, points[len(points)-1]
	}
	return []float64{0, end}, end
}

// sigma returns the standard deviation of a normal law.
func sigma(m Mechanism) float64 { return 1 / (m.Density(0) * math.Sqrt(2*math.Pi)) }

func TestBaselineRegistry(t *testing.T) {
	want := "laplace staircase staircase-atom discrete-laplace canonical discrete-canonical gaussian analytic-gaussian truncated-laplace uniform"
	var names []string
	for _, b := range Baselines() {
		names = append(names, b.Name)
		m := baseline(t, b.Name, dp.Privacy{Epsilon: 0.5, Delta: 0.1, Sensitivity: 2}, loss.L1)
		if m.Name() != b.Name {
			t.Errorf("baseline %q builds %q", b.Name, m.Name())
		}
		if m.Note() == "" || b.Summary == "" || strings.ContainsAny(m.Note()+b.Summary, "\n") {
			t.Errorf("%s: note %q and summary %q, want one line each", b.Name, m.Note(), b.Summary)
		}
	}
	if got := strings.Join(names, " "); got != want {
		t.Errorf("baselines %s\nwant      %s", got, want)
	}
}

// TestNotApplicable: what does not apply says why, and is no other error.
func TestNotApplicable(t *testing.T) {
	build := func(name string, p dp.Privacy) error {
		_, err := New(name, p, loss.L1)
		return err
	}
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"laplace", build("laplace", dp.Privacy{Epsilon: 0, Delta: 0.1, Sensitivity: 1}), "epsilon = 0"},
		{"staircase", build("staircase", dp.Privacy{Epsilon: 0, Delta: 0.1, Sensitivity: 1}), "epsilon = 0"},
		{"staircase, huge epsilon", build("staircase", dp.Privacy{Epsilon: 2000, Delta: 0.1, Sensitivity: 1}), "epsilon = 2000"},
		{"staircase-atom", build("staircase-atom", dp.Privacy{Epsilon: 0, Delta: 0.1, Sensitivity: 1}), "staircase-atom does not apply"},
		{"discrete-laplace", build("discrete-laplace", dp.Privacy{Epsilon: 0, Delta: 0.1, Sensitivity: 1}), "epsilon = 0"},
		{"discrete-laplace", build("discrete-laplace", dp.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 0.5}), "sensitivity = 0.5"},
		{"discrete-laplace", build("discrete-laplace", dp.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 2.5}), "sensitivity = 2.5"},
		{"canonical", build("canonical", dp.Privacy{Epsilon: 0, Delta: 0, Sensitivity: 1}), "epsilon = 0 and delta = 0"},
		{"canonical", build("canonical", dp.Privacy{Epsilon: 1e-7, Delta: 1e-12, Sensitivity: 1}), "4194304 steps"},
		{"discrete-canonical", build("discrete-canonical", dp.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 2.5}), "sensitivity = 2.5"},
		{"discrete-canonical", build("discrete-canonical", dp.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 1e8}), "4194304 masses"},
		{"gaussian", build("gaussian", dp.Privacy{Epsilon: 0, Delta: 0.1, Sensitivity: 1}), "epsilon = 0"},
		{"gaussian", build("gaussian", dp.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 1}), "epsilon = 1"},
		{"gaussian", build("gaussian", dp.Privacy{Epsilon: 0.5, Delta: 0, Sensitivity: 1}), "delta = 0"},
		{"analytic-gaussian", build("analytic-gaussian", dp.Privacy{Epsilon: 1, Delta: 0, Sensitivity: 1}), "delta = 0"},
		{"truncated-laplace", build("truncated-laplace", dp.Privacy{Epsilon: 1, Delta: 0, Sensitivity: 1}), "delta = 0"},
		{"uniform", build("uniform", dp.Privacy{Epsilon: 1, Delta: 0, Sensitivity: 1}), "delta = 0"},
	} {
		if !inapplicable(c.err) || errors.Is(c.err, dp.ErrInvalid) {
			t.Errorf("%s: error %v, want a NotApplicableError", c.name, c.err)
			continue
		}
		text := c.err.Error()
		if !strings.HasPrefix(text, "noise: ") || !strings.Contains(text, c.want) || strings.Contains(text, "\n") {
			t.Errorf("%s: error %q, want one sentence with %q", c.name, text, c.want)
		}
	}
}

// TestUnknownName: New refuses what is no baseline.
func TestUnknownName(t *testing.T) {
	if _, err := New("laplacian", dp.Privacy{Epsilon: 1, Sensitivity: 1}, loss.L1); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("error %v, want ErrInvalid", err)
	}
}

// inapplicable reports whether an error says that a mechanism does not apply.
func inapplicable(err error) bool {
	var n *NotApplicableError
	return errors.As(err, &n)
}

// TestOutOfRange: a scale or a value beyond float64 is refused, never returned.
func TestOutOfRange(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	tiny, huge := 1e-300, 1e300
	for _, b := range Baselines() {
		for _, p := range []dp.Privacy{{Epsilon: tiny, Delta: 1e-300, Sensitivity: huge}, {Epsilon: tiny, Delta: 1e-300, Sensitivity: 1}, {Epsilon: 0.5, Delta: 5e-324, Sensitivity: huge}, {Epsilon: 0, Delta: 5e-324, Sensitivity: 1}} {
			m, err := b.New(p, loss.L1)
			if errors.Is(err, dp.ErrInvalid) || inapplicable(err) {
				continue
			}
			if err != nil {
				t.Errorf("%s %+v: %v", b.Name, p, err)
				continue
			}
			for _, loss := range []loss.Loss{loss.L1, loss.L2, opaque{loss.L2}} {
				v, bound, err := m.ExpectedLoss(loss)
				if err == nil && (math.IsInf(v+bound, 0) || math.IsNaN(v+bound)) {
					t.Errorf("%s %+v %s: %g ± %g without an error", b.Name, p, loss.Name(), v, bound)
				}
				if err != nil && !errors.Is(err, dp.ErrInvalid) {
					t.Errorf("%s %+v %s: %v", b.Name, p, loss.Name(), err)
				}
			}
		}
	}
	if _, err := New("discrete-canonical", dp.Privacy{Epsilon: 1e-7, Delta: 1e-12, Sensitivity: 1}, loss.L1); !inapplicable(err) {
		t.Errorf("discrete-canonical: %v, want a NotApplicableError for too many masses", err)
	}
}

// TestDensityIsALaw: the density is even, nowhere negative, does not increase
// away from 0, and has the mass that the atom leaves.
func TestDensityIsALaw(t *testing.T) {
	for _, sensitivity := range []float64{1e-6, 1, 1e9} {
		forEach(t, sensitivity, loss.L1, func(p dp.Privacy, m Mechanism) {
			if m.Name() == "discrete-canonical" {
				return // TestDiscreteCanonical has the mass of it
			}
			if m.Name() == "discrete-laplace" {
				rate := p.Epsilon / p.Sensitivity
				if rate < 1e-3 {
					return
				}
				mass := m.Mass(0)
				for k := 1.0; k*rate <= 60; k++ {
					mass += m.Mass(k) + m.Mass(-k)
				}
				near(t, "mass of discrete-laplace", mass, 1, 1e-12)
				return
			}
			points, end := kinks(t, m, p, loss.L1)
			if len(points) > 500 && (len(points) > 5000 || sensitivity != 1 || p.Delta != 0.1) {
				return // TestStaircaseTail has the mass of these
			}
			mass, _ := quadrature.Integrate(func(x float64) float64 { return m.Density(x) + m.Density(-x) }, append(points, end*(1+1e-9)))
			near(t, fmt.Sprintf("%s %+v: mass", m.Name(), p), mass+m.Mass(0), 1, 1e-8)
			last := math.Inf(1)
			for i := range 200 {
				x := end * float64(i) / 199
				f := m.Density(x)
				if f != m.Density(-x) || !(f >= 0 && f <= last) {
					t.Errorf("%s %+v: density %g at %g, %g at its mirror, %g before", m.Name(), p, f, x, m.Density(-x), last)
					return
				}
				last = f
			}
			if f := m.Density(math.Inf(1)); f != 0 {
				t.Errorf("%s: density %g at infinity", m.Name(), f)
			}
			bounded := p.Delta > 0 && slices.Contains([]string{"canonical", "truncated-laplace", "uniform"}, m.Name())
			if s := m.Support(); math.IsInf(s, 1) == bounded || bounded && (m.Density(s*(1+1e-9)) != 0 || !(m.Density(s*(1-1e-9)) > 0)) {
				t.Errorf("%s %+v: support %g", m.Name(), p, s)
			}
		})
	}
}

// TestClosedFormsAgainstNumericalPath: the closed forms for l1 and l2 and the
// numerical path that other losses take agree within the bound it states.
func TestClosedFormsAgainstNumericalPath(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, sensitivity := range []float64{1e-6, 1, 1e9} {
		for _, loss := range []loss.Loss{loss.L1, loss.L2} {
			forEach(t, sensitivity, loss, func(p dp.Privacy, m Mechanism) {
				closed, closedBound, err := m.ExpectedLoss(loss)
				if err != nil {
					t.Fatal(err)
				}
				numeric, bound, err := m.ExpectedLoss(opaque{loss})
				if err != nil {
					t.Fatal(err)
				}
				if !(math.Abs(closed-numeric) <= bound+closedBound) {
					t.Errorf("%s %+v %s: closed form %.17g, numerically %.17g ± %.3g", m.Name(), p, loss.Name(), closed, numeric, bound)
				}
				// The bound itself must be of use. Discrete Laplace at a tiny
				// rate has one of the order of the rate.
				if limit := 1e-12 + 2*m0Rate(m, p); bound > limit*closed {
					t.Errorf("%s %+v %s: error bound %.3g of %.3g", m.Name(), p, loss.Name(), bound, closed)
				}
			})
		}
	}
}

// m0Rate is the rate of discrete Laplace noise where its sum is replaced by an
// integral, else 0.
func m0Rate(m Mechanism, p dp.Privacy) float64 {
	if rate := p.Epsilon / p.Sensitivity; m.Name() == "discrete-laplace" && rate < smallSumEpsilon {
		return rate
	}
	return 0
}

// TestClosedFormsAgainstDensity: an independent Gauss-Legendre rule over the
// exported density gives the closed forms.
func TestClosedFormsAgainstDensity(t *testing.T) {
	for _, loss := range []loss.Loss{loss.L1, loss.L2} {
		forEach(t, 1.5, loss, func(p dp.Privacy, m Mechanism) {
			if onIntegers(m.Name()) {
				return
			}
			points, end := kinks(t, m, p, loss)
			if len(points) > 2000 {
				return
			}
			if len(points) == 2 {
				for i := 1; i < 64; i++ {
					points = append(points, end*float64(i)/64)
				}
				sort.Float64s(points)
			}
			sum := 0.0
			for i := 1; i < len(points); i++ {
				sum += quad.Fixed(func(x float64) float64 {
					return 2 * m.Density(x) * loss.At(x)
				}, points[i-1], points[i], 12, quad.Legendre{}, 0)
			}
			near(t, fmt.Sprintf("%s %+v %s", m.Name(), p, loss.Name()), sum, lossOf(t, m.Name(), p, loss), 1e-11)
		})
	}
}

// TestOtherLosses checks the numerical path against laws' own closed forms, with
// kinks, jumps and asymmetry that it knows nothing of.
func TestOtherLosses(t *testing.T) {
	p := dp.Privacy{Epsilon: 0.7, Delta: 0.05, Sensitivity: 1.3}
	check := func(m Mechanism, loss loss.Loss, want float64) {
		t.Helper()
		got, bound, err := m.ExpectedLoss(loss)
		if err != nil {
			t.Fatal(err)
		}
		if !(math.Abs(got-want) <= bound+1e-13*want) || bound > 1e-10*want {
			t.Errorf("%s %s: %.17g ± %.3g, want %.17g", m.Name(), loss.Name(), got, bound, want)
		}
	}
	laplace := baseline(t, "laplace", p, loss.L1)
	s := p.Sensitivity / p.Epsilon
	for _, e := range []float64{0.1, 0.5, 1.5, 3, 8.25} {
		check(laplace, power(e), math.Gamma(e+1)*math.Pow(s, e))
	}
	for _, limit := range []float64{0.01, 0.77, 3.3, 40} {
		check(laplace, miss(limit), math.Exp(-limit/s))
		check(laplace, hinge(limit), s*math.Exp(-limit/s))
		// Undeclared kinks and jumps are found by halving.
		check(laplace, opaque{miss(limit)}, math.Exp(-limit/s))
		check(laplace, opaque{hinge(limit)}, s*math.Exp(-limit/s))
	}
	for _, limit := range []float64{1e-9, 2 * s * 1.0001, 64 * s * 0.9999} {
		// Declared, they may lie where no rule looks.
		check(laplace, miss(limit), math.Exp(-limit/s))
		check(laplace, hinge(limit), s*math.Exp(-limit/s))
	}

	gaussian := baseline(t, "analytic-gaussian", p, loss.L1)
	for _, e := range []float64{0.1, 0.5, 1.5, 3, 8.25} {
		check(gaussian, power(e), math.Pow(2, e/2)*math.Gamma((e+1)/2)/math.Sqrt(math.Pi)*math.Pow(sigma(gaussian), e))
	}
	for _, limit := range []float64{0.01, 0.77, 3.3} {
		check(gaussian, miss(limit), math.Erfc(limit/sigma(gaussian)/math.Sqrt2))
	}

	truncated, bound := baseline(t, "truncated-laplace", p, loss.L1), truncatedBound(p)
	for _, limit := range []float64{0.01, 0.77, 3.3} {
		tail := math.Exp(-limit/s) - math.Exp(-bound/s)
		check(truncated, miss(limit), tail/-math.Expm1(-bound/s))
	}
	uniform := baseline(t, "uniform", p, loss.L1)
	for _, limit := range []float64{0.01, 0.77, 3.3} {
		check(uniform, miss(limit), 1-limit*2*p.Delta/p.Sensitivity)
	}
	discrete := baseline(t, "discrete-laplace", dp.Privacy{Epsilon: 0.7, Delta: 0, Sensitivity: 2}, loss.L1)
	for _, limit := range []float64{0.5, 1.5, 6.5} {
		q := math.Exp(-0.7 / 2)
		check(discrete, miss(limit), 2*math.Pow(q, math.Ceil(limit))/(1+q))
	}

	// For any law that is symmetric, a pinball loss is half the absolute error.
	for _, b := range Baselines() {
		for _, p := range []dp.Privacy{{Epsilon: 0.7, Delta: 0.05, Sensitivity: 1}, {Epsilon: 1e-5, Delta: 0.05, Sensitivity: 1}, {Epsilon: 0.7, Delta: 0.9, Sensitivity: 1}} {
			m := baseline(t, b.Name, p, loss.L1)
			want, _, err := m.ExpectedLoss(loss.L1)
			if err != nil {
				t.Fatal(err)
			}
			for _, weight := range []float64{0.1, 0.9} {
				got, bound, err := m.ExpectedLoss(pinball(weight))
				if err != nil || !(math.Abs(got-want/2) <= bound+1e-13*want) {
					t.Errorf("%s pinball: %.17g ± %.3g, %v; want %.17g", b.Name, got, bound, err, want/2)
				}
			}
		}
	}
}

// TestStaircaseTail: the probability of a large error under staircase noise is a
// sum of its steps, on both sides of the switch from sum to integral.
func TestStaircaseTail(t *testing.T) {
	for _, epsilon := range []float64{3, 0.2, 1e-3, 0.9e-4, 1e-6} {
		m := baseline(t, "staircase", dp.Privacy{Epsilon: epsilon, Delta: 0, Sensitivity: 2}, loss.L1)
		for _, k := range []float64{0, 1, 5} {
			// P(|X| > kΔ) = b^k, so whole multiples of Δ are exact.
			got, bound, err := m.ExpectedLoss(miss(k * 2))
			if want := math.Exp(-epsilon * k); err != nil || !(math.Abs(got-want) <= bound+1e-13) || bound > 1e-8 {
				t.Errorf("epsilon %g: P(|X| > %g sensitivities) = %.17g ± %.3g, %v; want %.17g", epsilon, k, got, bound, err, want)
			}
		}
		for _, e := range []float64{1, 2} {
			want := lossOf(t, "staircase", dp.Privacy{Epsilon: epsilon, Delta: 0, Sensitivity: 2}, loss.L1)
			if e == 2 {
				want, _, _ = m.ExpectedLoss(loss.L2)
			}
			got, bound, err := m.ExpectedLoss(power(e))
			if err != nil || !(math.Abs(got-want) <= bound+1e-13*want) || bound > 1e-8*want {
				t.Errorf("epsilon %g: E|X|^%g = %.17g ± %.3g, %v; want %.17g", epsilon, e, got, bound, err, want)
			}
		}
	}
}

// TestStaircaseSearch: without a closed form the step found is as good as the
// closed form's, and a step-like loss gets a step of its own.
func TestStaircaseSearch(t *testing.T) {
	for _, epsilon := range []float64{1e-4, 0.01, 0.5, 2, 8, 30} {
		for _, loss := range []loss.Loss{loss.L1, loss.L2} {
			p := dp.Privacy{Epsilon: epsilon, Delta: 0, Sensitivity: 3}
			want := lossOf(t, "staircase", p, loss) // in closed form
			m := baseline(t, "staircase", p, opaque{loss})
			got, _, err := m.ExpectedLoss(loss)
			if err != nil || !(got <= want*(1+1e-8)) || got < want*(1-1e-14) {
				t.Errorf("epsilon %g %s: searched %.17g, optimal %.17g (%v)", epsilon, loss.Name(), got, want, err)
			}
		}
	}
	// The best step for |x| > 0.7Δ puts the drop of the density at 0.7.
	if step := must(t)(StaircaseStep(dp.Privacy{Epsilon: 2, Sensitivity: 1}, miss(0.7))); math.Abs(step-0.7) > 1e-4 {
		t.Errorf("step %g for errors beyond 0.7, want 0.7", step)
	}
	if _, ok := staircaseStep(1, power(3)); ok {
		t.Error("staircaseStep: a closed form for an unknown loss")
	}
	for _, loss := range []loss.Loss{loss.L1, loss.L2} {
		if step, ok := staircaseStep(0, loss); !ok || math.Abs(step-0.5) > 1e-16 {
			t.Errorf("staircaseStep(0, %s) = %g, %v; want the limit 1/2", loss.Name(), step, ok)
		}
	}
}

// TestAgainstBrackets: certified brackets of the optimum over all noise, from an
// independent linear program: no baseline is below.
func TestAgainstBrackets(t *testing.T) {
	for _, c := range []struct {
		epsilon, delta float64
		loss           loss.Loss
		lower          float64
	}{
		{0.3, 1e-5, loss.L1, 3.3186503},
		{0.3, 1e-5, loss.L2, 22.063318},
		{1, 1e-6, loss.L1, 0.959472},
		{1, 1e-6, loss.L2, 1.9176651},
		{3, 0.3, loss.L1, 0.1625789},
		{3, 0.3, loss.L2, 0.0858747},
		{0.5, 0.01, loss.L1, 1.7620106},
		{0.5, 0.01, loss.L2, 5.5379048},
		{1, 0.1, loss.L1, 0.69069},
		{1, 0.2, loss.L1, 0.55848},
		{2, 0.02, loss.L1, 0.40762},
		{0.2, 0.05, loss.L1, 2.35417},
		{1, 0.005, loss.L1, 0.92918},
		{0.5, 0.75, loss.L1, 0.20744},
		{5, 0.25, loss.L1, 0.06183},
	} {
		p := dp.Privacy{Epsilon: c.epsilon, Delta: c.delta, Sensitivity: 1}
		for _, b := range Baselines() {
			if onIntegers(b.Name) {
				continue // for integer queries only: another problem
			}
			m, err := b.New(p, c.loss)
			if inapplicable(err) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if v, _, err := m.ExpectedLoss(c.loss); err != nil || v < c.lower {
				t.Errorf("%s %+v %s: %g, %v; below the lower bound %g", b.Name, p, c.loss.Name(), v, err, c.lower)
			}
		}
	}
}

// TestLogarithm includes the subnormal numbers.
func TestLogarithm(t *testing.T) {
	for _, e := range []int{-1074, -1050, -1022, -1000, 0, 1023} {
		near(t, "logarithm", logarithm(math.Ldexp(1, e)), float64(e)*math.Ln2, 1e-15)
	}
}
