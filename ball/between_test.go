// SPDX-License-Identifier: Apache-2.0

package ball

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
)

// newDualBound is the state in which LowerBound looks at parts.
func newDualBound(s *Spec, power int) *dualBound {
	b := &dualBound{Spec: s, power: power, unit: exact.PowerOfTwo(s.Dual.Exponent), pi: new(big.Int)}
	b.pi.Lsh(exact.AngleDown(new(big.Int), unit, unit, meanBits), 1)
	for _, x := range s.Dual.Radii {
		b.square = append(b.square, big.NewInt(x*x))
	}
	for i := range s.Dual.Shifts {
		y, _ := s.Dual.Shifts[i].dense(len(s.Dual.Radii))
		b.moves = append(b.moves, newMove(b, s.Dual.Shifts[i].Length, y))
	}
	return b
}

// falling is the mean over directions of (x² − r′²)₊, in closed form.
func falling(d int, r, s, x float64) float64 {
	c, h := r*r+s*s-x*x, 2*r*s
	switch {
	case c >= h:
		return 0
	case c <= -h:
		return -c
	case d == 3: // r′² is uniform between (r − s)² and (r + s)²
		return (h - c) * (h - c) / (4 * h)
	}
	return (math.Sqrt((h-c)*(h+c)) - c*math.Acos(c/h)) / math.Pi
}

// closed is the bracket of the bound for a radius from knot i to the next, in closed form: of multipliers y of one shift, and a
// promise of epsilon 0.
func (b *dualBound) closed(i int, r float64) float64 {
	rho := func(j int) float64 { return float64(b.Dual.Radii[j]) }
	y, _ := b.Dual.Shifts[0].dense(len(b.Dual.Radii))
	u := (r*r - rho(i)*rho(i)) / (rho(i+1)*rho(i+1) - rho(i)*rho(i))
	gain := func(j int) float64 {
		return (1-u)*float64(y[i][j]-y[j][i]) + u*float64(y[i+1][j]-y[j][i+1])
	}
	last := len(y) - 1
	sum := gain(last)
	for j := range last {
		g := func(j int) float64 { return falling(b.Dimension, r, float64(b.Dual.Shifts[0].Length), rho(j)) }
		sum -= (gain(j+1) - gain(j)) * (g(j+1) - g(j)) / (rho(j+1)*rho(j+1) - rho(j)*rho(j))
	}
	return math.Pow(math.Ldexp(r, b.StepExponent), float64(b.power)) + math.Ldexp(sum, b.Dual.Exponent)
}

// few is a problem of one shift and few knots with few multipliers.
func few(r *rand.Rand, d int) *Spec {
	s := &Spec{Problem: Problem{Dimension: d, Privacy: dp.Privacy{Sensitivity: 1}}, StepExponent: -10 - 20*r.IntN(2)}
	length := int64(10 + r.IntN(1000))
	knots := []int64{0}
	for range 2 + r.IntN(4) {
		next := knots[len(knots)-1] + 1 + r.Int64N(600)
		if r.IntN(3) == 0 { // where points come no nearer inside a part, and where all are as far
			next = max(length+r.Int64N(3)-1, knots[len(knots)-1]+1)
		}
		knots = append(knots, next)
	}
	n := len(knots)
	shift := dualShift{Length: length}
	same := make([]int64, n)
	for j := range same {
		same[j] = r.Int64N(2) * r.Int64N(1<<20)
	}
	like, tilt := r.IntN(2) == 0, r.Int64N(2)*r.Int64N(1<<20)
	for i := range n {
		row := dualRow{Knot: i}
		for j := range n {
			v := same[j] + int64(i)*tilt // of Z too, where i and j are of two kinds
			if !like {
				v = r.Int64N(2) * r.Int64N(1<<20)
			}
			row.Multipliers = append(row.Multipliers, v)
		}
		shift.Rows = append(shift.Rows, row)
	}
	s.Dual = &Dual{Parts: 1, Radii: knots, Shifts: []dualShift{shift}}
	return s
}

