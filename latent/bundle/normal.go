package bundle

import "math/big"

// cdfBits is the number of binary places of the bounds of normal.
const cdfBits = 160

// farOut is where the tail of the normal law, below 2^-190, is less than a unit of
// those bounds.
const farOut = 16

// densityAtZero is 1/√(2π), cut off after 110 digits.
const (
	densityAtZero       = "39894228040143267793994605993438186847585863116493465766592582967065792589930183850125233390730693643030255886"
	densityAtZeroDigits = 110
	densityBits         = 352
)

// normal evaluates the distribution function Φ of the standard normal law, between
// integer bounds.
type normal struct {
	low, high *big.Int // 1/√(2π), times 2^densityBits
}

func newNormal() normal {
	digits, ok := new(big.Int).SetString(densityAtZero, 10)
	if !ok {
		panic("bundle: 1/√(2π) is no number")
	}
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(densityAtZeroDigits), nil)
	low := digits.Lsh(digits, densityBits)
	low.Div(low, scale)
	// The digits cut off are less than one of 10^-110 < 2^-365, and the quotient
	// is cut off too.
	return normal{low, new(big.Int).Add(low, big.NewInt(2))}
}

// upperTail bounds 1 - Φ(a), a = num/den >= 0:
//
//	low <= (1 - Φ(a))·2^cdfBits <= high.
//
// It sums the series (Abramowitz & Stegun 26.2.10)
//
//	Φ(a) - 1/2 = 1/√(2π) · Σ_k (-1)^k·a·(a²/2)^k / (k!·(2k+1))
//
// with every term bounded on both sides. The largest term is about e^(a²/2), so as many
// places more are carried, up to 185 for farOut. Cost: some 50 µs at a = 9.
func (f normal) upperTail(num, den *big.Int) (low, high *big.Int) {
	if new(big.Int).Div(num, den).Cmp(big.NewInt(farOut)) >= 0 {
		return new(big.Int), big.NewInt(1)
	}
	q, _ := new(big.Float).Quo(new(big.Float).SetInt(num), new(big.Float).SetInt(den)).Float64()
	bits := uint(cdfBits + 40 + 0.75*q*q)
	aLow := new(big.Int).Lsh(num, bits)
	aLow.Div(aLow, den)
	aHigh := new(big.Int).Add(aLow, one)
	yLow := new(big.Int).Mul(aLow, aLow)
	yLow.Rsh(yLow, bits+1)
	yHigh := new(big.Int).Mul(aHigh, aHigh)
	shiftUp(yHigh, bits+1)

	termLow, termHigh := new(big.Int).Set(aLow), new(big.Int).Set(aHigh)
	sumLow, sumHigh := new(big.Int), new(big.Int)
	d, t := new(big.Int), new(big.Int)
	for k := int64(0); ; k++ {
		d.SetInt64(2*k + 1)
		if k%2 == 0 {
			sumLow.Add(sumLow, t.Quo(termLow, d))
			sumHigh.Add(sumHigh, divUp(t, termHigh, d))
		} else {
			sumLow.Sub(sumLow, divUp(t, termHigh, d))
			sumHigh.Sub(sumHigh, t.Quo(termLow, d))
		}
		d.SetInt64(k + 1)
		termLow.Mul(termLow, yLow).Rsh(termLow, bits)
		termLow.Quo(termLow, d)
		shiftUp(termHigh.Mul(termHigh, yHigh), bits)
		divUp(termHigh, termHigh, d)
		// From k = a²/2 on the terms fall, and what is left of an alternating series
		// is less than its next term.
		if float64(k) > q*q/2+1 && termHigh.Cmp(two) <= 0 {
			sumLow.Sub(sumLow, two)
			sumHigh.Add(sumHigh, two)
			break
		}
	}
	if sumLow.Sign() < 0 {
		sumLow.SetInt64(0)
	}
	half := new(big.Int).Lsh(one, cdfBits-1)
	down := bits + densityBits - cdfBits
	sumLow.Mul(sumLow, f.low).Rsh(sumLow, down)
	shiftUp(sumHigh.Mul(sumHigh, f.high), down)
	low, high = sumHigh.Sub(half, sumHigh), sumLow.Sub(half, sumLow)
	if low.Sign() < 0 {
		low.SetInt64(0)
	}
	return low, high
}

var (
	one = big.NewInt(1)
	two = big.NewInt(2)
)

// shiftUp sets x to ⌈x/2^n⌉ for x >= 0.
func shiftUp(x *big.Int, n uint) *big.Int {
	exact := x.Sign() == 0 || x.TrailingZeroBits() >= n
	x.Rsh(x, n)
	if !exact {
		x.Add(x, one)
	}
	return x
}

// divUp sets z to ⌈x/d⌉ for x >= 0 and d > 0.
func divUp(z, x, d *big.Int) *big.Int {
	var rest big.Int
	z.QuoRem(x, d, &rest)
	if rest.Sign() != 0 {
		z.Add(z, one)
	}
	return z
}
