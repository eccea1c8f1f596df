// SPDX-License-Identifier: Apache-2.0

package ratio

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/sampler"
	"github.com/noisewright/noisewright/tables"
	"github.com/noisewright/noisewright/tables/shapes"
)

// falseAlarm is the probability with which each statistical test fails by chance.
const falseAlarm = 1e-9

func pairNoise(t testing.TB, epsilon float64) (*tables.Verified, float64) {
	t.Helper()
	v, points, err := NewPairNoise(epsilon)
	if err != nil {
		t.Fatal(err)
	}
	return v, float64(points)
}

func newLaw(t testing.TB, v *tables.Verified, unit float64) *Law {
	t.Helper()
	l, err := NewLaw(v, unit)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func problem(query dp.Query, epsilon, delta, sensitivity float64) dp.Problem {
	return dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: sensitivity}, Query: query, Loss: loss.L1}
}

// table returns a proven table.
func table(t testing.TB, s tables.Spec) *tables.Verified {
	t.Helper()
	tab, err := tables.New(s)
	if err != nil {
		t.Fatal(err)
	}
	v, err := tab.Verify()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// crooked returns a table with several points per cell, an atom and no symmetry, and
// whose mean is not 0: weights in 64ths.
func crooked(t testing.TB) *tables.Verified {
	const unit = 1 << 58
	return table(t, tables.Spec{
		Problem: problem(dp.IntegerQuery, 1, 0.9, 3),
		Grid:    tables.Grid{PointsPerCell: 3, CellsPerSensitivity: 1, FirstCell: -1, Offset: 1},
		Weights: []uint64{12 * unit, 20 * unit, 18 * unit, 4 * unit},
		Atom:    10 * unit,
	})
}

// tall returns an integer table with a tail, in 64ths but for its ratio.
func tall(t testing.TB) *tables.Verified {
	const unit = 1 << 58
	return table(t, tables.Spec{
		Problem:   problem(dp.IntegerQuery, 2, 0.9, 2),
		Grid:      tables.Grid{PointsPerCell: 1, CellsPerSensitivity: 2, FirstCell: -3},
		Weights:   []uint64{2 * unit, 6 * unit, 10 * unit, 24 * unit, 10 * unit, 8 * unit, 4 * unit},
		TailRatio: 1 << 62,
	})
}

// masses returns the probabilities of the points of a table from -reach to reach.
func masses(v *tables.Verified, reach int64) map[int64]float64 {
	t := v.Mechanism()
	g := t.Grid()
	rho := float64(t.TailRatio()) * 0x1p-64
	p := map[int64]float64{}
	for i := range t.Cells() {
		each := float64(t.Weight(i)) * 0x1p-64 / float64(g.PointsPerCell)
		side, tail := t.Block(i)
		shift := int64(side*g.CellsPerSensitivity) * g.PointsPerCell
		if !tail {
			shift = 4 * reach
		} else {
			each *= 1 - rho
		}
		for first := g.FirstPoint(i); max(first, -first) < 2*reach; first += shift {
			for n := range g.PointsPerCell {
				p[first+n] += each
			}
			each *= rho
		}
	}
	p[0] += float64(t.Atom()) * 0x1p-64
	for n := range p {
		if max(n, -n) > reach {
			delete(p, n)
		}
	}
	return p
}

// TestLaw compares probabilities with those of the points.
func TestLaw(t *testing.T) {
	laplace, _ := pairNoise(t, 100) // of the scale 41
	for name, v := range map[string]*tables.Verified{"crooked": crooked(t), "tall": tall(t), "Laplace": laplace} {
		t.Run(name, func(t *testing.T) {
			const reach = 1100
			p := masses(v, reach)
			l := newLaw(t, v, 1)
			sum, mean, square := 0.0, 0.0, 0.0
			for n, q := range p {
				sum, mean, square = sum+q, mean+q*float64(n), square+q*float64(n*n)
			}
			if math.Abs(sum-1) > 1e-9 || math.Abs(mean-l.mean) > 1e-6 || math.Abs(square/l.square-1) > 1e-6 {
				t.Errorf("sum %g, mean %g, %g, square %g, %g", sum, mean, l.mean, square, l.square)
			}
			all := 0.0
			for _, b := range l.bins {
				all += b.mass
			}
			if math.Abs(all-1) > 3e-9 {
				t.Errorf("bins hold %.12g", all)
			}
			for low := -20.5; low < 20; low += 0.5 {
				for high := low - 1; high < 30; high += 0.5 {
					want := 0.0
					for n, q := range p {
						if float64(n) > low && float64(n) < high {
							want += q
						}
					}
					if got := l.between(low, high); math.Abs(got-want) > 1e-9 {
						t.Fatalf("between %g and %g: %.12g, want %.12g", low, high, got, want)
					}
				}
			}
			for x := -30.0; x < 30; x += 0.75 {
				want := 0.0
				for n, q := range p {
					if float64(n) < x {
						want += q * float64(n)
					}
				}
				if got, _ := l.momentBelow(x); math.Abs(got-want) > 2e-6 {
					t.Fatalf("moment below %g: %g, want %g", x, got, want)
				}
			}
		})
	}
}

// TestMerged checks the bounds of a law whose cells were merged against all of them.
func TestMerged(t *testing.T) {
	v, points := pairNoise(t, 0.001)
	l := newLaw(t, v, 1)
	if !l.merged {
		t.Fatal("not merged")
	}
	scale := (points + 1) * 1000
	for _, x := range []float64{1, 1234.5, scale, 3 * scale, 8 * scale} {
		want := -math.Expm1(-x / scale)
		if got := l.between(-x, x); got > want+1e-9 || got < want-2e-3 {
			t.Errorf("within %g: %g, want %g", x, got, want)
		}
	}
}

// methods returns a method for every pair of laws, each with the numbers of points of its
// sums for n records of the mean τ.
func methods(t testing.TB) map[string]*Method {
	laws := map[string]*Law{"crooked": newLaw(t, crooked(t), 1), "tall": newLaw(t, tall(t), 0.5)}
	all := map[string]*Method{}
	for nameA, a := range laws {
		for nameB, b := range laws {
			all["pair "+nameA+" "+nameB] = Pair(-1, 3, a, b)
			all["split "+nameA+" "+nameB] = Split(-1, 3, a, b)
		}
	}
	return all
}

// truth returns the sums, in points, of n records with the mean τ.
func (m *Method) truth(n, tau float64) (a, b float64) {
	width := m.upper - m.lower
	if m.a.at0 == m.a.at1 { // split
		return n * width * (tau - 0.5) / m.a.law.unit, n / m.b.law.unit
	}
	return n * width * tau / m.a.law.unit, n * width * (1 - tau) / m.b.law.unit
}

// TestCoverageExact computes the probability that the interval holds the mean, over all
// outcomes of two small tables. It is at least the level, and the whole range is not the
// answer to everything.
func TestCoverageExact(t *testing.T) {
	const reach = 25
	for name, m := range methods(t) {
		var px, py map[int64]float64
		for _, v := range []*tables.Verified{crooked(t), tall(t)} {
			p := masses(v, reach)
			l := newLaw(t, v, 1)
			if l.atom == m.a.law.atom {
				px = p
			}
			if l.atom == m.b.law.atom {
				py = p
			}
		}
		for _, level := range []float64{0.5, 0.9} {
			for _, tau := range []float64{0, 0.137, 0.5, 1} {
				a, b := m.truth(30, tau)
				covered, length := 0.0, 0.0
				for x, q := range px {
					for y, r := range py {
						// Sums are rounded to points before.
						low, high, err := m.Interval(math.Floor(a+0.5)+float64(x), math.Floor(b+0.5)+float64(y), level)
						if err != nil {
							t.Fatal(err)
						}
						if mean := m.value(tau); low <= mean && mean <= high {
							covered += q * r
						}
						length += q * r * (high - low)
					}
				}
				if covered < level || length > 0.9*(m.upper-m.lower) {
					t.Errorf("%s: the mean %g is covered with probability %g at the level %g, mean length %g", name, tau, covered, level, length)
				}
			}
		}
	}
}

// TestCoverage simulates releases. 20,000 of them tell a coverage of 0.94 from 0.95.
func TestCoverage(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	const runs, level = 20_000, 0.95
	v, points := pairNoise(t, 1)
	l := newLaw(t, v, 10/points) // lower = 20, upper = 30
	pair := Pair(20, 30, l, l)
	half, err := shapes.Laplace(problem(dp.IntegerQuery, 0.5, 0, 64), tables.Grid{})
	if err != nil {
		t.Fatal(err)
	}
	split := Split(20, 30, newLaw(t, half, 5./64), newLaw(t, half, 1./64))
	for name, test := range map[string]struct {
		m        *Method
		a, b     *tables.Verified
		n, tau   float64
		coverage float64 // at most, as the interval is little longer than it has to be
	}{
		"pair 0.3":   {pair, v, v, 1000, 0.3, 0.96},
		"pair 1":     {pair, v, v, 50, 1, 1},
		"pair few":   {pair, v, v, 4, 0.9, 1},
		"split 0.3":  {split, half, half, 1000, 0.3, 0.96},
		"split few":  {split, half, half, 5, 0.8, 1},
		"split zero": {split, half, half, 200, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, 8))
			sa, errA := sampler.NewNoise(test.a, sampler.Options{Entropy: sampler.Deterministic([32]byte{1})})
			sb, errB := sampler.NewNoise(test.b, sampler.Options{Entropy: sampler.Deterministic([32]byte{2})})
			if err := errors.Join(errA, errB); err != nil {
				t.Fatal(err)
			}
			covered := 0
			for range runs {
				a, b := test.m.truth(test.n+r.Float64(), test.tau)
				x, errA := sa.SampleInt()
				y, errB := sb.SampleInt()
				if err := errors.Join(errA, errB); err != nil {
					t.Fatal(err)
				}
				a, b = math.Floor(a+0.5)+float64(x), math.Floor(b+0.5)+float64(y)
				// The single test that Interval has to pass: it is longer by little.
				if !test.m.excludes(test.tau, test.tau, a, b, level) {
					covered++
				}
			}
			law := distuv.Binomial{N: runs, P: level}
			if law.CDF(float64(covered)) < falseAlarm {
				t.Errorf("%d of %d covered, want %g", covered, runs, level)
			}
			law.P = test.coverage
			if test.coverage < 1 && law.Survival(float64(covered)) < falseAlarm {
				t.Errorf("%d of %d covered, want at most %g", covered, runs, test.coverage)
			}
		})
	}
}

