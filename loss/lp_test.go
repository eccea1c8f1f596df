// SPDX-License-Identifier: Apache-2.0

package loss

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"

	"github.com/noisewright/noisewright/internal/exact"
)

var testPowers = []float64{1.1, 1 + 0x1p-40, 1.25, 1.5, 1.75, 1.999, 2.001, 2.5, 3, math.Pi, 3.5, 4, 5, 7.5, 20, 64}

// bracket returns |x|^p between two rationals far closer than the loss's own.
func bracket(x *big.Rat, p float64) (low, high *big.Rat) {
	a := new(big.Rat).Abs(x)
	return exact.PowDown(a, p, 200), exact.PowUp(a, p, 200)
}

// TestPowerGridMean: on the right side of the sum and close to it, points near 0,
// far away and on both sides; runs of one point are tight.
func TestPowerGridMean(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	rng := rand.New(rand.NewPCG(8, 8))
	for _, p := range testPowers {
		l := must2(New("lp", p))
		for range 12 {
			step := testSteps[rng.IntN(len(testSteps))]
			count := 1 + rng.Int64N([]int64{5, 40, 400}[rng.IntN(3)])
			first := rng.Int64N(2*count+3) - 2*count
			if rng.IntN(3) == 0 {
				first += 1000 + rng.Int64N(1<<40)
			}
			low, high := new(big.Rat), new(big.Rat)
			for n := first; n < first+count; n++ {
				a, b := bracket(multipleOf(n, step), p)
				low.Add(low, a)
				high.Add(high, b)
			}
			c := new(big.Rat).SetInt64(count)
			low.Quo(low, c)
			high.Quo(high, c)
			got := l.GridMeanUp(first, count, step)
			if got.Cmp(high) < 0 {
				t.Fatalf("%s: GridMeanUp(%d, %d, %s) = %s is below the mean", l.Name(), first, count, step, got.FloatString(20))
			}
			limit := 1.1e-5
			if count <= singlePoints {
				limit = 1e-28
			}
			got.Sub(got, low)
			if low.Sign() > 0 {
				got.Quo(got, low)
			}
			if excess, _ := got.Float64(); excess > limit {
				t.Errorf("%s: GridMeanUp(%d, %d, %s) is %.3g of the mean too high", l.Name(), first, count, step, excess)
			}
		}
		// 2^41 points: the mean of f over [-h, h] is f(h)/(p+1), nearly.
		h := int64(1) << 40
		got, _ := l.GridMeanUp(-h, 2*h+1, new(big.Rat).SetFloat64(0x1p-40)).Float64()
		near(t, l.Name()+": 2^41 points around 0", got, 1/(p+1), 1e-10)
		got, _ = l.GridMeanUp(1<<52, 2*h+1, new(big.Rat).SetFloat64(0x1p-52)).Float64()
		near(t, l.Name()+": 2^41 points from 2^52", got, l.CellMean(1+0x1p-12, 0x1p-11), 1e-11)
	}
}

