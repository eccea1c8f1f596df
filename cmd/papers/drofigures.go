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
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/noisewright/noisewright/cmd/internal/figure"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

// droFigure is a figure of Selvi, Liu & Wiesemann (2025), computed from
// certified designs for the instances of the paper.
type droFigure struct {
	name  string // of the command and of the files
	short string
	said  said
	gap   float64 // asked for by default
	make  func(ctx context.Context, d *droDrawing) error
}

var droFigures = []droFigure{
	{
		"dro-figure1", "Figure 1 of Selvi, Liu & Wiesemann (2025): noise of (1, 0.2)-differential privacy for the mean salary of Example 1", said{
			caption: `The densities of analytic Gaussian, truncated Laplace and
designed noise of least mean square for Example 1: epsilon 1, delta 0.2 and a
sensitivity of 360 rupees, of a mean of 194 salaries from 120,000 to 190,000, as the
paper rounds it`,
			differs: "which curves the paper draws is inferred from its text; the designed noise has the bins that --gap asks for",
		}, 0.001, drawSalaries,
	},
	{
		"dro-figure3", "Figure 3 of Selvi, Liu & Wiesemann (2025): bounds by computation time, and benchmarks", said{
			caption: `The upper and lower bounds on the least expected l1 loss by
computation time, of data independent and of data dependent noise, beside analytic
Gaussian and truncated Laplace noise, and the known lower bound: a sensitivity of 2,
query values in a range of length 4, and (epsilon, delta) = (5, 0.25), (1, 0.2) and
(0.2, 0.05)`,
			differs: `data dependent noise is a law of answers for each query value, the
limit of the paper's intervals, so it gains more; the paper's times are medians of ten runs on a
cluster, ours are of one run on this machine, and bounds are drawn up to the gap asked for`,
			published: []string{"data independent noise in at most 2.2 s; data dependent noise to a gap of 10 % in 5.82 s and of 5 % in 980 s; much better than data independent noise for (1, 0.2) and (0.2, 0.05), hardly for (5, 0.25)"},
		}, 0.05, drawTimes,
	},
	{
		"dro-figure4", "Figure 4 of Selvi, Liu & Wiesemann (2025): densities of the best noise and of the best monotone noise", said{
			caption: `The densities of the best noise and of the best noise
whose density does not increase away from 0, for a sensitivity of 10, l1, and
(epsilon, delta) = (1, 0.2), (0.6, 0.2) and (0.6, 0.1)`,
			differs:   binsDiffer("0.5"),
			published: []string{"monotone noise is not optimal; no numbers"},
		}, 0.001, func(ctx context.Context, d *droDrawing) error {
			return drawMonotone(ctx, d, paperPrivacies)
		},
	},
	{
		"dro-figure5", "Figure 5 of Selvi, Liu & Wiesemann (2025): data dependent noise in nine intervals of query values", said{
			caption: `The densities of the best noise in the first, the fifth
and the ninth of nine intervals of equal length of the query values from 0 to 18,
for a sensitivity of 10, l1, and (epsilon, delta) = (1, 0.2), (0.6, 0.2) and (0.6, 0.1)`,
			differs:   "the paper has bins of width 0.5; ours are the widest that reach the gap, and are printed; what is below a density of 1e-9 at the ends is not drawn",
			published: []string{"the laws of the intervals differ; no numbers"},
		}, 0.005, drawIntervals,
	},
	{
		"dro-supplement-figure1", "Figure 1 of the appendix of Selvi, Liu & Wiesemann, 2 in the authors' repository: the best noise for a symmetric and for a lopsided loss", said{
			caption: `The densities of the best noise for the losses |x| and
|x| + 1[x > 0] |x|, over each other, for a sensitivity of 1, epsilon 1 and delta 0.2`,
			differs:   binsDiffer("0.05"),
			published: []string{"no numbers"},
		}, 0.001, func(ctx context.Context, d *droDrawing) error {
			return drawLosses(ctx, d, dp.Privacy{Epsilon: 1, Delta: 0.2, Sensitivity: 1}, 0.05, "l1", lopsided)
		},
	},
	{
		"dro-supplement-figure2", "Figure 2 of the appendix of Selvi, Liu & Wiesemann, 3 in the authors' repository: the best noise for l1 and for l2", said{
			caption: `The densities of the best noise for l1 and for l2, over
each other, for a sensitivity of 10, epsilon 1 and delta 0.4`,
			differs:   binsDiffer("0.5"),
			published: []string{"no numbers"},
		}, 0.001, func(ctx context.Context, d *droDrawing) error {
			return drawLosses(ctx, d, dp.Privacy{Epsilon: 1, Delta: 0.4, Sensitivity: 10}, 0.5, "l1", "l2")
		},
	},
	{
		"dro-counterexample", "Examples of the text of Selvi, Liu & Wiesemann (2025): counterexamples to monotone noise", said{
			caption: `The densities of the best noise and of the best noise
whose density does not increase away from 0, for a sensitivity of 1, l1, and
(epsilon, delta) = (3, 0.3), which the supplement's text has as an example that the
second is worse, and (1, 0.4), where it shows more clearly`,
			differs:   "the supplement has a support of ±1.1, which cuts tails off; (1, 0.4) is ours",
			published: []string{"(3, 0.3): 0.1705, at least 0.1830 if monotone"},
		}, 0.001, func(ctx context.Context, d *droDrawing) error {
			return drawMonotone(ctx, d, []dp.Privacy{{Epsilon: 3, Delta: 0.3, Sensitivity: 1}, {Epsilon: 1, Delta: 0.4, Sensitivity: 1}})
		},
	},
}

