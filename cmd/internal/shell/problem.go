// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
)

// The rules of a design problem's numbers.
var (
	PositiveEpsilon = within(lp.Limits.Epsilon)
	Epsilon         = orZero(PositiveEpsilon)
	PositiveDelta   = within(lp.Limits.Delta)
	Delta           = orZero(PositiveDelta)

	// Share is a number above 0 and below 1.
	Share = Rule{"a number above 0 and below 1", func(v float64) bool { return v > 0 && v < 1 }}

	sensitivityRule = within(lp.Limits.Sensitivity)
	stepRule        = Rule{"a number above 0, in query units", Positive}
	probability     = Rule{"a probability above 0 and below 1", Share.OK}
)

// Positive reports whether v is above 0.
func Positive(v float64) bool { return v > 0 }

func within(r lp.Range[float64]) Rule { return Rule{r.String(), r.Has} }

func orZero(r Rule) Rule {
	return Rule{"0, or " + r.Want, func(v float64) bool { return v == 0 || r.OK(v) }}
}

// Privacy adds epsilon, delta, by its rule, and but for local randomizers the sensitivity.
func (f *Flags) Privacy(p *dp.Privacy, delta Rule) {
	f.Epsilon(&p.Epsilon)
	f.Delta(p, delta)
}

// Epsilon adds epsilon alone.
func (f *Flags) Epsilon(p *float64) {
	f.Number(p, "epsilon", Epsilon, "privacy parameter epsilon, without unit: "+Epsilon.Want)
}

// Delta adds what Privacy adds beside epsilon.
func (f *Flags) Delta(p *dp.Privacy, delta Rule) {
	f.Number(&p.Delta, "delta", delta, "privacy parameter delta, a probability: "+delta.Want)
	f.unlessLocal(func() { f.Sensitivity(&p.Sensitivity) })
}

// Sensitivity adds the sensitivity alone.
func (f *Flags) Sensitivity(p *float64) {
	r := sensitivityRule
	usage := "how far neighboring values of the query may differ, in its units: " + r.Want
	r.Want += ", in the query's units"
	f.Number(p, "sensitivity", r, usage)
}

// Loss adds the loss.
func (f *Flags) Loss(p *loss.Loss) {
	f.Losses(func(texts []string) (err error) {
		*p, err = ParseLosses("loss", texts)
		return err
	})
}

// The rules of the constraints.
const (
	wantSupport  = "two numbers A,B with A at most 0, B at least 0 and A below B, one of them perhaps infinite or empty"
	wantQuantile = "a probability above 0 and below 1 and a magnitude above 0 in query units, such as 0.95,10"
)

// Query adds the flags that say what values the query takes and what is published, and
// those that restrict the noise. The sensitivity has been added before them.
func (f *Flags) Query(p *dp.Problem) {
	p.Query = dp.RealQuery
	var step float64
	c := &p.Constraints
	values := string(dp.RealQuery)
	queryUsage, unbiasedUsage := "values of the query; those of an integer one get integer noise", "noise of mean 0, so that the mean answer is the value"
	if f.local {
		queryUsage, unbiasedUsage = QueryOfLocal, UnbiasedOfLocal
	}
	query := f.Word(&values, "query", "integer|real", queryUsage, "integer", "real")
	f.unlessLocal(func() {
		f.Texts("support", "A,B", "keep the noise from A to B, in query units, either end infinite or empty for none: 0,inf", func(texts []string) error {
			return readSupport(c, query, texts)
		})
		f.OptionalNumber(&step, "step", stepRule, "publish multiples of this number, in query units; values are rounded to them at random, without bias")
		f.Alias("step", "output-step")
	})
	f.Check(func() error {
		switch {
		case query.Text == "integer" && step != 0:
			return fmt.Errorf("step = %v and query = integer, want only one of them: integers are published in steps of 1", step)
		case query.Text == "integer":
			p.Query = dp.IntegerQuery
			return checkInteger(p.Sensitivity)
		case step != 0:
			p.Query, p.Step = dp.LatticeQuery, step
			return checkStep(p)
		}
		return nil
	})
	f.unlessLocal(func() {
		f.OptionalNumber(&c.MaxVariance, "max-variance", Rule{"a number above 0, in query units squared", Positive}, "largest mean square of the noise about 0, in query units squared, which is the variance of unbiased noise")
		f.OptionalNumber(&c.MaxDistinguishing, "max-distinguishing", probability, "largest probability of outputs that are impossible under a neighboring value, an exact 0 included")
		f.Texts("quantile", "P,T", "keep the noise within T query units of 0 with probability P at least: 0.95,10; may be repeated", func(texts []string) error {
			return readQuantiles(c, texts)
		})
		f.Bool(&c.Symmetric, "symmetric", "noise that is as likely to be x as -x")
		f.Bool(&c.Monotone, "monotone", "noise whose density does not increase away from 0")
	})
	f.Bool(&c.Unbiased, "unbiased", unbiasedUsage)
}

