// SPDX-License-Identifier: Apache-2.0

package drolearn

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// synthetic has three classes, two categories of which one value is rare, and two numbers.
func synthetic(rows, classes int) *Set {
	r := rand.New(rand.NewPCG(7, 7)) //nolint:gosec // a test
	s := &Set{Recipe: Recipe{Name: "synthetic", Scale: 10}, Rows: rows, Classes: classes, Values: []int{3, 4}, Categories: make([][]int, 2), Numbers: make([][]float64, 2)}
	for i := range rows {
		y := i % classes
		rare := 0
		if i == 0 || r.IntN(rows/2) == 0 {
			rare = 3
		}
		s.Labels = append(s.Labels, y)
		s.Categories[0] = append(s.Categories[0], (y+r.IntN(2))%3)
		s.Categories[1] = append(s.Categories[1], max(rare, r.IntN(3)))
		s.Numbers[0] = append(s.Numbers[0], float64(y)+math.Round(8*r.NormFloat64())/8)
		s.Numbers[1] = append(s.Numbers[1], 3*r.Float64()*float64(y))
	}
	return s
}

// plainBayes predicts a row from the training rows, all from their definitions.
func plainBayes(s *Set, train []bool, row int) int {
	best, most := 0, math.Inf(-1)
	for y := range s.Classes {
		var members []int
		for i, label := range s.Labels {
			if train[i] && label == y {
				members = append(members, i)
			}
		}
		n := float64(len(members))
		score := math.Log(n)
		for _, codes := range s.Categories {
			same := 0.0
			for _, i := range members {
				if codes[i] == codes[row] {
					same++
				}
			}
			score += math.Log(same / n)
		}
		for _, column := range s.Numbers {
			mean, square := 0.0, 0.0
			for _, i := range members {
				mean += s.Recipe.Scale * column[i] / n
			}
			for _, i := range members {
				d := s.Recipe.Scale*column[i] - mean
				square += d * d / n
			}
			sd := max(1, math.Sqrt(square))
			z := (s.Recipe.Scale*column[row] - mean) / sd
			score += math.Log(math.Exp(-z*z/2) / (math.Sqrt(2*math.Pi) * sd))
		}
		if score > most {
			best, most = y, score
		}
	}
	return best
}

// TestBayes: errors without noise are those of the definitions, with two classes and with
// three, with values that no one of a class has, and densities that are 0 in float64.
func TestBayes(t *testing.T) {
	for _, classes := range []int{2, 3} {
		s := synthetic(120, classes)
		s.Numbers[1][1], s.Numbers[1][2] = 1e4, 1e6
		for split := range 10 {
			train := s.split(split)
			var wrong, rows [2]float64
			for i, y := range s.Labels {
				part := 1
				if train[i] {
					part = 0
				}
				rows[part]++
				if plainBayes(s, train, i) != y {
					wrong[part]++
				}
			}
			in, out := NewBayes(s).learn(train).draw(s.random(split, 1), None)
			if in != wrong[0]/rows[0] || out != wrong[1]/rows[1] {
				t.Errorf("%d classes, split %d: %g and %g, want %g of %g and %g of %g", classes, split, in, out, wrong[0], rows[0], wrong[1], rows[1])
			}
		}
	}
}

