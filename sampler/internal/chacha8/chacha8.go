// SPDX-License-Identifier: Apache-2.0

package chacha8

import (
	"encoding/binary"
	"math/rand/v2"
)

const (
	// KeyBytes is the size of a key.
	KeyBytes = 32
	// groupBytes is what one key of ChaCha8Rand yields: sixteen blocks, at their end the next key.
	groupBytes = 1024
	yieldBytes = groupBytes - KeyBytes
)

// Stream writes the keystream of a key over dst, a multiple of 8 bytes, and leaves nothing
// else of it in memory.
func Stream(dst []byte, key *[KeyBytes]byte) { stream(dst, key, HasVectors) }

func stream(dst []byte, key *[KeyBytes]byte, vectors bool) {
	if vectors {
		streamVectors(dst, key)
		return
	}
	c := rand.NewChaCha8(*key)
	for i := 0; i < len(dst); i += 8 {
		binary.LittleEndian.PutUint64(dst[i:], c.Uint64())
	}
	c.Seed([KeyBytes]byte{}) // overwrites the whole state
}

func streamVectors(dst []byte, key *[KeyBytes]byte) {
	k := *key
	for len(dst) >= groupBytes {
		// The next key comes where the next group begins.
		group(dst, &k)
		copy(k[:], dst[yieldBytes:groupBytes])
		dst = dst[yieldBytes:]
	}
	for len(dst) > 0 {
		var last [groupBytes]byte
		group(last[:], &k)
		n := copy(dst, last[:yieldBytes])
		copy(k[:], last[yieldBytes:])
		clear(last[:])
		dst = dst[n:]
	}
	clear(k[:])
}
