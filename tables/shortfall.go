package tables

import (
	"fmt"
	"math/big"
	"math/bits"

	"github.com/noisewright/noisewright/internal/exact"
)

// ratioBits is the number of fractional bits of the bounds on e^ε: a relative
// error below 2^-95.
const ratioBits = 96

// ratio is a bound on e^ε in fixed point, limb[0] + limb[1]·2^64 + limb[2]·2^128
// over 2^96, for e^ε < 2^64. Larger values are marked: then e^ε·W exceeds every
// weight unless W = 0.
type ratio struct {
	limb  [3]uint64
	large bool
	fixed *big.Int
}

// newRatioDown returns a bound below e^epsilon.
func newRatioDown(epsilon float64) ratio {
	fixed := exact.ExpDown(epsilon, ratioBits)
	r := ratio{fixed: fixed, large: fixed.BitLen() > ratioBits+64}
	mask := new(big.Int).SetUint64(^uint64(0))
	rest := new(big.Int).Set(fixed)
	for i := range r.limb {
		r.limb[i] = new(big.Int).And(rest, mask).Uint64()
		rest.Rsh(rest, 64)
	}
	return r
}

// exceeds reports whether w > E·v, exactly for the bound E.
func (r *ratio) exceeds(w, v uint64) bool {
	if v == 0 {
		return w > 0
	}
	if r.large {
		return false // E·v >= 2^64 > w
	}
	// E·v·2^96 = p3:p2:p1:p0 against w·2^96 = 0:w>>32:w<<32:0.
	h0, _ := bits.Mul64(r.limb[0], v)
	h1, l1 := bits.Mul64(r.limb[1], v)
	h2, l2 := bits.Mul64(r.limb[2], v)
	p1, c := bits.Add64(l1, h0, 0)
	p2, c := bits.Add64(l2, h1, c)
	p3 := h2 + c
	if p3 != 0 {
		return false
	}
	if top := w >> 32; p2 != top {
		return top > p2
	}
	if low := w << 32; p1 != low {
		return low > p1
	}
	return false // equal but for the lowest limb of E·v, which is >= 0
}

// sum128 is an unsigned sum of weights.
type sum128 struct{ hi, lo uint64 }

func (s *sum128) add(w uint64) {
	var c uint64
	s.lo, c = bits.Add64(s.lo, w, 0)
	s.hi += c
}

func (s sum128) big() *big.Int {
	b := new(big.Int).SetUint64(s.hi)
	b.Lsh(b, 64)
	return b.Add(b, new(big.Int).SetUint64(s.lo))
}

// hockeyStick returns Σ_j (W_j - E·W_{j-k})₊ over all cells, times 2^96,
// exactly: weights of value 0 outside the table, E the bound in r.
//
// Cells whose shifted partner lies outside the table count in full.
func hockeyStick(weights []uint64, k int, r *ratio) *big.Int {
	var lone sum128
	n := len(weights)
	lo, hi := min(max(k, 0), n), max(min(n+k, n), 0)
	for j := 0; j < lo; j++ {
		lone.add(weights[j])
	}
	for j := hi; j < n; j++ {
		lone.add(weights[j])
	}
	total := lone.big()
	total.Lsh(total, ratioBits)
	if lo >= hi {
		return total
	}
	return total.Add(total, divergence(weights[lo:hi], weights[lo-k:hi-k], r))
}

// divergence returns Σ_j (p_j - E·q_j)₊ of two laws of the same length, times
// 2^96, exactly, E the bound in r.
//
// The sum of positive parts is the sum over the j where p_j > E·q_j, so the
// comparison is made per j in fixed width and the product once.
func divergence(p, q []uint64, r *ratio) *big.Int {
	var gain, price sum128
	for j, w := range p {
		if v := q[j]; r.exceeds(w, v) {
			gain.add(w)
			price.add(v)
		}
	}
	total := gain.big()
	total.Lsh(total, ratioBits)
	return total.Sub(total, new(big.Int).Mul(price.big(), r.fixed))
}

