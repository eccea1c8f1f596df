// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/cmd/internal/figure"
	"github.com/noisewright/noisewright/cmd/internal/report"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

type designOptions struct {
	shell.Common
	problem dp.Problem
	design  lp.Options
	// To trade off two losses.
	trading bool
	trade   [2]loss.Loss
	points  int
	plot    string  // figure of the front
	most    float64 // of --max-error, in the place of epsilon; 0: not given
	format  string  // of the figure
}

func newDesignCommand(s *shell.Streams) *cobra.Command {
	o := &designOptions{Common: shell.Common{Streams: s}, design: shell.DesignOptions(), points: lp.Limits.Points.Default}
	f := shell.NewFlags(&cobra.Command{
		Use:   "design --epsilon E --delta D --sensitivity S --loss LOSS [-o TABLE]",
		Short: "Design the noise with the smallest expected loss",
		Long: `Find additive noise that makes a query (epsilon, delta)-differentially private
with an expected loss within the requested gap of the least possible, and write
it as a table together with the proof of both.

If a limit is hit first, the best proven table is written, the gap it reached is
printed, and the exit code is 4. Every number printed was recomputed in exact
arithmetic: the expected loss and delta are rounded up, the lower bound down.

The noise may be restricted further (--symmetric, --monotone, --unbiased,
--support, --max-variance, --quantile, --max-distinguishing); the lower bound is
then about noise that keeps the same restrictions. --query integer is for queries
with integer values: the noise is the best on the integers. --step publishes
multiples of a number, and the noise is the best on these multiples.

--trade A,B trades off two losses: it designs for weighted sums of them, and prints
each design's weights, its exact expectation of either loss, rounded up, and the
lower bound on its weighted sum. Each next design is where the front is known worst,
until it is within the gap of all other noise for every weighted sum, or there are
--points of them. Designs that another one, or a mixture of others, beats in both
losses are left out. -o then writes the front of the others as CSV and --plot draws
it, with the bound; --loss with the weights printed, as in --loss l1:0.7
--loss exceed:3:0.3, designs the table of one of its points. The time is for all
designs together: seconds for most losses, minutes if each of many designs is hard.
If it ends first, all designs are proven all the same, and the exit code is 4.

--max-error l1:0.5, in the place of --epsilon and --loss, finds the least epsilon at
which designed noise has an expected loss of at most 0.5, to about a part in a
thousand, and writes that noise. 3@0.95 asks for noise within 3 query units with a
probability of 0.95.

Without -o no table is written. With --json, "gap" is null if there is no lower
bound above 0, and "status" is "optimal" (the gap was reached) or "limit".

` + shell.LossHelp(),
		Example: `  noisewright design --epsilon 1 --delta 1e-6 --sensitivity 1 --loss l1 -o table.json
  noisewright design --epsilon 0.5 --delta 1e-9 --sensitivity 100 --loss l2 --gap 0.01 --time-limit 5m --json
  noisewright design --epsilon 1 --delta 1e-6 --sensitivity 5 --loss l1 --query integer --unbiased -o count.json
  noisewright design --epsilon 1 --delta 0.01 --sensitivity 1 --trade asymmetric:1,4,asymmetric:4,1 --points 5 -o front.csv --plot front.svg`,
	})
	o.tradeFlags(f)
	o.maxErrorFlag(f)
	f.Unless("max-error", func() { f.Epsilon(&o.problem.Epsilon) })
	f.Delta(&o.problem.Privacy, shell.Delta)
	f.Caution(&o.Common, &o.problem.Privacy)
	f.Losses(o.readLosses)
	f.Query(&o.problem)
	f.Effort(&o.design, "")
	f.Output(&o.Common, "table file to write, CSV file with --trade, - for standard output (default none)", "json", "csv")
	f.Summary(&o.Common, "output", "plot")
	return f.Run(o.run)
}

// maxErrorFlag adds --max-error: T@P is a probability above 1−P of noise beyond T.
func (o *designOptions) maxErrorFlag(f *shell.Flags) {
	const want = shell.Want("LOSS:V, such as l1:0.5 or l2:25, the largest expected loss, or T@P, such as 3@0.95, noise within T query units with the probability P")
	f.Func("max-error", "ERROR", "", "in the place of epsilon and a loss: find the least epsilon that keeps this error, such as l1:0.5 or 3@0.95", func(text string) error {
		name, bound := text, ""
		within, p, probable := strings.Cut(text, "@")
		if i := strings.LastIndexByte(text, ':'); i >= 0 {
			name, bound = text[:i], text[i+1:]
		}
		if probable {
			name, bound = "exceed:"+within, p
		}
		v, err := strconv.ParseFloat(bound, 64)
		if probable {
			v = 1 - v
		}
		l, bad := loss.Parse(name)
		if err != nil || bad != nil || !check.Positive(v) || probable && v >= 1 {
			return want
		}
		o.most, o.problem.Loss = v, l
		return nil
	})
}

