// SPDX-License-Identifier: Apache-2.0

package local

import (
	"math/big"

	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/proof"
)

// Certificate is what exact arithmetic finds in a randomizer. Every number is a rigorous
// bound in the direction its name says.
type Certificate struct {
	// DeltaUpper bounds the delta of the randomizer between any two values from above. It is 0
	// exactly if no answer of any node is more than e^epsilon times as likely as of another.
	DeltaUpper *big.Rat
	// WorstPair are the nodes, gaining and losing, between which it is attained.
	WorstPair [2]int
	// MeanLoss bounds the expected loss, averaged over the weight of the values, from above.
	MeanLoss *big.Rat
	// WorstLoss bounds the expected loss of every value from above, and WorstAt is about
	// where it is largest; for categories the index of the label.
	WorstLoss *big.Rat
	WorstAt   float64
	// Bias is the largest |mean answer − value|, exactly; for categories 0.
	Bias *big.Rat
	// LowerBound bounds from below the objective of every mechanism that keeps promise and demands.
	LowerBound *big.Rat

	objective Objective
}

// Loss is what the randomizer is to make small: MeanLoss or WorstLoss, by its objective.
func (c Certificate) Loss() *big.Rat {
	if c.objective == Worst {
		return new(big.Rat).Set(c.WorstLoss)
	}
	return new(big.Rat).Set(c.MeanLoss)
}

// Bounds implements proof.Certificate.
func (c Certificate) Bounds() proof.Bounds {
	return proof.Bounds{Delta: c.DeltaUpper, Loss: c.Loss(), LowerBound: c.LowerBound, Worst: c.WorstLoss}
}

// Claims returns the strongest claims the certificate supports, as plain decimals of 15
// significant digits rounded so that they are true.
func (c Certificate) Claims() Claims { return formfile.State[Claims](c.stated()...) }

// stated returns what Claims are about.
func (c Certificate) stated() []*big.Rat {
	return []*big.Rat{c.DeltaUpper, c.MeanLoss, c.WorstLoss, c.Bias, c.LowerBound}
}

// Certify recomputes everything that can be claimed, in exact arithmetic, once. It takes about
// 10 µs for each weight, and as long again for the lower bound.
// Only the limits of a Spec bound that; proof.Verify has a limit of its own.
func (r *Randomizer) Certify() Certificate { return r.proof.Certificate() }

// certify computes the certificate. It does not count if the meter said stop.
func (s *Spec) certify(m *proof.Meter) Certificate {
	c := Certificate{objective: s.Objective}
	c.DeltaUpper, c.WorstPair = s.worst(m)
	c.Bias = s.bias(m)
	c.MeanLoss, c.WorstLoss, c.WorstAt = s.losses(m)
	c.LowerBound = s.lowerBound(m)
	return c
}

// worst returns the largest divergence between the laws of two nodes, and the nodes.
func (s *Spec) worst(m *proof.Meter) (delta *big.Rat, nodes [2]int) {
	r := exact.RatioDown(s.Epsilon)
	n, answers := int64(len(s.Rows)), int64(s.answers())
	if !m.Spend(2*n*answers) || s.pure(r) {
		return new(big.Rat), nodes
	}
	top := new(big.Int)
	for i, gain := range s.Rows {
		if !m.Spend(2 * n * answers) {
			break
		}
		for k, lose := range s.Rows {
			if i == k {
				continue
			}
			if h := r.Divergence(gain, lose); h.Cmp(top) > 0 {
				top, nodes = h, [2]int{i, k}
			}
		}
	}
	return exact.Probability(top), nodes
}

// pure reports whether no divergence is above 0: that holds if no weight of an answer is
// more than e^epsilon times another one.
func (s *Spec) pure(r *exact.Ratio) bool {
	for j := range s.Rows[0] {
		low, high := s.Rows[0][j], s.Rows[0][j]
		for _, row := range s.Rows {
			low, high = min(low, row[j]), max(high, row[j])
		}
		if r.Exceeds(high, low) {
			return false
		}
	}
	return true
}

// bias returns the largest |Σ_j W_ij·y_j/2^64 − x_i| over the nodes, exactly.
func (s *Spec) bias(m *proof.Meter) *big.Rat {
	most := new(big.Rat)
	if s.Values.Kind == Category {
		return most
	}
	bits := gridBits(s.Answers, s.Nodes)
	if !m.Spend(int64(len(s.Rows)*len(s.Answers)) * (20 + int64(bits)/16)) {
		return most
	}
	answers := onGrid(s.Answers, bits)
	sum, term := new(big.Int), new(big.Int)
	top := new(big.Int)
	for i, x := range onGrid(s.Nodes, bits) {
		sum.Lsh(x, 64)
		sum.Neg(sum)
		for j, w := range s.Rows[i] {
			sum.Add(sum, term.Mul(term.SetUint64(w), answers[j]))
		}
		if sum.CmpAbs(top) > 0 {
			top.Abs(sum)
		}
	}
	most.SetInt(top)
	return most.Mul(most, exact.PowerOfTwo(-64-bits))
}
