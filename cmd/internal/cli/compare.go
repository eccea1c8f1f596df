// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/cmd/internal/figure"
	"github.com/noisewright/noisewright/cmd/internal/report"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

type comparison struct {
	dp.Problem
	total      *report.Total // of a table
	bound      *float64
	mechanisms []contender
}

type contender struct {
	Name          string   `json:"name"`
	Loss          *float64 `json:"loss,omitempty"`
	ErrorBound    *float64 `json:"error_bound,omitempty"`
	Suboptimality *float64 `json:"suboptimality,omitempty"`
	Note          string   `json:"note"`
}

// maxAttributes bounds those that are compared.
const maxAttributes = 1 << 20

type compareOptions struct {
	shell.Common
	problem dp.Problem
	design  lp.Options
	local   shell.Local
	values  kernels.Queries // of a local randomizer
	costs   shell.Costs     // or of categories
	sets    sets            // or for shares of categories
	// attributes of so many categories each
	attributes int
	table      string // in place of all these
}

func newCompareCommand(s *shell.Streams) *cobra.Command {
	o := &compareOptions{Common: shell.Common{Streams: s}}
	return o.command("TABLE", &cobra.Command{
		Use:   "compare TABLE | --epsilon E --delta D --sensitivity S --loss LOSS",
		Short: "Compare the designed noise with the classical mechanisms",
		Long: `Design noise, and print its expected loss and that of the classical mechanisms,
each with its suboptimality: how far it is above the certified lower bound on
every additive noise, loss/bound - 1. The bound is about noise for a real-valued
query unless --query integer or --step say otherwise, and about noise that keeps
the constraints given.

The designed loss is exact, rounded up, and the bound is rounded down. Losses of
the others are floating-point values of closed forms or quadratures; with --json
"error_bound" bounds their absolute error. Mechanisms that do not apply are listed
below the others, with the reason. Where the bound does not hold for a mechanism,
because it is for queries of another kind or keeps none of the constraints, the
note says so: it may be below.

With a TABLE nothing is designed: the table, or the local randomizer, is verified and
compared. A table that calibrate made for a total of several releases is compared with
Laplace and Gaussian noise calibrated to the same total, which is proved; there is no
lower bound for that.

With delta 0 no noise has bounded support: the designed noise has a tail that is
never cut off, and Laplace and staircase noise are what it is compared with, as
Gaussian, truncated Laplace and uniform noise do not apply. For some losses there is
then no designed noise within --max-cells.

Where there is no designed noise, as in a build without the LP solver with delta
above 0, the rest is printed without a bound, and "lower_bound" is null.
If a limit stops the design, the exit code is 4.

Answers to one value of a range, under local differential privacy, are compared by
noisewright local compare.

` + shell.LossHelp(),
		Example: `  noisewright compare --epsilon 1 --delta 1e-6 --sensitivity 1 --loss l1
  noisewright compare --epsilon 1 --delta 1e-6 --sensitivity 5 --loss l2 --query integer
  noisewright compare --epsilon 0.1 --delta 0.01 --sensitivity 2 --loss l2 --json
  noisewright compare month.json`,
	})
}

func newLocalCompareCommand(s *shell.Streams) *cobra.Command {
	o := &compareOptions{Common: shell.Common{Streams: s}, local: shell.Local{On: true, Shares: true}}
	return o.command("RANDOMIZER", &cobra.Command{
		Use:   "compare RANDOMIZER | --range A,B --epsilon E --delta D --loss LOSS",
		Short: "Compare the designed answer with the published mechanisms",
		Long: `Design answers to one value of a range, such that any two values are indistinguishable,
and print their expected loss and that of the mechanisms published for bounded values,
and of noise that is added, with the range for its sensitivity. With --costs the values
are categories. With the file of a RANDOMIZER nothing is designed: it is verified and
compared.

Each has its loss averaged over the values and that of the worst value, and how many times
that of the design it is. The bound is about the loss of the objective, of all mechanisms
or, with --unbiased, of the unbiased ones. Those of the published mechanisms that have a
parameter are tuned to the loss and the objective. If a limit stops the design, the exit
code is 4.

With --categories, or the file of a subset selection, printed are the variances of
unbiased shares of all categories, times the number of people, of the design and of the
mechanisms published for that, and how many times the bound they are; with --workload, or
the file of a strategy for counts, the variances of all its queries together.

The command is also known as noisewright compare --local.`,
		Example: `  noisewright local compare --range 0,5 --epsilon 2 --delta 0 --loss l2 --unbiased
  noisewright local compare --categories 200 --epsilon 1
  noisewright local compare rating.json`,
	})
}

