package minimax

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/optimize"

	"github.com/noisewright/noisewright/encoder/internal/dense"
)

// head is a linear classifier or regression: output = code·weights + bias.
type head struct {
	numbers []float64 // the weights by rows, then the bias
	weights dense.Matrix
	bias    []float64
}

func newHead(in, out int) *head {
	h := &head{numbers: make([]float64, (in+1)*out)}
	h.weights = dense.Matrix{Rows: in, Cols: out, Stride: out, Data: h.numbers[:in*out]}
	h.bias = h.numbers[in*out:]
	return h
}

func headName(i int) string { return fmt.Sprintf("head%d", i) }

func (h *head) clear() { clear(h.numbers) }

// apply sets the output for codes.
func (h *head) apply(code, output dense.Matrix) {
	for i := range output.Rows {
		copy(dense.Row(output, i), h.bias)
	}
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, code, h.weights, 1, output)
}

// loss returns the player's loss for codes, without its factor; if gradient, it adds the
// gradient times the factor to dCode.
func (h *head) loss(code dense.Matrix, p *player, dCode dense.Matrix, gradient bool) float64 {
	h.apply(code, p.output)
	d := dense.Matrix{}
	if gradient {
		d = p.dOut
	}
	var v float64
	if p.task.Labels != nil {
		v = dense.CrossEntropy(p.output, p.task.Labels, d)
	} else {
		v = dense.SquaredError(p.output, p.task.Values, d)
	}
	if gradient {
		blas64.Gemm(blas.NoTrans, blas.Trans, p.factor, d, h.weights, 1, dCode)
	}
	return v
}

func (h *head) fit(code dense.Matrix, t *Task, o *Options) error {
	k := h.weights.Cols
	out, d := dense.NewMatrix(code.Rows, k), dense.NewMatrix(code.Rows, k)
	n := len(h.numbers)
	if !o.Intercept {
		n = len(h.weights.Data)
	}
	try := newHead(h.weights.Rows, k)
	g := newHead(h.weights.Rows, k)
	var last []float64
	val := math.NaN()
	eval := func(x []float64) {
		if last != nil {
			same := true
			for i := range x {
				if x[i] != last[i] {
					same = false
					break
				}
			}
			if same {
				return
			}
		}
		last = append(last[:0], x...)
		copy(try.numbers, x)
		try.apply(code, out)
		if t.Labels != nil {
			val = dense.CrossEntropy(out, t.Labels, d)
		} else {
			val = dense.SquaredError(out, t.Values, d)
		}
		blas64.Gemm(blas.Trans, blas.NoTrans, 1, code, d, 0, g.weights)
		clear(g.bias)
		for i := range d.Rows {
			for j, v := range dense.Row(d, i) {
				g.bias[j] += v
			}
		}
		for i, v := range try.weights.Data {
			val += o.HeadRidge / 2 * v * v
			g.weights.Data[i] += o.HeadRidge * v
		}
	}
	p := optimize.Problem{
		Func: func(x []float64) float64 { eval(x); return val },
		Grad: func(dst, x []float64) { eval(x); copy(dst, g.numbers[:n]) },
	}
	r, err := optimize.Minimize(p, h.numbers[:n], &optimize.Settings{MajorIterations: o.Inner, GradientThreshold: 1e-7}, &optimize.LBFGS{Store: 20})
	if r == nil {
		return err
	}
	copy(h.numbers, r.X)
	return nil
}
