// SPDX-License-Identifier: Apache-2.0

package ball

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// bounded returns a problem in steps of 2^-10 with random multipliers, those of the last knots 0.
func bounded(r *rand.Rand, d int, l loss.Loss, parts int) Spec {
	s := Spec{
		Problem:      Problem{d, dp.Privacy{Epsilon: 0.7, Delta: 0.1, Sensitivity: 1}, l},
		StepExponent: -10, Radii: []int64{1024}, Weights: nil,
	}
	knots := []int64{0, 200, 512, 700, 1100, 1800, 2100, 2600, 3400}
	s.Dual = &Dual{Exponent: -6, Parts: parts, Radii: knots}
	for _, length := range []int64{512, 1024} {
		shift := dualShift{Length: length}
		for i := range 5 {
			row := dualRow{Knot: i, First: i % 2}
			for range len(knots) - 1 - row.First {
				row.Multipliers = append(row.Multipliers, r.Int64N(64))
			}
			shift.Rows = append(shift.Rows, row)
		}
		s.Dual.Shifts = append(s.Dual.Shifts, shift)
	}
	return s
}

// multiplier is bilinear in the squares, and does not change beyond the last knot.
func (s *Spec) multiplier(y [][]int64, a, b float64) float64 {
	place := func(q float64) (int, float64) {
		last := len(s.Dual.Radii) - 1
		for i := range last {
			from, to := float64(s.Dual.Radii[i]), float64(s.Dual.Radii[i+1])
			if q <= to*to {
				return i, (q - from*from) / (to*to - from*from)
			}
		}
		return last - 1, 1
	}
	i, u := place(a)
	j, v := place(b)
	at := func(i, j int) float64 { return float64(y[i][j]) }
	return math.Ldexp((1-u)*((1-v)*at(i, j)+v*at(i, j+1))+u*((1-v)*at(i+1, j)+v*at(i+1, j+1)), s.Dual.Exponent)
}

// bracket is the mean over directions by the midpoint rule, in units of the values.
func (s *Spec) bracket(r float64) float64 {
	const directions = 1000
	power, _ := s.Power()
	sum := math.Pow(math.Ldexp(r, s.StepExponent), power)
	for k := range s.Dual.Shifts {
		length := float64(s.Dual.Shifts[k].Length)
		y, _ := s.Dual.Shifts[k].dense(len(s.Dual.Radii))
		for n := range directions {
			u := (float64(n) + 0.5) / directions
			t := 2*u - 1
			if s.Dimension == 2 {
				t = math.Cos(math.Pi * u)
			}
			q := r*r + length*length - 2*r*length*t
			sum += (s.multiplier(y, r*r, q) - math.Exp(s.Epsilon)*s.multiplier(y, q, r*r)) / directions
		}
	}
	return sum
}

// TestBrackets: the least of all brackets by quadrature is not below the bound, and not far above it with many parts.
func TestBrackets(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, d := range []int{2, 3} {
		for _, l := range []loss.Loss{loss.L1, loss.L2} {
			s := bounded(r, d, l, 1)
			s.Delta = 0 // so that the bound is that of the brackets
			// More than all brackets are below 0.
			for i := range s.Dual.Shifts {
				for _, row := range s.Dual.Shifts[i].Rows {
					for j := range row.Multipliers {
						if row.Knot+j > 3 || j == 0 {
							row.Multipliers[j] /= 32
						}
					}
				}
			}
			s.Dual.Exponent = -14
			least := math.Inf(1)
			for x := 0.0; x <= 3400; x += 8 {
				least = min(least, s.bracket(x))
			}
			before := -1.0
			for _, parts := range []int{1, 4, 16, 64} {
				s.Dual.Parts = parts
				got, _ := s.LowerBound(nil).Float64()
				if got > max(0, least)+1e-5 || got < before {
					t.Errorf("d %d, %s, %d parts: %v, and %v with fewer; quadrature %v", d, l.Name(), parts, got, before, least)
				}
				before = got
			}
			if before < least-0.003*math.Abs(least)-1e-4 {
				t.Errorf("d %d, %s: %v, want about %v", d, l.Name(), before, least)
			}
		}
	}
}

