// SPDX-License-Identifier: Apache-2.0

package subset

import (
	"math/bits"
	"slices"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/proof"
)

// drawing is what draws need beside the Spec.
type drawing struct {
	in    uniform // t of sets with the category; ranked: a point
	out   uniform // t − size of sets without it
	turns uniform // a − 1 of affine sets

	inverse uint64     // ⌊2^64/points⌋
	below   [][]uint64 // ranked: below[i][j] is how many sets of i+1 points below j there are
}

func newDrawing(s *Spec) (d drawing) {
	m, size := uint64(s.points()), uint64(s.Size)
	if s.ranked() {
		d.in = newUniform(m)
		d.below = binomials(int(m), int(size))
		return d
	}
	d.in, d.out = newUniform(size), newUniform(m-size)
	d.inverse = -m/m + 1 // (2^64−m)/m + 1, rounded down
	if s.Modulus > 0 {
		d.turns = newUniform(m - 1)
	}
	return d
}

// ranked reports whether answers are ranks.
func (s *Spec) ranked() bool { return s.Modulus == 0 && s.Size > 1 }

// binomials returns C(j, i+1) for j up to m, and on below the next power of 2, and i below size; what is 2^64 or more
// is 2^64−1.
func binomials(m, size int) [][]uint64 {
	table := make([][]uint64, size)
	for i := range table {
		table[i] = make([]uint64, 1<<bits.Len(uint(m))) //nolint:gosec // above 0
		for j := range table[i] {
			if j == 0 {
				continue
			}
			fewer := uint64(1)
			if i > 0 {
				fewer = table[i-1][j-1]
			}
			sum, carry := bits.Add64(table[i][j-1], fewer, 0)
			table[i][j] = sum | -carry
		}
	}
	return table
}

// uniform draws from 0 … n−1 by a word, each number with the same probability (Lemire 2019): the
// 2^64 mod n words whose product with n is least modulo 2^64 are discarded, whatever they would yield.
type uniform struct{ n, reject uint64 }

func newUniform(n uint64) uniform { return uniform{n, -n % n} }

func (u uniform) draw(word func() (uint64, error)) (uint64, error) {
	for {
		w, err := word()
		if err != nil {
			return 0, err
		}
		if x, low := bits.Mul64(w, u.n); low >= u.reject {
			return x, nil
		}
	}
}

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
// Of an [Asked] category the sets are those of its turn. Once the number of the category is found, no branch, memory address or loop bound depends on it, or
// on whether the set has it, beyond what the answer tells.
func (s *Selection) Draw(input proof.Value, word func() (uint64, error)) (proof.Value, error) {
	label, named := input.(proof.Category)
	asked, turned := input.(Asked)
	if turned {
		label = asked.Category
		if asked.Turn < 1 || asked.Turn >= s.spec.Modulus { // which is public
			return nil, check.Errorf("", dp.ErrInvalid, "the turn is %d, want one from 1 to %d", asked.Turn, s.spec.Modulus-1)
		}
	}
	x, known := s.number(label)
	if !named && !turned || !known {
		return nil, check.Errorf("", dp.ErrInvalid, "the value is none of the selection's %d categories", s.Categories())
	}
	a, b, err := s.code(uint64(x), uint64(asked.Turn), word)
	switch {
	case err != nil:
		return nil, err
	case s.spec.Modulus == 0 && s.spec.Size == 1:
		return proof.Category(s.Label(int64(b))), nil
	default:
		return proof.Code{A: int64(a), B: int64(b)}, nil
	}
}

// code draws the answer to a category by its number: a:b, or 0 and the rank or the one category. A turn that
// is not 0 is a.
func (s *Selection) code(x, turn uint64, word func() (uint64, error)) (a, b uint64, err error) {
	u, err := word()
	if err != nil {
		return 0, 0, err
	}
	_, in := bits.Sub64(u, s.spec.Inside, 0) // 1 with probability Inside/2^64
	if s.spec.ranked() {
		b, err = s.draw.ranked(x, in, uint64(s.spec.Size), word)
		return 0, b, err
	}
	return s.draw.affine(uint64(s.points), uint64(s.spec.Size), x, in, turn, word)
}

// affine returns a and b with x = a·t + b modulo m, for t below size if in is 1 and from size on if it
// is 0; a is the turn if that is not 0, and is 0 for 1 if there is no choice of a.
func (p *drawing) affine(m, size, x, in, turn uint64, word func() (uint64, error)) (a, b uint64, err error) {
	t, err := p.in.draw(word)
	if err != nil {
		return 0, 0, err
	}
	out, err := p.out.draw(word)
	if err != nil {
		return 0, 0, err
	}
	t = pick(in, size+out, t)
	if p.turns.n > 0 {
		if a = turn; a == 0 {
			if a, err = p.turns.draw(word); err != nil {
				return 0, 0, err
			}
			a++
		}
		// a·t modulo m, with a quotient that is right or one too small.
		t *= a
		q, _ := bits.Mul64(t, p.inverse)
		t = reduced(t-q*m, m)
	}
	return a, reduced(x+m-t, m), nil
}

// ranked returns the rank of a set that has x if in is 1 and not if it is 0, the others being equally likely.
//
// It draws all members but x, and one more, and drops x or the last. A point that is there already is drawn
// again: how often depends on nothing else, as all points are alike.
func (p *drawing) ranked(x, in, size uint64, word func() (uint64, error)) (rank uint64, err error) {
	var all [maxRanked / 64]uint64
	set := all[:(p.in.n+63)/64]
	// is returns the bit of a point in the i-th word, 0 if it is in another.
	is := func(i int, point uint64) uint64 {
		_, same := bits.Sub64(uint64(i)^point>>6, 1, 0)
		return same << (point & 63)
	}
	last := x
	for left := size + 1; ; {
		seen := uint64(0)
		for i := range set {
			bit := is(i, last)
			seen |= set[i] & bit
			set[i] |= bit
		}
		if seen == 0 {
			left--
		}
		if left == 0 {
			break
		}
		if last, err = p.in.draw(word); err != nil {
			return 0, err
		}
	}
	drop, member := pick(in, x, last), 0
	for i := range set {
		// What is left is the answer.
		for w := set[i] &^ is(i, drop); w != 0; w &= w - 1 {
			rank += p.below[member][64*i+bits.TrailingZeros64(w)]
			member++
		}
	}
	return rank, nil
}

// pick returns x if in is 0, and y if it is 1.
func pick(in, x, y uint64) uint64 { return x ^ (x^y)&-in }

// reduced returns x modulo m, for x < 2m.
func reduced(x, m uint64) uint64 {
	y, less := bits.Sub64(x, m, 0)
	return y + m&-less
}

// members calls a function with the members of the sets of ranks, the largest one of each set first. It
// changes the ranks.
func (p *drawing) members(ranks []uint64, do func(member int)) {
	for _, row := range slices.Backward(p.below) {
		for n, rank := range ranks {
			// The largest member with row[member] <= rank, by steps that are taken or not without a branch.
			member := 0
			for step := len(row) / 2; step > 0; step /= 2 {
				_, less := bits.Sub64(rank, row[member+step], 0)
				member += step & (int(less) - 1) //nolint:gosec // 0 or 1
			}
			ranks[n] -= row[member]
			do(member)
		}
	}
}
