// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// random returns noise of random weights that promises a delta which it keeps.
func random(rng *rand.Rand, p Problem, g Grid, rings int) Spec {
	s := Spec{Problem: p, Grid: g, Weights: make([]uint64, p.Norm.size(rings))}
	for i, j := range p.Norm.Cells(rings) {
		if o := p.Norm.Index(i, j); o == 1 || o > 1 && rng.IntN(6) > 0 {
			s.Weights[o] = rng.Uint64() >> (7 + i + rng.IntN(4) + rings)
			s.Weights[0] -= s.Weights[o] * uint64(p.Norm.Images(i, j))
		}
	}
	s.Delta, s.Epsilon = 0.999, 0.1+2*rng.Float64()
	return s
}

// cases are noises of all kinds; points returns a step of 1 whatever the sensitivity.
func cases(t *testing.T) (all []Spec) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test
	for range 40 {
		p := Problem{Norm: LInf, Query: dp.RealQuery, Loss: loss.L2}
		k := 1 + rng.IntN(3)
		g := Grid{PointsPerCell: 1 + 2*rng.Int64N(3), CellsPerSensitivity: k}
		p.Sensitivity = float64(k) * float64(g.PointsPerCell)
		switch rng.IntN(5) {
		case 4:
			p.Norm, p.Query, g.PointsPerCell = Span, dp.IntegerQuery, 1
			p.Sensitivity = float64(k)
		case 0:
			p.Norm = L1 // turned
			p.Sensitivity--
			if p.Sensitivity < 1 {
				p.Sensitivity, g.CellsPerSensitivity = 1, 2
			}
		case 1:
			p.Norm, p.Query, g.PointsPerCell = L1, dp.IntegerQuery, 1
			p.Sensitivity = float64(k)
		case 2:
			p.Query = dp.IntegerQuery
		}
		if rng.IntN(2) == 0 && !p.turned() {
			p.Loss = loss.L1
		}
		if p.Query == dp.RealQuery {
			g.GranularityExponent = rng.IntN(3) - 1
			p.Sensitivity = math.Ldexp(p.Sensitivity, g.GranularityExponent)
		}
		all = append(all, random(rng, p, g, 1+rng.IntN(3)))
	}
	return all
}

// law returns the weights of all points, times S².
func law(s *Spec) map[[2]int64]*big.Int {
	points, half := s.Grid.PointsPerCell, (s.Grid.PointsPerCell-1)/2
	law := map[[2]int64]*big.Int{}
	for i := -s.rings(); i <= s.rings(); i++ {
		for j := -s.rings(); j <= s.rings(); j++ {
			for a := -half; a <= half; a++ {
				for b := -half; b <= half; b++ {
					law[[2]int64{int64(i)*points + a, int64(j)*points + b}] = new(big.Int).SetUint64(s.Weights[s.Norm.Index(i, j)])
				}
			}
		}
	}
	return law
}

// divergence is that of a law and itself moved, from the definition, times S²·2^(64+RatioBits).
func divergence(law map[[2]int64]*big.Int, e *big.Int, x, y int64) *big.Int {
	sum, zero := new(big.Int), new(big.Int)
	for n, w := range law {
		v := law[[2]int64{n[0] - x, n[1] - y}]
		if v == nil {
			v = zero
		}
		d := new(big.Int).Lsh(w, exact.RatioBits)
		if d.Sub(d, new(big.Int).Mul(v, e)).Sign() > 0 {
			sum.Add(sum, d)
		}
	}
	return sum
}

