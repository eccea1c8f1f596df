// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

var localEpsilons = []float64{0.001, 0.3, 0.609, 0.62, 1, 3, 8, 20}

// ranges are the values that tests use: those of the papers, and others.
func ranges(l loss.Loss, epsilon, delta float64) []LocalProblem {
	at := func(v local.Values) LocalProblem {
		return LocalProblem{Epsilon: epsilon, Delta: delta, Values: v, Loss: l}
	}
	return []LocalProblem{
		at(local.Values{Kind: local.Real, Lower: -1, Upper: 1}),
		at(local.Values{Kind: local.Real, Lower: 3, Upper: 8, Weight: []proof.Piece{{From: 3, Weight: 2}, {From: 4, Weight: 0}, {From: 6, Weight: 1}}}),
		at(local.Values{Kind: local.Integer, Lower: 0, Upper: 5}),
		at(local.Values{Kind: local.Integer, Lower: -3, Upper: 3, Shares: []float64{1, 2, 0, 4, 5, 6, 7}}),
	}
}

// values are some values of a problem.
func (p LocalProblem) values() []float64 {
	if p.Values.Kind != local.Real {
		return p.points()
	}
	var out []float64
	for i := range 9 {
		out = append(out, p.Values.Lower+(p.Values.Upper-p.Values.Lower)*float64(i)/8)
	}
	return append(out, p.Values.Lower+0.37*(p.Values.Upper-p.Values.Lower))
}

// forEachLaw calls f for every mechanism with a law of its own and every problem.
func forEachLaw(t *testing.T, l loss.Loss, epsilons []float64, f func(t *testing.T, p LocalProblem, m LocalMechanism)) {
	t.Helper()
	found := map[string]bool{}
	for _, b := range LocalBaselines() {
		for _, epsilon := range epsilons {
			for _, p := range ranges(l, epsilon, 0) {
				m, err := b.New(p)
				if inapplicable(err) {
					continue
				}
				if err != nil {
					t.Fatalf("%s: %v", b.Name, err)
				}
				if m.Name() != b.Name || m.Source() == "" {
					t.Fatalf("%s is called %q, from %q", b.Name, m.Name(), m.Source())
				}
				if m.law == nil {
					continue
				}
				found[b.Name] = true
				t.Run(b.Name, func(t *testing.T) { f(t, p, m) })
			}
		}
	}
	if len(found) != 14 {
		t.Errorf("%d mechanisms have a law, want 14", len(found))
	}
}

func closeTo(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s = %.15g, want %.15g", what, got, want)
	}
}

func TestLocalLawsHaveMassOneAndTheirMean(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	forEachLaw(t, loss.L2, localEpsilons, func(t *testing.T, p LocalProblem, m LocalMechanism) {
		for _, x := range p.values() {
			var mass, mean, size float64
			for _, s := range m.law(x) {
				if s.mass < -1e-17 || s.width < 0 {
					t.Fatalf("epsilon %g, value %g: share %+v", p.Epsilon, x, s)
				}
				mass += s.mass
				mean += s.mass * (s.center - x)
				size += s.mass * math.Abs(s.center)
			}
			closeTo(t, "mass", mass, 1, 1e-13)
			if m.Unbiased() {
				closeTo(t, "bias", mean, 0, 1e-12*(1+size))
			}
		}
		if m.Unbiased() {
			return
		}
		lower := m.law(p.Values.Lower)
		mean := 0.0
		for _, s := range lower {
			mean += s.mass * (s.center - p.Values.Lower)
		}
		if !(mean > 0) {
			t.Errorf("epsilon %g: bias %g at the lower end, want it above 0", p.Epsilon, mean)
		}
	})
}

// density returns the density of a law at y, which is no end of a share.
func density(law []share, y float64) (d float64) {
	for _, s := range law {
		if s.width > 0 && math.Abs(y-s.center) < s.width/2 {
			d += s.mass / s.width
		}
	}
	return d
}

// atom returns the mass of a law at y.
func atom(law []share, y float64) (mass float64) {
	for _, s := range law {
		if s.width == 0 && math.Abs(s.center-y) <= 1e-12*(1+math.Abs(y)) {
			mass += s.mass
		}
	}
	return mass
}

