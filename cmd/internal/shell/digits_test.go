// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// TestDigits checks that printed bounds are on their side of the number, and near.
func TestDigits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	numbers := []float64{0, 1, 0.1, 1e-5, 1e3, 999.99995, 9.9999999e-4, math.Nextafter(1000, 2000), math.Nextafter(1000, 0), 1e-300, 1e300}
	for range 20000 {
		numbers = append(numbers, math.Exp(60*r.Float64()-40))
	}
	for _, x := range numbers {
		high, errHigh := strconv.ParseFloat(DigitsUp(x), 64)
		low, errLow := strconv.ParseFloat(DigitsDown(x), 64)
		if errHigh != nil || errLow != nil || !(low <= x && x <= high) || high-low > 3e-6*x {
			t.Fatalf("%v is printed as %s from below and %s from above", x, DigitsDown(x), DigitsUp(x))
		}
	}
	for x, want := range map[float64]string{1e-5: "1e-05", 0.1: "0.1", 3: "3", 0.99999951: "0.9999996"} {
		if got := DigitsUp(x); got != want {
			t.Errorf("digitsUp(%v) = %s, want %s", x, got, want)
		}
	}
}

// TestInterval wants ends that are rounded outwards, by less than their last digit.
func TestInterval(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		low := new(big.Rat).SetFrac64(r.Int64N(1<<50)+1, r.Int64N(1<<50)+1)
		high := new(big.Rat).Mul(low, big.NewRat(1+r.Int64N(9), 1))
		a, b, ok := strings.Cut(strings.Trim(Interval(low, high), "[]"), ", ")
		below, okBelow := new(big.Rat).SetString(a)
		above, okAbove := new(big.Rat).SetString(b)
		if !ok || !okBelow || !okAbove || below.Cmp(low) > 0 || above.Cmp(high) < 0 {
			t.Fatalf("from %s to %s: %s", low.FloatString(20), high.FloatString(20), Interval(low, high))
		}
		if wide, _ := new(big.Rat).Quo(new(big.Rat).Sub(above, below), high).Float64(); wide > 1 {
			t.Fatalf("from %s to %s: %s", low.FloatString(20), high.FloatString(20), Interval(low, high))
		}
	}
	if got := Interval(big.NewRat(2, 3), big.NewRat(4, 3)); got != "[0.66666, 1.3334]" {
		t.Errorf("printed %s", got)
	}
}

// TestDecimal wants the same number, to the last digit, in the notation of floats.
func TestDecimal(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0", "1": "1", "0.000000995": "9.95e-07", "0.0001": "0.0001", "0.00009": "9e-05", "0.959543123456789": "0.959543123456789", "123456789012345": "123456789012345",
		"833.3333": "833.3333", "1000000": "1000000", "1000000000000000": "1e+15", "1e-400": "1e-400", "none": "none",
	} {
		if got := Decimal(text); got != want {
			t.Errorf("Decimal(%s) = %s, want %s", text, got, want)
		}
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		n, exponent := r.Int64N(1e15), r.IntN(40)
		exact := new(big.Rat).Quo(new(big.Rat).SetInt64(n), new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(exponent)), nil)))
		text := exact.FloatString(exponent)
		if back, ok := new(big.Rat).SetString(Decimal(text)); !ok || back.Cmp(exact) != 0 {
			t.Fatalf("Decimal(%s) = %s", text, Decimal(text))
		}
	}
}