func binsDiffer(width string) string {
	return "the paper has bins of width " + width + "; ours are as fine as the gap asks for, and an atom at 0 is its limit where the optimum has one"
}

// paperPrivacies are those of figures 4 and 5.
var paperPrivacies = []dp.Privacy{
	{Epsilon: 1, Delta: 0.2, Sensitivity: 10}, {Epsilon: 0.6, Delta: 0.2, Sensitivity: 10}, {Epsilon: 0.6, Delta: 0.1, Sensitivity: 10},
}

// lopsided is the name of the loss |x| + 1[x > 0] |x|.
const lopsided = "asymmetric:1,2"

// lossLabels are how losses are written beside their curves.
var lossLabels = map[string]string{"l1": "|x|", "l2": "x²", lopsided: "|x| + 1[x>0]|x|"}

// droDrawing collects what a figure shows.
type droDrawing struct {
	design  lp.Options
	line    *shell.Progress
	plots   []*plot.Plot
	records [][]string // of the CSV file; the first is the header
	designs []noteReport
	rows    []shell.Row // of the summary
	against []string
}

// noteReport is what is proved about one of the designs.
type noteReport struct {
	Name         string   `json:"name"`
	ExpectedLoss *float64 `json:"expected_loss"`
	LowerBound   *float64 `json:"lower_bound"`
	Gap          *float64 `json:"gap"`
	Status       string   `json:"status"`
	Seconds      float64  `json:"seconds"`
}

type droFigureOptions struct {
	shell.Common
	figure droFigure
	design lp.Options
}

func newDROFigureCommand(s *shell.Streams, t droFigure) *cobra.Command {
	o := &droFigureOptions{Common: shell.Common{Streams: s}, figure: t, design: designOptions(t.gap)}
	return paperCommand(&o.Common, t.name, "", t.short, t.said, fmt.Sprintf(`Written are %s.csv and %[1]s.svg.
Every design is certified; one that a limit stops is drawn all the same, the summary
says so, and the exit code is 4. Nothing is random.`, t.name), o.run, func(f *shell.Flags) { f.Effort(&o.design, " of one design") })
}

