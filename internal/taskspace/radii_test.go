// SPDX-License-Identifier: Apache-2.0

package taskspace_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/internal/taskspace"
)

// The definition: the smallest radius that leaves at least the share unclipped.
func TestRadii(t *testing.T) {
	rng := newRand(20)
	for _, rows := range []int{1, 2, 7, 10, 100} {
		y := randomMatrix(rng, rows, 3)
		for _, clip := range []float64{1e-12, .07, .1, .3, .5, .7, .9, .95, 1 - 1e-12, 1} {
			ball, box := taskspace.BallRadii(y, clip), taskspace.CoordinateRadii(y, clip)
			for z := range 3 {
				norm := func(i int) float64 { return mat.Norm(y.Slice(i, i+1, 0, z+1), 2) }
				size := func(i int) float64 { return math.Abs(y.At(i, z)) }
				for _, c := range []struct {
					of     func(int) float64
					radius float64
				}{{norm, ball[z]}, {size, box[z]}} {
					within, below := 0, 0
					for i := range rows {
						if c.of(i) <= c.radius*(1+1e-12) {
							within++
						}
						if c.of(i) < c.radius*(1-1e-12) {
							below++
						}
					}
					if float64(within)/float64(rows) < clip {
						t.Errorf("%d rows, clip %g: only %d are not clipped", rows, clip, within)
					}
					if below > 0 && float64(below)/float64(rows) >= clip {
						t.Errorf("%d rows, clip %g: a smaller radius leaves %d unclipped", rows, clip, below)
					}
				}
			}
		}
	}
}
