// SPDX-License-Identifier: Apache-2.0

package shapes

import (
	"fmt"
	"math"
	"math/big"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/tables"
)

// Gaussian returns normal noise of standard deviation sigma, in query units, rounded to the middle
// of its cell and cut off at nine sigma. [GaussianDistance] bounds how far it is from that law,
// which is no further than the rounding of weights. sigma is to be at least eight cells;
// noise.GaussianSigma has the least for an epsilon and a delta.
//
// Guarantee: the promise is p.Epsilon and the least delta that the noise keeps there;
// p.Delta is not used.
func Gaussian(p dp.Problem, sigma float64, g tables.Grid) (*tables.Verified, error) {
	if !(sigma > 0) || math.IsInf(sigma, 1) {
		return nil, check.Field("shapes", "sigma", sigma, "a finite number > 0 (query units)")
	}
	cells := usualCells
	for cells < limits.TableCells && p.Sensitivity/float64(cells)*leastCells > sigma {
		cells *= 2
	}
	g, _, err := layout(p, g, 9*sigma, cells)
	if err != nil {
		return nil, err
	}
	cell := cellOf(g)
	length := exact.FloatUp(cell)
	if !(sigma >= leastCells*length) {
		return nil, check.Field("shapes", "sigma", sigma, fmt.Sprintf("at least %d cells of %g", leastCells, length))
	}
	half := cellsTo(9*sigma, length)
	if err := checkHalf(half); err != nil {
		return nil, err
	}
	side := make([]uint64, half)
	rest := new(big.Int).Lsh(one, 64)                      // what the middle takes
	halfUnit := new(big.Int).Lsh(one, exact.NormalBits-64) // of twice the middle
	w := new(big.Int)
	eachMass(cell.Quo(cell, exact.Rational(sigma)), half, func(j int, low, high *big.Int) {
		if j == 0 {
			return
		}
		// The integer nearest to the middle of the bounds.
		w.Add(low, high).Add(w, halfUnit).Rsh(w, exact.NormalBits-64+1)
		side[j-1] = w.Uint64()
		rest.Sub(rest, w).Sub(rest, w)
	})
	g.FirstCell = -half
	return prove(tables.Spec{Problem: p, Grid: g, Weights: mirrored(rest.Uint64(), side)}, func(c tables.Certificate) float64 {
		stated, err := exact.ParseDecimal(c.Claims().Delta)
		if err != nil {
			panic(err) // a claim is a decimal
		}
		return exact.FloatUp(stated)
	})
}

// GaussianDistance bounds from above the total variation distance of a table without
// offset and tail from normal noise of standard deviation sigma, in query units,
// rounded to the table's cells. sigma is to be at least eight cells.
func GaussianDistance(t *tables.Table, sigma float64) *big.Rat {
	g := t.Grid()
	weight := func(j int) *big.Int { // times 2^(NormalBits-64)
		w := new(big.Int)
		if i := j - g.FirstCell; i >= 0 && i < t.Cells() {
			w.SetUint64(t.Weight(i))
		}
		if j == 0 {
			w.Add(w, new(big.Int).SetUint64(t.Atom()))
		}
		return w.Lsh(w, exact.NormalBits-64)
	}
	sum, d := new(big.Int), new(big.Int)
	add := func(j int, low, high *big.Int) { // the larger of w-low and high-w
		w := weight(j)
		if d.Sub(high, w); d.Cmp(w.Sub(w, low)) < 0 {
			d.Set(w)
		}
		sum.Add(sum, d)
	}
	half := max(-g.FirstCell, g.FirstCell+t.Cells()-1)
	cell := cellOf(g)
	last := eachMass(cell.Quo(cell, exact.Rational(sigma)), half, func(j int, low, high *big.Int) {
		add(j, low, high)
		if j > 0 {
			add(-j, low, high)
		}
	})
	sum.Add(sum, last).Add(sum, last)
	return new(big.Rat).SetFrac(sum, new(big.Int).Lsh(one, exact.NormalBits+1))
}
