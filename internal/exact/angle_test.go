// SPDX-License-Identifier: Apache-2.0

package exact

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

// piDigits are 100 of π.
const piDigits = "31415926535897932384626433832795028841971693993751058209749445923078164062862089986280348253421170679"

// TestAngleOfPi: right angles and thirds are between the bounds, and so are angles of any sine.
func TestAngleOfPi(t *testing.T) {
	digits, _ := new(big.Int).SetString(piDigits, 10)
	pi := new(big.Rat).SetFrac(digits, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(len(piDigits)-1)), nil))
	for _, c := range []struct{ cosine, square, h, num, den int64 }{
		{0, 1, 1, 1, 2}, {1, 3, 2, 1, 3}, {0, 49, 7, 1, 2}, {5, 75, 10, 1, 3},
	} {
		for _, bits := range []uint{1, 10, 64, 200, 320} {
			m := AngleDown(big.NewInt(c.cosine), big.NewInt(c.square), big.NewInt(c.h), bits)
			theta := new(big.Rat).Mul(pi, big.NewRat(c.num, c.den))
			theta.Mul(theta, PowerOfTwo(int(bits)))
			low, high := new(big.Rat).SetInt(m), new(big.Rat).SetInt(new(big.Int).Add(m, big.NewInt(2)))
			if low.Cmp(theta) > 0 || high.Cmp(theta) < 0 {
				t.Errorf("%+v at %d places: %s to %s, want %s", c, bits, low.FloatString(3), high.FloatString(3), theta.FloatString(3))
			}
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		h := 1 + rng.Int64N(1<<40)
		if rng.IntN(3) == 0 {
			h = 1 + rng.Int64N(5)
		}
		c := rng.Int64N(h)
		if rng.IntN(4) == 0 {
			c = h - 1
		}
		square := new(big.Int).Mul(big.NewInt(h-c), big.NewInt(h+c))
		wide := AngleDown(big.NewInt(c), square, big.NewInt(h), 40)
		fine := AngleDown(big.NewInt(c), square, big.NewInt(h), 300)
		root, _ := new(big.Float).SetInt(square).Float64()
		want := math.Atan2(math.Sqrt(root), float64(c))
		got, _ := new(big.Float).SetMantExp(new(big.Float).SetInt(fine), -300).Float64()
		if math.Abs(got-want) > 1e-15*(1+want) {
			t.Fatalf("%d/%d: %v, want %v", c, h, got, want)
		}
		// A coarse bracket holds the fine one, which is as narrow as two units of 2^-300.
		fine.Rsh(fine, 260)
		if d := fine.Sub(fine, wide); d.Sign() < 0 || d.Cmp(big.NewInt(2)) > 0 {
			t.Fatalf("%d/%d: brackets %s apart", c, h, d)
		}
	}
	defer func() {
		if r := recover(); r == nil || !strings.Contains(fmt.Sprint(r), "places") {
			t.Errorf("too many places: %v", r)
		}
	}()
	AngleDown(big.NewInt(0), big.NewInt(1), big.NewInt(1), MaxAngleBits+1)
}

func BenchmarkAngle(b *testing.B) {
	c, h := big.NewInt(123456789012), big.NewInt(234567890123)
	w := new(big.Int).Mul(new(big.Int).Sub(h, c), new(big.Int).Add(h, c))
	for b.Loop() {
		AngleDown(c, w, h, 240)
	}
}
