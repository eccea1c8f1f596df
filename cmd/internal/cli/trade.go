// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/noisewright/noisewright/cmd/internal/figure"
	"github.com/noisewright/noisewright/cmd/internal/report"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
)

// readPair splits A,B at the comma between two losses: their parameters have commas too.
func readPair(s string) (pair [2]loss.Loss, ok bool) {
	for i := range len(s) {
		if s[i] != ',' {
			continue
		}
		a, errA := shell.ReadLoss(s[:i])
		b, errB := shell.ReadLoss(s[i+1:])
		if errA != nil || errB != nil {
			continue
		}
		pair = [2]loss.Loss{a, b}
		// A product of weights need not be a float64: a weighted loss, or a sum, gets none.
		for _, l := range pair {
			if _, err := loss.Sum(loss.Term{Loss: l, Weight: 2}); err != nil {
				return pair, false
			}
		}
		return pair, true
	}
	return pair, false
}

type front struct {
	*lp.FrontResult
	problem dp.Problem
	losses  [2]loss.Loss
	limit   error // that it stopped at, if it did
}

type pointReport struct {
	Share    float64     `json:"share"`
	Weights  [2]float64  `json:"weights"`
	Expected [2]*float64 `json:"expected"`
	report.Certified
	Status string `json:"status"`
}

func newPointReport(p *lp.FrontPoint) pointReport {
	return pointReport{
		Share:     math.Round(p.Share*1e6) / 1e6,
		Weights:   p.Weights,
		Expected:  [2]*float64{shell.FloatUp(p.Expected[0]), shell.FloatUp(p.Expected[1])},
		Certified: report.NewCertified(p.Design.Verified.Bounds(), nil),
		Status:    status(p.Design.Optimal),
	}
}

func (f *front) report() shell.Object {
	var points []pointReport
	for _, p := range f.Points {
		points = append(points, newPointReport(p))
	}
	losses := [2]string{f.losses[0].Name(), f.losses[1].Name()}
	return shell.Object{
		report.Promise(f.problem.Privacy), "losses", losses, report.Published(f.problem),
		"points", points, "dominated", f.Dominated, "gap", shell.Finite(f.Gap), ending(f.limit == nil, f.Elapsed),
	}
}

