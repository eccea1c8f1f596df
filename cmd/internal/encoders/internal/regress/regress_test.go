// SPDX-License-Identifier: Apache-2.0

package regress_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/regress"
	"github.com/noisewright/noisewright/internal/check"
)

// data draws rows whose columns have different means and spreads, and labels that depend
// on them with noise, so that no classes can be separated.
func data(seed uint64, rows, cols, classes int) (x dense.Matrix, labels []int) {
	r := rand.New(rand.NewPCG(seed, 2))
	x = dense.NewMatrix(rows, cols)
	labels = make([]int, rows)
	for i := range rows {
		score := 0.0
		for j := range cols {
			v := r.NormFloat64()
			score += v
			x.Data[i*cols+j] = float64(j) + (0.5+float64(j))*v
		}
		labels[i] = min(classes-1, max(0, int(math.Floor(float64(classes)/2+score/2+r.NormFloat64()))))
	}
	return x, labels
}

// newton solves softmax regression by Newton's method: an oracle with a Hessian, for
// small data. Parameters are class by class, weights and then the bias; a tiny curvature
// of 1e-12 settles what the loss leaves open.
func newton(x dense.Matrix, labels []int, classes int, ridge float64, bias bool) []float64 {
	d := x.Cols
	if bias {
		d++
	}
	feature := func(i, j int) float64 {
		if j == x.Cols {
			return 1
		}
		return x.Data[i*x.Stride+j]
	}
	size, n := d*classes, float64(x.Rows)
	params := make([]float64, size)
	for range 30 {
		gradient, hessian := mat.NewVecDense(size, nil), mat.NewSymDense(size, nil)
		for i := range x.Rows {
			p, sum := make([]float64, classes), 0.0
			for k := range p {
				z := 0.0
				for j := range d {
					z += params[k*d+j] * feature(i, j)
				}
				p[k] = math.Exp(z)
				sum += p[k]
			}
			for k := range p {
				p[k] /= sum
			}
			for a := range size {
				ka, fa := a/d, feature(i, a%d)
				g := p[ka]
				if ka == labels[i] {
					g--
				}
				gradient.SetVec(a, gradient.AtVec(a)+g*fa/n)
				for b := a; b < size; b++ {
					h := -p[ka] * p[b/d]
					if ka == b/d {
						h += p[ka]
					}
					hessian.SetSym(a, b, hessian.At(a, b)+h*fa*feature(i, b%d)/n)
				}
			}
		}
		for a := range size {
			h := 1e-12
			if a%d < x.Cols {
				gradient.SetVec(a, gradient.AtVec(a)+ridge*params[a])
				h += ridge
			}
			hessian.SetSym(a, a, hessian.At(a, a)+h)
		}
		var c mat.Cholesky
		c.Factorize(hessian)
		var step mat.VecDense
		if err := c.SolveVecTo(&step, gradient); err != nil && !errors.As(err, new(mat.Condition)) {
			panic(err)
		}
		for a := range params {
			params[a] -= step.AtVec(a)
		}
	}
	return params
}

func TestSoftmaxAgainstNewton(t *testing.T) {
	for _, classes := range []int{2, 3, 5} {
		for _, bias := range []bool{false, true} {
			x, labels := data(uint64(classes), 150, 3, classes)
			const ridge = 0.03
			s, err := regress.FitSoftmax(x, labels, classes, regress.Options{Ridge: ridge, Bias: bias})
			if err != nil {
				t.Fatal(err)
			}
			if !s.Converged {
				t.Errorf("%d classes, bias %v: not converged", classes, bias)
			}
			want := newton(x, labels, classes, ridge, bias)
			d := len(want) / classes
			for k := range classes {
				for j := range 3 {
					// A gradient of 1e-7 over a curvature of at least 0.03.
					if got := s.Weights.Data[j*classes+k]; math.Abs(got-want[k*d+j]) > 1e-5 {
						t.Errorf("%d classes, bias %v: weight %d of class %d = %.9g, want %.9g", classes, bias, j, k, got, want[k*d+j])
					}
				}
				switch {
				case !bias && s.Bias[k] != 0:
					t.Errorf("bias %d = %g without one", k, s.Bias[k])
				case bias && math.Abs((s.Bias[k]-s.Bias[0])-(want[k*d+3]-want[3])) > 1e-4:
					t.Errorf("%d classes: bias %d = %.9g above that of class 0, want %.9g", classes, k, s.Bias[k]-s.Bias[0], want[k*d+3]-want[3])
				}
			}
			squares := 0.0
			for _, w := range s.Weights.Data {
				squares += w * w
			}
			if want := dense.CrossEntropy(s.Apply(x), labels, dense.Matrix{}) + ridge/2*squares; math.Abs(s.Loss-want) > 1e-12 {
				t.Errorf("loss = %.15g, want %.15g", s.Loss, want)
			}
		}
	}
}

