// SPDX-License-Identifier: Apache-2.0

package shapes

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/tables"
)

// Laplace returns Laplace noise of scale sensitivity/epsilon: each cell is e^(epsilon/K) times as
// probable as the next one out, K the cells per sensitivity, for ever. So it is the two-sided
// geometric law of Ghosh, Roughgarden & Sundararajan 2012 on the cells, which stands for that of
// Dwork, McSherry, Nissim & Smith 2006 if they are short.
//
// Guarantee: the promise is (p.Epsilon, 0); p.Delta is not used. epsilon/K is to be
// from 2^-20 to 40.
func Laplace(p dp.Problem, g tables.Grid) (*tables.Verified, error) {
	if !(p.Epsilon > 0 && p.Epsilon <= check.MaxEpsilon) {
		return nil, check.Field("shapes", "epsilon", p.Epsilon, fmt.Sprintf("a number above 0 and at most %d", check.MaxEpsilon))
	}
	g, _, err := layout(p, g, 20*p.Sensitivity/p.Epsilon, usualCells*int(math.Ceil(p.Epsilon)))
	if err != nil {
		return nil, err
	}
	whole := exact.Rational(p.Epsilon)
	perCell := exact.FloatDown(whole.Quo(whole, new(big.Rat).SetInt64(int64(g.CellsPerSensitivity))))
	if !(perCell >= 0x1p-20 && perCell <= 40) {
		return nil, check.Field("shapes", "epsilon per cell", perCell, "a number from 2^-20 to 40")
	}
	core := int(min(20/perCell, 1<<15))
	if err := checkHalf(core + g.CellsPerSensitivity); err != nil {
		return nil, err
	}
	ratio := exact.ExpUp(-p.Epsilon, 64).Uint64()
	middle, side := laplaceWeights(perCell, core, g.CellsPerSensitivity, ratio)
	if middle == 0 {
		return nil, check.Field("shapes", "epsilon per cell", perCell, "more than integer weights can tell apart")
	}
	g.FirstCell, p.Delta = -len(side), 0
	return prove(tables.Spec{Problem: p, Grid: g, Weights: mirrored(middle, side), TailRatio: ratio}, nil)
}

// laplaceWeights returns the weight of the middle cell, 0 if there is none, and those of the cells
// on either side of it: core cells, and k blocks of a tail whose periods have the given ratio.
// Neighboring cells differ by a factor of at most e^epsilon.
//
// The levels are built from the tail inwards, each the largest integer that the one
// before allows; the middle takes what is left of 2^64. The tail's weight is the
// least for which that is not too much.
func laplaceWeights(epsilon float64, core, k int, ratio uint64) (middle uint64, side []uint64) {
	// whole + part/2^64 <= e^epsilon. The product of k of them is to be at most
	// the bound of the certificate.
	e := exact.ExpDown(epsilon, 64)
	if k > 1 {
		e.Sub(e, big.NewInt(1))
	}
	part := new(big.Int).And(e, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
	whole := e.Rsh(e, 64).Uint64()
	share := func(w, of uint64) uint64 {
		hi, _ := bits.Mul64(w, of)
		return hi
	}
	side = make([]uint64, core+k)
	// left fills side for a weight of its last cell and returns 2^64 less all of it, and the most
	// that the middle may weigh; ok is false if one side alone exceeds 2^63.
	left := func(tail uint64) (rest, most uint64, ok bool) {
		var sum uint64
		w := tail
		for i := len(side) - 1; i >= 0; i-- {
			side[i] = w
			if sum += w; w >= 1<<63 || sum >= 1<<63 {
				return 0, 0, false
			}
			if i == core {
				w = share(w, -ratio) // the block's own place
			}
			over, product := bits.Mul64(w, whole)
			inner, carry := bits.Add64(product, share(w, part), 0)
			if w = inner; over+carry > 0 {
				w = math.MaxUint64
			}
		}
		return -(2 * sum), w, true
	}
	low, high := uint64(1), uint64(1)<<63-1 // low is too little, high is enough
	for high-low > 1 {
		tail := low + (high-low)/2
		if rest, most, ok := left(tail); ok && rest > most {
			low = tail
		} else {
			high = tail
		}
	}
	rest, _, ok := left(high)
	if !ok {
		return 0, nil
	}
	return rest, side
}

// TruncatedLaplace returns Laplace noise of scale sensitivity/epsilon, cut off where
// the cells that a shift by the sensitivity uncovers weigh delta (Geng, Ding, Guo &
// Kumar, "Tight analysis of privacy and utility tradeoff in approximate differential
// privacy", AISTATS 2020); uniform noise for epsilon = 0.
//
// Guarantee: the promise is that of p, whose delta is to be above 0; the least that
// integer weights allow is about 1e-13.
func TruncatedLaplace(p dp.Problem, g tables.Grid) (*tables.Verified, error) {
	if p.Delta == 0 {
		return nil, check.Field("shapes", "delta", p.Delta, "a number above 0 for noise with bounded support")
	}
	// A hair inside the promise, for the rounding of the weights.
	const inside = 1 - 1e-6
	epsilon, delta := p.Epsilon*inside, p.Delta*inside
	// With q = e^(-epsilon/K) the K cells at an end weigh q^(h+1)·(e^epsilon-1) of
	// (1+q-2q^(h+1)), h cells on either side of the middle one.
	half := func(k float64) float64 {
		if epsilon == 0 {
			return math.Ceil((k/delta - 1) / 2)
		}
		grown := math.Expm1(epsilon)
		ends := math.Log((grown + 2*delta) / (delta * (1 + math.Exp(-epsilon/k))))
		return math.Max(k, math.Ceil(ends*k/epsilon-1))
	}
	g, _, err := layout(p, g, half(usualCells)*p.Sensitivity/usualCells, usualCells)
	if err != nil {
		return nil, err
	}
	k := float64(g.CellsPerSensitivity)
	h := half(k)
	if !(h <= limits.TableCells) {
		return nil, check.Field("shapes", "cells", fmt.Sprintf("%g", 2*h+1), fmt.Sprintf("at most %d: longer cells, or less noise", limits.TableCells))
	}
	return symmetric(tables.Spec{Problem: p, Grid: g}, int(h), func(j int) float64 { return math.Exp(-epsilon * float64(j) / k) }, nil)
}
