// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/noisewright/noisewright/cmd/internal/figure"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/cmd/papers/drolearn"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/tables"
)

// droFigure is a figure after Selvi, Liu & Wiesemann (2025), computed from
// certified designs for the instances of the paper.
type droFigure struct {
	name  string // of the command and of the files
	short string
	long  string
	gap   float64 // asked for by default
	make  func(ctx context.Context, d *droDrawing) error
}

var droFigures = []droFigure{
	{
		"dro-figure3", "the loss of each query value, data dependent and data independent", `the expected loss of every query value in a range of
length 4 under the best data dependent noise, for a sensitivity of 2, l1, and
(epsilon, delta) = (0.2, 0.05), (1, 0.2) and (5, 0.25), relative to that of the
best data independent noise`, 0.01, drawKernelLosses,
	},
	{
		"dro-figure4", "densities of the best noise and of the best monotone noise", `the densities of the best noise and of the best noise
whose density does not increase away from 0, for a sensitivity of 10, l1, and
(epsilon, delta) = (1, 0.2), (0.6, 0.2) and (0.6, 0.1)`, 0.001, func(ctx context.Context, d *droDrawing) error {
			return drawMonotone(ctx, d, []dp.Privacy{
				{Epsilon: 1, Delta: 0.2, Sensitivity: 10}, {Epsilon: 0.6, Delta: 0.2, Sensitivity: 10}, {Epsilon: 0.6, Delta: 0.1, Sensitivity: 10},
			})
		},
	},
	{
		"dro-figure5", "laws of the answers to chosen query values", `the laws of the answers to the query values 0, 1 and 2 in
a range of 0 to 4 under the best data dependent noise for a sensitivity of 2,
l1, epsilon 1 and delta 0.2`, 0.01, drawAnswers,
	},
	{
		"dro-supplement-figure1", "the best noise for a symmetric and for a lopsided loss", `the densities of the best noise for the losses |x| and
|x| + 1[x > 0] |x|, over each other, for a sensitivity of 1, epsilon 1 and delta 0.2.
The paper has cells of width 0.05; ours are as fine as the gap asks for`, 0.001, func(ctx context.Context, d *droDrawing) error {
			return drawLosses(ctx, d, dp.Privacy{Epsilon: 1, Delta: 0.2, Sensitivity: 1}, "l1", lopsided)
		},
	},
	{
		"dro-supplement-figure2", "the best noise for l1 and for l2", `the densities of the best noise for l1 and for l2, over
each other, for a sensitivity of 10, epsilon 1 and delta 0.4. The paper has cells of
width 0.5; ours are as fine as the gap asks for`, 0.001, func(ctx context.Context, d *droDrawing) error {
			return drawLosses(ctx, d, dp.Privacy{Epsilon: 1, Delta: 0.4, Sensitivity: 10}, "l1", "l2")
		},
	},
	{
		"dro-counterexample", "counterexamples to monotone noise", `the densities of the best noise and of the best noise
whose density does not increase away from 0, for a sensitivity of 1, l1, and
(epsilon, delta) = (3, 0.3), which the supplement's text has as an example that the
second is worse, and (1, 0.4), where it shows more clearly`, 0.001, func(ctx context.Context, d *droDrawing) error {
			return drawMonotone(ctx, d, []dp.Privacy{{Epsilon: 3, Delta: 0.3, Sensitivity: 1}, {Epsilon: 1, Delta: 0.4, Sensitivity: 1}})
		},
	},
}

// lopsided is the name of the loss |x| + 1[x > 0] |x|.
const lopsided = "asymmetric:1,2"

// droDrawing collects what a figure shows.
type droDrawing struct {
	design  lp.Options
	line    *shell.Progress
	plot    *plot.Plot
	records [][]string // of the CSV file; the first is the header
	designs []noteReport
	rows    []shell.Row // of the summary
}

// noteReport is what is proved about one of the designs.
type noteReport struct {
	Name         string   `json:"name"`
	ExpectedLoss *float64 `json:"expected_loss"`
	LowerBound   *float64 `json:"lower_bound"`
	Gap          *float64 `json:"gap"`
	Status       string   `json:"status"`
}

type droFigureOptions struct {
	shell.Common
	figure droFigure
	design lp.Options
}

