// SPDX-License-Identifier: Apache-2.0

package regress

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"

	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/internal/check"
)

// Linear turns an input x, a row, into x·Weights + Bias.
type Linear struct {
	Weights dense.Matrix // in×out
	Bias    []float64    // out
}

// Apply returns the outputs for the rows of x.
func (l *Linear) Apply(x dense.Matrix) dense.Matrix {
	out := dense.NewMatrix(x.Rows, l.Weights.Cols)
	for i := range out.Rows {
		copy(dense.Row(out, i), l.Bias)
	}
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, x, l.Weights, 1, out)
	return out
}

// FitRidge returns the weights W and the bias b of least
//
//	mean over rows of ‖y - x·W - b‖² + ridge·‖W‖²
//
// for a ridge that is finite and not negative. Where columns of x depend on each other
// and ridge is 0, the least ridge with which the system can be solved takes its place.
//
// Errors wrap check.ErrInvalid: shapes that do not fit, numbers that are not finite.
func FitRidge(x, y dense.Matrix, ridge float64) (*Linear, error) {
	list := check.In("regress")
	checkInputs(list, x, ridge)
	list.Want(y.Rows == x.Rows && y.Cols >= 1 && y.Stride == y.Cols, "target", size(y), "%d whole rows, as many as the features, and a column", x.Rows)
	list.Want(check.Finite(y.Data...), "target", "NaN or infinite", "finite numbers")
	if err := list.Err(); err != nil {
		return nil, err
	}
	x, xMean := centered(x)
	y, yMean := centered(y)
	n, in := float64(x.Rows), x.Cols
	gram := mat.NewSymDense(in, nil)
	blas64.Syrk(blas.Trans, 1/n, x, 0, gram.RawSymmetric())
	l := &Linear{Weights: dense.NewMatrix(in, y.Cols), Bias: yMean}
	blas64.Gemm(blas.Trans, blas.NoTrans, 1/n, x, y, 0, l.Weights)
	c, err := factor(gram, ridge)
	if err != nil {
		return nil, err
	}
	w := mat.NewDense(in, y.Cols, l.Weights.Data)
	if err := c.SolveTo(w, w); err != nil && !isCondition(err) {
		return nil, check.Errorf("regress", nil, "least squares: %w", err)
	}
	blas64.Gemv(blas.Trans, -1, l.Weights, vector(xMean), 1, vector(l.Bias))
	return l, nil
}

// factor returns the Cholesky factors of gram + ridge·I, with a larger ridge if need be.
func factor(gram *mat.SymDense, ridge float64) (*mat.Cholesky, error) {
	in := gram.SymmetricDim()
	mean := mat.Trace(gram) / float64(in)
	// The rounding of a Gram matrix is some 1e-16 of its trace; the factors are worth
	// something where the ridge is well above it.
	for least := 1e-13 * mean; ; least *= 10 {
		shifted := mat.NewSymDense(in, nil)
		shifted.CopySym(gram)
		for i := range in {
			shifted.SetSym(i, i, gram.At(i, i)+ridge)
		}
		var c mat.Cholesky
		if c.Factorize(shifted) && c.Cond() < 1e13 {
			return &c, nil
		}
		if mean == 0 {
			least = 1 // no feature varies: all weights are 0
		}
		if !(least <= math.MaxFloat64) {
			return nil, check.Errorf("regress", check.ErrInvalid, "the features are too large for least squares")
		}
		ridge = max(ridge, least)
	}
}

func isCondition(err error) bool {
	_, ok := err.(mat.Condition) //nolint:errorlint // as it is returned
	return ok
}

func centered(x dense.Matrix) (dense.Matrix, []float64) {
	mean := dense.Means(x)
	c := x
	c.Data = slices.Clone(x.Data)
	for i := range c.Rows {
		floats.Sub(dense.Row(c, i), mean)
	}
	return c, mean
}

func vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }

// Options of FitSoftmax.
type Options struct {
	// Ridge λ adds λ/2·‖Weights‖² to the mean loss, in the units of the features as they are fitted
	// (see Standardize). Without one, weights of classes that separate grow until the limit.
	Ridge float64
	// Bias adds a constant to each logit, which Ridge leaves alone.
	Bias bool
	// Standardize fits features less their means, over their standard deviations. The
	// result takes features as they are. It needs Bias.
	Standardize bool
	// MajorIterations limits the search; 0 means 500.
	MajorIterations int
	// Start is where the search begins; nil means at weights of 0.
	Start *Softmax
}

// Softmax gives label k the probability exp(logit k)/Σ exp(logit j), with the logits of the Linear.
type Softmax struct {
	Linear
	// Loss is the objective that was reached: mean of -log probability, and ridge.
	Loss float64
	// Converged says that no entry of its gradient is above 1e-7.
	Converged bool
}

