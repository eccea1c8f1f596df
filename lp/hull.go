// SPDX-License-Identifier: Apache-2.0

package lp

import (
	"cmp"
	"math"
	"math/big"
	"slices"

	"github.com/noisewright/noisewright/internal/exact"
)

// halfPlane says that weights[0]·E₀ + weights[1]·E₁ >= bound for the expectations E of the
// two losses under every noise that a design may choose.
type halfPlane struct {
	weights [2]*big.Rat
	bound   *big.Rat
}

// boundsOf returns what designs prove.
func boundsOf(designs []*FrontPoint) (bounds []halfPlane) {
	for _, p := range designs {
		w := [2]*big.Rat{exact.Rational(p.Weights[0]), exact.Rational(p.Weights[1])}
		bounds = append(bounds, halfPlane{w, p.Design.Verified.Certificate().LowerBound})
	}
	return bounds
}

// hull returns the corners of the lower left boundary of all mixtures of the points, by
// ascending expectation of the first loss (Andrew 1979).
func hull(points []*FrontPoint) (corners []*FrontPoint) {
	points = slices.Clone(points)
	slices.SortStableFunc(points, func(p, q *FrontPoint) int {
		return cmp.Or(p.Expected[0].Cmp(q.Expected[0]), p.Expected[1].Cmp(q.Expected[1]))
	})
	for _, p := range points {
		n := len(corners)
		if n > 0 && p.Expected[1].Cmp(corners[n-1].Expected[1]) >= 0 {
			continue // no better in either loss
		}
		// A corner that is not below the line from the one before it to p is none.
		for ; n > 1; n-- {
			w := normal(corners[n-2], p)
			if weighted(w, corners[n-1].Expected).Cmp(weighted(w, p.Expected)) < 0 {
				break
			}
		}
		corners = append(corners[:n], p)
	}
	return corners
}

// normal returns the weights, above 0, with which two points of a hull, left first, have one sum.
func normal(a, b *FrontPoint) [2]*big.Rat {
	return [2]*big.Rat{new(big.Rat).Sub(a.Expected[1], b.Expected[1]), new(big.Rat).Sub(b.Expected[0], a.Expected[0])}
}

func weighted(w, e [2]*big.Rat) *big.Rat {
	sum := new(big.Rat).Mul(w[0], e[0])
	return sum.Add(sum, new(big.Rat).Mul(w[1], e[1]))
}

// frontGap returns the largest relative gap, rounded up, between the least weighted sum of a corner
// and what the bounds prove about it; see outline.gap. For weights that sum to 1, the least sum F
// is linear between the normals of neighboring parts of the front, and the bound L is concave. So F
// − (1+g)·L is convex there and largest at a normal, or where all weight is on one loss.
func frontGap(corners []*FrontPoint, bounds []halfPlane) float64 {
	o, last := newOutline(bounds), len(corners)-1
	one, none := big.NewRat(1, 1), new(big.Rat)
	gap := max(o.gap([2]*big.Rat{one, none}, corners[0]), o.gap([2]*big.Rat{none, one}, corners[last]))
	for i := range last {
		gap = max(gap, o.gap(normal(corners[i], corners[i+1]), corners[i]))
	}
	return gap
}

// outline is the lower left boundary of what bounds and E >= 0 leave: its corners.
type outline [][2]*big.Rat

func newOutline(bounds []halfPlane) (o outline) {
	one, none := big.NewRat(1, 1), new(big.Rat)
	all := append([]halfPlane{{[2]*big.Rat{one, none}, none}, {[2]*big.Rat{none, one}, none}}, bounds...)
	// From weight on the first loss alone to weight on the second alone.
	slices.SortStableFunc(all, func(l, m halfPlane) int { return det(m.weights, l.weights).Sign() })
	var kept []halfPlane
	for _, l := range all {
		n := len(kept)
		if n > 0 && det(kept[n-1].weights, l.weights).Sign() == 0 {
			if implies(kept[n-1], l) {
				continue
			}
			n--
		}
		// One that holds where its neighbors meet bounds nothing.
		for n > 1 && weighted(kept[n-1].weights, crossing(kept[n-2], l)).Cmp(kept[n-1].bound) >= 0 {
			n--
		}
		kept = append(kept[:n], l)
	}
	for i := 1; i < len(kept); i++ {
		o = append(o, crossing(kept[i-1], kept[i]))
	}
	return o
}

// gap is the relative gap between the weighted sum of a point and the bound on it, rounded up.
func (o outline) gap(w [2]*big.Rat, p *FrontPoint) float64 {
	bound, sum := weighted(w, o[0]), weighted(w, p.Expected)
	for _, corner := range o[1:] {
		if b := weighted(w, corner); b.Cmp(bound) < 0 {
			bound = b
		}
	}
	switch {
	case sum.Cmp(bound) <= 0:
		return 0
	case bound.Sign() == 0:
		return math.Inf(1)
	}
	return exact.FloatUp(sum.Quo(sum.Sub(sum, bound), bound))
}

func det(v, w [2]*big.Rat) *big.Rat {
	d := new(big.Rat).Mul(v[0], w[1])
	return d.Sub(d, new(big.Rat).Mul(v[1], w[0]))
}

// implies reports whether one of two parallel half planes is inside the other.
func implies(l, m halfPlane) bool {
	i := 0
	if m.weights[0].Sign() == 0 {
		i = 1
	}
	return new(big.Rat).Mul(l.bound, m.weights[i]).Cmp(new(big.Rat).Mul(m.bound, l.weights[i])) >= 0
}

// crossing returns where the borders of two half planes that are not parallel meet.
func crossing(l, m halfPlane) [2]*big.Rat {
	d := det(l.weights, m.weights)
	x := det([2]*big.Rat{l.bound, l.weights[1]}, [2]*big.Rat{m.bound, m.weights[1]})
	y := det([2]*big.Rat{l.weights[0], l.bound}, [2]*big.Rat{m.weights[0], m.bound})
	return [2]*big.Rat{x.Quo(x, d), y.Quo(y, d)}
}

// OuterBound returns what the Designs prove for the second loss where the expectation of the first
// is at most x: every noise that a design may choose has at least that expectation of it. +Inf says
// that no noise has so small a first one. The bound is computed exactly and rounded down.
func (r *FrontResult) OuterBound(x float64) float64 { return outerBound(boundsOf(r.Designs), x) }

func outerBound(bounds []halfPlane, x float64) float64 {
	at, best := new(big.Rat), new(big.Rat)
	if at.SetFloat64(min(x, math.MaxFloat64)) == nil { // −∞, or no number
		return math.Inf(1)
	}
	for _, b := range bounds {
		rest := new(big.Rat).Mul(b.weights[0], at)
		rest.Sub(b.bound, rest)
		switch w := b.weights[1]; {
		case w.Sign() > 0:
			if rest.Quo(rest, w).Cmp(best) > 0 {
				best.Set(rest)
			}
		case rest.Sign() > 0:
			return math.Inf(1)
		}
	}
	return exact.FloatDown(best)
}
