package sampler

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	crand "crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
)

// newSystem stands for the system's entropy, endless and repeatable.
func newSystem() io.Reader { return rand.NewChaCha8([32]byte{1, 2, 3}) }

// ctr returns n bytes of the keystream of AES-256-CTR with IV 0.
func ctr(key []byte, n int) []byte {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err)
	}
	out := make([]byte, n)
	cipher.NewCTR(block, make([]byte, 16)).XORKeyStream(out, out)
	return out
}

func asBytes(words []uint64) []byte {
	var b []byte
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

func needAES(tb testing.TB) {
	tb.Helper()
	if !hasAES {
		tb.Skip("no AES instructions")
	}
}

// TestAESKeystream compares the assembly with crypto/aes, and that no byte
// beyond the batches is touched.
func TestAESKeystream(t *testing.T) {
	needAES(t)
	rng := rand.NewChaCha8([32]byte{7})
	for batches := range 66 {
		var key [keyBytes]byte
		_, _ = rng.Read(key[:])
		var schedule [aesSchedule]byte
		aesExpand(&schedule, &key)
		skip := batches % 5
		words := make([]uint64, aesBatch*(batches+1))
		aesKeystream(&words[0], batches, uint64(aesBatch/2*skip), &schedule)
		want := ctr(key[:], 128*(batches+skip))[128*skip:]
		want = append(want, make([]byte, 128)...)
		if !bytes.Equal(asBytes(words), want) {
			t.Fatalf("%d batches from batch %d differ from crypto/aes", batches, skip)
		}
	}
}

// TestAESKeystreamCarry crosses the boundaries of the counter's bytes.
func TestAESKeystreamCarry(t *testing.T) {
	needAES(t)
	var key [keyBytes]byte
	key[0] = 1
	block, err := aes.NewCipher(key[:])
	if err != nil {
		t.Fatal(err)
	}
	var schedule [aesSchedule]byte
	aesExpand(&schedule, &key)
	for _, counter := range []uint64{0xfc, 0xfffc, 1<<32 - 4, 1<<56 - 3, 1<<63 - 1} {
		var words [aesBatch]uint64
		aesKeystream(&words[0], 1, counter, &schedule)
		var want []byte
		for i := range uint64(8) {
			var in, out [16]byte
			binary.BigEndian.PutUint64(in[8:], counter+i)
			block.Encrypt(out[:], in[:])
			want = append(want, out[:]...)
		}
		if !bytes.Equal(asBytes(words[:]), want) {
			t.Errorf("counter %#x differs from crypto/aes", counter)
		}
	}
}

// TestAESGenerator replays the generator with crypto/aes: the key of a block is
// the head of the stream before, mixed with system entropy every refreshBlocks,
// and nothing of a used key stays behind.
func TestAESGenerator(t *testing.T) {
	needAES(t)
	g, err := newAESGenerator(newSystem())
	if err != nil {
		t.Fatal(err)
	}
	system := newSystem()
	key, fresh := make([]byte, keyBytes), make([]byte, keyBytes)
	for i := range 3*refreshBlocks + 2 {
		if i%refreshBlocks == 0 {
			if _, err := io.ReadFull(system, fresh); err != nil {
				t.Fatal(err)
			}
			for j := range key {
				key[j] ^= fresh[j]
			}
		}
		if !bytes.Equal(g.key[:], key) {
			t.Fatalf("the key of block %d is not the head of the stream before", i)
		}
		var block [blockWords]uint64
		if err := g.read(&block); err != nil {
			t.Fatal(err)
		}
		stream := ctr(key, 128+blockBytes)
		if !bytes.Equal(asBytes(block[:]), stream[128:]) {
			t.Fatalf("block %d is not the keystream", i)
		}
		key = stream[:keyBytes]
		if g.schedule != [aesSchedule]byte{} || g.head != [aesBatch]uint64{} || g.fresh != [keyBytes]byte{} {
			t.Fatalf("after block %d a used key is left in memory", i)
		}
	}
}

// TestChaChaGenerator replays the generator.
func TestChaChaGenerator(t *testing.T) {
	g, err := newChaChaGenerator(newSystem())
	if err != nil {
		t.Fatal(err)
	}
	system := newSystem()
	var key, fresh [keyBytes]byte
	_, _ = io.ReadFull(system, key[:])
	for i := range 2*refreshBlocks + 2 {
		stream := rand.NewChaCha8(key)
		var block [blockWords]uint64
		if err := g.read(&block); err != nil {
			t.Fatal(err)
		}
		for j, w := range block {
			if want := stream.Uint64(); w != want {
				t.Fatalf("word %d of block %d = %#x, want %#x", j, i, w, want)
			}
		}
		_, _ = stream.Read(key[:])
		if (i+1)%refreshBlocks == 0 {
			_, _ = io.ReadFull(system, fresh[:])
			for j := range key {
				key[j] ^= fresh[j]
			}
		}
		if g.key != [keyBytes]byte{} || g.fresh != [keyBytes]byte{} {
			t.Fatalf("after block %d a key is left in memory", i)
		}
	}
}

// failing is entropy that ends after some bytes.
func failing(n int64) io.Reader { return io.LimitReader(newSystem(), n) }

// TestRefreshFailure checks that a generator that cannot be seeded or refreshed
// says so, and goes on once it can.
func TestRefreshFailure(t *testing.T) {
	kinds := map[string]func(io.Reader) (generator, error){
		"chacha8": func(r io.Reader) (generator, error) { return newChaChaGenerator(r) },
	}
	if hasAES {
		kinds["aes"] = func(r io.Reader) (generator, error) { return newAESGenerator(r) }
	}
	tab := laplaceTable(t, 5, 1, 0)
	for name, fresh := range kinds {
		if _, err := fresh(failing(31)); !errors.Is(err, ErrEntropy) {
			t.Errorf("%s: seeded with 31 bytes: %v, want ErrEntropy", name, err)
		}
		g, err := fresh(failing(40))
		if err != nil {
			t.Fatal(err)
		}
		s := newSampler(tab, newLaw(tab), g, false)
		dst := make([]float64, (refreshBlocks+1)*blockWords/2)
		if err := s.Fill(dst); !errors.Is(err, ErrEntropy) {
			t.Errorf("%s: %v, want ErrEntropy", name, err)
		}
		checkWiped(t, s)
		for i, x := range dst {
			if x != 0 {
				t.Fatalf("%s: after a failure dst[%d] = %g, want 0", name, i, x)
			}
		}
		switch g := g.(type) {
		case *aesGenerator:
			g.system = newSystem()
		case *chaChaGenerator:
			g.system = newSystem()
		}
		if err := s.Fill(dst); err != nil {
			t.Errorf("%s: with entropy back: %v", name, err)
		}
	}
}

func TestDefaultGenerator(t *testing.T) {
	g, err := newGenerator()
	if err != nil {
		t.Fatal(err)
	}
	want := "*sampler.chaChaGenerator"
	if hasAES {
		want = "*sampler.aesGenerator"
	}
	switch g := g.(type) {
	case *aesGenerator:
		if !hasAES || g.system != crand.Reader {
			t.Errorf("default generator = %T, want %s seeded from crypto/rand", g, want)
		}
	case *chaChaGenerator:
		if hasAES || g.system != crand.Reader {
			t.Errorf("default generator = %T, want %s seeded from crypto/rand", g, want)
		}
	default:
		t.Errorf("default generator = %T, want %s", g, want)
	}
}

// TestFixedGenerator checks the stream against single blocks of the cipher.
func TestFixedGenerator(t *testing.T) {
	seed := [32]byte{5, 6, 7}
	block, err := aes.NewCipher(seed[:])
	if err != nil {
		t.Fatal(err)
	}
	g := newFixedGenerator(seed)
	counter := uint64(0)
	for range 3 {
		var words [blockWords]uint64
		if err := g.read(&words); err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(words); i += 2 {
			var b [16]byte
			binary.BigEndian.PutUint64(b[8:], counter)
			block.Encrypt(b[:], b[:])
			if words[i] != binary.LittleEndian.Uint64(b[:]) || words[i+1] != binary.LittleEndian.Uint64(b[8:]) {
				t.Fatalf("block %d of the stream differs", counter)
			}
			counter++
		}
	}
}
