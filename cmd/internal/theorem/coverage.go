// SPDX-License-Identifier: Apache-2.0

package theorem

import (
	"fmt"
	"iter"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

// maxExponent is that of the multipliers that proofs/Bound.v can count in units of 2^-96.
const maxExponent = 96

// Claim is a claim of a file, with the theorem of proofs/ that is about it.
type Claim struct {
	Name    string `json:"claim"`
	Theorem string `json:"theorem,omitempty"` // none: it is not machine-checked
	Why     string `json:"not_machine_checked,omitempty"`

	Says string `json:"-"` // what is claimed, for one that is not
	// What Write writes of one that is: the name it has there, what it says of the decoded file f, in words and in Coq.
	Label, Comment, Statement string `json:"-"`
}

// Text says which theorem a claim has, or why it has none.
func (c Claim) Text() string {
	if c.Theorem == "" {
		return fmt.Sprintf("%s: not machine-checked: %s", c.Name, c.Why)
	}
	return c.Name + ": " + c.Theorem
}

// Claims lists the claims of a file. It looks at what they are, not whether they hold: that is for Coq to say, of what
// Write writes.
func Claims(m proof.Mechanism) []Claim {
	const why = "only tables, local randomizers, kernels and subset selections are covered"
	for _, f := range forms {
		if f.form.Package == m.Form().Package {
			return f.claims(m)
		}
	}
	return []Claim{{Name: "privacy", Why: why}, {Name: "loss", Why: why}, {Name: "lower bound", Why: why}}
}

// covered takes the theorems from claims that have a reason why there is none.
func covered(list []Claim) []Claim {
	for i := range list {
		if list[i].Why != "" {
			list[i].Theorem = ""
		}
	}
	return list
}

// claims are those of a table.
func claims(s *tables.Spec) []Claim {
	list := []Claim{
		{
			Name: "privacy", Theorem: "certify_privacy", Label: "privacy",
			Comment: "It is a law, and private as promised and for the delta of its certificate: epsilon, delta, sensitivity, delta claimed.",
			Statement: fmt.Sprintf(`((epsilon (the_table f) == %s)%%Q /\
   (delta (the_table f) == %s)%%Q /\
   (sensitivity (the_table f) == %s)%%Q) /\
  is_law (law (the_table f)) /\ private (the_table f) /\
  private (at_delta (%s) (the_table f))`, rational(s.Privacy.Epsilon), rational(s.Privacy.Delta), rational(s.Privacy.Sensitivity), decimal(s.Claims.Delta)),
		},
		{
			Name: "expected loss", Theorem: "certify_loss", Why: lossOpen(s), Says: "that the expected loss is at most " + s.Claims.ExpectedLoss,
			Label: "expected", Comment: "Its expected loss is at most what it claims.",
			Statement: fmt.Sprintf(`exists L, expected_loss (the_table f) (loss_value (the_loss f)) L /\ (L <= Q2R (%s))%%R`, decimal(s.Claims.ExpectedLoss)),
		},
		{
			Name: "lower bound", Theorem: "certify_bound", Why: boundOpen(s), Says: "that no noise has an expected loss below " + s.Claims.LowerBound,
			Label: "optimal", Comment: "No noise that competes with it, of any law, has an expected loss below what it claims.",
			Statement: fmt.Sprintf("no_noise_loses_less (the_table f) (loss_value (the_loss f)) (Q2R (%s))", decimal(s.Claims.LowerBound)),
		},
	}
	if !reflect.ValueOf(s.Constraints).IsZero() {
		list = append(list, Claim{Name: "constraints", Why: "they are not covered", Says: "that the noise keeps its constraints"})
	}
	if s.Total != (tables.Total{}) {
		list = append(list, Claim{Name: "total", Why: "composition is not covered", Says: "its total of several releases"})
	}
	return covered(list)
}

// maxPeriods is how many periods of a tail proofs/Loss.v sums one by one in seconds: those that have knots of the loss.
// maxNodes is how many nodes proofs/Bound.v looks at one by one to reach the knots.
const (
	maxPeriods = 64
	maxNodes   = 1 << 12
)

// powers says why a loss is none of proofs/Losses.v that proofs/Ramps.v knows, if it is not.
func powers(l loss.Loss) string {
	for kind, power := range terms(l) {
		if _, broken := strconv.Atoi(power); kind == "lp" && broken != nil {
			return "lp is covered for whole exponents alone"
		}
	}
	return ""
}

// terms yields the kinds of the terms of a loss with their parameters.
func terms(l loss.Loss) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for term := range strings.SplitSeq(l.Name(), " + ") {
			kind, rest, _ := strings.Cut(term, ":")
			parameters, _, _ := strings.Cut(rest, ":")
			if !yield(kind, parameters) {
				return
			}
		}
	}
}

