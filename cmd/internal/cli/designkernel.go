// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/cmd/internal/report"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/tables"
)

type designKernelOptions struct {
	shell.Common
	problem lp.KernelProblem
	autoCap bool // the instance cap is the loss of data independent noise
	design  lp.Options
	// Of a local randomizer:
	local    shell.Local
	releases int
	integer  string // a word of --query
	unbiased bool
	costs    shell.Costs
	sets     sets // in place of all that, for shares of categories
}

func newDesignKernelCommand(s *shell.Streams) *cobra.Command {
	o := &designKernelOptions{Common: shell.Common{Streams: s}}
	return o.command(&cobra.Command{
		Use:   "design-kernel --range A,B --epsilon E --delta D --sensitivity S --loss LOSS [-o KERNEL]",
		Short: "Design noise that depends on the query value",
		Long: `Where the values of a query lie in a known range, noise may depend on the value:
near the ends, and where values are rare, other noise is better. Find the kernel,
one law of answers per cell of the range, with the smallest expected loss, averaged
over the query values, that makes the query (epsilon, delta)-differentially private,
and write it together with the proof.

The lower bound is about every mechanism for this range, whatever its outputs. If
a limit is hit first, the best proven kernel is written, and the exit code is 4.
Every number printed was recomputed in exact arithmetic: the lower bound is rounded
down, all others up.

With --instance-cap no query value has a larger expected loss than that; the word
auto stands for the smallest expected loss of noise that does not depend on the
value, or, if kernels of few cells do not keep that, for what such noise keeps when it
is rounded to cells, up to 5 % more. The bound is then about the mechanisms that keep
the cap. It may be on another loss than the average, with --instance-cap-loss.

A value that leaves the device of its owner, where any two values of the range have to be
indistinguishable, is for noisewright local design.`,
		Example: `  noisewright design-kernel --range 0,4 --epsilon 1 --delta 0.2 --sensitivity 2 --loss l1 -o kernel.json
  noisewright design-kernel --range 0,4 --epsilon 0.2 --delta 0.05 --sensitivity 2 --loss l1 --nodes 16 --instance-cap auto --json`,
	}, "kernel file")
}

func newLocalDesignCommand(s *shell.Streams) *cobra.Command {
	o := &designKernelOptions{Common: shell.Common{Streams: s}, local: shell.Local{On: true, Shares: true}}
	return o.command(&cobra.Command{
		Use:   "design (--range A,B --delta D --loss LOSS | --categories N|A,B,...) --epsilon E [-o RANDOMIZER]",
		Short: "Design the answer that a device gives in the place of its value",
		Long: `Find the local randomizer, the law of the answer for every value of a range, with the
smallest expected loss such that any two values of the range are indistinguishable from
the answer: (epsilon, delta)-local differential privacy. Delta may be 0. Write it together
with the proof.

The loss is averaged over the values or, with --objective worst, that of the worst value;
with --instance-cap no value has a larger one. --unbiased makes the mean of the answer the
value, exactly, so that means of many answers can be trusted: noisewright local interval
wants it. With --costs the values are categories. With --releases K epsilon and delta are
those of K answers to one value together, by exact composition.

With --categories the answers are for the shares of all categories: each is a set of
categories, of the size with the least total variance of unbiased estimates or, with
--objective largest, the least variance of a single share (subset selection). No range,
loss or delta is asked for. Exact are the variances, times the number of people, and the
bound on those of every unbiased estimate from answers of this epsilon. With --workload
they are for counts of categories in an order, in ranges, of attributes, or any others; up
to 16 categories there is a bound as well, and beyond that none.

The lower bound is about every randomizer for these values, whatever its answers. If a
limit is hit first, the best proven randomizer is written, and the exit code is 4. Every
number printed was recomputed in exact arithmetic: the lower bound is rounded down, all
others up.

The command is also known as noisewright design-kernel --local.`,
		Example: `  noisewright local design --range 0,5 --epsilon 2 --delta 0 --loss l2 --unbiased --objective worst -o rating.json
  noisewright local design --query integer --range 1,5 --epsilon 2 --delta 0 --loss l2 --unbiased
  noisewright local design --costs costs.csv --epsilon 1 --delta 0 -o color.json
  noisewright local design --categories 200 --epsilon 1 -o page.json
  noisewright local design --categories 14 --epsilon 1 --workload prefix -o age.json`,
	}, "file of the randomizer")
}

