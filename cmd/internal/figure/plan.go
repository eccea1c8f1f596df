// SPDX-License-Identifier: Apache-2.0

package figure

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/plan"
)

// Errors are those of a way to answer the queries of a workload.
type Errors struct {
	Name      string
	Mean      float64   // squared error of a query
	Variances []float64 // of each query, of marginals of each table's cells; one alone is that of all
	Single    bool      // released one by one, and by no plan
}

// ErrorsOf are those that are proved of a plan.
func ErrorsOf(name string, c plan.Certificate) Errors {
	e := Errors{Name: name}
	e.Mean, _ = c.MeanSquaredError.Float64()
	for _, v := range c.Variances {
		x, _ := v.Float64()
		e.Variances = append(e.Variances, x)
	}
	return e
}

var gray = color.NRGBA{R: 0x70, G: 0x70, B: 0x70, A: 0xff}

// Plan is the chart of the squared error of each query, by the chosen plan and by the others.
func Plan(s *plan.Spec, chosen Errors, others []Errors) *Chart {
	c := &Chart{Title: sharedTitle(s), X: queryAxis(&s.Workload), Y: "squared error of an answer, expected", log: true}
	c.Lines = [][]string{{"candidate", "query", "squared_error"}}
	names := namesOf(&s.Workload)
	for i, e := range append([]Errors{chosen}, others...) {
		style := Solid(Palette[i%len(Palette)], 1.2)
		switch {
		case i == 0:
			style.Width = vg.Points(2.6)
		case e.Single:
			style = Dashed(gray, 1.4)
		}
		values := byAxis(&s.Workload, e.Variances)
		for len(values) < len(names) {
			values = append(values, values[0])
		}
		for j, v := range values {
			c.Lines = append(c.Lines, []string{e.Name, names[j], strconv.FormatFloat(v, 'g', -1, 64)})
		}
		c.Curves = append(c.Curves, Curve{fmt.Sprintf("%s, %.4g on average", e.Name, e.Mean), steps(values), style})
	}
	c.Left, c.Right = 0.5, float64(len(names))+0.5
	if s.Workload.Kind == plan.Marginals {
		c.names = names
	}
	return c
}

func sharedTitle(s *plan.Spec) string {
	title, cells := fmt.Sprintf("ε = %v, δ = %v of all answers together", s.Epsilon, s.Delta), "cell"
	if s.Neighbors == dp.Replace {
		title += ", neighbors replace"
	}
	if s.MaxPerPerson > 1 {
		cells = "cells"
	}
	return fmt.Sprintf("%s, a person in %d %s", title, s.MaxPerPerson, cells)
}

func queryAxis(w *plan.Workload) string {
	switch w.Kind {
	case plan.Prefix:
		return fmt.Sprintf("total up to this cell, of %d", w.Cells)
	case plan.Ranges:
		return fmt.Sprintf("cells in the range, of %d (mean over the ranges of this length)", w.Cells)
	case plan.Identity:
		return fmt.Sprintf("cell, of %d", w.Cells)
	case plan.Marginals:
		return "table"
	}
	return fmt.Sprintf("query, of %d", len(w.Rows))
}

// namesOf names what stands at the axis.
func namesOf(w *plan.Workload) (names []string) {
	for _, set := range w.Sets {
		var of []string
		for _, a := range set {
			of = append(of, w.Attributes[a].Name)
		}
		names = append(names, strings.Join(of, " × "))
	}
	for i := range cmp.Or(len(w.Rows), w.Cells) {
		names = append(names, strconv.Itoa(i+1))
	}
	return names
}

// byAxis returns means over ranges of the same length, and what else was given.
func byAxis(w *plan.Workload, variances []float64) []float64 {
	if w.Kind != plan.Ranges || len(variances) == 1 {
		return slices.Clone(variances)
	}
	sums, q := make([]float64, w.Cells), 0
	for a := range w.Cells {
		for length := range w.Cells - a {
			sums[length] += variances[q]
			q++
		}
	}
	for length := range sums {
		sums[length] /= float64(w.Cells - length)
	}
	return sums
}

// steps is a line with a level around each of 1, 2, ….
func steps(values []float64) (points plotter.XYs) {
	for i, y := range values {
		points = append(points, plotter.XY{X: float64(i) + 0.5, Y: y}, plotter.XY{X: float64(i) + 1.5, Y: y})
	}
	return points
}

// A Band is where answers are around exact ones.
type Band struct {
	Name  string
	Radii []float64 // one alone is that of all
}

// Around is the chart of exact answers, and of where those of mechanisms are around them, the widest band first.
func Around(s *plan.Spec, exact []float64, bands []Band) *Chart {
	c := &Chart{Title: sharedTitle(s), X: queryAxis(&s.Workload), Y: "answer", Left: 1, Right: float64(len(exact))}
	line := steps
	if s.Workload.Kind == plan.Prefix {
		line = func(values []float64) (points plotter.XYs) {
			for i, y := range values {
				points = append(points, plotter.XY{X: float64(i) + 1, Y: y})
			}
			return points
		}
	} else {
		c.Left, c.Right = 0.5, c.Right+0.5
	}
	c.Lines = [][]string{{"answers", "query", "exact", "lower", "upper"}}
	colors := []color.NRGBA{{R: 0xf2, G: 0xc9, B: 0xa6, A: 0xff}, {R: 0x5d, G: 0xa9, B: 0xd8, A: 0xff}}
	for i, b := range bands {
		lower, upper := make([]float64, len(exact)), make([]float64, len(exact))
		for j, x := range exact {
			radius := b.Radii[min(j, len(b.Radii)-1)]
			lower[j], upper[j] = x-radius, x+radius
			number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
			c.Lines = append(c.Lines, []string{b.Name, strconv.Itoa(j + 1), number(x), number(lower[j]), number(upper[j])})
		}
		edge := line(lower)
		slices.Reverse(edge)
		c.areas = append(c.areas, area{b.Name, append(line(upper), edge...), colors[i%len(colors)]})
	}
	c.Curves = []Curve{{"exact", line(exact), Solid(color.Black, 1.5)}}
	return c
}

