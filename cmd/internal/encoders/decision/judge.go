// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"context"
	"math"
	"strconv"

	"gonum.org/v1/gonum/floats"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/sampler"
)

// judgeDraws is how often the noise of numbers is drawn for each person.
const judgeDraws = 200

// Judge returns what people of some rows lose by a bundle: of numbers in draws of their noise. A bundle
// without noise is a filter, and is judged as that.
func (p *Prepared) Judge(ctx context.Context, b *bundle.Bundle, rows []int) (*Expected, error) {
	release := encoders.Release(b.Filter)
	if b.Spec().Noise != bundle.None {
		v, err := b.Verify(bundle.VerifiedElsewhere) // for a study: the promise is proved before a bundle is written
		if err != nil {
			return nil, check.Errorf("decision", nil, "%w", err)
		}
		privatizer, err := v.NewDeterministicPrivatizer([32]byte{byte(p.options.Seed)}, sampler.Options{})
		if err != nil {
			return nil, check.Errorf("decision", nil, "%w", err)
		}
		release = privatizer.Privatize
	}
	losses, err := encoders.Losses(ctx, b, release, p.data.Pick(rows), judgeDraws, nil)
	if err != nil {
		return nil, err
	}
	e := &Expected{Rows: rows}
	for _, l := range losses {
		switch l.Name {
		case encoders.MeasureError:
			e.Errors = l.People
		case encoders.MeasureCrossEntropy:
			e.CrossEntropy = l.People
		}
	}
	return e, nil
}

// Plain returns what people lose by a classifier itself, without noise.
func (p *Prepared) Plain() *Expected {
	c := p.classifiers[0]
	e := &Expected{Rows: c.rows}
	for i, label := range c.unseen.labels {
		scores := dense.Row(c.unseen.scores, i)
		wrong := 0.0
		if top, _ := bundle.Top(scores); top != label {
			wrong = 1
		}
		e.Errors = append(e.Errors, wrong)
		e.CrossEntropy = append(e.CrossEntropy, floats.LogSumExp(scores)-scores[label])
	}
	return e
}

// Filter returns a bundle of logistic regression WITHOUT NOISE AND WITHOUT PROMISE: it sends the
// log-odds of each class but the first, clipped to a box that holds those of the data.
func (p *Prepared) Filter() (*bundle.Bundle, error) {
	k := len(p.data.Target.Classes)
	centered := dense.Scaling{Mean: dense.Means(p.data.X), Scale: ones(p.data.X.Cols)}
	net := centered.Reading(p.classifiers[0].net)
	layer := net.BundleLayers()[0]
	n := layer.Weights.Cols
	s := bundle.Spec{
		Features: p.data.Features, Mean: centered.Mean, Noise: bundle.None, Composition: bundle.None.Composition(),
		Promise: bundle.Promise{Epsilon: math.Inf(1)}, Domain: bundle.Box, ClipOrigin: "above the log-odds of the data; no guarantee",
		Encoder: bundle.Matrix{Rows: k - 1, Cols: n}, Offset: make([]float64, k-1), Output: bundle.Classes, Outputs: p.data.Target.Classes,
		Decoder: bundle.Matrix{Rows: k, Cols: k - 1, Data: make([]float64, k*(k-1))}, DecoderOffset: make([]float64, k),
	}
	first := layer.Weights.Row(0)
	for l := 1; l < k; l++ {
		for j, w := range layer.Weights.Row(l) {
			s.Encoder.Data = append(s.Encoder.Data, w-first[j])
		}
		s.Offset[l-1] = layer.Bias[l] - layer.Bias[0]
		s.Decoder.Data[l*(k-1)+l-1] = 1
	}
	reach := 1.0
	scores := p.classifiers[0].net.Forward(&dense.Pass{}, p.data.X)
	for i := range scores.Rows {
		row := dense.Row(scores, i)
		reach = max(reach, floats.Max(row)-floats.Min(row))
	}
	s.Axes = ones(k - 1)
	floats.Scale(2*reach, s.Axes)
	b, err := bundle.New(s)
	if err != nil {
		return nil, check.Errorf("decision", nil, "%w", err)
	}
	return b, nil
}

