package figure

import (
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// HeatMap is a picture of numbers by row and column: each stands in a cell
// that is the darker the larger it is.
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
	p := plot.New()
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

// nominalTicks labels 0, 1, 2, …, or from the last label on if reversed.
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
			Color: ink, Font: font.From(sans, size), Handler: plot.DefaultTextHandler,
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
