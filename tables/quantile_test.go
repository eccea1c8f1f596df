// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
)

// plainLaw is the law of a small table, point by point, as rationals: at holds the
// probabilities of the points from first on, with beyond to the left of them.
type plainLaw struct {
	first  int64
	at     []*big.Rat
	beyond *big.Rat
}

// newPlainLaw unrolls so many periods of a tail.
func newPlainLaw(s Spec, periods int) plainLaw {
	g, k := s.Grid, s.Grid.CellsPerSensitivity
	share := big.NewRat(1, g.PointsPerCell)
	weight := func(w uint64) *big.Rat {
		r := new(big.Rat).SetInt(new(big.Int).SetUint64(w))
		return r.Mul(r, exact.PowerOfTwo(-64))
	}
	if s.TailRatio == 0 {
		periods = 0
	}
	margin := int64(10) // for the atom: without a tail the point 0 may be in no cell
	if s.TailRatio > 0 {
		margin = 0
	}
	l := plainLaw{first: g.FirstPoint(0) - int64(periods)*g.period() - margin, beyond: new(big.Rat)}
	l.at = make([]*big.Rat, int64(len(s.Weights)+2*periods*k)*g.PointsPerCell+2*margin)
	for i := range l.at {
		l.at[i] = new(big.Rat)
	}
	spread := func(firstPoint int64, mass *big.Rat) {
		for p := range g.PointsPerCell {
			q := l.at[firstPoint+p-l.first]
			q.Add(q, new(big.Rat).Mul(mass, share))
		}
	}
	rho := weight(s.TailRatio)
	for i, w := range s.Weights {
		side := int64(0)
		if s.TailRatio > 0 && i < k {
			side = -1
		} else if s.TailRatio > 0 && i >= len(s.Weights)-k {
			side = 1
		}
		mass := weight(w)
		if side == 0 {
			spread(g.FirstPoint(i), mass)
			continue
		}
		for m := range int64(periods) + 1 {
			spread(g.FirstPoint(i)+side*m*g.period(), new(big.Rat).Mul(mass, rest(rho)))
			mass.Mul(mass, rho)
		}
		if side < 0 {
			l.beyond.Add(l.beyond, mass)
		}
	}
	l.at[-l.first].Add(l.at[-l.first], weight(s.Atom))
	return l
}

// below lists P(N <= n) for the points from l.first on.
func (l plainLaw) below() []*big.Rat {
	sum := new(big.Rat).Set(l.beyond)
	list := make([]*big.Rat, len(l.at))
	for i, p := range l.at {
		list[i] = new(big.Rat).Add(sum, p)
		sum = list[i]
	}
	return list
}

// randomLaw returns a small table for a kind of query, half of them with a tail,
// a third with an atom; many of its probabilities are equal to simple fractions.
func randomLaw(rng *rand.Rand, query dp.Query) Spec {
	k := 1 + rng.IntN(3)
	s := Spec{
		Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.5, Sensitivity: 1}, Query: query, Loss: loss.L1},
		Grid:    Grid{PointsPerCell: 1 + 2*rng.Int64N(3), CellsPerSensitivity: k},
	}
	switch query {
	case dp.RealQuery:
		s.Grid.GranularityExponent = rng.IntN(5) - 3
	case dp.LatticeQuery:
		s.Grid.Unit = []float64{0.1, 3, 1.0 / 3, 7e-3}[rng.IntN(4)]
	case dp.IntegerQuery:
	}
	inner := 1 + rng.IntN(4)
	s.Weights = make([]uint64, 2*k+inner)
	s.Grid.FirstCell = -k - rng.IntN(inner)
	if rng.IntN(2) == 0 {
		s.TailRatio = []uint64{1 << 63, 3 << 61, 1 << 61, rng.Uint64() >> 1, 1<<63 + 1<<62, 5 << 40}[rng.IntN(6)]
	} else {
		s.Grid.Offset = rng.Int64N(5) - 2
	}
	left := uint64(1)<<63 - 1
	for i := range s.Weights {
		w := rng.Uint64N(left/4 + 1)
		if rng.IntN(2) == 0 {
			w &^= 1<<59 - 1 // ties
		} else if rng.IntN(4) == 0 {
			w = 0
		}
		if i == 0 {
			w++ // not all are 0
		}
		s.Weights[i] = w
		left -= w
	}
	if rng.IntN(3) == 0 {
		s.Atom = left / 2
		left -= s.Atom
	}
	s.Weights[k] += left + 1 + 1<<63
	return s
}

