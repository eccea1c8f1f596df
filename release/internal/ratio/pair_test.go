// SPDX-License-Identifier: Apache-2.0

package ratio

import (
	"math"
	"math/big"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/tables"
	"github.com/noisewright/noisewright/tables/shapes"
)

// TestPairBeatsSplit: with Laplace noise the pair has half of the mean square error at
// the worst mean, and a lesser one on average.
func TestPairBeatsSplit(t *testing.T) {
	v, points := pairNoise(t, 1)
	l := newLaw(t, v, 1/points)
	pairAverage, pairWorst := Pair(0, 1, l, l).RootSquares()
	half, err := shapes.Laplace(problem(dp.IntegerQuery, 0.5, 0, 128), tables.Grid{})
	if err != nil {
		t.Fatal(err)
	}
	average, worst := Split(0, 1, newLaw(t, half, 0.5/128), newLaw(t, half, 1./128)).RootSquares()
	if r := worst / pairWorst; math.Abs(r-math.Sqrt2) > 4e-3 {
		t.Errorf("worst: %g times that of the pair, want √2", r)
	}
	if r := average / pairAverage; math.Abs(r-math.Sqrt2) > 4e-3 {
		t.Errorf("average: %g times that of the pair, want √2", r)
	}
}

// TestSplitBeatsPair: where epsilon is large, staircase noise on a sum and Laplace noise
// on the number, which share epsilon, are better than Laplace noise on a pair.
func TestSplitBeatsPair(t *testing.T) {
	for epsilon, want := range map[float64]bool{3: false, 10: true} {
		v, points := pairNoise(t, epsilon)
		l := newLaw(t, v, 1/points)
		pair, _ := Pair(0, 1, l, l).Errors()
		sum, err := shapes.Staircase(problem(dp.RealQuery, epsilon/2, 0, 1), 0, tables.Grid{})
		if err != nil {
			t.Fatal(err)
		}
		count, err := shapes.Laplace(problem(dp.IntegerQuery, epsilon/2, 0, 1), tables.Grid{})
		if err != nil {
			t.Fatal(err)
		}
		g := sum.Mechanism().Grid()
		// The sum of x - center has the sensitivity 1/2.
		unit := 0.5 / (float64(g.CellsPerSensitivity) * float64(g.PointsPerCell))
		split, _ := Split(0, 1, newLaw(t, sum, unit), newLaw(t, count, 1)).Errors()
		if (split < pair) != want {
			t.Errorf("epsilon = %g: split %g, pair %g", epsilon, split, pair)
		}
	}
}

// TestPairPrivacy releases two sums that change by (t, 1-t) and its multiples, at all
// places of the grid, and compares the joint laws: the largest loss is at most what is
// proved, and nearly that.
func TestPairPrivacy(t *testing.T) {
	laplace, _ := pairNoise(t, 100)
	stairs, err := shapes.Staircase(problem(dp.IntegerQuery, 1.5, 0, 3), 0, tables.Grid{})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		v      *tables.Verified
		points *big.Rat
		least  float64 // of the largest loss, as a share of what is proved
	}{
		"Laplace":    {laplace, big.NewRat(5, 1), 0.999},
		"Laplace ½":  {laplace, big.NewRat(11, 2), 0.85},
		"staircase":  {stairs, big.NewRat(3, 1), 0.99},
		"staircase7": {stairs, big.NewRat(7, 1), 0.7},
	} {
		t.Run(name, func(t *testing.T) {
			proved, err := pairEpsilon(test.v, test.points)
			if err != nil {
				t.Fatal(err)
			}
			bound, _ := proved.Float64()
			const reach = 60
			p := masses(test.v, 2*reach)
			// worst[k] is the largest loss at a shift by k.
			worst := func(k int64) float64 {
				most := 0.0
				for n := int64(-reach); n <= reach; n++ {
					most = max(most, math.Log(p[n]/p[n-k]))
				}
				return most
			}
			most := 0.0
			total, _ := test.points.Float64()
			for at := 0.0; at < 1; at += 0.125 {
				for part := 0.0; part <= 1; part += 0.0625 {
					for _, whole := range []float64{total, total / 2, -total} {
						s, u := math.Floor(at+part*whole+0.5)-math.Floor(at+0.5), math.Floor(at+(1-part)*whole+0.5)-math.Floor(at+0.5)
						most = max(most, worst(int64(s))+worst(int64(u)))
					}
				}
			}
			if most > bound*(1+1e-9) || most < bound*test.least {
				t.Errorf("the largest loss is %g, proved %g", most, bound)
			}
		})
	}
}

func TestPairNoise(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, epsilon := range []float64{0x1p-13, 0.001, 0.01, 0.1, 1. / 3, 1, 3.7, 100} {
		v, points := pairNoise(t, epsilon)
		proved, err := pairEpsilon(v, exact.Rational(points))
		if err != nil {
			t.Fatal(err)
		}
		whole := exact.Rational(epsilon)
		if r, _ := new(big.Rat).Quo(proved, whole).Float64(); proved.Cmp(whole) > 0 || r < 1-1e-12 {
			t.Errorf("epsilon = %g: %g of it is used", epsilon, r)
		}
		if epsilon < 0.1 {
			continue // it takes long
		}
		l := newLaw(t, v, 1/points)
		if scale := math.Sqrt(l.square/2) / points * epsilon; scale > 1+1.1/points || scale < 1 {
			t.Errorf("epsilon = %g: scale %g/epsilon", epsilon, scale)
		}
	}
}

// TestPairNoiseIsKept: noise that was made for an epsilon is returned for it again, and for no other one.
func TestPairNoiseIsKept(t *testing.T) {
	first, _ := pairNoise(t, 64) // of few points, so that it is quick
	for i := range maxMade + 2 {
		epsilon := 64 + float64(i)/8
		v, points := pairNoise(t, epsilon)
		if proved, err := pairEpsilon(v, exact.Rational(points)); err != nil || exact.FloatUp(proved) > epsilon || exact.FloatDown(proved) < 0.999*epsilon {
			t.Errorf("epsilon %v: noise of %v, %v", epsilon, proved, err)
		}
		if again, _ := pairNoise(t, epsilon); again != v || v == first && i > 0 {
			t.Errorf("epsilon %v: it is made again, or is that of another", epsilon)
		}
	}
	if n := len(made.noise); n > maxMade {
		t.Errorf("%d are kept, want at most %d", n, maxMade)
	}
	if _, ok := made.noise[64]; ok {
		t.Error("the first is kept for ever")
	}
}
