package sampler

import (
	"crypto/aes"
	"crypto/cipher"
	crand "crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"math/rand/v2"

	"github.com/noisewright/noisewright/internal/check"
)

const (
	// blockBytes is the size of one read of a generator. 8 KB fit the first
	// level cache, and make the cost of a new key per block (about 40 ns)
	// small.
	blockBytes = 8 * blockWords
	blockWords = 1024
	// refreshBlocks is the number of blocks after which the key of a default
	// generator is mixed with fresh system entropy, so that a copied or
	// exposed state is not good for ever: every 512 KB or 32,000 draws, at
	// the cost of one 32-byte system read.
	refreshBlocks = 64
	keyBytes      = 32
	// aesSchedule is the size of the 15 round keys of AES-256 in bytes, and
	// aesBatch the number of words aesKeystream makes at a time.
	aesSchedule = 240
	aesBatch    = 16
)

// generator is a source of uniform 64-bit words, read one block at a time.
type generator interface {
	// read replaces *b by fresh words. On error they are not to be used.
	read(b *[blockWords]uint64) error
	// fork returns an independent generator of the same kind.
	fork() (generator, error)
	// name describes the generator for logs.
	name() string
}

// newGenerator returns the default generator of this processor, freshly seeded.
func newGenerator() (generator, error) {
	if hasAES {
		return newAESGenerator(crand.Reader)
	}
	return newChaChaGenerator(crand.Reader)
}

// refresher mixes system entropy into a key now and then.
type refresher struct {
	system io.Reader
	left   int // blocks until the next refresh, this one included
	fresh  [keyBytes]byte
}

// seed xors fresh entropy into key: the result is as good as the better of the
// two. On error the key is unchanged.
func (r *refresher) seed(key *[keyBytes]byte) error {
	defer clear(r.fresh[:])
	if _, err := io.ReadFull(r.system, r.fresh[:]); err != nil {
		return check.Errorf("sampler", nil, "system entropy: %w: %w", ErrEntropy, err)
	}
	for i, f := range r.fresh {
		key[i] ^= f
	}
	r.left = refreshBlocks
	return nil
}

// next is called with the key of the next block, and seeds it if it is time. On
// error the next call tries again.
func (r *refresher) next(key *[keyBytes]byte) error {
	if r.left > 1 {
		r.left--
		return nil
	}
	return r.seed(key)
}

// aesGenerator is AES-256 in counter mode with fast key erasure (Bernstein,
// 2017): the first output under every key is the next key, so that what was
// drawn before cannot be computed from the state. Each key is used for one
// block, with counters from 0: the key and what is discarded with it, then the
// block.
type aesGenerator struct {
	refresher
	key      [keyBytes]byte
	schedule [aesSchedule]byte // zero between reads
	head     [aesBatch]uint64  // zero between reads
}

func newAESGenerator(system io.Reader) (*aesGenerator, error) {
	g := &aesGenerator{refresher: refresher{system: system}}
	return g, g.seed(&g.key)
}

func (g *aesGenerator) read(b *[blockWords]uint64) error {
	aesExpand(&g.schedule, &g.key)
	aesKeystream(&g.head[0], 1, 0, &g.schedule)
	aesKeystream(&b[0], blockWords/aesBatch, aesBatch/2, &g.schedule)
	for i := range keyBytes / 8 {
		binary.LittleEndian.PutUint64(g.key[8*i:], g.head[i])
	}
	clear(g.head[:])
	clear(g.schedule[:])
	return g.next(&g.key)
}

func (g *aesGenerator) fork() (generator, error) { return newAESGenerator(g.system) }
func (g *aesGenerator) name() string             { return "AES-256-CTR with fast key erasure" }

// chaChaGenerator is ChaCha8 with a new key from its own output after every
// block. Setting the key overwrites the whole state.
type chaChaGenerator struct {
	refresher
	key    [keyBytes]byte // zero between reads
	stream *rand.ChaCha8
}

func newChaChaGenerator(system io.Reader) (*chaChaGenerator, error) {
	g := &chaChaGenerator{refresher: refresher{system: system}}
	defer clear(g.key[:])
	if err := g.seed(&g.key); err != nil {
		return nil, err
	}
	g.stream = rand.NewChaCha8(g.key)
	return g, nil
}

func (g *chaChaGenerator) read(b *[blockWords]uint64) error {
	defer clear(g.key[:])
	for i := range b {
		b[i] = g.stream.Uint64()
	}
	_, _ = g.stream.Read(g.key[:]) // documented never to fail
	if err := g.next(&g.key); err != nil {
		return err
	}
	g.stream.Seed(g.key)
	return nil
}

func (g *chaChaGenerator) fork() (generator, error) { return newChaChaGenerator(g.system) }
func (g *chaChaGenerator) name() string             { return "ChaCha8 with a new key per block" }

// readerGenerator takes every byte from the caller's source.
type readerGenerator struct {
	r     io.Reader
	bytes [blockBytes]byte // zero between reads
}

func (g *readerGenerator) read(b *[blockWords]uint64) error {
	defer clear(g.bytes[:])
	if _, err := io.ReadFull(g.r, g.bytes[:]); err != nil {
		return check.Errorf("sampler", nil, "entropy reader: %w: %w", ErrEntropy, err)
	}
	toWords(b, &g.bytes)
	return nil
}

func (g *readerGenerator) fork() (generator, error) { return &readerGenerator{r: g.r}, nil }
func (g *readerGenerator) name() string             { return "caller's entropy reader" }

// fixedGenerator is the deterministic stream: the keystream of AES-256 in
// counter mode, key = seed, IV = 0.
type fixedGenerator struct {
	seed   [keyBytes]byte
	stream cipher.Stream
	bytes  [blockBytes]byte
	forks  uint64
}

func newFixedGenerator(seed [keyBytes]byte) *fixedGenerator {
	block, err := aes.NewCipher(seed[:])
	if err != nil {
		panic(err) // only for a wrong key size
	}
	iv := make([]byte, aes.BlockSize)
	return &fixedGenerator{seed: seed, stream: cipher.NewCTR(block, iv)} //nolint:gosec // the IV is part of the documented stream
}

func (g *fixedGenerator) read(b *[blockWords]uint64) error {
	clear(g.bytes[:])
	g.stream.XORKeyStream(g.bytes[:], g.bytes[:])
	toWords(b, &g.bytes)
	return nil
}

// fork derives the seed of the i-th fork, i = 0, 1, …, as SHA-256 of the seed
// and i as 8 little-endian bytes, whatever was drawn before.
func (g *fixedGenerator) fork() (generator, error) {
	seed := sha256.Sum256(binary.LittleEndian.AppendUint64(g.seed[:], g.forks))
	g.forks++
	return newFixedGenerator(seed), nil
}

func (g *fixedGenerator) name() string { return "deterministic stream, never for release" }

// toWords reads bytes as little-endian words.
func toWords(dst *[blockWords]uint64, src *[blockBytes]byte) {
	for i := range dst {
		dst[i] = binary.LittleEndian.Uint64(src[8*i:])
	}
}
