// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"math/big"

	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// Certificate is what exact arithmetic finds: rigorous bounds in the direction of their names.
type Certificate struct {
	// DeltaUpper bounds the delta of the kernel, between any two query values
	// of its range within the sensitivity, from above.
	DeltaUpper *big.Rat
	// Worst are the cells, gaining and losing, between which it is attained.
	Worst [2]int
	// ExpectedLoss is the expected loss, averaged over the law of the queries.
	ExpectedLoss *big.Rat
	// MaxLoss bounds the loss of every query value from above, and MaxLossAt is about where.
	MaxLoss   *big.Rat
	MaxLossAt float64
	// CapLoss bounds the expected loss that the instance cap is about of every query value
	// from above, and CapLossAt is about where: MaxLoss, if it is the same loss.
	CapLoss   *big.Rat
	CapLossAt float64
	// LowerBound bounds from below the expected loss, averaged over the law of the queries, of
	// every private mechanism for them; with an InstanceCap, of every one that keeps it.
	LowerBound *big.Rat
}

// Bounds implements proof.Certificate.
func (c Certificate) Bounds() proof.Bounds {
	return proof.Bounds{Delta: c.DeltaUpper, Loss: c.ExpectedLoss, LowerBound: c.LowerBound, Worst: c.MaxLoss}
}

// Claims returns the strongest claims the certificate supports, as plain
// decimals of 15 significant digits rounded so that they are true.
func (c Certificate) Claims() formfile.InputClaims {
	return formfile.State[formfile.InputClaims](c.stated()...)
}

// stated returns what Claims are about.
func (c Certificate) stated() []*big.Rat {
	return []*big.Rat{c.DeltaUpper, c.ExpectedLoss, c.MaxLoss, c.LowerBound}
}

// Certify recomputes everything that can be claimed, in exact arithmetic, once. It takes about
// for n cells n³ × 1 ns and n² × 0.1 ms, and 1 µs for each of the cells of the dual, squared.
// Only the limits of a Spec bound that; proof.Verify has a limit of its own.
func (k *Kernel) Certify() Certificate { return k.proof.Certificate() }

// certify computes the certificate. It does not count if the meter said stop.
func (s *Spec) certify(m *proof.Meter) Certificate {
	var c Certificate
	c.DeltaUpper, c.Worst = s.worst(m)
	c.ExpectedLoss = s.expectedLoss(m)
	c.MaxLoss, c.MaxLossAt = s.maxLoss(s.Loss, m)
	if c.CapLoss, c.CapLossAt = c.MaxLoss, c.MaxLossAt; s.CapLoss != nil {
		c.CapLoss, c.CapLossAt = s.maxLoss(s.CapLoss, m)
	}
	c.LowerBound = s.lowerBound(m)
	return c
}

// ProtectedPairs lists the pairs of cells k < m, between the edges, that hold query values
// within the sensitivity of each other. As a cell does not hold its upper edge these are the
// pairs with Edges[m] − Edges[k+1] < sensitivity (docs/proofs/kernel-privacy.md).
func (s *Spec) ProtectedPairs() [][2]int {
	at, limit := exact.Rationals(s.Edges), exact.Rational(s.Privacy.Sensitivity)
	var pairs [][2]int
	apart := new(big.Rat)
	for k := range at {
		for m := k + 1; m+1 < len(at) && apart.Sub(at[m], at[k+1]).Cmp(limit) < 0; m++ {
			pairs = append(pairs, [2]int{k, m})
		}
	}
	return pairs
}

// worst returns the largest divergence between the laws of two cells that hold
// values within the sensitivity, and the cells.
func (s *Spec) worst(m *proof.Meter) (delta *big.Rat, cells [2]int) {
	r := exact.RatioDown(s.Privacy.Epsilon)
	top := new(big.Int)
	n := int64(len(s.Nodes))
	if !m.Spend(n * n / 2 * exact.RationalWork(2*numberBits)) { // most of it to find the pairs
		return nil, cells
	}
	pairs := s.ProtectedPairs()
	if !m.Spend(2 * n * int64(len(pairs))) {
		return nil, cells
	}
	for i, p := range pairs {
		if i%256 == 0 && !m.Go() {
			return nil, cells
		}
		for _, o := range [][2]int{p, {p[1], p[0]}} {
			if h := r.Divergence(s.Rows[o[0]], s.Rows[o[1]]); h.Cmp(top) > 0 {
				top, cells = h, o
			}
		}
	}
	return exact.Probability(top), cells
}