// TestBetweenIsBelow: no bracket in closed form inside a part is below what is said of it, by more than floating-point numbers are off.
func TestBetweenIsBelow(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	for n := range 6000 {
		s := few(rng, 2+n%2)
		b := newDualBound(s, 1+rng.IntN(2))
		i := rng.IntN(len(s.Dual.Radii) - 1)
		from, to := s.Dual.Radii[i], s.Dual.Radii[i+1]
		x, y := from, to
		if to-from > 1 && rng.IntN(2) == 0 {
			x = from + rng.Int64N(to-from)
			y = x + 1 + rng.Int64N(to-x)
		}
		low, _ := b.between(i, x, y, b.look(x), b.look(y)).Float64()
		for k := range 17 {
			r := float64(x) + float64(y-x)*float64(k)/16
			if got := b.closed(i, r); got < low-1e-9*(1<<20) {
				t.Fatalf("%+v, power %d, at %v of %d to %d: %v, below %v", *s.Dual, b.power, r, x, y, got, low)
			}
		}
	}
}

// TestBetweenAtAKink: a bracket that is bent by one knot alone, which points inside the part are nearer to than at either end, is not
// below the bound. Its share of those points is all that keeps it: with the part from 0, where all are as far, left out it is above.
func TestBetweenAtAKink(t *testing.T) {
	for _, d := range []int{2, 3} {
		// The second distance passes the knot of 1000 steps of a shift as long where the first leaves 0, in a part up to 800.
		s := &Spec{Problem: Problem{Dimension: d, Privacy: dp.Privacy{Sensitivity: 1}}, StepExponent: -100}
		s.Dual = &Dual{Parts: 1, Radii: []int64{0, 800, 1000, 2000}, Shifts: []dualShift{{Length: 1000}}}
		b := newDualBound(s, 1)
		const slope = 1 << 20
		// φ = −slope·(1000² − q′)₊, and grows in q by what makes it alike at both ends.
		kink := func(j int) *big.Int {
			return big.NewInt(-slope * max(0, 1000*1000-s.Dual.Radii[j]*s.Dual.Radii[j]))
		}
		level := slope * falling(d, 800, 1000, 1000)
		v := b.moves[0]
		for i := range v.gain {
			for j := range v.gain[i] {
				v.gain[i][j] = kink(j)
				if i > 0 {
					v.gain[i][j] = new(big.Int).Add(kink(j), big.NewInt(int64(level)))
				}
				v.gain[i][j].Lsh(v.gain[i][j], exact.RatioBits)
				v.bend[i][j] = new(big.Int)
			}
			v.bend[i][0] = new(big.Int).Lsh(big.NewInt(slope), exact.RatioBits+slopeBits)
			v.bend[i][2] = new(big.Int).Neg(v.bend[i][0])
		}
		low, _ := b.between(0, 0, 800, b.look(0), b.look(800)).Float64()
		least := math.Inf(1)
		for r := 0.0; r <= 800; r++ {
			least = min(least, level*r*r/(800*800)-slope*falling(d, r, 1000, 1000))
		}
		if low > least+1e-9*level {
			t.Errorf("d %d: %v, below %v", d, least, low)
		}
	}
}

