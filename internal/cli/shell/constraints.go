package shell

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/lp"
)

// constraintFlags say what values the query takes and restrict the noise.
type constraintFlags struct {
	symmetric, monotone, unbiased bool
	support, quantiles            *texts
	outputStep                    *Text
	maxVariance                   *Text
	maxDistinguishing             *Text
}

func newConstraintFlags(cmd *cobra.Command) *constraintFlags {
	c := &constraintFlags{
		support:           newTexts(cmd, "support", "A,B|integer", "keep the noise from A to B, in query units, either end infinite or empty for none: 0,inf; or integer, for integer noise and a query with integer values; may be given once for each"),
		quantiles:         newTexts(cmd, "quantile", "P,T", "keep the noise within T query units of 0 with probability P at least: 0.95,10; may be repeated"),
		outputStep:        NewText(cmd, "output-step", "number", "", "publish multiples of this number, in query units; values are rounded to them at random, without bias"),
		maxVariance:       NewText(cmd, "max-variance", "number", "", "largest mean square of the noise about 0, in query units squared, which is the variance of unbiased noise"),
		maxDistinguishing: NewText(cmd, "max-distinguishing", "number", "", "largest probability of outputs that are impossible under a neighbouring value, an exact 0 included"),
	}
	cmd.Flags().BoolVar(&c.symmetric, "symmetric", false, "noise that is as likely to be x as -x")
	cmd.Flags().BoolVar(&c.monotone, "monotone", false, "noise whose density does not increase away from 0")
	cmd.Flags().BoolVar(&c.unbiased, "unbiased", false, "noise of mean 0")
	return c
}

// The rules of the constraint flags.
const (
	wantSupport        = "two numbers A,B with A at most 0, B at least 0 and A below B, one of them perhaps infinite or empty, or integer"
	wantQuantile       = "a probability above 0 and below 1 and a magnitude above 0 in query units, such as 0.95,10"
	wantMaxVariance    = "a number above 0, in query units squared"
	wantDistinguishing = "a probability above 0 and below 1"
)

// read reads the flags into the problem, whose sensitivity is read already.
func (c *constraintFlags) read(f *Fields, p *dp.Problem) {
	p.Constraints = dp.Constraints{Symmetric: c.symmetric, Monotone: c.monotone, Unbiased: c.unbiased}
	for _, s := range c.support.values {
		switch support := readSupport(s); {
		case s == "integer" && p.Query == dp.IntegerQuery, support != nil && p.Constraints.Support != nil:
			f.Add("support = %s is given twice, want at most one interval and one integer", check.Quoted(s))
		case s == "integer":
			p.Query = dp.IntegerQuery
		case support == nil:
			f.Add("support = %s, want %s", check.Quoted(s), wantSupport)
		default:
			p.Constraints.Support = support
		}
	}
	if c.outputStep.Given {
		c.readStep(f, p)
	}
	if d := p.Sensitivity; p.Query == dp.IntegerQuery && !math.IsNaN(d) && (d != math.Trunc(d) || d > lp.MaxIntegerSensitivity) {
		f.Add("sensitivity = %v, want an integer from 1 to %d with --support integer", d, lp.MaxIntegerSensitivity)
	}
	if c.maxVariance.Given {
		p.Constraints.MaxVariance = f.Number("max-variance", c.maxVariance, wantMaxVariance, func(v float64) bool { return v > 0 })
	}
	if c.maxDistinguishing.Given {
		p.Constraints.MaxDistinguishing = f.Number("max-distinguishing", c.maxDistinguishing, wantDistinguishing, func(v float64) bool { return v > 0 && v < 1 })
	}
	for _, s := range c.quantiles.values {
		q, ok := readQuantile(s)
		switch {
		case !ok:
			f.Add("quantile = %s, want %s", check.Quoted(s), wantQuantile)
		case len(p.Constraints.Quantiles) == dp.MaxQuantiles:
			f.Add("quantile = %s is one too many, want at most %d", check.Quoted(s), dp.MaxQuantiles)
			return
		default:
			p.Constraints.Quantiles = append(p.Constraints.Quantiles, q)
		}
	}
}