// TestBayesNoise: every statistic has noise of its sensitivity, once a draw.
func TestBayesNoise(t *testing.T) {
	s := synthetic(60, 2)
	var of []string
	probe := Noise{"probe", func(_, value float64) float64 { of = append(of, fmt.Sprintf("%.6g", value)); return 0 }}
	train := slices.Repeat([]bool{true}, 60)
	train[59] = false
	b := NewBayes(s)
	b.learn(train).draw(s.random(0, 1), probe)
	counts := map[[3]int]float64{}
	for i, y := range s.Labels[:59] {
		counts[[3]int{-1, 0, y}]++
		for f, codes := range s.Categories {
			counts[[3]int{f, codes[i], y}]++
		}
	}
	if want := len(counts) + 2*2*2; len(of) != want {
		t.Errorf("%d numbers have noise, want %d", len(of), want)
	}
	// The last one is the standard deviation of the second number in the second class, in
	// units of ⌈range/√30⌉.
	low, high := slices.Min(s.Numbers[1]), slices.Max(s.Numbers[1])
	mean, square := 0.0, 0.0
	for i, y := range s.Labels[:59] {
		if y == 1 {
			mean += 10 * s.Numbers[1][i] / 29
		}
	}
	for i, y := range s.Labels[:59] {
		if y == 1 {
			d := 10*s.Numbers[1][i] - mean
			square += d * d / 29
		}
	}
	if want := fmt.Sprintf("%.6g", math.Sqrt(square)/math.Ceil(10*(high-low)/math.Sqrt(30))); of[len(of)-1] != want {
		t.Errorf("the last number with noise is %s sensitivities, want %s", of[len(of)-1], want)
	}
}

// plainDescent is coordinate descent from its definition, from a start and by orders that are
// given: products from all coordinates, means of stored points.
func plainDescent(columns [][]float64, labels, start []float64, order func(round int) []int) []float64 {
	mean, n := slices.Clone(start), float64(len(labels))
	for round := range rounds {
		point := slices.Clone(mean)
		clear(mean)
		moves := order(round)
		for _, j := range moves {
			gradient := 0.0
			for i, y := range labels {
				product := 0.0
				for k, w := range point {
					product += w * columns[k][i]
				}
				gradient -= y * columns[j][i] / (1 + math.Exp(y*product))
			}
			w := point[j] - gradient/n
			point[j] = math.Copysign(max(0, math.Abs(w)-penalty), w)
			for k, v := range point {
				mean[k] += v / float64(len(moves))
			}
		}
	}
	return mean
}

// TestDescent: the mean that is left is that of the definition, and errors are its own.
func TestDescent(t *testing.T) {
	s := synthetic(90, 2)
	d := NewDescent(s)
	train := s.split(3)
	f := d.fit(train)
	in, out := f.draw(s.random(3, 1), None)

	var columns [][]float64
	var labels []float64
	for j := range d.columns {
		columns = append(columns, nil)
		for i, learned := range train {
			if learned {
				columns[j] = append(columns[j], d.columns[j][i])
			}
		}
	}
	for i, learned := range train {
		if learned {
			labels = append(labels, d.labels[i])
		}
	}
	r := s.random(3, 1)
	start := make([]float64, d.Dimensions())
	for j := range start {
		start[j] = 2*r.Float64() - 1
	}
	all := make([]int, d.Dimensions())
	for j := range all {
		all[j] = j
	}
	want := plainDescent(columns, labels, start, func(int) []int {
		for k := range d.steps() {
			at := k + r.IntN(len(all)-k)
			all[k], all[at] = all[at], all[k]
			r.Uint64() // of the noise
		}
		return slices.Clone(all[:d.steps()])
	})
	for j := range want {
		if math.Abs(want[j]-f.mean[j]) > 1e-5 {
			t.Errorf("coordinate %d is %g, want %g", j, f.mean[j], want[j])
		}
	}
	var wrong, rows [2]float64
	for i, y := range s.Labels {
		part := 1
		if train[i] {
			part = 0
		}
		rows[part]++
		sum := 0.0
		for j, w := range f.mean {
			sum += w * d.columns[j][i]
		}
		if (sum >= 0) != (y == 1) {
			wrong[part]++
		}
	}
	if in != wrong[0]/rows[0] || out != wrong[1]/rows[1] || out > 0.4 {
		t.Errorf("%g and %g, want %g of %g and %g of %g", in, out, wrong[0], rows[0], wrong[1], rows[1])
	}
}

