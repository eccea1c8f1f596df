// SPDX-License-Identifier: Apache-2.0

package ball

import (
	"math/big"

	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/proof"
)

// meanBits are the binary places of what is averaged over directions, slopeBits those more of slopes.
const (
	meanBits  = 64
	slopeBits = 64
)

// LowerBound is what the Dual proves (docs/proofs/ball.md), for the Problem and the step of the Spec, whose weights
// do not matter: with Y the multipliers and r′ the distance of a point at the distance r from another center,
//
//	min over r of [ r^p + Σ_s mean over directions of ( Y_s(r, r′) − e^ε·Y_s(r′, r) ) ]  −  δ·Σ_s max Y_s
//
// It is never below 0. A nil Dual proves 0. It does not count if the meter says stop; the nil Meter has no limit.
//
// The Spec must be one that New accepts, but for its weights.
func (s *Spec) LowerBound(m *proof.Meter) *big.Rat {
	d := s.Dual
	if d == nil {
		return new(big.Rat)
	}
	n := len(d.Radii)
	work := int64((n-1)*d.Parts+1) * int64(n*len(d.Shifts)+1)
	if !m.Spend(40 * work) {
		return new(big.Rat)
	}
	power, _ := s.Power()
	b := &dualBound{Spec: s, power: int(power), unit: exact.PowerOfTwo(d.Exponent), pi: new(big.Int)}
	b.pi.Lsh(exact.AngleDown(b.pi, unit, unit, meanBits), 1)
	price := new(big.Int)
	for _, x := range d.Radii {
		b.square = append(b.square, new(big.Int).Mul(big.NewInt(x), big.NewInt(x)))
	}
	for i := range d.Shifts {
		y, most := d.Shifts[i].dense(n)
		price.Add(price, big.NewInt(most))
		// Beyond the last knot nothing is said to be lost if all that has it in sight has no multiplier.
		for k := range y {
			if y[k][n-1] != 0 && d.Radii[min(k+1, n-1)] > d.Radii[n-1]-d.Shifts[i].Length {
				return new(big.Rat)
			}
		}
		b.moves = append(b.moves, newMove(b, d.Shifts[i].Length, y))
	}
	least := b.at(d.Radii[n-1]) // the loss alone
	first, second := b.look(0), []view(nil)
	for i := range n - 1 {
		from := d.Radii[i]
		width := d.Radii[i+1] - from
		for k := range int64(d.Parts) {
			x, y := from+width*k/int64(d.Parts), from+width*(k+1)/int64(d.Parts)
			if x == y {
				continue
			}
			if !m.Go() {
				return new(big.Rat)
			}
			second = b.look(y)
			if v := b.between(i, x, y, first, second); v.Cmp(least) < 0 {
				least = v
			}
			first = second
		}
	}
	cost := new(big.Rat).SetInt(price)
	least.Sub(least, cost.Mul(cost, b.unit).Mul(cost, exact.Rational(s.Delta)))
	if least.Sign() < 0 {
		return new(big.Rat)
	}
	return least
}

// dualBound is what is the same for all radii.
type dualBound struct {
	*Spec
	power  int
	unit   *big.Rat
	pi     *big.Int   // rounded down, less than 4 below
	square []*big.Int // of knots
	moves  []*move
}

// move is a shift.
type move struct {
	length int64
	gain   [][]*big.Int // Y_ij − e^ε·Y_ji, from below, times 2^RatioBits
	bend   [][]*big.Int // by how much its slope in the squared second distance grows at a knot, times 2^slopeBits more, within 1
}

func newMove(b *dualBound, length int64, y [][]int64) *move {
	up, n := exact.ExpUp(b.Epsilon, exact.RatioBits), len(y)
	v := &move{length: length}
	for i := range y {
		gain, bend := make([]*big.Int, n), make([]*big.Int, n)
		slope := new(big.Int)
		for j := range y {
			g := big.NewInt(y[i][j])
			gain[j] = g.Sub(g.Lsh(g, exact.RatioBits), new(big.Int).Mul(up, big.NewInt(y[j][i])))
			if j > 0 {
				next := new(big.Int).Sub(g, gain[j-1])
				next.Div(next.Lsh(next, slopeBits), new(big.Int).Sub(b.square[j], b.square[j-1]))
				bend[j-1] = new(big.Int).Sub(next, slope)
				slope = next
			}
		}
		bend[n-1] = slope.Neg(slope)
		v.gain, v.bend = append(v.gain, gain), append(v.bend, bend)
	}
	return v
}

// at returns the loss of a radius.
func (b *dualBound) at(r int64) *big.Rat {
	x := new(big.Rat).Mul(big.NewRat(r, 1), b.step())
	if b.power == 2 {
		x.Mul(x, x)
	}
	return x
}

// view is how the knots look from a point, averaged over directions: the probability of being nearer than the knot, and the
// mean of what falls linearly in the square from 1 at the knot and nearer to 0 at the next one.
type view struct{ nearer, ramp []bounds }

