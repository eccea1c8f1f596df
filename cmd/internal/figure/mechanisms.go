// SPDX-License-Identifier: Apache-2.0

package figure

import (
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/noisewright/noisewright/cells"
	"github.com/noisewright/noisewright/cmd/internal/portrait"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// Palette has colors for curves that stand for the same thing.
var Palette = []color.NRGBA{
	Blue,
	Vermilion,
	Green,
	{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff},
	{R: 0xe6, G: 0x9f, B: 0x00, A: 0xff},
	{R: 0x56, G: 0xb4, B: 0xe9, A: 0xff},
}

// Chart is a picture of curves, each on top of those before it, with room for the legend.
type Chart struct {
	Title, X, Y string
	Left, Right float64 // ends of the x axis; where they are equal, those of the curves
	Curves      []Curve
	Lines       [][]string // the numbers of the picture as CSV, of those that have them

	log      bool     // the y axis
	names    []string // of 1, 2, … on the x axis
	areas    []area   // beneath the curves
	answers  []Answer
	interval string // what the answers' is
}

// Draw renders the chart as svg or png.
func (c *Chart) Draw(w io.Writer, format string, width, height vg.Length) error {
	p := New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.Title, c.X, c.Y
	if err := c.addAreas(p); err != nil {
		return err
	}
	c.addAnswers(p)
	curves := c.Curves
	if c.log {
		curves = exponents(curves)
	}
	if err := Add(p, curves); err != nil {
		return err
	}
	if c.Left < c.Right {
		p.X.Min, p.X.Max = c.Left, c.Right
	}
	if len(c.names) > 0 {
		named(p, c.names)
	}
	switch room := p.Y.Max - p.Y.Min; {
	case c.log: // with room for the legend
		p.Y.Min, p.Y.Max = p.Y.Min-0.05*room-0.1, p.Y.Max+(0.1+0.07*float64(len(curves)))*max(room, 1)
		p.Y.Tick.Marker = plot.TickerFunc(logTicks)
	case p.Y.Min < 0:
		p.Y.Min, p.Y.Max = p.Y.Min-0.04*room, p.Y.Max+0.35*room
	default:
		p.Y.Min, p.Y.Max = 0, 1.35*p.Y.Max
	}
	return Write(p, w, format, width, height)
}

func (c *Chart) level(y float64, style draw.LineStyle, name string, args ...any) {
	c.Curves = append(c.Curves, Curve{fmt.Sprintf(name, args...), plotter.XYs{{X: c.Left, Y: y}, {X: c.Right, Y: y}}, style})
}

// losses is the chart of the expected loss of every query value. independent is the loss of
// noise that does not depend on the value, 0 if it is not known.
func losses(p dp.Privacy, l loss.Loss, b proof.Bounds, of, name string, points plotter.XYs, left, right, independent float64) *Chart {
	c := &Chart{Title: privacyTitle(p), X: "query value (query units)", Y: "expected loss of " + of, Left: left, Right: right, Curves: []Curve{{name, points, Solid(Blue, 2)}}}
	mean, _ := b.Loss.Float64()
	c.level(mean, Solid(Blue, 1), "its mean, %s = %.4g", LossSymbol(l), mean)
	if independent > 0 {
		c.level(independent, Dashed(Vermilion, 1.4), "data independent noise, %s = %.4g", LossSymbol(l), independent)
	}
	return c
}

func (c *Chart) limit(loss float64) { c.level(loss, Dashed(Green, 1.4), "instance cap, %.4g", loss) }

const cellPoints = 24 // of the loss curve in a cell

// Kernel is the chart of the expected loss of every query value.
func Kernel(k *kernels.Kernel, b proof.Bounds, independent float64) *Chart {
	// The loss jumps from cell to cell, so each is drawn from edge to edge.
	var points plotter.XYs
	for i := range k.Cells() {
		from, to := k.Edge(i), math.Nextafter(k.Edge(i+1), k.Edge(i))
		for n := range cellPoints + 1 {
			x := min(from+(to-from)*float64(n)/cellPoints, to)
			points = append(points, plotter.XY{X: x, Y: k.LossAt(x)})
		}
	}
	q := k.Queries()
	c := losses(k.Privacy(), k.Loss(), b, "the answer", "designed kernel", points, q.Lower, q.Upper, independent)
	if o := k.InstanceCap(); o > 0 && k.CapLoss().Name() == k.Loss().Name() && math.Abs(o-independent) > 1e-9*o {
		c.limit(o)
	}
	return c
}

// KernelLaws is the chart of the probabilities of the answers to some query values.
func KernelLaws(k *kernels.Kernel, values []float64) *Chart {
	q := k.Queries()
	nodes := make([]float64, k.Cells())
	space := k.Edge(k.Cells()) - k.Edge(0)
	for j := range nodes {
		if nodes[j] = k.Node(j); j > 0 {
			space = min(space, nodes[j]-nodes[j-1])
		}
	}
	c := &Chart{Title: privacyTitle(k.Privacy()), X: "answer (query units)", Y: "probability", Left: q.Lower, Right: q.Upper}
	c.bars("query value", values, nodes, space*0.1, func(x float64) []float64 {
		i, _ := k.CellOf(x)
		return k.PMF(i)
	})
	return c
}

// bars adds the laws of the answers to values as bars beside each other, so far apart.
func (c *Chart) bars(what string, values, answers []float64, apart float64, law func(x float64) []float64) {
	for n, x := range values {
		aside := apart * (float64(n) - float64(len(values)-1)/2)
		var points plotter.XYs
		for j, m := range law(x) {
			y := answers[j] + aside
			points = append(points, plotter.XY{X: y}, plotter.XY{X: y, Y: m}, plotter.XY{X: y})
		}
		c.Curves = append(c.Curves, Curve{fmt.Sprintf("%s %v", what, x), points, Solid(Palette[n], 1.5)})
	}
}

// Additive is the chart of the loss of each cell. One without an end is drawn a sensitivity wide.
func Additive(k *cells.Kernel, found cells.Certificate, independent float64) *Chart {
	var points plotter.XYs
	for i := range k.Cells() {
		from, to := portrait.CellEnds(k, i, k.Privacy().Sensitivity)
		y, _ := found.Losses[i].Float64()
		points = append(points, plotter.XY{X: from, Y: y}, plotter.XY{X: to, Y: y})
	}
	c := losses(k.Privacy(), k.Loss(), found.Bounds(), "its cell", "designed noise by cell", points, points[0].X, points[len(points)-1].X, independent)
	if o, l := k.InstanceCap(); o > 0 && l.Name() == k.Loss().Name() {
		c.limit(o)
	}
	return c
}

// AdditiveLaws is the chart of the density of the noise in the cells of some query values.
func AdditiveLaws(k *cells.Kernel, values []float64, of []int) *Chart {
	g := k.Grid()
	step, _ := g.Step().Float64()
	c := &Chart{Title: privacyTitle(k.Privacy()), X: "noise (query units)", Y: "density"}
	for n, cell := range of {
		var points plotter.XYs
		for j := range k.Bins() {
			// A point stands for the step around it.
			from, to := (float64(g.FirstPoint(j))-0.5)*step, (float64(g.FirstPoint(j+1))-0.5)*step
			y := float64(k.Weight(cell, j)) * 0x1p-64 / (to - from)
			points = append(points, plotter.XY{X: from, Y: y}, plotter.XY{X: to, Y: y})
		}
		c.Curves = append(c.Curves, Curve{fmt.Sprintf("query value %v", values[n]), points, Solid(Palette[n], 1.5)})
	}
	return c
}

// lossPoints is how many points of the loss curve are drawn, at least.
const lossPoints = 600

// Randomizer is the chart of the expected loss of each value, of the objective and of the bound.
func Randomizer(r *local.Randomizer, b proof.Bounds) *Chart {
	s := r.Spec()
	var points plotter.XYs
	parts := 1
	if s.Values.Kind == local.Real {
		parts = lossPoints/len(s.Nodes) + 1
	}
	for i, x := range s.Nodes {
		for n := range parts {
			at := x
			if n > 0 {
				if i+1 == len(s.Nodes) {
					break
				}
				at += (s.Nodes[i+1] - x) * float64(n) / float64(parts)
			}
			points = append(points, plotter.XY{X: at, Y: r.LossAt(at)})
		}
	}
	c := &Chart{Title: betweenAny(r), X: "value", Y: "expected loss of the answer", Left: s.Values.Lower, Right: s.Values.Upper, Curves: []Curve{{"designed randomizer", points, Solid(Blue, 2)}}}
	about := "mean"
	if s.Objective == local.Worst {
		about = "largest"
	}
	objective, _ := b.Loss.Float64()
	c.level(objective, Solid(Blue, 1), "its %s, %s = %.4g", about, LossSymbol(s.Loss), objective)
	if bound, _ := b.LowerBound.Float64(); bound > 0 {
		c.level(bound, Dashed(Green, 1.4), "lower bound on the %s of all, %.4g", about, bound)
	}
	return c
}

// RandomizerLaws is the chart of the probabilities of the answers to some values.
func RandomizerLaws(r *local.Randomizer, values []float64) *Chart {
	s := r.Spec()
	first, last := min(s.Answers[0], s.Values.Lower), max(s.Answers[len(s.Answers)-1], s.Values.Upper)
	space := last - first
	c := &Chart{Title: betweenAny(r), X: "answer", Y: "probability", Left: first - space/50, Right: last + space/50}
	c.bars("value", values, s.Answers, space/250, r.PMFAt)
	return c
}

func betweenAny(m proof.Mechanism) string {
	p := m.Privacy()
	return fmt.Sprintf("ε = %v, δ = %v between any two values", p.Epsilon, p.Delta)
}

// Laws is a map of the probabilities of all answers to what each law of a mechanism answers.
func Laws(m proof.Channel) *HeatMap {
	h := &HeatMap{Title: betweenAny(m), XLabel: "answer", YLabel: "value"}
	if p := m.Privacy(); p.Sensitivity > 0 {
		h.Title = privacyTitle(p)
	}
	for i, row := range m.Rows() {
		input := m.Input(i)
		h.Y = append(h.Y, input.String())
		choice, _ := m.Choose(input)
		for j, w := range row {
			if i == 0 {
				h.X = append(h.X, m.Answer(choice, j, 0).String())
			}
			h.Cells = append(h.Cells, HeatCell{Value: float64(w) * 0x1p-64, Large: fmt.Sprintf("%.3g", float64(w)*0x1p-64)})
		}
	}
	return h
}

// HeatMap is a picture of numbers by row and column, the larger the darker.
type HeatMap struct {
	Title, XLabel, YLabel string
	X, Y                  []string   // labels of the columns, of the rows from the top
	Cells                 []HeatCell // row by row
}

// HeatCell is one square of a heat map.
type HeatCell struct {
	Value        float64
	Large, Small string // what is written, one above the other
}

// Draw renders the map as svg or png.
func (h *HeatMap) Draw(w io.Writer, format string, width, height vg.Length) error {
	return Write(h.plot(), w, format, width, height)
}

func (h *HeatMap) plot() *plot.Plot {
	p := newPlot()
	p.Title.Text = h.Title
	p.Title.TextStyle.Font = font.From(sans, 12)
	p.Title.Padding = vg.Points(6)
	p.X.Label.Text, p.Y.Label.Text = h.XLabel, h.YLabel
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font = font.From(sans, 12)
		axis.Tick.Label.Font = font.From(sans, 10)
		axis.Tick.Length = 0
		axis.Width = 0
		axis.Padding = 0
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = nominalTicks(h.X, false), nominalTicks(h.Y, true)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -0.5, float64(len(h.X))-0.5, -0.5, float64(len(h.Y))-0.5
	p.Add(h)
	return p
}

func nominalTicks(labels []string, reversed bool) plot.Ticker {
	var ticks plot.ConstantTicks
	for i, s := range labels {
		if reversed {
			i = len(labels) - 1 - i
		}
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: s})
	}
	return ticks
}

