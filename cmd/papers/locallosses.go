// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/noisewright/noisewright/cmd/internal/figure"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/noise"
)

// localTable is a table of the squared error of local randomizers for values from -1 to 1.
type localTable struct {
	Title      string          `json:"title"`
	Objective  local.Objective `json:"objective"`
	Unbiased   bool            `json:"unbiased"`
	Mechanisms []string        `json:"mechanisms"` // published ones
	Rows       []localRow      `json:"rows"`
}

var unbiasedLocal = []string{
	"laplace", "staircase", "duchi", "piecewise", "hybrid", "piecewise-optimal", "three-outputs", "hybrid-three-outputs",
}

var localTables = []localTable{
	{"unbiased, worst value", local.Worst, true, unbiasedLocal, nil},
	{"unbiased, mean over uniform values", local.Mean, true, unbiasedLocal, nil},
	{"biased, mean over uniform values", local.Mean, false, []string{"square-wave", "generalized-piecewise"}, nil},
}

type localRow struct {
	Epsilon    float64    `json:"epsilon"`
	Published  []*float64 `json:"published"` // losses, in the order of the table's mechanisms
	Loss       *float64   `json:"expected_loss"`
	LowerBound *float64   `json:"lower_bound"`
	Gap        *float64   `json:"gap"`
	Seconds    float64    `json:"seconds"`
	Status     string     `json:"status"`
	gap        float64    // perhaps infinite
}

type localReport struct {
	Tables []localTable `json:"tables"`
}

type localOptions struct {
	shell.Common
	epsilons []float64
	design   lp.Options
}

const localLosses = "local-losses"

func newLocalLossesCommand(s *shell.Streams) *cobra.Command {
	o := &localOptions{Common: shell.Common{Streams: s}, design: designOptions(0.005)}
	return command(&o.Common, localLosses, "", "The tables on local randomizers: squared errors of published mechanisms, and of the best there are",
		`Compute the mean squared error of local randomizers for values from -1 to 1, delta 0:
of unbiased ones for the worst value and in the mean over uniform values, and of any
in the mean. Published mechanisms, by their closed forms, are beside designed ones and
the certified lower bound on all. Written are local-losses.csv and local-losses.svg, a
figure of the first table relative to the lower bound.

A design that a limit stops is in the tables all the same, the summary says so, and the
exit code is 4.`, o.run, func(f *shell.Flags) {
			f.Numbers(&o.epsilons, "epsilon", "0.5,1,2,3,5,8", shell.PositiveEpsilon, "values of epsilon, separated by commas")
			f.Gap(&o.design)
			f.TimeLimit(&o.design, " of one design")
		})
}

func (o *localOptions) run(ctx context.Context) error {
	var made localReport
	var limits []string
	files, err := produce(&o.Common, func(line *shell.Progress) error {
		o.design.Progress = line.DesignOn(o.design.TimeLimit, "intervals")
		for _, t := range localTables {
			for _, epsilon := range o.epsilons {
				row, err := t.row(ctx, epsilon, o.design)
				if err != nil {
					return err
				}
				if row.Status != optimal {
					limits = append(limits, fmt.Sprintf("%s, ε = %g", t.Title, epsilon))
				}
				t.Rows = append(t.Rows, row)
			}
			made.Tables = append(made.Tables, t)
		}
		return nil
	}, output{localLosses, func() [][]string { return made.records() }, func(w io.Writer) error { return made.draw(w) }})
	if err != nil {
		return err
	}
	err = o.PrintText(document(localLosses, made, files), func(b *strings.Builder) {
		made.write(b)
		fmt.Fprintf(b, "files: %s\n", strings.Join(files, ", "))
	})
	return cmp.Or(err, stopped(limits, o.design.Gap))
}