// TestPowerLowerNode: the interpolant is below the loss at the ends and at 8
// points of every interval, to all digits; it is second order close; Growth is
// not above any increment and does not decrease.
func TestPowerLowerNode(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, p := range testPowers {
		l := must2(New("lp", p))
		for _, step := range []*big.Rat{big.NewRat(1, 1), big.NewRat(2, 7)} {
			const cells = 90
			nodes, values := make([]*big.Rat, cells+2), make([]*big.Rat, cells+2)
			for j := range nodes {
				nodes[j], values[j] = l.LowerNode(int64(j), step), l.AtDown(multipleOf(int64(j), step))
				if mirror := l.LowerNode(-int64(j), step); mirror.Cmp(nodes[j]) != 0 {
					t.Fatalf("%s: node -%d is %s, node %d is %s", l.Name(), j, mirror, j, nodes[j])
				}
			}
			for j := range cells + 1 {
				for i := int64(0); i <= 8; i++ {
					theta := big.NewRat(i, 8)
					chord := new(big.Rat).Sub(nodes[j+1], nodes[j])
					chord.Mul(chord, theta).Add(chord, nodes[j])
					x := new(big.Rat).Add(theta, big.NewRat(int64(j), 1))
					x.Mul(x, step)
					if low, _ := bracket(x, p); chord.Cmp(low) > 0 {
						t.Fatalf("%s, step %s: the interpolant is above the loss at %s", l.Name(), step, x)
					}
				}
				if j == 0 {
					continue
				}
				if float64(j) > p { // how much is lost: f″·step²/8, and the next order
					s, _ := step.Float64()
					gap, _ := new(big.Rat).Sub(values[j], nodes[j]).Float64()
					x := float64(j) * s
					second := p * (p - 1) * math.Pow(x, p-2) * s * s / 8
					if rounding := 1e-26 * l.At(x); gap > second*(1+1.5*math.Abs(p-2)/float64(j))+rounding || gap < 0 {
						t.Errorf("%s, step %s: node %d loses %g, want about %g", l.Name(), step, j, gap, second)
					}
				}
			}
			last := l.Growth(cells, step)
			for j := cells; j >= 1; j-- {
				g := l.Growth(int64(j), step)
				if g.Cmp(last) > 0 {
					t.Errorf("%s, step %s: Growth(%d) = %s, %s after it", l.Name(), step, j, g, last)
				}
				for name, v := range map[string][]*big.Rat{"nodes": nodes, "values": values} {
					if inc := new(big.Rat).Sub(v[j+1], v[j]); inc.Cmp(g) < 0 {
						t.Errorf("%s, step %s: Growth(%d) = %s, the %s grow by %s", l.Name(), step, j, g.FloatString(9), name, inc.FloatString(9))
					}
				}
				if mirror := l.Growth(-int64(j), step); mirror.Cmp(g) != 0 {
					t.Errorf("%s: Growth(-%d) = %s, Growth(%d) = %s", l.Name(), j, mirror, j, g)
				}
				last = g
			}
			if last := l.Growth(cells, step); last.Sign() <= 0 {
				t.Errorf("%s: Growth(%d) = %s, want > 0", l.Name(), cells, last)
			}
			// Far out, where the rounding is largest against the growth.
			for _, j := range []int64{1 << 30, 1 << 45, 1<<52 - 1} {
				g := l.Growth(j, step)
				a := new(big.Rat).Sub(l.LowerNode(j+1, step), l.LowerNode(j, step))
				b := new(big.Rat).Sub(l.AtDown(multipleOf(j+1, step)), l.AtDown(multipleOf(j, step)))
				if lower(a, b).Cmp(g) < 0 {
					t.Errorf("%s, step %s: Growth(%d) = %s above the increments %s and %s", l.Name(), step, j, g.FloatString(12), a.FloatString(12), b.FloatString(12))
				}
			}
		}
	}
}

