// SPDX-License-Identifier: Apache-2.0

package theorem

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

// The theorems of proofs/Certificate.v that Write applies to a file.
const (
	privacyTheorem = "certify_privacy"
	lossTheorem    = "certify_loss"
	boundTheorem   = "certify_bound"
)

// maxExponent is that of the multipliers that proofs/Bound.v can count in units of 2^-96.
const maxExponent = 96

// Claim is a claim of a file, with the theorem of proofs/Certificate.v that is about it.
type Claim struct {
	Name    string `json:"claim"`
	Theorem string `json:"theorem,omitempty"` // none: it is not machine-checked
	Why     string `json:"not_machine_checked,omitempty"`

	says string // what is claimed, in a theorem's words
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
	if t, ok := m.(*tables.Table); ok {
		s := t.Spec()
		return claims(&s)
	}
	const why = "only tables are covered"
	return []Claim{{Name: "privacy", Why: why}, {Name: "loss", Why: why}, {Name: "lower bound", Why: why}}
}

func claims(s *tables.Spec) []Claim {
	list := []Claim{
		{Name: "privacy", Theorem: privacyTheorem},
		{Name: "expected loss", Theorem: lossTheorem, Why: lossOpen(s), says: "that the expected loss is at most " + s.Claims.ExpectedLoss},
		{Name: "lower bound", Theorem: boundTheorem, Why: boundOpen(s), says: "that no noise has an expected loss below " + s.Claims.LowerBound},
	}
	if !reflect.ValueOf(s.Constraints).IsZero() {
		list = append(list, Claim{Name: "constraints", Why: "they are not covered", says: "that the noise keeps its constraints"})
	}
	if s.Total != (tables.Total{}) {
		list = append(list, Claim{Name: "total", Why: "composition is not covered", says: "its total of several releases"})
	}
	for i := range list {
		if list[i].Why != "" {
			list[i].Theorem = ""
		}
	}
	return list
}

// maxPeriods is how many periods of a tail proofs/Loss.v sums one by one in seconds: those that have knots of the loss.
const maxPeriods = 64

// lossOpen says why the theorem of proofs/Loss.v is not about the loss, if it is not.
func lossOpen(s *tables.Spec) string {
	for term := range strings.SplitSeq(s.Loss.Name(), " + ") {
		kind, rest, _ := strings.Cut(term, ":")
		power, _, _ := strings.Cut(rest, ":")
		if _, broken := strconv.Atoi(power); kind == "lp" && broken != nil {
			return "lp is covered for whole exponents alone"
		}
	}
	if s.TailRatio == 0 {
		return ""
	}
	step, _ := s.Grid.Step().Float64()
	reach := maxPeriods * float64(s.Grid.CellsPerSensitivity) * float64(s.Grid.PointsPerCell) * step
	if slices.ContainsFunc(loss.Kinks(s.Loss), func(x float64) bool { return math.Abs(x) > reach }) {
		return fmt.Sprintf("the loss of a tail is covered if its knots are within %d periods", maxPeriods)
	}
	return ""
}

// boundOpen says why the theorem of proofs/Bound.v is not about the lower bound, if it is not. Whatever else than the
// multipliers of shifts proves a bound, that theorem knows nothing of; so a field that a Dual gets has to be refused here.
func boundOpen(s *tables.Spec) string {
	d := s.Dual
	switch {
	case d == nil || strings.Trim(s.Claims.LowerBound, "0.") == "":
		return "there is nothing in the file that proves it, or nothing to prove"
	case s.Loss.Name() != "l1" || s.Query != dp.RealQuery:
		return "only bounds of the loss l1 for real queries are covered"
	case !reflect.ValueOf(s.Constraints).IsZero():
		return "bounds under constraints are not covered"
	case d.Edges || d.Spread || d.MonotoneRight != nil || d.MonotoneLeft != nil || d.Mean != 0 || d.Variance != 0 || len(d.Quantiles) > 0:
		return "only bounds that rest on multipliers of shifts alone, without edges or spread, are covered"
	case d.Exponent > maxExponent:
		return fmt.Sprintf("only multipliers in units up to 2^%d are covered", maxExponent)
	case slices.ContainsFunc(d.Shifts, func(r tables.DualShift) bool { return len(r.Multipliers) == 0 || slices.Max(r.Multipliers) == 0 }):
		return "shifts without a positive multiplier are not covered"
	}
	return ""
}
