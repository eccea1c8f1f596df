package cli

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
		high, errHigh := strconv.ParseFloat(digitsUp(x), 64)
		low, errLow := strconv.ParseFloat(digitsDown(x), 64)
		if errHigh != nil || errLow != nil || !(low <= x && x <= high) || high-low > 3e-6*x {
			t.Fatalf("%v is printed as %s from below and %s from above", x, digitsDown(x), digitsUp(x))
		}
	}
	for x, want := range map[float64]string{1e-5: "1e-05", 0.1: "0.1", 3: "3", 0.99999951: "0.9999996"} {
		if got := digitsUp(x); got != want {
			t.Errorf("digitsUp(%v) = %s, want %s", x, got, want)
		}
	}
}

// TestStandardErrors: two draws say little about their spread.
func TestStandardErrors(t *testing.T) {
	for _, c := range []struct {
		draws             int
		probability, want float64
	}{{2, 0.001, 636.6192}, {10, 0.001, 4.780913}, {1000000, 0.001, 3.290539}} {
		if got := standardErrors(c.draws, c.probability); math.Abs(got/c.want-1) > 1e-5 {
			t.Errorf("standardErrors(%d, %g) = %g, want %g", c.draws, c.probability, got, c.want)
		}
	}
}