func (c *constraintFlags) readStep(f *Fields, p *dp.Problem) {
	if p.Query == dp.IntegerQuery {
		f.Add("output-step = %s and --support integer, want only one of them: the noise of integer queries has step 1", check.Quoted(c.outputStep.Value))
		return
	}
	p.Query = dp.LatticeQuery
	p.Step = f.Number("output-step", c.outputStep, "a number above 0, in query units", func(v float64) bool { return v > 0 })
	const largest = 1e6 // steps of this many sensitivities
	if d := p.Sensitivity; d/p.Step > lp.MaxIntegerSensitivity || p.Step/d > largest {
		f.Add("output-step = %v, want a number from %v to %v, of which at most %d make the sensitivity of %v",
			p.Step, d/lp.MaxIntegerSensitivity, d*largest, lp.MaxIntegerSensitivity, d)
	}
}

// readSupport reads A,B; nil if it is none.
func readSupport(s string) *dp.Interval {
	a, b, ok := strings.Cut(s, ",")
	if !ok {
		return nil
	}
	lower, okLower := readEnd(a, math.Inf(-1))
	upper, okUpper := readEnd(b, math.Inf(1))
	i := &dp.Interval{Lower: lower, Upper: upper}
	if !okLower || !okUpper || (math.IsInf(lower, 0) && math.IsInf(upper, 0)) || (dp.Constraints{Support: i}).Validate() != nil {
		return nil
	}
	return i
}

// readEnd reads an end of a support; missing stands for an empty one.
func readEnd(s string, missing float64) (float64, bool) {
	s = strings.TrimSpace(s)
	if s == "" {
		return missing, true
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && !math.IsNaN(v)
}

// readQuantile reads P,T.
func readQuantile(s string) (q dp.Quantile, ok bool) {
	a, b, _ := strings.Cut(s, ",")
	var errA, errB error
	q.Probability, errA = strconv.ParseFloat(strings.TrimSpace(a), 64)
	q.Magnitude, errB = strconv.ParseFloat(strings.TrimSpace(b), 64)
	return q, errors.Join(errA, errB, dp.Constraints{Quantiles: []dp.Quantile{q}}.Validate()) == nil
}

// describe says in words what the constraints demand; "" is nothing.
func describe(c dp.Constraints) string {
	var parts []string
	for _, p := range []struct {
		set  bool
		name string
	}{{c.Symmetric, "symmetric"}, {c.Monotone, "monotone"}, {c.Unbiased, "unbiased"}} {
		if p.set {
			parts = append(parts, p.name)
		}
	}
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
	if c.MaxVariance != 0 {
		parts = append(parts, fmt.Sprintf("mean square at most %v", c.MaxVariance))
	}
	for _, q := range c.Quantiles {
		parts = append(parts, fmt.Sprintf("within %v of 0 with probability %v", q.Magnitude, q.Probability))
	}
	if c.MaxDistinguishing != 0 {
		parts = append(parts, fmt.Sprintf("giving away with probability %v at most", c.MaxDistinguishing))
	}
	return strings.Join(parts, ", ")
}

// QueryRows are the lines of a summary about the query and the constraints, none
// for the ordinary case.
func QueryRows(q dp.Query, step float64, c dp.Constraints) []Row {
	var rows []Row
	switch q {
	case dp.IntegerQuery:
		rows = append(rows, Row{"query", "integer, with integer noise"})
	case dp.LatticeQuery:
		rows = append(rows, Row{"query", fmt.Sprintf("rounded at random to multiples of %v", step)})
	case dp.RealQuery:
	}
	if !c.None() {
		rows = append(rows, Row{"constraints", describe(c)})
	}
	return rows
}

// texts is a repeatable text.
type texts struct {
	values []string
	kind   string
}

// Set implements pflag.Value.
func (t *texts) Set(s string) error {
	t.values = append(t.values, s)
	return nil
}

func (t *texts) String() string { return strings.Join(t.values, " ") }

// Type implements pflag.Value.
func (t *texts) Type() string { return t.kind }

// newTexts adds a repeatable flag to a command.
func newTexts(cmd *cobra.Command, name, kind, usage string) *texts {
	t := &texts{kind: kind}
	cmd.Flags().Var(t, name, usage)
	return t
}

// Append, Replace and GetSlice implement pflag.SliceValue, by which completion
// knows that the flag may be repeated.
func (t *texts) Append(s string) error { return t.Set(s) }

// Replace implements pflag.SliceValue.
func (t *texts) Replace(s []string) error {
	t.values = slices.Clone(s)
	return nil
}

// GetSlice implements pflag.SliceValue.
func (t *texts) GetSlice() []string { return slices.Clone(t.values) }
