// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"math/big"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/proof"
)

// Dual proves a lower bound on the expected loss of every way, of any shape and with any outputs,
// to answer queries of a range that is (epsilon, delta)-differentially private. It holds
// multipliers of weak duality on a partition of the range into equal cells. All others are 0. Units
// are those of the loss, times 2^Exponent.
//
// Any non-negative multipliers give a true bound; good ones give a good bound.
type Dual struct {
	Cells    int `json:"cells"`
	Exponent int `json:"exponent"`
	// Mirrored: each multiplier of cells (gain, lose) and output j stands at their mirror images.
	Mirrored bool `json:"mirrored"`
	// Caps, if not empty, has one multiplier per cell for the instance cap.
	Caps  []int64    `json:"caps,string"`
	Pairs []dualPair `json:"pairs"`
}

// dualPair holds the multipliers of one ordered pair of cells, no further
// apart than the sensitivity, for the outputs from First on.
type dualPair struct {
	Gain        int     `json:"gain"`
	Lose        int     `json:"lose"`
	First       int     `json:"first"`
	Multipliers []int64 `json:"multipliers,string"`
}

// Add adds the multipliers of an ordered pair of cells, no further apart than the sensitivity, for the outputs from first on.
func (d *Dual) Add(gain, lose, first int, multipliers []int64) {
	d.Pairs = append(d.Pairs, dualPair{gain, lose, first, multipliers})
}

func (d *Dual) validate(p dp.Privacy, q Queries) error {
	if d == nil {
		return nil
	}
	r := formfile.InDual("kernels")
	n := d.Cells
	r.Want(n >= 1 && n <= limits.KernelCells, "cells", n, "1 to %d", limits.KernelCells)
	r.Exponent(d.Exponent)
	if !r.Caps(d.Caps, n) {
		return r.Err()
	}
	reach := q.Reach(n, p.Sensitivity)
	seen := make(map[[2]int]bool)
	for _, m := range d.Pairs {
		name, apart := formfile.Pair{Noun: "cells", Gain: m.Gain, Lose: m.Lose}, max(m.Gain-m.Lose, m.Lose-m.Gain)
		r.Want(min(m.Gain, m.Lose) >= 0 && max(m.Gain, m.Lose) < n && apart > 0 && apart <= reach, "pairs", name, "two of %d cells, at most %d apart", n, reach)
		r.Want(!seen[[2]int{m.Gain, m.Lose}] && !(d.Mirrored && seen[[2]int{n - 1 - m.Gain, n - 1 - m.Lose}]), "pairs", name, "each pair once")
		r.Count(len(m.Multipliers))
		r.Want(m.First >= 0 && m.First+len(m.Multipliers) <= n, "first", m.First, "outputs within 0 to %d", n-1)
		if !r.Prices("pair", m.Multipliers...) {
			return r.Err()
		}
		seen[[2]int{m.Gain, m.Lose}] = true
	}
	r.CapPrices("pairs", d.Caps)
	return r.Err()
}

// Reach returns how far apart, in cells, two queries of the lower bound may be that
// are the same fraction of a cell from its edge: ⌊sensitivity·cells/range⌋.
func (q Queries) Reach(cells int, sensitivity float64) int {
	r := exact.Rational(sensitivity)
	r.Quo(r, q.cellWidth(cells))
	whole := exact.Floor(r)
	if !whole.IsInt64() || whole.Int64() > int64(cells) {
		return cells
	}
	return int(whole.Int64())
}

// LowerBound returns the bound that the Dual proves on the expected loss, over the law of
// the Queries, of every private mechanism (docs/proofs/kernel-lower-bound.md):
//
//	Σ_k min_j [ w_k·l_{k,j} + κ_k·l′_{k,j} + Σ_m ( y_{k,m,j} − e^ε·y_{m,k,j} ) ] − δ·Σ η_{k,m} − cap·Σ κ_k
//
// with w and l from Queries.CellCosts, l′ of the cap's loss, y the multipliers of the pairs, η the
// largest of each and κ those of the cap, which count only if there is an InstanceCap: then
// the bound is about the mechanisms of which no query value has an expected loss above it.
// It is never below 0. A nil Dual proves 0. The laws of the Spec do not matter.
func (s *Spec) LowerBound() *big.Rat { return s.lowerBound(nil) }

// lowerBound is LowerBound unless the meter says stop; then it is 0 and does not count.
func (s *Spec) lowerBound(meter *proof.Meter) *big.Rat {
	d, q := s.Dual, s.Queries
	zero := new(big.Rat)
	if d == nil {
		return zero
	}
	w, l, ok := q.cellCosts(d.Cells, s.Loss, meter)
	if !ok {
		return zero
	}
	capped := l // what the cap charges
	if s.InstanceCap > 0 && s.CapLoss != nil {
		if _, capped, ok = q.cellCosts(d.Cells, s.CapLoss, meter); !ok {
			return zero
		}
	}
	n := d.Cells
	own, from := make([]int64, n*n), make([]int64, n*n)
	price := new(big.Int)
	for _, m := range d.Pairs {
		for i, y := range m.Multipliers {
			j := m.First + i
			own[m.Gain*n+j] += y
			from[m.Lose*n+j] += y
			if d.Mirrored {
				own[(n-1-m.Gain)*n+n-1-j] += y
				from[(n-1-m.Lose)*n+n-1-j] += y
			}
		}
		price.Add(price, big.NewInt(formfile.Largest(m.Multipliers)))
	}
	if d.Mirrored {
		price.Lsh(price, 1)
	}
	unit := exact.PowerOfTwo(d.Exponent)
	up := exact.ExpUp(s.Privacy.Epsilon, exact.RatioBits)
	// Everything is an integer in units of
	// 2^(x−96), x the exponent; the costs are rounded down to it.
	fine := exact.PowerOfTwo(exact.RatioBits - d.Exponent)
	total := new(big.Int)
	caps := new(big.Rat)
	for k := range n {
		weight, kappa := new(big.Rat).Mul(w[k], fine), new(big.Rat)
		if s.InstanceCap > 0 && len(d.Caps) > 0 {
			kappa.SetInt64(d.Caps[k])
			kappa.Mul(kappa, unit)
			caps.Add(caps, kappa)
			kappa.Mul(kappa, fine)
		}
		var least *big.Int
		for j := range n {
			if !meter.Spend(exact.RationalWork(exact.Bits(weight) + exact.Bits(l[k][j]))) {
				return zero
			}
			cost := new(big.Rat).Mul(weight, l[k][j])
			if kappa.Sign() > 0 {
				if !meter.Spend(2 * exact.RationalWork(exact.Bits(cost)+exact.Bits(capped[k][j]))) {
					return zero
				}
				cost.Add(cost, new(big.Rat).Mul(kappa, capped[k][j]))
			}
			c := exact.Floor(cost)
			part := big.NewInt(own[k*n+j])
			c.Add(c, part.Lsh(part, exact.RatioBits))
			part.SetInt64(from[k*n+j])
			c.Sub(c, part.Mul(part, up))
			if least == nil || c.Cmp(least) < 0 {
				least = c
			}
		}
		total.Add(total, least)
	}
	bound := new(big.Rat).SetInt(total)
	bound.Quo(bound, fine)
	cost := new(big.Rat).SetInt(price)
	cost.Mul(cost, unit).Mul(cost, exact.Rational(s.Privacy.Delta))
	bound.Sub(bound, cost)
	if s.InstanceCap > 0 {
		bound.Sub(bound, caps.Mul(caps, exact.Rational(s.InstanceCap)))
	}
	if bound.Sign() < 0 {
		return zero
	}
	return bound
}
