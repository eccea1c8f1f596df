package figure

import (
	"fmt"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/tables"
)

const (
	maxUnrolled = 1 << 18 // cells of a tail
	hiddenMass  = 0.005   // of the noise, outside a linear figure
	logDepth    = 1e-15   // lowest density of a logarithmic figure, of the peak
	curvePoints = 1000    // of a smooth curve
	maxSteps    = 4000    // of the table's curve; more are averaged
	dotsPerInch = 160
)

// Table is the picture of a table.
type Table struct {
	table *tables.Table
	log   bool

	step        float64 // distance of neighbouring points, query units
	unit        float64 // what the y axis is per: 1 query unit, or a step if points are few
	left, right float64 // ends of the x axis
	bottom      float64 // of the y axis; its logarithm to base 10 if log
	top         float64
	curves      []Curve
}

// The curves that a table is compared with.
var overlays = map[string]struct {
	label string
	style Style
}{
	"laplace":           {"Laplace", Line(Vermilion, 1.2)},
	"discrete-laplace":  {"discrete Laplace", Line(Vermilion, 1.2)},
	"truncated-laplace": {"truncated Laplace", Line(Green, 1.4, 5, 3)},
}

// NewTable returns the picture of a table, with a logarithmic density axis if log.
func NewTable(v *tables.Verified, log bool) *Table {
	t := v.Table()
	f := &Table{table: t, log: log, unit: 1}
	f.step, _ = t.Grid().Step().Float64()
	if t.Query() == dp.LatticeQuery {
		f.unit = f.step
	}
	p := t.Privacy()
	f.left, f.right = f.tableReach()
	bound := math.Inf(1)
	if p.Delta > 0 && t.Query() == dp.RealQuery {
		bound = noise.TruncatedLaplaceBound(p)
	}
	if log && !math.IsInf(bound, 0) {
		f.left, f.right = min(f.left, -1.05*bound), max(f.right, 1.05*bound)
	}
	steps := f.steps()
	for _, b := range noise.Baselines() {
		o, drawn := overlays[b.Name]
		if !drawn || !Suits(b.Name, t.Query()) {
			continue
		}
		m, err := b.New(p, t.Loss())
		if err != nil {
			continue // it does not apply here, e.g. to epsilon = 0
		}
		label := o.label
		if loss, _, err := m.ExpectedLoss(t.Loss()); err == nil {
			label += fmt.Sprintf(", %s = %.4g", LossSymbol(t.Loss()), loss)
		}
		var points plotter.XYs
		switch b.Name {
		case "discrete-laplace":
			points = f.integers(m)
		case "truncated-laplace":
			points = f.sample(m, bound)
		default:
			points = f.sample(m, math.Inf(1))
		}
		f.curves = append(f.curves, Curve{label, points, o.style})
	}
	loss, _ := v.Certificate().ExpectedLoss.Float64()
	f.curves = append(f.curves, Curve{
		fmt.Sprintf("designed table, %s = %.4g", LossSymbol(t.Loss()), loss), steps,
		Line(Blue, 2),
	})
	f.frame()
	return f
}

// cell returns the ends of the i-th cell in query units, and the mean density
// there. A point fills the step around it.
func (f *Table) cell(i int) (left, right, density float64) {
	g := f.table.Grid()
	left = (float64(g.FirstPoint(i)) - 0.5) * f.step
	right = (float64(g.FirstPoint(i+1)) - 0.5) * f.step
	return left, right, f.mass(i) / (right - left) * f.unit
}

// mass returns the probability of the i-th cell; the cells of a tail go on to
// either side of the table's.
func (f *Table) mass(i int) float64 {
	k, n := f.table.Grid().CellsPerSensitivity, f.table.Cells()
	periods := 0
	for ; i < 0; i += k {
		periods++
	}
	for ; i >= n; i -= k {
		periods++
	}
	p := math.Ldexp(float64(f.table.Weight(i)), -64)
	if _, ok := f.table.Block(i); ok {
		rho := math.Ldexp(float64(f.table.TailRatio()), -64)
		p *= (1 - rho) * math.Pow(rho, float64(periods))
	}
	return p
}

// unrolled returns how many cells of a tail a figure looks at on either side:
// those of all but a millionth of it.
func (f *Table) unrolled() int {
	r := f.table.TailRatio()
	if r == 0 {
		return 0
	}
	periods := math.Ceil(math.Log(1e-6) / math.Log(math.Ldexp(float64(r), -64)))
	k := f.table.Grid().CellsPerSensitivity
	return k * int(min(periods, float64(maxUnrolled/k)))
}

// tableReach returns the range of the table's own noise, with 0 and a margin: all
// of it on a logarithmic figure, all but the tails on a linear one, and not less
// than one sensitivity.
func (f *Table) tableReach() (left, right float64) {
	i, j := -f.unrolled(), f.table.Cells()-1+f.unrolled()
	outside := f.mass
	limit := hiddenMass / 2
	if f.log {
		limit = 0
	}
	for hidden := outside(i); i < j && hidden <= limit; hidden += outside(i) {
		i++
	}
	for hidden := outside(j); j > i && hidden <= limit; hidden += outside(j) {
		j--
	}
	left, _, _ = f.cell(i)
	_, right, _ = f.cell(j)
	left, right = min(left, 0), max(right, 0)
	if short := f.table.Privacy().Sensitivity - (right - left); short > 0 {
		left, right = left-short/2, right+short/2
	}
	margin := 0.025 * (right - left)
	return left - margin, right + margin
}

