// SPDX-License-Identifier: Apache-2.0

package figure

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/noisewright/noisewright/cmd/internal/portrait"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

const (
	logDepth    = 1e-15 // lowest density of a logarithmic figure, of the peak
	curvePoints = 1000  // of a smooth curve
	dotsPerInch = 160
)

// The colors of Okabe and Ito, which color-blind readers tell apart, and in gray the dashes.
var (
	Blue      = color.NRGBA{R: 0x00, G: 0x72, B: 0xb2, A: 0xff}
	Vermilion = color.NRGBA{R: 0xd5, G: 0x5e, B: 0x00, A: 0xff}
	Green     = color.NRGBA{R: 0x00, G: 0x9e, B: 0x73, A: 0xff}
	colorGrid = color.NRGBA{R: 0xdd, G: 0xdd, B: 0xdd, A: 0xff}
)

// Table is the picture of a table.
type Table struct {
	table  *tables.Table
	bounds proof.Bounds
	log    bool

	density     *portrait.Density
	left, right float64 // ends of the x axis
	bottom      float64 // of the y axis; its logarithm to base 10 if log
	top         float64
	curves      []Curve
	title       string
	several     bool // tables, so an atom is told in the legend alone
}

// Curve is one line of a figure.
type Curve struct {
	Name   string
	Points plotter.XYs
	Style  draw.LineStyle
}

// Solid is the style of a line so many points wide.
func Solid(c color.Color, points float64) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: vg.Points(points)}
}

// Dashed is Solid for a dashed line.
func Dashed(c color.Color, points float64) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: vg.Points(points), Dashes: []vg.Length{vg.Points(5), vg.Points(3)}}
}

// overlay is how a mechanism is drawn over a table.
type overlay struct {
	label string
	style draw.LineStyle
}

// The curves that a table is compared with.
var overlays = map[string]overlay{
	noise.Laplace:          {"Laplace", Solid(Vermilion, 1.2)},
	noise.DiscreteLaplace:  {"discrete Laplace", Solid(Vermilion, 1.2)},
	noise.TruncatedLaplace: {"truncated Laplace", Dashed(Green, 1.4)},
}

// NewTable draws a table over classical noise of the same privacy.
func NewTable(t *tables.Table, b proof.Bounds, log bool) *Table {
	f := newTable(t, b, log)
	p := t.Privacy()
	f.title = privacyTitle(p)
	bound := math.Inf(1)
	if p.Delta > 0 && t.Query() == dp.RealQuery {
		if m, err := noise.New(noise.TruncatedLaplace, p, t.Loss()); err == nil {
			bound = m.Support()
		}
	}
	if log && !math.IsInf(bound, 0) {
		f.left, f.right = min(f.left, -1.05*bound), max(f.right, 1.05*bound)
	}
	for _, b := range noise.Baselines() {
		o, drawn := overlays[b.Name]
		if !drawn || !Suits(b.Name, t.Query()) {
			continue
		}
		m, err := b.New(p, t.Loss())
		if err != nil {
			continue // it does not apply here, e.g. to epsilon = 0
		}
		end := math.Inf(1)
		if b.Name == noise.TruncatedLaplace {
			end = bound
		}
		f.overlay(m, end, o)
	}
	return f.finish("designed table")
}

// NewTotal is NewTable for a proved total of several releases, which classical noise has too.
func NewTotal(t *tables.Table, b proof.Bounds, log bool, classical []noise.Mechanism) *Table {
	f := newTable(t, b, log)
	total, _ := t.ClaimedTotal()
	f.title = fmt.Sprintf("%d releases: ε = %v, δ = %v together, sensitivity %v", total.Releases, total.Epsilon, total.Delta, t.Privacy().Sensitivity)
	for _, m := range classical {
		o, drawn := overlays[m.Name()]
		if m.Name() == noise.AnalyticGaussian {
			o, drawn = overlay{"Gaussian", Dashed(Green, 1.4)}, true
		}
		if drawn && Suits(m.Name(), t.Query()) {
			f.overlay(m, math.Inf(1), o)
		}
	}
	return f.finish("calibrated table")
}

func newTable(t *tables.Table, b proof.Bounds, log bool) *Table {
	f := &Table{table: t, bounds: b, log: log, density: portrait.NewDensity(t)}
	f.left, f.right = f.density.Reach(log)
	return f
}

// overlay draws a mechanism, which is 0 further than end from 0.
func (f *Table) overlay(m noise.Mechanism, end float64, o overlay) {
	l := f.table.Loss()
	label := o.label
	if loss, _, err := m.ExpectedLoss(l); err == nil {
		label += fmt.Sprintf(", %s = %.4g", LossSymbol(l), loss)
	}
	points := f.sample(m, end)
	if m.Name() == noise.DiscreteLaplace {
		points = curveOf(portrait.Masses(m.Mass, f.left, f.right))
	}
	f.curves = append(f.curves, Curve{label, points, o.style})
}