// row designs a randomizer and evaluates the published ones.
func (t localTable) row(ctx context.Context, epsilon float64, o lp.Options) (localRow, error) {
	values := local.Values{Kind: local.Real, Lower: -1, Upper: 1}
	row := localRow{Epsilon: epsilon, Status: optimal}
	p := noise.LocalProblem{Epsilon: epsilon, Values: values, Loss: loss.L2, Objective: t.Objective}
	for _, b := range noise.LocalBaselines() {
		i := slices.Index(t.Mechanisms, b.Name)
		if i < 0 {
			continue
		}
		m, err := b.New(p)
		if err != nil {
			return row, err
		}
		value, _ := m.MeanLoss()
		if t.Objective == local.Worst {
			value, _, _ = m.WorstLoss()
		}
		row.Published = append(row.Published, make([]*float64, max(0, i+1-len(row.Published)))...)
		row.Published[i] = shell.Finite(value)
	}
	r, limit, err := shell.DesignLocal(ctx, lp.LocalProblem{
		Epsilon: epsilon, Values: values, Loss: loss.L2, Objective: t.Objective, Demands: local.Demands{Unbiased: t.Unbiased},
	}, o)
	if err != nil {
		return row, err
	}
	c := r.Verified.Certificate()
	row.Loss, row.LowerBound, row.Gap = shell.FloatUp(c.Loss()), shell.FloatDown(c.LowerBound), shell.Finite(r.Gap)
	row.gap = r.Gap
	row.Seconds = math.Round(1000*r.Elapsed.Seconds()) / 1000
	if limit != nil {
		row.Status = limited
	}
	return row, nil
}

func (r localReport) records() [][]string {
	out := [][]string{{"epsilon", "objective", "unbiased", "mechanism", "loss", "lower_bound"}}
	for _, t := range r.Tables {
		for _, row := range t.Rows {
			for i, v := range row.Published {
				out = append(out, record(row.Epsilon, t.Objective, t.Unbiased, t.Mechanisms[i], rounded(*v, 8), ""))
			}
			out = append(out, record(row.Epsilon, t.Objective, t.Unbiased, "designed", shell.DigitsUp(*row.Loss), shell.DigitsDown(*row.LowerBound)))
		}
	}
	return out
}

// write prints the tables as Markdown.
func (r localReport) write(b *strings.Builder) {
	for _, t := range r.Tables {
		fmt.Fprintf(b, "%s\n\n| ε | %s | designed | lower bound | gap |\n|%s\n", t.Title, strings.Join(t.Mechanisms, " | "), strings.Repeat(" --- |", len(t.Mechanisms)+4))
		for _, row := range t.Rows {
			fmt.Fprintf(b, "| %v |", row.Epsilon)
			for _, v := range row.Published {
				fmt.Fprintf(b, " %.4g |", *v)
			}
			fmt.Fprintf(b, " %s | %s | %s |\n", shell.DigitsUp(*row.Loss), shell.DigitsDown(*row.LowerBound), shell.Percent(row.gap))
		}
		b.WriteByte('\n')
	}
}

// draw draws the first table, each loss over the lower bound.
func (r localReport) draw(out io.Writer) error {
	t := r.Tables[0]
	var curves []series
	for i, name := range append(slices.Clone(t.Mechanisms), "designed") {
		var points plotter.XYs
		for _, row := range t.Rows {
			if bound := *row.LowerBound; bound > 0 {
				value := append(slices.Clone(row.Published), row.Loss)[i]
				points = append(points, plotter.XY{X: row.Epsilon, Y: math.Log10(*value / bound)})
			}
		}
		others := figure.Palette[1:] // the first is that of designs
		style := draw.LineStyle{Color: others[i%len(others)], Width: vg.Points(1.4)}
		switch {
		case name == "designed":
			style = draw.LineStyle{Color: figure.Blue, Width: vg.Points(2.4)}
		case i >= len(others):
			style.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
		}
		curves = append(curves, series{name: name, points: points, style: style})
	}
	p, err := newPlot("", "epsilon", "largest variance over the certified lower bound", curves)
	if err != nil {
		return err
	}
	p.Y.Tick.Marker = plot.TickerFunc(ratioTicks)
	p.Y.Min = 0 // nothing is below the bound
	return writeFigure(p, out)
}
