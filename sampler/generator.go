// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"crypto/aes"
	"crypto/cipher"
	crand "crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"io"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/sampler/internal/chacha8"
)

const (
	// blockBytes is the size of one read of a generator. 8 KB fit the first level cache.
	blockBytes = wordBytes * blockWords
	blockWords = 1024
	wordBytes  = 8
	keyBytes   = 32
	// keyBlocks is the number of blocks made at a time, under one key. A new key of AES costs 0.7
	// µs, most of it for two objects on the heap. For each draw that is 1.4 ns with a key per
	// block, and 0.35 ns with one per 4 blocks; 8 gain nothing more (docs/benchmarks.md).
	keyBlocks = 4
	// refreshKeys is the number of keys after which fresh system entropy is
	// mixed into the next one, so that a copied or exposed state is not good for
	// ever: every 512 KB or 32,768 draws, at the cost of one 32-byte system read.
	refreshKeys = 16
)

// generator is a source of uniform 64-bit words, little-endian, read one block at a time.
type generator interface {
	// read replaces *b by fresh bytes. On error they are not to be used.
	read(b *[blockBytes]byte) error
	// fork returns an independent generator of the same kind.
	fork() (generator, error)
	// name describes the generator for logs.
	name() string
}

// newGenerator returns a generator for releases, freshly seeded.
//
// In constant time it is ChaCha8, whose time and memory accesses are the same for all keys on every
// processor. Those of crypto/aes are so only where the processor has AES instructions, and
// crypto/aes does not tell. In fast mode it is the faster one: ChaCha8 by vectors takes half the time of AES, and
// without them more than three times as much.
func newGenerator(constantTime bool) (generator, error) {
	if constantTime || chacha8.HasVectors {
		return newEraser("ChaCha8", chacha8.Stream, crand.Reader)
	}
	return newEraser("AES-256-CTR", aes256, crand.Reader)
}

// keystream writes the keystream of a cipher over dst, which is zero.
type keystream func(dst []byte, key *[keyBytes]byte)

// eraser is a cipher with fast key erasure (Bernstein, 2017): the first output under every key is
// the next key, so that what was drawn before cannot be computed from the state.
type eraser struct {
	cipher string
	stream keystream
	system io.Reader
	keys   int            // keys until the next refresh
	key    [keyBytes]byte // the next one
	fresh  [keyBytes]byte // zero between refreshes

	ahead [keyBytes + keyBlocks*blockBytes]byte
	pos   int // ahead[:pos], the next key and the blocks that were read, is zero
}

func newEraser(cipher string, stream keystream, system io.Reader) (*eraser, error) {
	g := &eraser{cipher: cipher, stream: stream, system: system}
	g.pos = len(g.ahead)
	return g, g.refresh()
}

func (g *eraser) read(b *[blockBytes]byte) error {
	if g.pos == len(g.ahead) {
		if g.keys == 0 {
			if err := g.refresh(); err != nil {
				return err
			}
		}
		g.keys--
		g.stream(g.ahead[:], &g.key)
		g.pos = copy(g.key[:], g.ahead[:])
		clear(g.ahead[:g.pos])
	}
	block := g.ahead[g.pos : g.pos+blockBytes]
	g.pos += copy(b[:], block)
	clear(block)
	return nil
}

// refresh xors fresh entropy into the key: the result is as good as the better of
// the two. On error the key is unchanged, and the next read tries again.
func (g *eraser) refresh() error {
	defer clear(g.fresh[:])
	if _, err := io.ReadFull(g.system, g.fresh[:]); err != nil {
		return check.Errorf("sampler", nil, "system entropy: %w: %w", ErrEntropy, err)
	}
	for i, f := range g.fresh {
		g.key[i] ^= f
	}
	g.keys = refreshKeys
	return nil
}

func (g *eraser) fork() (generator, error) { return newEraser(g.cipher, g.stream, g.system) }
func (g *eraser) name() string             { return g.cipher + " with fast key erasure" }

// aes256 is AES-256 in counter mode with IV 0. Round keys stay on the heap: nothing erases them.
func aes256(dst []byte, key *[keyBytes]byte) { newCTR(key).XORKeyStream(dst, dst) }

var zeroIV [aes.BlockSize]byte

func newCTR(key *[keyBytes]byte) cipher.Stream {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // only for a wrong key size
	}
	return cipher.NewCTR(block, zeroIV[:]) //nolint:gosec // every key is used once, and the IV is part of the deterministic stream
}

// readerGenerator takes every byte from the caller's source.
type readerGenerator struct{ r io.Reader }

func (g *readerGenerator) read(b *[blockBytes]byte) error {
	if _, err := io.ReadFull(g.r, b[:]); err != nil {
		return check.Errorf("sampler", nil, "entropy reader: %w: %w", ErrEntropy, err)
	}
	return nil
}

func (g *readerGenerator) fork() (generator, error) { return g, nil }
func (g *readerGenerator) name() string             { return "caller's entropy reader" }

// Deterministic returns the Entropy of Options for draws that are a function of the seed.
//
// NEVER USE IT FOR A RELEASE: WHO KNOWS OR GUESSES THE SEED TAKES THE NOISE OFF AGAIN. It is for
// tests and studies.
//
// The words are the keystream of AES-256 in counter mode with key = seed and IV = 0 (what
// encrypting zeros yields), read as little-endian 64-bit integers, on every platform and in both
// modes. Every sampler that is made begins with the first. WriteExport says how words become draws,
// and writes draws to compare with. The i-th Fork, i = 0, 1, …, has as its seed the SHA-256 of
// seed ‖ i, i as 8 little-endian bytes.
func Deterministic(seed [32]byte) io.Reader { return newFixedGenerator(seed) }

// fixedGenerator is the stream of seeds, AES-256 in counter mode, key = seed, IV = 0.
type fixedGenerator struct {
	seed   [keyBytes]byte
	stream cipher.Stream
	forks  uint64
}

func newFixedGenerator(seed [keyBytes]byte) *fixedGenerator {
	return &fixedGenerator{seed: seed, stream: newCTR(&seed)}
}

// Read implements io.Reader.
func (g *fixedGenerator) Read(b []byte) (int, error) {
	clear(b)
	g.stream.XORKeyStream(b, b)
	return len(b), nil
}

func (g *fixedGenerator) read(b *[blockBytes]byte) error {
	_, err := g.Read(b[:])
	return err
}

// fork derives the seed of the i-th fork, i = 0, 1, …, as SHA-256 of the seed
// and i as 8 little-endian bytes, whatever was drawn before.
func (g *fixedGenerator) fork() (generator, error) {
	seed := sha256.Sum256(binary.LittleEndian.AppendUint64(g.seed[:], g.forks))
	g.forks++
	return newFixedGenerator(seed), nil
}

func (g *fixedGenerator) name() string { return "deterministic stream, never for release" }