// TestBetween: within each part no bracket is below what is said of it, with multipliers that jump as they please.
func TestBetween(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, d := range []int{2, 3} {
		for _, l := range []loss.Loss{loss.L1, loss.L2} {
			for range 2 {
				s := bounded(r, d, l, 1)
				power, _ := s.Power()
				b := newDualBound(&s, int(power))
				for i := range len(s.Dual.Radii) - 1 {
					from, to := s.Dual.Radii[i], s.Dual.Radii[i+1]
					for k := range int64(3) {
						x, y := from+(to-from)*k/3, from+(to-from)*(k+1)/3
						low, _ := b.between(i, x, y, b.look(x), b.look(y)).Float64()
						for n := range 9 {
							at := float64(x) + float64(y-x)*float64(n)/8
							if got := s.bracket(at); got < low-1e-3 {
								t.Errorf("d %d, %s, at %v of %d to %d: %v, below %v", d, l.Name(), at, x, y, got, low)
							}
						}
					}
				}
			}
		}
	}
}

// TestKinks: where the only multipliers are those of a dip at one knot, alike for all of the first distance, the bracket is below
// its values at both ends of a part, as a knot is crossed; and what is said of it is below that.
func TestKinks(t *testing.T) {
	below := 0
	for _, d := range []int{2, 3} {
		s := bounded(rand.New(rand.NewPCG(1, 1)), d, loss.L1, 1)
		s.Epsilon = 0
		s.Dual.Radii = []int64{0, 10, 20, 1000, 1100, 1200, 3000}
		s.Dual.Shifts = []dualShift{{Length: 1024}}
		for i := range 7 {
			s.Dual.Shifts[0].Rows = append(s.Dual.Shifts[0].Rows, dualRow{Knot: i, Multipliers: []int64{1 << 12, 1 << 12, 1 << 12, 1 << 12, 0, 1 << 12, 1 << 12}})
		}
		b := newDualBound(&s, 1)
		for x := int64(20); x < 980; x += 20 {
			for _, width := range []int64{20, 60, 150} {
				if x+width > 1000 {
					continue
				}
				low, _ := b.between(2, x, x+width, b.look(x), b.look(x+width)).Float64()
				ends := min(s.bracket(float64(x)), s.bracket(float64(x+width)))
				for n := range 9 {
					got := s.bracket(float64(x) + float64(width)*float64(n)/8)
					if got < low-1e-2 {
						t.Errorf("d %d, %d to %d: %v, below %v", d, x, x+width, got, low)
					}
					if got < ends-1e-1 {
						below++
					}
				}
			}
		}
	}
	if below < 5 {
		t.Errorf("%d brackets below both ends: another example", below)
	}
}

// TestInside: probabilities and means over directions, by the midpoint rule; bounds are close to each other and exact where
// all directions or none count.
func TestInside(t *testing.T) {
	for _, d := range []int{2, 3} {
		s := Spec{Problem: Problem{Dimension: d}}
		s.Dual = &Dual{}
		b := newDualBound(&s, 1)
		for _, c := range [][3]int64{{0, 5, 5}, {0, 5, 6}, {0, 5, 4}, {3, 5, 2}, {3, 5, 8}, {3, 5, 9}, {3, 5, 4}, {3, 5, 5}, {3, 5, 7}, {900, 1000, 800}, {900, 1000, 1800}, {70, 10, 77}} {
			p, g := b.inside(c[0], c[1], c[2])
			const n = 50000
			var near, mean float64
			for k := range n {
				u := (float64(k) + 0.5) / n
				at := 2*u - 1
				if d == 2 {
					at = math.Cos(math.Pi * u)
				}
				left := float64(c[2]*c[2]) - float64(c[0]*c[0]) - float64(c[1]*c[1]) + 2*float64(c[0])*float64(c[1])*at
				if left > 0 {
					near += 1. / n
					mean += left / n
				}
			}
			for _, v := range []struct {
				got  bounds
				want float64
				size float64
			}{{p, near, 1}, {g, mean, float64(c[2] * c[2])}} {
				low, _ := new(big.Float).SetInt(v.got.low).Float64()
				high, _ := new(big.Float).SetInt(v.got.high).Float64()
				low, high = math.Ldexp(low, -meanBits), math.Ldexp(high, -meanBits)
				if v.got.low.Cmp(v.got.high) > 0 || high-low > 1e-15*v.size*8 || math.Abs(low-v.want) > 1e-5*v.size {
					t.Errorf("d %d, %v: %v to %v, want %v", d, c, low, high, v.want)
				}
			}
		}
	}
}

