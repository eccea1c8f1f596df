// SPDX-License-Identifier: Apache-2.0

package account

import (
	"math"
	"math/big"
	"math/rand"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/tables"
)

// TestWrappedAround: what left the window on either side, up to e^−wrapBits of the tilted law, may have
// wrapped to where each of it counts for the largest factor there is, or to where it does not count.
func TestWrappedAround(t *testing.T) {
	for _, theta := range []float64{0.01, 1, 30} {
		c := &composed{step: 0.1, theta: theta, first: -8, mass: make([]float64, 16), kinds: 1, releases: 1, most: 10}
		lost := math.Exp(-wrapBits)
		for _, epsilon := range []float64{0, 0.35, 2} {
			// An honest law has the mass beyond the window at the loss that counts most.
			peak := 0.0
			for x := 0.001; x < 50; x *= 1.001 {
				peak = math.Max(peak, -math.Exp(-theta*x)*math.Expm1(-x))
			}
			truth := 2 * lost * peak * math.Exp(-theta*epsilon)
			if value, margin := c.hockey(epsilon); value+margin < truth {
				t.Errorf("theta %g, epsilon %g: at most %g, and the truth may be %g", theta, epsilon, value+margin, truth)
			}
			if upper := c.deltaUpper(epsilon); upper < truth {
				t.Errorf("theta %g: delta(%g) <= %g, and the truth may be %g", theta, epsilon, upper, truth)
			}
			// Or what is found there is all of it.
			c.mass[15] = 2 * lost
			if lower := c.deltaLower(epsilon); lower > 0 {
				t.Errorf("theta %g: delta(%g) >= %g, where all may have wrapped around", theta, epsilon, lower)
			}
			c.mass[15] = 0
		}
	}
}

// TestSlackCounts: masses that may be off by a relative slack, and exponentials by the rounding of
// their exponents, change both bounds by as much, and the mass at infinity too.
func TestSlackCounts(t *testing.T) {
	c := &composed{step: 0.5, theta: 1, first: 0, mass: []float64{0, 0, 0.25, 0, 0.5, 0, 0, 0}, kinds: 1, releases: 1, most: 3.5, infinityMass: 1e-3}
	value, margin := c.hockey(0.5)
	for _, change := range []struct {
		name string
		do   func(*composed)
		by   float64 // of the bounds, relative
	}{
		{"none", func(*composed) {}, 256 * roundoff},
		{"slack", func(c *composed) { c.slack = 1e-3 }, 1e-3},
		{"exponents", func(c *composed) { c.exponents = 1e9 }, 1e9 * 2 * roundoff},
		{"exponents of many kinds", func(c *composed) { c.exponents, c.kinds = 1e9, 1000 }, 1e9 * 1000 * roundoff},
		{"releases", func(c *composed) { c.releases = 1e9 }, 1e9 * roundoff},
	} {
		d := *c
		change.do(&d)
		whole := value + c.infinityMass
		if upper := d.deltaUpper(0.5); upper < (whole+margin)*(1+change.by*(1-1e-3)) {
			t.Errorf("%s: at most %.17g, want %.17g and a relative %g more", change.name, upper, whole, change.by)
		}
		if lower := d.deltaLower(0.5); lower > whole*(1-change.by*(1-1e-3)) {
			t.Errorf("%s: at least %.17g, want %.17g less a relative %g", change.name, lower, whole, change.by)
		}
	}
	if d := (&composed{step: 0.5, theta: 1e6, kinds: 1, mass: c.mass, most: 3.5}); d.growth(1e4) < 1+1e10*roundoff {
		t.Errorf("e^(theta·epsilon) of 1e10 is taken to be right to %g", d.growth(1e4)-1)
	}
}

