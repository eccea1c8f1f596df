// SPDX-License-Identifier: Apache-2.0

package lp

import (
	"context"
	"fmt"
	"math"
	"math/big"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
	designlocal "github.com/noisewright/noisewright/lp/internal/local"
)

// LocalProblem asks for a local randomizer: answers to one value of a range, or to one
// category, that make any two values (Epsilon, Delta)-indistinguishable, with the
// smallest expected loss (Duchi, Jordan & Wainwright 2018 for the setting).
type LocalProblem = designlocal.Problem

func validateLocal(p LocalProblem) error {
	errs := check.In("lp")
	wantPrivacy(errs, p.Epsilon, p.Delta)
	if err := p.Values.Validate(); err != nil {
		errs.Add(check.Errorf("lp", nil, "%w", err))
	}
	errs.OneOf("objective", string(p.Objective), string(local.Mean), string(local.Worst))
	errs.Want(p.Cells >= 0 && p.Cells < limits.LocalNodes, "cells", p.Cells, "1 to %d", limits.LocalNodes-1)
	errs.Want(p.MaxAnswers == 0 || p.MaxAnswers >= 2 && p.MaxAnswers <= limits.LocalAnswers, "max-answers", p.MaxAnswers, "2 to %d", limits.LocalAnswers)
	if p.Values.Kind == local.Category {
		validateCosts(errs, p)
	} else {
		validateNumbers(errs, p)
	}
	if err := errs.Err(); err != nil {
		return err
	}
	return possible(p)
}

func validateCosts(errs *check.List, p LocalProblem) {
	if p.Loss != nil {
		errs.Bad("loss", check.Quoted(p.Loss.Name()), "none for categories, which have costs")
	}
	answers := len(p.AnswerLabels)
	if answers == 0 {
		answers = len(p.Values.Labels)
	}
	errs.Want(len(p.Costs) == len(p.Values.Labels), "costs", fmt.Sprintf("%d rows", len(p.Costs)), "%d, one for each category", len(p.Values.Labels))
	for i, row := range p.Costs {
		if len(row) != answers {
			errs.Badf(fmt.Sprintf("costs[%d]", i), fmt.Sprintf("%d costs", len(row)), "%d, one for each answer", answers)
			return
		}
		for j, c := range row {
			if !(c >= 0) || !check.Finite(c) {
				errs.Bad(fmt.Sprintf("costs[%d][%d]", i, j), c, "a finite number >= 0")
				return
			}
		}
	}
	if d := p.Demands; d.Unbiased {
		errs.Bad("unbiased", true, "false for categories")
	} else if d.Lower != 0 || d.Upper != 0 || d.Step != 0 {
		errs.Bad("answers", "some only", "any, for categories")
	}
}

// mostSteps bounds how many steps of answers are in a number, so that it is far from infinite.
const mostSteps = 0x1p900

func validateNumbers(errs *check.List, p LocalProblem) {
	if p.Loss == nil {
		errs.Bad("loss", "none", "a loss")
	} else if _, _, convex := loss.Of(p.Loss).TangentDown(new(big.Rat)); !convex {
		errs.Bad("loss", check.Quoted(p.Loss.Name()), "a convex loss, such as l1, l2 or pinball:0.9")
	}
	errs.Want(p.Costs == nil && p.AnswerLabels == nil, "costs", fmt.Sprintf("%d rows", len(p.Costs)), "none: only categories have costs")
	d := p.Demands
	errs.Want(d.Lower <= d.Upper && check.Finite(d.Lower, d.Upper, d.Upper-d.Lower), "answers", fmt.Sprintf("%g to %g", d.Lower, d.Upper), "finite numbers, lower not above upper")
	if !(d.Step >= 0) || !check.Finite(d.Step) {
		errs.Bad("answer-step", d.Step, "0 for any answers, or a finite number above 0")
	} else if most := max(math.Abs(p.Values.Lower), math.Abs(p.Values.Upper), math.Abs(d.Lower), math.Abs(d.Upper)); d.Step > 0 && most/d.Step > mostSteps {
		errs.Bad("answer-step", d.Step, "0 for any answers, or a number of which values and answers are at most 2^900 times")
	}
	wantCap(errs, d.Cap, nil)
	switch {
	case p.Epsilon > 0 || !d.Unbiased:
	case p.Delta == 0:
		errs.Bad("epsilon", "0 and delta = 0", "one of them above 0 for unbiased answers, since nothing may depend on the value")
	default:
		errs.Badf("epsilon", "0", "%v for unbiased answers", Limits.Epsilon)
	}
	a, b := p.Values.Lower, p.Values.Upper
	if largest := max(math.Abs(a), math.Abs(b)); a < b && !(b-a >= max(leastRange, largest*leastShare) && largest <= mostRange) {
		errs.Badf("range", fmt.Sprintf("%g to %g", a, b), "numbers of at most %g in magnitude, and apart by %g at least and by %g of the larger one", mostRange, leastRange, leastShare)
	}
	if s := d.Step; s > 0 && p.Bounded() && d.Lower+s > d.Upper {
		errs.Bad("answer-step", s, fmt.Sprintf("at most %g, so that there are two answers from %g to %g", d.Upper-d.Lower, d.Lower, d.Upper))
	}
}

// The limits of a range keep squares of values, and of parts, far from the ends of float64s.
const (
	mostRange  = 1e60
	leastRange = 1e-60
	leastShare = 1e-9
)

// possible refuses a range of answers in which none can be unbiased. Of the means of answers Y from
// A to B of the laws at the ends a < b of the values, Y − A >= 0 says that b − A ≤ e^ε·(a − A) +
// δ·(B − A), and B − Y likewise; the mechanism of two answers shows that this is enough.
func possible(p LocalProblem) error {
	d := p.Demands
	if !d.Unbiased || !p.Bounded() {
		return nil
	}
	a, b, e := p.Values.Lower, p.Values.Upper, math.Exp(p.Epsilon)
	spare := p.Delta * (d.Upper - d.Lower)
	if b-d.Lower <= e*(a-d.Lower)+spare && d.Upper-a <= e*(d.Upper-b)+spare {
		return nil
	}
	// With equal room r on both sides, (1 − δ)(b − a) ≤ (e^ε − 1 + 2δ)·r.
	room := (b - a) * (1 - p.Delta) / (math.Expm1(p.Epsilon) + 2*p.Delta)
	return check.Field("lp", "answers", fmt.Sprintf("%g to %g", d.Lower, d.Upper), fmt.Sprintf(
		"a range wide enough for unbiased answers to values from %g to %g, such as %.6g to %.6g", a, b, a-1.01*room, b+1.01*room))
}

// DesignLocal finds a local randomizer whose loss, that of the objective, is within the
// requested gap of the best possible for any mechanism whose answers to any two values are
// (Epsilon, Delta)-indistinguishable. Limits end it as they end Design. The error wraps
// ErrInfeasible if nothing keeps the demands.
//
// Options.MaxCells bounds the intervals between nodes, which Progress reports as cells.
//
// Guarantee: privacy, unbiasedness, losses and bound are those of the randomizer's exact
// certificate, whatever the solver did.
func DesignLocal(ctx context.Context, p LocalProblem, o Options) (*Result[local.Verified], error) {
	return designed(ctx, p, validateLocal(p), o, Limits.Gap.Default, limits.LocalNodes-1, designlocal.Design)
}
