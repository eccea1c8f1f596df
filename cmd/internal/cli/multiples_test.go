// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/noisewright/noisewright/dp"
)

// TestMultiplesAreExact compares with rational arithmetic on the step's decimal.
func TestMultiplesAreExact(t *testing.T) {
	for _, c := range []struct {
		step float64
		n    int64
		want string
	}{
		{0.1, 3, "0.3"},
		{0.1, -10, "-1"},
		{0.1, 0, "0"},
		{0.25, -1, "-0.25"},
		{5, 200, "1000"},
		{1e6, -2, "-2000000"},
		{1e-7, 1, "0.0000001"},
		{0.05, 1 << 53, "450359962737049.6"},
		{12.5, 2, "25"},
		{3e20, 7, "2100000000000000000000"},
	} {
		p := printerOf(dp.LatticeQuery, c.step)
		if got := string(p.append(nil, c.n)); got != c.want {
			t.Errorf("%d steps of %v: %s, want %s", c.n, c.step, got, c.want)
		}
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 5000 {
		step, n := math.Exp(rng.Float64()*80-40), rng.Int64N(1<<54)-1<<53
		p := printerOf(dp.LatticeQuery, step)
		got, ok := new(big.Rat).SetString(string(p.append(nil, n)))
		want, _ := new(big.Rat).SetString(strconv.FormatFloat(step, 'g', -1, 64))
		if want.Mul(want, new(big.Rat).SetInt64(n)); !ok || got.Cmp(want) != 0 {
			t.Fatalf("%d steps of %v: %s", n, step, p.append(nil, n))
		}
	}
}