// look returns the views of the points at a distance, for each shift.
func (b *dualBound) look(r int64) []view {
	views := make([]view, len(b.moves))
	for k, move := range b.moves {
		v, before := &views[k], bounds{}
		for j, x := range b.Dual.Radii {
			p, g := b.inside(r, move.length, x)
			v.nearer = append(v.nearer, p)
			if j > 0 {
				width := new(big.Int).Sub(b.square[j], b.square[j-1])
				low, high := new(big.Int).Sub(g.low, before.high), new(big.Int).Sub(g.high, before.low)
				v.ramp = append(v.ramp, bounds{low.Div(low, width), exact.DivUp(high, high, width)})
			}
			before = g
		}
	}
	return views
}

// inside bounds, for a point of a random direction at the distance r and r′ its distance from a center s away from
// that of r, the probability of r′ < x and the mean of (x² − r′²)₊, both times 2^meanBits. With r′² = r² + s² − 2rst, t the cosine
// of the direction, and τ the t of r′ = x, that is P(t > τ) and 2rs·E(t − τ)₊.
func (b *dualBound) inside(r, s, x int64) (p, g bounds) {
	c := new(big.Int).Mul(big.NewInt(r-x), big.NewInt(r+x)) // each factor is below 2^31
	c.Add(c, new(big.Int).Mul(big.NewInt(s), big.NewInt(s)))
	h := new(big.Int).Mul(big.NewInt(2*r), big.NewInt(s)) // τ = c/h
	exactly := func(v *big.Int) bounds { return bounds{v, v} }
	one := new(big.Int).Lsh(unit, meanBits)
	if c.Cmp(h) >= 0 {
		return exactly(new(big.Int)), exactly(new(big.Int))
	}
	if h.CmpAbs(c) <= 0 {
		return exactly(one), exactly(c.Lsh(c.Neg(c), meanBits))
	}
	if b.Dimension == 3 { // t is uniform in −1 to 1
		d := new(big.Int).Sub(h, c)
		square := new(big.Int).Mul(d, d)
		return quotient(d.Lsh(d, meanBits), h, 2), quotient(square.Lsh(square, meanBits), h, 4)
	}
	// t is the cosine of a uniform angle: the arc cosine of τ over π, and (√(h² − c²) − c·arccos τ)/π.
	sine := new(big.Int).Mul(h, h)
	sine.Sub(sine, new(big.Int).Mul(c, c))
	low := exact.AngleDown(new(big.Int).Abs(c), sine, h, meanBits)
	high := new(big.Int).Add(low, big.NewInt(2))
	if c.Sign() < 0 {
		low, high = new(big.Int).Sub(b.pi, high), high.Sub(high.Add(b.pi, big.NewInt(4)), low)
	}
	root := sine.Sqrt(sine.Lsh(sine, 2*meanBits))
	above := new(big.Int).Add(root, unit)
	if c.Sign() < 0 {
		g = bounds{root.Sub(root, new(big.Int).Mul(c, low)), above.Sub(above, new(big.Int).Mul(c, high))}
	} else {
		g = bounds{root.Sub(root, new(big.Int).Mul(c, high)), above.Sub(above, new(big.Int).Mul(c, low))}
	}
	g.low.Lsh(g.low, meanBits)
	if g.low.Sign() < 0 {
		g.low.SetInt64(0)
	}
	g.high.Lsh(g.high, meanBits)
	pi := new(big.Int).Add(b.pi, big.NewInt(4))
	g.low.Div(g.low, pi)
	exact.DivUp(g.high, g.high, b.pi)
	low.Div(low.Lsh(low, meanBits), pi)
	exact.DivUp(high, high.Lsh(high, meanBits), b.pi)
	if high.Cmp(one) > 0 {
		high = one
	}
	return bounds{low, high}, g
}

// quotient bounds x/(h·k).
func quotient(x, h *big.Int, k int64) bounds {
	h = new(big.Int).Mul(h, big.NewInt(k))
	return bounds{new(big.Int).Div(x, h), exact.DivUp(new(big.Int), x, h)}
}

// mean bounds that of the gains of a row, in units of 2^-(RatioBits+meanBits).
func (v *view) mean(gain []*big.Int) bounds {
	last := gain[len(gain)-1]
	low := new(big.Int).Lsh(last, meanBits)
	high, t := new(big.Int).Set(low), new(big.Int)
	for j, ramp := range v.ramp {
		rise := new(big.Int).Sub(gain[j+1], gain[j])
		most, least := ramp.high, ramp.low
		if rise.Sign() < 0 {
			most, least = least, most
		}
		low.Sub(low, t.Mul(rise, most))
		high.Sub(high, t.Mul(rise, least))
	}
	return bounds{low, high}
}

