// SPDX-License-Identifier: Apache-2.0

package concentration

import (
	"math"
	"math/rand/v2"
	"testing"
)

// law is answers to nodes; all are integers, so that laws of sums can be listed.
type law struct {
	name           string
	answers, nodes []float64
	rows           [][]float64
	mixed          bool
}

// laws have means that are the nodes: of two answers and of three, with variances that differ, and askew.
func laws() []law {
	return []law{
		{"coin", []float64{-2, 2}, []float64{-1, 1}, [][]float64{{0.75, 0.25}, {0.25, 0.75}}, true},
		{"askew", []float64{-1, 9}, []float64{0}, [][]float64{{0.9, 0.1}}, false},
		{"three", []float64{-6, 0, 6}, []float64{-3, 0, 3}, [][]float64{{0.625, 0.25, 0.125}, {0.25, 0.5, 0.25}, {0.125, 0.25, 0.625}}, true},
		{"uneven", []float64{-3, 0, 1, 4}, []float64{0, 1}, [][]float64{{0.1, 0.65, 0.15, 0.1 * 0.375}, {0.05, 0.2, 0.55, 0.15}}, false},
	}
}

// scaled makes the probabilities of uneven sum to 1 with the right means.
func scaled(l law) law {
	if l.name != "uneven" {
		return l
	}
	// Of 0 and 1 the probabilities are what is left.
	for i, row := range l.rows {
		row[2] = l.nodes[i] + 3*row[0] - 4*row[3]
		row[1] = 1 - row[0] - row[2] - row[3]
	}
	return l
}

// sums returns the law of the sum of answers to values that are nodes, from the least sum on.
func sums(l law, values []int) (least int, masses []float64) {
	low := int(l.answers[0])
	masses = []float64{1}
	for _, i := range values {
		next := make([]float64, len(masses)+int(l.answers[len(l.answers)-1])-low)
		for s, m := range masses {
			for j, y := range l.answers {
				next[s+int(y)-low] += m * l.rows[i][j]
			}
		}
		masses = next
	}
	return low * len(values), masses
}

// TestRadius lists the law of the sum of answers: neither side of it has more than alpha.
func TestRadius(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, l := range laws() {
		l = scaled(l)
		f := New(l.answers, l.nodes, l.rows, l.mixed)
		for _, n := range []int{1, 2, 5, 20, 100, 400} {
			for range 4 {
				values, truth := make([]int, n), 0.0
				share := r.Float64()
				for k := range values {
					if r.Float64() < share {
						values[k] = r.IntN(len(l.nodes))
					}
					truth += l.nodes[values[k]]
				}
				least, masses := sums(l, values)
				for _, alpha := range []float64{0.4, 0.1, 0.025, 1e-3, 1e-6} {
					above, below := f.Radius(int64(n), alpha)
					over, under := 0.0, 0.0
					for s, m := range masses {
						if off := float64(least+s) - truth; off > above*float64(n) {
							over += m
						} else if off < -below*float64(n) {
							under += m
						}
					}
					if max(over, under) > alpha {
						t.Errorf("%s, %d answers: outside with probabilities %g and %g, want at most %g", l.name, n, over, under, alpha)
					}
				}
			}
		}
	}
}

// TestDistance: no bound of the distance from the normal law is below it, for sums of answers to any values.
func TestDistance(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, l := range laws() {
		l = scaled(l)
		f := New(l.answers, l.nodes, l.rows, l.mixed)
		for _, n := range []int{3, 30, 300} {
			bound, smooth := f.distance(int64(n)), f.smoothing(float64(n))
			for range 4 {
				values, mean, variance := make([]int, n), 0.0, 0.0
				for k := range values {
					i := r.IntN(len(l.nodes))
					values[k] = i
					mean += l.nodes[i]
					for j, y := range l.answers {
						variance += l.rows[i][j] * (y - l.nodes[i]) * (y - l.nodes[i])
					}
				}
				least, masses := sums(l, values)
				sum, truth := 0.0, 0.0
				for s, m := range masses {
					phi := math.Erfc((mean-float64(least+s))/math.Sqrt(2*variance)) / 2
					truth = max(truth, math.Abs(sum-phi), math.Abs(sum+m-phi))
					sum += m
				}
				if truth > bound || truth > smooth {
					t.Errorf("%s, %d answers: a distance of %g, but the bounds are %g, and %g by smoothing", l.name, n, truth, bound, smooth)
				}
			}
		}
	}
}