// TestDefinition: the certified delta is the largest divergence over all shifts by points that rounded
// values within the sensitivity may be apart, and one of them has it; the loss is that of the law.
func TestDefinition(t *testing.T) {
	for n, s := range cases(t) {
		name := fmt.Sprintf("%d: %s %s, sensitivity %g, %+v", n, s.Norm, s.Query, s.Sensitivity, s.Grid)
		noise, err := New(s)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		law := law(&s)
		e := exact.ExpDown(s.Epsilon, exact.RatioBits)
		reach := s.Grid.PointsPerCell * int64(s.Grid.CellsPerSensitivity)
		most := new(big.Int)
		for x := -reach; x <= reach; x++ {
			for y := -reach; y <= reach; y++ {
				if s.Query == dp.IntegerQuery && s.Norm == L1 && max(x, -x)+max(y, -y) > reach || s.Norm == Span && max(x-y, y-x) > reach {
					continue
				}
				if d := divergence(law, e, x, y); d.Cmp(most) > 0 {
					most = d
				}
			}
		}
		c := noise.Certify()
		square := big.NewInt(s.Grid.PointsPerCell * s.Grid.PointsPerCell)
		want := exact.Probability(most)
		if want.Quo(want, new(big.Rat).SetInt(square)); c.DeltaUpper.Cmp(want) != 0 {
			t.Errorf("%s: delta %s, want %s", name, c.DeltaUpper.FloatString(12), want.FloatString(12))
		}
		// What is accounted for has the same delta, in both orders.
		row, ratio := noise.Rows()[0], exact.RatioDown(s.Epsilon)
		all, _ := noise.Pairs()
		accounted := [2]*big.Int{new(big.Int), new(big.Int)}
		for i, p := range all {
			if d := ratio.ShiftedDivergence(row, row, p.Shift); d.Cmp(accounted[i%2]) > 0 {
				accounted[i%2] = d
			}
			if i%2 == 1 && p.Shift != -all[i-1].Shift {
				t.Errorf("%s: the shifts %d and %d", name, all[i-1].Shift, p.Shift)
			}
		}
		if a, b := exact.Probability(accounted[0]), exact.Probability(accounted[1]); a.Cmp(c.DeltaUpper) != 0 || b.Cmp(c.DeltaUpper) != 0 {
			t.Errorf("%s: accounted for are %v and %v, certified is %v", name, a, b, c.DeltaUpper)
		}
		sum := new(big.Rat)
		for at, w := range law {
			x, y := big.NewRat(at[0], 1), big.NewRat(at[1], 1)
			if s.turned() {
				x, y = big.NewRat(at[0]+at[1], 2), big.NewRat(at[0]-at[1], 2)
			}
			x.Mul(x, exact.PowerOfTwo(s.Grid.GranularityExponent))
			y.Mul(y, exact.PowerOfTwo(s.Grid.GranularityExponent))
			cost := s.Loss.AtDown(x) // exact for these
			cost.Add(cost, s.Loss.AtDown(y))
			sum.Add(sum, cost.Mul(cost, new(big.Rat).SetInt(w)))
		}
		sum.Quo(sum, new(big.Rat).SetInt(square.Lsh(square, 64)))
		if c.ExpectedLoss.Cmp(sum) != 0 {
			t.Errorf("%s: loss %s, want %s", name, c.ExpectedLoss.FloatString(12), sum.FloatString(12))
		}
	}
}

// TestMixture: the divergence at a shift inside a cell is the bilinear mean of those at the four corners.
func TestMixture(t *testing.T) {
	s := random(rand.New(rand.NewPCG(3, 4)), Problem{Privacy: dp.Privacy{Sensitivity: 5}, Norm: LInf, Query: dp.IntegerQuery, Loss: loss.L2}, Grid{PointsPerCell: 5, CellsPerSensitivity: 1}, 2) //nolint:gosec // a test
	law, e := law(&s), exact.ExpDown(s.Epsilon, exact.RatioBits)
	for x := int64(-5); x < 5; x++ {
		for y := int64(0); y < 5; y++ {
			k, a, b := exact.FloorDiv(x, 5)*5, x-exact.FloorDiv(x, 5)*5, y
			want := new(big.Int)
			for _, corner := range [][3]int64{{k, 0, (5 - a) * (5 - b)}, {k + 5, 0, a * (5 - b)}, {k, 5, (5 - a) * b}, {k + 5, 5, a * b}} {
				d := divergence(law, e, corner[0], corner[1])
				want.Add(want, d.Mul(d, big.NewInt(corner[2])))
			}
			got := divergence(law, e, x, y)
			if got.Mul(got, big.NewInt(25)).Cmp(want) != 0 {
				t.Errorf("at (%d, %d): %v, want %v", x, y, got, want)
			}
		}
	}
}

