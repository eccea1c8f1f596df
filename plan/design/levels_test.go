// SPDX-License-Identifier: Apache-2.0

package design

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/plan"
)

// TestErrorOfLevels: the error of two and three levels is tr(G·M⁻¹)/queries, with blocks that end early and that do not.
func TestErrorOfLevels(t *testing.T) {
	for _, text := range []string{"prefix:13", "ranges:12", "identity:7"} {
		w := workload(t, text)
		g := w.Gram()
		s := &study{problem: Problem{Workload: w}, gram: g, trace: mat.Trace(denseOf(g)), sums: sumsOf(g)}
		n := len(g)
		for _, sizes := range [][]int{{1, 0}, {3, 0}, {5, 0}, {12, 0}, {2, 4}, {2, 6}, {3, 6}, {3, 9}, {4, 12}, {5, 10}} {
			v, noise := 0.7, []float64{1.3, 0.4}
			m := mat.NewDense(n, n, nil)
			for i := range n {
				m.Set(i, i, 1/v)
			}
			for k, size := range sizes {
				for i := range n * min(size, 1) {
					for j := i / size * size; j < min(n, (i/size+1)*size); j++ {
						m.Set(i, j, m.At(i, j)+1/noise[k])
					}
				}
			}
			var inverse, product mat.Dense
			if err := inverse.Inverse(m); err != nil {
				t.Fatal(err)
			}
			product.Mul(denseOf(g), &inverse)
			want := mat.Trace(&product) / float64(w.Queries())
			if got := s.errorOf(sizes[0], sizes[1], v, noise[0], noise[1]); math.Abs(got/want-1) > 1e-10 {
				t.Errorf("%s with blocks of %v: %g, want %g", text, sizes, got, want)
			}
		}
	}
}