func (o *droFigureOptions) run(ctx context.Context) error {
	if err := needSolver(); err != nil {
		return err
	}
	d := &droDrawing{design: o.design}
	files, err := produce(&o.Common, func(line *shell.Progress) error {
		d.line, d.design.Progress = line, line.Design(o.design.TimeLimit)
		return o.figure.make(ctx, d)
	}, output{o.figure.name, func() [][]string { return d.records }, func(w io.Writer) error { return d.draw(w) }})
	if err != nil {
		return err
	}
	s := o.figure.said
	s.against = d.against
	if err := s.print(&o.Common, o.figure.name, shell.Object{"designs", d.designs}, d.rows, files); err != nil {
		return err
	}
	var limits []string
	early := true
	for _, n := range d.designs {
		if n.Status != optimal {
			limits = append(limits, fmt.Sprintf("%s after %.0f s of %v", n.Name, n.Seconds, o.design.TimeLimit))
			early = early && n.Seconds < 0.9*o.design.TimeLimit.Seconds()
		}
	}
	err = stopped(limits, o.design.Gap)
	if f := new(shell.Failure); early && errors.As(err, &f) {
		// A finer grid was not begun: it has too many cells, or would not end in time.
		f.Hint = "a larger gap (--gap): the size of the next grid is the limit, and more time may not help"
	}
	return err
}

// note adds a design to the summary: what is certified of its loss, rounded outwards.
func (d *droDrawing) note(name string, loss, bound *big.Rat, o lp.Outcome, limit error) {
	n := noteReport{
		Name: name, ExpectedLoss: shell.FloatUp(loss), LowerBound: shell.FloatDown(bound), Gap: shell.Finite(o.Gap), Status: optimal,
		Seconds: math.Round(10*o.Elapsed.Seconds()) / 10,
	}
	text := fmt.Sprintf("expected loss in %s, gap %s", shell.Interval(bound, loss), shell.Percent(o.Gap))
	if limit != nil {
		text += fmt.Sprintf(", stopped at a limit after %g s", n.Seconds)
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
	d.note(name, c.ExpectedLoss, c.LowerBound, r.Outcome, limit)
	return r.Verified, nil
}

// drawSalaries draws the noise of Example 1, whose loss is the square.
func drawSalaries(ctx context.Context, d *droDrawing) error {
	d.records = [][]string{{"noise", "from", "to", "density"}}
	p := dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.2, Sensitivity: 360}, Loss: loss.L2}
	points, _, err := d.density(ctx, "designed", p, "designed")
	if err != nil {
		return err
	}
	designed := d.designs[0]
	d.rows = append(d.rows, shell.Row{"", fmt.Sprintf("standard deviation from %.2f to %.2f (published 257.68)", math.Sqrt(*designed.LowerBound), math.Sqrt(*designed.ExpectedLoss))})
	curves := []series{{name: "designed", points: points, style: figure.Solid(figure.Palette[0], 1.5)}}
	for i, known := range []struct {
		name      string
		published float64
	}{{"truncated-laplace", 273.48}, {"analytic-gaussian", 300.96}} {
		m, err := noise.New(known.name, p.Privacy, p.Loss)
		if err != nil {
			return err
		}
		square, _, err := m.ExpectedLoss(p.Loss)
		if err != nil {
			return err
		}
		d.rows = append(d.rows, shell.Row{known.name, fmt.Sprintf("standard deviation %.2f (published %.2f)", math.Sqrt(square), known.published)})
		line := series{name: known.name, style: figure.Dashed(figure.Palette[1+i], 1.5)}
		const reach, steps = 900, 360 // rupees
		for k := range steps {
			from, to := reach*(2*float64(k)/steps-1), reach*(2*float64(k+1)/steps-1)
			density := m.Density((from + to) / 2)
			line.points = append(line.points, plotter.XY{X: (from + to) / 2, Y: density})
			d.records = append(d.records, record(known.name, rounded(from, 8), rounded(to, 8), rounded(density, 8)))
		}
		curves = append(curves, line)
	}
	return d.panel("", "noise (rupees)", "density (per rupee)", curves)
}

