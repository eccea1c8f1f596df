// SPDX-License-Identifier: Apache-2.0

package encoders

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/latent/bundle"
)

// Release makes what a device sends: bundle.Privatizer.Privatize, or bundle.Bundle.Filter.
type Release func(dst, x []float64) ([]float64, error)

// Measure is the mean over people of how far an answer is from the truth.
type Measure struct {
	Name          string // one of the Measure constants
	Mean          float64
	StandardError float64 // over people like these, and their noise; 0 for one
}

// The measures.
const (
	MeasureError        = "error"         // the share of wrong classes
	MeasureCrossEntropy = "cross entropy" // of the classes, in nats
	MeasureSquared      = "squared error" // of values, or of features or the bundle's task of them
)

// ReleaseAll releases each of the people once, a row for each (N×Z).
func ReleaseAll(b *bundle.Bundle, release Release, d *Data) (encoder.Matrix, error) {
	z := b.Coordinates()
	u := encoder.Matrix{Rows: d.X.Rows, Cols: z, Stride: z, Data: make([]float64, 0, d.X.Rows*z)}
	var out []float64
	for i := range d.X.Rows {
		var err error
		if out, err = release(out, d.row(i)); err != nil {
			return encoder.Matrix{}, check.Errorf("encoder", nil, "row %d: %w", i+1, err)
		}
		u.Data = append(u.Data, out...)
	}
	return u, nil
}

func (d *Data) row(i int) []float64 { return d.X.Data[i*d.X.Stride:][:d.X.Cols] }

// Evaluate releases each of the people so many times, decodes, and compares with the truth:
// the target for bundles that decode to classes or a value, else the features, through the
// task of the bundle if it has one. The columns of X are the features of the bundle; progress
// is called after each draw and may be nil.
//
// Of a category that is released the expectation over the answers takes the place of draws.
//
// Errors wrap dp.ErrInvalid for a target that the bundle does not decode to, or are those of
// release and the context.
func Evaluate(ctx context.Context, b *bundle.Bundle, release Release, d *Data, draws int, progress func(draw int)) ([]Measure, error) {
	losses, err := Losses(ctx, b, release, d, draws, progress)
	if err != nil {
		return nil, err
	}
	measures := make([]Measure, len(losses))
	for k, l := range losses {
		measures[k] = newMeasure(l.Name, l.People)
	}
	return measures, nil
}

// PeopleLosses are what each of the people loses on the average over the noise, by one measure.
type PeopleLosses struct {
	Name   string // of the measure
	People []float64
}

// Losses is Evaluate, without the average over people.
func Losses(ctx context.Context, b *bundle.Bundle, release Release, d *Data, draws int, progress func(draw int)) ([]PeopleLosses, error) {
	e, err := newErrors(b, d)
	if err != nil {
		return nil, err
	}
	if draws < 1 || d.X.Rows < 1 || d.X.Cols != b.Features() {
		return nil, check.Errorf("encoder", dp.ErrInvalid, "%d draws of %d×%d numbers, want at least one of each and %d features", draws, d.X.Rows, d.X.Cols, b.Features())
	}
	losses, one := make([]PeopleLosses, len(e.names)), make([]float64, len(e.names))
	for k, name := range e.names {
		losses[k] = PeopleLosses{name, make([]float64, d.X.Rows)}
	}
	add := func(i int, u, decoded []float64, weight float64) {
		e.of(one, i, u, decoded)
		for k, v := range one {
			losses[k].People[i] += weight * v
		}
	}
	if laws := b.Laws(); laws.Rows > 0 {
		return losses, expected(b, laws, d, add)
	}
	var u, decoded []float64
	for draw := range draws {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for i := range d.X.Rows {
			if u, err = release(u, d.row(i)); err == nil {
				decoded, err = b.Decode(decoded, u)
			}
			if err != nil {
				return nil, check.Errorf("encoder", nil, "row %d: %w", i+1, err)
			}
			add(i, u, decoded, 1/float64(draws))
		}
		if progress != nil {
			progress(draw + 1)
		}
	}
	return losses, nil
}

// expected adds all answers to the cell of each of the people, with their probabilities.
func expected(b *bundle.Bundle, laws bundle.Matrix, d *Data, add func(i int, u, decoded []float64, weight float64)) error {
	answers := make([][]float64, laws.Cols)
	for j := range answers {
		var err error
		if answers[j], err = b.Decode(nil, []float64{float64(j)}); err != nil {
			return err
		}
	}
	var cell []float64
	for i := range d.X.Rows {
		var err error
		if cell, err = b.Encode(cell, d.row(i)); err != nil {
			return check.Errorf("encoder", nil, "row %d: %w", i+1, err)
		}
		for j, q := range laws.Row(int(cell[0])) {
			add(i, []float64{float64(j)}, answers[j], q)
		}
	}
	return nil
}