func TestLocalLawsArePrivate(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	forEachLaw(t, loss.L2, localEpsilons, func(t *testing.T, p LocalProblem, m LocalMechanism) {
		limit, worst := math.Exp(p.Epsilon), 0.0
		for _, x := range p.values() {
			for _, z := range p.values() {
				one, other := m.law(x), m.law(z)
				var ends []float64
				for _, s := range slices.Concat(one, other) {
					ends = append(ends, s.center-s.width/2, s.center+s.width/2)
					if s.width == 0 && s.mass > 0 {
						worst = max(worst, atom(one, s.center)/atom(other, s.center))
					}
				}
				slices.Sort(ends)
				for i := 1; i < len(ends); i++ {
					if ends[i]-ends[i-1] > 1e-9*(1+math.Abs(ends[i])) {
						y := (ends[i] + ends[i-1]) / 2
						if d := density(one, y); d > 0 {
							worst = max(worst, d/density(other, y))
						}
					}
				}
			}
		}
		if !(worst <= limit*(1+1e-9)) {
			t.Errorf("epsilon %g: ratio of densities %g, want at most %g", p.Epsilon, worst, limit)
		}
		// All but the exponential mechanism and mixtures use the whole of epsilon.
		if tight := []string{"duchi", "piecewise", "square-wave", "randomized-response", "generalized-piecewise"}; slices.Contains(tight, m.Name()) {
			closeTo(t, "ratio of densities", worst/limit, 1, 1e-9)
		}
	})
}

func TestLocalLossesAreIntegrals(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	huber, err := loss.Parse("huber:0.3")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []loss.Loss{loss.L1, loss.L2, huber} {
		forEachLaw(t, l, []float64{0.3, 1, 8}, func(t *testing.T, p LocalProblem, m LocalMechanism) {
			integral := func(x float64) (sum float64) {
				for _, s := range m.law(x) {
					if s.width == 0 {
						sum += s.mass * l.At(s.center-x)
						continue
					}
					a, b := s.center-s.width/2, s.center+s.width/2
					cuts := []float64{a, b}
					for _, k := range append(loss.Of(l).Kinks(), 0) {
						if y := x + k; y > a && y < b {
							cuts = append(cuts, y)
						}
					}
					slices.Sort(cuts)
					for i := 1; i < len(cuts); i++ {
						sum += s.mass / s.width * simpson(func(y float64) float64 { return l.At(y - x) }, cuts[i-1], cuts[i])
					}
				}
				return sum
			}
			worst, _, at := m.WorstLoss()
			for _, x := range p.values() {
				value := m.at(x)
				closeTo(t, "loss", value, integral(x), 1e-10*value)
				if value > worst*(1+1e-12) {
					t.Errorf("loss at %g = %g, above the worst, %g at %g", x, value, worst, at)
				}
			}
			closeTo(t, "worst loss", worst, integral(at), 1e-10*worst)
			mean, _ := m.MeanLoss()
			closeTo(t, "mean loss", mean, meanOf(p, integral), 1e-4*worst)
		})
	}
}

// simpson integrates polynomials of degree 3, and so the losses tested, exactly.
func simpson(f func(float64) float64, a, b float64) float64 {
	return (b - a) / 6 * (f(a) + 4*f((a+b)/2) + f(b))
}

// meanOf averages a function over the values in the plainest way.
func meanOf(p LocalProblem, f func(x float64) float64) float64 {
	var sum, total float64
	if p.Values.Kind != local.Real {
		for i, x := range p.points() {
			weight := 1.0
			if len(p.Values.Shares) > 0 {
				weight = p.Values.Shares[i]
			}
			sum, total = sum+weight*f(x), total+weight
		}
		return sum / total
	}
	for _, piece := range p.pieces() {
		const n = 100
		h := (piece.to - piece.from) / n
		for i := range n {
			from := piece.from + h*float64(i)
			sum += piece.weight * simpson(f, from, from+h)
		}
		total += piece.weight * (piece.to - piece.from)
	}
	return sum / total
}

// localNamed makes the mechanism of the baseline with this name.
func localNamed(name string, p LocalProblem) (LocalMechanism, error) {
	list := LocalBaselines()
	return list[slices.IndexFunc(list, func(b LocalBaseline) bool { return b.Name == name })].New(p)
}

// unit is the problem of the papers.
func unit(epsilon float64) LocalProblem { return ranges(loss.L2, epsilon, 0)[0] }