func ones(n int) []float64 {
	x := make([]float64, n)
	floats.AddConst(1, x)
	return x
}

// Programme is what decisions by any mechanism cost at least: a value is a class and a level of its
// score, of the shares that the calibrated scores of people out of fold have.
type Programme struct {
	Labels  []string
	Shares  []float64
	Answers []string    // the decisions
	Costs   [][]float64 // of a decision for a value
	// Response is the mean cost of randomized response on the class that the costs choose, with the best
	// decision on each of its answers.
	Response float64
}

// finestCells bounds the values of a Programme.
const finestCells = 48

// Programme returns that of a classifier, with a cost of 1 for each wrong class if there are no costs.
func (p *Prepared) Programme(classifier string, epsilon float64) (*Programme, error) {
	k := len(p.data.Target.Classes)
	costs := p.options.Costs
	if costs == nil {
		for l := range k {
			costs = append(costs, ones(k))
			costs[l][l] = 0
		}
	}
	c := p.classifiers[0]
	for _, other := range p.classifiers {
		if other.name == classifier {
			c = other
		}
	}
	q := c.unseen
	factor := q.temperature()
	q.shifts = p.shifts(factor)
	levels := max(1, min(finestCells, len(c.rows)/4)/k)
	joint := scoredLaw(q, newCells(q, levels, factor), factor)
	r, err := response(p.data.Target.Classes, epsilon)
	if err != nil {
		return nil, err
	}
	g := &Programme{Answers: r.Mechanism().Spec().AnswerLabels}
	var rows [][]float64
	for i, row := range joint {
		rows = append(rows, r.Mechanism().PMF(i/levels))
		g.Labels, g.Shares = append(g.Labels, strconv.Itoa(i)), append(g.Shares, floats.Sum(row))
		g.Costs = append(g.Costs, make([]float64, k))
		for l, mass := range row {
			floats.AddScaled(g.Costs[i], mass/g.Shares[i], costs[l])
		}
	}
	for j := range k {
		a, of := masses(joint, rows, j), make([]float64, k)
		for l, mass := range a {
			floats.AddScaled(of, mass, costs[l])
		}
		g.Response += floats.Min(of)
	}
	return g, nil
}

// scoredLaw is the joint law of cell and class by what calibrated scores say, without a look at classes:
// for cells of few people each.
func scoredLaw(p people, c *bundle.Category, factor float64) law {
	joint := make(law, p.scores.Cols*(c.Edges.Cols+1))
	for i := range joint {
		joint[i] = make([]float64, p.scores.Cols)
		floats.AddConst(1e-9/float64(len(joint)*p.scores.Cols), joint[i]) // of cells without people
	}
	for i := range p.labels {
		scores := dense.Row(p.scores, i)
		floats.AddScaled(joint[c.Cell(shifted(scores, p.shifts))], 1/float64(len(p.labels)), posterior(scores, factor))
	}
	return joint
}

// BeatsSurely is Beats where e is about a fifth of the people, which is few where one in forty errs: also with one more
// of them, who loses as much as anybody gains, and not by more errors of half a person or more. Errors are to be fewer
// by as much: that all people gain a part in a billion is sure, and says nothing of others.
func (e *Expected) BeatsSurely(f *Expected, measure string) (by, standardError float64, beats bool) {
	gains := f.differences(e, measure)
	by, standardError = Mean(gains)
	mean, deviation := Mean(append(gains, -floats.Max(gains)))
	return by, standardError, mean > 2*deviation && !e.spends(f) && (measure != encoders.MeasureError || f.spends(e))
}

// Beats reports whether people lose less by e than by f, by more than two standard errors of the
// difference, and by how much.
func (e *Expected) Beats(f *Expected, measure string) (by, standardError float64, beats bool) {
	by, standardError = f.Less(e, measure)
	return by, standardError, by > 2*standardError
}