// TestLossesNextToEpsilon: a loss is the product of an integer and a step, and its difference from ε may
// be far below the rounding of either: the bounds hold the true one.
func TestLossesNextToEpsilon(t *testing.T) {
	r := rand.New(rand.NewSource(5))
	const precision = 300
	decided := 0
	for range 3000 {
		step := 0.1 * (1 + r.Float64())
		n := 1 + r.Intn(1<<30)
		c := &composed{step: step, theta: 1e-9, first: n, mass: []float64{1, 0}, kinds: 1, releases: 1, most: math.Inf(1)}
		at := new(big.Float).SetPrec(precision).Mul(new(big.Float).SetPrec(precision).SetInt64(int64(n)), new(big.Float).SetFloat64(step))
		epsilon, _ := at.Float64()
		for range r.Intn(4) {
			epsilon = math.Nextafter(epsilon, float64(r.Intn(2)*2-1)*math.Inf(1))
		}
		x, _ := new(big.Float).Sub(at, new(big.Float).SetFloat64(epsilon)).Float64()
		// e^(−θ·loss)·(1 − e^−x), over e^(−θε); x is so small that this is x to 2^-20.
		truth := math.Max(0, -math.Expm1(-x)) * math.Exp(-c.theta*epsilon)
		value, margin := c.hockey(epsilon)
		if math.Abs(value-truth) > margin*(1+1e-6)+truth*0x1p-40 {
			t.Fatalf("step %v, loss %d steps, epsilon %v: %g ± %g, want %g", step, n, epsilon, value, margin, truth)
		}
		if math.Abs(value-truth) > 1e-19 {
			decided++
		}
	}
	if decided < 300 {
		t.Errorf("%d differences are rounded, want 300", decided)
	}
}

// TestUnrolledBounds: the weights of a tail that is laid out are between the bounds, the last unit
// included, and what is not laid out is in the rest.
func TestUnrolledBounds(t *testing.T) {
	r := rand.New(rand.NewSource(6))
	for trial := range 6 {
		k := 1 + r.Intn(3)
		weights := make([]uint64, 2*k+1)
		for i := range weights {
			weights[i] = r.Uint64() >> (4 + r.Intn(40))
		}
		weights[k] = 0
		for i, w := range weights {
			if i != k {
				weights[k] -= w
			}
		}
		atom, points := uint64(trial%2)*12345, int64(1+2*(trial%2))
		weights[k] -= atom
		ratio := []uint64{1, 1 << 40, 1 << 63, 3 << 62, r.Uint64(), 1<<64 - 1<<58}[trial%6]
		tab, err := tables.New(tables.Spec{
			Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.9, Sensitivity: 1}, Query: dp.IntegerQuery, Loss: loss.L1},
			Grid:    tables.Grid{PointsPerCell: points, CellsPerSensitivity: k, FirstCell: -k},
			Weights: weights, TailRatio: ratio, Atom: atom,
		})
		if err != nil {
			t.Fatal(err)
		}
		l := &table{t: tab, up: weights, down: weights, points: points, zero: -tab.Grid().FirstPoint(0), tailed: true, atom: tab.Atom()}
		l.unroll()
		rho := new(big.Rat).SetFrac(new(big.Int).SetUint64(ratio), new(big.Int).Lsh(big.NewInt(1), 64))
		share := new(big.Rat).Sub(big.NewRat(1, 1), rho)
		left := new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), 64)) // of the mass, in units of 2^-64
		left.Sub(left, new(big.Rat).SetInt(new(big.Int).SetUint64(atom)))
		periods := (len(l.up) - len(weights)) / (2 * k)
		power := new(big.Rat).Set(share)
		inside := func(i int, truth *big.Rat) {
			t.Helper()
			up, down := new(big.Rat).SetInt(new(big.Int).SetUint64(l.up[i])), new(big.Rat).SetInt(new(big.Int).SetUint64(l.down[i]))
			if up.Cmp(truth) < 0 || down.Cmp(truth) > 0 || l.up[i]-l.down[i] > 1 {
				t.Fatalf("ratio %#x, cell %d of %d: %d to %d, want %s", ratio, i, len(l.up), l.down[i], l.up[i], truth.FloatString(6))
			}
			left.Sub(left, down)
		}
		weight := func(w uint64) *big.Rat {
			return new(big.Rat).Mul(power, new(big.Rat).SetInt(new(big.Int).SetUint64(w)))
		}
		middle := (len(l.up) - 1) / 2
		if l.cell(0) != middle || l.cell(points) != middle+1 || l.cell(-points) != middle-1 {
			t.Errorf("ratio %#x: the point 0 is in cell %d, want %d", ratio, l.cell(0), middle)
		}
		inside(middle, new(big.Rat).SetInt(new(big.Int).SetUint64(weights[k])))
		for m := range periods + 1 {
			for i := range k {
				inside(middle-k-m*k+i, weight(weights[i]))
				inside(middle+1+m*k+i, weight(weights[k+1+i]))
			}
			power.Mul(power, rho)
			if power.Denom().BitLen() > 1<<10 { // a rounding that is seen nowhere
				n := new(big.Int).Lsh(power.Num(), 1000)
				power.SetFrac(n.Div(n, power.Denom()), new(big.Int).Lsh(big.NewInt(1), 1000))
			}
		}
		whole := l.rest + l.atom // with all below it is 2^64, which is 0
		for _, w := range l.down {
			whole += w
		}
		if whole != 0 {
			t.Errorf("ratio %#x: %d units of mass are missing, or there twice", ratio, whole)
		}
		if rest := new(big.Rat).SetInt(new(big.Int).SetUint64(l.rest)); rest.Cmp(left) < 0 {
			t.Errorf("ratio %#x: a rest of %v, and %s is not laid out", ratio, l.rest, left.FloatString(6))
		}
	}
}