// Features that are standardized give the fit of standardized features, in the units of
// those that were given; neither scale nor mean of a feature then matters.
func TestStandardize(t *testing.T) {
	x, labels := data(3, 200, 4, 3)
	o := regress.Options{Ridge: 0.1, Bias: true, Standardize: true}
	s, err := regress.FitSoftmax(x, labels, 3, o)
	if err != nil {
		t.Fatal(err)
	}
	moved := dense.NewMatrix(200, 4)
	for i, v := range x.Data {
		moved.Data[i] = (v + 7) * float64(1+i%4)
	}
	m, err := regress.FitSoftmax(moved, labels, 3, o)
	if err != nil {
		t.Fatal(err)
	}
	a, b := s.Apply(x), m.Apply(moved)
	for i := range a.Data {
		if math.Abs(a.Data[i]-b.Data[i]) > 1e-5 {
			t.Fatalf("logit %d = %.9g, want %.9g, as of features with other units", i, b.Data[i], a.Data[i])
		}
	}
	constant := dense.NewMatrix(200, 1)
	for i := range constant.Data {
		constant.Data[i] = 3
	}
	c, err := regress.FitSoftmax(constant, labels, 3, o)
	if err != nil {
		t.Fatal(err)
	}
	counts := make([]float64, 3)
	for _, l := range labels {
		counts[l]++
	}
	entropy := 0.0
	for _, n := range counts {
		entropy -= n / 200 * math.Log(n/200)
	}
	if math.Abs(c.Loss-entropy) > 1e-9 {
		t.Errorf("loss = %.12g with a constant feature, want the entropy of the labels, %.12g", c.Loss, entropy)
	}
}

// A warm start at the optimum stays there, and one that is stopped goes on.
func TestStart(t *testing.T) {
	for _, classes := range []int{2, 4} {
		x, labels := data(5, 300, 6, classes)
		o := regress.Options{Ridge: 1e-3, Bias: true, Standardize: true}
		full, err := regress.FitSoftmax(x, labels, classes, o)
		if err != nil {
			t.Fatal(err)
		}
		o.MajorIterations = 2
		short, err := regress.FitSoftmax(x, labels, classes, o)
		if err != nil {
			t.Fatal(err)
		}
		if short.Converged || short.Loss <= full.Loss {
			t.Errorf("%d classes: loss %g after 2 iterations, converged %v, want above %g", classes, short.Loss, short.Converged, full.Loss)
		}
		o.Start, o.MajorIterations = full, 1
		again, err := regress.FitSoftmax(x, labels, classes, o)
		if err != nil {
			t.Fatal(err)
		}
		if !again.Converged || math.Abs(again.Loss-full.Loss) > 1e-12 {
			t.Errorf("%d classes: loss %.15g from the optimum, converged %v, want %.15g", classes, again.Loss, again.Converged, full.Loss)
		}
		o.Start, o.MajorIterations = short, 0
		on, err := regress.FitSoftmax(x, labels, classes, o)
		if err != nil {
			t.Fatal(err)
		}
		if !on.Converged || math.Abs(on.Loss-full.Loss) > 1e-10 {
			t.Errorf("%d classes: loss %.12g from a warm start, want %.12g", classes, on.Loss, full.Loss)
		}
	}
}

