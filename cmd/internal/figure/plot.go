// SPDX-License-Identifier: Apache-2.0

package figure

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/noisewright/noisewright/dp"
)

// New returns an empty plot in the program's style, with a grid.
func New() *plot.Plot {
	p := newPlot()
	p.Title.TextStyle.Font = font.From(sans, 12)
	p.Title.Padding = vg.Points(6)
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font = font.From(sans, 11)
		axis.Label.Padding = vg.Points(4)
		axis.Tick.Label.Font = font.From(sans, 10)
		axis.Tick.Marker = plot.TickerFunc(roundTicks)
		axis.Padding = 0
	}
	p.Legend.Top = true
	p.Legend.TextStyle.Font = font.From(sans, 9.5)
	p.Legend.ThumbnailWidth = vg.Points(24)
	p.Legend.Padding = vg.Points(2)
	p.Legend.XOffs, p.Legend.YOffs = -vg.Points(6), -vg.Points(4)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = colorGrid, colorGrid
	p.Add(grid)
	return p
}

// NewTitled is New with the privacy of the noise for a title.
func NewTitled(privacy dp.Privacy) *plot.Plot {
	p := New()
	p.Title.Text = privacyTitle(privacy)
	return p
}

func privacyTitle(p dp.Privacy) string {
	return fmt.Sprintf("ε = %v, δ = %v, sensitivity %v", p.Epsilon, p.Delta, p.Sensitivity)
}

func addLines(p *plot.Plot, curves []Curve) ([]*plotter.Line, error) {
	lines := make([]*plotter.Line, len(curves))
	for i, c := range curves {
		line, err := plotter.NewLine(c.Points)
		if err != nil {
			return nil, err
		}
		line.LineStyle = c.Style
		lines[i] = line
		p.Add(line)
	}
	return lines, nil
}

// Add draws curves, each on top of those before it, and names them in the legend.
func Add(p *plot.Plot, curves []Curve) error {
	lines, err := addLines(p, curves)
	if err != nil {
		return err
	}
	for i, c := range curves {
		p.Legend.Add(c.Name, lines[i])
	}
	return nil
}

// Write renders a plot as svg or png.
func Write(p *plot.Plot, w io.Writer, format string, width, height vg.Length) error {
	if format == "png" {
		c := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dotsPerInch))
		dc := draw.New(c)
		whiten(dc)
		drawIn(p, dc)
		_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(w)
		return err
	}
	return WriteSVG(w, width, height, func(dc draw.Canvas) { drawIn(p, dc) })
}

// WriteSVG writes what paint draws on white as SVG. It names more fonts.
func WriteSVG(w io.Writer, width, height vg.Length, paint func(draw.Canvas)) error {
	c := &svgCanvas{Canvas: vgsvg.New(width, height)}
	dc := draw.New(c)
	whiten(dc)
	paint(dc)
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return err
	}
	parts := bytes.Split(b.Bytes(), []byte("<text "))
	for i := range parts[1:] {
		parts[i+1] = append([]byte("<text "+c.anchors[i]), parts[i+1]...)
	}
	_, err := w.Write(bytes.ReplaceAll(bytes.Join(parts, nil), []byte("font-family:Liberation Sans;"),
		[]byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;")))
	return err
}

// svgCanvas anchors texts where they are aligned, their right ends or middles: a reader's font may be wider than
// that of our metrics.
type svgCanvas struct {
	*vgsvg.Canvas
	align   text.XAlignment // of the text that is drawn
	anchors []string        // of the texts so far
}

func (c *svgCanvas) FillString(f font.Face, at vg.Point, txt string) {
	anchor := map[text.XAlignment]string{text.XRight: `text-anchor="end" `, text.XCenter: `text-anchor="middle" `}[c.align]
	if c.anchors = append(c.anchors, anchor); anchor != "" {
		at.X -= vg.Length(c.align) * f.Width(txt)
	}
	c.Canvas.FillString(f, at, txt)
}

// aligned tells a canvas how a text is aligned.
type aligned struct{ text.Handler }

func (h aligned) Draw(c vg.Canvas, txt string, style text.Style, at vg.Point) {
	on := c
	for {
		switch d := on.(type) {
		case *draw.Canvas:
			on = d.Canvas
			continue
		case draw.Canvas: // of which the other is a part
			on = d.Canvas
			continue
		case *svgCanvas:
			d.align = style.XAlign
			defer func() { d.align = text.XLeft }()
		}
		break
	}
	h.Handler.Draw(c, txt, style, at)
}

// newPlot is plot.New with texts that are anchored in SVG.
func newPlot() *plot.Plot {
	p := plot.New()
	h := aligned{p.TextHandler}
	p.TextHandler, p.Title.TextStyle.Handler, p.Legend.TextStyle.Handler = h, h, h
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Handler, axis.Tick.Label.Handler = h, h
	}
	return p
}

func drawIn(p *plot.Plot, c draw.Canvas) {
	const margin = 6 // points
	p.Draw(draw.Crop(c, margin, -margin, margin, -margin))
}

func whiten(c draw.Canvas) {
	c.SetColor(color.White)
	c.Fill(c.Path())
}

// arrow is a mass on the single point 0: a density without bound.
type arrow struct{ draw.LineStyle }

func (a arrow) Plot(c draw.Canvas, p *plot.Plot) {
	toX, _ := p.Transforms(&c)
	a.stroke(c, toX(0), c.Min.Y, c.Max.Y)
}

func (a arrow) Thumbnail(c *draw.Canvas) { a.stroke(*c, c.Center().X, c.Min.Y, c.Max.Y) }

func (a arrow) stroke(c draw.Canvas, x, bottom, top vg.Length) {
	const wide, long = 2.8, 6
	c.StrokeLine2(a.LineStyle, x, bottom, x, top-long/2)
	c.FillPolygon(a.Color, []vg.Point{{X: x, Y: top}, {X: x - wide, Y: top - long}, {X: x + wide, Y: top - long}})
}

// mostTicks bounds the labeled ticks of an axis.
const mostTicks = 8

func roundTicks(lo, hi float64) []plot.Tick {
	step := math.Pow(10, math.Ceil(math.Log10((hi-lo)/mostTicks)))
	for _, part := range []float64{5, 2} { // the finest that is not too fine
		if (hi-lo)*part/step <= mostTicks {
			step /= part
			break
		}
	}
	var ticks []plot.Tick
	for i := math.Ceil(lo / step); i*step <= hi; i++ {
		// Through text, 3 times 0.1 is 0.3. Ceil may give -0, which + 0 mends.
		ticks = append(ticks, plot.Tick{Value: i * step, Label: strconv.FormatFloat(i*step+0, 'g', 6, 64)})
	}
	return ticks
}

// DecadeTicks labels powers of ten on an axis of exponents.
func DecadeTicks(lo, hi float64) []plot.Tick {
	first, last := int(math.Ceil(lo)), int(math.Floor(hi))
	step := (last-first)/mostTicks + 1
	var ticks []plot.Tick
	for e := first; e <= last; e++ {
		t := plot.Tick{Value: float64(e)}
		if e%step == 0 {
			t.Label = strconv.FormatFloat(math.Pow10(e), 'g', 5, 64) // up to 10000 in full
		}
		ticks = append(ticks, t)
	}
	return ticks
}
