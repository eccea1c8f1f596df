package latent

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/sampler"
)

// Evaluation compares the task loss that is measured with the one predicted.
type Evaluation struct {
	Rows, Draws int
	// Predicted is the exact expectation, over the noise, of the mean loss of the
	// rows: what encoding, clipping and decoding lose, and the noise of the
	// tables, whose variances are known.
	Predicted TaskLoss
	// Measured is the mean over the draws of the mean loss of the rows, by output
	// in MeasuredOutput, and StandardError its standard error.
	Measured       float64
	MeasuredOutput []float64
	StandardError  float64
	// Nothing is the loss of always answering with the decoder's offset for no
	// signal, the mean of the training data.
	Nothing float64
}

// Interval returns the confidence interval of the measured loss that is z standard
// errors wide on either side.
func (e *Evaluation) Interval(z float64) (low, high float64) {
	return e.Measured - z*e.StandardError, e.Measured + z*e.StandardError
}

// Evaluate privatises the rows of data (N×n) so many times with p, decodes them,
// and measures the loss ‖K(x − x̂)‖² for the bundle's task, or for all features
// alike if it has none. It takes draws >= 2 for a standard error.
//
// Errors wrap ErrInvalid, or are those of p and the context.
func Evaluate(ctx context.Context, p *bundle.Privatizer, data mat.Matrix, draws int) (*Evaluation, error) {
	b := p.Bundle()
	s := b.Spec()
	rows, n := data.Dims()
	if n != b.Features() {
		return nil, invalid("number of features", n, fmt.Sprint(b.Features()))
	}
	if rows == 0 || draws < 2 {
		return nil, invalid("rows and draws", fmt.Sprintf("%d and %d", rows, draws), "at least 1 and 2")
	}
	task := eye(n)
	if s.Task.Rows > 0 {
		task = mat.NewDense(s.Task.Rows, s.Task.Cols, s.Task.Data)
	}
	e := &Evaluation{Rows: rows, Draws: draws}
	m, _ := task.Dims()
	e.Predicted.Output = make([]float64, m)
	e.MeasuredOutput = make([]float64, m)
	x, difference, output := make([]float64, n), mat.NewVecDense(n, nil), mat.NewVecDense(m, nil)
	// loss adds the squared outputs of x − x̂ to sums and returns their sum.
	loss := func(reconstruction []float64, sums []float64) (total float64) {
		for j, v := range reconstruction {
			difference.SetVec(j, x[j]-v)
		}
		output.MulVec(task, difference)
		for k := range m {
			square := output.AtVec(k) * output.AtVec(k)
			if sums != nil {
				sums[k] += square
			}
			total += square
		}
		return total
	}
	var unit, decoded []float64
	var err error
	for i := range rows {
		mat.Row(x, i, data)
		if unit, err = b.Encode(unit[:0], x); err != nil {
			return nil, fmt.Errorf("row %d: %w", i+1, err)
		}
		if decoded, err = b.Decode(decoded[:0], unit); err != nil {
			return nil, err
		}
		e.Predicted.Signal += loss(decoded, e.Predicted.Output)
		e.Nothing += loss(s.Mean, nil)
	}
	e.Predicted.Signal /= float64(rows)
	e.Nothing /= float64(rows)
	var column mat.VecDense
	decoder := mat.NewDense(s.Decoder.Rows, s.Decoder.Cols, s.Decoder.Data)
	for k := range e.Predicted.Output {
		e.Predicted.Output[k] /= float64(rows)
	}
	for i := range b.Coordinates() {
		variance, _ := b.Table(i).ExpectedLossOf(noise.L2{}).Float64()
		column.MulVec(task, decoder.ColView(i))
		for k := range m {
			part := variance * column.AtVec(k) * column.AtVec(k)
			e.Predicted.Output[k] += part
			e.Predicted.Noise += part
		}
	}
	e.Predicted.Total = e.Predicted.Signal + e.Predicted.Noise

	var sum, squares float64
	for range draws {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		total := 0.0
		for i := range rows {
			mat.Row(x, i, data)
			if unit, err = p.Privatize(unit[:0], x); err != nil {
				return nil, err
			}
			if decoded, err = b.Decode(decoded[:0], unit); err != nil {
				return nil, err
			}
			total += loss(decoded, e.MeasuredOutput)
		}
		total /= float64(rows)
		// Relative to the prediction, so that the squares do not cancel.
		d := total - e.Predicted.Total
		sum += d
		squares += d * d
	}
	count := float64(draws)
	e.Measured = e.Predicted.Total + sum/count
	e.StandardError = math.Sqrt(math.Max(0, squares-sum*sum/count) / (count - 1) / count)
	for k := range e.MeasuredOutput {
		e.MeasuredOutput[k] /= count * float64(rows)
	}
	return e, nil
}

// NewPrivatizer verifies a bundle, its composition included, and returns its
// privatizer.
func NewPrivatizer(b *bundle.Bundle, o sampler.Options) (*bundle.Privatizer, error) {
	v, err := b.Verify(Compose)
	if err != nil {
		return nil, err
	}
	return bundle.NewPrivatizer(v, o)
}
