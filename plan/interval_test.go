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
		masses := l.masses(0)
		if l.TailRatio > 0 {
			masses = l.masses(1e-300)
		}
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