// TestTailedTableUpper: the bounds of a table with a tail are about the law it stands for, whose δ is
// known exactly, at every ε below the promise: to a relative 2^-40.
func TestTailedTableUpper(t *testing.T) {
	for _, epsilon := range []float64{0.5, 3} {
		tab := geometric(t, epsilon, 1)
		m := mustTable(t, tab)
		for _, share := range []float64{0, 0.25, 0.9, 0.999} {
			b := delta(t, compose(t, Release{m, 1}), share*epsilon)
			truth := tab.DeltaUpperAt(share * epsilon)
			if exact.Rational(b.Upper).Cmp(new(big.Rat).Mul(truth, big.NewRat(1<<40-1, 1<<40))) < 0 {
				t.Errorf("epsilon %g: delta(%g) <= %g, want %s", epsilon, share*epsilon, b.Upper, truth.FloatString(20))
			}
			if exact.Rational(b.Lower).Cmp(truth) > 0 {
				t.Errorf("epsilon %g: delta(%g) >= %g, want %s", epsilon, share*epsilon, b.Lower, truth.FloatString(20))
			}
		}
	}
}

// TestRegroupedIsBelow: outputs that are put together are no easier to tell apart than they were: the
// profile of what regroup makes is nowhere above that of what it was given.
func TestRegroupedIsBelow(t *testing.T) {
	r := rand.New(rand.NewSource(8))
	for trial := range 400 {
		g := grid{step: 0.25, first: -8 + r.Intn(8), last: 12}
		n := g.len()
		gain, price := make([]float64, n), make([]float64, n)
		whole := 0.0
		for i := range gain {
			if r.Intn(3) == 0 {
				continue
			}
			price[i] = math.Exp(-6 * r.Float64())
			gain[i] = price[i] * math.Exp(g.at(g.first+i)+g.step*r.Float64()) // of a loss in the group
			if r.Intn(4) == 0 {
				gain[i], price[i] = gain[i]*1e-6, price[i]*1e-6
			}
			whole += gain[i]
		}
		d := &pmf{step: g.step, first: g.first, mass: make([]float64, n)}
		d.regroup(g, gain, price)
		if sum := d.total(); sum > whole*(1+1e-12) {
			t.Errorf("trial %d: a mass of %g of %g", trial, sum, whole)
		}
		for _, m := range d.mass {
			if m < 0 {
				t.Errorf("trial %d: a mass of %g", trial, m)
			}
		}
		for epsilon := g.at(g.first); epsilon < g.at(g.last)+1; epsilon += 0.01 {
			was, is := 0.0, 0.0
			for i := range gain {
				was += math.Max(0, gain[i]-math.Exp(epsilon)*price[i])
				is += d.mass[i] * math.Max(0, -math.Expm1(epsilon+g.step*slackShare-g.at(g.first+i)))
			}
			if is > was*(1+1e-9)+1e-15 {
				t.Fatalf("trial %d: delta(%g) = %g of what was put together, and %g before", trial, epsilon, is, was)
			}
		}
	}
}

