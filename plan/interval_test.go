// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/dp"
)

// TestRadiiCover: of 2,000 draws no more than a share of miss are beyond a radius, to 6.1 standard errors, which a
// radius that is right exceeds with a probability below 1e-9 for each query; and a fortieth of that share is, which
// is to fail where a radius is clearly too large. A radius that is 10 % too small is seen of normal noise.
func TestRadiiCover(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	const draws, miss = 2000, 0.2
	plans := larger12(t)
	plans["cells"] = Spec{
		Budget: dp.Budget{Epsilon: 1, Delta: 0.1875}, Neighbors: dp.AddRemove, MaxPerPerson: 1,
		Workload:     Workload{Kind: Ranges, Cells: 20},
		Measurements: []Measurement{{Kind: Partition, Block: 1, Weight: 7, Noise: triangle()}},
	}
	plans["table"] = Spec{
		Budget: dp.Budget{Epsilon: 0.5}, Neighbors: dp.AddRemove, MaxPerPerson: 1,
		Workload:     Workload{Kind: Marginals, Attributes: attributes(3, 2, 4), Sets: [][]int{{0}, {0, 1}, {0, 1, 2}, {1}}},
		Measurements: []Measurement{{Kind: Partition, Attributes: &[]int{0, 1, 2}, Weight: 3, Noise: geometric(t, 0.5)}},
	}
	for name, s := range plans {
		p := made(t, s)
		all, err := p.Radii(miss)
		if err != nil {
			t.Fatal(err)
		}
		radii := all
		if s.Workload.Kind == Marginals {
			radii = nil
			for i, set := range s.Workload.Sets {
				for range s.Workload.size(set) {
					radii = append(radii, all[i])
				}
			}
		}
		r := rand.NewChaCha8([32]byte{5})
		beyond := make([]int, len(radii))
		for range draws {
			y, err := p.Measure(make([]int64, p.cells()), func() (uint64, error) { return r.Uint64(), nil })
			if err != nil {
				t.Fatal(err)
			}
			q := 0
			if err := p.Decode(y, func(x float64) error {
				if math.Abs(x) > radii[q] {
					beyond[q]++
				}
				q++
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		most, least := draws*miss+6.1*math.Sqrt(draws*miss*(1-miss)), draws*miss/40
		for q, n := range beyond {
			if float64(n) > most || float64(n) < least {
				t.Errorf("%s: query %d: %d of %d errors are beyond %g, want %g to %g", name, q, n, draws, radii[q], least, most)
			}
		}
	}
}

// TestRadiusOfSums: of up to four noises of a law the radius is the least by the definition.
func TestRadiusOfSums(t *testing.T) {
	sum := map[int]float64{0: 1} // exact: probabilities are sixteenths
	for n := int64(1); n <= 4; n++ {
		next := map[int]float64{}
		for x, p := range sum {
			for y, q := range map[int]float64{0: 6, 1: 4, -1: 4, 2: 1, -2: 1} {
				next[x+y] += p * q / 16
			}
		}
		sum = next
		for _, miss := range []float64{0.9, 0.5, 0.3, 0.1, 0.05, 1e-2, 1e-4} {
			want := 0
			for beyond := func(r int) (p float64) {
				for x, q := range sum {
					if x > r || x < -r {
						p += q
					}
				}
				return p
			}; beyond(want) > miss; {
				want++
			}
			if got, ok := triangle().radius(n, miss); !ok || got != float64(want) {
				t.Errorf("%d noises, %g: %g, %v, want %d", n, miss, got, ok, want)
			}
		}
	}
	// Geometric noise without end: P(|η| > r) = 2·ρ^(r+1)/(1+ρ).
	l, rho := geometric(t, 0.5), math.Exp(-0.5)
	for r := range 40 {
		tail := 2 * math.Pow(rho, float64(r+1)) / (1 + rho)
		if got, ok := l.radius(1, tail*1.001); !ok || got != float64(r) {
			t.Errorf("geometric, %g: %g, want %d", tail, got, r)
		}
	}
	if _, ok := l.radius(mostSummed+1, 0.1); ok {
		t.Error("too many noises were convolved")
	}
}

// TestEnvelope: the bound of the moment generating function holds for every smaller argument, and is near.
func TestEnvelope(t *testing.T) {
	for name, l := range map[string]*Law{"triangle": triangle(), "geometric": geometric(t, 0.5), "wide": geometric(t, 0.1)} {
		if testing.Short() && name == "wide" {
			continue // it has thousands of masses
		}
		e := newEnvelope(l)
		masses := l.masses(1e-300)
		moment := func(s float64) float64 {
			sum := 0.0
			for i, p := range masses[1:] {
				x := math.Sinh(s * float64(i+1) / 2)
				sum += 4 * p * x * x
			}
			return math.Log1p(sum) / (s * s)
		}
		for _, share := range []float64{1e-9, 1e-6, 0.001, 0.0173, 0.1, 0.37, 0.8, 0.999} {
			end := share * e.end
			for _, part := range []float64{1e-6, 0.3, 0.9, 1} {
				if got := e.at(end); end*part > 1e-12 && got < moment(end*part)*(1-1e-7) {
					t.Errorf("%s: %g at %g, and %g at %g", name, got, end, moment(end*part), end*part)
				}
			}
			if got := e.at(end); share > 1e-6 && share < 0.5 && got > 1.1*max(moment(end), moment(end*1e-3), moment(end/2)) {
				t.Errorf("%s: %g at %g, want at most a tenth above %g", name, got, end, moment(end))
			}
		}
		if e.at(2*e.end) != math.Inf(1) {
			t.Errorf("%s: a bound beyond the end", name)
		}
	}
}

// TestResidualCoefficients: what rounding adds to a cell of a component is at most a half, as the
// numbers that residuals are multiplied with sum to 1 at most.
func TestResidualCoefficients(t *testing.T) {
	w := &Workload{Kind: Marginals, Attributes: attributes(2, 5, 3)}
	for _, set := range [][]int{{0}, {1}, {0, 1}, {0, 1, 2}} {
		n := residualCount(w, set)
		sums := make([]float64, w.size(set))
		for k := range n {
			y := make([]float64, n)
			y[k] = 1
			for i, x := range fromResiduals(w, y, set) {
				sums[i] += math.Abs(x)
			}
		}
		for i, sum := range sums {
			if sum > 1 {
				t.Errorf("%v: cell %d: %g", set, i, sum)
			}
		}
	}
}

func TestRadiiRefuse(t *testing.T) {
	p := made(t, small(t, dp.AddRemove, 1)["identity"])
	for _, miss := range []float64{0, 1, -1, math.NaN()} {
		if _, err := p.Radii(miss); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%g: %v", miss, err)
		}
	}
}

// moment returns K(s)/s² of a law from the definition, 0 < s, of its masses.
func moment(masses []float64, s float64) float64 {
	sum := 0.0
	for i, p := range masses[1:] {
		x := math.Sinh(s * float64(i+1) / 2)
		sum += 4 * p * x * x
	}
	return math.Log1p(sum) / (s * s)
}

// TestRadiiAreTheBound: without characteristic functions radii are the quantile, the convolution or Chernoff's bound
// of the docs, of the numbers that Decode multiplies noises with, which it is asked for one by one: no less, and no
// more but for Chernoff's bound, which is up to 9 % above, as its rates are rounded up to a node. With them they are
// no larger.
func TestRadiiAreTheBound(t *testing.T) {
	plans := larger12(t)
	whole := func(law *Law, w Workload) Spec {
		m := Measurement{Kind: Partition, Block: 1, Weight: 7, Noise: law}
		if w.Kind == Marginals {
			m.Block, m.Attributes = 0, &[]int{0, 1, 2}
		}
		return Spec{Workload: w, Measurements: []Measurement{m}}
	}
	plans["cells"] = whole(triangle(), Workload{Kind: Ranges, Cells: 14})
	plans["matrix"] = whole(geometric(t, 1), Workload{Kind: Matrix, Cells: 3, Rows: [][]int64{{1, -2, 0}, {1, 1, 1}, {0, 0, 5}, {0, 1, 0}}})
	plans["table"] = whole(geometric(t, 0.5), Workload{Kind: Marginals, Attributes: attributes(3, 2, 5), Sets: [][]int{{}, {0}, {0, 1}, {0, 1, 2}, {1}}})
	plans["mixed"] = Spec{Workload: Workload{Kind: Prefix, Cells: 4}, Measurements: []Measurement{
		{Kind: L2, Rows: [][]int64{{1, 2, 3, 4}, {2, 0, 0, 1}}, Weight: 2, Deviation: 7},
		{Kind: Partition, Block: 3, Weight: 1, Noise: geometric(t, 0.9)},
		{Kind: Partition, Block: 1, Weight: 3, Noise: triangle()},
		{Kind: L1, Rows: [][]int64{{0, 2, 1, 0}}, Weight: 1, Noise: geometric(t, 0.4)},
	}}
	plans["blocks"] = Spec{Workload: Workload{Kind: Ranges, Cells: 5}, Measurements: []Measurement{
		{Kind: L2, Rows: [][]int64{{1, 0, 0, 0, 0}, {0, 1, 0, 0, 0}, {0, 0, 1, 0, 0}, {0, 0, 0, 1, 0}, {0, 0, 0, 0, 1}}, Weight: 9, Deviation: 1},
		{Kind: Partition, Block: 2, Weight: 1, Noise: triangle()},
	}}
	for name, s := range plans {
		if s.Neighbors == "" {
			s.Budget, s.Neighbors, s.MaxPerPerson = dp.Budget{Epsilon: 40, Delta: 0.9}, dp.AddRemove, 1
		}
		p := made(t, s)
		for _, miss := range []float64{0.2, 1e-6} {
			got, err := withoutSpectra(p, miss)
			if err != nil {
				t.Fatal(err)
			}
			narrow, err := p.Radii(miss)
			if err != nil {
				t.Fatal(err)
			}
			want := boundOfRadii(t, p, miss)
			if len(got) != len(want) {
				t.Fatalf("%s: %d radii, want %d", name, len(got), len(want))
			}
			for q := range want {
				low, high := want[q]*(1-1e-3), want[q]*1.09
				if p.spec.whole() != nil {
					low, high = math.Floor(low), math.Floor(high)
				} else if name == "l2" || name == "residuals" {
					low, high = want[q], want[q]*(1+1.01e-6)
				}
				if narrow[q] > got[q] {
					t.Errorf("%s: query %d at %g: the radius %g, above %g by Chernoff's bound", name, q, miss, narrow[q], got[q])
				}
				if !(got[q] >= low && got[q] <= high) {
					t.Errorf("%s: query %d at %g: the radius %g, want %g", name, q, miss, got[q], want[q])
				}
			}
		}
	}
}

// withoutSpectra is Radii, where inverting characteristic functions would be too much work.
func withoutSpectra(p *Plan, miss float64) ([]float64, error) {
	r := &radii{plan: p, miss: miss, sums: map[int64]float64{}, known: map[string]float64{}}
	for i := range p.spec.Measurements {
		var e *envelope
		if l := p.spec.Measurements[i].Noise; l != nil {
			e = newEnvelope(l)
		}
		r.laws = append(r.laws, e)
	}
	if p.spec.Workload.Kind == Marginals {
		return r.marginals(), nil
	}
	return r.dense()
}

// boundOfRadii returns the radii of TestRadiiAreTheBound, of marginals of the first cell of each table.
func boundOfRadii(t *testing.T, p *Plan, miss float64) (out []float64) {
	t.Helper()
	s := &p.spec
	var first []int // the queries, or the first of each table
	n := 0
	for _, set := range s.Workload.Sets {
		first, n = append(first, n), n+s.Workload.size(set)
	}
	if s.Workload.Kind != Marginals {
		for q := range s.Workload.Queries() {
			first = append(first, q)
		}
	}
	// coefficients[q][k] of the number k that is measured, by measurement.
	var deviations []float64
	var of []int
	for i := range s.Measurements {
		m := &s.Measurements[i]
		if m.Kind == Residuals {
			for k, set := range m.Sets {
				_ = s.Workload.deviations(set, m.Deviations[k], func(d float64) error {
					deviations, of = append(deviations, d), append(of, i)
					return nil
				})
			}
			continue
		}
		for range len(p.exactly(nil, m, make([]int64, p.cells()))) {
			deviations, of = append(deviations, m.Deviation), append(of, i)
		}
	}
	const unit = 1 << 30
	coefficients := make([][]float64, len(first))
	for k := range deviations {
		y := make([]int64, len(deviations))
		y[k] = unit
		var answers []float64
		if err := p.Decode(y, func(x float64) error { answers = append(answers, x/unit); return nil }); err != nil {
			t.Fatal(err)
		}
		for q, i := range first {
			coefficients[q] = append(coefficients[q], answers[i])
		}
	}
	for q := range first {
		if law := s.whole(); law != nil && s.Workload.Kind != Matrix {
			noises := int64(0)
			for _, h := range coefficients[q] {
				noises += int64(math.Round(h))
			}
			if radius, ok := law.radius(noises, miss); ok {
				out = append(out, radius)
				continue
			}
		}
		normal, rounding := 0.0, 0.0
		squares, largest := make([]float64, len(s.Measurements)), make([]float64, len(s.Measurements))
		for k, h := range coefficients[q] {
			if d := deviations[k]; d > 0 {
				normal += h * h * d * d
				rounding += math.Abs(h) / 2
				continue
			}
			squares[of[k]] += h * h
			largest[of[k]] = max(largest[of[k]], math.Abs(h))
		}
		if s.Measurements[0].Kind == Residuals { // by the bound of the docs
			rounding = 0
			set := s.Workload.Sets[q]
			Subsets(set, func(b []int) { rounding += 0.5 / float64(s.Workload.others(set, b)) })
		}
		out = append(out, rounding+chernoff(s, normal, squares, largest, miss))
	}
	return out
}

// chernoff minimizes Chernoff's bound over many rates, or is the quantile if there is normal noise only.
func chernoff(s *Spec, normal float64, squares, largest []float64, miss float64) float64 {
	top, variance := math.Inf(1), normal
	list := make([][]float64, len(squares))
	for i, h := range largest {
		if h == 0 {
			continue
		}
		law := s.Measurements[i].Noise
		list[i] = law.masses(1e-300)
		variance += 2 * squares[i] * moment(list[i], 1e-4)
		if law.TailRatio > 0 {
			top = min(top, -math.Log(float64(law.TailRatio)*0x1p-64)*0.97/h)
		}
	}
	if top > 1e300 && variance == normal {
		return math.Sqrt(2*normal) * math.Erfcinv(miss)
	}
	best, need := math.Inf(1), math.Log(2/miss)
	guess := math.Sqrt(2 * need / variance)
	for i := range 40 {
		rate := guess * math.Pow(2, float64(i-25)/10)
		if rate > top {
			break
		}
		sum := need + rate*rate*normal/2
		for k, h := range largest {
			if h > 0 {
				sum += rate * rate * squares[k] * max(moment(list[k], rate*h), moment(list[k], rate*h/2), moment(list[k], rate*h*1e-3))
			}
		}
		best = min(best, sum/rate)
	}
	return best
}
