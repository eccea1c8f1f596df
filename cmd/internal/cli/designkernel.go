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

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/lp"
)

type designKernelOptions struct {
	shell.Common
	problem lp.KernelProblem
	autoCap bool // the instance cap is the loss of data independent noise
	design  lp.Options
	// With --local:
	local    shell.Local
	releases int
	integer  string // a word of --query
	unbiased bool
	costs    costs
}

func newDesignKernelCommand(s *shell.Streams) *cobra.Command {
	o := &designKernelOptions{Common: shell.Common{Streams: s}, design: shell.DesignOptions()}
	o.design.Gap, o.design.MaxCells = lp.DefaultKernelGap, 0
	f := shell.NewFlags(&cobra.Command{
		Use:   "design-kernel --range A,B --epsilon E --delta D (--sensitivity S | --local) --loss LOSS [-o KERNEL]",
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

With --local any two values of the range are indistinguishable, as local differential
privacy asks for where a value leaves the device of its owner. Delta may be 0. The answer
is that of the smallest expected loss, averaged over the values or, with --objective
worst, of the worst value; --unbiased makes its mean the value, so that means of many
answers can be trusted. The file is that of a local randomizer, which sample, privatize,
plot and verify take as they do a kernel. With --costs the values are categories. With
--releases K epsilon and delta are those of K answers to one value together, by exact
composition.`,
		Example: `  noisewright design-kernel --range 0,4 --epsilon 1 --delta 0.2 --sensitivity 2 --loss l1 -o kernel.json
  noisewright design-kernel --range 0,4 --epsilon 0.2 --delta 0.05 --sensitivity 2 --loss l1 --nodes 16 --instance-cap auto --json
  noisewright design-kernel --local --range 0,5 --epsilon 2 --delta 0 --loss l2 --unbiased --objective worst -o rating.json`,
	})
	p := &o.problem
	o.localFlags(f)
	f.Privacy(&p.Privacy, shell.Delta)
	f.Unless("costs", func() {
		f.Loss(&p.Loss)
		f.Range(&p.Queries.Lower, &p.Queries.Upper, "least and largest value of the query, in its units, separated by a comma")
		f.Weight(&p.Queries)
	})
	f.Func("nodes", "N|FILE", "", "number of nodes, the answers, each with a cell of query values; or a file with one node per line, each with the cell of the values nearest to it (default as many as the gap needs)", func(text string) error {
		return readNodes(p, text)
	})
	f.CompleteOrFile("nodes")
	f.Gap(&o.design)
	f.TimeLimit(&o.design, "")
	f.NumberOrAuto(&p.InstanceCap, &o.autoCap, "instance-cap", "O|auto", "", shell.Rule{Want: "auto, or a number above 0 in units of the loss", OK: shell.Positive},
		"largest expected loss of any query value, in units of the loss (default none)")
	f.Func("instance-cap-loss", "LOSS", "", "loss that --instance-cap is about (default that of --loss)", o.readCapLoss)
	f.CompleteLoss("instance-cap-loss")
	f.Check(o.checkLocal)
	f.Output(&o.Common, "kernel file to write, - for standard output (default none)", "json")
	f.Summary(&o.Common, "output")
	return f.Run(o.run)
}

func (o *designKernelOptions) run(ctx context.Context) error {
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
		o.design.Progress = line.Kernel(o.design.TimeLimit)
		r, limit, err := shell.DesignKernel(ctx, o.problem, o.design)
		if err != nil {
			return d, err
		}
		d = designed{proven: r.Kernel, Outcome: r.Outcome, limit: limit, problem: struct {
			DataIndependent *float64 `json:"data_independent,omitempty"`
		}{independent}}
		if independent != nil {
			row := shell.Row{"data independent", shell.DigitsUp(*independent) + raisedCap(r.Kernel.Mechanism().InstanceCap(), *independent)}
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

// raisedCap says why an automatic cap is larger than the loss of data independent noise, if
// it is.
func raisedCap(kept, independent float64) string {
	if kept <= independent {
		return ""
	}
	return fmt.Sprintf("; the instance cap is %s above, what such noise keeps rounded to cells", shell.Percent(kept/independent-1))
}

// independent designs noise that does not depend on the query value and returns its
// expected loss, rounded up.
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
	loss := shell.FloatUp(r.Table.Certificate().ExpectedLoss)
	if loss == nil {
		return nil, shell.BadInput("", errors.New("instance-cap = auto: the data independent optimum is too large for a float64"))
	}
	return loss, nil
}

// readCapLoss reads the loss of the cap. The cap has been read.
func (o *designKernelOptions) readCapLoss(text string) error {
	if o.problem.InstanceCap == 0 && !o.autoCap {
		return shell.Want("none without --instance-cap")
	}
	l, err := shell.ParseLosses("instance-cap-loss", []string{text})
	o.problem.CapLoss = l
	return err
}

// readNodes reads a number of nodes, or a file with one node per line. The range has
// been read.
func readNodes(p *lp.KernelProblem, text string) error {
	want := shell.Want(fmt.Sprintf("an integer from 1 to %d, or a file with one node per line", kernels.MaxCells))
	if n, ok := shell.ParseCount(text); ok || text == "" {
		if n < 1 || n > kernels.MaxCells {
			return want
		}
		p.Cells = n
		return nil
	}
	bad := func(format string, args ...any) error {
		return fmt.Errorf("nodes = %s: %s", check.Quoted(text), fmt.Sprintf(format, args...))
	}
	file, err := os.Open(text)
	if err != nil {
		return bad("%v, %v", shell.FileCause(err), want)
	}
	defer file.Close()
	var nodes []float64
	for lines := bufio.NewScanner(file); lines.Scan() && len(nodes) <= kernels.MaxCells; {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		x, err := strconv.ParseFloat(line, 64)
		if err != nil {
			return bad("node %d = %s, want a number", len(nodes)+1, check.Quoted(line))
		}
		nodes = append(nodes, x)
	}
	q, n := p.Queries, len(nodes)
	ascending := true
	for i := 1; i < n; i++ {
		ascending = ascending && nodes[i] > nodes[i-1]
	}
	if n < 1 || n > kernels.MaxCells || !ascending || !(nodes[0] >= q.Lower && nodes[n-1] <= q.Upper) && !math.IsNaN(q.Lower) {
		return bad("not such nodes, want 1 to %d ascending numbers in the range", kernels.MaxCells)
	}
	p.Nodes = nodes
	return nil
}
