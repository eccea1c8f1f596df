package figure

import (
	"bytes"
	"image/color"
	"io"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/loss"
)

// The colours of Okabe and Ito, which stay apart for colour-blind readers and,
// with the dashes, in grey.
var (
	Blue       = color.NRGBA{R: 0x00, G: 0x72, B: 0xb2, A: 0xff}
	Vermilion  = color.NRGBA{R: 0xd5, G: 0x5e, B: 0x00, A: 0xff}
	Green      = color.NRGBA{R: 0x00, G: 0x9e, B: 0x73, A: 0xff}
	colorWhite = color.White
	colorGrid  = color.NRGBA{R: 0xdd, G: 0xdd, B: 0xdd, A: 0xff}
)

// Palette has colours for curves that stand for the same thing.
var Palette = []color.NRGBA{
	Blue,
	Vermilion,
	Green,
	{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff},
	{R: 0xe6, G: 0x9f, B: 0x00, A: 0xff},
	{R: 0x56, G: 0xb4, B: 0xe9, A: 0xff},
}

// Curve is one line of a figure.
type Curve struct {
	Name   string
	Points plotter.XYs
	Style  Style
}

// Style is how a line is drawn.
type Style = draw.LineStyle

// Line is a line of so many points width, with dashes and gaps of so many points; none
// is solid.
func Line(c color.Color, width float64, dashes ...float64) Style {
	l := Style{Color: c, Width: vg.Points(width)}
	for _, d := range dashes {
		l.Dashes = append(l.Dashes, vg.Points(d))
	}
	return l
}

// sans is the font of all figures.
var sans = font.Font{Typeface: "Liberation", Variant: "Sans"}

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

// Add draws curves and names them in the legend, in their order.
func Add(p *plot.Plot, curves []Curve) error {
	for _, c := range curves {
		line, err := plotter.NewLine(c.Points)
		if err != nil {
			return err
		}
		line.LineStyle = c.Style
		p.Add(line)
		p.Legend.Add(c.Name, thumbnail{c.Style})
	}
	return nil
}

// New returns an empty plot in the program's style, with a grid.
func New() *plot.Plot {
	p := plot.New()
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

// Write renders a plot of so many centimeters as svg or png.
func Write(w io.Writer, p *plot.Plot, format string, width, height float64) error {
	if format == "png" {
		c := vgimg.NewWith(vgimg.UseWH(centimeters(width), centimeters(height)), vgimg.UseDPI(dotsPerInch))
		render(p, c)
		_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(w)
		return err
	}
	return writeSVG(w, p, width, height)
}

func centimeters(x float64) vg.Length { return vg.Length(x) * vg.Centimeter }

// writeSVG renders a plot as SVG.
func writeSVG(w io.Writer, p *plot.Plot, width, height float64) error {
	c := vgsvg.New(centimeters(width), centimeters(height))
	render(p, c)
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return err
	}
	_, err := w.Write(fallbackFonts(b.Bytes()))
	return err
}

// fallbackFonts names fonts of the same metrics, for viewers without the one
// named.
func fallbackFonts(svg []byte) []byte {
	return bytes.ReplaceAll(svg, []byte("font-family:Liberation Sans;"),
		[]byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;"))
}

// render draws p with a margin around it, on white.
func render(p *plot.Plot, c vg.CanvasSizer) {
	const margin = 6 // points
	dc := draw.New(c)
	dc.SetColor(colorWhite)
	dc.Fill(dc.Path())
	p.Draw(draw.Crop(dc, margin, -margin, margin, -margin))
}

// AddDots draws points.
func AddDots(p *plot.Plot, points plotter.XYs, c color.Color) error {
	dots, err := plotter.NewScatter(points)
	if err != nil {
		return err
	}
	dots.GlyphStyle = draw.GlyphStyle{Color: c, Radius: vg.Points(2.4), Shape: draw.CircleGlyph{}}
	p.Add(dots)
	return nil
}

// LegendLeft puts the legend at the left, LegendBelow at the bottom.
func LegendLeft(p *plot.Plot)  { p.Legend.Left, p.Legend.XOffs = true, vg.Points(8) }
func LegendBelow(p *plot.Plot) { p.Legend.Top, p.Legend.YOffs = false, vg.Points(6) }

// thumbnail is a line in a legend.
type thumbnail struct{ draw.LineStyle }

// Thumbnail implements plot.Thumbnailer.
func (t thumbnail) Thumbnail(c *draw.Canvas) {
	y := c.Center().Y
	c.StrokeLine2(t.LineStyle, c.Min.X, y, c.Max.X, y)
}

// mostTicks bounds the labelled ticks of an axis.
const mostTicks = 8

// roundTicks labels round numbers.
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

// Decades labels powers of ten on an axis of exponents.
var Decades = plot.TickerFunc(decadeTicks)

func decadeTicks(lo, hi float64) []plot.Tick {
	first, last := int(math.Ceil(lo)), int(math.Floor(hi))
	step := (last-first)/mostTicks + 1
	var ticks []plot.Tick
	for e := first; e <= last; e++ {
		t := plot.Tick{Value: float64(e)}
		if e%step == 0 {
			t.Label = powerOfTen(e)
		}
		ticks = append(ticks, t)
	}
	return ticks
}

// powerOfTen writes 10^e.
func powerOfTen(e int) string {
	if e >= 0 && e <= 4 {
		return "1" + strings.Repeat("0", e)
	}
	return strconv.FormatFloat(math.Pow(10, float64(e)), 'g', 3, 64)
}

// WriteRow draws plots side by side, as svg.
func WriteRow(w io.Writer, plots []*plot.Plot, width, height float64) error {
	c := vgsvg.New(centimeters(width), centimeters(height))
	dc := draw.New(c)
	dc.SetColor(colorWhite)
	dc.Fill(dc.Path())
	tiles := draw.Tiles{Rows: 1, Cols: len(plots), PadX: vg.Points(8), PadTop: vg.Points(6), PadBottom: vg.Points(6), PadLeft: vg.Points(6), PadRight: vg.Points(6)}
	for i, canvas := range plot.Align([][]*plot.Plot{plots}, tiles, dc)[0] {
		plots[i].Draw(canvas)
	}
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return err
	}
	_, err := w.Write(fallbackFonts(b.Bytes()))
	return err
}
