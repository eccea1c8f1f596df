// SPDX-License-Identifier: Apache-2.0

package cells

import (
	"math/big"

	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// Certificate is what exact arithmetic finds: rigorous bounds in the direction of their names.
type Certificate struct {
	// DeltaUpper bounds the delta between any two query values within the sensitivity from above.
	DeltaUpper *big.Rat
	// Worst is where it is attained.
	Worst Pair
	// ExpectedLoss is the expected loss of the noise, averaged over the cells.
	ExpectedLoss *big.Rat
	// Losses is the expected loss of each cell, and MaxLoss the largest.
	Losses  []*big.Rat
	MaxLoss *big.Rat
	// CapLoss is the largest expected loss of a cell by the loss that is capped; nil without a cap.
	CapLoss *big.Rat
	// LowerBound bounds from below the expected loss, averaged over the cells, of all private noise
	// that depends on the value through its cell; with an InstanceCap, of that which keeps it.
	LowerBound *big.Rat
}

// Pair are two cells, gaining and losing, and the difference of a value in the first from
// one in the second; in a certificate in steps of the grid.
type Pair struct {
	Gain, Lose int
	Shift      int64
}

// Bounds implements proof.Certificate.
func (c Certificate) Bounds() proof.Bounds {
	return proof.Bounds{Delta: c.DeltaUpper, Loss: c.ExpectedLoss, LowerBound: c.LowerBound, Worst: c.MaxLoss}
}

// Claims returns the strongest claims the certificate supports, as plain decimals of 15
// significant digits rounded so that they are true.
func (c Certificate) Claims() formfile.InputClaims {
	return formfile.State[formfile.InputClaims](c.stated()...)
}

// stated returns what Claims are about.
func (c Certificate) stated() []*big.Rat {
	return []*big.Rat{c.DeltaUpper, c.ExpectedLoss, c.MaxLoss, c.LowerBound}
}

// Certify recomputes everything that can be claimed, in exact arithmetic, once. Only the limits
// of a Spec bound the time; proof.Verify has a limit of its own.
func (k *Kernel) Certify() Certificate { return k.proof.Certificate() }

// certify computes the certificate. It does not count if the meter said stop.
func (c *content) certify(m *proof.Meter) Certificate {
	s := &c.spec
	var out Certificate
	out.DeltaUpper, out.Worst = c.worst(m)
	out.Losses = s.losses(s.Loss, m)
	out.MaxLoss, out.ExpectedLoss = largest(out.Losses), s.average(out.Losses)
	switch {
	case s.InstanceCap > 0 && s.CapLoss != nil:
		out.CapLoss = largest(s.losses(s.CapLoss, m))
	case s.InstanceCap > 0:
		out.CapLoss = out.MaxLoss
	}
	out.LowerBound = s.lowerBound(m)
	return out
}

// worst returns the largest divergence between the answers to two values within the
// sensitivity, and where it is (docs/proofs/additive-kernels.md).
//
// In units of 1/S, S the points of a bin, a shift by kS + r points has the divergence
// (S−r)·D_k + r·D_{k+1}: it is linear between whole bins, and its largest value over the
// shifts that two cells can have is at the first or the last of them or at a whole bin.
func (c *content) worst(m *proof.Meter) (delta *big.Rat, at Pair) {
	s := &c.spec
	ratio := exact.RatioDown(s.Privacy.Epsilon)
	reach, size := s.reach().Int64(), s.Grid.PointsPerBin
	top, part := new(big.Int), new(big.Int)
	for gain := range c.cells {
		if !m.Spend(int64(len(c.cells))) {
			return nil, at
		}
		for lose := range c.cells {
			span, ok := shifts(c.cells[gain], c.cells[lose], reach)
			if !ok {
				continue
			}
			first := exact.FloorDiv(span.first, size)
			last := exact.FloorDiv(span.last, size) + 1
			if !m.Spend((last-first+1)*int64(len(s.Rows[gain])) + 64) {
				return nil, at
			}
			d := make([]*big.Int, last-first+1)
			for i := range d {
				d[i] = ratio.ShiftedDivergence(s.Rows[gain], s.Rows[lose], -int(first)-i)
			}
			try := func(shift int64) {
				k := exact.FloorDiv(shift, size)
				r := shift - k*size
				h := new(big.Int).Mul(d[k-first], part.SetInt64(size-r))
				h.Add(h, part.Mul(d[k-first+1], big.NewInt(r)))
				if h.Cmp(top) > 0 {
					top, at = h, Pair{gain, lose, shift}
				}
			}
			try(span.first)
			try(span.last)
			for k := first + 1; k*size < span.last; k++ {
				try(k * size)
			}
		}
	}
	delta = exact.Probability(top)
	return delta.Quo(delta, new(big.Rat).SetInt64(size)), at
}

// losses returns the expectation of a loss in each cell. It does not count if the meter says stop.
func (s *Spec) losses(l loss.Loss, m *proof.Meter) []*big.Rat {
	step := s.Grid.Step()
	bins := len(s.Rows[0])
	work := loss.Of(l).Work(exact.Bits(step) + 64)
	out := make([]*big.Rat, len(s.Rows))
	for k := range out {
		out[k] = new(big.Rat)
	}
	if !m.Spend(work.Pass) {
		return out
	}
	unit, term := exact.PowerOfTwo(-64), new(big.Rat)
	for j := range bins {
		if !m.Spend(work.Bound) {
			return out
		}
		c := l.GridMeanUp(s.Grid.FirstPoint(j), s.Grid.PointsPerBin, step)
		c.Mul(c, unit)
		for k, row := range s.Rows {
			if !m.Spend(exact.RationalWork(exact.Bits(out[k]) + exact.Bits(c))) {
				return out
			}
			if row[j] > 0 {
				term.SetInt(new(big.Int).SetUint64(row[j]))
				out[k].Add(out[k], term.Mul(term, c))
			}
		}
	}
	return out
}

func largest(x []*big.Rat) *big.Rat {
	most := x[0]
	for _, r := range x {
		if r.Cmp(most) > 0 {
			most = r
		}
	}
	return new(big.Rat).Set(most)
}

func (s *Spec) average(x []*big.Rat) *big.Rat {
	sum := new(big.Rat)
	for k, w := range exact.Shares(s.Weight) {
		sum.Add(sum, w.Mul(w, x[k]))
	}
	return sum
}
