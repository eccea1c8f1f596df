// SPDX-License-Identifier: Apache-2.0

package loss

import (
	"maps"
	"math"
	"math/big"
	"slices"
	"testing"
)

// BenchmarkLoss is what a certificate asks of a loss for every cell: 2^20+1
// points per cell and 64 cells per unit, cells all over the loss.
func BenchmarkLoss(b *testing.B) {
	const points = 1<<20 + 1
	fine := new(big.Rat).SetFloat64(0x1p-26)
	step := big.NewRat(1, 64)
	large := []segment{{Knot: math.Inf(-1), Slope: -5000}}
	for i := range maxKnots - 1 {
		large = append(large, segment{Knot: float64(i-5000) / 16, Slope: float64(i) - 4999.5})
	}
	losses := map[string]Loss{"pwl of 9999 knots": must2(newPWL(large))}
	for _, name := range []string{
		"l1", "l2", "huber:2", "exceed:3", "pwl:-inf,-2;-1,-0.5;0,1;5,3,2", "l1:0.7 + exceed:3:0.3", "lp:3", "lp:1.5", "lp:1.1",
	} {
		losses[name] = must2(Parse(name))
	}
	for _, name := range slices.Sorted(maps.Keys(losses)) {
		l := losses[name]
		for method, f := range map[string]func(j int64){
			"LowerNode":  func(j int64) { l.LowerNode(j, step) },
			"GridMeanUp": func(j int64) { l.GridMeanUp(j*points-points/2, points, fine) },
			"CellMean":   func(j int64) { l.CellMean(float64(j)/64, 1.0/64) },
		} {
			b.Run(method+"/"+name, func(b *testing.B) {
				j := int64(-1000)
				for b.Loop() {
					f(j)
					if j++; j > 1000 {
						j = -1000
					}
				}
			})
		}
		if l == losses["pwl of 9999 knots"] {
			continue // Growth looks at every knot: about a tenth of a second
		}
		b.Run("Growth/"+name, func(b *testing.B) {
			for b.Loop() {
				l.Growth(400, step)
			}
		})
	}
}
