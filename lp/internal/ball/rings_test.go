// SPDX-License-Identifier: Apache-2.0

package ball

import (
	"math"
	"testing"
)

// TestBoth: volumes of intersections are those of cones and slices: by Simpson's rule along the line of the centers.
func TestBoth(t *testing.T) {
	for d := space(2); d <= 8; d++ {
		for _, c := range [][2]float64{{1, 1}, {0.6, 0.7}, {2, 1.3}, {3, 2}, {0.3, 0.6}, {0.2, 1.3}, {5, 5.9}, {0.9, 0.15}} {
			const steps = 100000
			sum, lower, upper := 0.0, max(-c[0], 1-c[1]), min(c[0], 1+c[1])
			for i := range steps {
				x := lower + (upper-lower)*(float64(i)+0.5)/steps
				square := min(c[0]*c[0]-x*x, c[1]*c[1]-(x-1)*(x-1))
				if square > 0 && lower < upper {
					sum += math.Pow(square, (float64(d)-1)/2) * (upper - lower) / steps
				}
			}
			a, _ := math.Lgamma(float64(d)/2 + 1)
			b, _ := math.Lgamma(float64(d)/2 + 0.5)
			want := sum * math.Exp(a-b) / math.Sqrt(math.Pi)
			if got := d.both(c[0], c[1]); math.Abs(got-want) > 1e-6*(1e-3+want) || d.both(c[1], c[0]) != got {
				t.Errorf("d %d, radii %v: %v, want %v", d, c, got, want)
			}
		}
	}
}

// TestReduced: at an optimum balls with weights lose the least, what the program says, and a ball in the middle of a ring
// is what it is when the ring is cut there.
func TestReduced(t *testing.T) {
	r := &rings{space: 3, epsilon: 2, delta: 0.05, p: 2, unit: 1}
	for i := range 41 {
		r.edges = append(r.edges, float64(i)/10)
	}
	r.lay()
	s, err := r.solve(t.Context(), 1e-7)
	if err != nil {
		t.Fatal(err)
	}
	total, value, level := 0.0, 0.0, s.value+s.price*r.delta
	reduced := r.reduced(s)
	for i, w := range s.weights {
		total += w
		value += w * r.loss(r.edges[i+1])
		got := reduced.at(r.edges[i+1], i)
		if got < level-1e-4 || w > 1e-3 && got > level+1e-4 {
			t.Errorf("the ball of radius %v with the weight %v: %v, want %v", r.edges[i+1], w, got, level)
		}
	}
	if math.Abs(total-1) > 1e-6 || math.Abs(value-s.value) > 1e-6 {
		t.Errorf("weights sum to %v, and lose %v, want %v", total, value, s.value)
	}
	// With a cut at 0.75, the prices of the parts are those of the ring.
	cut := &rings{space: 3, epsilon: 2, delta: 0.05, p: 2, unit: 1, edges: append(append(append([]float64(nil), r.edges[:8]...), 0.75), r.edges[8:]...)}
	cut.lay()
	old := func(i int) int {
		if i > 7 {
			return i - 1
		}
		return i
	}
	split := &solution{price: s.price, value: s.value}
	for i := range cut.volume {
		split.multiplier = append(split.multiplier, make([]float64, len(cut.volume)+1))
		for j := range len(cut.volume) + 1 {
			split.multiplier[i][j] = s.multiplier[old(i)][old(j)]
		}
	}
	if got, want := reduced.at(0.75, 7), cut.reduced(split).at(0.75, 7); math.Abs(got-want) > 1e-9 {
		t.Errorf("in the ring %v, at an edge %v", got, want)
	}
}

// TestNext: edges stay ascending, from 0 to the same end and not too many.
func TestNext(t *testing.T) {
	d := &design{rings: rings{space: 2, epsilon: 5, delta: 0.01, p: 2, unit: 1}, shift: 1 << 24, end: 1.6}
	d.edges = d.firstEdges()
	for range 3 {
		d.lay()
		s, err := d.within(t.Context(), 1e-4)
		if err != nil {
			t.Fatal(err)
		}
		end := d.edges[len(d.edges)-1]
		d.edges = d.next(s)
		if d.edges[0] != 0 || d.edges[len(d.edges)-1] != end || len(d.edges) > mostRings+1 {
			t.Errorf("%d edges from %v to %v", len(d.edges), d.edges[0], d.edges[len(d.edges)-1])
		}
		for i, x := range d.edges[1:] {
			if x <= d.edges[i] || x*(1<<24) != math.Round(x*(1<<24)) {
				t.Errorf("edge %v after %v", x, d.edges[i])
			}
		}
	}
}

// TestStairs: their divergence is that of all pairs of rings, and so much of delta is used up at the best of them, which lose less
// than wider ones, and less than they would if all were narrower alike.
func TestStairs(t *testing.T) {
	for _, c := range []struct {
		dimension  int
		power, end float64
	}{{2, 1, 9}, {5, 2, 13}, {8, 2, 18}} {
		d := &design{rings: rings{space: space(c.dimension), epsilon: 1, delta: 1e-3, p: c.power, unit: 1}, shift: 1 << 24, end: c.end}
		s := d.newStairs()
		loss := func(edges []float64) float64 {
			d.edges = edges
			d.lay()
			all, sum := 0.0, 0.0
			for i := range d.volume {
				all += s.density(i) * d.volume[i]
				sum += s.density(i) * (d.loss(edges[i+1])*d.power(edges[i+1]) - d.loss(edges[i])*d.power(edges[i]))
			}
			return sum / all
		}
		best := s.best(d.delta)
		loses := loss(best)
		all, sum := 0.0, 0.0
		for i, row := range d.overlap {
			all += s.density(i) * d.volume[i]
			for j, v := range row {
				if j == len(d.volume) {
					sum += v * s.density(i)
				} else if j > i+s.per {
					sum += v * (s.density(i) - math.Exp(d.epsilon)*s.density(j))
				}
			}
		}
		if got, want := s.divergence(best), sum/all; math.Abs(got-want) > 1e-9 || got > d.delta || got < 0.999*d.delta {
			t.Errorf("d %d: a divergence of %v, want %v", d.space, got, want)
		}
		if wide := loss(s.laid(0)); loses > wide*0.99 {
			t.Errorf("d %d: %v, and wide rings %v", d.space, loses, wide)
		}
		for i := range s.narrow {
			s.narrow[i] = 1
		}
		if alike := loss(s.best(d.delta)); loses > alike {
			t.Errorf("d %d: %v, and rings that are narrower alike %v", d.space, loses, alike)
		}
	}
}
