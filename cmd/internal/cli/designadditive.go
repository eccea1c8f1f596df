// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/lp"
)

type designAdditiveOptions struct {
	shell.Common
	problem      lp.CellsProblem
	edges        []float64 // between cells
	lower, upper float64   // of the query's values
	weight       string    // uniform, or a file
	design       lp.Options
}

func newDesignAdditiveCommand(s *shell.Streams) *cobra.Command {
	o := &designAdditiveOptions{Common: shell.Common{Streams: s}, design: shell.DesignOptions(), lower: math.Inf(-1), upper: math.Inf(1), weight: "uniform"}
	o.design.Gap, o.design.MaxCells = lp.Limits.KernelGap.Default, 0
	f := shell.NewFlags(&cobra.Command{
		Use:   "design-additive --edges FROM:TO:WIDTH --epsilon E --delta D --sensitivity S --loss LOSS [-o KERNEL]",
		Short: "Design noise that is added and depends on the cell of the query value",
		Long: `Where the values of a query are spread over many sensitivities, or have no bounds, the
answer may still be the value plus noise whose law depends on the cell that the value
is in. Find the laws with the smallest expected loss, averaged over the cells, that make
the query (epsilon, delta)-differentially private, and write them together with the proof.

--edges cuts the values into cells of any width. Without --range the two outer cells have
no end, and values far outside all others are answered too.

The lower bound is about all noise that depends on the value through these cells. If a
limit is hit first, the best proven kernel is written, and the exit code is 4. Every
number printed was recomputed in exact arithmetic: the lower bound is rounded down, all
others up.

With --instance-cap the noise of no cell has a larger expected loss than that, of the
loss or of the one that --instance-cap-loss names. The noise of a cell without an end is
private by itself, so it loses as much as noise that does not depend on the value: no
smaller cap can be kept, and one as small as that leaves nothing to gain.`,
		Example: `  noisewright design-additive --edges -10:10:0.5 --epsilon 1 --delta 0.1 --sensitivity 2 --loss l1 --gap 0.02 -o additive.json
  noisewright design-additive --edges 1:3:1 --range 0,4 --epsilon 0.5 --delta 0.01 --sensitivity 1 --loss l2 -o additive.json`,
	})
	p := &o.problem
	f.Privacy(&p.Privacy, shell.PositiveDelta)
	f.Caution(&o.Common, &p.Privacy)
	f.Loss(&p.Loss)
	f.RequiredFunc("edges", "FROM:TO:WIDTH|FILE", "edges between cells, in units of the query: all from FROM to TO, WIDTH apart; or a file with one edge per line", o.readEdges)
	f.CompleteOrFile("edges")
	f.Func("range", "A,B", "", "least and largest value of the query, each a number or -inf or inf (default -inf,inf)", o.readRange)
	f.Text(&o.weight, "weight", "uniform|FILE", "law of the query values over which losses are averaged: uniform over the cells that have two ends, or a CSV file of a piecewise constant density on them with the columns from,weight")
	f.CompleteOrFile("weight", "uniform")
	f.Func("bins", "N", "", "bins per sensitivity, in each of which noise is uniform (default as many as the gap needs)", o.readBins)
	f.Gap(&o.design)
	f.TimeLimit(&o.design, "")
	f.OptionalNumber(&p.InstanceCap, "instance-cap", shell.Rule{Want: "a number above 0 in units of the loss", OK: shell.Positive},
		"largest expected loss of the noise of any cell, in units of the loss (default none)")
	capLoss(f, &p.CapLoss, func() bool { return p.InstanceCap > 0 })
	f.Output(&o.Common, "kernel file to write, - for standard output (default none)", "json")
	f.Summary(&o.Common, "output")
	return f.Run(o.run)
}