// gaining has multipliers near 0, where nothing is lost, and one in sight of the last knot, from a row that ends at a knot.
func gaining(end int64) Spec {
	s := bounded(rand.New(rand.NewPCG(5, 6)), 2, loss.L2, 8)
	s.Dual.Exponent, s.Dual.Radii = -40, []int64{0, 200, 512, 700, 1100, end, 2450, 2600, 3430}
	small := []int64{1 << 34, 1 << 34, 1 << 34, 1 << 34, 1 << 34}
	s.Dual.Shifts = []dualShift{{Length: 1024, Rows: []dualRow{{Knot: 0, First: 2, Multipliers: small}, {Knot: 4, First: 8, Multipliers: []int64{1}}}}}
	return s
}

// TestBeyond: with a multiplier in sight of what is beyond all knots nothing is proved, and with one at the very end of that
// something is.
func TestBeyond(t *testing.T) {
	for end, proves := range map[int64]bool{2406: true, 2407: false} { // the last knot less the shift
		s := gaining(end)
		s.Delta = 0
		if got := s.LowerBound(nil).Sign() > 0; got != proves {
			t.Errorf("knot %d: proved %v, want %v", end, got, proves)
		}
	}
	// Beyond knots that are farther apart than the shift is long the last two are in sight.
	for knot := 6; knot <= 8; knot++ {
		s := gaining(2406)
		s.Delta, s.Dual.Radii[8] = 0, 2600+1024+100
		s.Dual.Shifts[0].Rows[1].Knot = knot
		if got, proves := s.LowerBound(nil).Sign() > 0, knot == 6; got != proves {
			t.Errorf("a multiplier at knot %d: proved %v, want %v", knot, got, proves)
		}
	}
}