// FitSoftmax returns the softmax regression of labels, from 0 to classes - 1, on the rows of x.
//
// Errors wrap check.ErrInvalid: shapes that do not fit, infinite numbers, labels out of range.
func FitSoftmax(x dense.Matrix, labels []int, classes int, o Options) (*Softmax, error) {
	if err := checkSoftmax(x, labels, classes, o); err != nil {
		return nil, err
	}
	mean, scale := make([]float64, x.Cols), slices.Repeat([]float64{1}, x.Cols)
	if o.Standardize {
		x, mean = centered(x)
		standardize(x, scale)
	}
	// Two classes need the difference of their logits only: half the work, at the same
	// optimum, as a ridge makes the two columns of weights opposite.
	p := newProblem(x, labels, classes, o)
	params := make([]float64, p.size())
	if o.Start != nil {
		p.load(params, o.Start, mean, scale)
	}
	loss, converged, err := Minimize(params, cmp.Or(o.MajorIterations, 500), p.loss)
	if err != nil {
		return nil, err
	}
	return &Softmax{Linear: p.linear(params, mean, scale), Loss: loss, Converged: converged}, nil
}

// Fit returns the softmax regression of the classes of a target, or FitRidge of its numbers, of
// which Ridge is the only option.
func Fit(x dense.Matrix, t dense.Target, o Options) (*Linear, error) {
	if t.Classes == 0 {
		return FitRidge(x, t.Values, o.Ridge)
	}
	s, err := FitSoftmax(x, t.Labels, t.Classes, o)
	if err != nil {
		return nil, err
	}
	return &s.Linear, nil
}

// standardize divides centered columns by their standard deviations, which it stores. A
// column without spread stays as it is.
func standardize(x dense.Matrix, scale []float64) {
	for j := range scale {
		column := blas64.Vector{N: x.Rows, Inc: x.Stride, Data: x.Data[j:]}
		if s := blas64.Nrm2(column) / math.Sqrt(float64(x.Rows)); s > 0 {
			scale[j] = s
			blas64.Scal(1/s, column)
		}
	}
}

// problem is the objective of a softmax regression. Its parameters are the weights, one
// row for each output, so that the products run along the features, and the bias. Of two
// classes the only output is the logit of label 1 less that of label 0.
type problem struct {
	x        dense.Matrix
	labels   []int
	classes  int
	outputs  int
	bias     bool
	ridge    float64
	out      dense.Matrix // n×outputs
	logits   dense.Matrix // n×classes
	gradient dense.Matrix // n×classes
}

func newProblem(x dense.Matrix, labels []int, classes int, o Options) *problem {
	p := &problem{
		x: x, labels: labels, classes: classes, outputs: classes, bias: o.Bias, ridge: o.Ridge,
		logits: dense.NewMatrix(x.Rows, classes), gradient: dense.NewMatrix(x.Rows, classes),
	}
	p.out = p.logits
	if classes == 2 {
		p.outputs = 1
		p.out = dense.NewMatrix(x.Rows, 1)
	}
	return p
}

func (p *problem) size() int {
	if p.bias {
		return p.outputs * (p.x.Cols + 1)
	}
	return p.outputs * p.x.Cols
}

// split returns the weights and the bias among the parameters, the latter nil without one.
func (p *problem) split(params []float64) (dense.Matrix, []float64) {
	weights := p.outputs * p.x.Cols
	return dense.Matrix{Rows: p.outputs, Cols: p.x.Cols, Stride: p.x.Cols, Data: params[:weights]}, params[weights:]
}

// loss is the objective, and stores its gradient.
func (p *problem) loss(params, gradient []float64) float64 {
	weights, bias := p.split(params)
	dWeights, dBias := p.split(gradient)
	for i := range p.out.Rows {
		row := dense.Row(p.out, i)
		clear(row)
		copy(row, bias)
	}
	blas64.Gemm(blas.NoTrans, blas.Trans, 1, p.x, weights, 1, p.out)
	// λ/2 of both columns ∓w/2 of two classes is λ/4·‖w‖².
	ridge, d := p.ridge, p.gradient
	if p.classes == 2 {
		for i, v := range p.out.Data {
			p.logits.Data[2*i], p.logits.Data[2*i+1] = -v/2, v/2
		}
		ridge /= 2
	}
	loss := dense.CrossEntropy(p.logits, p.labels, d)
	if p.classes == 2 {
		d = p.out
		for i := range d.Data {
			d.Data[i] = (p.gradient.Data[2*i+1] - p.gradient.Data[2*i]) / 2
		}
	}
	copy(dWeights.Data, weights.Data)
	blas64.Gemm(blas.Trans, blas.NoTrans, 1, d, p.x, ridge, dWeights)
	clear(dBias)
	if p.bias {
		for i := range d.Rows {
			floats.Add(dBias, dense.Row(d, i))
		}
	}
	return loss + ridge/2*floats.Dot(weights.Data, weights.Data)
}