func (f *Flags) unlessLocal(add func()) {
	switch {
	case f.local:
	case f.cmd.Flags().Lookup("local") == nil:
		add()
	default:
		f.Unless("local", add)
	}
}

func checkInteger(sensitivity float64) error {
	if d := sensitivity; !math.IsNaN(d) && (d != math.Trunc(d) || d > lp.Limits.Sensitivity.Max) {
		return fmt.Errorf("sensitivity = %v, want an integer from 1 to %g with --query integer", d, lp.Limits.Sensitivity.Max)
	}
	return nil
}

func checkStep(p *dp.Problem) error {
	const largest = 1e6 // steps of this many sensitivities
	if d := p.Sensitivity; d/p.Step > lp.Limits.Sensitivity.Max || p.Step/d > largest {
		return fmt.Errorf("step = %v, want a number from %v to %v, of which at most %g make the sensitivity of %v",
			p.Step, d/lp.Limits.Sensitivity.Max, d*largest, lp.Limits.Sensitivity.Max, d)
	}
	return nil
}

// readSupport reads A,B. The word integer is an older spelling of --query integer.
func readSupport(c *dp.Constraints, query *Flag, texts []string) error {
	var errs []error
	for _, s := range texts {
		switch support := parseSupport(s); {
		case s == "integer" && query.Given && query.Text == "real":
			errs = append(errs, errors.New("support = integer and query = real, want only one of them"))
		case s == "integer":
			query.Text = "integer"
		case support == nil:
			errs = append(errs, About("support", s, Want(wantSupport)))
		case c.Support != nil:
			errs = append(errs, fmt.Errorf("support = %s is given twice, want at most one interval", check.Quoted(s)))
		default:
			c.Support = support
		}
	}
	return errors.Join(errs...)
}

func parseSupport(s string) *dp.Interval {
	a, b, ok := strings.Cut(s, ",")
	lower, okLower := parseEnd(a, math.Inf(-1))
	upper, okUpper := parseEnd(b, math.Inf(1))
	i := &dp.Interval{Lower: lower, Upper: upper}
	if !ok || !okLower || !okUpper || (math.IsInf(lower, 0) && math.IsInf(upper, 0)) || (dp.Constraints{Support: i}).Validate() != nil {
		return nil
	}
	return i
}

