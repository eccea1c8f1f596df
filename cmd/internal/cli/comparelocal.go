// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/proof"
)

// localComparison is about a problem, by which the design and what the bound is about are held.
type localComparison struct {
	lp.LocalProblem
	bound      *float64
	mechanisms []localContender
}

// localContender has losses of the design rounded up, and floating-point values of the others.
type localContender struct {
	Name       string   `json:"name"`
	MeanLoss   *float64 `json:"mean_loss,omitempty"`
	WorstLoss  *float64 `json:"worst_loss,omitempty"`
	ErrorBound *float64 `json:"error_bound,omitempty"` // of both
	// Of the loss of the objective:
	Ratio         *float64 `json:"ratio_to_design,omitempty"`
	Suboptimality *float64 `json:"suboptimality,omitempty"`
	Unbiased      *bool    `json:"unbiased,omitempty"`
	Source        string   `json:"source,omitempty"`
	Note          string   `json:"note"`
}

func (o *compareOptions) compareLocal(ctx context.Context) error {
	p := o.costs.Problem(o.problem.Privacy, o.local, o.problem.Loss, o.problem.Query == dp.IntegerQuery, o.values)
	p.Demands.Unbiased = o.problem.Constraints.Unbiased
	o.design.Progress = o.Progress().DesignOn(o.design.TimeLimit, "intervals")
	r, limit, err := shell.DesignLocal(ctx, p, o.design)
	if err != nil {
		return err
	}
	return cmp.Or(o.printLocal(p, shell.NoiseDesigned, r.Verified), limit)
}

func (o *compareOptions) compareRandomizer(_ context.Context, v proof.Proven) error {
	made := v.(*local.Verified)
	s := made.Mechanism().Spec()
	p := lp.LocalProblem{
		Epsilon: s.Epsilon, Delta: s.Delta, Values: s.Values, Loss: s.Loss, Costs: s.Costs,
		Objective: s.Objective, Demands: s.Demands,
	}
	return o.printLocal(p, "randomizer", made)
}

func certifiedRandomizer(name string, v *local.Verified) localContender {
	found, s := v.Certificate(), v.Mechanism().Spec()
	answers := max(len(s.Answers), len(s.AnswerLabels))
	out := localContender{
		Name: name, MeanLoss: shell.FloatUp(found.MeanLoss), WorstLoss: shell.FloatUp(found.WorstLoss), ErrorBound: new(float64),
		Note: fmt.Sprintf("certified, %d nodes, %d answers", len(s.Rows), answers),
	}
	if s.Values.Kind != local.Category {
		unbiased := found.Bias.Sign() == 0
		out.Unbiased = &unbiased
	}
	return out
}

// printLocal adds the published mechanisms below the best one and prints the comparison.
func (o *compareOptions) printLocal(p lp.LocalProblem, name string, v *local.Verified) error {
	best := certifiedRandomizer(name, v)
	c := &localComparison{p, shell.FloatDown(v.Certificate().LowerBound), []localContender{best}}
	for _, b := range noise.LocalBaselines() {
		c.mechanisms = append(c.mechanisms, newLocalContender(b, p))
	}
	d := p.Demands
	d.Unbiased = false
	free := d == local.Demands{} // the bound is about mechanisms with any answers
	for i := range c.mechanisms {
		m := &c.mechanisms[i]
		value := m.objective(p.Objective)
		if value == nil {
			continue
		}
		if o := best.objective(p.Objective); o != nil && *o > 0 {
			m.Ratio = shell.Finite(*value / *o)
		}
		if held := i == 0 || free && (!p.Demands.Unbiased || m.Unbiased != nil && *m.Unbiased); held {
			m.Suboptimality = above(value, c.bound)
		}
	}
	law := shell.Object{"loss", "costs"}
	if p.Loss != nil {
		law = shell.Object{"range", [2]float64{p.Values.Lower, p.Values.Upper}, "loss", p.Loss.Name()}
	}
	return o.PrintText(shell.Object{
		"epsilon", p.Epsilon, "delta", p.Delta, "kind", p.Values.Kind, law, "objective", p.Objective, "unbiased", p.Demands.Unbiased,
		"lower_bound", c.bound, "mechanisms", c.mechanisms,
	}, c.write)
}

// objective is the loss of the objective; nil: none.
func (m localContender) objective(o local.Objective) *float64 {
	if o == local.Worst {
		return m.WorstLoss
	}
	return m.MeanLoss
}

func newLocalContender(b noise.LocalBaseline, p lp.LocalProblem) localContender {
	m, err := b.New(noise.LocalProblem{
		Epsilon: p.Epsilon, Delta: p.Delta, Values: p.Values, Objective: p.Objective, Loss: p.Loss, Costs: p.Costs,
	})
	if err != nil {
		return localContender{Name: b.Name, Note: excuse(err)}
	}
	mean, errorOfMean := m.MeanLoss()
	worst, errorOfWorst, _ := m.WorstLoss()
	out := localContender{
		Name: b.Name, MeanLoss: shell.Finite(mean), WorstLoss: shell.Finite(worst), ErrorBound: shell.Finite(max(errorOfMean, errorOfWorst)),
		Source: m.Source(), Note: m.Note(),
	}
	if p.Values.Kind != local.Category {
		unbiased := m.Unbiased()
		out.Unbiased = &unbiased
	}
	return out
}

func (c *localComparison) write(b *strings.Builder) {
	fmt.Fprintf(b, "epsilon %v, delta %v between any two values", c.Epsilon, c.Delta)
	if v := c.Values; c.Loss != nil {
		fmt.Fprintf(b, " from %v to %v (%s), loss %s\n", v.Lower, v.Upper, v.Kind, shell.LossUnit(c.Loss))
	} else {
		b.WriteString(" (categories), loss by the costs given\n")
	}
	bound, about := "none", "every mechanism"
	if c.bound != nil && *c.bound > 0 {
		bound = shell.DigitsDown(*c.bound)
	}
	if c.Demands.Unbiased {
		about = "every unbiased mechanism"
	}
	fmt.Fprintf(b, "certified lower bound on the %s loss of %s: %s\n\n", c.Objective, about, bound)
	lines, without := [][]string{{"mechanism", "mean loss", "worst loss", "of design", "above bound", "", "note"}}, map[string][]string{}
	var reasons []string // in the order of the mechanisms
	for i, m := range c.mechanisms {
		if m.MeanLoss == nil && i > 0 {
			if without[m.Note] == nil {
				reasons = append(reasons, m.Note)
			}
			without[m.Note] = append(without[m.Note], m.Name)
			continue
		}
		number := func(v *float64) string {
			switch {
			case v == nil:
				return "-"
			case i == 0:
				return shell.DigitsUp(*v) // a bound, and no approximation
			}
			return fmt.Sprintf("%.7g", *v)
		}
		line := []string{m.Name, number(m.MeanLoss), number(m.WorstLoss), "-", "-", "", m.Note}
		if m.Ratio != nil {
			line[3] = fmt.Sprintf("%.4g", *m.Ratio)
		}
		if m.Suboptimality != nil {
			line[4] = shell.Percent(*m.Suboptimality)
		}
		if m.Unbiased != nil && !*m.Unbiased {
			line[5] = "biased"
		}
		if m.Source != "" {
			line[6] = m.Source + "; " + m.Note
		}
		lines = append(lines, line)
	}
	shell.WriteColumns(b, lines, "<>>>><<")
	if len(reasons) > 0 {
		b.WriteByte('\n')
	}
	for _, reason := range reasons {
		fmt.Fprintf(b, "%s: %s\n", reason, strings.Join(without[reason], ", "))
	}
}