// TestRounding: rounded values within the sensitivity are apart by what the cells have to cover, and no less.
func TestRounding(t *testing.T) {
	for _, sensitivity := range []float64{1, 2, 2.5, 3} {
		for _, norm := range []Norm{LInf, L1} {
			s := Spec{Problem: Problem{Privacy: dp.Privacy{Sensitivity: sensitivity}, Norm: norm, Query: dp.RealQuery}}
			const part = 16
			most := int64(0)
			round := func(n int) int64 { return int64(math.Floor(float64(n)/part + 0.5)) }
			reach := int(sensitivity * part)
			for x := range part {
				for y := range part {
					for a := -reach; a <= reach; a++ {
						for b := -reach; b <= reach; b++ {
							if norm == L1 && max(a, -a)+max(b, -b) > reach {
								continue
							}
							u, v := round(x+a)-round(x), round(y+b)-round(y)
							if norm == L1 {
								u, v = u+v, u-v
							}
							most = max(most, u, -u, v, -v)
						}
					}
				}
			}
			if got := s.needed().Int64(); got != most {
				t.Errorf("%s, %g: the cells have to cover %d points, want %d", norm, sensitivity, got, most)
			}
		}
	}
}

// bound is the lower bound from its definition, over all nodes within a box.
func bound(s *Spec) *big.Rat {
	const box = 9
	up := new(big.Rat).SetFrac(exact.ExpUp(s.Epsilon, exact.RatioBits), new(big.Int).Lsh(big.NewInt(1), exact.RatioBits))
	values := s.Nodes(box)
	bracket := map[[2]int]*big.Rat{}
	for i := -box; i <= box; i++ {
		for j := -box; j <= box; j++ {
			bracket[[2]int{i, j}] = new(big.Rat).Add(values[max(i, -i)], values[max(j, -j)])
		}
	}
	price := new(big.Rat)
	for _, shift := range s.Dual.Shifts {
		most := new(big.Rat)
		for _, row := range shift.Rows {
			for n, y := range row.Multipliers {
				v := new(big.Rat).SetInt64(y)
				v.Mul(v, exact.PowerOfTwo(s.Dual.Exponent))
				if v.Cmp(most) > 0 {
					most = v
				}
				gain, lose := bracket[[2]int{row.X, row.First + n}], bracket[[2]int{row.X - shift.X, row.First + n - shift.Y}]
				gain.Add(gain, v)
				lose.Sub(lose, new(big.Rat).Mul(v, up))
			}
		}
		price.Add(price, most)
	}
	least := new(big.Rat).SetInt64(1 << 40)
	for i := -box; i <= box; i++ {
		for j := -box; j <= box; j++ {
			mean, count := new(big.Rat), int64(0)
			images := [][2]int{{i, j}, {-i, -j}, {j, i}, {-j, -i}, {i, -j}, {-i, j}, {j, -i}, {-j, i}}
			if s.Norm == Span {
				images = images[:4]
			}
			for _, at := range images {
				mean.Add(mean, bracket[at])
				count++
			}
			if mean.Quo(mean, big.NewRat(count, 1)).Cmp(least) < 0 {
				least = mean
			}
		}
	}
	least.Sub(least, price.Mul(price, exact.Rational(s.Delta)))
	if s.turned() {
		least.Quo(least, big.NewRat(2, 1))
	}
	if least.Sign() < 0 {
		least.SetInt64(0)
	}
	return least
}

