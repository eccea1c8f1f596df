package figure

import (
	"fmt"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/noisewright/noisewright/cells"
)

// Additive is the picture of an additive kernel: the expected loss of the noise by cell of
// the query value or, if there are cells, the densities of the noise in these.
type Additive struct {
	Kernel      *cells.Kernel
	Certificate cells.Certificate
	Values      []float64 // query values, and the cell of each
	Cells       []int
	// Independent is the loss of noise that does not depend on the value; 0: not
	// known.
	Independent float64
}

// Draw renders the figure as svg or png.
func (f *Additive) Draw(w io.Writer, format string, width, height vg.Length) error {
	p := NewTitled(f.Kernel.Privacy())
	add := f.addLosses
	if len(f.Cells) > 0 {
		add = f.addLaws
	}
	if err := add(p); err != nil {
		return err
	}
	p.Y.Min, p.Y.Max = 0, 1.35*p.Y.Max // room for the legend
	return Write(p, w, format, width, height)
}

// addLosses draws the expected loss of each cell. A cell without an end is drawn a
// sensitivity wide.
func (f *Additive) addLosses(p *plot.Plot) error {
	k := f.Kernel
	n, reach := k.Cells(), k.Privacy().Sensitivity
	symbol := LossSymbol(k.Loss())
	p.X.Label.Text = "query value (query units)"
	p.Y.Label.Text = "expected loss of its cell"
	var points plotter.XYs
	for i := range n {
		from, to := k.Edge(i), k.Edge(i+1)
		switch {
		case math.IsInf(from, 0) && math.IsInf(to, 0):
			from, to = -reach, reach
		case math.IsInf(from, 0):
			from = to - reach
		case math.IsInf(to, 0):
			to = from + reach
		}
		y, _ := f.Certificate.Losses[i].Float64()
		points = append(points, plotter.XY{X: from, Y: y}, plotter.XY{X: to, Y: y})
	}
	p.X.Min, p.X.Max = points[0].X, points[len(points)-1].X
	level := func(y float64) plotter.XYs { return plotter.XYs{{X: p.X.Min, Y: y}, {X: p.X.Max, Y: y}} }
	mean, _ := f.Certificate.ExpectedLoss.Float64()
	curves := []Curve{
		{"designed noise by cell", points, Solid(Blue, 2)},
		{fmt.Sprintf("its mean, %s = %.4g", symbol, mean), level(mean), Solid(Blue, 1)},
	}
	if f.Independent > 0 {
		curves = append(curves, Curve{fmt.Sprintf("data independent noise, %s = %.4g", symbol, f.Independent), level(f.Independent), Dashed(Vermilion, 1.4)})
	}
	if o, l := k.InstanceCap(); o > 0 && l.Name() == k.Loss().Name() {
		curves = append(curves, Curve{fmt.Sprintf("instance cap, %.4g", o), level(o), Dashed(Green, 1.4)})
	}
	return Add(p, curves)
}

// addLaws draws the density of the noise in each of the cells.
func (f *Additive) addLaws(p *plot.Plot) error {
	p.X.Label.Text = "noise (query units)"
	p.Y.Label.Text = "density"
	g := f.Kernel.Grid()
	step, _ := g.Step().Float64()
	var curves []Curve
	for n, cell := range f.Cells {
		var points plotter.XYs
		for j := range f.Kernel.Bins() {
			// A point stands for the step around it.
			from, to := (float64(g.FirstPoint(j))-0.5)*step, (float64(g.FirstPoint(j+1))-0.5)*step
			y := float64(f.Kernel.Weight(cell, j)) * 0x1p-64 / (to - from)
			points = append(points, plotter.XY{X: from, Y: y}, plotter.XY{X: to, Y: y})
		}
		curves = append(curves, Curve{fmt.Sprintf("query value %v", f.Values[n]), points, Solid(Palette[n], 1.5)})
	}
	return Add(p, curves)
}