// bisect returns the number from 0 to high where ok turns true.
func bisect(high float64, ok func(float64) bool) float64 {
	low := 0.0
	for range 60 {
		if x := (low + high) / 2; ok(x) {
			high = x
		} else {
			low = x
		}
	}
	return high
}

// quantile returns the t with P(|pX + qY| > t) = 0.05 for X and Y standard Laplace,
// where that is (p²e^(-t/p) - q²e^(-t/q))/(p² - q²).
func quantile(p, q float64) float64 {
	return bisect(20, func(t float64) bool { return (p*p*math.Exp(-t/p)-q*q*math.Exp(-t/q))/(p*p-q*q) <= 0.05 })
}

// TestBins compares the probability with what it is to be, bin by bin, over all points:
// Y counts if it keeps all points of a bin of X within, for both forms.
func TestBins(t *testing.T) {
	const reach = 40
	x, y := *newLaw(t, tall(t), 1), newLaw(t, crooked(t), 1)
	px, py := masses(tall(t), reach), masses(crooked(t), reach)
	x.bins = nil
	for low := int64(-reach); low < reach; low += 4 {
		x.bins = append(x.bins, bin{float64(low), float64(low + 3), px[low] + px[low+1] + px[low+2] + px[low+3]})
	}
	for _, p := range [][2]float64{{1, 0.6}, {0.3, 0.5}, {-0.7, -0.2}, {-0.2, 0.3}, {0, 0}} {
		for _, q := range [][2]float64{{1, 1.3}, {-1, -0.8}} {
			for _, left := range []float64{1.7013, 3.1013, 4.9013, 9.3013} {
				want := 0.0
				for _, b := range x.bins {
					for n, mass := range py {
						most := 0.0
						for i := range p {
							most = max(most, math.Abs(p[i]*b.low+q[i]*float64(n)), math.Abs(p[i]*b.high+q[i]*float64(n)))
						}
						if most < left {
							want += b.mass * mass
						}
					}
				}
				if likely(want+1e-9, &x, p, y, q, left) || want > 0 && !likely(want-rounding-1e-9, &x, p, y, q, left) {
					t.Errorf("p = %g, q = %g: %g is not the probability within %g", p, q, want, left)
				}
			}
		}
	}
}

