// SPDX-License-Identifier: Apache-2.0

package local

import (
	"math/big"
	"slices"

	"github.com/noisewright/noisewright/internal/exact"
)

// lineSearch bounds a function from below over all answers there may be, in units of the grid.
type lineSearch struct {
	*pricing
	// over returns a bound over the part from u to v, and one on the value in its middle
	// that cannot be had tighter by halving the part.
	over func(u, v *big.Int) (low, middle *big.Int)
	// outside returns a bound over all answers beyond y, on the right for side 1 and on the
	// left for -1, and whether there is one.
	outside func(y *big.Int, side int64) (low *big.Int, ok bool)
	// breaks are points that are inside no part.
	breaks []*big.Int
	// tolerance is how much closer to the truth is not worth the work.
	tolerance *big.Int
}

const (
	// coreParts is how many parts the range, and as much on either side, are cut into: a
	// power of two, so that they can be halved often.
	coreParts = 128
	// mostOutward is how often the distance from the range is doubled until the function rises.
	mostOutward = 64
	// shortfallBits: a value below 0 is found to 2^-shortfallBits of it, at least.
	shortfallBits = 8
	// mostParts bounds the parts of a search.
	mostParts = 1 << 15
)

// least returns a lower bound on the least value and 0, and false if none is known, or none of use.
func (s *lineSearch) least() (*big.Int, bool) {
	least := new(big.Int)
	if points := s.lattice; points != nil {
		for _, y := range points {
			if low, _ := s.over(y, y); low.Cmp(least) < 0 {
				least = low
			}
		}
		return least, true
	}
	points, tails, ok := s.points()
	if !ok {
		return nil, false
	}
	if tails != nil && tails.Cmp(least) < 0 {
		least = tails
	}
	type part struct{ u, v, low *big.Int }
	seen := new(big.Int) // the least value in a middle
	look := func(u, v *big.Int) part {
		low, middle := s.over(u, v)
		if middle.Cmp(seen) < 0 {
			seen = middle
		}
		return part{u, v, low}
	}
	var open []part
	for i := range len(points) - 1 {
		if !s.meter.Spend(1) {
			return nil, false
		}
		open = append(open, look(points[i], points[i+1]))
	}
	for count := len(open); len(open) > 0; {
		if s.useful != nil && seen.CmpAbs(s.useful) >= 0 {
			return nil, false
		}
		enough := new(big.Int).Rsh(new(big.Int).Abs(seen), shortfallBits)
		if enough.Cmp(s.tolerance) < 0 {
			enough.Set(s.tolerance)
		}
		enough.Sub(seen, enough)
		var next []part
		for _, p := range open {
			sum := new(big.Int).Add(p.u, p.v)
			switch {
			case p.low.Cmp(enough) < 0 && sum.Bit(0) == 0 && count < mostParts && s.meter.Spend(1):
				middle := sum.Rsh(sum, 1)
				next = append(next, look(p.u, middle), look(middle, p.v))
				count += 2
			case p.low.Cmp(least) < 0:
				least = p.low
			}
		}
		open = next
	}
	return least, true
}

// points returns the ends of the parts to start with, and a bound beyond them, nil if none is.
func (s *lineSearch) points() (points []*big.Int, tails *big.Int, ok bool) {
	d, v := s.spec.Demands, s.spec.Values
	onGrid := func(x float64) *big.Int { return floorAt(exact.Rational(x), s.grid) }
	low, high := onGrid(v.Lower), onGrid(v.Upper)
	width := new(big.Int).Sub(high, low)
	low, high = new(big.Int).Sub(low, width), new(big.Int).Add(high, width)
	if d.bounded() {
		low, high = onGrid(d.Lower), onGrid(d.Upper)
	}
	points = append(points, low, high)
	for i := int64(1); i < coreParts; i++ {
		step := new(big.Int).Sub(high, low)
		step.Mul(step, big.NewInt(i)).Div(step, big.NewInt(coreParts))
		points = append(points, step.Add(step, low))
	}
	for _, b := range s.breaks {
		if !d.bounded() || b.Cmp(low) > 0 && b.Cmp(high) < 0 {
			points = append(points, b)
		}
	}
	slices.SortFunc(points, (*big.Int).Cmp)
	points = slices.CompactFunc(points, func(a, b *big.Int) bool { return a.Cmp(b) == 0 })
	if d.bounded() {
		if len(points) == 1 { // one answer
			points = append(points, points[0])
		}
		return points, nil, true
	}
	for _, side := range []int64{-1, 1} {
		end := points[0]
		if side > 0 {
			end = points[len(points)-1]
		}
		step := new(big.Int).Mul(width, big.NewInt(side))
		for n := 0; ; n++ {
			if beyond, found := s.outside(end, side); found {
				if tails == nil || beyond.Cmp(tails) < 0 {
					tails = beyond
				}
				break
			}
			if n == mostOutward || !s.meter.Spend(1) {
				return nil, nil, false
			}
			end = new(big.Int).Add(end, step)
			step.Lsh(step, 1)
			points = append(points, end)
		}
		slices.SortFunc(points, (*big.Int).Cmp)
	}
	return points, tails, true
}