func (o *designAdditiveOptions) run(ctx context.Context) error {
	p := &o.problem
	p.Edges = slices.Compact(append(append([]float64{o.lower}, o.edges...), o.upper)) // edges may have the ends, too
	if err := o.spread(); err != nil {
		return shell.BadInput("noisewright design-additive --help", err)
	}
	return finish(&o.Common, "kernel", func() (d designed, err error) {
		o.design.Progress = o.Progress().DesignOn(o.design.TimeLimit, "bins per sensitivity")
		r, limit, err := shell.DesignAdditive(ctx, *p, o.design)
		if err != nil {
			return d, err
		}
		// Noise on the same bins that has one law for all cells; null if it does not keep the cap.
		d = designed{proven: r.Verified, Outcome: r.Outcome, limit: limit, certified: shell.Object{"one_law", nil}}
		if r.OneLaw > 0 {
			d.certified[1] = r.OneLaw
			d.rows = []shell.Row{{"one law for all", shell.DigitsUp(r.OneLaw)}}
		}
		return d, nil
	})
}

func (o *designAdditiveOptions) readRange(text string) error {
	if text == "" {
		return nil
	}
	a, b, err := shell.ParsePair(text)
	if err != nil || !(a < b) || math.IsInf(a, 1) || math.IsInf(b, -1) {
		return shell.Want("A,B, two numbers with A below B, or -inf and inf")
	}
	o.lower, o.upper = a, b
	return nil
}

const maxEdges = limits.AdditiveCells - 1

func (o *designAdditiveOptions) readEdges(text string) error {
	want := shell.Want(fmt.Sprintf("FROM:TO:WIDTH with a whole number of widths, or a file with 1 to %d ascending numbers, one per line", maxEdges))
	if text == "" {
		return want
	}
	if parts := strings.Split(text, ":"); len(parts) == 3 {
		var x [3]float64
		for i, part := range parts {
			var err error
			if x[i], err = strconv.ParseFloat(strings.TrimSpace(part), 64); err != nil || !check.Finite(x[i]) {
				return want
			}
		}
		count := math.Round((x[1] - x[0]) / x[2])
		if !(count >= 1 && count < maxEdges) || math.Abs((x[1]-x[0])/x[2]-count) > 1e-9*count {
			return want
		}
		for i := 0.0; i <= count; i++ {
			o.edges = append(o.edges, x[0]+(x[1]-x[0])*(i/count))
		}
		return nil
	}
	err := eachLine("edges", text, want, func(n int, line string) error {
		x, err := strconv.ParseFloat(line, 64)
		if err != nil || !check.Finite(x) || n > 0 && x <= o.edges[n-1] {
			return fmt.Errorf("edge %d = %s, %w", n+1, check.Quoted(line), want)
		}
		o.edges = append(o.edges, x)
		return nil
	})
	if n := len(o.edges); err == nil && (n < 1 || n > maxEdges) {
		return want
	}
	return err
}

func (o *designAdditiveOptions) readBins(text string) error {
	if text == "" {
		return nil
	}
	n, ok := shell.ParseCount(text)
	if !ok || !lp.Limits.Bins.Has(n) {
		return shell.Want(lp.Limits.Bins.String())
	}
	o.problem.Bins = n
	return nil
}

// spread gives each cell the share of a density that it holds.
func (o *designAdditiveOptions) spread() error {
	if o.weight == "" || o.weight == "uniform" {
		return nil
	}
	edges := o.problem.Edges
	finite := make([]float64, 0, len(edges))
	for _, x := range edges {
		if !math.IsInf(x, 0) {
			finite = append(finite, x)
		}
	}
	q := kernels.Queries{Lower: finite[0], Upper: finite[len(finite)-1]}
	if err := shell.ReadWeight(&q, o.weight); err != nil {
		return err
	}
	o.problem.Weight = make([]float64, len(edges)-1)
	for i, piece := range q.Weight {
		end := q.Upper
		if i+1 < len(q.Weight) {
			end = q.Weight[i+1].From
		}
		for k := range o.problem.Weight {
			if from, to := max(piece.From, edges[k]), min(end, edges[k+1]); from < to {
				o.problem.Weight[k] += piece.Weight * (to - from)
			}
		}
	}
	return nil
}
