// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
)

// relations are the kinds of neighbors, with most cells of a person, of which the distances are exact where at
// most two cells differ.
func relations(do func(neighbors string, most int, exactly bool)) {
	for _, most := range []int{1, 2, 3} {
		do(dp.AddRemove, most, most <= 2)
		do(dp.Replace, most, most == 1)
	}
}

// TestDistances: of all differences of neighbors, one by one, the largest distances of answers are those that
// are accounted for, or are below them where more than two cells differ.
func TestDistances(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 60 {
		cells := 1 + r.IntN(4)
		rows := make([][]int64, 1+r.IntN(4))
		for i := range rows {
			rows[i] = make([]int64, cells)
			for j := range rows[i] {
				rows[i][j] = r.Int64N(9) - 4
			}
		}
		relations(func(neighbors string, most int, exactly bool) {
			l1, l2 := int64(0), int64(0)
			changes(cells, most, neighbors, func(v []int64) {
				sum, squares := int64(0), int64(0)
				for _, row := range rows {
					x := int64(0)
					for j, a := range row {
						x += a * v[j]
					}
					sum += max(x, -x)
					squares += x * x
				}
				l1, l2 = max(l1, sum), max(l2, squares)
			})
			// The bounds are sums of the largest norms, and Cauchy's.
			s := Spec{Neighbors: neighbors, MaxPerPerson: most, Workload: Workload{Cells: cells}}
			g, ok := s.gram(&Measurement{Kind: L2, Rows: rows})
			if !ok {
				t.Fatal("too large")
			}
			var norms, squares []int64
			for j := range cells {
				norm := int64(0)
				for _, row := range rows {
					norm += max(row[j], -row[j])
				}
				norms, squares = append(norms, norm), append(squares, g[j][j])
			}
			slices.Sort(norms)
			slices.Sort(squares)
			if touched := min(s.touched(), cells); !exactly {
				limit1, limit2 := int64(0), int64(0)
				for i := range touched {
					limit1 += norms[cells-1-i]
					limit2 += squares[cells-1-i]
				}
				if limit2 *= int64(touched); l1 > limit1 || l2 > limit2 {
					t.Fatalf("%v: distances %d and %d, above %d and %d", rows, l1, l2, limit1, limit2)
				}
				l1, l2 = limit1, limit2
			}
			if got := s.DistanceL1(rows); got != l1 {
				t.Errorf("%v, %s, %d cells: the l1 distance is %d, want %d", rows, neighbors, most, got, l1)
			}
			if got := s.Distance(rows); got != float64(l2) {
				t.Errorf("%v, %s, %d cells: the square of the l2 distance is %g, want %d", rows, neighbors, most, got, l2)
			}
		})
	}
}

