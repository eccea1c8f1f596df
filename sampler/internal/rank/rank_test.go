// SPDX-License-Identifier: Apache-2.0

package rank

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
)

// checkRanks compares all methods with a binary search.
func checkRanks(t *testing.T, sorted, words []uint64) {
	t.Helper()
	for _, m := range Methods() {
		l := NewWith(sorted, m)
		for rest := words; len(rest) > 0; {
			n := min(Batch, len(rest))
			var pairs [Batch * PairBytes]byte
			for i := range Batch {
				// What is not to be ranked is noise.
				u := ^uint64(i)
				if i < n {
					u = rest[i]
				}
				binary.LittleEndian.PutUint64(pairs[i*PairBytes:], u)
				binary.LittleEndian.PutUint64(pairs[i*PairBytes+8:], u*0x9e3779b97f4a7c15)
			}
			var got [Batch]uint32
			l.Ranks(&got, &pairs)
			for i, u := range rest[:n] {
				want := sort.Search(len(sorted), func(j int) bool { return sorted[j] >= u })
				if int(got[i]) != want {
					t.Fatalf("%v: rank %d of %#x in a list of %d = %d, want %d", m, i, u, len(sorted), got[i], want)
				}
			}
			rest = rest[n:]
		}
	}
}

// near are the elements, the words next to them, and the ends.
func near(sorted []uint64) []uint64 {
	words := []uint64{0, 1, math.MaxUint64, math.MaxUint64 - 1, 1 << 63}
	for _, x := range sorted {
		words = append(words, x-1, x, x+1)
	}
	return words
}

func TestRanks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	sizes := []int{0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 255, 257, 1000, 2000, 2048, 4094, 4095, 4096, 4097, 16383, 16384, 20000}
	laws := map[string]func() uint64{
		"uniform":  rng.Uint64,
		"steps":    func() uint64 { return rng.Uint64() << 56 >> rng.UintN(3) },
		"small":    func() uint64 { return rng.Uint64N(300) },
		"all":      func() uint64 { return math.MaxUint64 - rng.Uint64N(2) },
		"bytes":    func() uint64 { return 0x0101010101010101 * rng.Uint64N(256) },
		"one byte": func() uint64 { return 0x7f00ff8001fe5510 ^ rng.Uint64N(256)<<(8*rng.UintN(8)) },
	}
	for name, law := range laws {
		for _, n := range sizes {
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				sorted := make([]uint64, n)
				for i := range sorted {
					sorted[i] = law()
				}
				slices.Sort(sorted)
				words := near(sorted)
				for range 200 {
					words = append(words, law(), rng.Uint64())
				}
				rng.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
				checkRanks(t, sorted, words[:min(len(words), 2000)])
			})
		}
	}
}

// TestRanksOfOne: Of is the rank of one word.
func TestRanksOfOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		sorted := make([]uint64, rng.IntN(40))
		for i := range sorted {
			sorted[i] = rng.Uint64N(50)
		}
		slices.Sort(sorted)
		u := rng.Uint64N(52)
		want := sort.Search(len(sorted), func(j int) bool { return sorted[j] >= u })
		if got := Of(sorted, u); got != uint64(want) {
			t.Fatalf("rank of %d in %v = %d, want %d", u, sorted, got, want)
		}
	}
}

// FuzzRanks takes numbers of eight bytes: up to 64 words and then the list, which it
// repeats with a stride, so that lists of several trees are reached too.
func FuzzRanks(f *testing.F) {
	f.Add([]byte{}, uint16(1), uint64(0))
	f.Add([]byte("some words and some elements of a list, eight bytes each"), uint16(3), uint64(1)<<40)
	f.Add(make([]byte, 800), uint16(300), uint64(3))
	f.Add(bytes.Repeat([]byte{0xff}, 1000), uint16(500), math.MaxUint64-uint64(7))
	f.Fuzz(func(t *testing.T, data []byte, copies uint16, stride uint64) {
		var numbers []uint64
		for ; len(data) >= 8; data = data[8:] {
			numbers = append(numbers, binary.LittleEndian.Uint64(data))
		}
		words := numbers[:min(len(numbers), Batch)]
		var sorted []uint64
		for i := range uint64(copies) {
			for _, x := range numbers[len(words):] {
				if len(sorted) == 5000 {
					break
				}
				sorted = append(sorted, x+i*stride)
			}
		}
		slices.Sort(sorted)
		checkRanks(t, sorted, words)
	})
}
