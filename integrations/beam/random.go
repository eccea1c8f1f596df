package noisebeam

import (
	cryptorand "crypto/rand"
	"math/rand/v2"
	"sync"
)

// choices is the randomness by which contributions are chosen. No secret depends on it:
// privacy holds for every choice that looks at one person alone, so its generator need not
// be of release grade, but has to be seeded afresh in every process.
var choices = struct {
	sync.Mutex
	*rand.ChaCha8
}{ChaCha8: rand.NewChaCha8(seed())}

func seed() (s [32]byte) {
	_, _ = cryptorand.Read(s[:]) // never fails
	return s
}

// random returns a uniform word.
func random() uint64 {
	choices.Lock()
	defer choices.Unlock()
	return choices.Uint64()
}

// newSeed returns a seed of the partitions that are chosen.
func newSeed() []byte {
	s := seed()
	return s[:]
}