func TestLocalVariancesAsPublished(t *testing.T) {
	for _, epsilon := range localEpsilons {
		s, e := math.Exp(epsilon/2), math.Exp(epsilon)
		s1, e1 := math.Expm1(epsilon/2), math.Expm1(epsilon)
		check := func(name string, variance func(x float64) float64) {
			t.Helper()
			m, err := localNamed(name, unit(epsilon))
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range m.problem.values() {
				closeTo(t, m.Name(), m.at(x), variance(x), 1e-11*variance(x))
			}
		}
		duchi := func(x float64) float64 { return 4*e/(e1*e1) + (1 - x*x) }
		check("duchi", duchi)
		piecewise := func(x float64) float64 { return x*x/s1 + (s+3)/(3*s1*s1) }
		check("piecewise", piecewise)
		check("hybrid", func(x float64) float64 {
			if epsilon > hybridFrom {
				return (s+3)/(3*s*s1) + (e+1)*(e+1)/(s*e1*e1)
			}
			return duchi(x)
		})
		// In units of [0, 1], where the center is the value's, Zheng, Mishra & Hu's l, r.
		check("generalized-piecewise-unbiased", func(x float64) float64 {
			u, c := (x+1)/2, (s+1)/s1
			l := (c+1)/2*u - (3*c+1)*(c-1)/(4*c)
			r := (c+1)/2*u + (c+1)*(c-1)/(4*c)
			p := s / (2*c + 1)
			cube := func(x float64) float64 { return x * x * x }
			third := func(a, b float64) float64 { return (cube(b-u) - cube(a-u)) / 3 }
			return 4 * (p*third(l, r) + p/e*(third(-c, l)+third(r, c+1)))
		})
		integer := ranges(loss.L2, epsilon, 0)[2]
		bitwise, err := localNamed("bitwise-response", integer)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range integer.points() {
			b := math.Expm1(epsilon / 3)
			want := 21 * (b + 1) / (b * b)
			closeTo(t, "bitwise", bitwise.at(x), want, 1e-11*want)
		}
	}
}

// TestLocalPublishedTable holds the losses that are known for values in [-1, 1]: the
// closed forms to the digits that are printed.
func TestLocalPublishedTable(t *testing.T) {
	names := []string{"laplace", "staircase", "duchi", "piecewise", "hybrid"}
	for epsilon, row := range map[float64][5]float64{
		0.5: {32, 31.67, 16.67, 21.22, 16.67},
		1:   {8, 7.672, 4.683, 5.224, 4.289},
		2:   {2, 1.691, 1.724, 1.228, 1.043},
		3:   {0.889, 0.611, 1.221, 0.493, 0.432},
		5:   {0.320, 0.119, 1.027, 0.130, 0.1215},
		8:   {0.125, 0.0135, 1.001, 0.0253, 0.0250},
	} {
		for i, name := range names {
			for _, b := range LocalBaselines() {
				if b.Name != name {
					continue
				}
				m, err := b.New(unit(epsilon))
				if err != nil {
					t.Fatal(err)
				}
				worst, errorBound, _ := m.WorstLoss()
				if !(errorBound <= 1e-9*worst) {
					t.Errorf("%s: error bound %g of %g", name, errorBound, worst)
				}
				closeTo(t, name, worst, row[i], 0.5e-2*row[i])
			}
		}
	}
}

// TestTunedLocalMechanisms compares tuned parameters with a fine search, and with the
// mechanisms that they contain.
func TestTunedLocalMechanisms(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, epsilon := range []float64{0.1, 1, 3, 8} {
		for _, objective := range []local.Objective{local.Mean, local.Worst} {
			p := unit(epsilon)
			p.Objective = objective
			get := func(name string) float64 {
				m, err := localNamed(name, p)
				if err != nil {
					t.Fatal(err)
				}
				return m.objective()
			}
			best := get("piecewise-optimal")
			three := get("three-outputs")
			for _, pair := range [][2]float64{
				{best, get("piecewise")}, {three, get("duchi")}, {get("hybrid-three-outputs"), three},
			} {
				if !(pair[0] <= pair[1]*(1+1e-12)) {
					t.Errorf("epsilon %g, %s: %g is above %g", epsilon, objective, pair[0], pair[1])
				}
			}
			growth := math.Expm1(epsilon)
			for i := range 2000 {
				s := math.Exp(-1 + (2+epsilon)*float64(i)/2000)
				square := 1.0 // of the value
				if objective == local.Mean {
					square = 1.0 / 3
				}
				loss := square*(s+1)/growth + (growth+1+s)*((s+1)*(s+1)*(s+1)+growth)/(3*s*s*growth*growth)
				if !(best <= loss*(1+1e-12)) {
					t.Fatalf("epsilon %g, %s: tuned to %g, s = %g has %g", epsilon, objective, best, s, loss)
				}
			}
		}
	}
}

