// SPDX-License-Identifier: Apache-2.0

package account

import (
	"math"
	"math/cmplx"
	"testing"

	"gonum.org/v1/gonum/dsp/fourier"
)

// stated holds a number against the formula of its proof (docs/proofs/composition.md).
func stated(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-7*math.Abs(want)) {
		t.Errorf("%s = %.12g, want %.12g", what, got, want)
	}
}

// TestMarginsOfConvolution: the noise, the slack and the exponents of a convolution are those of its proof.
func TestMarginsOfConvolution(t *testing.T) {
	list := parts{
		{&pmf{step: 0.25, first: -3, mass: []float64{0.1, 0, 0.2, 0.05, 0.15, 0.1, 0.2, 0.1}, infinityMass: 0.01}, 3},
		{&pmf{step: 0.25, first: 2, mass: []float64{0.3, 0.5, 0.1}, infinityMass: 0.02}, 5},
	}
	for _, theta := range []float64{0.2, 3} {
		c, err := list.compose(theta, maxLength)
		if err != nil {
			t.Fatal(err)
		}
		n := len(c.mass)
		slack, most, exponents, whole, finite := 0.0, 0.0, 0.0, 1.0, 1.0
		product, bound := make([]complex128, n), make([]float64, n)
		for i := range product {
			product[i], bound[i] = 1, 1
		}
		passes := math.Ceil(math.Log2(float64(n)) / 2)
		rho := 64 * 0x1p-53 * (passes + 1)
		for _, p := range list {
			logM, _ := p.measure.logMoment(theta)
			times := float64(p.times)
			extreme, norm := 0.0, 0.0
			tilted := make([]complex128, n)
			for i, m := range p.measure.mass {
				if m > 0 {
					x := theta * 0.25 * float64(p.measure.first+i)
					extreme = math.Max(extreme, math.Abs(x)+math.Abs(logM))
					tilted[((p.measure.first+i)%n+n)%n] += complex(m*math.Exp(x-logM), 0)
				}
			}
			for _, a := range tilted {
				norm += real(a) * real(a)
			}
			slack += times * (16 + 4*extreme + float64(len(p.measure.mass)/n+1)) * 0x1p-53
			exponents += times * math.Abs(logM)
			most += times * float64(p.measure.first+len(p.measure.mass)-1) * 0.25
			total := p.measure.total()
			whole *= math.Pow(total, times)
			finite *= math.Pow(total-p.measure.infinityMass, times)
			exponents += times * math.Abs(math.Log(total))
			e := rho * math.Sqrt(norm*float64(n))
			for i, s := range fourier.NewCmplxFFT(n).Coefficients(nil, tilted) {
				product[i] *= cmplx.Pow(s, complex(times, 0))
				bound[i] *= math.Pow(cmplx.Abs(s)+e, times)
			}
		}
		wrong, size := 0.0, 0.0
		for i, s := range product {
			d := math.Max(0, bound[i]-cmplx.Abs(s)) + 2*8*0x1p-53*(8+4)*bound[i]
			wrong += d * d
			size += real(s)*real(s) + imag(s)*imag(s)
		}
		noise := (math.Sqrt(wrong) + rho*math.Sqrt(size)) / math.Sqrt(float64(n))
		if math.Abs(c.noise/noise-1) > 0.02 { // bound and the modulus are close to each other
			t.Errorf("noise %g, want %g", c.noise, noise)
		}
		stated(t, "slack", c.slack, slack)
		stated(t, "exponents", c.exponents, exponents)
		if !(c.most > most && c.most <= most*(1+0x1p-29)) {
			t.Errorf("most %v, want a little more than %v", c.most, most)
		}
		if n < 16 || n > 128 {
			t.Errorf("a transform of %d points", n)
		}
		stated(t, "mass at infinity", c.infinityMass, whole-finite)
	}
	for n, passes := range map[int]float64{16: 2, 32: 3, 64: 3, 128: 4, 1 << 20: 10} {
		stated(t, "transform error", transformError(n), 64*0x1p-53*(passes+1))
	}
}

// TestMarginsOfHockey: each part of the margin is that of its proof, where the others are small.
func TestMarginsOfHockey(t *testing.T) {
	for _, theta := range []float64{0.3, 2, 17} {
		for _, epsilon := range []float64{0, 0.26, 1.1} {
			mass := make([]float64, 32)
			peak := math.Exp(-theta*math.Log1p(1/theta) - math.Log1p(theta))
			factor := math.Exp(-theta * epsilon)
			c := &composed{step: 0.125, theta: theta, first: -4, mass: mass, noise: 1e-3, kinds: 1, releases: 1, most: 1e9}
			squares := peak*peak + 2/(2*theta*(2*theta+1)*(2*theta+2))/0.125
			rest := 0.0 // of what lies beyond the window
			if x := 0.125*(32-4) - epsilon; true {
				first := math.Floor(epsilon/0.125)*0.125 + 0.125 - epsilon
				if weight := math.Exp(-theta * (first + 0.125*math.Round((x-first)/0.125))); weight <= 1e-40 {
					rest = 2e-40
				}
			}
			_, margin := c.hockey(epsilon)
			want := factor * (1e-3*math.Sqrt(squares)*(1+0x1p-20) + 2*peak*math.Exp(-45) + rest)
			stated(t, "margin of noise", margin, want)

			c.noise = 0
			_, margin = c.hockey(epsilon)
			if wrapped := factor * 2 * peak * math.Exp(-45); margin < wrapped*(1-1e-9) || margin > wrapped*(1+1e-6)+3e-40 {
				t.Errorf("margin of what wraps around %g, want %g", margin, wrapped)
			}

			size, touched, reach := 0.0, 0.0, 0.0
			for i := range mass {
				mass[i] = 1e12 * float64(1+i%3)
				x := 0.125*float64(i-4) - epsilon
				if x <= 0 {
					touched = mass[i]
				}
			}
			for i, m := range mass {
				if x := 0.125*float64(i-4) - epsilon; x > 0 {
					if reach == 0 {
						reach = epsilon + math.Abs(0.125*float64(i-4))
					}
					if weight := math.Exp(-theta * x); weight > 1e-40 {
						size += m * weight * -math.Expm1(-x)
						touched += m * weight
					}
				}
			}
			_, margin = c.hockey(epsilon)
			stated(t, "margin of sums", margin, factor*0x1p-53*(size*(16*32+256)+touched*4*reach))
		}
	}
}

// TestGrowthOfErrors: each term of it.
func TestGrowthOfErrors(t *testing.T) {
	for _, c := range []*composed{
		{slack: 1e-3},
		{exponents: 1e10, kinds: 1},
		{exponents: 1e10, kinds: 7},
		{theta: 1e5},
		{releases: 1e10},
		{kinds: 1e10},
	} {
		const epsilon = 3e4
		relative := c.slack + 0x1p-53*(512+(8+2*c.kinds)*c.exponents+16*c.theta*epsilon+16*c.releases+8*c.kinds)
		stated(t, "growth", math.Log(c.growth(epsilon)), relative*(1+0x1p-10))
	}
}