// TestBetweenByTheFormula: the bound of the proof, in rationals, of gains, slopes and views that are as they please, with bounds that
// are far apart, so that each of its terms and the side of each bound matters.
func TestBetweenByTheFormula(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	rat := func(x *big.Int) *big.Rat { return new(big.Rat).SetInt(x) }
	num := func(x int64) *big.Rat { return big.NewRat(x, 1) }
	mul := func(x ...*big.Rat) *big.Rat {
		z := num(1)
		for _, v := range x {
			z.Mul(z, v)
		}
		return z
	}
	add := func(x, y *big.Rat) *big.Rat { return new(big.Rat).Add(x, y) }
	sub := func(x, y *big.Rat) *big.Rat { return new(big.Rat).Sub(x, y) }
	least := func(x, y *big.Rat) *big.Rat {
		if x.Cmp(y) < 0 {
			return x
		}
		return y
	}
	most := func(x, y *big.Rat) *big.Rat {
		if x.Cmp(y) < 0 {
			return y
		}
		return x
	}
	span := func(limit int64) bounds {
		a, c := rng.Int64N(limit), rng.Int64N(limit)
		return bounds{big.NewInt(min(a, c)), big.NewInt(max(a, c))}
	}
	bent, straight := 0, 0
	examples := 3000
	if testing.Short() {
		examples = 600
	}
	for n := range examples {
		s := few(rng, 2)
		s.StepExponent, s.Dual.Exponent = -10, 120+rng.IntN(60)
		knots := s.Dual.Radii
		s.Dual.Shifts = append(s.Dual.Shifts, s.Dual.Shifts[0])
		s.Dual.Shifts[1].Length++
		b := newDualBound(s, 1+n%2)
		size, slopes, steep := int64(1)<<rng.IntN(40), int64(1)<<rng.IntN(40), int64(1)<<(1+rng.IntN(62))
		views := [2][]view{}
		for _, move := range b.moves {
			for i := range move.gain {
				for j := range move.gain[i] {
					move.gain[i][j], move.bend[i][j] = big.NewInt(rng.Int64N(2*size)-size), big.NewInt(rng.Int64N(8*slopes)-4*slopes)
				}
			}
			for e := range views {
				v := view{}
				for j := range knots {
					p := span(1 << 62)
					if rng.IntN(3) == 0 {
						p = bounds{new(big.Int), new(big.Int)}
					}
					v.nearer = append(v.nearer, p)
					if j > 0 {
						v.ramp = append(v.ramp, span(steep))
					}
				}
				views[e] = append(views[e], v)
			}
		}
		i := rng.IntN(len(knots) - 1)
		x := knots[i] + rng.Int64N(knots[i+1]-knots[i])
		y := x + 1 + rng.Int64N(knots[i+1]-x)
		got := b.between(i, x, y, views[0], views[1])

		h, width := num(y-x), num(knots[i+1]*knots[i+1]-knots[i]*knots[i])
		right := [2]*big.Rat{num(x*x - knots[i]*knots[i]), num(y*y - knots[i]*knots[i])}
		for e := range right {
			right[e].Quo(right[e], width)
		}
		at := func(e int, u, v *big.Rat) *big.Rat { return add(mul(sub(num(1), right[e]), u), mul(right[e], v)) }
		var value, tiltUp, tiltDown, inner [2]*big.Rat
		for e := range 2 {
			value[e], tiltUp[e], tiltDown[e], inner[e] = num(0), num(0), num(0), num(0)
		}
		crossed := num(0)
		place := new(big.Rat).SetFrac(unit, new(big.Int).Lsh(unit, slopeBits))
		for k, move := range b.moves {
			for e := range 2 {
				own, next := views[e][k].mean(move.gain[i]), views[e][k].mean(move.gain[i+1])
				value[e] = add(value[e], at(e, rat(own.low), rat(next.low)))
				tiltUp[e] = add(tiltUp[e], new(big.Rat).Quo(rat(new(big.Int).Sub(next.high, own.low)), width))
				tiltDown[e] = add(tiltDown[e], new(big.Rat).Quo(rat(new(big.Int).Sub(next.low, own.high)), width))
			}
			for j, rho := range knots {
				p, o := views[0][k].nearer[j], views[1][k].nearer[j]
				v := move.length*move.length - rho*rho
				inside := v >= x*x && v < y*y
				bothLow, bothHigh := least(rat(p.low), rat(o.low)), least(rat(p.high), rat(o.high))
				once := sub(most(rat(p.high), rat(o.high)), bothLow)
				grow, fall := num(0), num(0)
				for e := range 2 {
					kappa := at(e, rat(move.bend[i][j]), rat(move.bend[i+1][j]))
					down := sub(kappa, num(1))
					if bothHigh.Sign() > 0 || once.Sign() > 0 {
						inner[e] = add(inner[e], mul(place, least(mul(down, bothLow), mul(down, bothHigh))))
					}
					grow, fall = most(grow, add(kappa, num(1))), most(fall, sub(num(1), kappa))
				}
				crossed = add(crossed, mul(grow, place, once, h, num(x+y+2*move.length)))
				if inside {
					once = add(once, rat(new(big.Int).Lsh(unit, meanBits)))
				}
				crossed = add(crossed, mul(fall, place, once, h, h))
			}
		}
		scale := mul(b.unit, new(big.Rat).SetFrac(unit, new(big.Int).Lsh(unit, exact.RatioBits+meanBits)))
		c := num(0)
		if b.power == 2 {
			c = mul(b.step(), b.step())
		}
		turn := mul(h, h, add(c, mul(scale, sub(most(tiltUp[0], tiltUp[1]), least(inner[0], inner[1])))))
		turn = add(turn, mul(scale, num(y*y-x*x), sub(tiltUp[1], tiltDown[0])))
		if turn.Sign() > 0 {
			bent++
		} else {
			straight++
		}
		loss := func(r int64) *big.Rat { return mul(num(r), b.step()) }
		if b.power == 2 {
			loss = func(r int64) *big.Rat { return mul(num(r), num(r), b.step(), b.step()) }
		}
		want := least(add(loss(x), mul(scale, value[0])), add(loss(y), mul(scale, value[1])))
		want = sub(want, mul(big.NewRat(1, 4), add(most(num(0), turn), mul(scale, crossed))))
		if got.Cmp(want) != 0 {
			a, _ := got.Float64()
			z, _ := want.Float64()
			t.Fatalf("%v, want %v", a, z)
		}
	}
	if part := examples / 10; bent < part || straight < part {
		t.Errorf("%d bent and %d straight of %d: other examples", bent, straight, examples)
	}
}

