// SPDX-License-Identifier: Apache-2.0

package rank

import (
	"encoding/binary"
	"math/bits"
)

const (
	// Batch is the number of words that are ranked together.
	Batch = 64
	// PairBytes is the size of a pair: the word to be ranked, little-endian, and one not looked at.
	PairBytes = 16
)

// Method is a way to rank. All give the same ranks.
type Method struct {
	name  string
	kind  kind
	lanes int // entries of a chunk of a tree, a power of two
	depth int // most levels of a tree: ranks in it have so many bits
}

type kind int

const (
	portable kind = iota
	avx2
	avx512
	neon
)

// String returns the name of the method, for logs.
func (m Method) String() string { return m.name }

// Methods returns the ways that this processor has, the best one first. The last one is portable.
func Methods() []Method { return append(vectorMethods(), Method{name: "portable", kind: portable}) }

// List is a sorted list made ready. It is immutable.
type List struct {
	method Method
	sorted []uint64 // portable
	trees  []tree   // otherwise: the list in pieces, the rank being the sum of theirs
}

// New returns the list, which must be ascending and not be changed later, for the best method.
func New(sorted []uint64) *List { return NewWith(sorted, Methods()[0]) }

// NewWith is New with a method of one's choice.
func NewWith(sorted []uint64, m Method) *List {
	l := &List{method: m, sorted: sorted}
	if m.kind == portable {
		return l
	}
	size := 1<<m.depth - 1
	for rest := sorted; len(rest) > 0; {
		n := min(size, len(rest))
		l.trees = append(l.trees, newTree(rest[:n], m.lanes))
		rest = rest[n:]
	}
	return l
}

// Ranks sets dst to the ranks of the words of the pairs: the numbers of elements of the
// list below each. The time it takes depends on the list alone.
func (l *List) Ranks(dst *[Batch]uint32, pairs *[Batch * PairBytes]byte) {
	if l.method.kind == portable {
		l.scan(dst, pairs)
		return
	}
	clear(dst[:])
	var ranks [Batch]uint16
	for i := range l.trees {
		l.trees[i].rank(l.method.kind, &ranks, pairs)
		for j, r := range ranks {
			dst[j] += uint32(r)
		}
	}
	clear(ranks[:])
}

// scanWidth is the number of words of a pass over the list: so many, and as many counters,
// fit the registers.
const scanWidth = 4

// scan is Ranks without vector instructions.
func (l *List) scan(dst *[Batch]uint32, pairs *[Batch * PairBytes]byte) {
	for n := 0; n < Batch; n += scanWidth {
		p := (*[scanWidth * PairBytes]byte)(pairs[n*PairBytes:])
		k := scan(l.sorted, binary.LittleEndian.Uint64(p[0:]), binary.LittleEndian.Uint64(p[PairBytes:]),
			binary.LittleEndian.Uint64(p[2*PairBytes:]), binary.LittleEndian.Uint64(p[3*PairBytes:]))
		for i, r := range k {
			dst[n+i] = uint32(r)
		}
	}
}

// Of returns the rank of one word in an ascending list, by a pass over it, in a time that
// depends on the list's length alone.
func Of(sorted []uint64, u uint64) uint64 { return scan(sorted, u, 0, 0, 0)[0] }

// scan ranks four words in one pass over the list.
//
// Each comparison is a borrow, and the borrows are counted: written with an if, it
// compiles to a conditional jump (TestScanHasNoJump).
//
//go:noinline
func scan(sorted []uint64, u0, u1, u2, u3 uint64) (k [scanWidth]uint64) {
	var k0, k1, k2, k3, below uint64
	for _, x := range sorted {
		_, below = bits.Sub64(x, u0, 0)
		k0, _ = bits.Add64(k0, 0, below)
		_, below = bits.Sub64(x, u1, 0)
		k1, _ = bits.Add64(k1, 0, below)
		_, below = bits.Sub64(x, u2, 0)
		k2, _ = bits.Add64(k2, 0, below)
		_, below = bits.Sub64(x, u3, 0)
		k3, _ = bits.Add64(k3, 0, below)
	}
	return [scanWidth]uint64{k0, k1, k2, k3}
}
