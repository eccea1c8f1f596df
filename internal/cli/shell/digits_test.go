package shell

import (
	"math"
	"math/rand/v2"
	"strconv"
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
