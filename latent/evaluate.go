package latent

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/taskspace"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/sampler"
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
		return nil, check.Field("latent", "number of features", n, fmt.Sprint(b.Features()))
	}
	if rows == 0 || draws < 2 {
		return nil, check.Field("latent", "rows and draws", fmt.Sprintf("%d and %d", rows, draws), "at least 1 and 2")
	}
	task := eye(n)
	if s.Task.Rows > 0 {
		task = mat.NewDense(s.Task.Rows, s.Task.Cols, s.Task.Data)
	}
	points, err := measureAll(s.Tables, s.TableOf)
	if err != nil {
		return nil, err
	}
	e := &Evaluation{Rows: rows, Draws: draws}
	m, _ := task.Dims()
	// add adds the squared outputs of x − x̂, divided by the rows, to sums.
	difference, output := mat.NewVecDense(n, nil), mat.NewVecDense(m, nil)
	add := func(sums, x, reconstruction []float64) {
		for j, v := range reconstruction {
			difference.SetVec(j, x[j]-v)
		}
		output.MulVec(task, difference)
		for k := range sums {
			sums[k] += output.AtVec(k) * output.AtVec(k) / float64(rows)
		}
	}

	x := make([]float64, n)
	var unit, decoded []float64
	signal, nothing := make([]float64, m), make([]float64, m)
	for i := range rows {
		mat.Row(x, i, data)
		if unit, err = b.Encode(unit[:0], x); err != nil {
			return nil, fmt.Errorf("row %d: %w", i+1, err)
		}
		for k, p := range points {
			unit[k] += p.Mean
		}
		if decoded, err = b.Decode(decoded[:0], unit); err != nil {
			return nil, err
		}
		add(signal, x, decoded)
		add(nothing, x, s.Mean)
	}
	e.Nothing = sum(nothing)
	var read mat.Dense
	read.Mul(task, mat.NewDense(s.Decoder.Rows, s.Decoder.Cols, s.Decoder.Data))
	variances := make([]float64, len(points))
	for i, p := range points {
		variances[i] = p.Variance
	}
	e.Predicted = TaskLoss(taskspace.NewLoss(signal, &read, variances))

	// Of the total and of each output, relative to the prediction, so that squares do
	// not cancel.
	measured := make([]tally, 1+m)
	for range draws {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		losses := make([]float64, m)
		for i := range rows {
			mat.Row(x, i, data)
			if unit, err = p.Privatize(unit[:0], x); err != nil {
				return nil, err
			}
			if decoded, err = b.Decode(decoded[:0], unit); err != nil {
				return nil, err
			}
			add(losses, x, decoded)
		}
		measured[0].add(sum(losses) - e.Predicted.Total)
		for k, v := range losses {
			measured[1+k].add(v - e.Predicted.Output[k])
		}
	}
	mean, deviation := measured[0].mean(float64(draws))
	e.Measured, e.StandardError = e.Predicted.Total+mean, deviation
	for k := range m {
		mean, deviation := measured[1+k].mean(float64(draws))
		e.MeasuredOutput = append(e.MeasuredOutput, e.Predicted.Output[k]+mean)
		e.StandardErrorOutput = append(e.StandardErrorOutput, deviation)
	}
	return e, nil
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

// NewPrivatizer verifies a bundle, its composition included, and returns its
// privatizer.
func NewPrivatizer(b *bundle.Bundle, o sampler.Options) (*bundle.Privatizer, error) {
	v, err := b.Verify(Compose)
	if err != nil {
		return nil, err
	}
	return bundle.NewPrivatizer(v, o)
}

func sum(values []float64) float64 {
	total := 0.0
	for _, v := range values {
		total += v
	}
	return total
}
