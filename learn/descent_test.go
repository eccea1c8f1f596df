// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"math"
	"math/rand/v2"
	"testing"
)

// exactly adds no noise.
func exactly(sums []int64) ([]float64, error) {
	out := make([]float64, len(sums))
	for i, s := range sums {
		out[i] = float64(s) / gridSteps
	}
	return out, nil
}

// blocksOf returns blocks of so many numbers, and one of so many indicators.
func blocksOf(numbers, indicators int) (out []block) {
	for range numbers {
		out = append(out, block{size: 1})
	}
	return append(out, block{size: indicators})
}

// row adds a row of numbers, and which of the indicators is 1, counted from 1.
func (d *descent) row(numbers []float64, code int) {
	for j, x := range numbers {
		d.blocks[j].values = append(d.blocks[j].values, x)
	}
	last := &d.blocks[len(numbers)]
	last.codes = append(last.codes, int32(code))
}

// known returns 200 rows of three numbers and of two indicators, of which one is 1 at most.
func known() *descent {
	d := &descent{blocks: blocksOf(4, 2), steps: 5, add: exactly}
	for i := range 200 {
		r := float64(i)
		c := i * i % 7 % 3
		x := []float64{1, math.Sin(1.3*r + 0.1), math.Sin(0.7*r*r + 0.5), math.Cos(2.9 * r)}
		z := 0.3 + 2*x[1] - x[2] + []float64{0, 1.5, -0.5}[c]
		d.row(x, c)
		d.signs = append(d.signs, math.Copysign(1, z+2.5*math.Sin(5.1*r*r)))
	}
	return d
}

// TestAgreesWithReference: without noise descent ends where scikit-learn 1.9.1 does:
// LogisticRegression(l1_ratio=1, solver="saga", C=1/(200·lambda), tol=1e-12), which has no
// penalty on the intercept either.
func TestAgreesWithReference(t *testing.T) {
	for lambda, want := range map[float64][]float64{
		0.01: {0.662063436, 1.9304033, -0.369765812, -0.406126355, 0.725480234, -0.634665294},
		0.05: {0.633281132, 1.25493732, 0, 0, 0.124879963, 0},
	} {
		d := known()
		d.rounds, d.stepSize, d.lambda = 1500, 3, lambda
		h, err := d.run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for j := range h {
			if !(math.Abs(h[j]-want[j]) < 1e-6) {
				t.Errorf("lambda %g: coefficient %d is %.9g, want %.9g", lambda, j, h[j], want[j])
			}
		}
	}
}

// TestRecoversParameters of the law that rows were drawn from, with much data and little noise.
func TestRecoversParameters(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	want := []float64{-0.5, 2, -1, 0, 1}
	d := &descent{blocks: blocksOf(3, 2), rounds: 100, steps: 4, stepSize: 4, lambda: 1e-8}
	const n = 20000
	for range n {
		x := []float64{1, 2*random.Float64() - 1, 2*random.Float64() - 1}
		z := 0.0
		for j := range x {
			z += want[j] * x[j]
		}
		c := random.IntN(3)
		if c > 0 {
			z += want[2+c]
		}
		d.row(x, c)
		sign := -1.0
		if random.Float64() < 1/(1+math.Exp(-z)) {
			sign = 1
		}
		d.signs = append(d.signs, sign)
	}
	d.add = func(sums []int64) ([]float64, error) {
		out, err := exactly(sums)
		for i := range out {
			out[i] += 10 * random.NormFloat64()
		}
		return out, err
	}
	h, err := d.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// The standard errors of the maximum likelihood estimate are below 0.05.
	for j := range h {
		if !(math.Abs(h[j]-want[j]) < 0.25) {
			t.Errorf("coefficient %d is %.3f, want %g", j, h[j], want[j])
		}
	}
}
