// SPDX-License-Identifier: Apache-2.0

package rank

import "math/bits"

// tree is a binary search tree of a sorted list, laid out for vector code.
//
// A search takes one step per level. On level j it is at one of 2^j nodes, those of the
// level in ascending order, and the node's number is the part of the rank that is known:
// from node i it goes to node 2i, or to 2i+1 if the element of the node is below the word.
// After the last level, number L, the node is the rank, because node i of level j holds
// element (2i+1)·2^(L-1-j) - 1. Nodes whose element would be beyond the end of the list,
// which are the last ones of their level, count as greater than every word.
//
// The nodes of a level come in chunks, as many as one instruction selects from. A chunk has
// eight planes: the first bytes of its elements, the least significant ones, then the
// second ones, and so on. What is stored is the complement, so that 0, which is what is
// selected where there is no node, is greater than every word. The number of a node is
// kept as the number of its chunk, in one byte, and the place in it.
type tree struct {
	levels []uint32 // the number of chunks of each level
	chunks []byte
}

const planes = 8

func newTree(sorted []uint64, lanes int) tree {
	var t tree
	depth := bits.Len(uint(len(sorted)))
	for level := range depth {
		var nodes []uint64
		step := 1 << (depth - 1 - level) // the element of the first node, counted from 1
		for i := step - 1; i < len(sorted); i += 2 * step {
			nodes = append(nodes, ^sorted[i])
		}
		chunks := (len(nodes) + lanes - 1) / lanes
		t.levels = append(t.levels, uint32(chunks))
		block := make([]byte, chunks*lanes*planes)
		for i, x := range nodes {
			at := i/lanes*lanes*planes + i%lanes
			for p := range planes {
				block[at+p*lanes] = byte(x >> (8 * p))
			}
		}
		t.chunks = append(t.chunks, block...)
	}
	return t
}
