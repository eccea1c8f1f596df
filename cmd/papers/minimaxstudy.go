package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/noisewright/noisewright/cmd/internal/figure"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/encoder/attack"
	"github.com/noisewright/noisewright/encoder/minimax"
)

// The roles of a task.
const (
	roleTarget  = "target"
	rolePrivate = "private"
)

// minimaxPoint is how often a class is guessed from what a filter lets through.
type minimaxPoint struct {
	Part        string          `json:"part"` // of the figure
	Filter      string          `json:"filter"`
	Coordinates int             `json:"coordinates"`
	Epsilon     *float64        `json:"epsilon"` // nil without noise
	Role        string          `json:"role"`    // target or private
	Attacker    attack.Attacker `json:"attacker"`
	Mean        float64         `json:"accuracy"`
	Deviation   float64         `json:"standard_deviation"` // over the runs
	Runs        int             `json:"runs"`
	Chance      float64         `json:"chance"` // accuracy without what the filter lets through
	values      []float64
}

// minimaxStudy is accuracies.
type minimaxStudy struct{ points []*minimaxPoint }

// add adds a run to the point that is like p but for it.
func (s *minimaxStudy) add(p minimaxPoint, accuracy float64) {
	at := slices.IndexFunc(s.points, func(q *minimaxPoint) bool {
		return q.Part == p.Part && q.Filter == p.Filter && q.Coordinates == p.Coordinates && q.Role == p.Role && q.Attacker == p.Attacker && noiseless(q.Epsilon) == noiseless(p.Epsilon)
	})
	if at < 0 {
		at = len(s.points)
		s.points = append(s.points, &p)
	}
	q := s.points[at]
	q.values = append(q.values, accuracy)
	q.Runs = len(q.values)
	q.Mean, q.Deviation = meanAndDeviation(q.values)
}

// noiseless is infinite without noise.
func noiseless(epsilon *float64) float64 {
	if epsilon == nil {
		return math.Inf(1)
	}
	return *epsilon
}

// minimaxCodes is what a filter lets through of the people to learn from and to test.
type minimaxCodes struct {
	train, test         minimax.Data
	trainCode, testCode encoder.Matrix
}

// score lets attackers guess both tasks.
func (s *minimaxStudy) score(ctx context.Context, p minimaxPoint, c minimaxCodes, target, private []attack.Attacker, seed uint64) error {
	for _, role := range []struct {
		name        string
		attackers   []attack.Attacker
		train, test minimax.Task
	}{{roleTarget, target, c.train.Targets[0], c.test.Targets[0]}, {rolePrivate, private, c.train.Private[0], c.test.Private[0]}} {
		for _, a := range role.attackers {
			score, err := attack.Accuracy(ctx, a,
				attack.Labeled{X: c.trainCode, Labels: role.train.Labels}, attack.Labeled{X: c.testCode, Labels: role.test.Labels}, len(role.train.Classes), seed)
			if err != nil {
				return err
			}
			p.Role, p.Attacker, p.Chance = role.name, a, score.Chance
			s.add(p, score.Value)
		}
	}
	return nil
}

func (s *minimaxStudy) records() [][]string {
	out := [][]string{{"part", "filter", "coordinates", "epsilon", "role", "attacker", "accuracy", "standard_deviation", "runs", "chance"}}
	for _, p := range s.points {
		epsilon := ""
		if p.Epsilon != nil {
			epsilon = fmt.Sprint(*p.Epsilon)
		}
		out = append(out, []string{
			p.Part, p.Filter, strconv.Itoa(p.Coordinates), epsilon, p.Role, string(p.Attacker),
			fmt.Sprintf("%.4f", p.Mean), fmt.Sprintf("%.4f", p.Deviation), strconv.Itoa(p.Runs), fmt.Sprintf("%.4f", p.Chance),
		})
	}
	return out
}

// minimaxReport is what is printed as JSON.
type minimaxReport struct {
	Schema    int             `json:"schema"`
	Name      string          `json:"name"`
	Data      string          `json:"data"`
	Published []string        `json:"published"`
	Points    []*minimaxPoint `json:"points"`
	Files     [2]string       `json:"files"`
}

