// SPDX-License-Identifier: Apache-2.0

package exact

import "math/big"

const (
	// angleHalvings are the steps tan φ → tan φ/2 before the series.
	angleHalvings = 5
	// angleGuard is the extra precision of AngleDown. In units of the last place carried, the first
	// tangent is off by at most 2; each halving leaves at most half of that, and 5/4 more for its root and quotient,
	// so the last is off by at most 5/2. A power of the series is off by at most 2 and its term by at most 2, and there are
	// at most places/10 + 2 < 128 of these before what is left is less than 2: the sum is off by less than 2^9, and the
	// angle by 2^(10+angleHalvings), a sixteenth of the places asked for.
	angleGuard = 14 + angleHalvings
	// MaxAngleBits bounds the places of AngleDown.
	MaxAngleBits = 1 << 10
)

// AngleDown returns an integer M with M·2^-bits <= θ <= (M+2)·2^-bits, θ from 0 to π/2 being the angle with
// the cosine c/h >= 0 and the sine s/h > 0, of which squareOfSine is s² = h² − c². It panics for more than
// MaxAngleBits.
func AngleDown(c, squareOfSine, h *big.Int, bits uint) *big.Int {
	if bits > MaxAngleBits {
		panic("exact: an angle of too many places")
	}
	places := bits + angleGuard
	// tan(θ/2) = sin θ/(1 + cos θ) <= 1.
	t := new(big.Int).Lsh(squareOfSine, 2*places)
	t = sqrt(t)
	t.Quo(t, new(big.Int).Add(h, c))
	unit, square := new(big.Int).Lsh(one, places), new(big.Int).Lsh(one, 2*places)
	root := new(big.Int)
	for range angleHalvings {
		// tan(φ/2) = tan φ/(1 + √(1 + tan²φ)).
		root.Mul(t, t)
		root = sqrt(root.Add(root, square))
		t.Lsh(t, places).Quo(t, root.Add(root, unit))
	}
	// φ = t − t³/3 + t⁵/5 − …, of t < tan(π/128) < 2^-5.
	t2 := new(big.Int).Mul(t, t)
	t2.Rsh(t2, places)
	sum, power, term, d := new(big.Int).Set(t), t, new(big.Int), new(big.Int)
	for k := int64(3); ; k += 2 {
		power.Mul(power, t2).Rsh(power, places)
		if power.Sign() == 0 {
			break
		}
		term.Quo(power, d.SetInt64(k))
		if k%4 == 3 {
			sum.Sub(sum, term)
		} else {
			sum.Add(sum, term)
		}
	}
	sum.Lsh(sum, angleHalvings+1)
	return sum.Sub(sum, new(big.Int).Lsh(one, angleGuard-1)).Rsh(sum, angleGuard)
}