func newDROFigureCommand(s *shell.Streams, t droFigure) *cobra.Command {
	o := &droFigureOptions{Common: shell.Common{Streams: s}, figure: t, design: designOptions(t.gap)}
	return command(&o.Common, t.name, "", "After a figure of Selvi, Liu & Wiesemann (2025): "+t.short, fmt.Sprintf(`Compute %s. Written are
%[2]s.csv and %[2]s.svg.
Every design is certified; one that a limit stops is drawn all the same,
the summary says so, and the exit code is 4.`, t.long, t.name), o.run, func(f *shell.Flags) { f.Effort(&o.design, " of one design") })
}

func (o *droFigureOptions) run(ctx context.Context) error {
	if err := needSolver(); err != nil {
		return err
	}
	d := &droDrawing{design: o.design}
	files, err := produce(&o.Common, func(line *shell.Progress) error {
		d.line, d.design.Progress = line, line.Design(o.design.TimeLimit)
		return o.figure.make(ctx, d)
	}, output{o.figure.name, func() [][]string { return d.records }, func(w io.Writer) error { return writeFigure(d.plot, w) }})
	if err != nil {
		return err
	}
	if err := report(&o.Common, o.figure.name, shell.Object{"designs", d.designs}, d.rows, files); err != nil {
		return err
	}
	var limits []string
	for _, n := range d.designs {
		if n.Status != optimal {
			limits = append(limits, n.Name)
		}
	}
	return stopped(limits, o.design.Gap)
}

// note adds a design to the summary: what is certified of its loss, rounded outwards.
func (d *droDrawing) note(name string, loss, bound *big.Rat, gap float64, limit error) {
	n := noteReport{Name: name, ExpectedLoss: shell.FloatUp(loss), LowerBound: shell.FloatDown(bound), Gap: shell.Finite(gap), Status: optimal}
	text := fmt.Sprintf("expected loss in %s, gap %s", shell.Interval(bound, loss), shell.Percent(gap))
	if limit != nil {
		text += ", stopped at a limit"
		n.Status = limited
	}
	d.designs = append(d.designs, n)
	d.rows = append(d.rows, shell.Row{name, text})
}

func (d *droDrawing) table(ctx context.Context, name string, p dp.Problem, o lp.Options) (*tables.Verified, error) {
	r, limit, err := shell.Design(ctx, p, o)
	if err != nil {
		return nil, err
	}
	c := r.Verified.Certificate()
	d.note(name, c.ExpectedLoss, c.LowerBound, r.Gap, limit)
	return r.Verified, nil
}

func (d *droDrawing) kernel(ctx context.Context, epsilon, delta float64) (*kernels.Verified, error) {
	options := d.design
	options.Progress = d.line.DesignOn(options.TimeLimit, "cells")
	r, limit, err := shell.DesignKernel(ctx, lp.KernelProblem{
		Privacy: dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 2}, Loss: loss.L1,
		Queries: kernels.Queries{Lower: 0, Upper: 4},
	}, options)
	if err != nil {
		return nil, err
	}
	c := r.Verified.Certificate()
	d.note(fmt.Sprintf("ε = %g, δ = %g", epsilon, delta), c.ExpectedLoss, c.LowerBound, r.Gap, limit)
	return r.Verified, nil
}

func drawKernelLosses(ctx context.Context, d *droDrawing) error {
	d.records = [][]string{{"epsilon", "delta", "query_value", "expected_loss", "data_independent_loss"}}
	var curves []series
	for i, c := range []struct{ epsilon, delta float64 }{{0.2, 0.05}, {1, 0.2}, {5, 0.25}} {
		additive := d.design
		additive.Gap = min(additive.Gap, lp.DefaultGap)
		r, err := d.table(ctx, fmt.Sprintf("ε = %g, δ = %g, data independent", c.epsilon, c.delta), dp.Problem{
			Privacy: dp.Privacy{Epsilon: c.epsilon, Delta: c.delta, Sensitivity: 2}, Loss: loss.L1,
		}, additive)
		if err != nil {
			return err
		}
		independent, _ := r.Certificate().ExpectedLoss.Float64()
		k, err := d.kernel(ctx, c.epsilon, c.delta)
		if err != nil {
			return err
		}
		share := func(loss *big.Rat) *big.Rat { return new(big.Rat).Quo(loss, r.Certificate().ExpectedLoss) }
		d.rows = append(d.rows, shell.Row{"", fmt.Sprintf("relative to data independent noise %s", shell.Interval(share(k.Certificate().LowerBound), share(k.Certificate().ExpectedLoss)))})
		var points plotter.XYs
		const steps = 400
		for n := range steps + 1 {
			x := 4 * float64(n) / steps
			loss := k.Mechanism().LossAt(x)
			points = append(points, plotter.XY{X: x, Y: loss / independent})
			d.records = append(d.records, record(c.epsilon, c.delta, x, rounded(loss, 8), rounded(independent, 8)))
		}
		curves = append(curves, series{name: fmt.Sprintf("ε = %g, δ = %g", c.epsilon, c.delta), points: points, style: figure.Solid(figure.Palette[i], 1.5)})
	}
	return d.finish("query value (query units)", "expected loss, relative to data independent noise", curves)
}