// TestLowerBound: the bound is that of the definition, and no private noise has a smaller loss.
func TestLowerBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6)) //nolint:gosec // a test
	positive := 0
	for _, s := range cases(t) {
		s.Delta, s.Epsilon = 0.001, s.Epsilon/8
		s.Dual = &Dual{CellsPerSensitivity: 1 + rng.IntN(int(max(1, min(s.Sensitivity, 3)))), Exponent: -6 - rng.IntN(6)}
		s.Shifts(s.Dual.CellsPerSensitivity, func(x, y, _ int) {
			d := dualShift{X: x, Y: y}
			for i := -2 + rng.IntN(2); i < 2; i++ {
				row := dualRow{X: i, First: -1 - rng.IntN(2)}
				for range 3 {
					row.Multipliers = append(row.Multipliers, rng.Int64N(60)/(1+rng.Int64N(9)))
				}
				d.Rows = append(d.Rows, row)
			}
			s.Dual.Shifts = append(s.Dual.Shifts, d)
		})
		if err := s.validate(); err != nil {
			t.Fatal(err)
		}
		got, want := s.LowerBound(nil), bound(&s)
		if got.Cmp(want) != 0 {
			t.Errorf("%+v, %+v: %s, want %s", s.Problem, s.Dual, got.FloatString(9), want.FloatString(9))
		}
		if got.Sign() > 0 {
			positive++
		}
		// The promise that the noise itself keeps.
		n, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		s.Delta = exact.FloatUp(n.Certify().DeltaUpper)
		if s.Delta < 1 && s.LowerBound(nil).Cmp(n.Certify().ExpectedLoss) > 0 {
			t.Errorf("%+v: a bound of %v above the loss of private noise, %v", s.Problem, s.LowerBound(nil), n.Certify().ExpectedLoss)
		}
	}
	if positive < 5 {
		t.Errorf("only %d bounds are above 0", positive)
	}
}

// TestLowerBoundReaches: multipliers count wherever they are, below the middle too, and a shift without any costs nothing.
func TestLowerBoundReaches(t *testing.T) {
	s := Spec{
		Problem: Problem{Privacy: dp.Privacy{Epsilon: 0.1, Delta: 0.001, Sensitivity: 1}, Norm: Span, Query: dp.IntegerQuery, Loss: loss.L2},
		Dual: &Dual{CellsPerSensitivity: 1, Exponent: -3, Shifts: []dualShift{{X: 1}, {X: 1, Y: -1, Rows: []dualRow{
			{X: -1, First: 0, Multipliers: []int64{1, 1}}, {X: 0, First: -3, Multipliers: []int64{1, 1, 3, 5}}, {X: 1, First: -1, Multipliers: []int64{2}},
		}}}},
	}
	got, want := s.LowerBound(nil), bound(&s)
	if got.Cmp(want) != 0 || got.Sign() == 0 {
		t.Errorf("%s, want %s", got.FloatString(9), want.FloatString(9))
	}
}

// TestCells: a loop over the cells may end at any of them.
func TestCells(t *testing.T) {
	for _, norm := range []Norm{LInf, L1, Span} {
		for i, j := range norm.Cells(3) {
			if norm.Index(i, j) == 4 {
				break
			}
		}
	}
}