// TestRandomizedResponseWithDelta computes the hockey-stick divergence.
func TestRandomizedResponseWithDelta(t *testing.T) {
	for _, delta := range []float64{0, 1e-6, 0.1, 0.5} {
		for _, p := range ranges(loss.L2, 1.5, delta)[2:] {
			m, err := localNamed("randomized-response", p)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range p.points() {
				for _, z := range p.points() {
					divergence := 0.0
					one, other := m.law(x), m.law(z)
					for j := range one {
						divergence += max(0, one[j].mass-math.Exp(p.Epsilon)*other[j].mass)
					}
					if want := delta; x != z {
						closeTo(t, "divergence", divergence, want, 1e-15)
					}
				}
			}
			unbiased, err := localNamed("randomized-response-unbiased", p)
			if err != nil {
				t.Fatal(err)
			}
			truth, other := response(p)
			closeTo(t, "loss", unbiased.at(p.Values.Upper), unbiasedResponse(p, truth, other), 1e-9)
		}
	}
}

// unbiasedResponse is the variance at the upper end by its definition.
func unbiasedResponse(p LocalProblem, truth, other float64) float64 {
	var mean, square float64
	for _, y := range p.points() {
		mass := other
		if y == p.Values.Upper {
			mass = truth
		}
		mean, square = mean+mass*y, square+mass*y*y
	}
	return (square - mean*mean) / ((truth - other) * (truth - other))
}

func TestLocalCategories(t *testing.T) {
	p := LocalProblem{
		Epsilon: 1, Values: local.Values{Kind: local.Category, Labels: []string{"a", "b", "c"}, Shares: []float64{1, 1, 2}},
		Costs: [][]float64{{0, 1, 1}, {1, 0, 1}, {1, 1, 0}},
	}
	m, err := localNamed("randomized-response", p)
	if err != nil {
		t.Fatal(err)
	}
	want := 2 / (math.E + 2)
	worst, _, _ := m.WorstLoss()
	mean, _ := m.MeanLoss()
	closeTo(t, "worst loss", worst, want, 1e-15)
	closeTo(t, "mean loss", mean, want, 1e-15)
	wide := p
	wide.Costs = [][]float64{{0, 1, 1, 0.5}, {1, 0, 1, 0.5}, {1, 1, 0, 0.5}}
	if _, err := localNamed("randomized-response", wide); !inapplicable(err) {
		t.Errorf("randomized response with 4 answers to 3 categories: error %v", err)
	}
	if _, err := localNamed("exponential", wide); err != nil {
		t.Errorf("the exponential mechanism with 4 answers to 3 categories: %v", err)
	}
	applicable := []string{}
	for _, b := range LocalBaselines() {
		switch m, err := b.New(p); {
		case err == nil:
			applicable = append(applicable, b.Name)
			if got, _ := m.MeanLoss(); got < want-1e-12 {
				t.Errorf("%s: loss %g is below that of randomized response, %g, the optimum", b.Name, got, want)
			}
		case !inapplicable(err):
			t.Errorf("%s: %v", b.Name, err)
		}
	}
	if want := []string{"randomized-response", "exponential"}; !slices.Equal(applicable, want) {
		t.Errorf("for categories there are %v, want %v", applicable, want)
	}
}

func TestLocalBaselinesRefuse(t *testing.T) {
	good := unit(1)
	for name, change := range map[string]func(*LocalProblem){
		"range":   func(p *LocalProblem) { p.Values.Lower = 1 },
		"epsilon": func(p *LocalProblem) { p.Epsilon = math.NaN() },
		"loss":    func(p *LocalProblem) { p.Loss = nil },
		"kind":    func(p *LocalProblem) { p.Values.Kind = "" },
		"shares":  func(p *LocalProblem) { p.Values.Kind, p.Values.Shares = local.Integer, []float64{1} },
		"integer": func(p *LocalProblem) { p.Values.Kind, p.Values.Upper = local.Integer, 1.5 },
		"large":   func(p *LocalProblem) { p.Values.Kind, p.Values.Upper = local.Integer, 1e6 },
		"costs":   func(p *LocalProblem) { p.Values = local.Values{Kind: local.Category, Labels: []string{"a", "b"}} },
		"rows": func(p *LocalProblem) {
			p.Values = local.Values{Kind: local.Category, Labels: []string{"a", "b"}}
			p.Costs = [][]float64{{0, 1}, {1}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := good
			change(&p)
			for _, b := range LocalBaselines() {
				if _, err := b.New(p); !errors.Is(err, dp.ErrInvalid) && !inapplicable(err) {
					t.Errorf("%s: error %v", b.Name, err)
				}
			}
		})
	}
	zero := good
	zero.Epsilon = 0
	for _, b := range LocalBaselines() {
		if _, err := b.New(zero); err == nil {
			t.Errorf("%s applies to real values at epsilon = 0, delta = 0", b.Name)
		}
	}
}
