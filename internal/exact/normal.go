// SPDX-License-Identifier: Apache-2.0

package exact

import "math/big"

const (
	// NormalBits is the number of binary places of the bounds of NormalTail.
	NormalBits = 160
	// NormalEnd is where the tail, below 2^-190, is less than a unit of those bounds.
	NormalEnd = 16
	// NormalPeakBits is the number of binary places of the bounds of NormalPeak.
	NormalPeakBits = 352
)

// peakDigits are those of 1/√(2π), cut off after 110.
const peakDigits = "39894228040143267793994605993438186847585863116493465766592582967065792589930183850125233390730693643030255886"

// NormalPeak bounds the standard normal density at 0, 1/√(2π), times 2^NormalPeakBits.
func NormalPeak() (low, high *big.Int) {
	digits, ok := new(big.Int).SetString(peakDigits, 10)
	if !ok {
		panic("exact: 1/√(2π) is no number")
	}
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(len(peakDigits))), nil)
	low = digits.Lsh(digits, NormalPeakBits)
	low.Div(low, scale)
	// The digits cut off are less than one of 10^-110 < 2^-365, and the quotient is cut off too.
	return low, new(big.Int).Add(low, big.NewInt(2))
}

// NormalTail bounds the upper tail of the standard normal law, 1 - Φ(a) for a = num/den >= 0:
//
//	low <= (1 - Φ(a))·2^NormalBits <= high.
//
// It sums the series (Abramowitz & Stegun 26.2.10)
//
//	Φ(a) - 1/2 = 1/√(2π) · Σ_k (-1)^k·a·(a²/2)^k / (k!·(2k+1))
//
// with every term bounded on both sides. The largest term is about e^(a²/2), so as many
// places more are carried, up to 185 for NormalEnd. Cost: some 50 µs at a = 9.
func NormalTail(num, den *big.Int) (low, high *big.Int) {
	return normalTail(num, den, NormalBits, 40)
}

// normalTail bounds the tail on both sides whatever the binary places, up to NormalBits, and the guard bits.
func normalTail(num, den *big.Int, places, guard uint) (low, high *big.Int) {
	if new(big.Int).Div(num, den).Cmp(big.NewInt(NormalEnd)) >= 0 {
		return new(big.Int), big.NewInt(1)
	}
	q, _ := new(big.Float).Quo(new(big.Float).SetInt(num), new(big.Float).SetInt(den)).Float64()
	bits := places + guard + uint(0.75*q*q)
	aLow := new(big.Int).Lsh(num, bits)
	aLow.Div(aLow, den)
	aHigh := new(big.Int).Add(aLow, one)
	yLow := new(big.Int).Mul(aLow, aLow)
	yLow.Rsh(yLow, bits+1)
	yHigh := new(big.Int).Mul(aHigh, aHigh)
	ShiftUp(yHigh, bits+1)

	termLow, termHigh := new(big.Int).Set(aLow), new(big.Int).Set(aHigh)
	sumLow, sumHigh := new(big.Int), new(big.Int)
	d, t, two := new(big.Int), new(big.Int), big.NewInt(2)
	for k := int64(0); ; k++ {
		d.SetInt64(2*k + 1)
		if k%2 == 0 {
			sumLow.Add(sumLow, t.Quo(termLow, d))
			sumHigh.Add(sumHigh, DivUp(t, termHigh, d))
		} else {
			sumLow.Sub(sumLow, DivUp(t, termHigh, d))
			sumHigh.Sub(sumHigh, t.Quo(termLow, d))
		}
		d.SetInt64(k + 1)
		termLow.Mul(termLow, yLow).Rsh(termLow, bits)
		termLow.Quo(termLow, d)
		ShiftUp(termHigh.Mul(termHigh, yHigh), bits)
		DivUp(termHigh, termHigh, d)
		// From k = a²/2 on terms fall, and the rest of an alternating series is less than its next.
		if float64(k) > q*q/2+1 && termHigh.Cmp(two) <= 0 {
			sumLow.Sub(sumLow, two)
			sumHigh.Add(sumHigh, two)
			break
		}
	}
	if sumLow.Sign() < 0 {
		sumLow.SetInt64(0)
	}
	half := new(big.Int).Lsh(one, places-1)
	peakLow, peakHigh := NormalPeak()
	down := bits + NormalPeakBits - places
	sumLow.Mul(sumLow, peakLow).Rsh(sumLow, down)
	ShiftUp(sumHigh.Mul(sumHigh, peakHigh), down)
	low, high = sumHigh.Sub(half, sumHigh), sumLow.Sub(half, sumLow)
	if low.Sign() < 0 {
		low.SetInt64(0)
	}
	return low, high
}
