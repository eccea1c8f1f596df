// SPDX-License-Identifier: Apache-2.0

package local

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/internal/exact"
)

// TestExactRows: for random answers, values and laws the means are right to the last unit,
// and weights move by little.
func TestExactRows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		m := 4 + r.IntN(12)
		answers := make([]float64, m)
		for j := range answers {
			answers[j] = float64(j) + math.Round(r.Float64()*(1<<20))/(1<<21)
		}
		answers[1] = answers[0] + 0x1p-21 // so that differences have no common divisor
		law := make([]float64, m)
		var sum, mean float64
		for j := range law {
			law[j] = 0.1 + r.Float64()
			sum += law[j]
		}
		for j := range law {
			law[j] /= sum
			mean += law[j] * answers[j]
		}
		mean *= 1 + 1e-9*r.Float64() // which a solver misses
		rows, err := exactRows([][]float64{law}, []float64{mean}, answers, true)
		if err != nil {
			t.Fatal(err)
		}
		total, first := new(big.Int), new(big.Rat)
		for j, w := range rows[0] {
			total.Add(total, new(big.Int).SetUint64(w))
			first.Add(first, new(big.Rat).Mul(new(big.Rat).SetInt(new(big.Int).SetUint64(w)), exact.Rational(answers[j])))
			if off := math.Abs(float64(w)/0x1p64 - law[j]); off > 1e-7 {
				t.Errorf("the weight of answer %d moved by %g", j, off)
			}
		}
		all := new(big.Int).Lsh(big.NewInt(1), 64)
		want := new(big.Rat).Mul(new(big.Rat).SetInt(all), exact.Rational(mean))
		if total.Cmp(all) != 0 || first.Cmp(want) != 0 {
			t.Fatalf("sum %v, mean off by %v", total, first.Sub(first, want))
		}
	}
}

// TestExactRowsRefuses: two answers a third apart in all have no weights of 2^-64 for a
// mean in between.
func TestExactRowsRefuses(t *testing.T) {
	if rows, err := exactRows([][]float64{{0.5, 0.5}}, []float64{0.5}, []float64{-1, 2.0000000001}, true); err == nil {
		t.Errorf("rows %v", rows)
	}
}
