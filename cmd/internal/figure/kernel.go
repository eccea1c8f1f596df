package figure

import (
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/noisewright/noisewright/kernels"
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

const cellPoints = 24 // of the loss curve in a cell

// Kernel is the picture of a kernel: the expected loss of every query
// value or, if there are values, the laws of the answers to these.
type Kernel struct {
	Kernel      *kernels.Kernel
	Certificate kernels.Certificate
	Values      []float64
	// Independent is the loss of noise that does not depend on the value; 0: not
	// known.
	Independent float64
}

// Draw renders the figure as svg or png.
func (f *Kernel) Draw(w io.Writer, format string, width, height vg.Length) error {
	p := NewTitled(f.Kernel.Privacy())
	add := f.addLosses
	if len(f.Values) > 0 {
		add = f.AddLaws
	}
	if err := add(p); err != nil {
		return err
	}
	q := f.Kernel.Queries()
	p.X.Min, p.X.Max = q.Lower, q.Upper
	p.Y.Min, p.Y.Max = 0, 1.35*p.Y.Max // room for the legend
	return Write(p, w, format, width, height)
}

// addLosses draws the expected loss of each query value, its mean, and what it is
// compared with.
func (f *Kernel) addLosses(p *plot.Plot) error {
	q := f.Kernel.Queries()
	symbol := LossSymbol(f.Kernel.Loss())
	p.X.Label.Text = "query value (query units)"
	p.Y.Label.Text = "expected loss of the answer"
	// The loss jumps from cell to cell, so each is drawn from edge to edge.
	var points plotter.XYs
	for i := range f.Kernel.Cells() {
		from, to := f.Kernel.Edge(i), math.Nextafter(f.Kernel.Edge(i+1), f.Kernel.Edge(i))
		for n := range cellPoints + 1 {
			x := min(from+(to-from)*float64(n)/cellPoints, to)
			points = append(points, plotter.XY{X: x, Y: f.Kernel.LossAt(x)})
		}
	}
	level := func(y float64) plotter.XYs { return plotter.XYs{{X: q.Lower, Y: y}, {X: q.Upper, Y: y}} }
	mean, _ := f.Certificate.ExpectedLoss.Float64()
	curves := []Curve{
		{"designed kernel", points, Solid(Blue, 2)},
		{fmt.Sprintf("its mean, %s = %.4g", symbol, mean), level(mean), Solid(Blue, 1)},
	}
	if f.Independent > 0 {
		curves = append(curves, Curve{fmt.Sprintf("data independent noise, %s = %.4g", symbol, f.Independent), level(f.Independent), Dashed(Vermilion, 1.4)})
	}
	if o := f.Kernel.InstanceCap(); o > 0 && f.Kernel.CapLoss().Name() == f.Kernel.Loss().Name() && math.Abs(o-f.Independent) > 1e-9*o {
		curves = append(curves, Curve{fmt.Sprintf("instance cap, %.4g", o), level(o), Dashed(Green, 1.4)})
	}
	return Add(p, curves)
}

// AddLaws draws the probabilities of the answers for each query value.
func (f *Kernel) AddLaws(p *plot.Plot) error {
	p.X.Label.Text = "answer (query units)"
	p.Y.Label.Text = "probability"
	// Bars stand beside each other, each a tenth of the least space between nodes apart.
	space := f.Kernel.Edge(f.Kernel.Cells()) - f.Kernel.Edge(0)
	for j := 1; j < f.Kernel.Cells(); j++ {
		space = min(space, f.Kernel.Node(j)-f.Kernel.Node(j-1))
	}
	var curves []Curve
	for n, x := range f.Values {
		aside := space * 0.1 * (float64(n) - float64(len(f.Values)-1)/2)
		i, _ := f.Kernel.CellOf(x)
		var points plotter.XYs
		for j, m := range f.Kernel.PMF(i) {
			y := f.Kernel.Node(j) + aside
			points = append(points, plotter.XY{X: y}, plotter.XY{X: y, Y: m}, plotter.XY{X: y})
		}
		curves = append(curves, Curve{fmt.Sprintf("query value %v", x), points, Solid(Palette[n], 1.5)})
	}
	return Add(p, curves)
}