// boundLines are a lower and an upper bound by the seconds after which they were known.
type boundLines struct{ lower, upper series }

func (b *boundLines) add(seconds, lower, upper float64) {
	seconds = max(seconds, 1e-3) // the axis is logarithmic
	if check.Finite(upper) {
		b.upper.points = append(b.upper.points, plotter.XY{X: seconds, Y: upper})
	}
	if lower > 0 {
		b.lower.points = append(b.lower.points, plotter.XY{X: seconds, Y: lower})
	}
}

// watch has the rounds of a design added.
func (b *boundLines) watch(then func(lp.Progress)) func(lp.Progress) {
	return func(now lp.Progress) {
		b.add(now.Elapsed.Seconds(), now.LowerBound, now.ExpectedLoss)
		then(now)
	}
}

// end adds what is certified in the end.
func (b *boundLines) end(o lp.Outcome, bounds proof.Bounds) {
	lower, _ := bounds.LowerBound.Float64()
	upper, _ := bounds.Loss.Float64()
	b.add(o.Elapsed.Seconds(), lower, upper)
}

func newBoundLines(name string, k int) boundLines {
	return boundLines{
		series{name: name + ", lower bound", style: figure.Dashed(figure.Palette[k], 1.5)},
		series{name: name, style: figure.Solid(figure.Palette[k], 1.5)},
	}
}

