package minimax

import (
	"fmt"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/regress"
)

// head is a linear classifier or regression of codes.
type head struct {
	regress.Linear
	numbers []float64 // the weights by rows, then the bias: views into them are the Linear
}

func newHead(in, out int) *head {
	numbers := make([]float64, (in+1)*out)
	weights := dense.Matrix{Rows: in, Cols: out, Stride: out, Data: numbers[:in*out]}
	return &head{regress.Linear{Weights: weights, Bias: numbers[in*out:]}, numbers}
}

func headName(i int) string { return fmt.Sprintf("head-%d", i) }

// set copies the numbers of a fit.
func (h *head) set(l *regress.Linear) {
	copy(h.Weights.Data, l.Weights.Data)
	copy(h.Bias, l.Bias)
}

// fit improves the head for codes, from what it was: by iterations of a classifier, or by
// the least squares of a regression.
func (h *head) fit(code dense.Matrix, t *Task, o *Options) error {
	if t.Labels == nil {
		l, err := regress.FitRidge(code, t.Values, o.Ridge)
		if err == nil {
			h.set(l)
		}
		return err
	}
	s, err := regress.FitSoftmax(code, t.Labels, len(t.Classes), regress.Options{
		Ridge: o.Ridge, Bias: !o.NoIntercept, MajorIterations: o.InnerIterations, Start: &regress.Softmax{Linear: h.Linear},
	})
	if err == nil {
		h.set(&s.Linear)
	}
	return err
}

// loss returns the player's loss for codes, without its factor; if gradient, it adds the
// gradient times the factor to dCode.
func (h *head) loss(code dense.Matrix, p *player, dCode dense.Matrix, gradient bool) float64 {
	for i := range p.output.Rows {
		copy(dense.Row(p.output, i), h.Bias)
	}
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, code, h.Weights, 1, p.output)
	d := dense.Matrix{}
	if gradient {
		d = p.dOut
	}
	v := p.task.loss(p.output, d)
	if gradient {
		blas64.Gemm(blas.NoTrans, blas.Trans, p.factor, d, h.Weights, 1, dCode)
	}
	return v
}

// loss returns the loss of outputs, with its gradient in d unless that is empty.
func (t *Task) loss(output, d dense.Matrix) float64 {
	if t.Labels != nil {
		return dense.CrossEntropy(output, t.Labels, d)
	}
	return dense.SquaredError(output, t.Values, d)
}