// finish draws the table itself, on top.
func (f *Table) finish(name string) *Table {
	loss, _ := f.bounds.Loss.Float64()
	f.curves = append(f.curves, Curve{fmt.Sprintf("%s, %s = %.4g", name, LossSymbol(f.table.Loss()), loss), curveOf(f.density.Steps(f.left, f.right)), Solid(Blue, 2)})
	f.frame()
	return f
}

// LossSymbol is how a legend writes an expected loss.
func LossSymbol(l loss.Loss) string {
	switch l.Name() {
	case "l1":
		return "E|x|"
	case "l2":
		return "E x²"
	default:
		return "E " + check.Shortened(l.Name())
	}
}

func curveOf(points []portrait.Point) plotter.XYs {
	out := make(plotter.XYs, len(points))
	for i, p := range points {
		out[i] = plotter.XY(p)
	}
	return out
}

// sample is a mechanism's density on the x axis, 0 further than end from 0.
func (f *Table) sample(m noise.Mechanism, end float64) plotter.XYs {
	var points plotter.XYs
	left, right := f.left, f.right
	// A density at its very end may be either value.
	const inside = 1 - 1e-9
	if cut := -end; cut > left {
		points = append(points, plotter.XY{X: cut})
		left = cut * inside
	}
	cut := end < right
	if cut {
		right = end * inside
	}
	for i := range 2*curvePoints + 1 {
		x := left + (right-left)*float64(i)/(2*curvePoints)
		points = append(points, plotter.XY{X: x, Y: m.Density(x) * f.density.Unit})
	}
	if cut {
		points = append(points, plotter.XY{X: end})
	}
	return points
}

func (f *Table) frame() {
	least := math.Inf(1)
	for _, c := range f.curves {
		for _, p := range c.Points {
			f.top = max(f.top, p.Y)
			if p.Y > 0 {
				least = min(least, p.Y)
			}
		}
	}
	if !f.log {
		f.top *= 1.12
		return
	}
	// The axis is linear in the exponent: plot.LogScale misplaces the labels
	// of its axis, and there is no place for 0 on it.
	f.bottom = math.Floor(math.Log10(max(least, logDepth*f.top)))
	f.top = math.Log10(f.top)
	f.top += 0.12 * (f.top - f.bottom)
	for i := range f.curves {
		f.curves[i].Points = logarithms(f.curves[i].Points, f.bottom)
	}
}

// logarithms takes those of the ordinates, and leaves out the ends of a curve that are below
// the axis: it comes out of the axis and ends there.
func logarithms(points plotter.XYs, bottom float64) plotter.XYs {
	first, last := len(points), -1 // above the axis
	for i := range points {
		if points[i].Y = math.Log10(points[i].Y); points[i].Y > bottom {
			first, last = min(first, i), i
		}
		points[i].Y = max(points[i].Y, bottom)
	}
	if last < 0 {
		return points
	}
	return points[max(first-1, 0):min(last+2, len(points))]
}

var sans = font.Font{Typeface: "Liberation", Variant: "Sans"}

// densityLabel names the y axis. Noise on few points has probabilities.
func (f *Table) densityLabel() string {
	switch f.table.Query() {
	case dp.IntegerQuery:
		return "probability (per integer)"
	case dp.LatticeQuery:
		return fmt.Sprintf("probability (per step of %.4g)", f.density.Step)
	default:
		return "density (per query unit)"
	}
}

// Draw renders the figure as svg or png.
func (f *Table) Draw(w io.Writer, format string, width, height vg.Length) error {
	p := New()
	p.Title.Text = f.title
	p.X.Label.Text = "noise (query units)"
	p.Y.Label.Text = f.densityLabel()
	if f.log {
		p.Y.Tick.Marker = plot.TickerFunc(DecadeTicks)
	}
	lines, err := addLines(p, f.curves)
	if err != nil {
		return err
	}
	// The legend starts with the table, which is drawn last, on top.
	for i, line := range slices.Backward(lines) {
		p.Legend.Add(f.curves[i].Name, line)
		if _, atom := f.table.PMF(); i == len(lines)-1 && atom >= seen && !f.several {
			a := arrow{Solid(Blue, 1.3)}
			p.Add(a)
			p.Legend.Add(fmt.Sprintf("exactly 0 with probability %.4g", atom), a)
		}
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = f.left, f.right, f.bottom, f.top
	return Write(p, w, format, width, height)
}

// Suits reports whether the bound for a kind of query is about noise such as the named mechanism's.
// Integer queries are easier than real-valued ones, and their noise is on the integers.
func Suits(name string, q dp.Query) bool {
	return strings.HasPrefix(name, "discrete-") == (q == dp.IntegerQuery)
}

// Compared reports whether figures show the named mechanism beside a table.
func Compared(name string) bool {
	_, ok := overlays[name]
	return ok
}
