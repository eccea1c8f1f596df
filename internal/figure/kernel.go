package figure

import (
	"fmt"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/noisewright/noisewright/kernels"
)

const cellPoints = 24 // of the loss curve in a cell

// Kernel is the picture of a kernel: the expected loss of every query
// value or, if there are values, the laws of the answers to these.
type Kernel struct {
	Kernel *kernels.Verified
	Values []float64 // at most as many as Palette has colors
	// Independent is the loss of noise that does not depend on the value; 0: not
	// known.
	Independent float64
}

// Draw renders the figure, of so many centimeters, as svg or png.
func (f *Kernel) Draw(w io.Writer, format string, width, height float64) error {
	p := New()
	privacy := f.Kernel.Kernel().Privacy()
	p.Title.Text = fmt.Sprintf("ε = %v, δ = %v, sensitivity %v", privacy.Epsilon, privacy.Delta, privacy.Sensitivity)
	var err error
	if len(f.Values) > 0 {
		err = f.AddLaws(p)
	} else {
		err = f.addLosses(p)
	}
	if err != nil {
		return err
	}
	q := f.Kernel.Kernel().Queries()
	p.X.Min, p.X.Max = q.Lower, q.Upper
	p.Y.Min, p.Y.Max = 0, 1.35*p.Y.Max // room for the legend
	return Write(w, p, format, width, height)
}

// addLosses draws the expected loss of each query value, its mean, and what it is
// compared with.
func (f *Kernel) addLosses(p *plot.Plot) error {
	k := f.Kernel.Kernel()
	q := k.Queries()
	symbol := LossSymbol(k.Loss())
	p.X.Label.Text = "query value (query units)"
	p.Y.Label.Text = "expected loss of the answer"
	// The loss jumps from cell to cell, so each is drawn from edge to edge.
	var points plotter.XYs
	for i := range k.Cells() {
		from, to := k.Edge(i), math.Nextafter(k.Edge(i+1), k.Edge(i))
		for n := range cellPoints + 1 {
			x := min(from+(to-from)*float64(n)/cellPoints, to)
			points = append(points, plotter.XY{X: x, Y: k.LossAt(x)})
		}
	}
	level := func(y float64) plotter.XYs { return plotter.XYs{{X: q.Lower, Y: y}, {X: q.Upper, Y: y}} }
	mean, _ := f.Kernel.Certificate().ExpectedLoss.Float64()
	curves := []Curve{
		{"designed kernel", points, Line(Blue, 2)},
		{fmt.Sprintf("its mean, %s = %.4g", symbol, mean), level(mean), Line(Blue, 1)},
	}
	if f.Independent > 0 {
		curves = append(curves, Curve{fmt.Sprintf("data independent noise, %s = %.4g", symbol, f.Independent), level(f.Independent), Line(Vermilion, 1.4, 5, 3)})
	}
	if o := k.InstanceCap(); o > 0 && math.Abs(o-f.Independent) > 1e-9*o {
		curves = append(curves, Curve{fmt.Sprintf("instance cap, %.4g", o), level(o), Line(Green, 1.4, 5, 3)})
	}
	return Add(p, curves)
}

// AddLaws draws the probabilities of the answers for each query value.
func (f *Kernel) AddLaws(p *plot.Plot) error {
	p.X.Label.Text = "answer (query units)"
	p.Y.Label.Text = "probability"
	k := f.Kernel.Kernel()
	// Bars stand beside each other, each a tenth of the least space between nodes apart.
	space := k.Edge(k.Cells()) - k.Edge(0)
	for j := 1; j < k.Cells(); j++ {
		space = min(space, k.Node(j)-k.Node(j-1))
	}
	var curves []Curve
	for n, x := range f.Values {
		aside := space * 0.1 * (float64(n) - float64(len(f.Values)-1)/2)
		i, _ := k.CellOf(x)
		var points plotter.XYs
		for j, m := range k.PMF(i) {
			y := k.Node(j) + aside
			points = append(points, plotter.XY{X: y}, plotter.XY{X: y, Y: m}, plotter.XY{X: y})
		}
		curves = append(curves, Curve{fmt.Sprintf("query value %v", x), points, Line(Palette[n], 1.5)})
	}
	return Add(p, curves)
}