// Plot implements plot.Plotter.
func (h *HeatMap) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	var top float64
	for _, cell := range h.Cells {
		top = max(top, cell.Value)
	}
	style := func(size vg.Length, ink color.Color) draw.TextStyle {
		return draw.TextStyle{
			Color: ink, Font: font.From(sans, size), Handler: p.TextHandler,
			XAlign: draw.XCenter, YAlign: draw.YCenter,
		}
	}
	for i, cell := range h.Cells {
		x, y := float64(i%len(h.X)), float64(len(h.Y)-1-i/len(h.X))
		// The root keeps small numbers apart.
		shade := 0.0
		if top > 0 {
			shade = math.Sqrt(max(cell.Value, 0) / top)
		}
		ink := color.NRGBA{A: 0xff}
		if shade > 0.75 {
			ink = color.NRGBA{R: 0xff, G: 0xff, B: 0xff, A: 0xff}
		}
		left, right, bottom, upper := toX(x-0.5), toX(x+0.5), toY(y-0.5), toY(y+0.5)
		const line = 0.5 // points of white between cells
		c.FillPolygon(blend(shade), []vg.Point{
			{X: left + line, Y: bottom + line},
			{X: right - line, Y: bottom + line},
			{X: right - line, Y: upper - line},
			{X: left + line, Y: upper - line},
		})
		middle := vg.Point{X: toX(x), Y: toY(y)}
		if cell.Small == "" {
			c.FillText(style(11, ink), middle, cell.Large)
			continue
		}
		c.FillText(style(11, ink), middle.Add(vg.Point{Y: 5}), cell.Large)
		c.FillText(style(7.5, ink), middle.Add(vg.Point{Y: -8}), cell.Small)
	}
}

// blend returns a color from nearly white (0) to the tables' own (1).
func blend(t float64) color.Color {
	from := color.NRGBA{R: 0xf4, G: 0xf8, B: 0xfb, A: 0xff}
	mix := func(a, b uint8) uint8 { return uint8(math.Round(float64(a)*(1-t) + float64(b)*t)) }
	return color.NRGBA{R: mix(from.R, Blue.R), G: mix(from.G, Blue.G), B: mix(from.B, Blue.B), A: 0xff}
}