// Classes that can be separated have no optimum without a ridge: the limit is an outcome.
func TestSeparableClasses(t *testing.T) {
	x := dense.Matrix{Rows: 4, Cols: 1, Stride: 1, Data: []float64{-2, -1, 1, 2}}
	labels := []int{0, 0, 1, 1}
	s, err := regress.FitSoftmax(x, labels, 2, regress.Options{MajorIterations: 5})
	if err != nil {
		t.Fatal(err)
	}
	if got := dense.Likeliest(s.Apply(x)); !slices.Equal(got, labels) {
		t.Errorf("labels %v, want %v", got, labels)
	}
}

// The solution of FitRidge satisfies the normal equations.
func TestRidge(t *testing.T) {
	for _, ridge := range []float64{0, 0.5} {
		x, _ := data(7, 80, 4, 2)
		y, _ := data(8, 80, 2, 2)
		for i := range 80 {
			y.Data[2*i] += 3 * x.Data[4*i+1]
		}
		l, err := regress.FitRidge(x, y, ridge)
		if err != nil {
			t.Fatal(err)
		}
		out := l.Apply(x)
		for k := range 2 {
			for j := -1; j < 4; j++ { // -1 is the bias
				sum := 0.0
				for i := range 80 {
					f := 1.0
					if j >= 0 {
						f = x.Data[4*i+j]
					}
					sum += f * (out.Data[2*i+k] - y.Data[2*i+k]) / 80
				}
				if j >= 0 {
					sum += ridge * l.Weights.Data[2*j+k]
				}
				if math.Abs(sum) > 1e-12 {
					t.Errorf("ridge %g: normal equation %d of column %d is off by %g", ridge, j, k, sum)
				}
			}
		}
	}
}

