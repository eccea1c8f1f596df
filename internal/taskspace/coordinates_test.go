// SPDX-License-Identifier: Apache-2.0

package taskspace_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/taskspace"
)

// randomData returns rows of n correlated features with offsets and units of
// their own.
func randomData(rng *rand.Rand, rows, n int) *mat.Dense {
	independent, mix := mat.NewDense(rows, n, nil), mat.NewDense(n, n, nil)
	independent.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, independent)
	mix.Apply(func(i, j int, _ float64) float64 {
		v := rng.NormFloat64()
		if i == j {
			v += 2
		}
		return v
	}, mix)
	data := mat.NewDense(rows, n, nil)
	data.Mul(independent, mix)
	data.Apply(func(_, j int, v float64) float64 { return float64(j) + v*math.Pow(2, float64(j%5)-2) }, data)
	return data
}

func randomMatrix(rng *rand.Rand, rows, cols int) *mat.Dense {
	m := mat.NewDense(rows, cols, nil)
	m.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, m)
	return m
}

func mustMoments(t testing.TB, data mat.Matrix) taskspace.Moments {
	t.Helper()
	m, err := taskspace.NewMoments(data)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func mustCoordinates(t testing.TB, m taskspace.Moments, task *mat.Dense) *taskspace.Coordinates {
	t.Helper()
	c, err := taskspace.NewCoordinates(m, task, 0)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Against the definition.
func TestNewMoments(t *testing.T) {
	rng := newRand(10)
	const rows, n = 2500, 4
	data := randomData(rng, rows, n)
	m := mustMoments(t, data)
	mean := make([]float64, n)
	for j := range n {
		for i := range rows {
			mean[j] += data.At(i, j) / rows
		}
		wantClose(t, "mean", m.Mean[j], mean[j], 1e-12, 1e-12)
	}
	for j := range n {
		for k := range n {
			want := 0.
			for i := range rows {
				want += (data.At(i, j) - mean[j]) * (data.At(i, k) - mean[k]) / rows
			}
			wantClose(t, "covariance", m.Covariance.At(j, k), want, 1e-11, 1e-11)
		}
	}
}

func TestConstantFeatureHasNoVariance(t *testing.T) {
	rng := newRand(11)
	data := randomData(rng, 1300, 3)
	for i := range 1300 {
		data.Set(i, 1, 0.1) // its float64 sum divided by 1300 is not 0.1
	}
	m := mustMoments(t, data)
	if v := m.Covariance.At(1, 1); v != 0 || m.Mean[1] != 0.1 {
		t.Errorf("variance %g and mean %.17g of the constant 0.1", v, m.Mean[1])
	}
	_, err := taskspace.NewCoordinates(m, nil, 0)
	if !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), "feature 1") || !strings.Contains(err.Error(), "ridge") {
		t.Errorf("error %v, want one that names feature 1 and the ridge", err)
	}
	if _, err := taskspace.NewCoordinates(m, nil, 1e-6); err != nil {
		t.Errorf("with a ridge: %v", err)
	}
}

func TestGivenMoments(t *testing.T) {
	mean := []float64{0, 0}
	for _, test := range []struct {
		name       string
		covariance []float64
		ok         bool
	}{
		{"identity", []float64{1, 0, 0, 1}, true},
		{"singular", []float64{1, 1, 1, 1}, true},
		{"tiny units", []float64{1e-12, 5e-13, 5e-13, 1e-12}, true},
		{"asymmetric", []float64{1, .5, .4, 1}, false},
		{"asymmetric in tiny units", []float64{1e-12, 5e-13, 4e-13, 1e-12}, false},
		{"indefinite", []float64{1, 2, 2, 1}, false},
		{"negative variance", []float64{-1, 0, 0, 1}, false},
		{"covariance of a constant", []float64{0, 1, 1, 1}, false},
		{"NaN", []float64{1, math.NaN(), math.NaN(), 1}, false},
	} {
		_, err := taskspace.GivenMoments(mean, mat.NewDense(2, 2, test.covariance))
		if test.ok != (err == nil) || !test.ok && !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%s: error %v, want ok %v", test.name, err, test.ok)
		}
	}
	if _, err := taskspace.GivenMoments([]float64{1}, mat.NewDense(2, 2, nil)); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("sizes that differ: %v", err)
	}
	if _, err := taskspace.NewMoments(mat.NewDense(2, 1, []float64{1, math.Inf(1)})); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("infinite data: %v", err)
	}
}