// between bounds the bracket from below for radii from x to y, both from knot i to the next one (docs/proofs/ball.md,
// "Between grid points"), by its values at both, by how much it may bend, and by what crosses knots.
func (b *dualBound) between(i int, x, y int64, first, second []view) *big.Rat {
	bx, by, h := big.NewInt(x), big.NewInt(y), big.NewInt(y-x)
	qx, qy := new(big.Int).Mul(bx, bx), new(big.Int).Mul(by, by)
	hh, t := new(big.Int).Mul(h, h), new(big.Int)
	width := new(big.Int).Sub(b.square[i+1], b.square[i])
	left := [2]*big.Int{new(big.Int).Sub(b.square[i+1], qx), new(big.Int).Sub(b.square[i+1], qy)}
	right := [2]*big.Int{new(big.Int).Sub(width, left[0]), new(big.Int).Sub(width, left[1])}
	var value, tilt, tiltLow, inner [2]*big.Int // at both ends
	for e := range 2 {
		value[e], tilt[e], tiltLow[e], inner[e] = new(big.Int), new(big.Int), new(big.Int), new(big.Int)
	}
	crossed := new(big.Int)
	for k, move := range b.moves {
		views := [2]*view{&first[k], &second[k]}
		for e, v := range views {
			own, next := v.mean(move.gain[i]), v.mean(move.gain[i+1])
			value[e].Add(value[e], t.Mul(left[e], own.low))
			value[e].Add(value[e], t.Mul(right[e], next.low))
			tilt[e].Add(tilt[e], next.high).Sub(tilt[e], own.low)
			tiltLow[e].Add(tiltLow[e], next.low).Sub(tiltLow[e], own.high)
		}
		up, down := new(big.Int), new(big.Int)
		for j, r := range b.Dual.Radii {
			p, o := views[0].nearer[j], views[1].nearer[j]
			if p.high.Sign() == 0 && o.high.Sign() == 0 && !turns(move.length, r, x, y) {
				continue
			}
			both := bounds{smaller(p.low, o.low), smaller(p.high, o.high)}
			cross := new(big.Int).Sub(larger(p.high, o.high), both.low)
			grow, fall := new(big.Int), new(big.Int)
			for e := range 2 {
				bend := new(big.Int).Mul(left[e], move.bend[i][j])
				bend.Add(bend, t.Mul(right[e], move.bend[i+1][j]))
				most, least := new(big.Int).Add(bend, width), bend.Sub(bend, width)
				if least.Sign() < 0 {
					inner[e].Add(inner[e], t.Mul(least, both.high))
				} else {
					inner[e].Add(inner[e], t.Mul(least, both.low))
				}
				grow = larger(grow, most)
				fall = larger(fall, new(big.Int).Neg(least))
			}
			up.Add(up, grow.Mul(grow, cross))
			if turns(move.length, r, x, y) {
				cross.Add(cross, t.Lsh(unit, meanBits))
			}
			down.Add(down, fall.Mul(fall, cross))
		}
		up.Mul(up, h).Mul(up, t.SetInt64(x+y+2*move.length))
		crossed.Add(crossed, up).Add(crossed, down.Mul(down, hh))
	}
	bent := new(big.Int).Mul(hh, larger(tilt[0], tilt[1]))
	bent.Add(bent, t.Mul(t.Sub(qy, qx), tilt[1].Sub(tilt[1], tiltLow[0])))
	bent.Lsh(bent, slopeBits).Sub(bent, t.Mul(hh, smaller(inner[0], inner[1])))
	scale := func(v *big.Int, bits uint) *big.Rat {
		z := new(big.Rat).SetFrac(v, new(big.Int).Lsh(width, exact.RatioBits+meanBits+bits))
		return z.Mul(z, b.unit)
	}
	bend := scale(bent, slopeBits)
	if b.power == 2 {
		bend.Add(bend, new(big.Rat).Mul(new(big.Rat).SetInt(hh), new(big.Rat).Mul(b.step(), b.step())))
	}
	if bend.Sign() < 0 {
		bend.SetInt64(0)
	}
	low, other := scale(value[0], 0), scale(value[1], 0)
	low.Add(low, b.at(x))
	if other.Add(other, b.at(y)); other.Cmp(low) < 0 {
		low = other
	}
	bend.Add(bend, scale(crossed, slopeBits))
	return low.Sub(low, bend.Mul(bend, big.NewRat(1, 4)))
}

// turns reports whether the square of a radius from x to y is s² − r²: there points of a direction come no nearer to a knot r,
// which more of them may pass between than at both ends.
func turns(s, r, x, y int64) bool {
	v := s*s - r*r // of numbers below 2^31
	return x*x <= v && v < y*y
}

func smaller(a, b *big.Int) *big.Int {
	if b.Cmp(a) < 0 {
		return b
	}
	return a
}

func larger(a, b *big.Int) *big.Int {
	if b.Cmp(a) > 0 {
		return b
	}
	return a
}