// TestResidualDistances is the same for residuals, of all sets of three attributes.
func TestResidualDistances(t *testing.T) {
	w := Workload{Kind: Marginals, Attributes: attributes(2, 3, 2)}
	full := []int{0, 1, 2}
	relations(func(neighbors string, most int, exactly bool) {
		Subsets(full, func(set []int) {
			var squares []float64 // of the norms of rows
			if err := w.deviations(set, 1, func(d float64) error {
				squares = append(squares, d*d)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if most == 3 && neighbors == dp.Replace {
				return // too many
			}
			largest := 0.0
			changes(w.size(full), most, neighbors, func(v []int64) {
				sum := 0.0
				for i, x := range residuals(&w, sumOut(&w, v, full, set), set) {
					sum += float64(x*x) / squares[i]
				}
				largest = math.Max(largest, sum)
			})
			want := largest
			if !exactly || most == 2 { // touched² of the norms of single cells
				touched := float64(most)
				if neighbors == dp.Replace {
					touched *= 2
				}
				want = touched * touched
				for _, a := range set {
					n := float64(w.Attributes[a].Size)
					want *= 1 - 1/n
				}
			}
			got := (&Spec{Neighbors: neighbors, MaxPerPerson: most, Workload: w}).ResidualDistance(set)
			if math.Abs(got-want) > 1e-12 || largest > got+1e-12 {
				t.Errorf("%v, %s, %d cells: the square of the distance is %g, at most %g, want %g", set, neighbors, most, largest, got, want)
			}
		})
	})
}

// TestCost: what measurements are accounted for as, from the definitions of docs/proofs/plan.md.
func TestCost(t *testing.T) {
	law := geometric(t, 0.5)
	pair := Workload{Kind: Marginals, Attributes: attributes(2, 3), Sets: [][]int{{0}}}
	cost := func(s Spec) spent {
		l, err := s.validateMeasurement(0)
		if err != nil {
			t.Fatal(err)
		}
		var g [][]int64
		if s.Workload.Kind != Marginals {
			g, _ = s.gram(&s.Measurements[0])
		}
		return s.cost(0, &l, g)
	}
	for i, c := range []struct {
		neighbors string
		most      int
		workload  Workload
		of        Measurement
		uses      int
	}{
		{dp.AddRemove, 1, Workload{Cells: 5}, Measurement{Kind: Partition, Block: 1}, 1},
		{dp.Replace, 1, Workload{Cells: 5}, Measurement{Kind: Partition, Block: 1}, 2},
		{dp.AddRemove, 4, Workload{Cells: 5}, Measurement{Kind: Partition, Block: 1}, 4},
		{dp.Replace, 4, Workload{Cells: 5}, Measurement{Kind: Partition, Block: 1}, 5},   // all blocks, each by 1
		{dp.Replace, 1, Workload{Cells: 5}, Measurement{Kind: Partition, Block: 5}, 1},   // one block, by 1
		{dp.AddRemove, 3, Workload{Cells: 5}, Measurement{Kind: Partition, Block: 5}, 3}, // one block, by 3
		{dp.Replace, 3, Workload{Cells: 5}, Measurement{Kind: Partition, Block: 2}, 6},
		{dp.AddRemove, 2, pair, Measurement{Kind: Partition, Attributes: &[]int{0}}, 2},
		{dp.Replace, 1, pair, Measurement{Kind: Partition, Attributes: &[]int{}}, 1},
		{dp.Replace, 3, pair, Measurement{Kind: Partition, Attributes: &[]int{0, 1}}, 6},
		{dp.Replace, 4, pair, Measurement{Kind: Partition, Attributes: &[]int{0, 1}}, 6},
	} {
		c.of.Weight, c.of.Noise = 1, law
		got := cost(Spec{Neighbors: c.neighbors, MaxPerPerson: c.most, Workload: c.workload, Measurements: []Measurement{c.of}})
		if got.uses != c.uses || got.epsilon.Cmp(exact.Rational(0.5)) != 0 || got.delta.Sign() != 0 {
			t.Errorf("case %d: %d uses of %v, want %d", i, got.uses, got.epsilon, c.uses)
		}
	}
	rows := [][]int64{{3, -1}, {1, 2}}
	l1 := cost(Spec{Neighbors: dp.AddRemove, MaxPerPerson: 1, Workload: Workload{Cells: 2}, Measurements: []Measurement{{Kind: L1, Rows: rows, Weight: 1, Noise: law}}})
	if l1.uses != 1 || l1.epsilon.Cmp(big.NewRat(4, 2)) != 0 {
		t.Errorf("%d uses of %v, want one of 2", l1.uses, l1.epsilon)
	}
	l2 := cost(Spec{Neighbors: dp.AddRemove, MaxPerPerson: 1, Workload: Workload{Cells: 2}, Measurements: []Measurement{{Kind: L2, Rows: rows, Weight: 1, Deviation: 4}}})
	if l2.epsilon != nil || l2.squared.Cmp(big.NewRat(10, 16)) != 0 {
		t.Errorf("%v, want 10/16", l2.squared)
	}
	both := cost(Spec{Neighbors: dp.AddRemove, MaxPerPerson: 1, Workload: pair, Measurements: []Measurement{{Kind: Residuals, Sets: [][]int{{}, {0, 1}}, Deviations: []float64{2, 4}}}})
	if want := big.NewRat(13, 48); both.epsilon != nil || both.squared.Cmp(want) != 0 { // 1/4 and (1/2)(2/3)/16
		t.Errorf("%v, want %v", both.squared, want)
	}
}

// TestNoiseWithADelta is taken where no answer changes by more than 1, and only with the delta of its weights.
func TestNoiseWithADelta(t *testing.T) {
	pair := Workload{Kind: Marginals, Attributes: attributes(2, 3), Sets: [][]int{{0}}}
	lie := *triangle()
	lie.Delta = 0.1874
	for i, c := range []struct {
		most     int
		workload Workload
		of       Measurement
		good     bool
	}{
		{1, Workload{Cells: 5}, Measurement{Kind: Partition, Block: 5}, true},
		{3, Workload{Cells: 5}, Measurement{Kind: Partition, Block: 1}, true},
		{2, Workload{Cells: 5}, Measurement{Kind: Partition, Block: 2}, false},
		{2, pair, Measurement{Kind: Partition, Attributes: &[]int{0, 1}}, true},
		{1, pair, Measurement{Kind: Partition, Attributes: &[]int{0}}, true},
		{2, pair, Measurement{Kind: Partition, Attributes: &[]int{0}}, false},
		{1, Workload{Cells: 2}, Measurement{Kind: L1, Rows: [][]int64{{1, 0}, {0, 1}}}, false},
		{1, Workload{Cells: 5}, Measurement{Kind: Partition, Block: 5, Noise: &lie}, false},
	} {
		if c.of.Weight = 1; c.of.Noise == nil {
			c.of.Noise = triangle()
		}
		s := Spec{Neighbors: dp.AddRemove, MaxPerPerson: c.most, Workload: c.workload, Measurements: []Measurement{c.of}}
		if _, err := s.validateMeasurement(0); (err == nil) != c.good || err != nil && !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("case %d: %v, want it to be good: %v", i, err, c.good)
		}
	}
}

// TestSumsFit: whatever cells are taken, what is measured of them is at most 2^60 in magnitude, and cells are not
// bounded much more than for that.
func TestSumsFit(t *testing.T) {
	for name, s := range larger12(t) {
		large := name == "l2"
		if large {
			s.Measurements[0].Rows[0] = []int64{1 << 20, -1 << 20, 1 << 20}
			s.Measurements[0].Deviation = 1 << 30
		}
		if name == "residuals" {
			s.Workload.Attributes = attributes(2, 2000, 2000)
			large = true
		}
		p := made(t, s)
		largest := int64(1)
		for i := range p.spec.Measurements {
			for _, row := range p.spec.Measurements[i].Rows {
				sum := int64(0)
				for _, a := range row {
					sum += max(a, -a)
				}
				largest = max(largest, sum)
			}
		}
		for _, set := range p.bases { // residuals have rows of n−1 ones and −(n−1) along each axis
			product := int64(1)
			for _, n := range p.spec.Workload.sizes(set) {
				product *= 2 * int64(n-1)
			}
			largest = max(largest, product)
		}
		if p.limit > 1<<60/largest || p.limit > 1<<40 || large && p.limit < 1<<57/largest || !large && p.limit < 1<<40 {
			t.Errorf("%s: cells are up to %d, and the magnitudes of a row sum to %d", name, p.limit, largest)
		}
	}
}

// TestLimits: what is exact in integers is taken, and nothing beyond.
func TestLimits(t *testing.T) {
	one := Spec{Workload: Workload{Cells: 1}}
	for n, want := range map[int]bool{1 << 12: true, 1<<12 + 1: false} { // each a product of 2^40
		rows := make([][]int64, n)
		for i := range rows {
			rows[i] = []int64{1 << 20}
		}
		if _, ok := one.gram(&Measurement{Kind: L2, Rows: rows}); ok != want {
			t.Errorf("%d rows of 2^20 are taken: %v", n, ok)
		}
	}
	for _, c := range []struct {
		weight    int64
		deviation float64
		a         int64
		good      bool
	}{
		{1, 0x1p-20, 1 << 20, true},
		{1 << 30, 1 << 40, -1 << 20, true},
		{0, 1, 1, false},
		{-1, 1, 1, false},
		{1<<30 + 1, 1, 1, false},
		{1, math.Nextafter(0x1p-20, 0), 1, false},
		{1, math.Nextafter(1<<40, math.Inf(1)), 1, false},
		{1, math.NaN(), 1, false},
		{1, -1, 1, false},
		{1, 1, 1<<20 + 1, false},
		{1, 1, -1<<20 - 1, false},
	} {
		s := Spec{Neighbors: dp.AddRemove, MaxPerPerson: 1, Workload: Workload{Kind: Prefix, Cells: 1}}
		s.Measurements = []Measurement{{Kind: L2, Rows: [][]int64{{c.a}}, Weight: c.weight, Deviation: c.deviation}}
		if _, err := s.validateMeasurement(0); (err == nil) != c.good || err != nil && !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestFieldsOfKinds: a measurement has the fields of its kind, and no other ones.
func TestFieldsOfKinds(t *testing.T) {
	for kind, s := range larger12(t) {
		s.Measurements = s.Measurements[:1]
		good := s.Measurements[0]
		if _, err := s.validateMeasurement(0); err != nil {
			t.Fatal(kind, err)
		}
		for field, change := range map[string]func(m *Measurement){
			"block":      func(m *Measurement) { m.Block = 1 - min(m.Block, 1) },
			"weight":     func(m *Measurement) { m.Weight = 1 - min(m.Weight, 1) },
			"deviation":  func(m *Measurement) { m.Deviation = 1 - min(m.Deviation, 1) },
			"deviations": func(m *Measurement) { m.Deviations = append([]float64{1}, m.Deviations...) },
			"attributes": func(m *Measurement) {
				if m.Attributes == nil {
					m.Attributes = &[]int{0}
				} else {
					m.Attributes = nil
				}
			},
			"rows": func(m *Measurement) {
				if m.Rows == nil {
					m.Rows = [][]int64{make([]int64, max(s.Workload.Cells, 1))}
					m.Rows[0][0] = 1
				} else {
					m.Rows = nil
				}
			},
			"noise": func(m *Measurement) {
				if m.Noise == nil {
					m.Noise = geometric(t, 1)
				} else {
					m.Noise = nil
				}
			},
			"sets": func(m *Measurement) {
				if m.Sets == nil {
					m.Sets, m.Deviations = [][]int{{0}}, []float64{1}
				} else {
					m.Sets, m.Deviations = nil, nil
				}
			},
		} {
			s.Measurements = []Measurement{good}
			change(&s.Measurements[0])
			if _, err := s.validateMeasurement(0); !errors.Is(err, dp.ErrInvalid) {
				t.Errorf("%s with another %s: %v", kind, field, err)
			}
		}
	}
}
