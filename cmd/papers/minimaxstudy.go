package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/noisewright/noisewright/cmd/internal/encoders/attack"
	"github.com/noisewright/noisewright/cmd/internal/encoders/minimax"
	"github.com/noisewright/noisewright/cmd/internal/figure"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/encoder"
)

// The roles of a task.
const (
	roleTarget  = "target"
	rolePrivate = "private"
)

// minimaxPlace is where in a figure a filter stands.
type minimaxPlace struct {
	Part        string   `json:"part"` // of the figure
	Filter      string   `json:"filter"`
	Coordinates int      `json:"coordinates"`
	Epsilon     *float64 `json:"epsilon"` // nil without noise
}

func (p *minimaxPlace) is(q *minimaxPlace) bool {
	return p.Part == q.Part && p.Filter == q.Filter && p.Coordinates == q.Coordinates && noiseless(p.Epsilon) == noiseless(q.Epsilon)
}

// minimaxPoint is how often a class is guessed from what a filter lets through.
type minimaxPoint struct {
	minimaxPlace
	Role     string          `json:"role"` // target or private
	Attacker attack.Attacker `json:"attacker"`
	accuracies
	Chance float64 `json:"chance"` // accuracy without what the filter lets through
}

type minimaxStudy struct{ points []*minimaxPoint }

// add adds a run to the point that is like p but for it.
func (s *minimaxStudy) add(p minimaxPoint, accuracy float64) {
	like(&s.points, p, func(q *minimaxPoint) bool {
		return q.is(&p.minimaxPlace) && q.Role == p.Role && q.Attacker == p.Attacker
	}).accuracies.add(accuracy)
}

// minimaxCodes is what a filter lets through of the people to learn from and to test.
type minimaxCodes struct {
	train, test         minimax.Data
	trainCode, testCode encoder.Matrix
}

// score lets attackers guess both tasks.
func (s *minimaxStudy) score(ctx context.Context, at minimaxPlace, c minimaxCodes, target, private []attack.Attacker, run int) error {
	for _, role := range []struct {
		name        string
		attackers   []attack.Attacker
		train, test minimax.Task
	}{{roleTarget, target, c.train.Targets[0], c.test.Targets[0]}, {rolePrivate, private, c.train.Private[0], c.test.Private[0]}} {
		for _, a := range role.attackers {
			score, err := attack.Accuracy(ctx, a,
				attack.Labeled{X: c.trainCode, Labels: role.train.Labels}, attack.Labeled{X: c.testCode, Labels: role.test.Labels}, len(role.train.Classes), uint64(run)) //nolint:gosec // not negative
			if err != nil {
				return err
			}
			s.add(minimaxPoint{minimaxPlace: at, Role: role.name, Attacker: a, Chance: score.Chance}, score.Value)
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
		out = append(out, slices.Concat(record(p.Part, p.Filter, p.Coordinates, epsilon, p.Role, p.Attacker), p.record(), record(fmt.Sprintf("%.4f", p.Chance))))
	}
	return out
}

// rows has a line for each filter and place: the target's accuracies, then the private ones.
func (s *minimaxStudy) rows() (rows []shell.Row) {
	for i, p := range s.points {
		same := func(q *minimaxPoint) bool { return p.is(&q.minimaxPlace) }
		if slices.ContainsFunc(s.points[:i], same) {
			continue
		}
		texts := map[string][]string{}
		for _, q := range which(s.points, same) {
			texts[q.Role] = append(texts[q.Role], fmt.Sprintf("%s %s", q.Attacker, q.text()))
		}
		where := fmt.Sprintf("d = %d", p.Coordinates)
		if p.Epsilon != nil {
			where += fmt.Sprintf(", epsilon %g", *p.Epsilon)
		}
		rows = append(rows, shell.Row{p.Filter, fmt.Sprintf("%s: accuracy of target %s; of private class %s", where, strings.Join(texts[roleTarget], ", "), strings.Join(texts[rolePrivate], ", "))})
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

// draw draws panels side by side, with bars of a standard deviation either way.
func (s *minimaxStudy) draw(out io.Writer, panels []minimaxPanel) error {
	var plots []*plot.Plot
	for k, panel := range panels {
		of := which(s.points, func(p *minimaxPoint) bool {
			return p.Part == panel.part && p.Role == panel.role && p.Attacker == panel.attacker
		})
		var lines []series
		for i, filter := range grouped(of, func(p *minimaxPoint) string { return p.Filter }) {
			line := series{name: filter.word, style: minimaxStyle(i)}
			for _, p := range filter.points {
				line.add(panel.at(p), p.Mean, p.Deviation)
			}
			lines = append(lines, line)
		}
		p, err := newPlot(panel.title, panel.x, "", lines)
		if err != nil {
			return err
		}
		if panel.ticks != nil {
			p.X.Tick.Marker = panel.ticks
		}
		if k > 0 && panel.part == panels[0].part {
			p.Legend = plot.NewLegend() // that of the first panel is enough
		}
		p.Legend.Top = true
		p.Y.Min, p.Y.Max = 0, 1+0.07*float64(len(lines)) // room for the legend
		p.Y.Tick.Marker = shareTicks
		plots = append(plots, p)
	}
	plots[0].Y.Label.Text = "accuracy on people not learned from"
	return writeRow(out, plots, vg.Length(len(plots))*12*vg.Centimeter, 12*vg.Centimeter)
}

func minimaxStyle(i int) draw.LineStyle {
	c := figure.Palette[i%len(figure.Palette)]
	if i < len(figure.Palette) {
		return figure.Solid(c, 1.8)
	}
	return figure.Dashed(c, 1.8)
}