// command compares additive noise and, by --local, local randomizers, or these only.
func (o *compareOptions) command(file string, cmd *cobra.Command) *cobra.Command {
	o.design = shell.DesignOptions()
	f := shell.NewFlags(cmd)
	f.TableArgument(&o.table, file, 0, 0)
	f.Check(func() error {
		return shell.Refuse(o.table != "" && isMechanism(o.table), "table = %s, want a file: compare lists classical noise for an epsilon and a delta without it, and noisewright account says what a mechanism costs", check.Quoted(o.table))
	})
	f.Unless("table", func() {
		if o.local.Shares {
			o.sets.flag(f)
			o.attributes = 1
			f.With("categories", func() {
				f.Unless("workload", func() {
					f.Integer(&o.attributes, "attributes", "", 1, maxAttributes, "number of attributes of that many categories: says whether people should answer one of them, by a public coin, or all with less epsilon each")
				})
			})
		}
		f.Local(&o.local, func() {
			f.Costs(&o.costs)
			f.Unless("costs", func() {
				f.Range(&o.values.Lower, &o.values.Upper, "least and largest value, in their units, separated by a comma")
				f.Weight(&o.values)
			})
		})
		f.Epsilon(&o.problem.Epsilon)
		f.UnlessShares(&o.local, func() {
			f.Delta(&o.problem.Privacy, shell.Delta)
			f.Unless("costs", func() { f.Loss(&o.problem.Loss) })
			f.Query(&o.problem)
			f.Effort(&o.design, "")
		})
	})
	f.Summary(&o.Common)
	return f.Run(o.run)
}

func (o *compareOptions) run(ctx context.Context) error {
	switch {
	case o.table != "":
		return o.compareFile(ctx)
	case o.sets.workload.Workload != nil:
		return o.designCounts(ctx)
	case o.sets.given():
		return o.designSets()
	case o.local.On:
		return o.compareLocal(ctx)
	}
	o.design.Progress = o.Progress().Design(o.design.TimeLimit)
	p := o.problem
	c := comparison{Problem: p}
	best := contender{Name: shell.NoiseDesigned}
	r, limit, err := shell.Design(ctx, p, o.design)
	switch {
	case err != nil && p.Delta == 0: // the classical mechanisms can be compared all the same
		best.Note = shell.Sentence(err)
	case err != nil:
		return err
	default:
		c.bound = shell.FloatDown(r.Verified.Certificate().LowerBound)
		best = certifiedContender(best.Name, r.Verified)
	}
	c.mechanisms = append(c.mechanisms, best)
	c.addBaselines()
	return cmp.Or(o.PrintText(c.object(), c.write), limit)
}

func (o *compareOptions) compareFile(ctx context.Context) error {
	made, err := readFor(o.Streams, "compare", o.table, o.local.On)
	if err != nil {
		return err
	}
	compare := owns[made.Form().Package].compare
	if compare == nil {
		return shell.BadInput("", fmt.Errorf("%s is %s, want a table or a local randomizer", shell.InputName(o.table), made.Form().Noun))
	}
	v, err := shell.Prove(ctx, o.table, made)
	if err != nil {
		return err
	}
	o.Progress().Watch("comparing")
	return compare(o, ctx, v)
}

func (o *compareOptions) compareTable(ctx context.Context, p proof.Proven) error {
	whole, err := report.SoundTotal(ctx, o.table, p)
	if err != nil {
		return err
	}
	v := p.(*tables.Verified)
	t := v.Mechanism()
	c := comparison{Problem: t.Problem(), total: whole, mechanisms: []contender{certifiedContender("table", v)}}
	if whole == nil {
		c.bound = shell.FloatDown(v.Bounds().LowerBound)
		c.addBaselines()
	} else {
		for _, m := range whole.Target(t).Classical(ctx) {
			c.mechanisms = append(c.mechanisms, evaluated(m, c.Problem, "; for the same total"+unheld(c.Problem)))
		}
	}
	return o.PrintText(c.object(), c.write)
}

func (c *comparison) object() shell.Object {
	return shell.Object{c.total.Part(), "lower_bound", c.bound, "mechanisms", c.mechanisms}
}

func certifiedContender(name string, v *tables.Verified) contender {
	return contender{
		Name: name, Loss: shell.FloatUp(v.Certificate().ExpectedLoss), ErrorBound: new(float64),
		Note: fmt.Sprintf("certified, %d cells", v.Mechanism().Cells()),
	}
}

func (c *comparison) addBaselines() {
	for _, b := range noise.Baselines() {
		c.mechanisms = append(c.mechanisms, newContender(b, c.Problem))
		if b.Name == noise.DiscreteLaplace && c.Query == dp.IntegerQuery {
			c.mechanisms = append(c.mechanisms, newDiscreteStaircase(c.Problem))
		}
	}
	for i := range c.mechanisms {
		c.mechanisms[i].Suboptimality = above(c.mechanisms[i].Loss, c.bound)
	}
}

