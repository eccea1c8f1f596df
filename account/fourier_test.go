// SPDX-License-Identifier: Apache-2.0

package account

import (
	"math"
	"math/big"
	"math/rand"
	"testing"

	"gonum.org/v1/gonum/dsp/fourier"
)

// roots returns e^(−2πi·j/n), 0 <= j < n = 2^k, in 200 bits, by halving angles.
func roots(n int) [][2]*big.Float {
	number := func(x float64) *big.Float { return new(big.Float).SetPrec(200).SetFloat64(x) }
	half := func(x *big.Float) *big.Float { // cos(t/2) from cos t
		y := new(big.Float).Add(number(1), x)
		return y.Sqrt(y.Mul(y, number(0.5)))
	}
	out := make([][2]*big.Float, n)
	out[0] = [2]*big.Float{number(1), number(0)}
	out[n/2] = [2]*big.Float{number(-1), number(0)}
	out[n/4] = [2]*big.Float{number(0), number(-1)}
	out[3*n/4] = [2]*big.Float{number(0), number(1)}
	cos := number(0)
	for step := n / 8; step >= 1; step /= 2 {
		cos = half(cos) // of 2π·step/n
		sin := new(big.Float).Sub(number(1), new(big.Float).Mul(cos, cos))
		sin.Sqrt(sin)
		w := [2]*big.Float{cos, sin.Neg(sin)}
		for j := step; j < n; j += 2 * step {
			out[j] = times(out[j-step], w)
		}
	}
	return out
}

func times(a, b [2]*big.Float) [2]*big.Float {
	mul := func(x, y *big.Float) *big.Float { return new(big.Float).Mul(x, y) }
	return [2]*big.Float{
		new(big.Float).Sub(mul(a[0], b[0]), mul(a[1], b[1])),
		new(big.Float).Add(mul(a[0], b[1]), mul(a[1], b[0])),
	}
}

// TestTransformError holds gonum's transform against one in 200 bits: what
// transformError states is true with room to spare, and not much too large.
func TestTransformError(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	r := rand.New(rand.NewSource(1))
	for _, n := range []int{16, 32, 64, 128, 256} {
		w := roots(n)
		for kind := range 5 {
			x := make([]complex128, n)
			for i := range x {
				switch kind {
				case 0: // a law
					x[i] = complex(math.Exp(-float64(i)/7), 0)
				case 1: // one point
					if i == n-1 {
						x[i] = 1
					}
				case 2:
					x[i] = complex(r.NormFloat64(), r.NormFloat64())
				case 3: // everything of one sign, so that sums are large
					x[i] = complex(1/3.0, 0)
				case 4: // of one frequency, where all but one value cancel
					re, _ := w[(i*(n/2-1))%n][0].Float64()
					im, _ := w[(i*(n/2-1))%n][1].Float64()
					x[i] = complex(re, im)
				}
			}
			got := fourier.NewCmplxFFT(n).Coefficients(nil, x)
			wrong, norm := 0.0, 0.0
			for j := range n {
				sum := [2]*big.Float{new(big.Float).SetPrec(200), new(big.Float).SetPrec(200)}
				for i, v := range x {
					term := times([2]*big.Float{big.NewFloat(real(v)).SetPrec(200), big.NewFloat(imag(v)).SetPrec(200)}, w[i*j%n])
					sum[0].Add(sum[0], term[0])
					sum[1].Add(sum[1], term[1])
				}
				re, _ := new(big.Float).Sub(sum[0], big.NewFloat(real(got[j]))).Float64()
				im, _ := new(big.Float).Sub(sum[1], big.NewFloat(imag(got[j]))).Float64()
				wrong += re*re + im*im
				a, _ := sum[0].Float64()
				b, _ := sum[1].Float64()
				norm += a*a + b*b
			}
			if relative := math.Sqrt(wrong / norm); relative > transformError(n)/4 {
				t.Errorf("n = %d, kind %d: relative error %.3g, bound %.3g", n, kind, relative, transformError(n))
			}
		}
	}
}

// Both ways, up to the longest transform: the errors of either add up.
func TestTransformRoundTrip(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	r := rand.New(rand.NewSource(2))
	for n := 1 << 11; n <= maxLength/4; n *= 4 {
		for _, n := range []int{n, 2 * n} {
			x := make([]complex128, n)
			for i := range x {
				x[i] = complex(r.Float64(), r.Float64())
			}
			fft := fourier.NewCmplxFFT(n)
			y := fft.Sequence(nil, fft.Coefficients(nil, x))
			wrong, norm := 0.0, 0.0
			for i := range x {
				d := y[i]/complex(float64(n), 0) - x[i]
				wrong += real(d)*real(d) + imag(d)*imag(d)
				norm += real(x[i])*real(x[i]) + imag(x[i])*imag(x[i])
			}
			if relative := math.Sqrt(wrong / norm); relative > transformError(n)/4 {
				t.Errorf("n = %d: relative error %.3g, bound %.3g for each way", n, relative, transformError(n))
			}
		}
	}
}

// TestConvolution holds a tilted composition against direct convolution of the
// same masses: sums, noise and slack.
func TestConvolution(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	d := &pmf{step: 0.25, first: -3, mass: make([]float64, 9)}
	for i := range d.mass {
		d.mass[i] = r.Float64() / 9
	}
	d.infinityMass = 1e-3
	const times = 6
	sum := []float64{1}
	for range times {
		next := make([]float64, len(sum)+8)
		for i, a := range sum {
			for j, b := range d.mass {
				next[i+j] += a * b
			}
		}
		sum = next
	}
	for _, theta := range []float64{0.01, 1, 7, 40} {
		c, err := parts{{d, times}}.compose(theta, maxLength)
		if err != nil {
			t.Fatal(err)
		}
		for _, epsilon := range []float64{0, 0.1, 0.25, 3, 7.4, 7.5, 8} {
			want := 0.0
			for i, m := range sum {
				want += m * math.Max(0, -math.Expm1(epsilon-0.25*float64(i-3*times)))
			}
			value, margin := c.hockey(epsilon)
			if math.Abs(value-want) > margin+1e-14*want {
				t.Errorf("theta %g, epsilon %g: %g ± %g, want %g", theta, epsilon, value, margin, want)
			}
		}
	}
}

// The largest loss may be the ε asked for, but for a rounding.
func TestHockeyNextToALoss(t *testing.T) {
	d := &pmf{step: 0.1, first: 1, mass: []float64{0.5, 0, 0.5}}
	c, err := parts{{d, 3}}.compose(1, maxLength)
	if err != nil {
		t.Fatal(err)
	}
	step := new(big.Float).SetPrec(200).SetFloat64(d.step)
	top := new(big.Float).Mul(step, big.NewFloat(9))
	for e, i := 0.9, -8; i <= 8; i++ {
		e = math.Float64frombits(math.Float64bits(0.9) + uint64(int64(i)))
		gap, _ := new(big.Float).Sub(top, big.NewFloat(e)).Float64()
		want := 0.125 * math.Max(0, gap)
		value, margin := c.hockey(e)
		if math.Abs(value-want) > margin {
			t.Errorf("epsilon %v: %g ± %g, want %g", e, value, margin, want)
		}
	}
}