// knotsWithin says whether all knots are at most so far from 0.
func knotsWithin(l loss.Loss, reach float64) bool {
	return !slices.ContainsFunc(loss.Of(l).Kinks(), func(x float64) bool { return math.Abs(x) > reach })
}

// lossOpen says why the theorem of proofs/Loss.v is not about the loss, if it is not.
func lossOpen(s *tables.Spec) string {
	if why := powers(s.Loss); why != "" || s.TailRatio == 0 {
		return why
	}
	step, _ := s.Grid.Step().Float64()
	if !knotsWithin(s.Loss, maxPeriods*float64(s.Grid.CellsPerSensitivity)*float64(s.Grid.PointsPerCell)*step) {
		return fmt.Sprintf("the loss of a tail is covered if its knots are within %d periods", maxPeriods)
	}
	return ""
}

// boundOpen says why the theorem of proofs/Bound.v is not about the lower bound, if it is not. Whatever else than the
// multipliers of shifts proves a bound, that theorem knows nothing of; so a field that a Dual gets has to be refused here. Of
// constraints the support and symmetry alone make a bound larger without multipliers: with others it holds for all noise.
func boundOpen(s *tables.Spec) string {
	d := s.Dual
	switch {
	case d == nil || strings.Trim(s.Claims.LowerBound, "0.") == "":
		return "there is nothing in the file that proves it, or nothing to prove"
	case s.Constraints.Support != nil || s.Constraints.Symmetric && !s.Loss.Symmetric():
		return "bounds that rest on the support, or on symmetry where the loss has none, are not covered"
	case d.Edges || d.Spread || d.MonotoneRight != nil || d.MonotoneLeft != nil || d.Mean != 0 || d.Variance != 0 || len(d.Quantiles) > 0:
		return "only bounds that rest on multipliers of shifts alone, without edges or spread, are covered"
	case d.Exponent > maxExponent:
		return fmt.Sprintf("only multipliers in units up to 2^%d are covered", maxExponent)
	}
	for _, r := range d.Shifts {
		if len(r.Multipliers) == 0 || slices.Max(r.Multipliers) == 0 {
			return "shifts without a positive multiplier are not covered"
		}
	}
	return nodesOpen(s)
}

// nodesOpen says why proofs/Bound.v has no values at nodes for the loss, if it has none. Where noise has values at nodes alone
// they are those of the loss; between nodes it knows losses without jumps.
func nodesOpen(s *tables.Spec) string {
	if why := powers(s.Loss); why != "" {
		return why
	}
	apart, points := new(big.Rat).SetFloat64(s.Privacy.Sensitivity), false
	apart.Quo(apart, big.NewRat(int64(s.Dual.CellsPerSensitivity), 1))
	if s.Query != dp.RealQuery {
		step := s.Grid.Step()
		reach := exact.Ceil(new(big.Rat).Quo(exact.Rational(s.Privacy.Sensitivity), step))
		stride := reach.Div(reach, big.NewInt(int64(s.Dual.CellsPerSensitivity)))
		apart.SetInt(stride).Mul(apart, step)
		points = stride.Cmp(big.NewInt(1)) == 0
	}
	if !points {
		for kind, parameters := range terms(s.Loss) {
			if kind == "exceed" || kind == "pwl" && jumps(parameters) {
				return "bounds for noise between nodes are covered for losses without jumps"
			}
		}
	}
	if node, _ := apart.Float64(); !knotsWithin(s.Loss, maxNodes*node) {
		return fmt.Sprintf("bounds are covered if the knots of the loss are within %d nodes", maxNodes)
	}
	return ""
}

// jumps says whether a segment of a piecewise linear loss has one.
func jumps(segments string) bool {
	return slices.ContainsFunc(strings.Split(segments, ";"), func(s string) bool {
		parts := strings.Split(s, ",")
		return len(parts) > 2 && strings.Trim(parts[2], "0.") != ""
	})
}
