// SPDX-License-Identifier: Apache-2.0

package ball

import (
	"math/big"

	"github.com/noisewright/noisewright/internal/exact"
)

// volumeBits are the binary places of a volume.
const volumeBits = 96

// bounds are those of a number, from below and from above, times 2^volumeBits.
type bounds struct{ low, high *big.Int }

// lenses measures the intersections of balls around two centers so many steps apart, in units of the
// volume of a ball with the radius of a step (docs/proofs/ball.md).
type lenses struct {
	dimension int
	radii     []int64 // the first is 0
	powers    []*big.Int
	shift     *big.Int
	double    *big.Int // 2·shift, and its power
	scale     *big.Int
	places    uint     // of angles
	pi        *big.Int // rounded down, less than 2 below
	known     map[[2]int]bounds
}

// newLenses takes the radii of the balls after that of none.
func newLenses(dimension int, radii []int64, shift *big.Int) *lenses {
	l := &lenses{dimension: dimension, radii: append([]int64{0}, radii...), shift: shift, known: map[[2]int]bounds{}}
	for _, r := range l.radii {
		l.powers = append(l.powers, l.power(big.NewInt(r)))
	}
	l.double = new(big.Int).Lsh(shift, 1)
	l.scale = l.power(l.double)
	if dimension%2 == 0 {
		l.places = volumeBits + uint(l.powers[len(radii)].BitLen()) + 12
		l.pi = exact.AngleDown(new(big.Int), unit, unit, l.places)
		l.pi.Lsh(l.pi, 1)
	}
	return l
}

var unit = big.NewInt(1)

func (l *lenses) power(x *big.Int) *big.Int {
	return new(big.Int).Exp(x, big.NewInt(int64(l.dimension)), nil)
}

// of bounds the volume of the intersection of two balls, by their numbers.
func (l *lenses) of(i, j int) bounds {
	key := [2]int{min(i, j), max(i, j)}
	v, known := l.known[key]
	if !known {
		v = l.measure(key[0], key[1])
		l.known[key] = v
	}
	return v
}

func (l *lenses) measure(i, j int) bounds {
	a, b := big.NewInt(l.radii[i]), big.NewInt(l.radii[j]) // a <= b
	whole := func(v *big.Int) bounds {
		v = new(big.Int).Lsh(v, volumeBits)
		return bounds{v, v}
	}
	sum := new(big.Int).Add(a, l.shift)
	if sum.Cmp(b) <= 0 {
		return whole(l.powers[i])
	}
	if sum.Add(a, b).Cmp(l.shift) <= 0 {
		return whole(new(big.Int))
	}
	// The balls are cut by the plane at h = (a² − b² + s²)/(2s) from the center of the first; in units of
	// 1/(2s) it is at h, and the radii are 2sa and 2sb.
	ha := new(big.Int).Mul(a, a)
	ha.Sub(ha, sum.Mul(b, b))
	square := new(big.Int).Mul(l.shift, l.shift)
	ha.Add(ha, square)
	hb := new(big.Int).Lsh(square, 1)
	hb.Sub(hb, ha)
	a.Mul(a, l.double)
	b.Mul(b, l.double)
	w := new(big.Int).Mul(a, a) // the square of the radius of the circle where the spheres meet
	w.Sub(w, square.Mul(ha, ha))
	if l.dimension%2 == 1 {
		return l.odd([]*big.Int{a, b}, []*big.Int{ha, hb}, w)
	}
	return l.even([]*big.Int{a, b}, []*big.Int{ha, hb}, w)
}

// series are the coefficients of the volumes of caps, times 32 in odd and 105 in even dimensions.
var (
	oddSeries  = []int64{16, 8, 6, 5}
	evenSeries = []int64{105, 70, 56, 48}
)

// polynomial returns h·Σ_k c_k·w^k·r^(most−2k).
func polynomial(c []int64, h, w, r *big.Int, most int) *big.Int {
	square := new(big.Int).Mul(r, r)
	sum, at := new(big.Int), big.NewInt(1) // Horner's rule in r², with the powers of w
	for k := 0; 2*k <= most; k++ {
		sum.Mul(sum, square)
		sum.Add(sum, new(big.Int).Mul(at, big.NewInt(c[k])))
		at.Mul(at, w)
	}
	return sum.Mul(sum, h)
}

// odd adds up two caps, r^d/2 − h·Σ_k c_k·w^k·r^(d−1−2k), exactly but for the last division.
func (l *lenses) odd(r, h []*big.Int, w *big.Int) bounds {
	sum := new(big.Int)
	for i := range r {
		half := l.power(r[i])
		sum.Add(sum, half.Mul(half, big.NewInt(oddSeries[0])))
		sum.Sub(sum, polynomial(oddSeries, h[i], w, r[i], l.dimension-1))
	}
	den := new(big.Int).Mul(l.scale, big.NewInt(2*oddSeries[0]))
	sum.Lsh(sum, volumeBits)
	return bounds{new(big.Int).Div(sum, den), exact.DivUp(new(big.Int), sum, den)}
}

// even adds up two caps, (r^d·θ − √w·h·Σ_k c_k·w^k·r^(d−2−2k))/π with cos θ = h/r.
func (l *lenses) even(r, h []*big.Int, w *big.Int) bounds {
	low, high, factor := new(big.Int), new(big.Int), new(big.Int)
	t := new(big.Int)
	for i := range r {
		p := l.power(r[i])
		from, to := l.angle(h[i], w, r[i])
		low.Add(low, from.Mul(from, p))
		high.Add(high, to.Mul(to, p))
		factor.Add(factor, polynomial(evenSeries, h[i], w, r[i], l.dimension-2))
	}
	first := big.NewInt(evenSeries[0])
	low.Mul(low, first)
	high.Mul(high, first)
	root := t.Sqrt(t.Lsh(w, 2*l.places))
	above := new(big.Int).Add(root, unit)
	if factor.Sign() < 0 {
		root, above = above, root
	}
	low.Sub(low, above.Mul(above, factor))
	high.Sub(high, root.Mul(root, factor))
	if low.Sign() < 0 {
		low.SetInt64(0)
	}
	den := new(big.Int).Mul(l.scale, first)
	denHigh := new(big.Int).Add(l.pi, big.NewInt(4))
	denHigh.Mul(denHigh, den)
	return bounds{
		low.Div(low.Lsh(low, volumeBits), denHigh),
		exact.DivUp(high, high.Lsh(high, volumeBits), den.Mul(den, l.pi)),
	}
}

// angle bounds θ from 0 to π with the cosine h/r and the sine √w/r.
func (l *lenses) angle(h, w, r *big.Int) (low, high *big.Int) {
	low = exact.AngleDown(new(big.Int).Abs(h), w, r, l.places)
	high = new(big.Int).Add(low, big.NewInt(2))
	if h.Sign() < 0 {
		low, high = new(big.Int).Sub(l.pi, high), high.Sub(high.Add(l.pi, big.NewInt(4)), low)
	}
	return low, high
}