// TestSurvivals: the laws of the losses of closed forms agree with their profiles, for it is
// δ(l) = P(loss >= l) − e^l·Q(loss >= l), and both fall.
func TestSurvivals(t *testing.T) {
	pairs := map[string]dominatingPair{}
	for _, text := range []string{"laplace:epsilon=1", "laplace:epsilon=0.1", "truncated-laplace:epsilon=1,delta=0.001", "gaussian:sigma=1", "gaussian:sigma=30"} {
		m, err := parse(text)
		if err != nil {
			t.Fatal(err)
		}
		pairs[text] = m.pair
	}
	for _, sigma := range []float64{0.7, 3} {
		m, err := SubsampledGaussian(sigma, 0.2)
		if err != nil {
			t.Fatal(err)
		}
		pairs["subsampled, removed"], pairs["subsampled, added"] = m.pair, m.added
	}
	for name, pair := range pairs {
		c, ok := pair.(*continuous)
		if !ok {
			t.Fatalf("%s is a %T", name, pair)
		}
		end := math.Min(c.most, 8)
		lastP, lastQ := bracket{1, 1}, bracket{1, 1}
		for i := range 400 {
			l := end * (float64(i)/200 - 1) * 0.999
			if l <= c.least {
				continue
			}
			p, q := c.survival(l)
			low, high := c.profile(l)
			if p.low > p.high || q.low > q.high || p.low > lastP.high || q.low > lastQ.high {
				t.Errorf("%s at %g: P = %v after %v, Q = %v after %v", name, l, p, lastP, q, lastQ)
			}
			lastP, lastQ = p, q
			alpha := math.Exp(l) * (1 + 4*roundoff)
			if p.high-math.Exp(l)*(1-4*roundoff)*q.low < low-1e-15 || p.low-alpha*q.high > high+1e-15 {
				t.Errorf("%s at %g: P = %v and Q = %v, and a profile from %g to %g", name, l, p, q, low, high)
			}
			if p.high-p.low > 1e-9 || q.high-q.low > 1e-9 {
				t.Errorf("%s at %g: P = %v, Q = %v", name, l, p, q)
			}
		}
	}
}

// TestDifferenceUp: gain − α·price is rounded up, by a few roundoffs of its terms, also where it cancels.
func TestDifferenceUp(t *testing.T) {
	r := rand.New(rand.NewSource(9))
	rational := func(x exact.Uint128) *big.Rat { return new(big.Rat).SetInt(x.Big()) }
	for trial := range 20_000 {
		price := exact.Uint128{Lo: r.Uint64() >> r.Intn(64)}
		if r.Intn(2) == 0 {
			price.Hi = uint64(r.Intn(2))
		}
		alpha := math.Exp(20 * (r.Float64() - 0.5))
		gain := exact.Uint128{Lo: r.Uint64() >> r.Intn(64)}
		product := new(big.Rat).Mul(exact.Rational(alpha), rational(price))
		if f := exact.Floor(product); trial%2 == 0 && f.IsUint64() { // next to what it is compared with
			gain = exact.Uint128{Lo: f.Uint64() + uint64(r.Intn(3))}
		}
		if f := alpha * float64(price.Lo&^4095); trial%4 == 1 && f < 0x1p64 { // all in the large parts, but for the rest
			price = exact.Uint128{Lo: price.Lo &^ 4095}
			gain = exact.Uint128{Lo: uint64(f)}
			product = new(big.Rat).Mul(exact.Rational(alpha), rational(price))
		}
		truth := new(big.Rat).Sub(rational(gain), product)
		got := exact.Rational(difference(gain, alpha, price))
		size := new(big.Rat).Add(rational(gain), product)
		off := new(big.Rat).Sub(got, truth)
		if off.Sign() < 0 || off.Cmp(size.Mul(size, exact.PowerOfTwo(-48)).Add(size, exact.PowerOfTwo(-40))) > 0 {
			f, _ := off.Float64()
			t.Fatalf("%v − %v·%v is %v, off by %g", gain, alpha, price, got, f)
		}
	}
}

// TestNormalTailBracket: the tail of a sum that cancels is between the bounds, exactly.
func TestNormalTailBracket(t *testing.T) {
	rng := rand.New(rand.NewSource(31))
	unit := new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Lsh(big.NewInt(1), exact.NormalBits))
	for range 2000 {
		a := math.Ldexp(rng.Float64()-0.5, rng.Intn(12))
		b := 8*rng.Float64() - 4 - a
		x := new(big.Rat).Add(exact.Rational(a), exact.Rational(b))
		size := new(big.Rat).Abs(x)
		low, high := exact.NormalTail(size.Num(), size.Denom())
		least, most := new(big.Rat).SetInt(low), new(big.Rat).SetInt(high)
		least.Mul(least, unit)
		most.Mul(most, unit)
		if one := big.NewRat(1, 1); x.Sign() < 0 {
			least, most = new(big.Rat).Sub(one, most), new(big.Rat).Sub(one, least)
		}
		from, to := normalTail(a, b)
		if exact.Rational(from).Cmp(most) > 0 || exact.Rational(to).Cmp(least) < 0 {
			t.Errorf("the tail of %g + %g is from %g to %g, want %s", a, b, from, to, least.FloatString(20))
		}
		if to-from > 1e-9*to {
			t.Errorf("the tail of %g + %g is from %g to %g, far apart", a, b, from, to)
		}
	}
}
