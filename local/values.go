// SPDX-License-Identifier: Apache-2.0

package local

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// maxWeights bounds the product of nodes and answers, so that a file can be read again.
const maxWeights = 1 << 21

// Count is how many values there are: all integers of the range, or all labels; 0 for real values.
func (v Values) Count() int {
	switch v.Kind {
	case Integer:
		return int(v.Upper-v.Lower) + 1
	case Category:
		return len(v.Labels)
	default:
		return 0
	}
}

// Validate reports all bad fields together, wrapping dp.ErrInvalid.
func (v Values) Validate() error {
	errs := check.In("local")
	switch v.Kind {
	case Real:
		v.Weight.Validate(v.Lower, v.Upper, errs)
	case Integer:
		proof.Pieces{}.Validate(v.Lower, v.Upper, errs)
		if l, u := v.Lower, v.Upper; l < u {
			for _, x := range []float64{l, u} {
				if x != math.Trunc(x) || math.Abs(x) > exact.MaxInteger {
					errs.Bad("range", fmt.Sprintf("%g to %g", l, u), "integers of at most 2^53, for integer values")
					return errs.Err()
				}
			}
			if u-l >= limits.LocalNodes {
				errs.Badf("range", fmt.Sprintf("%g to %g", l, u), "at most %d integers", limits.LocalNodes)
				return errs.Err()
			}
		}
	case Category:
		errs.If(v.Lower != 0 || v.Upper != 0, "range", fmt.Sprintf("%g to %g", v.Lower, v.Upper), "none (0 to 0) for categories")
		formfile.ValidateLabels("labels", v.Labels, limits.LocalNodes, errs)
	default:
		errs.Bad("kind", check.Quoted(string(v.Kind)), "real, integer or category")
		return errs.Err()
	}
	errs.If(v.Kind != Real && len(v.Weight) > 0, "weight", fmt.Sprintf("%d pieces", len(v.Weight)), "none: shares weigh integers and categories")
	errs.If(v.Kind != Category && len(v.Labels) > 0, "labels", fmt.Sprintf("%d labels", len(v.Labels)), "none: only categories have labels")
	v.validateShares(errs)
	return errs.Err()
}

func (v Values) validateShares(errs *check.List) {
	if len(v.Shares) == 0 {
		return
	}
	if n := v.Count(); len(v.Shares) != n {
		errs.Badf("shares", fmt.Sprintf("%d shares", len(v.Shares)), "none or %d, one per integer or category", n)
		return
	}
	some := false
	for i, s := range v.Shares {
		if !(s >= 0) || !check.Finite(s) {
			errs.Bad(fmt.Sprintf("shares[%d]", i), s, "a finite number >= 0")
		}
		some = some || s > 0
	}
	errs.If(!some, "shares", "0 everywhere", "one above 0")
}

// densities returns the density of real values: the integrals sum to 1.
func (v Values) densities() []formfile.Density { return v.Weight.Densities(v.Lower, v.Upper) }

// shares returns the share of each integer or category: they sum to 1.
func (v Values) shares() []*big.Rat {
	if len(v.Shares) == 0 {
		return exact.Shares(slices.Repeat([]float64{1}, v.Count()))
	}
	return exact.Shares(v.Shares)
}

// Kind says what values a randomizer takes.
type Kind string

const (
	// Real values are those of a range; between nodes they are rounded at random.
	Real Kind = "real"
	// Integer values are the integers of a range; each is a node.
	Integer Kind = "integer"
	// Category values are labels without an order; each is a node.
	Category Kind = "category"
)

// Objective says which loss a randomizer makes small, and its lower bound is about.
type Objective string

const (
	// Mean is the expected loss averaged over the weight of the values.
	Mean Objective = "mean"
	// Worst is the largest expected loss of a value.
	Worst Objective = "worst"
)

// Values says which values a randomizer takes, and how much each counts.
type Values struct {
	Kind Kind `json:"kind"`
	// Lower < Upper bound the values of kind Real and Integer, in their units.
	Lower float64 `json:"lower"`
	Upper float64 `json:"upper"`
	// Weight is the density of real values up to a factor, as of kernels.Queries; empty: uniform.
	Weight proof.Pieces `json:"weight,omitempty"`
	// Shares weigh integer values and categories, one each, up to a factor; empty: uniform.
	Shares []float64 `json:"shares,omitempty"`
	// Labels are the categories.
	Labels []string `json:"labels,omitempty"`
}

// Demands restrict the mechanisms to choose from, and with them what the lower bound is about.
type Demands struct {
	// Unbiased: the mean of the answers to a value is the value, exactly.
	Unbiased bool
	// Lower <= Upper bound the answers, both 0: unbounded.
	Lower, Upper float64
	// Step, if not 0, asks for answers that are multiples of it (from Lower on, if bounded).
	Step float64
	// Cap, if not 0, bounds the expected loss of every value.
	Cap float64
}

// Spec is the content of a randomizer.
type Spec struct {
	Epsilon, Delta float64
	Values         Values
	Objective      Objective
	Demands        Demands
	// Loss is c(answer − value), convex, for kinds Real and Integer; nil for Category.
	Loss loss.Loss
	// Costs, for Category, is the loss of each answer for each value: Costs[value][answer] >= 0.
	Costs [][]float64
	// Nodes ascend from Values.Lower to Values.Upper (Integer: all integers; Category: nil).
	Nodes []float64
	// Answers ascend, in units of the values (Category: nil, there AnswerLabels).
	Answers      []float64
	AnswerLabels []string
	// Rows holds one law per node (or label) over the answers: weights that sum to 2^64.
	Rows   [][]uint64
	Dual   *Dual  // proves the lower bound; nil: none claimed beyond 0
	Claims Claims // the zero value: filled in from the certificate
}

// Claims are what a randomizer states of itself, plain decimals rounded so that they stay true.
type Claims struct {
	Delta      string `json:"delta" bound:"upper"`
	MeanLoss   string `json:"mean_loss" bound:"upper"`   // averaged over the weight of the values
	WorstLoss  string `json:"worst_loss" bound:"upper"`  // the largest of a value
	Bias       string `json:"bias" bound:"upper"`        // the largest |mean answer − value|; for Category 0
	LowerBound string `json:"lower_bound" bound:"lower"` // on the loss of the objective
}
