// SPDX-License-Identifier: Apache-2.0

package exact

import (
	"math/big"
	"math/bits"
)

// RatioBits are the fractional bits of bounds on e^ε in certificates: a relative error below 2^-95.
const RatioBits = 96

// Ratio is a bound E on e^ε in fixed point, limb[0] + limb[1]·2^64 + limb[2]·2^128 over
// 2^RatioBits, for e^ε < 2^64. Larger values are marked: then E·w exceeds every word unless w = 0.
type Ratio struct {
	limb  [3]uint64
	large bool
	fixed *big.Int
}

// RatioDown returns a bound below e^epsilon. It panics as ExpDown does.
func RatioDown(epsilon float64) *Ratio {
	fixed := ExpDown(epsilon, RatioBits)
	r := &Ratio{fixed: fixed, large: fixed.BitLen() > RatioBits+64}
	mask := new(big.Int).SetUint64(^uint64(0))
	rest := new(big.Int).Set(fixed)
	for i := range r.limb {
		r.limb[i] = new(big.Int).And(rest, mask).Uint64()
		rest.Rsh(rest, 64)
	}
	return r
}

// RatioInfinity returns an E so large that nothing of two words exceeds E·v unless v = 0.
func RatioInfinity() *Ratio {
	return &Ratio{large: true, fixed: new(big.Int).Lsh(one, 256)}
}

// Exceeds reports whether w > E·v, exactly.
func (r *Ratio) Exceeds(w, v uint64) bool {
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

// Exceeds128 is Exceeds for two words.
func (r *Ratio) Exceeds128(w, v Uint128) bool {
	if v == (Uint128{}) {
		return w != (Uint128{})
	}
	if r.large { // E >= 2^64
		return v.Hi == 0 && r.Excess(w.Big(), v.Big()).Sign() > 0
	}
	// E·v·2^96 against w·2^96, in five limbs, the lowest first.
	var p [5]uint64
	for i, e := range r.limb {
		h0, l0 := bits.Mul64(e, v.Lo)
		h1, l1 := bits.Mul64(e, v.Hi)
		var c uint64
		l1, c = bits.Add64(l1, h0, 0)
		h1 += c
		p[i], c = bits.Add64(p[i], l0, 0)
		p[i+1], c = bits.Add64(p[i+1], l1, c)
		p[i+2] += h1 + c
	}
	q := [5]uint64{0, w.Lo << 32, w.Hi<<32 | w.Lo>>32, w.Hi >> 32, 0}
	for i := 4; i >= 0; i-- {
		if p[i] != q[i] {
			return q[i] > p[i]
		}
	}
	return false
}

// Excess returns gain − E·price, times 2^RatioBits.
func (r *Ratio) Excess(gain, price *big.Int) *big.Int {
	d := new(big.Int).Lsh(gain, RatioBits)
	return d.Sub(d, new(big.Int).Mul(price, r.fixed))
}

// Divergence returns Σ_j (p_j − E·q_j)₊, times 2^RatioBits, exactly: the comparison is made
// per j in fixed width and the product once. p and q have the same length.
func (r *Ratio) Divergence(p, q []uint64) *big.Int {
	var gain, price Uint128
	for j, w := range p {
		if v := q[j]; r.Exceeds(w, v) {
			gain.Add64(w)
			price.Add64(v)
		}
	}
	return r.Excess(gain.Big(), price.Big())
}

// ShiftedDivergence returns Σ_j (p_j − E·q_{j−k})₊, times 2^RatioBits, exactly, with q 0
// outside its indices. p and q have the same length.
func (r *Ratio) ShiftedDivergence(p, q []uint64, k int) *big.Int {
	n := len(p)
	lo, hi := min(max(k, 0), n), max(min(n+k, n), 0) // both 0 or both n if nothing of q is left
	var lone Uint128
	for _, w := range p[:lo] {
		lone.Add64(w)
	}
	for _, w := range p[hi:] {
		lone.Add64(w)
	}
	total := lone.Big()
	total.Lsh(total, RatioBits)
	if lo == hi {
		return total
	}
	return total.Add(total, r.Divergence(p[lo:hi], q[lo-k:hi-k]))
}

// Probability converts a sum of weights times 2^RatioBits, such as a divergence.
func Probability(units *big.Int) *big.Rat {
	return new(big.Rat).SetFrac(units, new(big.Int).Lsh(big.NewInt(1), 64+RatioBits))
}
