// SPDX-License-Identifier: Apache-2.0

//go:build !purego

package rank

import "golang.org/x/sys/cpu"

func vectorMethods() []Method {
	var m []Method
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VBMI {
		m = append(m, Method{name: "AVX-512", kind: avx512, lanes: 64, depth: 14})
	}
	if cpu.X86.HasAVX2 {
		m = append(m, Method{name: "AVX2", kind: avx2, lanes: 16, depth: 12})
	}
	return m
}

// rank sets the ranks of all words in the list of the tree.
func (t *tree) rank(k kind, ranks *[Batch]uint16, pairs *[Batch * PairBytes]byte) {
	if k == avx512 {
		rankAVX512(&t.chunks[0], &t.levels[0], len(t.levels), ranks, pairs)
		return
	}
	const half = Batch / 2
	for n := 0; n < Batch; n += half {
		rankAVX2(&t.chunks[0], &t.levels[0], len(t.levels),
			(*[half]uint16)(ranks[n:]), (*[half * PairBytes]byte)(pairs[n*PairBytes:]))
	}
}

// rankAVX512 searches a tree of n levels, with chunks of 64, for 64 words at once.
//
//go:noescape
func rankAVX512(chunks *byte, levels *uint32, n int, ranks *[Batch]uint16, pairs *[Batch * PairBytes]byte)

// rankAVX2 searches a tree of n levels, with chunks of 16, for 32 words at once.
//
//go:noescape
func rankAVX2(chunks *byte, levels *uint32, n int, ranks *[Batch / 2]uint16, pairs *[Batch / 2 * PairBytes]byte)