// TestGradients: one a release, none larger than the rows, and near 0 in the end: the label
// does not depend on what is known, and the optimum is 0.
func TestGradients(t *testing.T) {
	s := &Set{Recipe: Recipe{Name: "even"}, Rows: 100, Classes: 2, Numbers: make([][]float64, 1)}
	for i := range s.Rows {
		s.Numbers[0] = append(s.Numbers[0], float64(i%5))
		s.Labels = append(s.Labels, i/5%2)
	}
	d := NewDescent(s)
	var all []float64
	rows, err := d.Gradients(t.Context(), 2, func(g float64) { all = append(all, g) })
	if err != nil || rows != 80 || len(all) != 2*d.Releases() {
		t.Fatalf("%d gradients of %d rows, %v", len(all), rows, err)
	}
	for k, g := range all {
		if !(math.Abs(g) <= 80) || k%100 >= 95 && math.Abs(g) > 0.5 {
			t.Errorf("gradient %d is %g", k, g)
		}
	}
}

// TestLogistic: the error that its comment states.
func TestLogistic(t *testing.T) {
	for x := -45.0; x <= 45; x += 0.00093 {
		if want := 1 / (1 + math.Exp(-x)); math.Abs(logistic(x)-want) > 2e-7 {
			t.Fatalf("logistic(%g) = %g, want %g", x, logistic(x), want)
		}
	}
	if logistic(math.Inf(1)) != 1 || logistic(math.Inf(-1)) != 0 {
		t.Error("not 0 and 1 at infinity")
	}
}

// TestRun: the same numbers on one core as on several, the same draws for every noise, a
// fifth of the rows for the test, and an end when asked.
func TestRun(t *testing.T) {
	s := synthetic(103, 2)
	classical, err := Classical(0.01, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []Learner{NewBayes(s), NewDescent(s)} {
		noises := []Noise{None, classical[0], classical[0]}
		var last []Errors
		for _, cores := range []int{1, 3} {
			old := runtime.GOMAXPROCS(cores)
			done := 0
			e, err := Run(t.Context(), s, l, noises, Options{Splits: 5, Draws: 3, Progress: func(n int) { done = n }})
			runtime.GOMAXPROCS(old)
			if err != nil || done != 5 {
				t.Fatalf("%v, %d splits done", err, done)
			}
			if !slices.Equal(e[1].In, e[2].In) || !slices.Equal(e[1].Out, e[2].Out) {
				t.Errorf("%T: other draws for the second noise", l)
			}
			if slices.Equal(e[0].In, e[1].In) {
				t.Errorf("%T: noise changes nothing: %v", l, e)
			}
			for k := range last {
				if !slices.Equal(last[k].In, e[k].In) || !slices.Equal(last[k].Out, e[k].Out) {
					t.Errorf("%T: other errors on %d cores", l, cores)
				}
			}
			last = e
		}
	}
	test := 0
	for _, learned := range s.split(4) {
		if !learned {
			test++
		}
	}
	if test != 20 {
		t.Errorf("%d rows for the test, want 20", test)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, s, NewBayes(s), []Noise{None}, Options{Splits: 5, Draws: 1}); err == nil {
		t.Error("no error though cancelled")
	}
}

// TestPaired has a table of Student's t: 2.776 is the 0.975-quantile with 4 degrees of
// freedom.
func TestPaired(t *testing.T) {
	a, zero := []float64{1, 2, 3, 4, 5}, make([]float64, 5)
	p := Paired(a, zero)
	if math.Abs(p.T-3/math.Sqrt(0.5)) > 1e-12 || math.Abs(p.Difference.Error-math.Sqrt(0.5)) > 1e-12 {
		t.Errorf("t = %g, standard error %g", p.T, p.Difference.Error)
	}
	shift := 3 - 2.7764451051977934*math.Sqrt(0.5)
	if p := Paired(a, []float64{shift, shift, shift, shift, shift}); math.Abs(p.P-0.05) > 1e-9 {
		t.Errorf("p = %g, want 0.05", p.P)
	}
	if p := Paired(zero, zero); p.T != 0 || p.P != 1 {
		t.Errorf("no difference: t = %g, p = %g", p.T, p.P)
	}
	if p := Paired([]float64{1, 1}, []float64{0, 0}); p.P != 0 {
		t.Errorf("all differences equal: p = %g, want 0", p.P)
	}
}
