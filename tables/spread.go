// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"math/big"

	"github.com/noisewright/noisewright/internal/exact"
)

// nearest returns the multiple of g that x is rounded to, halves upwards.
func nearest(x, g *big.Rat) *big.Rat {
	n := new(big.Rat).Quo(x, g)
	n.SetInt(exact.Floor(n.Add(n, big.NewRat(1, 2))))
	return n.Mul(n, g)
}

// SpreadNode returns node j of a Dual with Spread, on nodes a step apart, of points g apart: that of a real query,
// lowered by κ_j of docs/proofs/lower-bound.md, so that the mean of what is linear between nodes, over a distance of g
// around the point that is nearest, is not above the value there.
func SpreadNode(j int64, step, g *big.Rat, node func(j int64) *big.Rat, value func(x *big.Rat) *big.Rat) *big.Rat {
	v, below, above := node(j), node(j-1), node(j+1)
	at := new(big.Rat).SetInt64(j)
	at.Mul(at, step)
	point := nearest(at, g) // if two are as near, g/2 away, neither counts
	next, away := above, new(big.Rat).Sub(point, at)
	if away.Sign() < 0 {
		next = below
		away.Neg(away)
	}
	rest := new(big.Rat).Mul(g, big.NewRat(1, 2))
	if rest.Sub(rest, away); rest.Sign() <= 0 {
		return v
	}
	excess := new(big.Rat).Add(below, above) // of the mean over the value, where what is linear bends
	if excess.Sub(excess, v).Sub(excess, v); excess.Sign() < 0 {
		excess.SetInt64(0)
	}
	excess.Mul(excess, rest).Mul(excess, rest).Quo(excess, g).Quo(excess, step).Mul(excess, big.NewRat(1, 2))
	chord := new(big.Rat).Sub(next, v)
	chord.Mul(chord, away).Quo(chord, step).Add(chord, v)
	if excess.Add(excess, chord).Sub(excess, value(point)); excess.Sign() <= 0 {
		return v
	}
	return v.Sub(v, excess.Mul(excess, step).Quo(excess, new(big.Rat).Sub(step, g)))
}
