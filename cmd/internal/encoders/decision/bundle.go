// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/floats"

	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/local"
)

// Bundle makes what both sides need of a way: of all people the law of the cells is, of scores by
// classifiers that had not seen them.
//
// Guarantee: that of the randomizer, whatever classifier and law are; Bundle.Verify proves it.
func (p *Prepared) Bundle(ctx context.Context, w Way, epsilon float64) (*bundle.Bundle, error) {
	c := w.classifier
	if c == nil { // one answer to every cell, of which there is one for each class
		c = p.classifiers[0]
	}
	a, err := p.answering(ctx, w, c.unseen, epsilon)
	if err != nil {
		return nil, err
	}
	classes := p.data.Target.Classes
	s := bundle.Spec{
		Features: p.data.Features, Noise: bundle.Decision, Domain: bundle.Cells, Composition: bundle.Decision.Composition(),
		ClipOrigin: fmt.Sprintf("%s of %d people", w, len(p.data.Target.Labels)), Promise: bundle.Promise{Epsilon: epsilon},
		Output: bundle.Classes, Outputs: slices.Clone(classes), Category: a.category,
		Randomizers: []*local.Randomizer{a.proof.Mechanism()}, RandomizerOf: []int{0},
	}
	centered := dense.Scaling{Mean: dense.Means(p.data.X), Scale: slices.Repeat([]float64{1}, p.data.X.Cols)}
	s.Mean = centered.Mean
	s.Layers, s.Encoder, s.Offset = dense.Decoder(centered.Reading(c.net).BundleLayers())
	floats.Add(s.Offset, a.shifts)
	s.Category.Shares = matrixOf(a.law)
	s.Category.Decisions = a.decisions
	s.Decoder, s.DecoderOffset = matrixOf(a.logs), make([]float64, len(classes))
	b, err := bundle.New(s)
	if err != nil {
		return nil, check.Errorf("decision", nil, "%w", err)
	}
	return b, nil
}

// silence is a randomizer whose two answers are as likely for every cell.
func silence(cells int, epsilon float64) (*local.Verified, error) {
	s := local.Spec{Epsilon: epsilon, Objective: local.Mean, Values: local.Values{Kind: local.Category}, AnswerLabels: []string{"0", "1"}}
	for i := range cells {
		s.Values.Labels = append(s.Values.Labels, strconv.Itoa(i))
		s.Rows, s.Costs = append(s.Rows, []uint64{1 << 63, 1 << 63}), append(s.Costs, []float64{0, 0})
	}
	r, err := local.New(context.Background(), s)
	if err != nil {
		return nil, check.Errorf("decision", nil, "%w", err)
	}
	return r.Verify()
}

func matrixOf(rows [][]float64) bundle.Matrix {
	return bundle.Matrix{Rows: len(rows), Cols: len(rows[0]), Data: slices.Concat(rows...)}
}
