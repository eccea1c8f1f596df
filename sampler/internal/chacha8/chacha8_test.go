// SPDX-License-Identifier: Apache-2.0

package chacha8

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
)

// streams are the ways that this processor has.
func streams() map[string]bool {
	m := map[string]bool{"portable": false}
	if HasVectors {
		m["vectors"] = true
	}
	return m
}

// TestStream compares the ways with math/rand/v2, at lengths around those of a group.
func TestStream(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for name, vectors := range streams() {
		for _, n := range []int{0, 8, 984, 992, 1000, 1016, 1024, 1032, 1976, 1984, 1992, 2008, 2016, 2024, 32800} {
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				for range 20 {
					var key [KeyBytes]byte
					for i := range key {
						key[i] = byte(rng.Uint32())
					}
					want := make([]byte, n+16)
					c := rand.NewChaCha8(key)
					for i := 0; i < n; i += 8 {
						binary.LittleEndian.PutUint64(want[i:], c.Uint64())
					}
					got, used := make([]byte, n+16), key
					stream(got[:n], &used, vectors)
					if !bytes.Equal(got, want) {
						t.Fatal("the stream is not that of math/rand/v2, or beyond its end")
					}
					if used != key {
						t.Fatal("the key was changed")
					}
				}
			})
		}
	}
}

func BenchmarkStream(b *testing.B) {
	for name, vectors := range streams() {
		b.Run("method="+name, func(b *testing.B) {
			dst, key := make([]byte, 32800), [KeyBytes]byte{1}
			b.SetBytes(int64(len(dst)))
			for b.Loop() {
				stream(dst, &key, vectors)
			}
		})
	}
}