// shiftDeltas returns, for the shifts k = 1 … K, the larger hockey-stick
// divergence of the shifts by k and −k cells at e^epsilon, with the atom counted
// in full, in units of 2^-(64+ratioBits), and whether −k attains it.
//
// Guarantee (docs/proofs/table-privacy.md): the noise of the table, added to
// values that are at most K·S grid points apart, has a hockey-stick divergence
// of at most the largest of them.
func (s *Spec) shiftDeltas() (deltas []*big.Int, negative []bool) {
	weights, atom, maxShift := s.Weights, s.Atom, s.Grid.CellsPerSensitivity
	r := newRatioDown(s.Privacy.Epsilon)
	if s.hasTail() {
		return s.tailDeltas(maxShift, &r)
	}
	symmetric := isSymmetric(weights)
	charge := new(big.Int).SetUint64(atom)
	charge.Lsh(charge, ratioBits)
	deltas, negative = make([]*big.Int, maxShift), make([]bool, maxShift)
	for i := range deltas {
		k := i + 1
		if k > len(weights) {
			// Disjoint supports: every longer shift is the same.
			deltas[i], negative[i] = deltas[i-1], negative[i-1]
			continue
		}
		worst := hockeyStick(weights, k, &r)
		if !symmetric { // else the mirror image of shift k is shift −k
			if h := hockeyStick(weights, -k, &r); h.Cmp(worst) > 0 {
				worst, negative[i] = h, true
			}
		}
		deltas[i] = worst.Add(worst, charge)
	}
	return deltas, negative
}

// worstShift returns the largest of the shiftDeltas as a probability, and the
// shift that attains it.
func (s *Spec) worstShift() (delta *big.Rat, shift int) {
	deltas, negative := s.shiftDeltas()
	worst := 0
	for i, d := range deltas {
		if d.Cmp(deltas[worst]) > 0 {
			worst = i
		}
	}
	shift = worst + 1
	if negative[worst] {
		shift = -shift
	}
	return probability(deltas[worst]), shift
}

// ShiftDeltas returns the delta of the table's noise at its epsilon for shifts
// by exactly k cells, either way, for k = 1 … CellsPerSensitivity:
//
//	δ_k = (a + max(Σ_j (W_j − E·W_{j−k})₊, Σ_j (W_j − E·W_{j+k})₊)) / 2^64
//
// with W the weights, 0 outside the table or continued by its tail, a the weight
// of the atom and E a bound below e^epsilon, by less than 2^-95 of it. Each is
// exact as a function of E (with a tail rounded up to a multiple of 2^-160), and so an
// upper bound of the true divergence. The largest is Certificate.DeltaUpper.
func (t *Table) ShiftDeltas() []*big.Rat {
	deltas, _ := t.spec.shiftDeltas()
	rats := make([]*big.Rat, len(deltas))
	for i, d := range deltas {
		rats[i] = probability(d)
	}
	return rats
}

// DeltaUpperAt returns a bound from above on the delta of the table's noise at
// another epsilon, 0 <= epsilon <= MaxEpsilon, exactly as Certificate.DeltaUpper
// is found at its own: the privacy profile of the table at one point. It takes
// as long as that part of Certify, and panics if epsilon is out of range.
func (t *Table) DeltaUpperAt(epsilon float64) *big.Rat {
	if !(epsilon >= 0 && epsilon <= MaxEpsilon) {
		panic(fmt.Sprintf("tables: epsilon = %g, want 0 to %d", epsilon, MaxEpsilon))
	}
	spec := t.spec
	spec.Privacy.Epsilon = epsilon
	delta, _ := spec.worstShift()
	return delta
}

// probability converts from units of 2^-(64+ratioBits).
func probability(units *big.Int) *big.Rat {
	return new(big.Rat).SetFrac(units, new(big.Int).Lsh(big.NewInt(1), 64+ratioBits))
}

// isSymmetric reports whether the weights read the same in both directions;
// the divergences then do too, whatever cell is in the middle.
func isSymmetric(w []uint64) bool {
	for i, j := 0, len(w)-1; i < j; i, j = i+1, j-1 {
		if w[i] != w[j] {
			return false
		}
	}
	return true
}