// TestNodes: the nodes of a bound are those of the loss, of whole numbers as many apart as fit.
func TestNodes(t *testing.T) {
	for _, c := range []struct {
		query dp.Query
		cells int
		want  string // of node 3
	}{
		{dp.IntegerQuery, 5, "9"}, {dp.IntegerQuery, 4, "9"}, {dp.IntegerQuery, 2, "35"}, {dp.RealQuery, 5, "35/4"}, {dp.RealQuery, 2, "875/16"},
	} {
		s := Spec{Problem: Problem{Privacy: dp.Privacy{Sensitivity: 5}, Norm: LInf, Query: c.query, Loss: loss.L2}, Dual: &Dual{CellsPerSensitivity: c.cells}}
		if got := s.Nodes(3)[3].RatString(); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// TestJudge: a delta that is just kept is kept.
func TestJudge(t *testing.T) {
	s := Spec{
		Problem: Problem{Privacy: dp.Privacy{Delta: 0.875, Sensitivity: 1}, Norm: Span, Query: dp.IntegerQuery, Loss: loss.L2},
		Grid:    Grid{PointsPerCell: 1, CellsPerSensitivity: 1}, Weights: []uint64{1 << 63, 1 << 61, 1 << 60, 0},
	}
	for _, delta := range []float64{0.875, math.Nextafter(0.875, 0)} {
		s.Delta = delta
		n, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := n.Verify(); (err == nil) != (delta == 0.875) {
			t.Errorf("%v: %v, certified %v", delta, err, n.Certify().DeltaUpper)
		}
	}
}

// TestCovers: what is covered are the sensitivities of which no change is further than that of the noise, by the
// corners of squares and diamonds.
func TestCovers(t *testing.T) {
	size := func(norm Norm, x, y float64) float64 {
		if norm == L1 {
			return math.Abs(x) + math.Abs(y)
		}
		if norm == Span {
			return max(math.Abs(x), math.Abs(y), math.Abs(x-y))
		}
		return max(math.Abs(x), math.Abs(y))
	}
	for _, own := range []Norm{LInf, L1, Span} {
		n := &Noise{&content{spec: Spec{Problem: Problem{Privacy: dp.Privacy{Sensitivity: 2}, Norm: own}}}}
		for _, norm := range []Norm{LInf, L1, Span} {
			for _, s := range []float64{0.5, 1, 1.5, 2, 2.5, 4, 5} {
				most := 0.0
				for _, c := range [][2]float64{{s, 0}, {0, s}, {s, s}, {s, -s}} {
					if size(norm, c[0], c[1]) <= s {
						most = max(most, size(own, c[0], c[1]))
					}
				}
				if got, want := n.Covers(norm, s) == nil, most <= 2; got != want {
					t.Errorf("noise for %s:2 is for %s:%g: %v, want %v", own, norm, s, got, want)
				}
			}
		}
		for _, s := range []float64{0, -1, math.NaN(), math.Inf(1)} {
			if err := n.Covers(own, s); !errors.Is(err, dp.ErrInvalid) {
				t.Errorf("%g: %v", s, err)
			}
		}
		if err := n.Covers("l2", 1); !errors.Is(err, dp.ErrInvalid) {
			t.Error(err)
		}
	}
}

// TestPairs: all shifts are compared up to symmetry, in both orders, and neighbors are those that values have.
func TestPairs(t *testing.T) {
	for _, c := range []struct {
		norm        Norm
		query       dp.Query
		sensitivity float64
		all, own    int
	}{
		{LInf, dp.IntegerQuery, 3, 2 * 9, 2 * 9},
		{L1, dp.IntegerQuery, 3, 2 * 5, 2 * 5},
		{Span, dp.IntegerQuery, 3, 2 * 11, 2 * 11},
		{LInf, dp.RealQuery, 2.5, 2 * 9, 2 * 5},
		{LInf, dp.RealQuery, 3, 2 * 9, 2 * 9},
		{L1, dp.RealQuery, 2, 2 * 9, 2 * 5},
	} {
		p := Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.9, Sensitivity: c.sensitivity}, Norm: c.norm, Query: c.query, Loss: loss.L2}
		n, err := New(Spec{Problem: p, Grid: Grid{PointsPerCell: 1, CellsPerSensitivity: 3}, Weights: append([]uint64{1 << 63}, slices.Repeat([]uint64{1 << 60}, c.norm.size(1)-1)...)})
		if err != nil {
			t.Fatal(err)
		}
		all, own := n.Pairs()
		if len(all) != c.all || len(own) != c.own {
			t.Errorf("%+v: %d pairs, %d of neighbors", c, len(all), len(own))
		}
		if c.query == dp.RealQuery && c.norm == LInf { // cells of three points are no other case
			s := n.Spec()
			s.Grid.PointsPerCell, s.Sensitivity = 3, 3*s.Sensitivity
			if n, err = New(s); err != nil {
				t.Fatal(err)
			}
			if _, own := n.Pairs(); len(own) != c.own {
				t.Errorf("%+v: %d of neighbors with three points", c, len(own))
			}
		}
	}
}

