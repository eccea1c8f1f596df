// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"bytes"
	"crypto/aes"
	crand "crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/sampler/internal/chacha8"
)

// newSystem stands for the system's entropy, endless and repeatable.
func newSystem() io.Reader { return rand.NewChaCha8([32]byte{1, 2, 3}) }

// ciphers are the keystreams of the generators, restated.
var ciphers = map[string]struct {
	stream keystream
	want   func(key [keyBytes]byte, n int) []byte
}{
	"AES-256-CTR": {aes256, func(key [keyBytes]byte, n int) []byte {
		block, err := aes.NewCipher(key[:])
		if err != nil {
			panic(err)
		}
		var out []byte
		for counter := uint64(0); len(out) < n; counter++ {
			var b [aes.BlockSize]byte
			binary.BigEndian.PutUint64(b[8:], counter)
			block.Encrypt(b[:], b[:])
			out = append(out, b[:]...)
		}
		return out
	}},
	"ChaCha8": {chacha8.Stream, func(key [keyBytes]byte, n int) []byte {
		out := make([]byte, n)
		_, _ = rand.NewChaCha8(key).Read(out)
		return out
	}},
}

// TestEraser replays the generators: the key of every keyBlocks blocks is the head
// of the stream before, mixed with system entropy every refreshKeys, and nothing
// that was used stays behind.
func TestEraser(t *testing.T) {
	for name, c := range ciphers {
		t.Run(name, func(t *testing.T) {
			g, err := newEraser(name, c.stream, newSystem())
			if err != nil {
				t.Fatal(err)
			}
			system := newSystem()
			var key, fresh [keyBytes]byte
			for i := range 2*refreshKeys + 2 {
				if i%refreshKeys == 0 {
					if _, err := io.ReadFull(system, fresh[:]); err != nil {
						t.Fatal(err)
					}
					for j := range key {
						key[j] ^= fresh[j]
					}
				}
				want := c.want(key, keyBytes+keyBlocks*blockBytes)
				key = [keyBytes]byte(want)
				want = want[keyBytes:]
				for range keyBlocks {
					var block [blockBytes]byte
					block[7] = 1 // to be replaced
					if err := g.read(&block); err != nil {
						t.Fatal(err)
					}
					if !bytes.Equal(block[:], want[:blockBytes]) {
						t.Fatalf("a block under key %d is not the keystream", i)
					}
					want = want[blockBytes:]
					if g.key != key {
						t.Fatalf("the key after key %d is not the head of its stream", i)
					}
					if bytes.Count(g.ahead[:g.pos], []byte{0}) != g.pos || g.fresh != [keyBytes]byte{} {
						t.Fatalf("under key %d something used is left in memory", i)
					}
					if !bytes.Equal(g.ahead[g.pos:], want) {
						t.Fatalf("under key %d the blocks ahead are not the keystream", i)
					}
				}
			}
		})
	}
}

// failing is entropy that ends after some bytes.
func failing(n int64) io.Reader { return io.LimitReader(newSystem(), n) }

// TestRefreshFailure checks that a generator that cannot be seeded or refreshed
// says so, and goes on once it can.
func TestRefreshFailure(t *testing.T) {
	tab := laplaceTable(t, 5, 1, 0)
	for name, c := range ciphers {
		if _, err := newEraser(name, c.stream, failing(31)); !errors.Is(err, ErrEntropy) {
			t.Errorf("%s: seeded with 31 bytes: %v, want ErrEntropy", name, err)
		}
		g, err := newEraser(name, c.stream, failing(40))
		if err != nil {
			t.Fatal(err)
		}
		s := newNoise(tab, newLaw(tab, false), g)
		dst := make([]float64, refreshKeys*keyBlocks*blockBytes/drawBytes+1)
		if err := s.Fill(dst[1:]); err != nil {
			t.Errorf("%s: before the first refresh: %v", name, err)
		}
		if err := s.Fill(dst); !errors.Is(err, ErrEntropy) {
			t.Errorf("%s: %v, want ErrEntropy", name, err)
		}
		checkWiped(t, s)
		for i, x := range dst {
			if x != 0 {
				t.Fatalf("%s: after a failure dst[%d] = %g, want 0", name, i, x)
			}
		}
		g.system = newSystem()
		if err := s.Fill(dst); err != nil {
			t.Errorf("%s: with entropy back: %v", name, err)
		}
	}
}

// TestNewGenerator: releases take AES unless ChaCha8 is faster, and in constant time ChaCha8, both seeded
// from crypto/rand.
func TestNewGenerator(t *testing.T) {
	fast := "AES-256-CTR with fast key erasure"
	if chacha8.HasVectors {
		fast = "ChaCha8 with fast key erasure"
	}
	for constantTime, want := range map[bool]string{false: fast, true: "ChaCha8 with fast key erasure"} {
		s, err := NewNoise(verified(t, laplaceTable(t, 5, 1, 0)), Options{ConstantTime: constantTime})
		if err != nil {
			t.Fatal(err)
		}
		if s.Generator() != want || s.gen.(*eraser).system != crand.Reader {
			t.Errorf("constant time %v: %s, want %s from crypto/rand", constantTime, s.Generator(), want)
		}
	}
}

// TestFixedGenerator checks the stream against single blocks of the cipher.
func TestFixedGenerator(t *testing.T) {
	seed := [keyBytes]byte{5, 6, 7}
	g := newFixedGenerator(seed)
	want := ciphers["AES-256-CTR"].want(seed, 3*blockBytes)
	for i := range 3 {
		var block [blockBytes]byte
		block[7] = 1 // to be replaced
		if err := g.read(&block); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(block[:], want[i*blockBytes:][:blockBytes]) {
			t.Fatalf("block %d of the stream differs", i)
		}
	}
}

// fixedWords returns the words of the first blocks of the deterministic stream.
func fixedWords(t *testing.T, seed [keyBytes]byte, blocks int) []uint64 {
	t.Helper()
	g := newFixedGenerator(seed)
	var words []uint64
	for range blocks {
		var block [blockBytes]byte
		if err := g.read(&block); err != nil {
			t.Fatal(err)
		}
		for i := 0; i < blockBytes; i += wordBytes {
			words = append(words, binary.LittleEndian.Uint64(block[i:]))
		}
	}
	return words
}

// TestDeterministic: a seed is the keystream that it is said to be, and every sampler begins with
// its first word, whatever others have drawn.
func TestDeterministic(t *testing.T) {
	seed := [32]byte{3: 7}
	want := make([]byte, 100)
	newCTR(&seed).XORKeyStream(want, want)
	o := Options{Entropy: Deterministic(seed)}
	got := bytes.Repeat([]byte{1}, 100)
	if _, err := io.ReadFull(o.Entropy, got); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%x, %v, want %x", got, err, want)
	}
	for range 2 {
		g, err := o.generator()
		var block [blockBytes]byte
		if err != nil || g.read(&block) != nil || !bytes.Equal(block[:min(100, blockBytes)], want[:min(100, blockBytes)]) {
			t.Errorf("a sampler begins with %x, %v", block, err)
		}
	}
}
