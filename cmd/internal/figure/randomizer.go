package figure

import (
	"fmt"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/noisewright/noisewright/local"
)

// Randomizer is the picture of a local randomizer: the expected loss of every value or, if
// there are values, the laws of the answers to these; of categories always the laws.
type Randomizer struct {
	Randomizer  *local.Randomizer
	Certificate local.Certificate
	Values      []float64
}

// lossPoints is how many points of the loss curve are drawn, at least.
const lossPoints = 600

// Draw renders the figure as svg or png.
func (f *Randomizer) Draw(w io.Writer, format string, width, height vg.Length) error {
	s := f.Randomizer.Spec()
	title := fmt.Sprintf("ε = %v, δ = %v between any two values", s.Epsilon, s.Delta)
	if s.Values.Kind == local.Category {
		return Write(f.categories(&s, title), w, format, width, height)
	}
	p := New()
	p.Title.Text = title
	p.X.Min, p.X.Max = s.Values.Lower, s.Values.Upper
	add := f.addLosses
	if len(f.Values) > 0 {
		add = f.addLaws
	}
	if err := add(p, &s); err != nil {
		return err
	}
	p.Y.Min, p.Y.Max = 0, 1.35*p.Y.Max // room for the legend
	return Write(p, w, format, width, height)
}

// addLosses draws the expected loss of each value, its mean, and the bound.
func (f *Randomizer) addLosses(p *plot.Plot, s *local.Spec) error {
	p.X.Label.Text, p.Y.Label.Text = "value", "expected loss of the answer"
	symbol := LossSymbol(s.Loss)
	var points plotter.XYs
	parts := 1
	if s.Values.Kind == local.Real {
		parts = lossPoints/len(s.Nodes) + 1
	}
	for i, x := range s.Nodes {
		for n := range parts {
			at := x
			if n > 0 {
				if i+1 == len(s.Nodes) {
					break
				}
				at += (s.Nodes[i+1] - x) * float64(n) / float64(parts)
			}
			points = append(points, plotter.XY{X: at, Y: f.Randomizer.LossAt(at)})
		}
	}
	level := func(y float64) plotter.XYs {
		return plotter.XYs{{X: s.Values.Lower, Y: y}, {X: s.Values.Upper, Y: y}}
	}
	mean, _ := f.Certificate.MeanLoss.Float64()
	worst, _ := f.Certificate.WorstLoss.Float64()
	bound, _ := f.Certificate.LowerBound.Float64()
	curves := []Curve{{"designed randomizer", points, Solid(Blue, 2)}}
	about := "mean"
	if s.Objective == local.Worst {
		about = "largest"
		curves = append(curves, Curve{fmt.Sprintf("its largest, %s = %.4g", symbol, worst), level(worst), Solid(Blue, 1)})
	} else {
		curves = append(curves, Curve{fmt.Sprintf("its mean, %s = %.4g", symbol, mean), level(mean), Solid(Blue, 1)})
	}
	if bound > 0 {
		curves = append(curves, Curve{fmt.Sprintf("lower bound on the %s of all, %.4g", about, bound), level(bound), Dashed(Green, 1.4)})
	}
	return Add(p, curves)
}

// addLaws draws the probabilities of the answers for each value.
func (f *Randomizer) addLaws(p *plot.Plot, s *local.Spec) error {
	p.X.Label.Text, p.Y.Label.Text = "answer", "probability"
	// Bars of different values stand beside each other.
	y := s.Answers
	space := max(y[len(y)-1], p.X.Max) - min(y[0], p.X.Min)
	var curves []Curve
	for n, x := range f.Values {
		aside := space / 250 * (float64(n) - float64(len(f.Values)-1)/2)
		var points plotter.XYs
		for j, m := range f.Randomizer.PMFAt(x) {
			points = append(points, plotter.XY{X: y[j] + aside}, plotter.XY{X: y[j] + aside, Y: m}, plotter.XY{X: y[j] + aside})
		}
		curves = append(curves, Curve{fmt.Sprintf("value %v", x), points, Solid(Palette[n], 1.5)})
	}
	p.X.Min, p.X.Max = min(p.X.Min, y[0])-space/50, max(p.X.Max, y[len(y)-1])+space/50
	return Add(p, curves)
}

// categories is a map of the probabilities of all answers to all categories.
func (f *Randomizer) categories(s *local.Spec, title string) *plot.Plot {
	h := &HeatMap{Title: title, XLabel: "answer", YLabel: "value", X: s.AnswerLabels, Y: s.Values.Labels}
	for i := range s.Rows {
		for _, m := range f.Randomizer.PMF(i) {
			h.Cells = append(h.Cells, HeatCell{Value: m, Large: fmt.Sprintf("%.3g", m)})
		}
	}
	return h.plot()
}