// newMeasure averages over people.
func newMeasure(name string, people []float64) Measure {
	sum, squares, count := 0.0, 0.0, float64(len(people))
	for _, v := range people {
		sum += v
	}
	for _, v := range people {
		squares += (v - sum/count) * (v - sum/count)
	}
	return Measure{name, sum / count, math.Sqrt(squares / max(count-1, 1) / count)}
}

// personErrors compares what was decoded for a person with the truth, in several measures.
type personErrors struct {
	names []string
	of    func(dst []float64, row int, u, decoded []float64)
}

func newErrors(b *bundle.Bundle, d *Data) (*personErrors, error) {
	s, t := b.Spec(), &d.Target
	switch s.Output {
	case bundle.Classes:
		truth, err := outputsOf(b, t)
		if err != nil {
			return nil, err
		}
		return &personErrors{[]string{MeasureError, MeasureCrossEntropy}, func(dst []float64, row int, u, p []float64) {
			k := truth[t.Labels[row]]
			dst[0], dst[1] = 1, -math.Log(max(p[k], math.SmallestNonzeroFloat64)) // finite
			if b.Decide(u, p) == k {
				dst[0] = 0
			}
		}}, nil
	case bundle.Values:
		return newValueErrors(b, d)
	default:
		return &personErrors{[]string{MeasureSquared}, func(dst []float64, row int, _, x []float64) { dst[0] = squaredTask(s.Task, d.row(row), x) }}, nil
	}
}

// newValueErrors compares values: the one of the target's name, or the only one, with its numbers,
// and those of the names "target = class" with its classes, of which the largest is the answer.
func newValueErrors(b *bundle.Bundle, d *Data) (*personErrors, error) {
	t, names := &d.Target, b.Outputs()
	k := slices.Index(names, t.Name)
	if len(names) == 1 {
		k = 0
	}
	if k >= 0 && len(t.Values) == d.X.Rows {
		return &personErrors{[]string{MeasureSquared}, func(dst []float64, row int, _, y []float64) {
			dst[0] = (y[k] - t.Values[row]) * (y[k] - t.Values[row])
		}}, nil
	}
	of := make([]int, len(t.Classes))
	for i, class := range t.Classes {
		of[i] = slices.Index(names, t.Name+" = "+class)
	}
	if len(of) == 0 || slices.Contains(of, -1) {
		return nil, check.Errorf("encoder", dp.ErrInvalid, "target %s is none of the values of the bundle, want one of %s", check.Quoted(t.Name), check.Shortened(strings.Join(names, ", ")))
	}
	return &personErrors{[]string{MeasureError}, func(dst []float64, row int, _, y []float64) {
		dst[0] = 1
		if slices.MaxFunc(of, func(a, b int) int { return cmp.Compare(y[a], y[b]) }) == of[t.Labels[row]] {
			dst[0] = 0
		}
	}}, nil
}

func outputsOf(b *bundle.Bundle, t *Column) ([]int, error) {
	if t.Classes == nil {
		return nil, check.Errorf("encoder", dp.ErrInvalid, "target %s has numbers, want the classes of the bundle", check.Quoted(t.Name))
	}
	of := make([]int, len(t.Classes))
	for k, name := range t.Classes {
		if of[k] = slices.Index(b.Outputs(), name); of[k] < 0 {
			return nil, check.Errorf("encoder", dp.ErrInvalid, "target %s has the class %s, want those of the bundle: %s", check.Quoted(t.Name), check.Quoted(name), check.Shortened(strings.Join(b.Outputs(), ", ")))
		}
	}
	return of, nil
}

// squaredTask is ‖K(x - x̂)‖², or ‖x - x̂‖² without a task.
func squaredTask(task bundle.Matrix, x, decoded []float64) float64 {
	sum := 0.0
	if task.Rows == 0 {
		for j, v := range x {
			sum += (v - decoded[j]) * (v - decoded[j])
		}
		return sum
	}
	for i := range task.Rows {
		y := 0.0
		for j, k := range task.Row(i) {
			y += k * (x[j] - decoded[j])
		}
		sum += y * y
	}
	return sum
}