// command designs kernels and, by --local, local randomizers, or these only.
func (o *designKernelOptions) command(cmd *cobra.Command, file string) *cobra.Command {
	o.design = shell.DesignOptions()
	o.design.Gap, o.design.MaxCells = lp.Limits.KernelGap.Default, 0
	f, p := shell.NewFlags(cmd), &o.problem
	if o.local.Shares {
		o.sets.flag(f)
	}
	o.localFlags(f)
	f.Epsilon(&p.Epsilon)
	f.UnlessShares(&o.local, func() { o.problemFlags(f) })
	f.Caution(&o.Common, &p.Privacy)
	f.Output(&o.Common, file+" to write, - for standard output (default none)", "json")
	f.Summary(&o.Common, "output")
	return f.Run(o.run)
}

// problemFlags adds those of what is designed but for shares of categories.
func (o *designKernelOptions) problemFlags(f *shell.Flags) {
	p, only := &o.problem, o.local.On
	f.Delta(&p.Privacy, shell.Delta)
	f.Unless("costs", func() {
		f.Loss(&p.Loss)
		f.Range(&p.Queries.Lower, &p.Queries.Upper, "least and largest value, in their units, separated by a comma")
		f.Weight(&p.Queries)
	})
	if only {
		f.OptionalInteger(&p.Cells, "nodes", 2, limits.KernelCells, "number of values with a law of their own, between which laws are mixed (default as many as the gap needs)")
	} else {
		f.Func("nodes", "N|FILE", "", "number of nodes, the answers, each with a cell of query values; or a file with one node per line, each with the cell of the values nearest to it (default as many as the gap needs)", func(text string) error {
			return readNodes(p, text)
		})
		f.CompleteOrFile("nodes")
	}
	f.Gap(&o.design)
	f.TimeLimit(&o.design, "")
	const usage = "largest expected loss of any value, in units of the loss (default none)"
	if only {
		f.OptionalNumber(&p.InstanceCap, "instance-cap", shell.Rule{Want: "a number above 0 in units of the loss", OK: shell.Positive}, usage)
	} else {
		f.NumberOrAuto(&p.InstanceCap, &o.autoCap, "instance-cap", "O|auto", "", shell.Rule{Want: "auto, or a number above 0 in units of the loss", OK: shell.Positive}, usage)
		capLoss(f, &p.CapLoss, func() bool { return p.InstanceCap > 0 || o.autoCap })
	}
	f.Check(o.checkLocal)
}

func (o *designKernelOptions) run(ctx context.Context) error {
	switch {
	case o.sets.workload.Workload != nil:
		return o.designCounts(ctx)
	case o.sets.given():
		return o.designSets()
	}
	if o.local.On {
		return o.runLocal(ctx)
	}
	return finish(&o.Common, "kernel", func() (d designed, err error) {
		line := o.Progress()
		var independent *float64 // least loss of such noise
		if o.autoCap {
			start := time.Now()
			if independent, err = o.independent(ctx, line); err != nil {
				return d, err
			}
			o.problem.InstanceCap, o.problem.CapSlack = *independent, autoCapSlack
			if o.design.TimeLimit > 0 { // it is for both
				o.design.TimeLimit = max(o.design.TimeLimit-time.Since(start), time.Nanosecond)
			}
		}
		o.design.Progress = line.DesignOn(o.design.TimeLimit, "cells")
		r, limit, err := shell.DesignKernel(ctx, o.problem, o.design)
		if err != nil {
			return d, err
		}
		d = designed{proven: r.Verified, Outcome: r.Outcome, limit: limit, problem: shell.If(independent != nil, "data_independent", independent)}
		if independent != nil {
			row := shell.Row{"data independent", shell.DigitsUp(*independent)}
			if kept := r.Verified.Mechanism().InstanceCap(); kept > *independent {
				row[1] += fmt.Sprintf("; the instance cap is %s above, what such noise keeps rounded to cells", shell.Percent(kept / *independent - 1))
			}
			if o.problem.CapLoss != nil {
				row[1] += ", for the loss of the cap"
			}
			d.rows = []shell.Row{row}
		}
		return d, nil
	})
}