// above is how far a loss is above a bound; nil where either is not known.
func above(loss, bound *float64) *float64 {
	if loss == nil || bound == nil || *bound <= 0 {
		return nil
	}
	return shell.Finite(*loss/(*bound) - 1)
}

func newContender(b noise.Baseline, p dp.Problem) contender {
	m, err := b.New(p.Privacy, p.Loss)
	if err != nil {
		return contender{Name: b.Name, Note: excuse(err)}
	}
	return evaluated(m, p, beside(p, b.Name))
}

// evaluated is a mechanism with its expected loss, and more after its note.
func evaluated(m noise.Mechanism, p dp.Problem, more string) contender {
	out := contender{Name: m.Name(), Note: m.Note() + more}
	loss, errorBound, err := m.ExpectedLoss(p.Loss)
	if err != nil {
		out.Note = shell.Sentence(err)
		return out
	}
	out.Loss, out.ErrorBound = shell.Finite(loss), shell.Finite(errorBound)
	return out
}

// newDiscreteStaircase evaluates the best pure noise for integer queries.
func newDiscreteStaircase(p dp.Problem) contender {
	out := contender{Name: "discrete-staircase"}
	step, loss, err := noise.DiscreteStaircase(p.Epsilon, int64(p.Sensitivity), p.Loss)
	if err != nil {
		out.Note = excuse(err)
		return out
	}
	const rounding = 1e-13 // relative, as DiscreteStaircase says
	out.Loss, out.ErrorBound = shell.Finite(loss), shell.Finite(rounding*loss)
	out.Note = fmt.Sprintf("integers only: optimal for delta = 0; step %d%s", step, unheld(p))
	return out
}

func excuse(err error) string {
	if n, ok := errors.AsType[*noise.NotApplicableError](err); ok {
		return "does not apply: " + n.Reason
	}
	return shell.Sentence(err)
}

func beside(p dp.Problem, name string) string {
	switch {
	case p.Query == dp.LatticeQuery:
		return "; the bound is about noise on multiples of the step and does not hold for it"
	case figure.Suits(name, p.Query):
		return unheld(p)
	case p.Query == dp.IntegerQuery:
		return "; the bound is about integer noise and does not hold for it"
	default:
		return "; the bound is about real values and does not hold for it"
	}
}

// unheld is nothing where symmetric noise that falls away from 0 keeps the constraints by itself.
func unheld(p dp.Problem) string {
	p.Constraints.Symmetric, p.Constraints.Monotone, p.Constraints.Unbiased = false, false, false
	if p.Constraints.None() {
		return ""
	}
	return "; not held to the constraints"
}

func kindOfNoise(p dp.Problem) string {
	kind := "noise"
	switch p.Query {
	case dp.IntegerQuery:
		kind = "integer noise"
	case dp.LatticeQuery:
		kind = fmt.Sprintf("noise on multiples of %v", p.Step)
	case dp.RealQuery:
	}
	if !p.Constraints.None() {
		kind += " that keeps the constraints"
	}
	return kind
}

func (c *comparison) write(b *strings.Builder) {
	privacy, bound := fmt.Sprintf("epsilon %v, delta %v", c.Epsilon, c.Delta), " on every additive "+kindOfNoise(c.Problem)+": none"
	if c.bound != nil {
		bound = strings.TrimSuffix(bound, "none") + shell.DigitsDown(*c.bound)
	}
	if c.total != nil {
		privacy = fmt.Sprintf("%s together: epsilon %v, delta %v", shell.Counted(c.total.Releases, "release"), c.total.Epsilon, c.total.Delta)
		bound = ": " + report.NoBoundForSeveral
	}
	fmt.Fprintf(b, "%s, sensitivity %v, loss %s\n", privacy, c.Sensitivity, shell.LossUnit(c.Loss))
	for _, r := range shell.QueryRows(c.Problem) {
		fmt.Fprintf(b, "%s: %s\n", r[0], r[1])
	}
	fmt.Fprintf(b, "certified lower bound%s\n", bound)
	lines, without := [][]string{{"mechanism", "loss", "above bound", "note"}}, [][]string{}
	for _, m := range c.mechanisms {
		if m.Loss == nil && m.Name != shell.NoiseDesigned {
			without = append(without, []string{m.Name, m.Note})
			continue
		}
		line := []string{m.Name, "-", "-", m.Note}
		if m.Loss != nil {
			line[1] = fmt.Sprintf("%.7g", *m.Loss)
			if m.Name == shell.NoiseDesigned {
				line[1] = shell.DigitsUp(*m.Loss) // a bound, and no approximation
			}
		}
		if m.Suboptimality != nil {
			line[2] = shell.Percent(*m.Suboptimality)
		}
		lines = append(lines, line)
	}
	b.WriteByte('\n')
	shell.WriteColumns(b, lines, "<>><")
	if len(without) > 0 {
		b.WriteByte('\n')
		shell.WriteColumns(b, without, "<<")
	}
}