// rows has a line for each filter and place: the target's accuracies, then the private ones.
func (r minimaxReport) rows() []shell.Row {
	rows := []shell.Row{{"data", r.Data}}
	type place struct {
		part, filter string
		coordinates  int
		epsilon      float64
	}
	seen := map[place]bool{}
	for _, p := range r.Points {
		at := place{p.Part, p.Filter, p.Coordinates, noiseless(p.Epsilon)}
		if seen[at] {
			continue
		}
		seen[at] = true
		texts := map[string][]string{}
		for _, q := range r.Points {
			if at == (place{q.Part, q.Filter, q.Coordinates, noiseless(q.Epsilon)}) {
				text := fmt.Sprintf("%.3f", q.Mean)
				if q.Runs > 1 {
					text += fmt.Sprintf(" ± %.3f", q.Deviation)
				}
				texts[q.Role] = append(texts[q.Role], fmt.Sprintf("%s %s", q.Attacker, text))
			}
		}
		where := fmt.Sprintf("d = %d", p.Coordinates)
		if p.Epsilon != nil {
			where += fmt.Sprintf(", epsilon %g", *p.Epsilon)
		}
		rows = append(rows, shell.Row{p.Filter, fmt.Sprintf("%s: accuracy of target %s; of private class %s", where, strings.Join(texts[roleTarget], ", "), strings.Join(texts[rolePrivate], ", "))})
	}
	for _, text := range r.Published {
		rows = append(rows, shell.Row{"published", text})
	}
	return rows
}

// minimaxPanel is a panel of a figure: the points of a part, a role and an attacker.
type minimaxPanel struct {
	title, part, role string
	attacker          attack.Attacker
	x                 string // its label
	at                func(p *minimaxPoint) float64
	ticks             plot.Ticker // nil: round numbers
}

// shareTicks are those of shares, on an axis that has room for a legend above 1.
var shareTicks = plot.ConstantTicks{{Value: 0, Label: "0"}, {Value: 0.2, Label: "0.2"}, {Value: 0.4, Label: "0.4"}, {Value: 0.6, Label: "0.6"}, {Value: 0.8, Label: "0.8"}, {Value: 1, Label: "1"}}

// draw draws panels side by side.
func (s *minimaxStudy) draw(out *shell.Output, panels []minimaxPanel) error {
	plots, err := s.plots(panels)
	if err != nil {
		return err
	}
	return figure.WriteRow(out, plots, vg.Length(len(plots))*12*vg.Centimeter, 12*vg.Centimeter)
}

// plots are the panels, with bars of a standard deviation either way.
func (s *minimaxStudy) plots(panels []minimaxPanel) (plots []*plot.Plot, err error) {
	for k, panel := range panels {
		p := figure.New()
		p.Title.Text, p.X.Label.Text = panel.title, panel.x
		if panel.ticks != nil {
			p.X.Tick.Marker = panel.ticks
		}
		var curves []figure.Curve
		for _, filter := range s.filters(panel) {
			style := minimaxStyle(len(curves))
			points, bars := s.line(panel, filter)
			curves = append(curves, figure.Curve{Name: filter, Points: points, Style: style})
			b, err := plotter.NewYErrorBars(struct {
				plotter.XYs
				plotter.YErrors
			}{points, bars})
			if err != nil {
				return nil, err
			}
			b.LineStyle = figure.Solid(style.Color, 1)
			dots, err := plotter.NewScatter(points) // a quick run may have no line
			if err != nil {
				return nil, err
			}
			dots.GlyphStyle = draw.GlyphStyle{Color: style.Color, Radius: vg.Points(2.5), Shape: draw.CircleGlyph{}}
			p.Add(b, dots)
		}
		if err := figure.Add(p, curves); err != nil {
			return nil, err
		}
		if k > 0 && panel.part == panels[0].part {
			p.Legend = plot.NewLegend() // that of the first panel is enough
		}
		p.Legend.Top = true
		p.Y.Min, p.Y.Max = 0, 1+0.07*float64(len(curves)) // room for the legend
		p.Y.Tick.Marker = shareTicks
		plots = append(plots, p)
	}
	plots[0].Y.Label.Text = "accuracy on people not learned from"
	return plots, nil
}

func minimaxStyle(i int) draw.LineStyle {
	c := figure.Palette[i%len(figure.Palette)]
	if i < len(figure.Palette) {
		return figure.Solid(c, 1.8)
	}
	return figure.Dashed(c, 1.8)
}

// filters are those of a panel, each once, in the order of the points.
func (s *minimaxStudy) filters(panel minimaxPanel) (out []string) {
	for _, p := range s.points {
		if panel.has(p) && !slices.Contains(out, p.Filter) {
			out = append(out, p.Filter)
		}
	}
	return out
}

func (panel minimaxPanel) has(p *minimaxPoint) bool {
	return p.Part == panel.part && p.Role == panel.role && p.Attacker == panel.attacker
}

func (s *minimaxStudy) line(panel minimaxPanel, filter string) (points plotter.XYs, bars plotter.YErrors) {
	for _, p := range s.points {
		if panel.has(p) && p.Filter == filter {
			points = append(points, plotter.XY{X: panel.at(p), Y: p.Mean})
			bars = append(bars, struct{ Low, High float64 }{p.Deviation, p.Deviation})
		}
	}
	return points, bars
}