// TestMean takes of each ramp the end that makes the mean least, and that which makes it most.
func TestMean(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 36))
	for range 200 {
		v, gain := view{}, []*big.Int{big.NewInt(rng.Int64N(2001) - 1000)}
		var low, high int64
		for range 1 + rng.IntN(4) {
			a, c := rng.Int64N(1000), rng.Int64N(1000)
			v.ramp = append(v.ramp, bounds{big.NewInt(min(a, c)), big.NewInt(max(a, c))})
			next := rng.Int64N(2001) - 1000
			rise := next - gain[len(gain)-1].Int64()
			low, high = low-max(rise*a, rise*c), high-min(rise*a, rise*c)
			gain = append(gain, big.NewInt(next))
		}
		last := new(big.Int).Lsh(gain[len(gain)-1], meanBits)
		got := v.mean(gain)
		if got.low.Sub(got.low, last).Int64() != low || got.high.Sub(got.high, last).Int64() != high {
			t.Fatalf("%v and %v more than the last, want %d and %d", got.low, got.high, low, high)
		}
	}
}

// TestMove: gains are rounded down, and slopes grow by what they are said to, within a place.
func TestMove(t *testing.T) {
	rng := rand.New(rand.NewPCG(37, 38))
	const more = 40
	for range 200 {
		s := few(rng, 2)
		s.Epsilon = 3 * rng.Float64()
		b := newDualBound(s, 1)
		y, _ := s.Dual.Shifts[0].dense(len(s.Dual.Radii))
		e, v := exact.ExpDown(s.Epsilon, exact.RatioBits+more), b.moves[0]
		for i := range y {
			slope := new(big.Rat)
			for j := range y {
				want := new(big.Int).Lsh(big.NewInt(y[i][j]), exact.RatioBits+more)
				want.Sub(want, new(big.Int).Mul(e, big.NewInt(y[j][i])))
				off := want.Sub(want, new(big.Int).Lsh(v.gain[i][j], more))
				if limit := new(big.Int).Lsh(big.NewInt(2*y[j][i]), more); off.Sign() < 0 || off.Cmp(limit) > 0 {
					t.Fatalf("gain %d, %d: %v too small", i, j, off)
				}
				next := new(big.Rat)
				if j+1 < len(y) {
					next.SetFrac(new(big.Int).Sub(v.gain[i][j+1], v.gain[i][j]), new(big.Int).Sub(b.square[j+1], b.square[j]))
					next.Mul(next, exact.PowerOfTwo(slopeBits))
				}
				grows := new(big.Rat).Sub(next, slope)
				if grows.Sub(grows, new(big.Rat).SetInt(v.bend[i][j])).Abs(grows).Cmp(big.NewRat(1, 1)) >= 0 {
					t.Fatalf("slope %d, %d is off by %v", i, j, grows)
				}
				slope = next
			}
		}
	}
}