// linear is the model of the parameters, for features as they are.
func (p *problem) linear(params, mean, scale []float64) Linear {
	weights, bias := p.split(params)
	l := Linear{Weights: dense.NewMatrix(p.x.Cols, p.classes), Bias: make([]float64, p.classes)}
	set := func(k int, sign float64, row int) {
		if p.bias {
			l.Bias[k] = sign * bias[row]
		}
		for j, w := range dense.Row(weights, row) {
			w *= sign / scale[j]
			l.Weights.Data[j*p.classes+k] = w
			l.Bias[k] -= mean[j] * w
		}
	}
	if p.classes == 2 {
		set(0, -0.5, 0)
		set(1, 0.5, 0)
		return l
	}
	for k := range p.classes {
		set(k, 1, k)
	}
	return l
}

// load sets the parameters to those of a model: linear undone.
func (p *problem) load(params []float64, s *Softmax, mean, scale []float64) {
	weights, bias := p.split(params)
	add := func(k int, sign float64, row int) {
		b := s.Bias[k]
		for j, v := range mean {
			w := s.Weights.Data[j*p.classes+k]
			weights.Data[row*weights.Stride+j] += sign * w * scale[j]
			b += v * w
		}
		if p.bias {
			bias[row] += sign * b
		}
	}
	if p.classes == 2 {
		add(0, -1, 0)
		add(1, 1, 0)
		return
	}
	for k := range p.classes {
		add(k, 1, k)
	}
}

func checkSoftmax(x dense.Matrix, labels []int, classes int, o Options) error {
	list := check.In("regress")
	checkInputs(list, x, o.Ridge)
	list.Want(classes >= 2, "classes", classes, "at least 2")
	list.Want(len(labels) == x.Rows, "labels", len(labels), "%d, one for each row", x.Rows)
	dense.CheckLabels(list, "labels", labels, classes)
	list.Want(!o.Standardize || o.Bias, "standardize", true, "a bias too")
	list.Want(o.MajorIterations >= 0, "iterations", o.MajorIterations, "at least 0")
	if s := o.Start; s != nil && (s.Weights.Rows != x.Cols || s.Weights.Cols != classes || len(s.Bias) != classes) {
		list.Badf("start", size(s.Weights), "weights of %d×%d", x.Cols, classes)
	}
	return list.Err()
}

func checkInputs(list *check.List, x dense.Matrix, ridge float64) {
	list.Want(x.Rows >= 1 && x.Cols >= 1 && x.Stride == x.Cols, "features", size(x), "whole rows, and a column")
	list.Want(check.Finite(x.Data...), "features", "NaN or infinite", "finite numbers")
	list.Want(ridge >= 0 && ridge <= math.MaxFloat64, "ridge", ridge, "a finite number of at least 0")
}

func size(m dense.Matrix) string { return fmt.Sprintf("%d×%d", m.Rows, m.Cols) }

const (
	// stored is how many steps L-BFGS remembers.
	stored = 20
	// flat is the largest entry of a gradient that counts as 0.
	flat = 1e-7
)

// Minimize moves x downhill by at most the given number of L-BFGS iterations. f returns
// the function value at x and stores the gradient. The final value is returned, and
// whether no entry of the gradient is above 1e-7 there; the limit, or a line search that
// finds nothing lower, ends the search without an error.
//
// The error wraps check.ErrInvalid if the function or its gradient is not finite at the start.
func Minimize(x []float64, iterations int, f func(x, gradient []float64) float64) (value float64, converged bool, err error) {
	// gonum asks for value and gradient apart.
	var place []float64 // that was asked for last
	gradient := make([]float64, len(x))
	at := func(x []float64) float64 {
		if !slices.Equal(place, x) { // and not nil, as x is not empty
			place = append(place[:0], x...)
			value = f(x, gradient)
		}
		return value
	}
	problem := optimize.Problem{Func: at, Grad: func(to, x []float64) { at(x); copy(to, gradient) }}
	for {
		// The start counts as one iteration.
		settings := &optimize.Settings{GradientThreshold: flat, Converger: optimize.NeverTerminate{}, MajorIterations: iterations + 1}
		r, err := optimize.Minimize(problem, x, settings, &optimize.LBFGS{Store: stored, GradStopThreshold: flat})
		_, badValue := errors.AsType[optimize.ErrFunc](err)
		if _, badGradient := errors.AsType[optimize.ErrGrad](err); badValue || badGradient {
			return 0, false, check.Errorf("regress", check.ErrInvalid, "the loss or its gradient is not finite at the start, want smaller inputs")
		}
		moved := r.MajorIterations - 1
		iterations -= moved
		copy(x, r.X)
		if err == nil {
			return r.F, r.Status == optimize.GradientThreshold, nil
		}
		// The line search failed: what is remembered misleads it, so that a new
		// search goes on, or x is as low as rounding lets it be.
		if moved == 0 || iterations <= 0 {
			return r.F, false, nil
		}
	}
}
