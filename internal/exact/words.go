// SPDX-License-Identifier: Apache-2.0

package exact

import (
	"math/big"
	"math/bits"
)

// Uint128 is an unsigned integer of two words, such as a sum of weights.
type Uint128 struct{ Hi, Lo uint64 }

// Mul64 returns a·b.
func Mul64(a, b uint64) Uint128 {
	hi, lo := bits.Mul64(a, b)
	return Uint128{hi, lo}
}

// Add64 adds w, modulo 2^128.
func (a *Uint128) Add64(w uint64) {
	var c uint64
	a.Lo, c = bits.Add64(a.Lo, w, 0)
	a.Hi += c
}

// Add adds b, modulo 2^128.
func (a *Uint128) Add(b Uint128) {
	var c uint64
	a.Lo, c = bits.Add64(a.Lo, b.Lo, 0)
	a.Hi += b.Hi + c
}

// Less reports whether a < b.
func (a Uint128) Less(b Uint128) bool { return a.Hi < b.Hi || (a.Hi == b.Hi && a.Lo < b.Lo) }

// Big returns a as a big integer.
func (a Uint128) Big() *big.Int {
	b := new(big.Int).SetUint64(a.Hi)
	return b.Lsh(b, 64).Add(b, new(big.Int).SetUint64(a.Lo))
}

// Float64 returns a to a relative error of 2^-52.
func (a Uint128) Float64() float64 { return float64(a.Hi)*0x1p64 + float64(a.Lo) }

// Uint192 is a sum of Uint128s.
type Uint192 struct {
	top  uint64
	rest Uint128
}

// Add adds b, modulo 2^192.
func (a *Uint192) Add(b Uint128) {
	var c uint64
	a.rest.Lo, c = bits.Add64(a.rest.Lo, b.Lo, 0)
	a.rest.Hi, c = bits.Add64(a.rest.Hi, b.Hi, c)
	a.top += c
}

// Big returns a as a big integer.
func (a Uint192) Big() *big.Int {
	b := new(big.Int).SetUint64(a.top)
	return b.Lsh(b, 128).Add(b, a.rest.Big())
}