func TestQuantileAgainstBruteForce(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	rng := rand.New(rand.NewPCG(41, 42))
	for _, query := range []dp.Query{dp.RealQuery, dp.IntegerQuery, dp.LatticeQuery} {
		for range 30 {
			s := randomLaw(rng, query)
			tab := mustTable(t, s)
			l := newPlainLaw(s, 8)
			below := l.below()
			step, _ := s.Grid.Step().Float64()
			units := new(big.Rat).SetInt64(s.Grid.PointsPerCell)
			units.Mul(units, exact.PowerOfTwo(64))
			hair := exact.PowerOfTwo(-1200)
			for i, f := range below {
				n := l.first + int64(i)
				for want := -1; want <= 1; want++ {
					p := new(big.Rat).Mul(f, units)
					p.Sub(p, new(big.Rat).Mul(hair, big.NewRat(int64(want), 1)))
					if p.Sign() <= 0 || p.Cmp(units) >= 0 {
						continue
					}
					if got := tab.spec.compareBelow(n, p); got != want {
						t.Fatalf("%+v: P(N <= %d) = %s compares as %d, want %d", s, n, f.FloatString(20), got, want)
					}
				}
				if rng.IntN(8) > 0 {
					continue
				}
				near, _ := f.Float64()
				for _, p := range []float64{near, math.Nextafter(near, 0), math.Nextafter(near, 1), rng.Float64()} {
					at := 0
					for at < len(below) && below[at].Cmp(exact.Rational(p)) < 0 {
						at++
					}
					if at == 0 || at == len(below) || !(p > 0 && p < 1) {
						continue
					}
					if x, err := tab.Quantile(p); err != nil || x != float64(l.first+int64(at))*step {
						t.Fatalf("%+v: Quantile(%v) = %v, %v, want %d steps of %v", s, p, x, err, l.first+int64(at), step)
					}
				}
			}
		}
	}
}

