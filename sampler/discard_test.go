// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// inverse returns the word v with v·s = 1 mod 2^64, for an odd s.
func inverse(s uint64) uint64 {
	v := s
	for range 6 {
		v *= 2 - s*v
	}
	return v
}

// TestDiscardedWords: whichever of the draws of a chunk has a position word that has to be discarded, both
// modes stop before it, and neither does at the word next to those. What they draw is by the rule.
func TestDiscardedWords(t *testing.T) {
	for name, tab := range smallTables(t) {
		s := uint64(tab.Grid().PointsPerCell)
		fast, fixed, m := newLaw(tab, false), newLaw(tab, true), newModel(tab)
		reject := -s % s // the words with low < reject are discarded
		rng := rand.New(rand.NewPCG(s, 9))
		for _, at := range []int{0, 1, 2, 3, 4, 5, 6, 7, 130, chunk - 4, chunk - 3, chunk - 2, chunk - 1} {
			for _, kept := range []bool{false, true} {
				low := reject
				if !kept {
					if reject == 0 {
						continue
					}
					low = reject - 1
				}
				var bytes [chunk * drawBytes]byte
				var words []uint64
				for n := range chunk {
					u, v := rng.Uint64(), rng.Uint64()|1<<20 // no multiple of s: none is discarded but by chance
					for v*s < reject {
						v++
					}
					if n == at {
						v = low * inverse(s)
					}
					words = append(words, u, v)
					binary.LittleEndian.PutUint64(bytes[n*drawBytes:], u)
					binary.LittleEndian.PutUint64(bytes[n*drawBytes+wordBytes:], v)
				}
				want := chunk
				if !kept {
					want = at
				}
				var a, b [chunk]int64
				if n := draw(fast, &a, &bytes, 1); n != want {
					t.Fatalf("%s: draw %d, kept %v: %d draws, want %d", name, at, kept, n, want)
				}
				if n := drawFixed(fixed, &b, &bytes, 1); n != want {
					t.Fatalf("%s: draw %d, kept %v: %d draws in constant time, want %d", name, at, kept, n, want)
				}
				for n := range want {
					x, rest := m.draw(words[2*n : 2*n+2])
					if len(rest) != 0 || a[n] != x || b[n] != x {
						t.Fatalf("%s: draw %d is %d and %d, want %d", name, n, a[n], b[n], x)
					}
				}
			}
		}
	}
}
