package latent

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/taskspace"
	"github.com/noisewright/noisewright/latent/bundle"
)

// TaskLoss is an expected loss E‖K(x − x̂)‖² in its parts, in units of the task
// output squared.
type TaskLoss struct {
	Total  float64   // Signal + Noise
	Signal float64   // of what encoding, clipping and decoding lose
	Noise  float64   // of the privacy noise
	Output []float64 // by row of the task matrix K, m; they add up to Total
}

// Evaluation compares the task loss that is measured with the one predicted.
type Evaluation struct {
	Rows, Draws int
	// Predicted is the exact expectation, over the noise, of the mean loss of the
	// rows: what encoding, clipping and decoding lose, and the noise of the
	// tables, whose variances are known.
	Predicted TaskLoss
	// Measured is the mean over the draws of the mean loss of the rows, by output in
	// MeasuredOutput.
	Measured       float64
	MeasuredOutput []float64
	// StandardError is that of Measured, StandardErrorOutput those by output. The rows
	// are taken as they are: it is about the noise alone.
	StandardError       float64
	StandardErrorOutput []float64
	// BaselineLoss is the loss of always answering with the decoder's offset for no
	// signal, the mean of the training data.
	BaselineLoss float64
}

// Interval returns the confidence interval of the measured loss that is z standard
// errors wide on either side.
func (e *Evaluation) Interval(z float64) (low, high float64) {
	return e.Measured - z*e.StandardError, e.Measured + z*e.StandardError
}

// Evaluate privatizes the rows of data (N×n) so many times with p, decodes them,
// and measures the loss ‖K(x − x̂)‖² for the bundle's task, or for all features
// alike if it has none. It takes draws >= 2 for a standard error.
//
// Errors wrap [dp.ErrInvalid], or are those of p and the context.
func Evaluate(ctx context.Context, p *bundle.Privatizer, data mat.Matrix, draws int) (*Evaluation, error) {
	v, err := newEvaluator(p, data)
	if err != nil {
		return nil, err
	}
	if draws < 2 {
		return nil, check.Field("latent", "draws", draws, "at least 2")
	}
	e := &Evaluation{Rows: v.rows, Draws: draws}
	if e.Predicted, e.BaselineLoss, err = v.predict(); err != nil {
		return nil, err
	}
	// Of the total and of each output, relative to the prediction, so that squares do
	// not cancel.
	measured := make([]tally, 1+len(e.Predicted.Output))
	for range draws {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		losses, err := v.draw()
		if err != nil {
			return nil, err
		}
		measured[0].add(sum(losses) - e.Predicted.Total)
		for k, loss := range losses {
			measured[1+k].add(loss - e.Predicted.Output[k])
		}
	}
	mean, deviation := measured[0].mean(float64(draws))
	e.Measured, e.StandardError = e.Predicted.Total+mean, deviation
	for k, predicted := range e.Predicted.Output {
		mean, deviation := measured[1+k].mean(float64(draws))
		e.MeasuredOutput = append(e.MeasuredOutput, predicted+mean)
		e.StandardErrorOutput = append(e.StandardErrorOutput, deviation)
	}
	return e, nil
}

// evaluator has what the losses of a bundle on data are computed with.
type evaluator struct {
	privatizer *bundle.Privatizer
	bundle     *bundle.Bundle
	data       mat.Matrix
	rows       int
	task       *mat.Dense // m×n

	// Scratch.
	x, unit, decoded   []float64
	difference, output *mat.VecDense
}

func newEvaluator(p *bundle.Privatizer, data mat.Matrix) (*evaluator, error) {
	b := p.Bundle()
	rows, n := data.Dims()
	if n != b.Features() {
		return nil, check.Field("latent", "number of features", n, fmt.Sprint(b.Features()))
	}
	if rows == 0 {
		return nil, check.Field("latent", "rows", rows, "at least 1")
	}
	v := &evaluator{privatizer: p, bundle: b, data: data, rows: rows, task: taskspace.Identity(n), x: make([]float64, n)}
	if t := b.Spec().Task; t.Rows > 0 {
		v.task = mat.NewDense(t.Rows, t.Cols, t.Data)
	}
	m, _ := v.task.Dims()
	v.difference, v.output = mat.NewVecDense(n, nil), mat.NewVecDense(m, nil)
	return v, nil
}

// outputs returns a number for each output of the task.
func (v *evaluator) outputs() []float64 { return make([]float64, v.output.Len()) }

// add adds the squared outputs of x − x̂, divided by the rows, to sums.
func (v *evaluator) add(sums, reconstruction []float64) {
	for j, r := range reconstruction {
		v.difference.SetVec(j, v.x[j]-r)
	}
	v.output.MulVec(v.task, v.difference)
	for k := range sums {
		sums[k] += v.output.AtVec(k) * v.output.AtVec(k) / float64(v.rows)
	}
}

// predict returns the expected loss and that of always answering with the mean.
func (v *evaluator) predict() (loss TaskLoss, baseline float64, err error) {
	s := v.bundle.Spec()
	points, err := measureAll(s.Tables, s.TableOf)
	if err != nil {
		return TaskLoss{}, 0, err
	}
	signal, constant := v.outputs(), v.outputs()
	for i := range v.rows {
		mat.Row(v.x, i, v.data)
		if v.unit, err = v.bundle.Encode(v.unit[:0], v.x); err != nil {
			return TaskLoss{}, 0, check.Errorf("latent", nil, "row %d: %w", i+1, err)
		}
		for k, p := range points {
			v.unit[k] += p.Mean
		}
		if v.decoded, err = v.bundle.Decode(v.decoded[:0], v.unit); err != nil {
			return TaskLoss{}, 0, err
		}
		v.add(signal, v.decoded)
		v.add(constant, s.Mean)
	}
	var read mat.Dense
	read.Mul(v.task, mat.NewDense(s.Decoder.Rows, s.Decoder.Cols, s.Decoder.Data))
	variances := make([]float64, len(points))
	for i, p := range points {
		variances[i] = p.Variance
	}
	return TaskLoss(taskspace.NewLoss(signal, &read, variances)), sum(constant), nil
}

// draw returns the mean loss of the rows, by output, with noise.
func (v *evaluator) draw() (losses []float64, err error) {
	losses = v.outputs()
	for i := range v.rows {
		mat.Row(v.x, i, v.data)
		if v.unit, err = v.privatizer.Privatize(v.unit[:0], v.x); err != nil {
			return nil, err
		}
		if v.decoded, err = v.bundle.Decode(v.decoded[:0], v.unit); err != nil {
			return nil, err
		}
		v.add(losses, v.decoded)
	}
	return losses, nil
}

// tally has the sum of numbers and that of their squares.
type tally struct{ sum, squares float64 }

func (m *tally) add(v float64) {
	m.sum += v
	m.squares += v * v
}

// mean returns that of so many numbers, and its standard error.
func (m *tally) mean(count float64) (mean, standardError float64) {
	variance := math.Max(0, m.squares-m.sum*m.sum/count) / (count - 1)
	return m.sum / count, math.Sqrt(variance / count)
}

func sum(values []float64) float64 {
	total := 0.0
	for _, v := range values {
		total += v
	}
	return total
}
