// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"slices"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/internal/strictjson"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// form is that of randomizers. Its files are described in docs/local-format.md, and bounded
// well above maxWeights weights and a large dual.
var form = proof.Form{Package: "local", Noun: "a local randomizer", File: strictjson.Format{
	Noun: "randomizer", Name: "noisewright-randomizer", Version: 1, MaxSize: 96 << 20,
	MaxElements: map[string]int{
		"weight": formfile.MaxPieces, "shares": limits.LocalNodes, "labels": limits.LocalNodes, "range": 2, "costs": limits.LocalAnswers,
		"nodes": limits.LocalNodes + 1, "answers": limits.LocalAnswers, "answer_labels": limits.LocalAnswers, "rows": limits.LocalAnswers,
		"weights": limits.LocalNodes + 1, "totals": limits.LocalNodes + 1, "means": limits.LocalNodes + 1, "caps": limits.LocalNodes + 1,
		"point_totals": limits.LocalNodes + 1, "point_means": limits.LocalNodes + 1,
		"pairs": limits.LocalNodes * limits.LocalNodes, "multipliers": formfile.MaxMultipliers,
	},
}}

// Verified is the proof about a randomizer, see proof.Verified.
type Verified = proof.Verified[Randomizer, Certificate]

// Verify is proof.Verify with the work that is allowed by default. A false claim is also a
// mean that is not the value though unbiasedness is promised, and a cap that is exceeded.
func (r *Randomizer) Verify() (*Verified, error) {
	return proof.Verify(context.Background(), r, proof.Options{})
}

// Prove implements proof.Mechanism.
func (r *Randomizer) Prove(ctx context.Context, o proof.Options) (proof.Proven, error) {
	return proof.Prove(ctx, r, o)
}

// Proof is for proof.Verify.
func (r *Randomizer) Proof() (p proof.Proof[Certificate]) {
	if r != nil && r.content != nil {
		p = r.proof
	}
	return p
}

// judge holds what the randomizer promises and claims against the certificate.
func (s *Spec) judge(c Certificate, _ *proof.Meter) error {
	if delta := exact.Rational(s.Delta); c.DeltaUpper.Cmp(delta) > 0 {
		return check.Errorf("local", proof.ErrNotPrivate, "delta = %g is promised but only %s is proved, between the nodes %d and %d (excess %s)", s.Delta, exact.StateUp(c.DeltaUpper), c.WorstPair[0], c.WorstPair[1], formfile.Excess(c.DeltaUpper, delta))
	}
	if s.Demands.Unbiased && c.Bias.Sign() != 0 {
		return check.Errorf("local", proof.ErrFalseClaim, "unbiased answers are promised but the mean of those to a node is off by %s", exact.StateUp(c.Bias))
	}
	if o := s.Demands.Cap; o > 0 {
		if limit := exact.Rational(o); c.WorstLoss.Cmp(limit) > 0 {
			return check.Errorf("local", proof.ErrFalseClaim, "cap = %g is promised but only %s is proved, near the value %g (excess %s)", o, exact.StateUp(c.WorstLoss), c.WorstAt, formfile.Excess(c.WorstLoss, limit))
		}
	}
	return formfile.Check("local", &s.Claims, c.stated()...)
}

// Form implements proof.Mechanism.
func (*Randomizer) Form() proof.Form { return form }

// Privacy returns the promise: any two values are neighbors.
func (r *Randomizer) Privacy() dp.Privacy {
	return dp.Privacy{Epsilon: r.spec.Epsilon, Delta: r.spec.Delta}
}

// Loss returns the loss the randomizer was designed for; nil for categories, which have costs.
func (r *Randomizer) Loss() loss.Loss { return r.spec.Loss }

// Inputs are the values.
func (r *Randomizer) Inputs() proof.Space {
	switch v := r.spec.Values; v.Kind {
	case Category:
		return proof.Space{Kind: proof.Categories, Labels: slices.Clone(v.Labels)}
	case Integer:
		return proof.Space{Kind: proof.Integers, Lower: v.Lower, Upper: v.Upper}
	default:
		return proof.Space{Kind: proof.Numbers, Lower: v.Lower, Upper: v.Upper}
	}
}

// Answers implements proof.Mechanism.
func (r *Randomizer) Answers() proof.Space {
	if r.spec.Values.Kind == Category {
		return proof.Space{Kind: proof.Categories, Labels: slices.Clone(r.spec.AnswerLabels)}
	}
	a := r.spec.Answers
	return proof.Space{Kind: proof.Numbers, Lower: a[0], Upper: a[len(a)-1]}
}

// Rows returns the law of each node.
func (r *Randomizer) Rows() [][]uint64 { return formfile.Clone(r.spec.Rows) }

// Pairs are of any two nodes: values between nodes lie between these, divergences being convex.
func (r *Randomizer) Pairs() (all, own []proof.Pair) {
	for i := range r.spec.Rows {
		for k := range i {
			all = append(all, proof.Pair{Gain: k, Lose: i}, proof.Pair{Gain: i, Lose: k})
		}
	}
	return all, all
}

// Input returns a node.
func (r *Randomizer) Input(row int) proof.Value {
	switch v := r.spec.Values; v.Kind {
	case Category:
		return proof.Category(v.Labels[row])
	case Integer:
		return proof.Integer(r.spec.Nodes[row])
	default:
		return proof.Number(r.spec.Nodes[row])
	}
}

// Choose returns the node of a category or an integer, and the nodes next to a real value.
func (r *Randomizer) Choose(input proof.Value) (c proof.Choice, err error) {
	v := r.spec.Values
	if v.Kind == Category {
		label, named := input.(proof.Category)
		row, known := r.labels[string(label)]
		if c.Row = row; !named || !known {
			return c, check.Errorf("", dp.ErrInvalid, "the value is none of the randomizer's %d categories", len(v.Labels))
		}
		return c, nil
	}
	x, _ := proof.Float(input)
	return r.ChooseNumber(x)
}

// ChooseNumber is Choose of a number, which makes no garbage. No number is a category.
func (r *Randomizer) ChooseNumber(x float64) (c proof.Choice, err error) {
	v := r.spec.Values
	var ok bool
	if c.Row, _, ok = r.between(x); !ok {
		what := "a number"
		if v.Kind == Integer {
			what = "an integer"
		}
		return c, check.Errorf("", dp.ErrInvalid, "the value is not %s in the randomizer's range, want %g to %g", what, v.Lower, v.Upper)
	}
	if v.Kind == Real {
		c.Rounded, c.X = true, x
	}
	return c, nil
}

// Points implements proof.Channel: answers stand for themselves.
func (*Randomizer) Points() int64 { return 0 }

// Answer implements proof.Channel.
func (r *Randomizer) Answer(_ proof.Choice, answer int, _ int64) proof.Value {
	if r.spec.Values.Kind == Category {
		return proof.Category(r.spec.AnswerLabels[answer])
	}
	return proof.Number(r.spec.Answers[answer])
}

// AnswerNumber is Answer as a number, which makes no garbage.
func (r *Randomizer) AnswerNumber(_ proof.Choice, answer int, _ int64) float64 {
	return r.spec.Answers[answer]
}
