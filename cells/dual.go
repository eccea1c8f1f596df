// SPDX-License-Identifier: Apache-2.0

package cells

import (
	"fmt"
	"math/big"

	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// Dual proves a lower bound on the expected loss of all noise, of any shape and support, that
// depends on a real query value through its cell and is (epsilon, delta)-private. It holds
// multipliers of weak duality at the nodes, the multiples of sensitivity/NodesPerSensitivity. All
// others are 0. Units are those of the loss, times 2^Exponent.
//
// Any non-negative multipliers give a true bound; good ones give a good bound.
type Dual struct {
	NodesPerSensitivity int `json:"nodes_per_sensitivity"`
	Exponent            int `json:"exponent"`
	// Caps, if not empty, has one multiplier per cell for the instance cap.
	Caps   []int64     `json:"caps,string"`
	Shifts []dualShift `json:"shifts"`
}

// dualShift holds the multipliers of a pair of cells, gaining and losing, and of a
// difference of their values, in nodes, for the nodes from First on. Below is the
// multiplier of all nodes before them, and Above of all after.
type dualShift struct {
	Gain        int     `json:"gain"`
	Lose        int     `json:"lose"`
	Shift       int     `json:"shift"`
	First       int     `json:"first"`
	Below       int64   `json:"below,string"`
	Above       int64   `json:"above,string"`
	Multipliers []int64 `json:"multipliers,string"`
}

// Add adds the multipliers of a pair of cells and a difference of their values, in nodes: below of all nodes before first,
// those of the nodes from first on, and above of all after.
func (d *Dual) Add(p Pair, first int, below int64, multipliers []int64, above int64) {
	d.Shifts = append(d.Shifts, dualShift{p.Gain, p.Lose, int(p.Shift), first, below, above, multipliers})
}

// Limits of a dual.
const (
	maxNode   = 1 << 16 // of the nodes with a multiplier, either way
	maxShifts = 1 << 18
)

func (d *Dual) validate(s *Spec) error {
	if d == nil {
		return nil
	}
	r := formfile.InDual("cells")
	cells, n := len(s.Edges)-1, d.NodesPerSensitivity
	r.Want(n >= 1 && n <= maxBins, "nodes_per_sensitivity", n, "1 to %d", maxBins)
	r.Exponent(d.Exponent)
	r.Caps(d.Caps, cells)
	if !r.Want(len(d.Shifts) <= maxShifts, "shifts", len(d.Shifts), "at most %d", maxShifts) {
		return r.Err()
	}
	spans := newNodeShifts(s.Edges, s.Privacy.Sensitivity, n)
	seen := make(map[[3]int]bool)
	for _, m := range d.Shifts {
		name, key := fmt.Sprintf("shift %d of cells %d and %d", m.Shift, m.Gain, m.Lose), [3]int{m.Gain, m.Lose, m.Shift}
		if !r.Want(min(m.Gain, m.Lose) >= 0 && max(m.Gain, m.Lose) < cells, "shifts", name, "two of %d cells", cells) {
			return r.Err()
		}
		first, last, ok := spans.whole(m.Gain, m.Lose, false)
		same := m.Gain == m.Lose && m.Shift == 0
		r.Want(ok && m.Shift >= first && m.Shift <= last && !same, "shifts", name, "one that values of the cells can have within the sensitivity")
		r.Want(!seen[key], "shifts", name, "each once")
		r.Count(len(m.Multipliers))
		r.Want(m.First >= -maxNode && m.First <= maxNode && m.First+len(m.Multipliers) <= maxNode, "first", m.First, "nodes from %d to %d", -maxNode, maxNode)
		if !r.Prices("shift", m.all()...) {
			return r.Err()
		}
		seen[key] = true
	}
	r.CapPrices("shifts", d.Caps)
	return r.Err()
}

// all returns the multipliers of all nodes, of which the largest is the price η.
func (m *dualShift) all() []int64 { return append([]int64{m.Below, m.Above}, m.Multipliers...) }

// nodeShifts says which shifts, in nodes or bins, the values of two cells can have.
type nodeShifts struct {
	edges []*big.Rat // in nodes; nil: infinite
	reach *big.Rat   // one sensitivity
}

func newNodeShifts(edges []float64, sensitivity float64, nodes int) *nodeShifts {
	perUnit := exact.Rational(sensitivity)
	perUnit.Quo(new(big.Rat).SetInt64(int64(nodes)), perUnit)
	s := &nodeShifts{edges: make([]*big.Rat, len(edges)), reach: new(big.Rat).SetInt64(int64(nodes))}
	for i, x := range edges {
		if r := exact.Rational(x); r != nil {
			s.edges[i] = r.Mul(r, perUnit)
		}
	}
	return s
}

// of returns the closure of the differences x − x′ of at most the sensitivity, x in the
// cell that gains and x′ in the one that loses. It is not ok if there are no such values.
func (s *nodeShifts) of(gain, lose int) (low, high *big.Rat, ok bool) {
	low, high = new(big.Rat).Neg(s.reach), s.reach
	if a, b := s.edges[gain], s.edges[lose+1]; a != nil && b != nil {
		d := new(big.Rat).Sub(a, b)
		if d.Cmp(s.reach) >= 0 {
			return nil, nil, false
		}
		if d.Cmp(low) > 0 {
			low = d
		}
	}
	if a, b := s.edges[gain+1], s.edges[lose]; a != nil && b != nil {
		d := new(big.Rat).Sub(a, b)
		if d.Cmp(new(big.Rat).Neg(s.reach)) <= 0 {
			return nil, nil, false
		}
		if d.Cmp(high) < 0 {
			high = d
		}
	}
	return low, high, true
}

// whole returns the first and the last of the whole numbers in the closure, which a lower bound may
// use; or, outwards, of those that hold it between them, of which all others are averages.
func (s *nodeShifts) whole(gain, lose int, outwards bool) (first, last int, ok bool) {
	low, high, ok := s.of(gain, lose)
	if !ok {
		return 0, 0, false
	}
	if outwards {
		// Edges that are float64s may be off by a hair, which the margins of a design cover.
		hair := exact.PowerOfTwo(-30)
		low, high = new(big.Rat).Add(low, hair), new(big.Rat).Sub(high, hair)
		return int(exact.Floor(low).Int64()), int(exact.Ceil(high).Int64()), true
	}
	first, last = int(exact.Ceil(low).Int64()), int(exact.Floor(high).Int64())
	return first, last, first <= last
}

// Shifts lists the pairs of cells that hold values within the sensitivity, with the
// differences of these values in units of 1/parts of a sensitivity: the whole ones, about
// which a lower bound may have multipliers; or, outwards, those between which all differences
// lie but for 2^-30, which with a margin are enough for noise that is private. A difference
// of 0 within a cell says nothing and is not among them.
//
// Of the Spec, only the edges and the sensitivity matter.
func (s *Spec) Shifts(parts int, outwards bool) []Pair {
	spans := newNodeShifts(s.Edges, s.Privacy.Sensitivity, parts)
	var all []Pair
	for gain := range len(s.Edges) - 1 {
		for lose := range len(s.Edges) - 1 {
			first, last, ok := spans.whole(gain, lose, outwards)
			for k := first; ok && k <= last; k++ {
				if gain != lose || k != 0 {
					all = append(all, Pair{gain, lose, int64(k)})
				}
			}
		}
	}
	return all
}

// LowerBound is what the Dual proves (docs/proofs/additive-kernels.md), for the cells, their
// weight, the losses and the privacy of the Spec, whose laws do not matter:
//
//	Σ_C min_j [ w_C·l_j + κ_C·l°_j + Σ ( y_{C,C′,k,j} − e^ε·y_{C′,C,k,j−k} ) ] − δ·Σ η − cap·Σ κ_C
//
// with w_C the shares of the cells, l and l° the lower nodes of the loss and of the loss
// that is capped, η the largest multiplier of each pair and shift, and κ those of the cap,
// which count only if there is one. It is never below 0. A nil Dual proves 0.
//
// The Spec must be one that New accepts, but for its laws.
func (s *Spec) LowerBound() *big.Rat { return s.lowerBound(nil) }

// lowerBound is LowerBound. It does not count if the meter says stop.
func (s *Spec) lowerBound(m *proof.Meter) *big.Rat {
	d := s.Dual
	if d == nil {
		return new(big.Rat)
	}
	first, last := d.extent()
	step := exact.Rational(s.Privacy.Sensitivity)
	step.Quo(step, new(big.Rat).SetInt64(int64(d.NodesPerSensitivity)))
	nodes, ok := lowerNodes(s.lowerLosses(), step, first, last, m)
	if !ok {
		return new(big.Rat)
	}
	count := len(nodes.values[0])
	if !m.Spend(int64(len(d.Shifts)) * int64(2*count+len(s.Weight))) {
		return new(big.Rat)
	}
	unit := exact.PowerOfTwo(d.Exponent)
	up := exact.ExpUp(s.Privacy.Epsilon, exact.RatioBits)
	// Everything is an integer in units of 2^(x−96), x the exponent; the costs are
	// rounded down to it.
	fine := exact.PowerOfTwo(exact.RatioBits - d.Exponent)
	total, caps := new(big.Int), new(big.Rat)
	for k, weight := range exact.Shares(s.Weight) {
		factors := []*big.Rat{weight.Mul(weight, fine)}
		if len(nodes.values) > 1 {
			kappa := new(big.Rat).SetInt64(d.Caps[k])
			kappa.Mul(kappa, unit)
			caps.Add(caps, kappa)
			factors = append(factors, new(big.Rat).Mul(kappa, fine))
		}
		own, from := d.coefficients(k, nodes.first, count)
		least := leastBracket(nodes, factors, own, from, up, m)
		if least == nil {
			return new(big.Rat)
		}
		total.Add(total, least)
	}
	bound := new(big.Rat).SetInt(total)
	bound.Quo(bound, fine)
	cost := new(big.Rat).SetInt(d.price())
	bound.Sub(bound, cost.Mul(cost, unit).Mul(cost, exact.Rational(s.Privacy.Delta)))
	if caps.Sign() > 0 {
		bound.Sub(bound, caps.Mul(caps, exact.Rational(s.InstanceCap)))
	}
	if bound.Sign() < 0 {
		return new(big.Rat)
	}
	return bound
}

// lowerLosses returns the losses of which a bound needs the nodes.
func (s *Spec) lowerLosses() []loss.Loss {
	if s.InstanceCap > 0 && len(s.Dual.Caps) > 0 {
		return []loss.Loss{s.Loss, s.capped()}
	}
	return []loss.Loss{s.Loss}
}

// leastBracket returns the least bracket of a cell; nil if the meter says stop.
func leastBracket(nodes *nodeValues, factors []*big.Rat, own, from []int64, up *big.Int, m *proof.Meter) *big.Int {
	var least *big.Int
	cost, part, count := new(big.Rat), new(big.Rat), new(big.Int)
	for j := range own {
		cost.SetInt64(0)
		for i, f := range factors {
			l := nodes.values[i][j]
			if !m.Spend(exact.RationalWork(exact.Bits(f) + exact.Bits(l))) {
				return nil
			}
			cost.Add(cost, part.Mul(f, l))
		}
		c := exact.Floor(cost)
		c.Add(c, count.Lsh(count.SetInt64(own[j]), exact.RatioBits))
		c.Sub(c, count.Mul(count.SetInt64(from[j]), up))
		if least == nil || c.Cmp(least) < 0 {
			least = c
		}
	}
	return least
}

// at returns the multiplier of node j.
func (m *dualShift) at(j int) int64 {
	switch i := j - m.First; {
	case i < 0:
		return m.Below
	case i < len(m.Multipliers):
		return m.Multipliers[i]
	default:
		return m.Above
	}
}

// extent returns nodes, <= 0 and >= 0, beyond which the multipliers in all brackets are equal.
func (d *Dual) extent() (first, last int) {
	for _, m := range d.Shifts {
		end := m.First + len(m.Multipliers) - 1
		first = min(first, m.First, m.First+m.Shift)
		last = max(last, end, end+m.Shift)
	}
	return first, last
}

// coefficients returns, for one cell and each node from first on, the multipliers that come
// without and with the factor e^ε.
func (d *Dual) coefficients(cell, first, nodes int) (own, from []int64) {
	own, from = make([]int64, nodes), make([]int64, nodes)
	for i := range d.Shifts {
		m := &d.Shifts[i]
		if m.Gain == cell {
			for j := range own {
				own[j] += m.at(first + j)
			}
		}
		if m.Lose == cell {
			for j := range from {
				from[j] += m.at(first + j - m.Shift)
			}
		}
	}
	return own, from
}

// price returns the sum of the prices of all shifts.
func (d *Dual) price() *big.Int {
	sum := new(big.Int)
	for i := range d.Shifts {
		sum.Add(sum, big.NewInt(formfile.Largest(d.Shifts[i].all())))
	}
	return sum
}

// nodeValues are the lower nodes of losses from a first node to a last one, which stand
// for all beyond: there, none of the losses falls any more.
type nodeValues struct {
	first  int
	values [][]*big.Rat // by loss
}

// maxTail bounds the search for the node from which a loss grows.
const maxTail = 1 << 12

// lowerNodes returns the nodes from first <= 0 to last >= 0 and further out. It is not ok
// if a loss may fall too far out, or the meter says stop.
func lowerNodes(losses []loss.Loss, step *big.Rat, first, last int, m *proof.Meter) (*nodeValues, bool) {
	end := func(j, side int) (int, bool) {
		for steps := 0; ; j += side {
			grows := true
			for _, l := range losses {
				if !m.Spend(loss.Of(l).Work(exact.Bits(step) + 32).Growth) {
					return 0, false
				}
				grows = grows && l.Growth(int64(j), step).Sign() >= 0
			}
			if grows {
				return j, true
			}
			if steps++; steps > maxTail {
				return 0, false
			}
		}
	}
	first, ok := end(first-1, -1)
	if !ok {
		return nil, false
	}
	if last, ok = end(last+1, 1); !ok {
		return nil, false
	}
	n := &nodeValues{first: first, values: make([][]*big.Rat, len(losses))}
	for i, l := range losses {
		work := loss.Of(l).Work(exact.Bits(step) + 32)
		if !m.Spend(2*work.Pass + int64(last-first+1)*work.Bound) {
			return nil, false
		}
		for j := first; j <= last; j++ {
			n.values[i] = append(n.values[i], l.LowerNode(int64(j), step))
		}
	}
	return n, true
}