// area is a part of a chart that is filled.
type area struct {
	name  string
	edge  plotter.XYs
	color color.Color
}

// Answer is one that was released, with its interval, and one of a set that has all exact answers together.
type Answer struct {
	Name                          string
	Value                         float64
	Lower, Upper, Lowest, Highest float64
}

// Answers is the chart of released answers with their intervals.
func Answers(title, x, interval string, all []Answer) *Chart {
	c := &Chart{Title: title, X: x, Y: "answer", Left: 0.4, Right: float64(len(all)) + 0.6, answers: all, interval: interval}
	for _, a := range all {
		c.names = append(c.names, a.Name)
	}
	return c
}

func (c *Chart) addAreas(p *plot.Plot) error {
	for _, a := range c.areas {
		filled, err := plotter.NewPolygon(a.edge)
		if err != nil {
			return err
		}
		filled.Color, filled.LineStyle.Width = a.color, 0
		p.Add(filled)
		p.Legend.Add(a.name, filled)
	}
	return nil
}

func (c *Chart) addAnswers(p *plot.Plot) {
	if len(c.answers) == 0 {
		return
	}
	inner, outer := Solid(Blue, 2.4), Solid(Palette[5], 1)
	p.Add(whiskers{c.answers, inner, outer})
	p.Legend.Add("answer, with its "+c.interval, stroke{inner})
	if slices.ContainsFunc(c.answers, func(a Answer) bool { return a.Lowest < a.Lower || a.Highest > a.Upper }) {
		p.Legend.Add("intervals of all answers together", stroke{outer})
	}
}

// whiskers draws answers with their intervals.
type whiskers struct {
	answers      []Answer
	inner, outer draw.LineStyle
}

// Plot implements plot.Plotter.
func (w whiskers) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	for i, a := range w.answers {
		x := toX(float64(i) + 1)
		c.StrokeLine2(w.outer, x, toY(a.Lowest), x, toY(a.Highest))
		c.StrokeLine2(w.inner, x, toY(a.Lower), x, toY(a.Upper))
		c.DrawGlyph(draw.GlyphStyle{Color: color.Black, Radius: vg.Points(2), Shape: draw.CircleGlyph{}}, vg.Point{X: x, Y: toY(a.Value)})
	}
}

// DataRange implements plot.DataRanger.
func (w whiskers) DataRange() (left, right, bottom, top float64) {
	bottom, top = math.Inf(1), math.Inf(-1)
	for _, a := range w.answers {
		bottom, top = min(bottom, a.Lower, a.Lowest), max(top, a.Upper, a.Highest)
	}
	return 1, float64(len(w.answers)), bottom, top
}

// stroke is a line in a legend.
type stroke struct{ draw.LineStyle }

func (s stroke) Thumbnail(c *draw.Canvas) {
	c.StrokeLine2(s.LineStyle, c.Min.X, c.Center().Y, c.Max.X, c.Center().Y)
}

// named labels 1, 2, … on the x axis, of many some, and long names across.
func named(p *plot.Plot, names []string) {
	const most = 60 // that have room across
	every, letters := (len(names)-1)/most+1, 0
	var ticks plot.ConstantTicks
	for i := 0; i < len(names); i += every {
		ticks = append(ticks, plot.Tick{Value: float64(i) + 1, Label: check.Shortened(names[i])})
		letters += len(names[i]) + 2
	}
	p.X.Tick.Marker, p.X.Tick.Length = ticks, 0
	if letters > 90 { // more than fit beside each other
		p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = math.Pi/2, draw.XRight, draw.YCenter
	}
}

// exponents are curves on an axis of logarithms to base 10.
func exponents(curves []Curve) []Curve {
	out := slices.Clone(curves)
	for i, c := range out {
		out[i].Points = slices.Clone(c.Points)
		for j, p := range c.Points {
			out[i].Points[j].Y = math.Log10(p.Y)
		}
	}
	return out
}

// logTicks labels 1, 2 and 5 times powers of ten, or of many powers these alone, on an axis of logarithms.
func logTicks(low, high float64) (ticks []plot.Tick) {
	parts := []float64{1, 2, 5}
	if high > low+4 {
		parts = parts[:1]
	}
	for e := math.Floor(low); e <= high; e++ {
		for _, m := range parts {
			v := m * math.Pow(10, e)
			if at := math.Log10(v); at >= low && at <= high {
				ticks = append(ticks, plot.Tick{Value: at, Label: strconv.FormatFloat(v, 'g', 5, 64)})
			}
		}
	}
	return ticks
}
