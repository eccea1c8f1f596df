// SPDX-License-Identifier: Apache-2.0

package exact

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Sums of small integers are exact, so that the maxima are, too.
func TestSignMaximumAgainstAllSigns(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		count, columns := 1+rng.IntN(7), 1+rng.IntN(5)
		rows := make([][]float64, count)
		for i := range rows {
			for range columns {
				rows[i] = append(rows[i], float64(rng.IntN(41)-20))
			}
		}
		var wantL1, wantSquare float64
		for signs := range 1 << count {
			l1, square := 0.0, 0.0
			for j := range columns {
				sum := 0.0
				for i, row := range rows {
					sum += row[j] * float64(1-2*(signs>>i&1))
				}
				l1 += math.Abs(sum)
				square += sum * sum
			}
			wantL1, wantSquare = max(wantL1, l1), max(wantSquare, square)
		}
		if l1, l2 := SignMaximumL1(rows), SignMaximumL2(rows); l1 != wantL1 || l2 != math.Sqrt(wantSquare) {
			t.Errorf("rows %v: maxima %g and %g, want %g and the root of %g", rows, l1, l2, wantL1, wantSquare)
		}
	}
}