// steps returns the table's density as a step curve on the x axis, with steps
// averaged where there are more than a figure can show.
func (f *Table) steps() plotter.XYs {
	first, end := -f.unrolled(), f.table.Cells()+f.unrolled()
	lo, hi := end, first-1 // visible cells
	for i := first; i < end; i++ {
		if left, right, _ := f.cell(i); right > f.left && left < f.right {
			lo, hi = min(lo, i), i
		}
	}
	return stairs(lo, hi, f.cell)
}

// integers returns a mechanism's masses on the integers as a step curve.
func (f *Table) integers(m noise.Mechanism) plotter.XYs {
	return stairs(int(math.Ceil(f.left)), int(math.Floor(f.right)), func(i int) (left, right, density float64) {
		return float64(i) - 0.5, float64(i) + 0.5, m.Mass(float64(i))
	})
}

// stairs returns a step curve over the cells lo … hi that falls to 0 at its
// ends.
func stairs(lo, hi int, cell func(int) (left, right, density float64)) plotter.XYs {
	group := (hi-lo)/maxSteps + 1
	var points plotter.XYs
	add := func(x, y float64) { points = append(points, plotter.XY{X: x, Y: y}) }
	for i := lo; i <= hi; i += group {
		left, right, sum := cell(i)
		m := 1
		for ; m < group && i+m <= hi; m++ {
			var d float64
			_, right, d = cell(i + m)
			sum += d
		}
		if i == lo {
			add(left, 0)
		}
		add(left, sum/float64(m))
		add(right, sum/float64(m))
		if i+group > hi {
			add(right, 0)
		}
	}
	return points
}

// sample returns a mechanism's density on the x axis; it is 0 further than end
// from 0.
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
		points = append(points, plotter.XY{X: x, Y: m.Density(x) * f.unit})
	}
	if cut {
		points = append(points, plotter.XY{X: end})
	}
	return points
}

// frame sets the y axis.
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
	for _, c := range f.curves {
		for i := range c.Points {
			c.Points[i].Y = max(math.Log10(c.Points[i].Y), f.bottom)
		}
	}
}

// densityLabel names the y axis. Noise on few points has probabilities.
func (f *Table) densityLabel() string {
	switch f.table.Query() {
	case dp.IntegerQuery:
		return "probability (per integer)"
	case dp.LatticeQuery:
		return fmt.Sprintf("probability (per step of %.4g)", f.step)
	default:
		return "density (per query unit)"
	}
}

// Draw renders the figure as svg or png.
func (f *Table) Draw(w io.Writer, format string, width, height float64) error {
	p := New()
	privacy := f.table.Privacy()
	p.Title.Text = fmt.Sprintf("ε = %v, δ = %v, sensitivity %v", privacy.Epsilon, privacy.Delta, privacy.Sensitivity)
	p.X.Label.Text = "noise (query units)"
	p.Y.Label.Text = f.densityLabel()
	if f.log {
		p.Y.Tick.Marker = Decades
	}
	for _, c := range f.curves {
		line, err := plotter.NewLine(c.Points)
		if err != nil {
			return err
		}
		line.LineStyle = c.Style
		p.Add(line)
	}
	// The legend starts with the table, which is drawn last, on top.
	for i := len(f.curves) - 1; i >= 0; i-- {
		p.Legend.Add(f.curves[i].Name, thumbnail{f.curves[i].Style})
		if i == len(f.curves)-1 && f.table.Atom() > 0 {
			a := arrow{Line(Blue, 1.3)}
			p.Add(a)
			_, atom := f.table.PMF()
			p.Legend.Add(fmt.Sprintf("exactly 0 with probability %.4g", atom), a)
		}
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = f.left, f.right, f.bottom, f.top
	return Write(w, p, format, width, height)
}

// arrow is a mass on the single point 0: a density without bound.
type arrow struct{ Style }

// Plot implements plot.Plotter.
func (a arrow) Plot(c draw.Canvas, p *plot.Plot) {
	toX, _ := p.Transforms(&c)
	a.stroke(c, toX(0), c.Min.Y, c.Max.Y)
}

// Thumbnail implements plot.Thumbnailer.
func (a arrow) Thumbnail(c *draw.Canvas) {
	a.stroke(*c, c.Center().X, c.Min.Y, c.Max.Y)
}

func (a arrow) stroke(c draw.Canvas, x, bottom, top vg.Length) {
	const wide, long = 2.8, 6
	c.StrokeLine2(a.Style, x, bottom, x, top-long/2)
	c.FillPolygon(a.Color, []vg.Point{{X: x, Y: top}, {X: x - wide, Y: top - long}, {X: x + wide, Y: top - long}})
}

// Suits reports whether the bound for a kind of query is about noise such as the
// named mechanism's. Integer queries are easier than real-valued ones, and their
// noise is on the integers.
func Suits(name string, q dp.Query) bool {
	return (name == "discrete-laplace") == (q == dp.IntegerQuery)
}

// Compared reports whether figures show the named mechanism beside a table.
func Compared(name string) bool {
	_, ok := overlays[name]
	return ok
}