// TestViews: what is inside and its mean are rounded outward, by less than some units: exactly for three coordinates, and by
// an angle of more places for two.
func TestViews(t *testing.T) {
	rng := rand.New(rand.NewPCG(39, 40))
	const fine = 160
	pi := new(big.Int).Lsh(exact.AngleDown(new(big.Int), unit, unit, fine), 1)
	for n := range 2000 {
		s := &Spec{Problem: Problem{Dimension: 2 + n%2}, Dual: &Dual{Radii: []int64{0, 1}}}
		b := newDualBound(s, 1)
		limit := int64(2) << rng.IntN(20)
		r, length, x := rng.Int64N(limit), 1+rng.Int64N(limit), rng.Int64N(2*limit)
		c, h := r*r+length*length-x*x, 2*r*length
		p, g := b.inside(r, length, x)
		var near, mean *big.Rat
		units := int64(1)
		switch {
		case c >= h:
			near, mean, units = new(big.Rat), new(big.Rat), 0
		case c <= -h:
			near, mean, units = big.NewRat(1, 1), big.NewRat(-c, 1), 0
		case n%2 == 1:
			near, mean = big.NewRat(h-c, 2*h), new(big.Rat).Mul(big.NewRat(h-c, 4*h), big.NewRat(h-c, 1))
		default:
			units = 16
			square := big.NewInt(h - c)
			square.Mul(square, big.NewInt(h+c))
			angle := exact.AngleDown(big.NewInt(max(c, -c)), square, big.NewInt(h), fine)
			if c < 0 {
				angle.Sub(pi, angle)
			}
			near = new(big.Rat).SetFrac(angle, pi)
			root := square.Sqrt(square.Lsh(square, 2*fine))
			mean = new(big.Rat).SetFrac(root.Sub(root, angle.Mul(angle, big.NewInt(c))), pi)
		}
		for _, v := range []struct {
			of   string
			got  bounds
			want *big.Rat
			size int64
		}{{"share", p, near, 1}, {"mean", g, mean, h + x*x}} {
			want := new(big.Rat).Mul(v.want, exact.PowerOfTwo(meanBits))
			low, high := new(big.Rat).SetInt(v.got.low), new(big.Rat).SetInt(v.got.high)
			width := new(big.Rat).Sub(high, low)
			if n%2 == 1 {
				v.size = 1
			}
			if low.Cmp(want) > 0 || high.Cmp(want) < 0 || width.Cmp(big.NewRat(units*v.size, 1)) > 0 {
				t.Fatalf("d %d, r %d, shift %d, knot %d: %s from %v to %v, want %s", s.Dimension, r, length, x, v.of, v.got.low, v.got.high, want.FloatString(4))
			}
		}
	}
}

// TestLowerBoundIsTheLeast of all parts, none left out, less the price.
func TestLowerBoundIsTheLeast(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	proved, atTheEnd := 0, 0
	examples := 4000
	if testing.Short() {
		examples = 1000
	}
	for n := range examples {
		s := few(rng, 2+n%2)
		s.StepExponent, s.Loss, s.Dual.Exponent, s.Delta = 0, loss.L1, -rng.IntN(20), 1e-3
		last := len(s.Dual.Radii) - 1
		for i := range s.Dual.Shifts[0].Rows {
			row := s.Dual.Shifts[0].Rows[i].Multipliers
			row[last] = 0
			if i > 0 {
				row[0] = 0 // or nothing is said at 0
			}
		}
		b := newDualBound(s, 1)
		least, end := b.at(s.Dual.Radii[last]), false
		for i := range last {
			x, y := s.Dual.Radii[i], s.Dual.Radii[i+1]
			if v := b.between(i, x, y, b.look(x), b.look(y)); v.Cmp(least) < 0 {
				least, end = v, i == last-1
			}
		}
		_, price := s.Dual.Shifts[0].dense(last + 1)
		least.Sub(least, new(big.Rat).Mul(big.NewRat(price, 1), new(big.Rat).Mul(b.unit, exact.Rational(s.Delta))))
		if least.Sign() > 0 {
			proved++
			if end {
				atTheEnd++
			}
		} else {
			least.SetInt64(0)
		}
		if got := s.LowerBound(nil); got.Cmp(least) != 0 {
			t.Fatalf("%+v: %v, want %v", *s.Dual, got, least)
		}
	}
	if !testing.Short() && (proved < 40 || atTheEnd < 2) {
		t.Errorf("%d proved, %d of the last part: other examples", proved, atTheEnd)
	}
}