func TestBadInput(t *testing.T) {
	good := Spec{
		Problem: Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.9, Sensitivity: 1}, Norm: LInf, Query: dp.IntegerQuery, Loss: loss.L2},
		Grid:    Grid{PointsPerCell: 1, CellsPerSensitivity: 1}, Weights: []uint64{1 << 63, 1 << 60, 1 << 60},
	}
	for want, change := range map[string]func(s *Spec){
		"": func(*Spec) {},
		" ": func(s *Spec) {
			rows := []dualRow{{X: -255, First: -255, Multipliers: make([]int64, 511)}, {X: 255, First: 255, Multipliers: []int64{0}}}
			s.Dual = &Dual{CellsPerSensitivity: 1, Shifts: []dualShift{{X: 1, Rows: rows}}}
		},
		"   ":  func(s *Spec) { s.Query, s.Sensitivity, s.Grid.GranularityExponent = dp.RealQuery, 0x1p900, 900 },
		"    ": func(s *Spec) { s.Query, s.Sensitivity, s.Grid.GranularityExponent = dp.RealQuery, 0x1p-900, -900 },
		"norm = span, want linf or l1": func(s *Spec) {
			s.Norm, s.Query, s.Weights = Span, dp.RealQuery, []uint64{1 << 63, 1 << 60, 1 << 60, 1 << 60}
		},
		"norm = l2":                       func(s *Spec) { s.Norm = "l2" },
		"query = lattice":                 func(s *Spec) { s.Query = dp.LatticeQuery },
		"loss = lp:1.5":                   func(s *Spec) { s.Loss, _ = loss.Parse("lp:1.5") },
		"loss = none":                     func(s *Spec) { s.Loss = nil },
		"loss = l1, want l2":              func(s *Spec) { s.Loss, s.Norm, s.Query, s.Grid.PointsPerCell = loss.L1, L1, dp.RealQuery, 3 },
		"sensitivity = 1.5, want a whole": func(s *Spec) { s.Sensitivity = 1.5 },
		"sensitivity = 2, want one":       func(s *Spec) { s.Sensitivity = 2 },
		"sensitivity = 1, want one":       func(s *Spec) { s.Norm, s.Query = L1, dp.RealQuery }, // the rounding of both
		"weights = a sum":                 func(s *Spec) { s.Weights[1]++ },
		"weights = 2,":                    func(s *Spec) { s.Weights = s.Weights[:2] },
		"  ":                              func(s *Spec) { s.Weights = append(s.Weights, make([]uint64, LInf.size(127)-3)...) },
		"weights = 8385":                  func(s *Spec) { s.Weights = append(s.Weights, make([]uint64, LInf.size(128)-3)...) },
		"points_per_cell = -1":            func(s *Spec) { s.Grid.PointsPerCell = -1 },
		"points_per_cell = 1099511627777": func(s *Spec) { s.Grid.PointsPerCell = 1<<40 + 1 },
		"certificate.delta":               func(s *Spec) { s.Claims.Delta = "x" },
		"dual.cells_per_sensitivity = 0":  func(s *Spec) { s.Dual = &Dual{} },
		"dual.cells_per_sensitivity = 65": func(s *Spec) { s.Sensitivity, s.Dual = 70, &Dual{CellsPerSensitivity: 65} },
		"points_per_cell = 2":             func(s *Spec) { s.Grid.PointsPerCell = 2 },
		"points_per_cell = 3":             func(s *Spec) { s.Norm, s.Grid.PointsPerCell = L1, 3 },
		"granularity_exponent = 901":      func(s *Spec) { s.Query, s.Grid.GranularityExponent = dp.RealQuery, 901 },
		"granularity_exponent = -901":     func(s *Spec) { s.Query, s.Grid.GranularityExponent = dp.RealQuery, -901 },
		"granularity_exponent = 1":        func(s *Spec) { s.Grid.GranularityExponent = 1 },
		"cells_per_sensitivity = 0":       func(s *Spec) { s.Grid.CellsPerSensitivity = 0 },
		"dual.shifts = (1, 2)":            func(s *Spec) { s.Dual = &Dual{CellsPerSensitivity: 1, Shifts: []dualShift{{X: 1, Y: 2}}} },
		"dual.shifts = (0, 0)":            func(s *Spec) { s.Dual = &Dual{CellsPerSensitivity: 1, Shifts: []dualShift{{}}} },
		"dual.shifts = (1, 0)":            func(s *Spec) { s.Dual = &Dual{CellsPerSensitivity: 1, Shifts: []dualShift{{X: 1}, {X: 1}}} },
		"dual.shifts = (1, 1)": func(s *Spec) {
			s.Norm, s.Dual = L1, &Dual{CellsPerSensitivity: 1, Shifts: []dualShift{{X: 1, Y: 1}}}
		},
		"dual.cells_per_sensitivity = 2": func(s *Spec) { s.Dual = &Dual{CellsPerSensitivity: 2} },
		"dual.rows = 0": func(s *Spec) {
			s.Dual = &Dual{CellsPerSensitivity: 1, Shifts: []dualShift{{X: 1, Rows: []dualRow{{}, {}}}}}
		},
		"dual.first = -256, want nodes from -255 to 255": func(s *Spec) {
			s.Dual = &Dual{CellsPerSensitivity: 1, Shifts: []dualShift{{X: 1, Rows: []dualRow{{First: -256}}}}}
		},
		"dual.x = -256, want nodes from -255 to 255": func(s *Spec) {
			s.Dual = &Dual{CellsPerSensitivity: 1, Shifts: []dualShift{{X: 1, Rows: []dualRow{{X: -256}}}}}
		},
		"dual.x = 256": func(s *Spec) {
			s.Dual = &Dual{CellsPerSensitivity: 1, Shifts: []dualShift{{X: 1, Rows: []dualRow{{X: 256}}}}}
		},
		"dual.first = 250": func(s *Spec) {
			s.Dual = &Dual{CellsPerSensitivity: 1, Shifts: []dualShift{{X: 1, Rows: []dualRow{{First: 250, Multipliers: make([]int64, 7)}}}}}
		},
		"epsilon = -1":    func(s *Spec) { s.Epsilon = -1 },
		"epsilon = 101":   func(s *Spec) { s.Epsilon = 101 },
		"delta = 1":       func(s *Spec) { s.Delta = 1 },
		"sensitivity = 0": func(s *Spec) { s.Sensitivity = 0 },
		"dual.multipliers = -1": func(s *Spec) {
			s.Dual = &Dual{CellsPerSensitivity: 1, Shifts: []dualShift{{X: 1, Rows: []dualRow{{Multipliers: []int64{-1}}}}}}
		},
	} {
		s := good
		s.Weights = append([]uint64(nil), good.Weights...)
		change(&s)
		_, err := New(s)
		if good := strings.TrimSpace(want) == ""; good && err != nil || !good && (!errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), ": "+want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	n, err := New(good)
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range []proof.Value{proof.Row{1}, proof.Row{1, 2, 3}, proof.Row{1, 0.5}, proof.Row{1, math.NaN()}, proof.Row{0x1p53, 0}, proof.Number(1), nil} {
		if y, err := n.Draw(in, func() (uint64, error) { t.Error("asked for a word"); return 0, nil }); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%v is answered by %v, %v", in, y, err)
		}
	}
}