// autoCapSlack is how much larger than the loss of data independent noise an automatic cap
// may be: as much as rounding this noise to cells costs where they are few.
const autoCapSlack = 0.05

// independent is the expected loss of noise that does not depend on the query value, rounded up.
func (o *designKernelOptions) independent(ctx context.Context, line *shell.Progress) (*float64, error) {
	options := shell.DesignOptions()
	options.TimeLimit = o.design.TimeLimit / 4
	options.Progress = line.Design(options.TimeLimit)
	capped := o.problem.Loss
	if o.problem.CapLoss != nil {
		capped = o.problem.CapLoss
	}
	r, _, err := shell.Design(ctx, dp.Problem{Privacy: o.problem.Privacy, Loss: capped, Query: dp.RealQuery}, options)
	if err != nil {
		return nil, err
	}
	loss := shell.FloatUp(r.Verified.Certificate().ExpectedLoss)
	if loss == nil {
		return nil, shell.BadInput("", errors.New("instance-cap = auto: the data independent optimum is too large for a float64"))
	}
	return loss, nil
}

// capLoss adds the loss of the cap, which has been read: capped says whether there is one.
func capLoss(f *shell.Flags, l *loss.Loss, capped func() bool) {
	const name = "instance-cap-loss"
	f.Func(name, "LOSS", "", "loss that --instance-cap is about (default that of --loss)", func(text string) (err error) {
		if text == "" {
			return nil
		}
		if !capped() {
			return shell.Want("none without --instance-cap")
		}
		*l, err = shell.ParseLosses(name, []string{text})
		return err
	})
	f.CompleteLoss(name)
}

// maxLines bounds the lines of a file of numbers: more than there may be numbers.
const maxLines = max(limits.KernelCells, maxEdges) + 1

// eachLine reads the lines of the file that a flag names, but for empty ones.
func eachLine(flag, path string, want shell.Want, read func(n int, line string) error) error {
	file, err := os.Open(path)
	if err != nil {
		err = fmt.Errorf("%w, %w", shell.FileCause(err), want)
	} else {
		defer file.Close()
		n := 0
		for lines := bufio.NewScanner(file); lines.Scan() && n < maxLines && err == nil; {
			if line := strings.TrimSpace(lines.Text()); line != "" {
				err = read(n, line)
				n++
			}
		}
	}
	if err != nil {
		return fmt.Errorf("%s = %s: %w", flag, check.Quoted(path), err)
	}
	return nil
}

// readNodes reads a number of nodes, or a file of them. The range has been read.
func readNodes(p *lp.KernelProblem, text string) error {
	want := shell.Want(fmt.Sprintf("an integer from 1 to %d, or a file with one node per line", limits.KernelCells))
	if n, ok := shell.ParseCount(text); ok || text == "" {
		if n < 1 || n > limits.KernelCells {
			return want
		}
		p.Cells = n
		return nil
	}
	var nodes []float64
	err := eachLine("nodes", text, want, func(n int, line string) error {
		x, err := strconv.ParseFloat(line, 64)
		if err != nil {
			return fmt.Errorf("node %d = %s, want a number", n+1, check.Quoted(line))
		}
		nodes = append(nodes, x)
		return nil
	})
	if err != nil {
		return err
	}
	q, n := p.Queries, len(nodes)
	ascending := true
	for i := 1; i < n; i++ {
		ascending = ascending && nodes[i] > nodes[i-1]
	}
	if n < 1 || n > limits.KernelCells || !ascending || !(nodes[0] >= q.Lower && nodes[n-1] <= q.Upper) && !math.IsNaN(q.Lower) {
		return fmt.Errorf("nodes = %s: not such nodes, want 1 to %d ascending numbers in the range", check.Quoted(text), limits.KernelCells)
	}
	p.Nodes = nodes
	return nil
}

func (o *designKernelOptions) runLocal(ctx context.Context) error {
	if p := o.localProblem(); o.releases == 1 && p.Delta > 0 && p.Objective == local.Mean && !p.Demands.Unbiased {
		o.Warn("delta = %v lowers an averaged loss by about this share of it and no more: with --delta 0 answers are as good and promise more", p.Delta)
	}
	return finish(&o.Common, "randomizer", func() (designed, error) {
		o.design.Progress = o.Progress().DesignOn(o.design.TimeLimit, "intervals")
		r, whole, limit, err := o.designLocal(ctx)
		if err != nil {
			return designed{}, err
		}
		return designed{proven: r.Verified, Outcome: r.Outcome, limit: limit, total: whole}, nil
	})
}

