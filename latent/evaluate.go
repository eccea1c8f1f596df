// SPDX-License-Identifier: Apache-2.0

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

// Evaluation compares the task loss that is measured with the one predicted.
type Evaluation struct {
	Rows, Draws int
	// Predicted is the exact expectation, over the noise, of the mean loss of the rows: what
	// encoding, clipping and decoding lose, and the noise of the tables, whose variances are known.
	Predicted taskspace.Loss
	// Measured is the mean over the draws of the mean loss of the rows, outputs in MeasuredOutput.
	Measured       float64
	MeasuredOutput []float64
	// StandardError is that of Measured, StandardErrorOutput those by output. The rows
	// are taken as they are: it is about the noise alone.
	StandardError       float64
	StandardErrorOutput []float64
	// BaselineLoss is that of always answering with the mean of the training data.
	BaselineLoss float64
}

// Interval is the confidence interval of the measured loss, z standard errors to either side.
func (e *Evaluation) Interval(z float64) (low, high float64) {
	return e.Measured - z*e.StandardError, e.Measured + z*e.StandardError
}

// Evaluate privatizes the rows of data (N×n) so many times with p, decodes them,
// and measures the loss ‖K(x − x̂)‖² for the bundle's task, or for all features
// alike if it has none. It takes draws >= 2 for a standard error.
//
// Errors wrap [dp.ErrInvalid], also where the bundle decodes to anything but the features or
// by a head, or are those of p and the context.
func Evaluate(ctx context.Context, p *bundle.Privatizer, data mat.Matrix, draws int) (*Evaluation, error) {
	b := p.Bundle()
	rows, n := data.Dims()
	if n != b.Features() {
		return nil, check.Field("latent", "number of features", n, fmt.Sprint(b.Features()))
	}
	s := b.Spec()
	switch {
	case rows == 0:
		return nil, check.Field("latent", "rows", rows, "at least 1")
	case draws < 2:
		return nil, check.Field("latent", "draws", draws, "at least 2")
	case s.Output != bundle.Features || len(s.Head) > 0:
		return nil, check.Field("latent", "bundle", fmt.Sprintf("one with the output %q and %d layers of a head", s.Output, len(s.Head)), "one that decodes to the features without a head, whose loss can be predicted")
	}
	task := taskspace.Identity(n)
	if s.Task.Rows > 0 {
		task = mat.NewDense(s.Task.Rows, s.Task.Cols, s.Task.Data)
	}
	e := &Evaluation{Rows: rows, Draws: draws}
	var err error
	if e.Predicted, err = predict(b, &s, task, data); err != nil {
		return nil, err
	}
	constant, err := meanLosses(task, data, func([]float64) ([]float64, error) { return s.Mean, nil })
	if err != nil {
		return nil, err
	}
	e.BaselineLoss = sum(constant)
	// Of the total and of each output, relative to the prediction, so that squares do not cancel.
	measured := make([]tally, 1+len(e.Predicted.Output))
	unit, decoded := make([]float64, b.Coordinates()), make([]float64, n)
	for range draws {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		losses, err := meanLosses(task, data, func(x []float64) ([]float64, error) {
			if _, err := p.Privatize(unit, x); err != nil {
				return nil, err
			}
			return b.Decode(decoded, unit)
		})
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
	for k, m := range measured[1:] {
		mean, deviation := m.mean(float64(draws))
		e.MeasuredOutput = append(e.MeasuredOutput, e.Predicted.Output[k]+mean)
		e.StandardErrorOutput = append(e.StandardErrorOutput, deviation)
	}
	return e, nil
}

// meanLosses returns the mean over the rows of data of the squared outputs of the task,
// of the features less what is made of them.
func meanLosses(task *mat.Dense, data mat.Matrix, reconstruct func(x []float64) ([]float64, error)) ([]float64, error) {
	outputs, n := task.Dims()
	rows, _ := data.Dims()
	losses := make([]float64, outputs)
	x, output := make([]float64, n), mat.NewVecDense(outputs, nil)
	for i := range rows {
		made, err := reconstruct(mat.Row(x, i, data))
		if err != nil {
			return nil, check.Errorf("latent", nil, "row %d: %w", i+1, err)
		}
		for j, v := range made {
			x[j] -= v
		}
		output.MulVec(task, mat.NewVecDense(n, x))
		for k := range losses {
			losses[k] += output.AtVec(k) * output.AtVec(k) / float64(rows)
		}
	}
	return losses, nil
}

// predict returns the expected loss of a bundle of the content s.
func predict(b *bundle.Bundle, s *bundle.Spec, task *mat.Dense, data mat.Matrix) (taskspace.Loss, error) {
	if s.Lookup != nil {
		return lookupLoss(b, s, task, data)
	}
	units, err := encodedRows(b, data)
	if err != nil {
		return taskspace.Loss{}, err
	}
	variances := answer(channels(s), units)
	row := -1
	signal, err := meanLosses(task, data, func([]float64) ([]float64, error) {
		row++
		return b.Decode(nil, units.RawRowView(row))
	})
	if err != nil {
		return taskspace.Loss{}, err
	}
	var read mat.Dense
	read.Mul(task, mat.NewDense(s.Decoder.Rows, s.Decoder.Cols, s.Decoder.Data))
	return taskspace.NewLoss(signal, &read, variances), nil
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
