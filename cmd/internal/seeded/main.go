// SPDX-License-Identifier: Apache-2.0

// Command seeded is the program noisewright with the random words of a seed, for tests that
// compare two ways to one answer. WHAT IT RELEASES IS NOT PRIVATE: it is built by tests alone.
package main

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	random "math/rand/v2"
	"os"
	"sync"

	"github.com/noisewright/noisewright/cmd/internal/cli"
)

const variable = "NOISEWRIGHT_TEST_SEED"

// words are those of ChaCha8 for a seed.
type words struct {
	mu     sync.Mutex
	source *random.ChaCha8
}

// Read implements io.Reader.
func (w *words) Read(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.source.Read(p)
}

func main() {
	seed, ok := os.LookupEnv(variable)
	if !ok {
		fmt.Fprintf(os.Stderr, "error: %s is missing, want a seed: this program is for tests\n", variable)
		os.Exit(2)
	}
	rand.Reader = &words{source: random.NewChaCha8(sha256.Sum256([]byte(seed)))}
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
