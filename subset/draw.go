// SPDX-License-Identifier: Apache-2.0

package subset

import (
	"math/bits"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/proof"
)

// binomials[n][r] is how many sets of r of n there are.
var binomials = func() (b [MaxRanked + 1][MaxRanked + 1]int64) {
	for n := range b {
		b[n][0] = 1
		for r := 1; r <= n; r++ {
			b[n][r] = b[n-1][r-1] + b[n-1][r]
		}
	}
	return b
}()

// uniform draws from 0 … n−1 by two words, each number with the same probability: the product of
// a fraction of 128 bits and n has the number as its whole part, unless it is among the 2^128 mod n
// least (Lemire 2019). Nothing but that, of a probability below 2^-64, is a branch.
type uniform struct{ n, reject uint64 }

func newUniform(n uint64) uniform {
	_, r := bits.Div64(1%n, 0, n) // 2^64 mod n
	hi, lo := bits.Mul64(r, r)
	_, r = bits.Div64(hi%n, lo, n)
	return uniform{n, r}
}

// of returns the number of two words, and false if they are to be discarded.
func (u uniform) of(high, low uint64) (x uint64, ok bool) {
	x, mid := bits.Mul64(high, u.n)
	carry, rest := bits.Mul64(low, u.n)
	mid, c := bits.Add64(mid, carry, 0)
	return x + c, mid != 0 || rest >= u.reject
}

// drawing is what draws need beside the Spec. Of the fields in pairs the first is for sets without
// the category, the second for sets with it.
type drawing struct {
	sets    [2]uniform // ranked: sets of other points to complete; else residues t
	first   [2]uint64  // least t
	turns   uniform    // affine: a − 1
	inverse uint64     // ⌊2^64/points⌋
	halves  [MaxRanked]half
}

// half divides products by an integer 2^shift·odd that divides them: by the inverse of odd modulo 2^64.
type half struct {
	inverse uint64
	shift   uint8
}

func (h half) of(x uint64) uint64 { return x * h.inverse >> h.shift }

func newDrawing(s *Spec) (d drawing) {
	m, size := uint64(s.points()), uint64(s.Size)
	if s.ranked() {
		for i, n := range []int64{s.Size, s.Size - 1} {
			d.sets[i] = newUniform(uint64(binomials[m-1][n]))
		}
		for n := uint64(1); n < m; n++ {
			zeros := bits.TrailingZeros64(n)
			odd := n >> zeros
			inverse := odd // right to 3 bits; each step doubles them
			for range 5 {
				inverse *= 2 - odd*inverse
			}
			d.halves[n] = half{inverse, uint8(zeros)}
		}
		return d
	}
	d.sets, d.first = [2]uniform{newUniform(m - size), newUniform(size)}, [2]uint64{size, 0}
	d.inverse = -m/m + 1 // (2^64−m)/m + 1, rounded down
	if s.Modulus > 0 {
		d.turns = newUniform(m - 1)
	}
	return d
}

// ranked reports whether answers are ranks.
func (s *Spec) ranked() bool { return s.Modulus == 0 && s.Size > 1 }

// number returns the number of a category.
func (s *Selection) number(label proof.Category) (x int64, ok bool) {
	if s.spec.Count > 0 {
		return proof.Space{Count: s.spec.Count}.Number(string(label))
	}
	x, ok = s.numbers[string(label)]
	return x, ok
}

// Draw implements proof.Drawer.
//
// Guarantee (docs/proofs/shares.md): if the words are independent and uniform, the set has the
// category with probability exactly Inside/2^64, and all sets of the selection that have it, and all
// that have not, are equally likely.
//
// No branch, memory address or loop bound depends on the category, once its number is found, or on
// whether the set has it, but for discarded words (probability below 2^-64).
func (s *Selection) Draw(input proof.Value, word func() (uint64, error)) (proof.Value, error) {
	label, named := input.(proof.Category)
	x, known := s.number(label)
	if !named || !known {
		return nil, check.Errorf("", dp.ErrInvalid, "the value is none of the selection's %d categories", s.Categories())
	}
	a, b, err := s.code(uint64(x), word)
	switch {
	case err != nil:
		return nil, err
	case s.spec.Size == 1 && s.spec.Modulus == 0:
		return proof.Category(s.Label(int64(b))), nil
	default:
		return proof.Code{A: int64(a), B: int64(b)}, nil
	}
}

// code draws the answer to a category by its number: a:b, or 0 and the rank or the one category.
func (s *Selection) code(x uint64, word func() (uint64, error)) (a, b uint64, err error) {
	u, err := word()
	if err != nil {
		return 0, 0, err
	}
	_, in := bits.Sub64(u, s.spec.Inside, 0) // 1 with probability Inside/2^64
	p := &s.draw
	sets := uniform{pick(in, p.sets[0].n, p.sets[1].n), pick(in, p.sets[0].reject, p.sets[1].reject)}
	r, err := draw(sets, word)
	if err != nil {
		return 0, 0, err
	}
	m := uint64(s.points)
	if s.spec.ranked() {
		set := p.others(r, sets.n, m-1, uint64(s.spec.Size)-in)<<1 | in // of the points from 0 on, which stands for x
		set = (set<<x | set>>(m-x)) & (1<<m - 1)
		return 0, rank(set), nil
	}
	a = 1
	if s.spec.Modulus > 0 {
		if a, err = draw(p.turns, word); err != nil {
			return 0, 0, err
		}
		a++
	}
	// a·t modulo m, with a quotient that is right or one too small.
	z := a * (r + pick(in, p.first[0], p.first[1]))
	q, _ := bits.Mul64(z, p.inverse)
	z -= q * m
	z = reduced(z, m)
	b = reduced(x+m-z, m)
	if s.spec.Modulus == 0 {
		a = 0
	}
	return a, b, nil
}

// pick returns out if in is 0, and within if it is 1.
func pick(in, out, within uint64) uint64 { return out ^ (out^within)&-in }

// reduced returns x modulo m, for x < 2m.
func reduced(x, m uint64) uint64 {
	y, less := bits.Sub64(x, m, 0)
	return y + m&-less
}

func draw(u uniform, word func() (uint64, error)) (uint64, error) {
	for {
		high, err := word()
		if err != nil {
			return 0, err
		}
		low, err := word()
		if err != nil {
			return 0, err
		}
		if x, ok := u.of(high, low); ok {
			return x, nil
		}
	}
}

// others returns the set of the rank r among the sets of size points from 0 to n−1, as bits, in the
// order of rank. It takes n steps, whatever the set is.
func (p *drawing) others(r, sets, n, size uint64) (set uint64) {
	for ; n > 0; n-- {
		// Those without the point n−1 come first, C(n−1, size) = C(n, size)·(n−size)/n of them.
		without := p.halves[n].of(sets * (n - size))
		_, less := bits.Sub64(r, without, 0)
		with := less - 1 // all ones if the set has the point
		r -= without & with
		sets = without ^ (without^(sets-without))&with
		size -= 1 & with
		set |= 1 << (n - 1) & with
	}
	return set
}

// rank returns the rank of a set among all of its size, in the order of their largest different
// member. The set is an answer: the time may depend on it.
func rank(set uint64) (r uint64) {
	for i := 1; set != 0; i++ {
		r += uint64(binomials[bits.TrailingZeros64(set)][i])
		set &= set - 1
	}
	return r
}

// members calls a function with those of the set of a rank among sets of a size of m points.
func members(r, m, size int64, do func(j int64)) {
	for n := m; size > 0; n-- {
		if without := binomials[n-1][size]; r >= without {
			r -= without
			size--
			do(n - 1)
		}
	}
}
