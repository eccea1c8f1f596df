// SPDX-License-Identifier: Apache-2.0

//go:build !purego

package chacha8

import "golang.org/x/sys/cpu"

// HasVectors says that the stream is made by vectors, twice as fast as AES.
var HasVectors = cpu.X86.HasAVX512F

// group writes the sixteen blocks of a key, as ChaCha8Rand permutes them.
func group(dst []byte, key *[KeyBytes]byte) { groupAVX512((*[groupBytes]byte)(dst), key) }

//go:noescape
func groupAVX512(dst *[groupBytes]byte, key *[KeyBytes]byte)
