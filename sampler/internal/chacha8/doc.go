// SPDX-License-Identifier: Apache-2.0

// Package chacha8 makes the keystream of ChaCha8Rand, the generator of math/rand/v2
// (https://c2sp.org/chacha8rand), in constant time: with AVX-512 where the processor has it,
// otherwise by that package.
package chacha8
