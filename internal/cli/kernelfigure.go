package cli

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/noisewright/noisewright/tables"
)

// kernelColors tell the curves of query values apart: those of Okabe and Ito.
var kernelColors = []color.NRGBA{
	colorTable,
	colorLaplace,
	colorTruncated,
	{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff},
	{R: 0xe6, G: 0x9f, B: 0x00, A: 0xff},
	{R: 0x56, G: 0xb4, B: 0xe9, A: 0xff},
}

const (
	maxValues  = 6  // query values of one figure
	cellPoints = 24 // of the loss curve in a cell
)

// readValues reads the query values of a figure, separated by commas.
func readValues(k *tables.Kernel, list string) ([]float64, error) {
	if list == "" {
		return nil, nil
	}
	var values []float64
	for _, v := range strings.Split(list, ",") {
		x, err := readQuery(k, "values", strings.TrimSpace(v))
		if err != nil {
			return nil, err
		}
		values = append(values, x)
	}
	if len(values) > maxValues {
		return nil, badInput("", fmt.Errorf("values = %s, want at most %d query values", shown(list), maxValues))
	}
	return values, nil
}

// kernelFigure is the picture of a kernel: the expected loss of every query
// value or, if there are values, the laws of the answers to these.
type kernelFigure struct {
	kernel      *tables.Kernel
	certificate tables.KernelCertificate
	values      []float64
	// independent is the loss of noise that does not depend on the value; 0: not
	// known.
	independent float64
}

// newKernelFigure verifies a kernel and reads what its figure is to show: query
// values, and the file of a table to compare with.
func (a *app) newKernelFigure(path string, k *tables.Kernel, values, additive string) (*kernelFigure, error) {
	f := &kernelFigure{kernel: k}
	var err error
	if f.values, err = readValues(k, values); err != nil {
		return nil, err
	}
	if f.certificate, err = soundKernel(path, k); err != nil {
		return nil, err
	}
	if additive != "" {
		t, c, err := a.readSound(additive)
		if err != nil {
			return nil, err
		}
		if t.Privacy() != k.Privacy() || t.Loss().Name() != k.Loss().Name() {
			return nil, badInput("", fmt.Errorf("table = %s is for another privacy or loss, want those of the kernel", shown(additive)))
		}
		f.independent, _ = c.ExpectedLoss.Float64()
	}
	return f, nil
}

func (f *kernelFigure) draw(w io.Writer, format string, width, height vg.Length) error {
	p := newPlot()
	privacy := f.kernel.Privacy()
	p.Title.Text = fmt.Sprintf("ε = %v, δ = %v, sensitivity %v", privacy.Epsilon, privacy.Delta, privacy.Sensitivity)
	var err error
	if len(f.values) > 0 {
		err = f.addLaws(p)
	} else {
		err = f.addLosses(p)
	}
	if err != nil {
		return err
	}
	q := f.kernel.Queries()
	p.X.Min, p.X.Max = q.Lower, q.Upper
	p.Y.Min, p.Y.Max = 0, 1.35*p.Y.Max // room for the legend
	return writePlot(p, w, format, width, height)
}

// addLosses draws the expected loss of each query value, its mean, and what it is
// compared with.
func (f *kernelFigure) addLosses(p *plot.Plot) error {
	q := f.kernel.Queries()
	symbol := lossSymbol(f.kernel.Loss())
	p.X.Label.Text = "query value (query units)"
	p.Y.Label.Text = "expected loss of the answer"
	// The loss jumps from cell to cell, so each is drawn from edge to edge.
	var points plotter.XYs
	for i := range f.kernel.Cells() {
		from, to := f.kernel.Edge(i), math.Nextafter(f.kernel.Edge(i+1), f.kernel.Edge(i))
		for n := range cellPoints + 1 {
			x := min(from+(to-from)*float64(n)/cellPoints, to)
			points = append(points, plotter.XY{X: x, Y: f.kernel.LossAt(x)})
		}
	}
	level := func(y float64) plotter.XYs { return plotter.XYs{{X: q.Lower, Y: y}, {X: q.Upper, Y: y}} }
	mean, _ := f.certificate.ExpectedLoss.Float64()
	dashes := []vg.Length{vg.Points(5), vg.Points(3)}
	curves := []curve{
		{"designed kernel", points, draw.LineStyle{Color: colorTable, Width: vg.Points(2)}},
		{fmt.Sprintf("its mean, %s = %.4g", symbol, mean), level(mean), draw.LineStyle{Color: colorTable, Width: vg.Points(1)}},
	}
	if f.independent > 0 {
		curves = append(curves, curve{fmt.Sprintf("data independent noise, %s = %.4g", symbol, f.independent), level(f.independent), draw.LineStyle{Color: colorLaplace, Width: vg.Points(1.4), Dashes: dashes}})
	}
	if o := f.kernel.InstanceCap(); o > 0 && math.Abs(o-f.independent) > 1e-9*o {
		curves = append(curves, curve{fmt.Sprintf("instance cap, %.4g", o), level(o), draw.LineStyle{Color: colorTruncated, Width: vg.Points(1.4), Dashes: dashes}})
	}
	return addCurves(p, curves)
}

// addLaws draws the probabilities of the answers for each query value.
func (f *kernelFigure) addLaws(p *plot.Plot) error {
	p.X.Label.Text = "answer (query units)"
	p.Y.Label.Text = "probability"
	// Bars stand beside each other, each a tenth of the least space between nodes apart.
	space := f.kernel.Edge(f.kernel.Cells()) - f.kernel.Edge(0)
	for j := 1; j < f.kernel.Cells(); j++ {
		space = min(space, f.kernel.Node(j)-f.kernel.Node(j-1))
	}
	var curves []curve
	for n, x := range f.values {
		aside := space * 0.1 * (float64(n) - float64(len(f.values)-1)/2)
		i, _ := f.kernel.CellOf(x)
		var points plotter.XYs
		for j, m := range f.kernel.PMF(i) {
			y := f.kernel.Node(j) + aside
			points = append(points, plotter.XY{X: y}, plotter.XY{X: y, Y: m}, plotter.XY{X: y})
		}
		curves = append(curves, curve{fmt.Sprintf("query value %v", x), points, draw.LineStyle{Color: kernelColors[n], Width: vg.Points(1.5)}})
	}
	return addCurves(p, curves)
}

func addCurves(p *plot.Plot, curves []curve) error {
	for _, c := range curves {
		line, err := plotter.NewLine(c.points)
		if err != nil {
			return err
		}
		line.LineStyle = c.style
		p.Add(line)
		p.Legend.Add(c.name, thumbnail{c.style})
	}
	return nil
}
