package shell

import (
	"errors"
	"math"
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
	support, quantiles            *Texts
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
	oldWantSupport     = "two numbers A,B with A at most 0, B at least 0 and A below B, one of them perhaps infinite or empty, or integer"
	oldWantQuantile    = "a probability above 0 and below 1 and a magnitude above 0 in query units, such as 0.95,10"
	wantMaxVariance    = "a number above 0, in query units squared"
	wantDistinguishing = "a probability above 0 and below 1"
)

// read reads the flags into the problem, whose sensitivity is read already.
func (c *constraintFlags) read(f *Fields, p *dp.Problem) {
	p.Constraints = dp.Constraints{Symmetric: c.symmetric, Monotone: c.monotone, Unbiased: c.unbiased}
	for _, s := range c.support.values {
		switch support := oldReadSupport(s); {
		case s == "integer" && p.Query == dp.IntegerQuery, support != nil && p.Constraints.Support != nil:
			f.Add("support = %s is given twice, want at most one interval and one integer", check.Quoted(s))
		case s == "integer":
			p.Query = dp.IntegerQuery
		case support == nil:
			f.Add("support = %s, want %s", check.Quoted(s), oldWantSupport)
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
		q, ok := oldReadQuantile(s)
		switch {
		case !ok:
			f.Add("quantile = %s, want %s", check.Quoted(s), oldWantQuantile)
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

// oldReadSupport reads A,B; nil if it is none.
func oldReadSupport(s string) *dp.Interval {
	a, b, ok := strings.Cut(s, ",")
	if !ok {
		return nil
	}
	lower, okLower := oldReadEnd(a, math.Inf(-1))
	upper, okUpper := oldReadEnd(b, math.Inf(1))
	i := &dp.Interval{Lower: lower, Upper: upper}
	if !okLower || !okUpper || (math.IsInf(lower, 0) && math.IsInf(upper, 0)) || (dp.Constraints{Support: i}).Validate() != nil {
		return nil
	}
	return i
}

// oldReadEnd reads an end of a support; missing stands for an empty one.
func oldReadEnd(s string, missing float64) (float64, bool) {
	s = strings.TrimSpace(s)
	if s == "" {
		return missing, true
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && !math.IsNaN(v)
}

// oldReadQuantile reads P,T.
func oldReadQuantile(s string) (q dp.Quantile, ok bool) {
	a, b, _ := strings.Cut(s, ",")
	var errA, errB error
	q.Probability, errA = strconv.ParseFloat(strings.TrimSpace(a), 64)
	q.Magnitude, errB = strconv.ParseFloat(strings.TrimSpace(b), 64)
	return q, errors.Join(errA, errB, dp.Constraints{Quantiles: []dp.Quantile{q}}.Validate()) == nil
}

func newTexts(cmd *cobra.Command, name, kind, usage string) *Texts {
	t := &Texts{kind: kind}
	cmd.Flags().Var(t, name, usage)
	return t
}
