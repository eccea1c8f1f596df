// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/plane"
)

// squareApart is the square of the distance in the norm of noise, in rationals.
func squareApart(norm plane.Norm, x, y []float64) *big.Rat {
	squares, sum, most := new(big.Rat), new(big.Rat), new(big.Rat)
	least := new(big.Rat)
	for i := range x {
		d := exact.Rational(x[i])
		d.Sub(d, exact.Rational(y[i]))
		squares.Add(squares, new(big.Rat).Mul(d, d))
		if d.Cmp(least) < 0 {
			least.Set(d)
		}
		if d.Cmp(most) > 0 {
			most.Set(d)
		}
		sum.Add(sum, d.Abs(d))
	}
	switch norm {
	case plane.LInf:
		most = slices.MaxFunc([]*big.Rat{most, least.Neg(least)}, (*big.Rat).Cmp)
		return most.Mul(most, most)
	case plane.L1:
		return sum.Mul(sum, sum)
	case plane.Span:
		most.Sub(most, least)
		return most.Mul(most, most)
	}
	return squares
}

// TestRegion: points are moved into the region exactly, and as little as rounding allows; those that are in it stay. No
// two are farther apart than is said that they may be, and some nearly so.
func TestRegion(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for trial := range 20 {
		d := 2
		norms := []plane.Norm{"", plane.LInf, plane.L1, plane.Span}
		if trial%3 == 0 {
			d, norms = 2+rng.IntN(7), norms[:1]
		}
		r := &region{radius: math.Ldexp(1+rng.Float64(), rng.IntN(40)-20)}
		for range d {
			x := math.Ldexp(rng.NormFloat64(), rng.IntN(20)-10)
			r.center = append(r.center, x)
			r.lower, r.upper = append(r.lower, x), append(r.upper, x+r.radius*(0.5+rng.Float64()))
		}
		if trial%2 == 0 {
			r.center = nil
		} else {
			r.lower, r.upper = nil, nil
		}
		var found [][]float64
		for k := range 40 {
			x := make([]float64, d)
			for i := range x {
				x[i] = rng.NormFloat64() * r.radius * 4
				if k%2 == 0 {
					x[i] = r.radius * 100 * (2*float64(rng.IntN(2)) - 1) // corners, and ends of diagonals
				}
				if r.center != nil {
					x[i] += r.center[i]
				} else {
					x[i] += r.lower[i]
				}
			}
			was := slices.Clone(x)
			if moved := r.move(x); moved == slices.Equal(was, x) {
				t.Fatalf("%+v: %v became %v, moved %v", r, was, x, moved)
			}
			again := slices.Clone(x)
			if r.move(again) || !slices.Equal(again, x) {
				t.Fatalf("%+v: %v is moved again, to %v", r, x, again)
			}
			if r.center == nil {
				for i := range x {
					if want := math.Max(r.lower[i], math.Min(r.upper[i], was[i])); x[i] != want {
						t.Fatalf("%+v: %v became %v", r, was, x)
					}
				}
			} else {
				norm, out := 0.0, 0.0
				for i := range x {
					norm = math.Hypot(norm, x[i]-r.center[i])
					out = math.Hypot(out, was[i]-r.center[i])
				}
				ulp := 0.0
				for i := range x {
					ulp = max(ulp, math.Abs(r.center[i])*0x1p-50)
				}
				for i := range x {
					want := r.center[i] + (was[i]-r.center[i])*min(1, r.radius/max(out, 1e-300))
					if math.Abs(x[i]-want) > 1e-12*r.radius+32*ulp {
						t.Fatalf("%+v: %v became %v", r, was, x)
					}
				}
			}
			found = append(found, x)
		}
		for _, norm := range norms {
			need, most := r.needs(norm), new(big.Rat)
			for i, x := range found {
				for _, y := range found[:i] {
					most = slices.MaxFunc([]*big.Rat{most, squareApart(norm, x, y)}, (*big.Rat).Cmp)
				}
			}
			near := new(big.Rat).Mul(need, big.NewRat(999, 1000))
			if most.Cmp(need) > 0 || most.Cmp(near) < 0 && d == 2 && norm != plane.LInf {
				t.Errorf("%+v, norm %q: %v apart, said %v", r, norm, rootUp(most), rootUp(need))
			}
		}
	}
}