// TestFamily samples values between nodes: no moment or characteristic function is beyond its bound.
func TestFamily(t *testing.T) {
	for _, l := range laws() {
		l = scaled(l)
		f := New(l.answers, l.nodes, l.rows, l.mixed)
		seen := Family{least: math.Inf(1)}
		largest := 0.0
		for i := range l.nodes {
			for step := range 101 {
				u := float64(step) / 100
				k := min(i+1, len(l.nodes)-1)
				if !l.mixed {
					k = i
				}
				value := (1-u)*l.nodes[i] + u*l.nodes[k]
				moments := [5]float64{}
				third := 0.0
				modulus := func(w float64) float64 {
					re, im := 0.0, 0.0
					for j, y := range l.answers {
						p := (1-u)*l.rows[i][j] + u*l.rows[k][j]
						re += p * math.Cos(w*(y-value)/f.unit)
						im += p * math.Sin(w*(y-value)/f.unit)
					}
					return math.Hypot(re, im)
				}
				for j, y := range l.answers {
					p := (1-u)*l.rows[i][j] + u*l.rows[k][j]
					e := (y - value) / f.unit
					for power := range moments {
						moments[power] += p * math.Pow(e, float64(power))
					}
					third += p * math.Pow(math.Abs(e), 3)
					seen.above, seen.below = max(seen.above, e), max(seen.below, -e)
				}
				if math.Abs(moments[1]) > 1e-12 || math.Abs(moments[0]-1) > 1e-12 {
					t.Fatalf("%s: a law at %g with the mean %g", l.name, value, moments[1])
				}
				largest = max(largest, moments[2])
				seen.least = min(seen.least, math.Sqrt(moments[2]))
				seen.skewness, seen.fourth = max(seen.skewness, math.Abs(moments[3])), max(seen.fourth, moments[4])
				seen.lyapunov = max(seen.lyapunov, third/moments[2])
				for w := 0.01; w < 8; w += 0.37 {
					if top := f.characteristic(w, w+0.1); modulus(w) > top || modulus(w+0.1) > top || modulus(w+0.05) > top {
						t.Errorf("%s at %g: a characteristic function above %g near %g", l.name, value, top, w)
					}
				}
			}
		}
		if math.Abs(largest-1) > 1e-4 || largest > 1 { // up to the values sampled
			t.Errorf("%s: the largest variance is %g of that found", l.name, largest)
		}
		if seen.least < f.least || seen.skewness > f.skewness || seen.fourth > f.fourth || seen.lyapunov > f.lyapunov || seen.above > f.above || seen.below > f.below {
			t.Errorf("%s: %+v is beyond %+v", l.name, seen, *f)
		}
	}
	if above, below := New([]float64{0, 1}, []float64{0, 1}, [][]float64{{1, 0}, {0, 1}}, false).Radius(5, 0.1); above != 0 || below != 0 {
		t.Errorf("answers that are values: %g and %g", above, below)
	}
}

// TestKernel holds the two bounds of Prawitz's kernel that the smoothing inequality is used with.
func TestKernel(t *testing.T) {
	for u := 1e-4; u < 1; u += 1e-4 {
		re, im := (1-u)/2, ((1-u)/math.Tan(math.Pi*u)+1/math.Pi)/2
		if size := 2 * math.Pi * u * math.Hypot(re, im); size > prawitz {
			t.Fatalf("2π|uK(u)| is %g at %g, above %g", size, u, prawitz)
		}
		if rest, bound := math.Hypot(re, im-1/(2*math.Pi*u)), (1-u+math.Pi*math.Pi*u*u/18)/2; rest > bound*(1+1e-9) {
			t.Fatalf("|K(u) − i/(2πu)| is %g at %g, above %g", rest, u, bound)
		}
	}
}

// TestBentkus: for sums of the extreme law itself the tail is close below the bound, and one of a
// larger range or of more variance is not.
func TestBentkus(t *testing.T) {
	for _, reach := range []float64{0.5, 1, 3} {
		const n, alpha = 60, 0.01
		p := 1 / (1 + reach*reach)
		x := bentkus(reach, n, alpha) * n
		tail, mass := 0.0, math.Pow(1-p, n)
		for k := range n + 1 {
			if float64(k)*(reach+1/reach)-n/reach >= x {
				tail += mass
			}
			mass *= float64(n-k) / float64(k+1) * p / (1 - p)
		}
		if tail > alpha || tail < alpha/12 { // e²/2 and a step of the lattice
			t.Errorf("reach %g: a tail of %g at the bound for %g", reach, tail, alpha)
		}
		if x >= bernstein(reach, n, alpha)*n {
			t.Errorf("reach %g: %g, not below Bernstein's %g", reach, x, bernstein(reach, n, alpha)*n)
		}
	}
}
