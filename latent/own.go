// SPDX-License-Identifier: Apache-2.0

package latent

import (
	"context"
	"errors"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

// Own is a mechanism of one's own as the noise of a coordinate: a Table or a Randomizer.
type Own struct {
	Kind       bundle.Kind
	Radius     float64       // values within ± this may be given to it
	Table      *tables.Table // for real queries, of twice the sensitivity
	Randomizer *local.Randomizer
}

// NewOwn returns the noise that a mechanism is: a table for real queries; a local randomizer of
// numbers, moved so that its range is around 0; or a kernel, which becomes the randomizer that
// answers as its cells do, provided that it is private for any two values. Whether it is
// private a bundle of it proves. Errors wrap dp.ErrInvalid for another mechanism, and
// proof.ErrNotPrivate for a kernel that is private for closer values only.
func NewOwn(m proof.Mechanism) (*Own, error) {
	in := m.Inputs()
	if t, ok := m.(*tables.Table); ok && in.Kind == proof.Numbers {
		return &Own{Kind: bundle.Designed, Radius: t.Privacy().Sensitivity / 2, Table: t}, nil
	}
	var s local.Spec
	switch r, randomizer := m.(*local.Randomizer); {
	case randomizer && in.Kind == proof.Numbers:
		s = r.Spec()
	case m.Form().Package == "kernels":
		s = likeKernel(m)
	default:
		return nil, check.Errorf("latent", check.ErrInvalid, "noise = %s with inputs of the kind %s, want a table, a kernel or a local randomizer of numbers", m.Form().Noun, in.Kind)
	}
	if s.Values.Lower != -s.Values.Upper {
		center(&s)
	}
	r, err := local.New(context.Background(), s)
	if err == nil && m.Form().Package == "kernels" {
		_, err = r.Verify()
	}
	switch {
	case errors.Is(err, proof.ErrNotPrivate):
		return nil, check.Errorf("latent", nil, "noise = a kernel of sensitivity %g for values from %g to %g, want one that is private for any two of them: %w", m.Privacy().Sensitivity, in.Lower, in.Upper, err)
	case err != nil:
		return nil, check.Errorf("latent", nil, "noise = %s that is no randomizer around 0: %w", m.Form().Noun, err)
	}
	o := &Own{Kind: bundle.Local, Radius: min(-s.Values.Lower, s.Values.Upper), Randomizer: r}
	if s.Demands.Unbiased {
		o.Kind = bundle.LocalUnbiased
	}
	return o, nil
}

// likeKernel is what a kernel answers: a law for a value in each of its cells.
func likeKernel(m proof.Mechanism) (s local.Spec) {
	k, ok := m.(proof.Channel)
	if !ok {
		return s // local.New refuses it
	}
	p := m.Privacy()
	s = local.Spec{Epsilon: p.Epsilon, Delta: p.Delta, Objective: local.Mean, Loss: loss.L2, Rows: k.Rows()}
	for row := range s.Rows {
		x, _ := proof.Float(k.Input(row))
		s.Nodes = append(s.Nodes, x)
	}
	c, err := k.Choose(k.Input(0))
	for j := range s.Rows[0] {
		if err == nil {
			low, _ := proof.Float(k.Answer(c, j, 0))
			high, _ := proof.Float(k.Answer(c, j, max(k.Points()-1, 0)))
			s.Answers = append(s.Answers, (low+high)/2)
		}
	}
	s.Values = local.Values{Kind: local.Real, Lower: s.Nodes[0], Upper: s.Nodes[len(s.Nodes)-1]}
	return s
}

// center moves values and answers, so that the range is around 0. What rounding makes of them has
// the same laws, and so the same privacy; claims, demands and bounds of the loss are not kept.
func center(s *local.Spec) {
	middle := (s.Values.Lower + s.Values.Upper) / 2
	for _, numbers := range [][]float64{s.Nodes, s.Answers} {
		for i := range numbers {
			numbers[i] -= middle
		}
	}
	half := min(-s.Nodes[0], s.Nodes[len(s.Nodes)-1])
	s.Nodes[0], s.Nodes[len(s.Nodes)-1] = -half, half
	s.Values = local.Values{Kind: local.Real, Lower: -half, Upper: half}
	s.Demands, s.Dual, s.Claims = local.Demands{}, nil, local.Claims{}
}

// own finds the best encoder with the noise given on each of the first coordinates, as many as the promise is enough for.
func (r *Result) own(ctx context.Context, o *Own) ([]*Candidate, error) {
	promised := proof.Mechanism(o.Table)
	if o.Table == nil {
		promised = o.Randomizer
	}
	p := promised.Privacy()
	var best *Candidate
	for z := 1; z <= min(len(r.Lambda), maxCoordinates); z++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if exact.Share(r.problem.Epsilon, z) < p.Epsilon || exact.Share(r.problem.Delta, z) < p.Delta {
			break
		}
		c, err := r.ownCandidate(o, p.Epsilon, p.Delta, z)
		if err != nil {
			return nil, err
		}
		if c.Z > 0 && (best == nil || c.Loss < best.Loss) {
			best = c
		}
	}
	if best == nil {
		return nil, check.Errorf("latent", check.ErrInvalid, "noise of epsilon %g and delta %g, want at most the promise of epsilon %g and delta %g", p.Epsilon, p.Delta, r.problem.Epsilon, r.problem.Delta)
	}
	return []*Candidate{best}, nil
}

func (r *Result) ownCandidate(o *Own, epsilon, delta float64, z int) (c *Candidate, err error) {
	c = &Candidate{
		Noise: o.Kind, Encoder: taskAware, Composition: o.Kind.Composition(), Bundled: true,
		axes: make([]float64, z), radii: r.radiiOf(z),
	}
	for i, radius := range c.radii {
		if radius == 0 {
			continue
		}
		c.axes[i] = o.Radius
		c.Z++
		c.Epsilon, c.Delta = append(c.Epsilon, epsilon), append(c.Delta, delta)
		if o.Table != nil {
			p := measure(o.Table)
			c.points, c.variances = append(c.points, p), append(c.variances, p.variance)
			continue
		}
		c.randomizers, c.responses = append(c.randomizers, o.Randomizer), append(c.responses, newResponse(o.Randomizer))
	}
	if c.Z == 0 {
		return c, nil
	}
	c.encoder = r.unitEncoder(c.axes, c.radii)
	if o.Table != nil {
		c.Loss, err = r.loss(c)
		return c, err
	}
	if r.problem.Data == nil {
		return nil, check.Errorf("latent", check.ErrInvalid, "noise = %s without data, want data: what it answers depends on the law of the values", o.Kind)
	}
	m, variances := r.answered(c.encoder, c.responses)
	c.Loss, err = r.encoderLoss(m, variances)
	return c, err
}