// TestBadDual: each rule of the format, by its sentence.
func TestBadDual(t *testing.T) {
	sound := func() Spec {
		s := bounded(rand.New(rand.NewPCG(7, 8)), 2, loss.L2, 1)
		s.Radii, s.Weights, s.Delta = []int64{0, 1024, 3072}, []uint64{1 << 58, 1<<62 - 1<<58, 3 << 62}, 0.5
		return s
	}
	for _, change := range []func(s *Spec){
		func(*Spec) {},
		func(s *Spec) { s.Dual.Parts = maxParts },
		func(s *Spec) {
			for len(s.Dual.Radii) < maxKnots {
				s.Dual.Radii = append(s.Dual.Radii, s.Dual.Radii[len(s.Dual.Radii)-1]+1)
			}
			s.Dual.Radii[maxKnots-1] = maxRadius
		},
		func(s *Spec) { s.Dual.Shifts[0].Length = 1 },
		func(s *Spec) {
			s.Dual.Shifts = nil
			for k := range int64(maxMoves) {
				s.Dual.Shifts = append(s.Dual.Shifts, dualShift{Length: 1 + k})
			}
		},
	} {
		s := sound()
		s.Claims.Delta, s.Claims.ExpectedLoss, s.Claims.LowerBound = "1", "9", "0" // which New does not compute then
		change(&s)
		if _, err := New(s); err != nil {
			t.Error(err)
		}
	}
	for _, c := range []struct {
		change func(s *Spec)
		want   string
	}{
		{func(s *Spec) { s.Dimension = 4 }, "no dual for more than three coordinates"},
		{func(s *Spec) { s.Loss, _ = loss.Parse("lp:3") }, "no dual for a loss other"},
		{func(s *Spec) { s.Dual.Exponent = 2001 }, "dual.exponent"},
		{func(s *Spec) { s.Dual.Parts = 0 }, "dual.parts"},
		{func(s *Spec) { s.Dual.Parts = 65 }, "dual.parts"},
		{func(s *Spec) { s.Dual.Radii = nil }, "dual.radii"},
		{func(s *Spec) { s.Dual.Radii = []int64{0} }, "dual.radii"},
		{func(s *Spec) { s.Dual.Radii[0] = 1 }, "dual.radii"},
		{func(s *Spec) { s.Dual.Radii[2] = s.Dual.Radii[1] }, "dual.radii"},
		{func(s *Spec) { s.Dual.Radii[8] = maxRadius + 1 }, "dual.radii"},
		{func(s *Spec) { s.Dual.Shifts = make([]dualShift, maxMoves+1) }, "dual.shifts"},
		{func(s *Spec) { s.Dual.Shifts[1].Length = 1025 }, "dual.length"},
		{func(s *Spec) { s.Sensitivity = math.Nextafter(1, 0) }, "dual.length"}, // the last shift is of 1024 steps, and longer
		{func(s *Spec) { s.Dual.Shifts[0].Length = 0 }, "dual.length"},
		{func(s *Spec) { s.Dual.Shifts[0].Length = 1024 }, "dual.length"},
		{func(s *Spec) { s.Dual.Shifts[0].Rows[1].Knot = 0 }, "dual.knot"},
		{func(s *Spec) { s.Dual.Shifts[0].Rows[4].Knot = 9 }, "dual.knot"},
		{func(s *Spec) { s.Dual.Shifts[0].Rows[0].First = -1 }, "dual.first"},
		{func(s *Spec) { s.Dual.Shifts[0].Rows[0].First = 2 }, "dual.first"},
		{func(s *Spec) { s.Dual.Shifts[0].Rows[0].Multipliers[3] = -1 }, "dual.multipliers"},
		{func(s *Spec) { s.Dual.Shifts[0].Rows[0].Multipliers[3] = 1<<61 + 1 }, "dual.multipliers"},
	} {
		s := sound()
		c.change(&s)
		if _, err := New(s); !errors.Is(err, check.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// TestLargestMultiplier: the price of a shift is its largest multiplier, wherever it stands.
func TestLargestMultiplier(t *testing.T) {
	for at := range 6 {
		rows := []dualRow{{Knot: 1, First: 0, Multipliers: []int64{5, 6, 7}}, {Knot: 3, First: 1, Multipliers: []int64{1, 2, 7}}}
		rows[at/3].Multipliers[at%3] = 9
		y, most := (&dualShift{Rows: rows}).dense(4)
		if most != 9 || y[rows[at/3].Knot][rows[at/3].First+at%3] != 9 {
			t.Errorf("multiplier %d: the largest is %d in %v, want 9", at, most, y)
		}
	}
}

// TestFalseBound: a bound that is a unit of its last digit above what multipliers prove is refused, and the multipliers
// come back from a file as they were.
func TestFalseBound(t *testing.T) {
	s := gaining(2400)
	s.Dimension, s.Radii, s.Weights, s.Delta = 3, []int64{0, 1024, 3072}, []uint64{1 << 58, 1<<62 - 1<<58, 3 << 62}, 0.5
	n, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Decode(strings.NewReader(encoded(t, n)))
	if err != nil {
		t.Fatal(err)
	}
	if encoded(t, back) != encoded(t, n) {
		t.Error("another file")
	}
	if _, err := back.Verify(); err != nil {
		t.Error(err)
	}
	claim := n.Spec().Claims
	if claim.LowerBound == "0" {
		t.Fatal("nothing is proved")
	}
	last := claim.LowerBound[len(claim.LowerBound)-1]
	if last == '9' {
		t.Fatal("another example")
	}
	claim.LowerBound = claim.LowerBound[:len(claim.LowerBound)-1] + string(last+1)
	s.Claims = claim
	if n, err = New(s); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Verify(); !errors.Is(err, proof.ErrFalseClaim) {
		t.Errorf("%v, want a false claim", err)
	}
}
