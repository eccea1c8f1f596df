// SPDX-License-Identifier: Apache-2.0

package exact

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// root is the 2^k-th root of x in high precision, by big.Float's own root.
func root(x *big.Float, k int) *big.Float {
	for range k {
		x = new(big.Float).SetPrec(x.Prec()).Sqrt(x)
	}
	return x
}

// floatPow is x^p to about 900 bits: the digits of p one by one, each with its
// own chain of roots.
func floatPow(x *big.Rat, p float64) *big.Float {
	const prec = 1200
	base := new(big.Float).SetPrec(prec).SetRat(x)
	result := new(big.Float).SetPrec(prec).SetInt64(1)
	whole, fraction := math.Modf(p)
	for range int(whole) {
		result.Mul(result, base)
	}
	for k := 1; fraction > 0; k++ {
		fraction *= 2
		if fraction >= 1 {
			fraction--
			result.Mul(result, root(base, k))
		}
	}
	return result
}

// TestPowAgainstBigFloat: both bounds on their side and within the stated
// distance.
func TestPowAgainstBigFloat(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	powers := []float64{1, 2, 3, 0.5, 1.5, 1.25, 2.5, 1.1, 1 + 0x1p-52, 63.9, 64, 65, math.Pi, 0.1, 1e-3}
	tries := 300
	if testing.Short() {
		tries = 60
	}
	for range tries {
		x := new(big.Rat).SetFrac(
			new(big.Int).Lsh(big.NewInt(rng.Int64N(1<<40)+1), uint(rng.IntN(200))),
			new(big.Int).Lsh(big.NewInt(rng.Int64N(1<<40)+1), uint(rng.IntN(200))))
		switch rng.IntN(6) {
		case 0:
			x = big.NewRat(1, 1)
		case 1:
			x = big.NewRat(rng.Int64N(9)+1, rng.Int64N(9)+1)
		}
		p := powers[rng.IntN(len(powers))]
		bits := []uint{1, 20, 64, 112, 300}[rng.IntN(5)]
		want := floatPow(x, p)
		slack := new(big.Float).SetMantExp(want, -int(bits))
		low, high := new(big.Float).SetPrec(1200).SetRat(PowDown(x, p, bits)), new(big.Float).SetPrec(1200).SetRat(PowUp(x, p, bits))
		// The oracle, and a result that it can only hold rounded, are off by
		// 2^-1190 or so.
		tiny := new(big.Float).SetMantExp(want, -1100)
		down, up := new(big.Float).Sub(want, low), new(big.Float).Sub(high, want)
		for name, d := range map[string]*big.Float{"PowDown": down, "PowUp": up} {
			if new(big.Float).Add(d, tiny).Sign() < 0 || d.Cmp(slack) > 0 {
				t.Errorf("%s(%s, %v, %d) is off by %.3g of %.3g, want 0 to %.3g", name, x, p, bits, d, want, slack)
			}
		}
	}
}

// TestPowExactCases: where x^p has few digits nothing is lost.
func TestPowExactCases(t *testing.T) {
	for _, c := range []struct {
		x    *big.Rat
		p    float64
		want *big.Rat
	}{
		{new(big.Rat), 1.5, new(big.Rat)},
		{new(big.Rat), 0, big.NewRat(1, 1)},
		{big.NewRat(7, 3), 0, big.NewRat(1, 1)},
		{big.NewRat(1, 1), 1.1, big.NewRat(1, 1)},
		{big.NewRat(9, 4), 1.5, big.NewRat(27, 8)},
		{big.NewRat(16, 1), 2.25, big.NewRat(512, 1)},
		{big.NewRat(3, 2), 5, big.NewRat(243, 32)},
		{big.NewRat(1, 1024), 0.1 * 3, nil},
	} {
		down, up := PowDown(c.x, c.p, 112), PowUp(c.x, c.p, 112)
		if c.want == nil {
			if down.Cmp(up) >= 0 {
				t.Errorf("%s^%g: [%s, %s] is no bracket", c.x, c.p, down, up)
			}
			continue
		}
		if down.Cmp(c.want) != 0 || up.Cmp(c.want) != 0 {
			t.Errorf("%s^%g = [%s, %s], want %s", c.x, c.p, down, up, c.want)
		}
	}
}

// TestPowMonotone: neighboring arguments closer than the precision never swap.
func TestPowMonotone(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	tries := 200
	if testing.Short() {
		tries = 40
	}
	for range tries {
		p := 64 * rng.Float64()
		bits := uint(rng.IntN(30) + 1)
		x := big.NewRat(rng.Int64N(1<<30)+1, rng.Int64N(1<<30)+1)
		step := new(big.Rat).Quo(x, big.NewRat(rng.Int64N(1<<50)+1, 1))
		lastDown, lastUp := new(big.Rat), new(big.Rat)
		for range 20 {
			down, up := PowDown(x, p, bits), PowUp(x, p, bits)
			if down.Cmp(lastDown) < 0 || up.Cmp(lastUp) < 0 {
				t.Fatalf("p = %g, %d bits: the bounds decrease at %s", p, bits, x)
			}
			lastDown, lastUp = down, up
			x = new(big.Rat).Add(x, step)
		}
	}
}

func TestSqrt(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 20000 {
		m := new(big.Int).Lsh(new(big.Int).SetUint64(rng.Uint64()|1), uint(rng.IntN(300)))
		m.Add(m, big.NewInt(rng.Int64N(3)-1))
		if rng.IntN(3) == 0 { // next to a square
			m.Mul(m, m).Add(m, big.NewInt(rng.Int64N(3)-1))
		}
		if m.Sign() <= 0 {
			continue
		}
		if got, want := sqrt(m), new(big.Int).Sqrt(m); got.Cmp(want) != 0 {
			t.Fatalf("sqrt(%s) = %s, want %s", m, got, want)
		}
	}
	for m := int64(1); m < 5000; m++ {
		if got, want := sqrt(big.NewInt(m)), new(big.Int).Sqrt(big.NewInt(m)); got.Cmp(want) != 0 {
			t.Fatalf("sqrt(%d) = %s, want %s", m, got, want)
		}
	}
}

func TestPowPanicsOutsideRange(t *testing.T) {
	for _, c := range []struct {
		x *big.Rat
		p float64
	}{{big.NewRat(-1, 2), 1}, {big.NewRat(1, 2), -1}, {big.NewRat(1, 2), math.NaN()}, {big.NewRat(1, 2), MaxPower + 1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("PowDown(%s, %g) did not panic", c.x, c.p)
				}
			}()
			PowDown(c.x, c.p, 64)
		}()
	}
}

func BenchmarkPowDown(b *testing.B) {
	x := big.NewRat(1234567, 1<<10)
	for name, p := range map[string]float64{"p=3": 3, "p=1.5": 1.5, "p=1.1": 1.1} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				PowDown(x, p, 112)
			}
		})
	}
}
