// SPDX-License-Identifier: Apache-2.0

// Package keyed has randomness that repeats: a function of a secret and of what it is for. Who is
// asked again, such as a worker that takes over the work of another, answers the same.
//
// Sums are HMAC-SHA-256 of the secret and an encoding that no two lists of texts share.
// HMAC is a pseudorandom function if the compression function of SHA-256 is one (Bellare
// 2006): who does not know the secret cannot tell sums of different lists from independent
// uniform ones, so neither what is read from a Stream, which is ChaCha8 with a sum as its
// key. docs/proofs/beam.md has what follows for releases.
package keyed

import (
	"crypto/hmac"
	cryptorand "crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
)

// Size is the number of bytes of a Secret and of a sum.
const Size = sha256.Size

// Secret is 256 bits that nobody may know from whom something is to be kept.
type Secret [Size]byte

// New returns a Secret from the system's generator.
func New() (s Secret) {
	_, _ = cryptorand.Read(s[:]) // never fails
	return s
}

// Sum returns the random bytes that are for these texts, the first of which says for
// what purpose. Lists that differ in a text, or in where one ends, have independent sums.
func (s Secret) Sum(texts ...string) [Size]byte {
	mac := hmac.New(sha256.New, s[:])
	var b []byte
	for _, t := range texts {
		b = binary.LittleEndian.AppendUint64(b[:0], uint64(len(t)))
		mac.Write(append(b, t...)) // of a hash, never fails
	}
	var out [Size]byte
	mac.Sum(out[:0])
	return out
}

// Stream returns the random bytes that are for these texts, as many as wanted, unlike their Sum.
func (s Secret) Stream(texts ...string) *rand.ChaCha8 {
	return rand.NewChaCha8(s.Sum(texts...)) //nolint:gosec // cryptographic, and its key is secret
}