func (o *designOptions) tradeFlags(f *shell.Flags) {
	f.Func("trade", "A,B", "", "design for weighted sums of two losses, from all A to all B, in the place of --loss", func(text string) error {
		o.trading = true
		pair, ok := readPair(text)
		if !ok {
			return shell.Want("two losses A,B without weights of their own, such as l1,exceed:3; each is " + shell.WantLoss())
		}
		o.trade = pair
		return nil
	})
	f.CompleteLoss("trade")
	most := lp.Limits.Points
	points := f.Integer(&o.points, "points", "", most.Min, most.Max, fmt.Sprintf("largest number of designs of --trade, from %d to %d", most.Min, most.Max))
	f.Figure(&o.plot, &o.format, "plot", "with --trade: figure of the front to write, its name ending in .svg or .png")
	f.Check(func() error {
		if !o.trading && (points.Given || o.plot != "") {
			return errors.New("points and plot describe a front, want trade with them")
		}
		return nil
	})
}

func (o *designOptions) readLosses(texts []string) (err error) {
	switch {
	case o.most > 0 && (o.trading || len(texts) > 0):
		err = errors.New("max-error and loss or trade are given, want only one of them: max-error names a loss")
	case o.most > 0:
	case !o.trading:
		o.problem.Loss, err = shell.ParseLosses("loss", texts)
	case len(texts) > 0:
		err = fmt.Errorf("loss = %s and trade, want only one of them", check.Quoted(texts[0]))
	}
	return err
}

func (o *designOptions) run(ctx context.Context) error {
	if o.trading {
		return o.runTrade(ctx)
	}
	return finish(&o.Common, "table", func() (d designed, err error) {
		o.design.Progress = o.Progress().Design(o.design.TimeLimit)
		r, limit, err := o.found(ctx)
		if err != nil {
			return d, err
		}
		o.problem.Epsilon = r.Verified.Mechanism().Privacy().Epsilon
		size := shell.Object{"cells_per_sensitivity", r.Verified.Mechanism().Grid().CellsPerSensitivity}
		return designed{proven: r.Verified, Outcome: r.Outcome, limit: limit, size: size, rows: besideRows(r, o.problem)}, nil
	})
}

// found designs for the epsilon, or the least one that keeps the error.
func (o *designOptions) found(ctx context.Context) (r *lp.Result[tables.Verified], limit, err error) {
	if o.most == 0 {
		return shell.Design(ctx, o.problem, o.design)
	}
	r, err = lp.ForError(ctx, o.problem, o.most, o.design)
	if r != nil { // a limit of the last design, which is proved all the same
		return r, nil, nil
	}
	return nil, nil, shell.DesignError(ctx, o.problem, o.design, err)
}

// designed is a mechanism that a command has designed, with what it says beside what is said
// of all: parts of the JSON object, after those of the same names, and rows.
type designed struct {
	proven proof.Proven
	lp.Outcome
	limit                    error // that the design was stopped at, if it was
	total                    *report.Total
	problem, certified, size shell.Object
	rows                     []shell.Row
}

// finish makes a design, writes it to the output, a noun, and prints what is proved.
func finish(c *shell.Common, noun string, design func() (designed, error)) error {
	w, err := c.Reserve(c.Output)
	if err != nil {
		return err
	}
	defer w.Discard()
	d, err := design()
	if err != nil {
		return err
	}
	m := proof.Of(d.proven)
	a := about(report.Finding{Mechanism: m, Proven: d.proven})
	object := shell.Object{
		a.Problem, d.total.Part(), d.problem, a.Certified, d.certified, a.Size, d.size,
		"rounds", d.Rounds, ending(d.Optimal, d.Elapsed),
	}
	effort := shell.Row{"effort", fmt.Sprintf("%d rounds, %s", d.Rounds, d.Elapsed.Round(time.Millisecond))}
	rows := slices.Concat([]shell.Row{d.total.Row()}, a.Rows, []shell.Row{effort}, d.rows, []shell.Row{shell.When(c.Output != "", noun, c.Output)})
	return c.Finish(w, m.Encode, object, rows, d.limit)
}

func ending(optimal bool, elapsed time.Duration) shell.Object {
	return shell.Object{"seconds", math.Round(elapsed.Seconds()*1000) / 1000, "status", status(optimal)}
}

func status(optimal bool) string {
	if optimal {
		return "optimal"
	}
	return "limit"
}

func besideRows(r *lp.Result[tables.Verified], p dp.Problem) (rows []shell.Row) {
	designed, _ := r.Verified.Certificate().ExpectedLoss.Float64()
	for _, m := range references(p) {
		if m.Loss == nil {
			continue
		}
		side := "above"
		if *m.Loss < designed {
			side = "below"
		}
		rows = append(rows, shell.Row{m.Name, fmt.Sprintf("%.6g, %s %s the table's%s", *m.Loss, shell.Percent(math.Abs(*m.Loss/designed-1)), side, unheld(p))})
	}
	return rows
}

func references(p dp.Problem) (out []contender) {
	for _, b := range noise.Baselines() {
		if figure.Compared(b.Name) && figure.Suits(b.Name, p.Query) {
			out = append(out, newContender(b, p))
		}
	}
	if p.Query == dp.IntegerQuery {
		out = append(out, newDiscreteStaircase(p))
	}
	return out
}