// TestPowerRamp: against quadrature in float64, from above to within rounding,
// and narrow ramps against the value.
func TestPowerRamp(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for _, p := range testPowers {
		l := must2(New("lp", p))
		check := func(from, to *big.Rat, want float64) {
			t.Helper()
			got, _ := l.RampMeanUp(from, to).Float64()
			near(t, fmt.Sprintf("%s: RampMeanUp(%s, %s)", l.Name(), from, to), got, want, 1e-8)
		}
		for range 30 {
			a, b := rng.Int64N(60)-30, rng.Int64N(60)-30
			if a == b {
				continue
			}
			from, to := float64(a)/4, float64(b)/4
			cut := []float64{0, 1}
			if a*b < 0 {
				cut = []float64{0, from / (from - to), 1}
			}
			want := 0.0
			for i := 1; i < len(cut); i++ {
				// With t = cut ± u⁴ the power has no singularity left that counts.
				left, right := cut[i-1], cut[i]
				mid := (left + right) / 2
				f := func(t float64) float64 { return 2 * l.At(from+(to-from)*t) * (1 - t) }
				for _, e := range []float64{left, right} {
					w := mid - e
					want += math.Abs(w) * quad.Fixed(func(u float64) float64 { return f(e+w*u*u*u*u) * 4 * u * u * u }, 0, 1, 200, quad.Legendre{}, 0)
				}
			}
			check(big.NewRat(a, 4), big.NewRat(b, 4), want)
		}
		// Exactly: from 0 to 1 it is 2/((p+1)(p+2)), from 1 to 0 it is 2/(p+2).
		zero, one := new(big.Rat), big.NewRat(1, 1)
		for _, c := range []struct{ from, to, want *big.Rat }{
			{zero, one, new(big.Rat).Quo(big.NewRat(2, 1), new(big.Rat).Mul(l.(*powerLoss).plus(1), l.(*powerLoss).plus(2)))},
			{one, zero, new(big.Rat).Quo(big.NewRat(2, 1), l.(*powerLoss).plus(2))},
			{new(big.Rat).Neg(one), zero, new(big.Rat).Quo(big.NewRat(2, 1), l.(*powerLoss).plus(2))},
			{one, one, one},
			{zero, zero, zero},
		} {
			over := l.RampMeanUp(c.from, c.to)
			if over.Sub(over, c.want).Sign() < 0 || over.Cmp(big.NewRat(1, 1<<62)) > 0 {
				t.Errorf("%s: ramp from %s to %s is off by %s, want a little above", l.Name(), c.from, c.to, over.FloatString(40))
			}
		}
		// A narrow ramp lies between the values at its ends, whichever way it is
		// computed, and not below the value at its mean, from + d/3.
		from := big.NewRat(7, 3)
		for _, d := range []*big.Rat{big.NewRat(1, 1<<10), big.NewRat(1, 1<<14), big.NewRat(-1, 1<<16), big.NewRat(1, 1<<30), big.NewRat(-1, 1<<60)} {
			to := new(big.Rat).Add(from, d)
			middle := new(big.Rat).Mul(d, third)
			low, _ := bracket(middle.Add(middle, from), p)
			got := l.RampMeanUp(from, to)
			over := new(big.Rat).Sub(got, low)
			relative, _ := over.Quo(over, low).Float64()
			width, _ := d.Float64()
			if relative < 0 || relative > p*p*width*width+1e-18 {
				t.Errorf("%s: the ramp from %s of width %g is %g above the value in its middle", l.Name(), from, width, relative)
			}
		}
	}
}

// TestPowerCellMean: against the antiderivative in rational arithmetic.
func TestPowerCellMean(t *testing.T) {
	for _, p := range testPowers {
		l := must2(New("lp", p))
		anti := func(x *big.Rat) *big.Rat {
			v, _ := bracket(x, p)
			return v.Mul(v, x)
		}
		for _, center := range []float64{0, 1e-9, -0.3, 1, -7, 1e4} {
			for _, width := range []float64{1e-9, 1e-3, 0.25, 1, 2.5, 40} {
				low := new(big.Rat).Sub(exact.Rational(center), exact.Rational(width/2))
				high := new(big.Rat).Add(low, exact.Rational(width))
				want := new(big.Rat).Sub(anti(high), anti(low))
				want.Quo(want, new(big.Rat).Mul(l.(*powerLoss).plus(1), exact.Rational(width)))
				f, _ := want.Float64()
				near(t, fmt.Sprintf("%s: CellMean(%g, %g)", l.Name(), center, width), l.CellMean(center, width), f, 1e-12)
			}
		}
	}
}