// TestIntervalCovers goes through all noise of small tables: on either side the
// interval misses the true value with a probability of at most (1-level)/2, and for
// real and integer queries with more if that end is one step closer.
func TestIntervalCovers(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	rng := rand.New(rand.NewPCG(43, 44))
	for _, query := range []dp.Query{dp.RealQuery, dp.IntegerQuery, dp.LatticeQuery} {
		for range 8 {
			s := randomLaw(rng, query)
			tab := mustTable(t, s)
			l := newPlainLaw(s, 3)
			step := s.Grid.Step()
			g, _ := step.Float64()
			level := rng.Float64()
			if rng.IntN(2) == 0 {
				level = float64(1+rng.IntN(15)) / 16 // ties
			}
			side := new(big.Rat).Sub(big.NewRat(1, 1), exact.Rational(level))
			side.Mul(side, big.NewRat(1, 2))
			// What is further out is taken for missed, on either side.
			beyondRight := new(big.Rat).Sub(big.NewRat(1, 1), l.below()[len(l.at)-1])
			if l.beyond.Cmp(side) > 0 || beyondRight.Cmp(side) > 0 {
				continue
			}
			for _, fraction := range []float64{0, 0.3, 0.5, 1 - 0x1p-40} {
				if query == dp.IntegerQuery && fraction != 0 {
					continue
				}
				x := (7 + fraction) * g
				exactX := exact.Rational(x)
				// The rounded values of x and their probabilities.
				quotient := new(big.Rat).Quo(exactX, step)
				down := exact.Floor(quotient)
				up := new(big.Rat).Sub(quotient, new(big.Rat).SetInt(down))
				if query == dp.RealQuery {
					up = new(big.Rat).SetInt(exact.Floor(up.Add(up, big.NewRat(1, 2))))
				}
				chances := []*big.Rat{rest(up), up}
				missedLow, missedHigh := new(big.Rat).Set(beyondRight), new(big.Rat).Set(l.beyond)
				closerLow, closerHigh := new(big.Rat).Set(beyondRight), new(big.Rat).Set(l.beyond)
				for i, p := range l.at {
					for r, chance := range chances {
						if chance.Sign() == 0 {
							continue
						}
						y := float64(down.Int64()+int64(r)+l.first+int64(i)) * g
						lower, upper, err := tab.Interval(y, level)
						if err != nil {
							t.Fatalf("%+v: Interval(%v, %v): %v", s, y, level, err)
						}
						q := new(big.Rat).Mul(p, chance)
						add := func(sum *big.Rat, missed bool) {
							if missed {
								sum.Add(sum, q)
							}
						}
						add(missedLow, x < lower)
						add(missedHigh, x > upper)
						add(closerLow, x < lower+g)
						add(closerHigh, x > upper-g)
					}
				}
				if missedLow.Cmp(side) > 0 || missedHigh.Cmp(side) > 0 {
					t.Errorf("%+v: level %v at x = %v misses with %s below and %s above, want at most %s",
						s, level, x, missedLow.FloatString(20), missedHigh.FloatString(20), side.FloatString(20))
				}
				// x = (n-1/2)·g is the least that is rounded to n, and no worst case above.
				loose := closerLow.Cmp(side) <= 0 || closerHigh.Cmp(side) <= 0 && fraction != 0.5
				if query != dp.LatticeQuery && loose {
					t.Errorf("%+v: level %v at x = %v: an end could be closer", s, level, x)
				}
			}
		}
	}
}

// TestIntervalMirror: the mirror image of the noise has the mirrored interval.
func TestIntervalMirror(t *testing.T) {
	rng := rand.New(rand.NewPCG(45, 46))
	for range 100 {
		s := randomLaw(rng, dp.IntegerQuery)
		m := s
		m.Grid.Offset = -s.Grid.Offset
		m.Grid.FirstCell = -(s.Grid.FirstCell + len(s.Weights) - 1)
		m.Weights = make([]uint64, len(s.Weights))
		for i, w := range s.Weights {
			m.Weights[len(m.Weights)-1-i] = w
		}
		level := float64(1+rng.IntN(15)) / 16
		low, high, err := mustTable(t, s).Interval(0, level)
		mLow, mHigh, mErr := mustTable(t, m).Interval(0, level)
		if err != nil || mErr != nil || low != -mHigh || high != -mLow {
			t.Errorf("[%v, %v] %v and mirrored [%v, %v] %v", low, high, err, mLow, mHigh, mErr)
		}
	}
}

// TestQuantileMonotone also holds Quantile against an estimate, far out in the
// tail of a designed table.
func TestQuantileMonotone(t *testing.T) {
	tab := mustTable(t, twoSided(t, 0.7))
	last := math.Inf(-1)
	for e := -1000; e <= -1; e += 9 {
		x, err := tab.Quantile(math.Ldexp(1, e))
		if err != nil || x < last {
			t.Fatalf("Quantile(2^%d) = %v, %v after %v", e, x, err, last)
		}
		last = x
		if e > -20 {
			continue
		}
		// Two-sided geometric noise: P(X <= x) is about e^(0.7·x)/2 for sensitivity 1.
		if want := (float64(e+1) * math.Ln2) / 0.7; math.Abs(x-want) > 3 {
			t.Errorf("Quantile(2^%d) = %v, want about %v", e, x, want)
		}
		high, err := tab.Quantile(1 - math.Ldexp(1, max(e, -53)))
		if e >= -53 && (err != nil || math.Abs(high+x) > 1) {
			t.Errorf("Quantile(1 - 2^%d) = %v, %v, want about %v", e, high, err, -x)
		}
	}
}