// designLocal designs the randomizer of one release, or that of several with a total.
func (o *designKernelOptions) designLocal(ctx context.Context) (r *lp.Result[local.Verified], whole *report.Total, limit, err error) {
	p := o.localProblem()
	if o.releases == 1 {
		r, limit, err = shell.DesignLocal(ctx, p, o.design)
		return r, nil, limit, err
	}
	sum := tables.Total{Releases: o.releases, Epsilon: p.Epsilon, Delta: p.Delta}
	made := map[*local.Verified]*lp.Result[local.Verified]{}
	c, err := account.CalibrateLocal(ctx, sum, func(ctx context.Context, epsilon, delta, gap float64) (*local.Verified, error) {
		if epsilon < lp.Limits.Epsilon.Min {
			return nil, check.Errorf("cli", dp.ErrInvalid, "releases = %d at epsilon = %g leave a single release less than %g, want fewer releases or a larger epsilon", o.releases, sum.Epsilon, lp.Limits.Epsilon.Min)
		}
		p, options := p, o.design
		p.Epsilon, p.Delta = epsilon, delta
		if options.Gap = gap; gap > o.design.Gap && options.TimeLimit > shell.CoarseTime {
			options.TimeLimit = shell.CoarseTime
		}
		r, limit, err := shell.DesignLocal(ctx, p, options)
		if err != nil {
			return nil, err
		}
		made[r.Verified] = r
		return r.Verified, limit
	}, o.design.Gap)
	var f *shell.Failure
	switch {
	case err == nil:
		whole = &report.Total{Releases: sum.Releases, Epsilon: sum.Epsilon, Delta: sum.Delta, EpsilonUpper: shell.Finite(c.Composed.Upper)}
		return made[c.Randomizer], whole, c.Limit, nil
	case errors.As(err, &f), errors.Is(err, context.Canceled):
		return nil, nil, nil, err
	}
	return nil, nil, nil, shell.BadInput("noisewright local design --help", err)
}

func (o *designKernelOptions) localProblem() lp.LocalProblem {
	p := o.costs.Problem(o.problem.Privacy, o.local, o.problem.Loss, o.integer == string(local.Integer), o.problem.Queries)
	p.Demands.Unbiased, p.Demands.Cap = o.unbiased, o.problem.InstanceCap
	if n := o.problem.Cells; n > 0 && o.costs.Values == nil {
		p.Cells = n - 1
	}
	return p
}

func (o *designKernelOptions) localFlags(f *shell.Flags) {
	o.integer, o.releases = string(local.Real), 1
	f.Local(&o.local, func() {
		f.Word(&o.integer, "query", "integer|real", shell.QueryOfLocal, string(local.Integer), string(local.Real))
		f.Bool(&o.unbiased, "unbiased", shell.UnbiasedOfLocal)
		f.Integer(&o.releases, "releases", "", 1, limits.TableReleases, "number of answers to one value, each drawn afresh, that epsilon and delta are of together")
		f.Costs(&o.costs)
	})
}

// checkLocal holds the flags that only one of kernels and randomizers has against --local.
func (o *designKernelOptions) checkLocal() error {
	if !o.local.On {
		if o.problem.Delta == 0 {
			return shell.About("delta", "0", shell.Want(shell.PositiveDelta.Want+"; noisewright local design takes 0"))
		}
		return nil
	}
	return errors.Join(
		shell.Refuse(o.costs.Values != nil && o.unbiased, "costs and unbiased are given, want only one of them"),
		shell.Refuse(o.autoCap, "instance-cap = auto is for kernels, want a number for a local randomizer"),
		shell.Refuse(o.problem.CapLoss != nil, "instance-cap-loss is for kernels, want none for a local randomizer"),
		shell.Refuse(o.problem.Nodes != nil || o.problem.Cells == 1, "nodes: want a number of at least 2 for a local randomizer"),
	)
}