func drawMonotone(ctx context.Context, d *droDrawing, instances []dp.Privacy) error {
	d.records = [][]string{{"epsilon", "delta", "monotone", "from", "to", "density"}}
	var curves []series
	for i, c := range instances {
		for _, monotone := range []bool{false, true} {
			name, style := fmt.Sprintf("ε = %g, δ = %g", c.Epsilon, c.Delta), figure.Solid(figure.Palette[i], 1.5)
			if monotone {
				name, style = name+", monotone", figure.Dashed(figure.Palette[i], 1.5)
			}
			points, err := d.density(ctx, name, dp.Problem{Privacy: c, Loss: loss.L1, Constraints: dp.Constraints{Monotone: monotone}}, c.Epsilon, c.Delta, monotone)
			if err != nil {
				return err
			}
			curves = append(curves, series{name: name, points: points, style: style})
		}
	}
	return d.finish("noise (query units)", "density (per query unit)", curves)
}

func drawLosses(ctx context.Context, d *droDrawing, p dp.Privacy, losses ...string) error {
	d.records = [][]string{{"loss", "from", "to", "density"}}
	var curves []series
	for i, name := range losses {
		l, err := loss.Parse(name)
		if err != nil {
			return err
		}
		points, err := d.density(ctx, name, dp.Problem{Privacy: p, Loss: l}, name)
		if err != nil {
			return err
		}
		curves = append(curves, series{name: name, points: points, style: figure.Solid(figure.Palette[i], 1.5)})
	}
	return d.finish("noise (query units)", "density (per query unit)", curves)
}

// density designs noise and returns its density, with a record of each step of it after those cells.
func (d *droDrawing) density(ctx context.Context, name string, p dp.Problem, cells ...any) (points plotter.XYs, err error) {
	r, err := d.table(ctx, name, p, d.design)
	if err != nil {
		return nil, err
	}
	g := r.Mechanism().Grid()
	step, _ := g.Step().Float64()
	pmf, atom := r.Mechanism().PMF()
	if atom > 0 {
		d.rows = append(d.rows, shell.Row{"", fmt.Sprintf("%s of it an atom at 0, which is no density and not drawn", shell.Percent(atom))})
	}
	for j, m := range pmf {
		from, to := (float64(g.FirstPoint(j))-0.5)*step, (float64(g.FirstPoint(j+1))-0.5)*step
		density := m / (to - from)
		points = append(points, plotter.XY{X: from, Y: density}, plotter.XY{X: to, Y: density})
		d.records = append(d.records, record(slices.Concat(cells, []any{rounded(from, 8), rounded(to, 8), rounded(density, 8)})...))
	}
	return points, nil
}

func drawAnswers(ctx context.Context, d *droDrawing) error {
	d.records = [][]string{{"query_value", "answer", "probability"}}
	k, err := d.kernel(ctx, 1, 0.2)
	if err != nil {
		return err
	}
	values := []float64{0, 1, 2}
	for _, x := range values {
		i, _ := k.Mechanism().CellOf(x)
		for j, m := range k.Mechanism().PMF(i) {
			d.records = append(d.records, record(x, k.Mechanism().Node(j), rounded(m, 8)))
		}
	}
	c := figure.KernelLaws(k.Mechanism(), values)
	var curves []series
	for _, law := range c.Curves {
		curves = append(curves, series{name: law.Name, points: law.Points, style: law.Style})
	}
	return d.finish(c.X, c.Y, curves)
}