// The defining properties: y has covariance I, and the task loss is Σ λ_i y_i².
func TestCoordinates(t *testing.T) {
	rng := newRand(12)
	for _, size := range []struct{ n, outputs int }{{1, 1}, {5, 5}, {5, 2}, {6, 9}} {
		data := randomData(rng, 400, size.n)
		task := randomMatrix(rng, size.outputs, size.n)
		m := mustMoments(t, data)
		c := mustCoordinates(t, m, task)
		y := c.Transform(data)
		ofY := mustMoments(t, y)
		var identity mat.Dense
		identity.Mul(c.Analysis, c.Synthesis)
		for i := range size.n {
			wantClose(t, "mean of y", ofY.Mean[i], 0, 1e-11, 0)
			for j := range size.n {
				want := 0.
				if i == j {
					want = 1
				}
				wantClose(t, "covariance of y", ofY.Covariance.At(i, j), want, 1e-10, 0)
				wantClose(t, "A·A⁻¹", identity.At(i, j), want, 1e-10, 0)
			}
		}
		lambda := c.Lambda
		for i := range 20 {
			output := mat.NewVecDense(size.outputs, nil)
			centered := mat.NewVecDense(size.n, nil)
			priced := 0.
			for j := range size.n {
				centered.SetVec(j, data.At(i, j)-m.Mean[j])
				priced += lambda[j] * y.At(i, j) * y.At(i, j)
			}
			output.MulVec(task, centered)
			wantClose(t, "task loss", priced, mat.Dot(output, output), 1e-10, 1e-9)
		}
		for i := range size.n {
			if lambda[i] < 0 || i > 0 && lambda[i] > lambda[i-1] {
				t.Errorf("prices %v are not descending and at least 0", lambda)
			}
		}
	}
}

// Units of features must change nothing but the units of A.
func TestCoordinatesDoNotDependOnUnits(t *testing.T) {
	rng := newRand(13)
	const n = 5
	data := randomData(rng, 200, n)
	scaled, task, scaledTask := mat.DenseCopyOf(data), randomMatrix(rng, 3, n), mat.NewDense(3, n, nil)
	for j := range n {
		s := math.Pow(10, 12*rng.NormFloat64())
		for i := range 200 {
			scaled.Set(i, j, s*data.At(i, j))
		}
		for i := range 3 {
			scaledTask.Set(i, j, task.At(i, j)/s)
		}
	}
	a := mustCoordinates(t, mustMoments(t, data), task).Lambda
	b := mustCoordinates(t, mustMoments(t, scaled), scaledTask).Lambda
	for i := range 3 {
		wantClose(t, "price", b[i], a[i], 0, 1e-9)
	}
}

func TestCoordinatesRefuse(t *testing.T) {
	rng := newRand(14)
	data := randomData(rng, 100, 4)
	for i := range 100 {
		data.Set(i, 3, data.At(i, 0)+2*data.At(i, 2))
	}
	copies := mustMoments(t, data)
	good := mustMoments(t, randomData(rng, 100, 4))
	for name, call := range map[string]func() (*taskspace.Coordinates, error){
		"singular":       func() (*taskspace.Coordinates, error) { return taskspace.NewCoordinates(copies, nil, 0) },
		"negative ridge": func() (*taskspace.Coordinates, error) { return taskspace.NewCoordinates(good, nil, -1) },
		"infinite ridge": func() (*taskspace.Coordinates, error) { return taskspace.NewCoordinates(good, nil, math.Inf(1)) },
		"task columns": func() (*taskspace.Coordinates, error) {
			return taskspace.NewCoordinates(good, mat.NewDense(2, 3, nil), 0)
		},
		"task NaN": func() (*taskspace.Coordinates, error) {
			return taskspace.NewCoordinates(good, mat.NewDense(1, 4, []float64{0, math.NaN(), 0, 0}), 0)
		},
		"huge task": func() (*taskspace.Coordinates, error) {
			return taskspace.NewCoordinates(good, mat.NewDense(1, 4, []float64{1e200, 0, 0, 0}), 0)
		},
	} {
		if c, err := call(); !errors.Is(err, dp.ErrInvalid) || c != nil {
			t.Errorf("%s: error %v, want ErrInvalid", name, err)
		} else if name == "singular" && !strings.Contains(err.Error(), "use a ridge") {
			t.Errorf("%s: %q does not say to use a ridge", name, err)
		}
	}
	if _, err := taskspace.NewCoordinates(copies, nil, 1e-6); err != nil {
		t.Errorf("with a ridge: %v", err)
	}
}

func BenchmarkNewCoordinates(b *testing.B) {
	for _, n := range []int{24, 300, 1000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			rng := newRand(15)
			m := mustMoments(b, randomMatrix(rng, 3*n, n))
			task := randomMatrix(rng, n, n)
			for b.Loop() {
				if _, err := taskspace.NewCoordinates(m, task, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