// TestPowerAtDown: exact for whole powers, and at most 2^-96 below otherwise.
func TestPowerAtDown(t *testing.T) {
	if got := must2(New("lp", 3)).AtDown(big.NewRat(-2, 3)); got.Cmp(big.NewRat(8, 27)) != 0 {
		t.Errorf("lp:3 at -2/3 is %s, want 8/27", got)
	}
	for _, p := range testPowers {
		l := must2(New("lp", p))
		for _, x := range []*big.Rat{big.NewRat(-7, 3), big.NewRat(1, 1<<40), big.NewRat(1<<40, 3), new(big.Rat)} {
			low, high := bracket(x, p)
			got := l.AtDown(x)
			loss := new(big.Rat).Sub(high, got)
			if got.Cmp(high) > 0 || loss.Cmp(low.Mul(low, exact.Rational(0x1p-95))) > 0 && x.Sign() != 0 {
				t.Errorf("%s: AtDown(%s) = %s, want just below %s", l.Name(), x, got.FloatString(40), high.FloatString(40))
			}
		}
	}
}

// TestPowerTangent: what stands for the value of a tangent at a node is not above it, whether it is positive or,
// as at 0, negative, and not below it by more than the rounding.
func TestPowerTangent(t *testing.T) {
	for _, p := range testPowers {
		l := must2(New("lp", p)).(*powerLoss)
		for _, step := range []*big.Rat{big.NewRat(1, 3), big.NewRat(9, 7)} {
			for n := int64(0); n < 6; n++ {
				for end := int64(0); end <= 1; end++ {
					touch := new(big.Rat).SetInt64(n)
					if !l.inner(n) {
						touch.Add(touch, half)
					} else if n == 0 {
						continue
					}
					// f(x)·(1 + p·(n+end-x)/x)
					factor := new(big.Rat).SetInt64(n + end)
					factor.Sub(factor, touch).Quo(factor, touch).Mul(factor, l.exactP).Add(factor, big.NewRat(1, 1))
					low, high := bracket(touch.Mul(touch, step), p)
					if factor.Sign() < 0 {
						low, high = high, low
					}
					low.Mul(low, factor)
					got := l.tangent(n, end, step)
					if got.Cmp(low) > 0 {
						t.Errorf("%s, step %s: the tangent of [%d, %d] at %d is %s, above %s", l.Name(), step, n, n+1, n+end, got.FloatString(40), low.FloatString(40))
					}
					if a, b := got, high.Mul(high, factor); exact.FloatUp(a.Sub(b, a).Abs(a)) > 1e-26*exact.FloatUp(b.Abs(b)) {
						t.Errorf("%s, step %s: the tangent of [%d, %d] at %d loses %s", l.Name(), step, n, n+1, n+end, a.FloatString(40))
					}
				}
			}
		}
	}
}

// TestPowerOneFar: a single point beyond those that are added one by one counts, on either side of 0.
func TestPowerOneFar(t *testing.T) {
	step := big.NewRat(2, 7)
	for _, p := range []float64{1.5, 2.5, 3} {
		l, near := must2(New("lp", p)), int64(singleReach*math.Ceil(p))
		for _, first := range []int64{near - 3, -near - 1} {
			least := new(big.Rat)
			for n := first; n < first+5; n++ {
				low, _ := bracket(multipleOf(n, step), p)
				least.Add(least, low)
			}
			got := l.GridMeanUp(first, 5, step)
			got.Mul(got, big.NewRat(5, 1))
			if most := new(big.Rat).Mul(least, big.NewRat(100_001, 100_000)); got.Cmp(least) < 0 || got.Cmp(most) > 0 {
				t.Errorf("lp:%g from %d on: 5 means are %s, want %s", p, first, got.FloatString(9), least.FloatString(9))
			}
		}
	}
}

// TestPowersOneAndTwo: lp:1 and lp:2 are l1 and l2.
func TestPowersOneAndTwo(t *testing.T) {
	for name, same := range map[string]Loss{"lp:1": L1, "lp:2": L2} {
		l := must2(Parse(name))
		for _, x := range []*big.Rat{big.NewRat(-7, 3), new(big.Rat), big.NewRat(1, 2), big.NewRat(5, 1)} {
			if l.AtDown(x).Cmp(same.AtDown(x)) != 0 {
				t.Errorf("%s at %s is %s, want %s", name, x, l.AtDown(x), same.AtDown(x))
			}
		}
	}
}