func drawTimes(ctx context.Context, d *droDrawing) error {
	d.records = [][]string{{"epsilon", "delta", "line", "seconds", "expected_loss"}}
	for _, c := range []dp.Privacy{{Epsilon: 5, Delta: 0.25, Sensitivity: 2}, {Epsilon: 1, Delta: 0.2, Sensitivity: 2}, {Epsilon: 0.2, Delta: 0.05, Sensitivity: 2}} {
		name := fmt.Sprintf("ε = %g, δ = %g", c.Epsilon, c.Delta)
		p := dp.Problem{Privacy: c, Loss: loss.L1}
		free, o := newBoundLines("data independent", 0), d.design
		o.Gap, o.Progress = min(o.Gap, lp.Limits.Gap.Default), free.watch(d.design.Progress)
		r, limit, err := shell.Design(ctx, p, o)
		if err != nil {
			return err
		}
		certificate := r.Verified.Certificate()
		free.end(r.Outcome, certificate.Bounds())
		d.note(name+", data independent", certificate.ExpectedLoss, certificate.LowerBound, r.Outcome, limit)

		bound, o := newBoundLines("data dependent", 1), d.design
		o.Progress = bound.watch(d.line.DesignOn(o.TimeLimit, "cells"))
		k, limit, err := shell.DesignKernel(ctx, lp.KernelProblem{Privacy: c, Loss: loss.L1, Queries: kernels.Queries{Lower: 0, Upper: 4}}, o)
		if err != nil {
			return err
		}
		dependent := k.Verified.Certificate()
		bound.end(k.Outcome, dependent.Bounds())
		d.note(name+", data dependent", dependent.ExpectedLoss, dependent.LowerBound, k.Outcome, limit)
		share := func(loss *big.Rat) *big.Rat { return new(big.Rat).Quo(loss, certificate.ExpectedLoss) }
		d.rows = append(d.rows, shell.Row{"", fmt.Sprintf("relative to data independent noise %s", shell.Interval(share(dependent.LowerBound), share(dependent.ExpectedLoss)))})

		least, _ := certificate.ExpectedLoss.Float64()
		if gain, _ := share(dependent.ExpectedLoss).Float64(); c.Epsilon == 5 && gain < 0.9 {
			d.against = append(d.against, fmt.Sprintf("%s: data dependent noise gains at least %s, where the paper has hardly a gain: its laws are of intervals, ours of values", name, shell.Percent(1-gain)))
		}
		lines := []series{free.upper, free.lower, bound.upper, bound.lower}
		last := 0.0
		for _, line := range lines {
			last = max(last, line.points[len(line.points)-1].X)
		}
		for i, known := range []struct {
			name string
			loss float64
		}{{"truncated Laplace", baselineLoss("truncated-laplace", p)}, {"analytic Gaussian", baselineLoss("analytic-gaussian", p)}, {"known lower bound", knownBound(p, least)}} {
			lines = append(lines, series{name: known.name, style: figure.Dashed(figure.Palette[2+i], 1), points: plotter.XYs{{X: 1e-3, Y: known.loss}, {X: last, Y: known.loss}}})
		}
		for _, line := range lines {
			for _, at := range line.points {
				d.records = append(d.records, record(c.Epsilon, c.Delta, line.name, rounded(at.X, 3), rounded(at.Y, 8)))
			}
		}
		if err := d.panel(name, "seconds", "expected loss (query units)", lines); err != nil {
			return err
		}
		axis := &d.plots[len(d.plots)-1].X
		axis.Scale, axis.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	return nil
}

func drawMonotone(ctx context.Context, d *droDrawing, instances []dp.Privacy) error {
	d.records = [][]string{{"epsilon", "delta", "monotone", "from", "to", "density"}}
	for _, c := range instances {
		var curves []series
		title := fmt.Sprintf("ε = %g, δ = %g", c.Epsilon, c.Delta)
		for i, monotone := range []bool{false, true} {
			name, word := title, "unconstrained"
			if monotone {
				name, word = name+", monotone", "monotone"
			}
			points, _, err := d.density(ctx, name, dp.Problem{Privacy: c, Loss: loss.L1, Constraints: dp.Constraints{Monotone: monotone}}, c.Epsilon, c.Delta, monotone)
			if err != nil {
				return err
			}
			curves = append(curves, series{name: word, points: points, style: figure.Solid(figure.Palette[i], 1.5)})
		}
		if err := d.panel(title, "noise (query units)", "density (per query unit)", curves); err != nil {
			return err
		}
	}
	return nil
}

// drawLosses draws the noise of some losses. An atom is a spike, as high as its mass in a cell of the paper's width is.
func drawLosses(ctx context.Context, d *droDrawing, p dp.Privacy, width float64, losses ...string) error {
	d.records = [][]string{{"loss", "from", "to", "density", "mass"}}
	var curves []series
	for i, name := range losses {
		l, err := loss.Parse(name)
		if err != nil {
			return err
		}
		label, first := lossLabels[name], len(d.records)
		points, atom, err := d.density(ctx, label, dp.Problem{Privacy: p, Loss: l}, label)
		if err != nil {
			return err
		}
		for k, r := range d.records[first:] {
			from, to := points[1+2*k], points[2+2*k] // the ends of the curve are points of their own
			d.records[first+k] = append(r, rounded(from.Y*(to.X-from.X), 8))
		}
		curves = append(curves, series{name: label, points: points, style: figure.Solid(figure.Palette[i], 1.5)})
		if atom >= seenAtom {
			d.records = append(d.records, record(label, 0, 0, "", rounded(atom, 8)))
			curves = append(curves, series{
				name:   fmt.Sprintf("%s: 0 with probability %.3f (a spike as high as in a cell %g wide)", label, atom, width),
				points: plotter.XYs{{X: 0, Y: 0}, {X: 0, Y: atom / width}}, style: draw.LineStyle{Color: figure.Palette[i], Width: vg.Points(4 - 2.5*float64(i)), Dashes: figure.Dashed(figure.Blue, 1).Dashes},
			})
		}
	}
	return d.panel("", "noise (query units)", "density (per query unit)", curves)
}

// seenAtom is the least mass on a single point that is worth showing.
const seenAtom = 1e-3

// density designs noise and returns its density, which begins and ends at 0, and the mass on 0 that is none. There is
// a record of each step of it after those cells.
func (d *droDrawing) density(ctx context.Context, name string, p dp.Problem, cells ...any) (points plotter.XYs, atom float64, err error) {
	r, err := d.table(ctx, name, p, d.design)
	if err != nil {
		return nil, 0, err
	}
	g := r.Mechanism().Grid()
	step, _ := g.Step().Float64()
	pmf, atom := r.Mechanism().PMF()
	if atom >= seenAtom {
		d.rows = append(d.rows, shell.Row{"", fmt.Sprintf("%s of it an atom at 0, which is no density", shell.Percent(atom))})
	}
	var last float64
	for j, m := range pmf {
		from, to := (float64(g.FirstPoint(j))-0.5)*step, (float64(g.FirstPoint(j+1))-0.5)*step
		density := m / (to - from)
		if j == 0 {
			points = append(points, plotter.XY{X: from})
		}
		points = append(points, plotter.XY{X: from, Y: density}, plotter.XY{X: to, Y: density})
		last = to
		d.records = append(d.records, record(slices.Concat(cells, []any{rounded(from, 8), rounded(to, 8), rounded(density, 8)})...))
	}
	return append(points, plotter.XY{X: last}), atom, nil
}

// drawIntervals draws the noise in some of nine intervals of query values.
func drawIntervals(ctx context.Context, d *droDrawing) error {
	d.records = [][]string{{"epsilon", "delta", "interval", "from", "to", "density"}}
	edges := make([]float64, 10)
	for i := range edges {
		edges[i] = 2 * float64(i)
	}
	o := d.design
	o.Progress = d.line.DesignOn(o.TimeLimit, "bins per sensitivity")
	for _, c := range paperPrivacies {
		r, limit, err := shell.DesignAdditive(ctx, lp.CellsProblem{Privacy: c, Loss: loss.L1, Edges: edges}, o)
		if err != nil {
			return err
		}
		certificate, k := r.Verified.Certificate(), r.Verified.Mechanism()
		name := fmt.Sprintf("ε = %g, δ = %g", c.Epsilon, c.Delta)
		d.note(name, certificate.ExpectedLoss, certificate.LowerBound, r.Outcome, limit)
		chosen := []int{0, 4, 8}
		reach, width := 0.0, math.Inf(1)
		var curves []series
		for i, law := range figure.AdditiveLaws(k, make([]float64, len(chosen)), chosen).Curves {
			curves = append(curves, series{name: fmt.Sprintf("interval %d", chosen[i]+1), points: law.Points, style: law.Style})
			for at := 0; at < len(law.Points); at += 2 {
				from, to := law.Points[at], law.Points[at+1]
				width = min(width, to.X-from.X)
				if from.Y >= leastDensity {
					reach = max(reach, math.Abs(from.X), math.Abs(to.X))
				}
				d.records = append(d.records, record(c.Epsilon, c.Delta, chosen[i]+1, rounded(from.X, 8), rounded(to.X, 8), rounded(from.Y, 8)))
			}
		}
		d.rows = append(d.rows, shell.Row{"", fmt.Sprintf("bins %.3g wide (the paper's: 0.5)", width)})
		if err := d.panel(name, "noise (query units)", "density (per query unit)", curves); err != nil {
			return err
		}
		axis := &d.plots[len(d.plots)-1].X
		axis.Min, axis.Max = -reach, reach
	}
	return nil
}

// leastDensity is the least that is drawn at the ends of a law.
const leastDensity = 1e-9

// panel adds a plot of the curves.
func (d *droDrawing) panel(title, x, y string, curves []series) error {
	p, err := newPlot(title, x, y, curves)
	if err != nil {
		return err
	}
	p.Y.Min, p.Y.Max = 0, 1.05*p.Y.Max
	d.plots = append(d.plots, p)
	return nil
}

func (d *droDrawing) draw(w io.Writer) error {
	if len(d.plots) == 1 {
		return writeFigure(d.plots[0], w)
	}
	return writePanels(w, d.plots, 12*vg.Centimeter, 10*vg.Centimeter)
}
