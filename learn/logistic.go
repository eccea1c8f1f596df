// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"cmp"
	"context"
	"fmt"

	"github.com/noisewright/noisewright/internal/check"
)

// LogisticOptions tune a logistic regression. They are public, and the zero value is useful.
type LogisticOptions struct {
	// Rounds of steps; coefficients are averaged over the second half of them. 0 means 100.
	Rounds int
	// PerRound is how many features a round makes steps on, the intercept counted as one; 0
	// means a quarter of them, rounded up. Each costs a release.
	PerRound int
	// StepSize is that of a step along the mean gradient, above 0 and at most 8; 0 means 4, the
	// inverse of the largest curvature of the mean loss. Steps are smaller where noise would
	// move a coefficient by more than 0.2 in one.
	StepSize float64
	// Lambda is the weight of the sum of the magnitudes of coefficients beside the mean loss; 0
	// means 1e-8.
	Lambda float64
}

// Validate reports all bad fields together, wrapping dp.ErrInvalid.
func (o LogisticOptions) Validate() error {
	bad := check.In("learn")
	bad.Want(o.Rounds >= 0 && o.Rounds <= maxRounds, "rounds", o.Rounds, "from 1 to %d", maxRounds)
	bad.Want(o.PerRound >= 0 && o.PerRound <= maxRounds, "per-round", o.PerRound, "from 1 to %d", maxRounds)
	bad.Want(o.StepSize >= 0 && o.StepSize <= maxStepSize, "step-size", o.StepSize, "a number above 0, at most %d", maxStepSize)
	bad.Want(o.Lambda >= 0 && o.Lambda <= 1, "lambda", o.Lambda, "a number above 0, at most 1")
	return bad.Err()
}

const (
	maxRounds = 4096
	// maxStepSize is twice the inverse of the largest curvature, 1/4: longer steps diverge.
	maxStepSize = 8
)

// Limits returns the largest Rounds, which bounds PerRound too, and the largest StepSize.
func (LogisticOptions) Limits() (rounds int, stepSize float64) { return maxRounds, maxStepSize }

// with returns the options with their defaults for a number of blocks.
func (o LogisticOptions) with(blocks int) LogisticOptions {
	return LogisticOptions{
		Rounds: cmp.Or(o.Rounds, 100), PerRound: cmp.Or(o.PerRound, (blocks+3)/4),
		StepSize: cmp.Or(o.StepSize, 4), Lambda: cmp.Or(o.Lambda, 1e-8),
	}
}

// Releases returns how many releases Fit makes: the number of records, and the gradients of
// every step. The error wraps dp.ErrInvalid for bad options, and for classes that are not two.
func (o LogisticOptions) Releases(s *Schema) (int, error) {
	bad := check.In("learn")
	bad.Add(o.Validate())
	twoClasses(s, bad)
	o = o.with(1 + len(s.Features))
	return 1 + o.Rounds*o.PerRound, bad.Err()
}

func twoClasses(s *Schema, bad *check.List) {
	bad.If(len(s.Classes) != 2, "classes", len(s.Classes), "two for logistic regression")
}

// logistic is a classifier for two classes: the logarithm of the odds of the second is an
// intercept plus the coefficients of a record's categories, and of its numbers on [-1, 1].
type logistic struct {
	Intercept float64 `json:"intercept"`
	// Coefficients are by features: one of a number, and one for every category, of which
	// the first is 0.
	Coefficients [][]float64 `json:"coefficients"`
}

// Fit fits a logistic regression with an l1 penalty, of two classes, by proximal coordinate
// descent with noise on its gradients (Selvi, Liu & Wiesemann 2025, section 5.3; Mangold,
// Bellet, Salmon & Tommasi 2022). It makes o.Releases of the schema, of which the first is the
// number of records: no step depends on a number that is not released.
//
// Guarantee: that of the Releaser (docs/proofs/learn.md). The error wraps dp.ErrInvalid for bad
// options, records without classes and classes that are not two, or is that of the Releaser:
// account.ErrExceeded if its noise is for fewer releases.
func (o LogisticOptions) Fit(ctx context.Context, d *Data, r *Releaser) (*Model, error) {
	bad := check.In("learn")
	_, err := o.Releases(d.schema)
	bad.Add(err)
	bad.Add(d.wantLabels())
	if err := bad.Err(); err != nil {
		return nil, err
	}
	descent := newDescent(d, r.noise.deviation, o)
	descent.add = r.Release
	h, err := descent.run(ctx)
	if err != nil {
		return nil, err
	}
	m := &logistic{Intercept: h[0]}
	h = h[1:]
	for j, block := range descent.blocks[1:] {
		var c []float64
		if !d.schema.Features[j].Numeric() {
			c = []float64{0}
		}
		m.Coefficients = append(m.Coefficients, append(c, h[:block.size]...))
		h = h[block.size:]
	}
	return d.model(r, m), nil
}

// newDescent lays out the columns: 1 for the intercept, the value of a numeric feature, and an
// indicator of every category but the first.
func newDescent(d *Data, deviation float64, o LogisticOptions) *descent {
	o = o.with(1 + len(d.schema.Features))
	out := &descent{rounds: o.Rounds, steps: o.PerRound, stepSize: o.StepSize, lambda: o.Lambda, deviation: deviation}
	by := func(of func(row int) float64) []float64 {
		values := make([]float64, d.Len())
		for i := range values {
			values[i] = of(i)
		}
		return values
	}
	number := func(of func(row int) float64) { out.blocks = append(out.blocks, block{values: by(of), size: 1}) }
	number(func(int) float64 { return 1 })
	for j, f := range d.schema.Features {
		if f.Numeric() {
			number(func(row int) float64 { return d.Unit(j, row) })
		} else {
			out.blocks = append(out.blocks, block{codes: d.columns[j], size: len(f.Categories) - 1})
		}
	}
	out.signs = by(func(row int) float64 { return float64(2*d.Class(row) - 1) })
	return out
}

// Scores returns 0 and the logarithm of the odds of the second class.
func (m *logistic) Scores(d *Data, row int) []float64 {
	z := m.Intercept
	for j, c := range m.Coefficients {
		if d.schema.Features[j].Numeric() {
			z += c[0] * d.Unit(j, row)
		} else {
			z += c[d.Code(j, row)]
		}
	}
	return []float64{0, z}
}

func (m *logistic) put(f *modelFile) { f.Kind, f.Logistic = kindLogistic, m }

func (m *logistic) validate(s *Schema, bad *check.List) {
	twoClasses(s, bad)
	numbers(bad, "logistic.intercept", []float64{m.Intercept}, 1, -maxParameter, maxParameter)
	if len(m.Coefficients) != len(s.Features) {
		bad.Badf("logistic.coefficients", len(m.Coefficients), asMany, len(s.Features))
		return
	}
	for j, c := range m.Coefficients {
		numbers(bad, fmt.Sprintf("logistic.coefficients[%d]", j), c, max(len(s.Features[j].Categories), 1), -maxParameter, maxParameter)
	}
}