func TestQuantileErrors(t *testing.T) {
	tab := mustTable(t, twoSided(t, 0.7))
	for _, p := range []float64{0, 1, -1, 2, math.NaN(), math.Inf(1)} {
		if _, err := tab.Quantile(p); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("Quantile(%v): %v, want ErrInvalid", p, err)
		}
		if _, _, err := tab.Interval(0, p); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("Interval(0, %v): %v, want ErrInvalid", p, err)
		}
	}
	for _, y := range []float64{0.3, math.NaN(), math.Inf(-1), 1e300, 5e-324} {
		if _, _, err := tab.Interval(y, 0.5); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("Interval(%v, 0.5): %v, want ErrInvalid", y, err)
		}
	}
	if _, _, err := tab.Interval(0.3, 1); len(check.Sentences(err)) != 2 {
		t.Errorf("two bad arguments: %v, want both named", err)
	}
	if low, high, err := tab.Interval(math.Copysign(0, -1), 0.5); err != nil || low != -high {
		t.Errorf("Interval(-0, 0.5) = [%v, %v], %v", low, high, err)
	}
	// A tail that leaves the range of exact integers.
	far := twoSided(t, 0.7)
	far.TailRatio = maxTailRatio
	far.Grid.PointsPerCell = 1<<40 - 1
	for i := range far.Weights {
		far.Weights[i] = 1 << 56
	}
	far.Weights[len(far.Weights)/2] -= uint64(len(far.Weights)) << 56
	wide := mustTable(t, far)
	for _, p := range []float64{1e-9, 1 - 1e-9} {
		if x, err := wide.Quantile(p); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("Quantile(%v) = %v, %v, want ErrInvalid", p, x, err)
		}
		if low, high, err := wide.Interval(0, 1-2*min(p, 1-p)); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("Interval = [%v, %v], %v, want ErrInvalid", low, high, err)
		}
	}
	if x, err := wide.Quantile(0.5); err != nil || x != 0 && math.Abs(x) > 1<<40 {
		t.Errorf("median = %v, %v", x, err)
	}
}

// TestIntervalRoundsOutwards: near 2^53 steps the ends are no float64s, nor are
// multiples of an odd unit.
func TestIntervalRoundsOutwards(t *testing.T) {
	for _, query := range []dp.Query{dp.RealQuery, dp.IntegerQuery, dp.LatticeQuery} {
		s := Spec{
			Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.9, Sensitivity: 1}, Query: query, Loss: loss.L1},
			Grid:    Grid{PointsPerCell: 3, CellsPerSensitivity: 4, FirstCell: -1},
			Weights: []uint64{1 << 62, 1 << 63, 1 << 62},
		}
		slack := big.NewRat(1, 2)
		switch query {
		case dp.RealQuery:
		case dp.IntegerQuery:
			slack = new(big.Rat)
		case dp.LatticeQuery:
			s.Grid.Unit, slack = 0.1, big.NewRat(1, 1)
		}
		tab := mustTable(t, s)
		step := s.Grid.Step()
		unit, _ := step.Float64()
		for _, n := range []int64{1<<53 - 1, 1 << 53, -1 << 53, 1 << 52, 12345} {
			y := float64(n) * unit
			low, high, err := tab.Interval(y, 0.9)
			if err != nil {
				t.Fatal(err)
			}
			least, most, ok := tab.spec.points(y)
			if !ok || least > n || most < n {
				t.Fatalf("points(%v) = %d to %d, want %d among them", y, least, most, n)
			}
			ends := func(n int64, noise int64, slack *big.Rat) *big.Rat {
				r := new(big.Rat).SetInt64(n + noise)
				return r.Add(r, slack).Mul(r, step)
			}
			// P(N <= -4) = 1/12 and P(N <= -5) = 0.
			wantLow := ends(least, -4, new(big.Rat).Neg(slack))
			wantHigh := ends(most, 4, slack)
			if low != exact.FloatDown(wantLow) || high != exact.FloatUp(wantHigh) {
				t.Errorf("%s, n = %d: [%v, %v], want [%s, %s]", query, n, low, high, wantLow.FloatString(3), wantHigh.FloatString(3))
			}
		}
	}
}