// TestThreeLevels: of a series of which three levels are better than two, what is proved is what was estimated.
func TestThreeLevels(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel() // no matrices
	r, err := Design(ended, problem(t, "prefix:300", 0.5, 0), Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := newStudy(ended, problem(t, "prefix:300", 0.5, 0), Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.problem.Budget = dp.Budget{Epsilon: 0.5}
	list := s.hierarchies()
	if len(list) != 2 || list[1].MeanSquaredError > 0.98*list[0].MeanSquaredError {
		t.Fatalf("%d candidates: %+v", len(list), list)
	}
	for _, c := range list {
		made, err := s.prove(t.Context(), &c)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := made.Certificate().MeanSquaredError.Float64(); math.Abs(got/c.MeanSquaredError-1) > 1e-3 {
			t.Errorf("%s: %g is proved, %g was estimated", c.Name, got, c.MeanSquaredError)
		}
	}
	if got, _ := r.Plan.Certificate().MeanSquaredError.Float64(); got > list[1].MeanSquaredError*(1+1e-3) {
		t.Errorf("%s with %g was chosen, and %s has %g", r.Strategy, got, list[1].Name, list[1].MeanSquaredError)
	}
}

// TestManyCells: of 2,000 cells hierarchies are proved, released and answered.
func TestManyCells(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	r, err := Design(t.Context(), problem(t, "prefix:2000", 1, 0), Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := r.Plan.Mechanism()
	y := make([]int64, p.Measurements())
	if err := p.Decode(y, func(x float64) error {
		if x != 0 {
			t.Errorf("%g of nothing", x)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Candidates {
		t.Log(c.Name, c.MeanSquaredError)
	}
	if got, _ := r.Plan.Certificate().MeanSquaredError.Float64(); got > 149 || got < 148 {
		t.Errorf("%s: %g", r.Strategy, got)
	}
	if _, err := Design(t.Context(), Problem{Budget: dp.Budget{Epsilon: 1}, Neighbors: dp.AddRemove, MaxPerPerson: 1, Workload: plan.Workload{Kind: plan.Prefix, Cells: 2049}}, Options{}); err == nil {
		t.Error("2,049 cells are taken")
	}
}

// TestGaussianSoon: two roots are enough for a gap of some percent, where the context has ended before.
func TestGaussianSoon(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, text := range []string{"prefix:130", "ranges:100"} {
		w := workload(t, text)
		if s := gaussian(ended, w.Gram(), 1e-3); s == nil || s.total > 1.05*s.bound || s.total < s.bound {
			t.Errorf("%s: %+v", text, s)
		}
	}
}

// TestBoundOfFewer: the bound of means over cells together is one of all cells, also where the last are fewer, and of
// those of a smooth workload it is close.
func TestBoundOfFewer(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	rough := plan.Workload{Kind: plan.Matrix, Cells: 30}
	for range 40 {
		row := make([]int64, rough.Cells)
		for j := range row {
			row[j] = r.Int64N(7) - 3
		}
		rough.Rows = append(rough.Rows, row)
	}
	for name, c := range map[string]struct {
		w    plan.Workload
		part float64
	}{"prefix:94": {workload(t, "prefix:94"), 0.5}, "ranges:63": {workload(t, "ranges:63"), 0.4}, "rough": {rough, 0.01}} {
		g := c.w.Gram()
		all := gaussian(t.Context(), g, 1e-6)
		for _, together := range []int{2, 4} {
			if few := gaussian(t.Context(), coarser(g, together), 1e-6); few.bound > all.total*(1+1e-9) || few.bound < c.part*all.bound {
				t.Errorf("%s, %d together: the bound %g of %g", name, together, few.bound, all.total)
			}
		}
		v := make([]float64, len(g)) // of which any has a bound
		for i := range v {
			v[i] = 0.5 + r.Float64()
		}
		x, y := boundAt(g, v), &strategy{}
		whole, inner := root(g, v)
		if y.improve(v, whole, inner); math.Abs(x/y.bound-1) > 1e-9 || x > all.total {
			t.Errorf("%s: the bound %g, by all of the root %g, of %g", name, x, y.bound, all.total)
		}
	}
}

// TestLate: where two roots would not be done in time there is no matrix with Gaussian noise, but a bound, and the plan is proved;
// what is left of the time is compared with the work.
func TestLate(t *testing.T) {
	over, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Hour))
	defer cancel()
	p := problem(t, "prefix:130", 1, 1e-6)
	full, err := Design(t.Context(), p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Design(over, p, Options{})
	if err != nil || !r.Stopped || r.Plan.Mechanism() == nil || r.Bound <= 0.5*full.Bound || r.Bound > full.Bound*(1+1e-9) {
		t.Fatalf("%+v, %v", r, err)
	}
	if slices.ContainsFunc(r.Candidates, func(c Candidate) bool { return c.Name == "gaussian" }) {
		t.Errorf("%+v has Gaussian noise", r.Candidates)
	}
	if late(t.Context(), time.Hour, 0) || !late(over, time.Second, time.Minute) || late(over, time.Second, 2*time.Hour) {
		t.Error("what is late is not, or the other way round")
	}
}

// TestCertain: the bound that counts rounding is close below that in float64, for matrices with and without an inverse.
func TestCertain(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	flat := plan.Workload{Kind: plan.Matrix, Cells: 9, Rows: [][]int64{{1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 0, 1, 0, 1, 0, 1, 0, 1 << 20}}}
	for name, c := range map[string]struct {
		w     plan.Workload
		slack float64
	}{
		"prefix:1": {workload(t, "prefix:1"), 1e-13}, "prefix:40": {workload(t, "prefix:40"), 1e-7},
		"ranges:150": {workload(t, "ranges:150"), 1e-5}, "flat": {flat, 1e-2},
	} {
		g := c.w.Gram()
		v := make([]float64, len(g))
		for i := range v {
			v[i] = math.Exp(2 * r.NormFloat64())
		}
		about := boundAt(g, v)
		got := certain(g, v)
		if got > about*(1+1e-14) || got < about*(1-c.slack) {
			t.Errorf("%s: %v, about %v", name, got, about)
		}
	}
}
