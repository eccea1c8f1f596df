// SPDX-License-Identifier: Apache-2.0

//go:build !amd64 || purego

package chacha8

// HasVectors says that the stream is made by vectors.
const HasVectors = false

func group([]byte, *[KeyBytes]byte) { panic("chacha8: no vector code") } // nobody calls it