func parseEnd(s string, missing float64) (float64, bool) {
	s = strings.TrimSpace(s)
	if s == "" {
		return missing, true
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && !math.IsNaN(v)
}

func readQuantiles(c *dp.Constraints, texts []string) error {
	var errs []error
	for _, s := range texts {
		p, t, err := ParsePair(s)
		q := dp.Quantile{Probability: p, Magnitude: t}
		switch {
		case errors.Join(err, dp.Constraints{Quantiles: []dp.Quantile{q}}.Validate()) != nil:
			errs = append(errs, About("quantile", s, Want(wantQuantile)))
		case len(c.Quantiles) == limits.Quantiles:
			return errors.Join(append(errs, fmt.Errorf("quantile = %s is one too many, want at most %d", check.Quoted(s), limits.Quantiles))...)
		default:
			c.Quantiles = append(c.Quantiles, q)
		}
	}
	return errors.Join(errs...)
}

func describe(c dp.Constraints) string {
	parts := []string{when(c.Symmetric, "symmetric"), when(c.Monotone, "monotone"), when(c.Unbiased, "unbiased")}
	if s := c.Support; s != nil {
		switch {
		case math.IsInf(s.Lower, -1):
			parts = append(parts, fmt.Sprintf("at most %v", s.Upper))
		case math.IsInf(s.Upper, 1):
			parts = append(parts, fmt.Sprintf("at least %v", s.Lower))
		default:
			parts = append(parts, fmt.Sprintf("from %v to %v", s.Lower, s.Upper))
		}
	}
	parts = append(parts, when(c.MaxVariance != 0, fmt.Sprintf("mean square at most %v", c.MaxVariance)))
	for _, q := range c.Quantiles {
		parts = append(parts, fmt.Sprintf("within %v of 0 with probability %v", q.Magnitude, q.Probability))
	}
	parts = append(parts, when(c.MaxDistinguishing != 0, fmt.Sprintf("distinguishing outputs with probability %v at most", c.MaxDistinguishing)))
	return strings.Join(nonEmpty(parts), ", ")
}

// QueryRows are about the query and the constraints, none in the ordinary case.
func QueryRows(p dp.Problem) []Row {
	var rows []Row
	switch p.Query {
	case dp.IntegerQuery:
		rows = []Row{{"query", "integer, with integer noise"}}
	case dp.LatticeQuery:
		rows = []Row{{"query", fmt.Sprintf("rounded at random to multiples of %v", p.Step)}}
	case dp.RealQuery:
	}
	if !p.Constraints.None() {
		rows = append(rows, Row{"constraints", describe(p.Constraints)})
	}
	return rows
}

// DesignHint is the command that starts a design for the sensitivity and the kind of
// query of a problem, the next larger integer for an integer one; "" where there is none.
func DesignHint(p dp.Problem) string {
	kind := ""
	var bad error
	switch p.Query {
	case dp.IntegerQuery:
		p.Sensitivity = math.Ceil(p.Sensitivity)
		kind, bad = " --query integer", checkInteger(p.Sensitivity)
	case dp.LatticeQuery:
		kind, bad = fmt.Sprintf(" --step %v", p.Step), checkStep(&p)
	case dp.RealQuery:
	}
	if bad != nil || !sensitivityRule.OK(p.Sensitivity) {
		return ""
	}
	return fmt.Sprintf("noisewright design --sensitivity %v%s makes a table for this range", p.Sensitivity, kind)
}

// HardTruncation is what helps say of designed tables in many releases.
const HardTruncation = `Designed tables with delta > 0 have bounded noise: an output near its end can rule
a neighbor out, with a probability of up to delta in every release. So many
releases of one table need a small delta each, and they compose worse than
Gaussian noise: calibrate designs for a number of releases and says from how many
on Gaussian noise is the better choice.`

// Gap adds the gap to reach.
func (f *Flags) Gap(o *lp.Options) {
	r := within(lp.Limits.Gap)
	r.Want += ", without unit"
	f.Number(&o.Gap, "gap", r, "relative certified gap to reach, (expected loss - lower bound)/lower bound, without unit")
}

// TimeLimit adds the time limit; of is "" or " of one design".
func (f *Flags) TimeLimit(o *lp.Options, of string) {
	usage := "wall time" + of + " after which the best proven result is taken, with its unit: 500ms, 60s, 5m"
	f.Duration(&o.TimeLimit, "time-limit", usage)
}

// Effort adds all that bounds a design of a table.
func (f *Flags) Effort(o *lp.Options, of string) {
	f.Gap(o)
	f.TimeLimit(o, of)
	if !f.local {
		f.Integer(&o.MaxCells, "max-cells", "", lp.Limits.MaxCells.Min, lp.Limits.MaxCells.Max, "largest number of cells of the table")
	}
}