func (f *front) writeCSV(w io.Writer) error {
	var b strings.Builder
	b.WriteString("share,weight_a,weight_b,expected_a,expected_b,expected_loss,lower_bound,gap\n")
	for _, p := range f.Points {
		r, claims := newPointReport(p), p.Design.Verified.Certificate().Claims()
		gap := ""
		if r.Gap != nil {
			gap = fmt.Sprintf("%.6g", *r.Gap)
		}
		fmt.Fprintf(&b, "%v,%v,%v,%s,%s,%s,%s,%s\n", r.Share, r.Weights[0], r.Weights[1],
			exact.StateUp(p.Expected[0]), exact.StateUp(p.Expected[1]), claims.ExpectedLoss, claims.LowerBound, gap)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (f *front) write(b *strings.Builder) {
	p := f.problem
	fmt.Fprintf(b, "epsilon %v, delta %v, sensitivity %v\n", p.Epsilon, p.Delta, p.Sensitivity)
	for _, r := range shell.QueryRows(p) {
		fmt.Fprintf(b, "%s: %s\n", r[0], r[1])
	}
	for i, name := range []string{"A", "B"} {
		fmt.Fprintf(b, "%s = %s\n", name, shell.LossUnit(f.losses[i]))
	}
	fmt.Fprintf(b, "%d designs, %d of them dominated and left out, %s\n", len(f.Designs), f.Dominated, f.Elapsed.Round(time.Millisecond))
	fmt.Fprintf(b, "gap of the front, with mixtures of neighbors: %s\n\n", shell.Percent(f.Gap))
	lines := [][]string{{"share of A", "weight of A", "weight of B", "E A", "E B", "weighted sum", "lower bound", "gap"}}
	for i := range f.Points {
		r := newPointReport(f.Points[i])
		lines = append(lines, []string{
			fmt.Sprintf("%.4f", r.Share), fmt.Sprint(r.Weights[0]), fmt.Sprint(r.Weights[1]),
			digits(r.Expected[0], shell.DigitsUp), digits(r.Expected[1], shell.DigitsUp), digits(r.ExpectedLoss, shell.DigitsUp), digits(r.LowerBound, shell.DigitsDown),
			shell.Percent(shell.GapOf(f.Points[i].Design.Verified.Bounds())),
		})
	}
	shell.WriteColumns(b, lines, ">>>>>>>>")
}

func digits(v *float64, write func(float64) string) string {
	if v == nil {
		return "unknown"
	}
	return write(*v)
}

func (o *designOptions) runTrade(ctx context.Context) error {
	table, err := o.Reserve(o.Output)
	if err != nil {
		return err
	}
	defer table.Discard()
	drawing, err := o.Reserve(o.plot)
	if err != nil {
		return err
	}
	defer drawing.Discard()
	line := o.Progress()
	r, err := lp.Front(ctx, o.problem, o.trade, lp.FrontOptions{ // the limits are for all designs together
		Options: o.design, Points: o.points, Designed: func(ended int) { line.Most("designing", ended, o.points) },
	})
	if ctx.Err() != nil || r == nil {
		return shell.DesignError(ctx, o.problem, o.design, err)
	}
	f := &front{r, o.problem, o.trade, err}
	if err := table.Put(f.writeCSV); err != nil {
		return err
	}
	if err := drawing.Put(func(w io.Writer) error { return f.draw(w, o.format) }); err != nil {
		return err
	}
	if err := o.PrintText(f.report(), f.write); err != nil || f.limit == nil {
		return err
	}
	short := fmt.Sprintf("%d of %d designs stopped short of a gap of %s; all are proven", f.Limited, len(f.Designs), shell.Percent(o.design.Gap))
	if f.Limited == 0 {
		short = fmt.Sprintf("the time ended when the front was proven to a gap of %s, a gap of %s was requested; all designs are proven", shell.Percent(f.Gap), shell.Percent(o.design.Gap))
	}
	return &shell.Failure{
		Code: shell.ExitLimit,
		Err:  errors.New(short),
		Hint: shell.MoreEffort("--time-limit, which is for all designs together", o.design, true),
	}
}

func (f *front) draw(w io.Writer, format string) error {
	var designs, bound plotter.XYs
	for _, p := range f.Points {
		x, _ := p.Expected[0].Float64()
		y, _ := p.Expected[1].Float64()
		designs = append(designs, plotter.XY{X: x, Y: y})
	}
	first, last := designs[0], designs[len(designs)-1]
	spanX, spanY := last.X-first.X, first.Y-last.Y
	margin := func(span, size float64) float64 { return max(0.06*span, 0.01*size, 1e-300) }
	marginX, marginY := margin(spanX, last.X), margin(spanY, first.Y)

	p := figure.NewTitled(f.problem.Privacy)
	p.X.Label.Text = figure.LossSymbol(f.losses[0])
	p.Y.Label.Text = figure.LossSymbol(f.losses[1])
	p.X.Min, p.X.Max = first.X-marginX, last.X+marginX
	p.Y.Min, p.Y.Max = last.Y-marginY, first.Y+2*marginY

	const samples = 800
	for i := range samples + 1 {
		x := p.X.Min + (p.X.Max-p.X.Min)*float64(i)/samples
		if y := f.OuterBound(x); y <= p.Y.Max {
			bound = append(bound, plotter.XY{X: x, Y: max(y, p.Y.Min)})
		}
	}
	if len(bound) > 0 { // it starts with the wall that the bound on the first loss is
		bound = append(plotter.XYs{{X: bound[0].X, Y: p.Y.Max}}, bound...)
	}
	curves := []figure.Curve{
		{Name: "certified bound: no noise is below", Points: bound, Style: figure.Dashed(figure.Vermilion, 1.2)},
		{Name: "designed tables, and mixtures of neighbors", Points: designs, Style: figure.Solid(figure.Blue, 1.6)},
	}
	if len(bound) == 0 {
		curves = curves[1:]
	}
	if err := figure.Add(p, curves); err != nil {
		return err
	}
	dots, err := plotter.NewScatter(designs)
	if err != nil {
		return err
	}
	dots.GlyphStyle = draw.GlyphStyle{Color: figure.Blue, Radius: vg.Points(2.4), Shape: draw.CircleGlyph{}}
	p.Add(dots)
	return figure.Write(p, w, format, 18*vg.Centimeter, 11*vg.Centimeter)
}
