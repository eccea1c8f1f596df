// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"encoding/binary"
	"math/bits"

	"github.com/noisewright/noisewright/sampler/internal/rank"
)

// chunk is the number of draws made at a time. SampleInt counts them in a byte.
const chunk = 256

// drawBytes is the size of the two words that a draw takes, but for discarded ones and tails.
const drawBytes = 2 * wordBytes

// number is what a draw is returned as: a grid point or a multiple of the step.
type number interface{ int64 | float64 }

// draw fills dst with draws, times scale, from the words in w, two each, and
// returns how many it made: it stops before a draw whose position word has to be
// discarded. It is the fast mode; its time depends on what it draws.
//
// Four draws are written out per round, with constant indices into arrays: that
// saves a fifth of the time of the plain loop, most of it index arithmetic and
// registers spilled for it. The bucket of a word is read by itself, which takes one
// instruction in place of three. It must agree with law.entry, position and point.
func draw[T number](l *law, dst *[chunk]T, w *[chunk * drawBytes]byte, scale T) int {
	// Dereferenced here so that the loop need not check for nil.
	_, _, _ = *dst, *w, *l.guide
	last, guide := l.last, l.guide
	points, reject, first := l.points, l.reject, l.first
	n := 0
	for ; n < chunk; n += 4 {
		d := (*[4]T)(dst[n:])
		w := (*[4 * drawBytes]byte)(w[drawBytes*n:])

		u := binary.LittleEndian.Uint64(w[0:])
		k := guide[binary.LittleEndian.Uint16(w[6:])]
		for last[k] < u {
			k++
		}
		offset, low := bits.Mul64(binary.LittleEndian.Uint64(w[8:]), points)
		if low < reject {
			break
		}
		d[0] = T(int64(first+uint64(k)*points+offset)) * scale

		u = binary.LittleEndian.Uint64(w[16:])
		k = guide[binary.LittleEndian.Uint16(w[22:])]
		for last[k] < u {
			k++
		}
		offset, low = bits.Mul64(binary.LittleEndian.Uint64(w[24:]), points)
		if low < reject {
			n++
			break
		}
		d[1] = T(int64(first+uint64(k)*points+offset)) * scale

		u = binary.LittleEndian.Uint64(w[32:])
		k = guide[binary.LittleEndian.Uint16(w[38:])]
		for last[k] < u {
			k++
		}
		offset, low = bits.Mul64(binary.LittleEndian.Uint64(w[40:]), points)
		if low < reject {
			n += 2
			break
		}
		d[2] = T(int64(first+uint64(k)*points+offset)) * scale

		u = binary.LittleEndian.Uint64(w[48:])
		k = guide[binary.LittleEndian.Uint16(w[54:])]
		for last[k] < u {
			k++
		}
		offset, low = bits.Mul64(binary.LittleEndian.Uint64(w[56:]), points)
		if low < reject {
			n += 3
			break
		}
		d[3] = T(int64(first+uint64(k)*points+offset)) * scale
	}
	if l.hasAtom() {
		// The atom counts as one more cell. It weighs at most delta: the branch is mostly foreseen.
		beyond := T(int64(first+l.cells*points)) * scale
		for i, x := range dst[:n] {
			if x >= beyond {
				dst[i] = 0
			}
		}
	}
	return n
}

// drawFixed makes the same draws as draw from the same words, in constant time: no branch, memory
// address or loop bound depends on a draw. Whether a position word is discarded is independent of
// the offset it yields if it is kept (docs/proofs/sampling.md).
func drawFixed[T number](l *law, dst *[chunk]T, w *[chunk * drawBytes]byte, scale T) int {
	var entries [rank.Batch]uint32
	defer clear(entries[:])
	for n := 0; n < chunk; n += rank.Batch {
		w := (*[rank.Batch * drawBytes]byte)(w[drawBytes*n:])
		l.ranks.Ranks(&entries, w)
		for i, k := range entries {
			offset, ok := l.position(binary.LittleEndian.Uint64(w[drawBytes*i+wordBytes:]))
			if !ok {
				return n + i
			}
			dst[n+i] = T(l.point(uint64(k), offset)) * scale
		}
	}
	return chunk
}