// TestLikely compares the quantiles of Laplace noise with closed forms. They are never
// less, and more by little.
func TestLikely(t *testing.T) {
	v, points := pairNoise(t, 1)
	l := newLaw(t, v, 1)
	for _, c := range [][2]float64{{1, 0.9}, {1, -0.5}, {1, 0.1}} {
		want := quantile(c[0], math.Abs(c[1])) * (points + 1)
		got := bisect(20*points, func(left float64) bool {
			return likely(0.95, l, [2]float64{c[1], c[1]}, l, [2]float64{c[0], c[0]}, left)
		})
		if more := got/want - 1; more < 0 || more > 2e-3 {
			t.Errorf("%v: %g, want %g, %g more", c, got, want, more)
		}
	}
}

// TestLength compares the interval of Laplace noise with that of the closed form.
func TestLength(t *testing.T) {
	v, points := pairNoise(t, 2)
	l := newLaw(t, v, 1/points)
	m := Pair(0, 1, l, l)
	const n = 1e6
	scale := (points + 1) / points / 2
	for _, tau := range []float64{0.02, 0.3, 0.6, 0.9} {
		want := quantile(max(tau, 1-tau), min(tau, 1-tau)) * scale / n
		a, b := m.truth(n, tau)
		from, to, err := m.Interval(a, b, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if half := (to - from) / 2; half < want || half > want*1.002 {
			t.Errorf("τ = %g: half of the length is %g, want %g", tau, half, want)
		}
		if e := m.Estimate(a, b); math.Abs(e-tau) > 1e-12 {
			t.Errorf("estimate %g, want %g", e, tau)
		}
	}
}

// TestEstimateWithin: intervals hold their estimates and keep the bounds, and longer
// levels hold shorter ones, for whatever is released.
func TestEstimateWithin(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for name, m := range methods(t) {
		for range 200 {
			a, b := math.Round(40*r.NormFloat64()), math.Round(40*r.NormFloat64())
			e := m.Estimate(a, b)
			low, high, err := m.Interval(a, b, 0.8)
			if err != nil || !(m.lower <= low && low <= e && e <= high && high <= m.upper) {
				t.Fatalf("%s: %g in %g … %g of %g, %g, %v", name, e, low, high, a, b, err)
			}
		}
		// The sums fit no mean.
		if low, high, err := m.Interval(-9000, 900, 0.95); low != m.lower || high != m.upper || err != nil {
			t.Errorf("%s: %g … %g, %v, want the whole range", name, low, high, err)
		}
		// Nothing is known: no records.
		if low, high, err := m.Interval(0, 0, 0.95); low != m.lower || high != m.upper || err != nil {
			t.Errorf("%s: %g … %g, %v, want the whole range", name, low, high, err)
		}
		if e := m.Estimate(0, -30); math.IsNaN(e) || e < m.lower || e > m.upper {
			t.Errorf("%s: estimate %g", name, e)
		}
	}
}

// TestErrors compares expected errors with sums over all outcomes and closed forms.
func TestErrors(t *testing.T) {
	for name, m := range methods(t) {
		var px, py map[int64]float64
		for _, v := range []*tables.Verified{crooked(t), tall(t)} {
			p := masses(v, 60)
			if l := newLaw(t, v, 1); l.atom == m.a.law.atom {
				px = p
			}
			if l := newLaw(t, v, 1); l.atom == m.b.law.atom {
				py = p
			}
		}
		for _, tau := range []float64{0, 0.3, 0.5, 1} {
			want := 0.0
			for x, q := range px {
				for y, r := range py {
					want += q * r * math.Abs(m.form(tau, float64(x), float64(y)))
				}
			}
			if got := m.absolute(tau); math.Abs(got/want-1) > 1e-6 {
				t.Errorf("%s, τ = %g: mean absolute error %g, want %g", name, tau, got, want)
			}
		}
	}
	v, points := pairNoise(t, 1)
	l := newLaw(t, v, 1/points)
	average, worst := Pair(0, 1, l, l).Errors()
	rootAverage, rootWorst := Pair(0, 1, l, l).RootSquares()
	scale := (points + 1) / points
	// E|pX + qY| = (p² + pq + q²)/(p + q) with p + q = 1; its mean is 1 - 1/6.
	for _, c := range [][2]float64{
		{average, scale * 5 / 6}, {worst, scale}, {rootAverage, scale * math.Sqrt(4./3)}, {rootWorst, scale * math.Sqrt2},
	} {
		if math.Abs(c[0]/c[1]-1) > 2e-4 {
			t.Errorf("%g, want %g", c[0], c[1])
		}
	}
}

func TestInvalid(t *testing.T) {
	for _, epsilon := range []float64{0, -1, 101, math.NaN(), 1e-9} {
		if _, _, err := NewPairNoise(epsilon); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("epsilon = %g: %v", epsilon, err)
		}
	}
	v, _ := pairNoise(t, 1)
	for _, test := range []struct {
		v      *tables.Verified
		points *big.Rat
	}{{crooked(t), big.NewRat(1, 1)}, {&tables.Verified{}, big.NewRat(1, 1)}, {v, new(big.Rat)}, {v, big.NewRat(-1, 2)}} {
		if e, err := pairEpsilon(test.v, test.points); e != nil || !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%v, %v", e, err)
		}
	}
	if l, err := NewLaw(&tables.Verified{}, 1); l != nil || !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("%v, %v", l, err)
	}
	slow := tables.Spec{Problem: problem(dp.IntegerQuery, 1e-6, 0.9, 1024), Grid: tables.Grid{PointsPerCell: 1, CellsPerSensitivity: 1024, FirstCell: -1024}}
	slow.Weights = slices.Repeat([]uint64{math.MaxUint64 / 2049}, 2049)
	slow.Weights[1024] += math.MaxUint64%2049 + 1 // a sum of 2^64
	slow.TailRatio = math.MaxUint64 - 1<<44 + 1
	if l, err := NewLaw(table(t, slow), 1); l != nil || !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("%v, %v", l, err)
	}
	l := newLaw(t, v, 1)
	m := Pair(0, 1, l, l)
	for _, c := range [][3]float64{{1, 2, 0}, {1, 2, 1}, {1, 2, math.NaN()}, {math.NaN(), 2, 0.9}, {1, 0x1p54, 0.9}} {
		if _, _, err := m.Interval(c[0], c[1], c[2]); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%v: %v", c, err)
		}
	}
}

func BenchmarkInterval(b *testing.B) {
	for _, epsilon := range []float64{0.01, 1} {
		b.Run(fmt.Sprint(epsilon), func(b *testing.B) {
			v, points := pairNoise(b, epsilon)
			l := newLaw(b, v, 1/points)
			m := Pair(0, 1, l, l)
			a, c := m.truth(1000/epsilon, 0.3)
			for b.Loop() {
				if _, _, err := m.Interval(a, c, 0.95); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
