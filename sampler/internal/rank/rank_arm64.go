// SPDX-License-Identifier: Apache-2.0

//go:build !purego

package rank

// vectorMethods: every arm64 that Go runs on has NEON.
func vectorMethods() []Method { return []Method{{name: "NEON", kind: neon, lanes: 64, depth: 14}} }

// rank sets the ranks of all words in the list of the tree.
func (t *tree) rank(_ kind, ranks *[Batch]uint16, pairs *[Batch * PairBytes]byte) {
	const quarter = Batch / 4
	for n := 0; n < Batch; n += quarter {
		rankNEON(&t.chunks[0], &t.levels[0], len(t.levels),
			(*[quarter]uint16)(ranks[n:]), (*[quarter * PairBytes]byte)(pairs[n*PairBytes:]))
	}
}

// rankNEON searches a tree of n levels, with chunks of 64, for 16 words at once.
//
//go:noescape
func rankNEON(chunks *byte, levels *uint32, n int, ranks *[Batch / 4]uint16, pairs *[Batch / 4 * PairBytes]byte)