// finish adds the curves and leaves room for the legend.
func (d *droDrawing) finish(x, y string, curves []series) (err error) {
	if d.plot, err = newPlot("", x, y, curves); err != nil {
		return err
	}
	d.plot.Y.Min, d.plot.Y.Max = 0, 1.35*d.plot.Y.Max
	return nil
}

type droHistogramOptions struct {
	shell.Common
	data, set string
}

const (
	droHistogramName = "dro-supplement-figure3"
	droHistogramSet  = "cylinder-bands" // of the paper
)

func newDROHistogramCommand(s *shell.Streams) *cobra.Command {
	o := &droHistogramOptions{Common: shell.Common{Streams: s}, set: droHistogramSet}
	return command(&o.Common, droHistogramName, "--data uci", "Figure 3 of the supplement of Selvi, Liu & Wiesemann: the gradients that noise is added to",
		fmt.Sprintf(`Compute the histogram of the numbers that proximal coordinate descent adds noise to:
components of the sum of the gradients of logistic regression, through 100 rounds of
100 runs without noise on four fifths of the data. The paper's partition for data
dependent noise is fine from -10 to 10, where most of them are. Written are
%s.csv and %[1]s.svg.
The runs are the same every time.

The set of the paper is "Cylinder Bands" of the UCI Machine Learning Repository
(https://archive.ics.uci.edu/dataset/32), bands.csv. Others are those of
papers dro-table3.`, droHistogramName), o.run, func(f *shell.Flags) {
			droDataFlag(f, &o.data, droHistogramName)
			f.Word(&o.set, "set", "name", "data set", descentSets()...)
		})
}

func descentSets() (names []string) {
	for _, r := range drolearn.Recipes {
		if r.Draws > 0 {
			names = append(names, r.Name)
		}
	}
	return names
}

// The histogram has bins of width 1 from −reach to reach.
const histogramReach = 50

func (o *droHistogramOptions) run(ctx context.Context) error {
	recipe := drolearn.Recipes[slices.IndexFunc(drolearn.Recipes, func(r drolearn.Recipe) bool { return r.Name == o.set })]
	text, file, err := readDROSet(o.Streams, o.data, recipe)
	if errors.Is(err, errNoFile) {
		return shell.BadInput("", shell.About("data", o.data, shell.Want("a folder with "+recipe.File)))
	}
	if err != nil {
		return err
	}
	set, err := recipe.Descent(text)
	if err != nil {
		return shell.BadFile(file, err)
	}
	var counts [2 * histogramReach]int
	total, within, rows := 0, 0, 0
	descent := drolearn.NewDescent(set)
	records := [][]string{{"from", "to", "density"}}
	var points plotter.XYs
	files, err := produce(&o.Common, func(*shell.Progress) (err error) {
		rows, err = descent.Gradients(ctx, 100, func(gradient float64) {
			total++
			if math.Abs(gradient) <= 10 {
				within++
			}
			if bin := math.Floor(gradient) + histogramReach; bin >= 0 && bin < 2*histogramReach {
				counts[int(bin)]++
			}
		})
		for i, n := range counts {
			from, density := float64(i-histogramReach), float64(n)/float64(total)
			points = append(points, plotter.XY{X: from, Y: density}, plotter.XY{X: from + 1, Y: density})
			records = append(records, record(from, from+1, rounded(density, 8)))
		}
		return err
	}, output{droHistogramName, func() [][]string { return records }, func(w io.Writer) error {
		p, err := newPlot("", "component of the sum of gradients", "density", []series{{name: "100 runs", points: points, style: figure.Solid(figure.Blue, 1.5)}})
		if err != nil {
			return err
		}
		p.Y.Min = 0
		return writeFigure(p, w)
	}})
	if err != nil {
		return err
	}
	features, share := descent.Dimensions()-1, float64(within)/float64(total)
	body := shell.Object{"set", o.set, "examples", rows, "features", features, "count", total, "within_10", share}
	published := ""
	if o.set == droHistogramSet {
		published = " (published: more than 80 %)"
	}
	return report(&o.Common, droHistogramName, body, []shell.Row{
		{"examples", fmt.Sprintf("%d of %d, %d features and the intercept", rows, set.Rows, features)},
		{"gradients", fmt.Sprintf("%d, %s of them from -10 to 10%s", total, shell.Percent(share), published)},
	}, files)
}