// TestRegionAtItsEnd: a point of the sphere is in it, and the next number beyond is not.
func TestRegionAtItsEnd(t *testing.T) {
	r := &region{center: []float64{1, 1}, radius: 5}
	on := []float64{4, 5}
	if r.move(on) || on[0] != 4 || on[1] != 5 {
		t.Errorf("moved to %v", on)
	}
	for _, x := range [][]float64{
		{4, math.Nextafter(5, 6)}, {math.Nextafter(4, 5), 5}, {math.Nextafter(6, 7), 1}, {1e308, -1e308}, {-math.MaxFloat64, 1}, {6, 1 + 1e-8},
	} {
		if !r.move(x) || squareApart("", x, r.center).Cmp(big.NewRat(25, 1)) > 0 {
			t.Errorf("%v is kept, or outside", x)
		}
	}
	// A disc of less than a last digit of its center holds the center alone, and no loop is endless.
	for _, r := range []*region{
		{center: []float64{1e20, 0}, radius: 1e-3},
		{center: []float64{3 * math.SmallestNonzeroFloat64, 0}, radius: math.SmallestNonzeroFloat64},
	} {
		x := []float64{r.center[0] + 2*math.SmallestNonzeroFloat64, math.SmallestNonzeroFloat64}
		r.move(x)
		if !r.inside(x) {
			t.Errorf("%+v: %v", r, x)
		}
		if x = []float64{-1e300, 2}; !r.move(x) || !r.inside(x) {
			t.Errorf("%+v: %v", r, x)
		}
	}
}

// TestRootUp: a root is the least float64 that is none too small.
func TestRootUp(t *testing.T) {
	for _, c := range []struct {
		square *big.Rat
		want   float64
	}{
		{big.NewRat(8, 1), 2.8284271247461903}, {big.NewRat(25, 1), 5}, {big.NewRat(1, 3), 0.5773502691896258}, {new(big.Rat), 0},
	} {
		got := rootUp(c.square)
		r := exact.Rational(got)
		if got != c.want || r.Mul(r, r).Cmp(c.square) < 0 {
			t.Errorf("%v: %v, want %v", c.square, got, c.want)
		}
	}
}

// TestOrigin: distances of nearby places are those on the globe, across the date line too, and what becomes meters comes
// back.
func TestOrigin(t *testing.T) {
	for _, c := range [][2]float64{{0, 0}, {52.5, 13.4}, {-33.9, 151.2}, {64.1, -179.99}, {-17, 180}} {
		v := &vector{clip: &region{center: []float64{c[0], c[1]}, radius: 1000}}
		if err := v.degrees(); err != nil {
			t.Fatal(err)
		}
		if c := v.clip.center; c[0] != 0 || c[1] != 0 {
			t.Errorf("the center is %v", c)
		}
		for _, step := range [][2]float64{{0.01, 0}, {0, 0.01}, {-0.02, 0.03}, {0.001, -0.05}} {
			x := []float64{c[0] + step[0], c[1] + step[1]}
			if x[1] > 180 {
				x[1] -= 360
			}
			place := slices.Clone(x)
			v.origin.meters(x)
			rad := math.Pi / 180
			// The haversine formula.
			h := math.Pow(math.Sin(step[0]*rad/2), 2) + math.Cos(c[0]*rad)*math.Cos(place[0]*rad)*math.Pow(math.Sin(step[1]*rad/2), 2)
			want := 2 * 6371008.8 * math.Asin(math.Sqrt(h))
			if got := math.Hypot(x[0], x[1]); math.Abs(got-want) > 1e-3*want || x[0]*step[0] < 0 || x[1]*step[1] < 0 {
				t.Errorf("%v is %v from %v, want %v", place, x, c, want)
			}
			v.origin.degrees(x)
			if math.Abs(x[0]-place[0]) > 1e-9 || math.Abs(math.Remainder(x[1]-place[1], 360)) > 1e-9 || math.Abs(x[1]) > 180 {
				t.Errorf("%v came back as %v", place, x)
			}
		}
	}
	far := []float64{1e9, 1e9}
	(&origin{10, 20, metersPerDegree}).degrees(far)
	if far[0] != 90 || math.Abs(far[1]) > 180 {
		t.Errorf("noise moves to %v", far)
	}
}