// numberBits is the size of a float64 of common magnitude as a rational.
const numberBits = 128

// expectedLoss returns Σ_k Σ_j P_k(j)·C[k][j], see Queries.AnswerCosts.
func (s *Spec) expectedLoss(m *proof.Meter) *big.Rat {
	sum, term, weight := new(big.Rat), new(big.Rat), new(big.Int)
	for k, costs := range s.Queries.answerCosts(s.Edges, s.Nodes, s.Loss, m) {
		for j, c := range costs {
			// The sum has the denominators of all its terms.
			if !m.Spend(exact.RationalWork(exact.Bits(sum) + exact.Bits(c))) {
				return sum
			}
			if w := s.Rows[k][j]; w > 0 {
				term.SetInt(weight.SetUint64(w))
				sum.Add(sum, term.Mul(term, c))
			}
		}
	}
	return sum.Mul(sum, exact.PowerOfTwo(-64))
}

// maxLoss bounds the expected loss of every query value, on limits.KernelParts parts of each cell: on the
// part [a, b] node j costs at most the largest c on [node_j − b, node_j − a].
func (s *Spec) maxLoss(l loss.Loss, m *proof.Meter) (most *big.Rat, at float64) {
	nodes, edges := exact.Rationals(s.Nodes), exact.Rationals(s.Edges)
	work := loss.Of(l).Work(s.differenceBits())
	if !m.Spend(work.Pass * int64(len(nodes))) {
		return nil, 0
	}
	parts := limits.KernelParts(len(nodes))
	fine := exact.PowerOfTwo(peakBits)
	top, weight := new(big.Int), new(big.Int)
	known := make(map[ramp]*big.Int)
	for k, row := range s.Rows {
		step := new(big.Rat).Sub(edges[k+1], edges[k])
		step.Mul(step, big.NewRat(1, int64(parts)))
		a := edges[k]
		for part := range parts {
			b := new(big.Rat).Add(a, step)
			sum := new(big.Int)
			for j, w := range row {
				if w == 0 {
					continue
				}
				if !m.Spend(work.Bound) {
					return nil, 0
				}
				key, same := newRamp(s.Nodes[j], s.Edges[k], s.Edges[k+1], part)
				cost := known[key]
				if cost == nil || !same {
					c, _ := loss.Of(l).CeilingUp(new(big.Rat).Sub(nodes[j], b), new(big.Rat).Sub(nodes[j], a))
					cost = exact.Ceil(c.Mul(c, fine))
				}
				if same {
					known[key] = cost
				}
				sum.Add(sum, weight.Mul(weight.SetUint64(w), cost))
			}
			if sum.Cmp(top) > 0 {
				top = sum
				at, _ = a.Float64()
			}
			a = b
		}
	}
	most = new(big.Rat).SetInt(top)
	return most.Mul(most, exact.PowerOfTwo(-64-peakBits)), at
}

// ramp is the errors of an answer for a part of a cell: as cells are mostly alike, there are few.
type ramp struct {
	distance, width float64 // of the node from the start of the cell, and of the cell
	part            int
}

// newRamp reports whether both are exact, so that they say all.
func newRamp(node, from, to float64, part int) (ramp, bool) {
	distance, exactly := difference(node, from)
	width, too := difference(to, from)
	return ramp{distance, width, part}, exactly && too
}

// difference returns x − y and whether it is exact (Knuth's two-sum).
func difference(x, y float64) (d float64, exactly bool) {
	d = x - y
	other := d - x
	return d, (x-(d-other))-(y+other) == 0
}

// differenceBits is the size of the difference of a node and a query value as a rational.
func (s *Spec) differenceBits() int { return 2 * exact.MostBits(s.Nodes, s.Edges) }

// peakBits is the number of fractional bits to which the costs of maxLoss are
// rounded up: fine for losses of any unit that is used.
const peakBits = 192