// Columns that depend on each other, and such without spread, have a fit too.
func TestRidgeOfDependentColumns(t *testing.T) {
	x, y := dense.NewMatrix(50, 4), dense.NewMatrix(50, 1)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 50 {
		v := r.NormFloat64()
		copy(dense.Row(x, i), []float64{v, 2 * v, 5, 0})
		y.Data[i] = 3*v + 1
	}
	l, err := regress.FitRidge(x, y, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range l.Apply(x).Data {
		if math.Abs(v-y.Data[i]) > 1e-9 {
			t.Errorf("prediction %d = %.12g, want %.12g", i, v, y.Data[i])
		}
	}
	constant := dense.NewMatrix(50, 1)
	l, err = regress.FitRidge(constant, y, 0)
	if err != nil || l.Weights.Data[0] != 0 {
		t.Errorf("weight %v, error %v of a constant, want 0", l, err)
	}
}

func TestBadInput(t *testing.T) {
	x, labels := data(1, 20, 2, 3)
	nan := dense.Matrix{Rows: 20, Cols: 2, Stride: 2, Data: slices.Clone(x.Data)}
	nan.Data[7] = math.NaN()
	short := &regress.Softmax{Linear: regress.Linear{Weights: dense.NewMatrix(1, 3), Bias: make([]float64, 3)}}
	for name, fit := range map[string]func() error{
		"NaN":       func() error { _, err := regress.FitSoftmax(nan, labels, 3, regress.Options{}); return err },
		"label":     func() error { _, err := regress.FitSoftmax(x, labels, 2, regress.Options{}); return err },
		"labels":    func() error { _, err := regress.FitSoftmax(x, labels[1:], 3, regress.Options{}); return err },
		"one class": func() error { _, err := regress.FitSoftmax(x, make([]int, 20), 1, regress.Options{}); return err },
		"ridge":     func() error { _, err := regress.FitSoftmax(x, labels, 3, regress.Options{Ridge: -1}); return err },
		"iterations": func() error {
			_, err := regress.FitSoftmax(x, labels, 3, regress.Options{MajorIterations: -1})
			return err
		},
		"standardize": func() error {
			_, err := regress.FitSoftmax(x, labels, 3, regress.Options{Standardize: true})
			return err
		},
		"start": func() error { _, err := regress.FitSoftmax(x, labels, 3, regress.Options{Start: short}); return err },
		"no rows": func() error {
			_, err := regress.FitSoftmax(dense.NewMatrix(0, 2), nil, 2, regress.Options{})
			return err
		},
		"no columns": func() error { _, err := regress.FitRidge(dense.NewMatrix(20, 0), x, 0); return err },
		"target":     func() error { _, err := regress.FitRidge(x, dense.NewMatrix(19, 1), 0); return err },
		"target NaN": func() error { _, err := regress.FitRidge(x, nan, 0); return err },
		"ridge NaN":  func() error { _, err := regress.FitRidge(x, x, math.NaN()); return err },
		"too large": func() error {
			_, err := regress.FitRidge(dense.Matrix{Rows: 2, Cols: 1, Stride: 1, Data: []float64{1e200, -1e200}}, dense.NewMatrix(2, 1), 0)
			return err
		},
		"start not finite": func() error {
			_, _, err := regress.Minimize([]float64{1}, 5, func(_, g []float64) float64 { g[0] = 1; return math.NaN() })
			return err
		},
	} {
		if err := fit(); !errors.Is(err, check.ErrInvalid) {
			t.Errorf("%s: error %v, want ErrInvalid", name, err)
		}
	}
}

// Minimize asks for the loss and its gradient once at each place.
func TestMinimize(t *testing.T) {
	// The valley of Rosenbrock (1960), with its minimum at (1, 1).
	calls, last := 0, []float64{math.NaN(), 0}
	f := func(x, g []float64) float64 {
		if slices.Equal(x, last) {
			t.Errorf("asked twice at %v", x)
		}
		last = slices.Clone(x)
		calls++
		a, b := 1-x[0], x[1]-x[0]*x[0]
		g[0], g[1] = -2*a-400*b*x[0], 200*b
		return a*a + 100*b*b
	}
	x := []float64{-1.2, 1}
	value, converged, err := regress.Minimize(x, 200, f)
	if err != nil || !converged || value > 1e-12 || math.Abs(x[0]-1) > 1e-6 || math.Abs(x[1]-1) > 1e-6 {
		t.Errorf("minimum %g at %v, converged %v, error %v, want 0 at (1, 1)", value, x, converged, err)
	}
	if calls > 100 {
		t.Errorf("%d evaluations, want at most 100", calls)
	}
	last = []float64{math.NaN(), 0}
	x = []float64{-1.2, 1}
	value, converged, err = regress.Minimize(x, 3, f)
	if err != nil || converged || !(value < 24.2) {
		t.Errorf("after 3 iterations %g, converged %v, error %v, want below 24.2 and not converged", value, converged, err)
	}
	// A gradient that is wrong leaves the line search without anything lower.
	x = []float64{3}
	value, converged, err = regress.Minimize(x, 50, func(x, g []float64) float64 { g[0] = -1; return x[0] * x[0] })
	if err != nil || converged || value > 9 {
		t.Errorf("with a wrong gradient %g, converged %v, error %v, want at most 9 and not converged", value, converged, err)
	}
}

func benchmarkSoftmax(b *testing.B, rows, cols, iterations int) {
	x, labels := data(1, rows, cols, 2)
	for b.Loop() {
		if _, err := regress.FitSoftmax(x, labels, 2, regress.Options{Ridge: 1e-6, MajorIterations: iterations}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSoftmax1740x10(b *testing.B)  { benchmarkSoftmax(b, 1740, 10, 50) }
func BenchmarkSoftmax1740x256(b *testing.B) { benchmarkSoftmax(b, 1740, 256, 50) }
func BenchmarkSoftmax5000x100(b *testing.B) { benchmarkSoftmax(b, 5000, 100, 0) }

func BenchmarkRidge5000x100(b *testing.B) {
	x, _ := data(1, 5000, 100, 2)
	y, _ := data(2, 5000, 10, 2)
	for b.Loop() {
		if _, err := regress.FitRidge(x, y, 1e-6); err != nil {
			b.Fatal(err)
		}
	}
}
