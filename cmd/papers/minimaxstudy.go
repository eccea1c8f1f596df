// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/attack"
	"github.com/noisewright/noisewright/cmd/internal/encoders/minimax"
	"github.com/noisewright/noisewright/cmd/internal/figure"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/cmd/papers/drolearn"
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

type minimaxStudy struct {
	points []*minimaxPoint
	seed   uint64
}

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

// scored is a point of a run.
type scored struct {
	minimaxPoint
	Value float64
}

// guess lets attackers guess both tasks.
func (s *minimaxStudy) guess(ctx context.Context, at minimaxPlace, c minimaxCodes, target, private []attack.Attacker, run int) (points []scored, err error) {
	for _, role := range []struct {
		name        string
		attackers   []attack.Attacker
		train, test minimax.Task
	}{{roleTarget, target, c.train.Targets[0], c.test.Targets[0]}, {rolePrivate, private, c.train.Private[0], c.test.Private[0]}} {
		for _, a := range role.attackers {
			score, err := attack.Guess(ctx, a, attack.People{X: c.trainCode, Target: role.train.Target()}, attack.People{X: c.testCode, Target: role.test.Target()}, runSeed(s.seed, run))
			if err != nil {
				return nil, err
			}
			points = append(points, scored{minimaxPoint{minimaxPlace: at, Role: role.name, Attacker: a, Chance: score.Chance}, score.Value})
		}
	}
	return points, nil
}

// score adds what attackers guess.
func (s *minimaxStudy) score(ctx context.Context, at minimaxPlace, c minimaxCodes, target, private []attack.Attacker, run int) error {
	points, err := s.guess(ctx, at, c, target, private, run)
	s.addAll(points)
	return err
}

func (s *minimaxStudy) addAll(points []scored) {
	for _, p := range points {
		s.add(p.minimaxPoint, p.Value)
	}
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
		if strings.HasSuffix(p.Part, where) {
			where = p.Part
		}
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
		p.Y.Min, p.Y.Max = 0, 1
		p.Y.Tick.Marker = shareTicks
		plots = append(plots, p)
	}
	plots[0].Y.Label.Text = "accuracy on people not learned from"
	return writeRow(out, plots, vg.Length(len(plots))*12*vg.Centimeter, 12*vg.Centimeter)
}

// drawAgainst draws a panel for each attacker: the accuracy of the private class against that of the
// target, a line through the numbers of coordinates of each filter, or one point.
func (s *minimaxStudy) drawAgainst(out io.Writer) error {
	at := func(p *minimaxPoint, role string, a attack.Attacker) *minimaxPoint {
		i := slices.IndexFunc(s.points, func(q *minimaxPoint) bool { return p.is(&q.minimaxPlace) && q.Role == role && q.Attacker == a })
		if i < 0 {
			return nil
		}
		return s.points[i]
	}
	filters := grouped(which(s.points, func(p *minimaxPoint) bool { return p.Role == roleTarget && p.Attacker == attack.Plain }), func(p *minimaxPoint) string { return p.Filter })
	var plots []*plot.Plot
	for _, private := range []attack.Attacker{attack.Plain, attack.Linear, attack.MLP, attack.RBF} {
		target := attack.Linear
		if private == attack.Plain {
			target = attack.Plain
		}
		var lines []series
		var drawn []int // numbers of coordinates
		for i, filter := range filters {
			line := series{name: filter.word, style: minimaxStyle(i), shape: map[string]draw.GlyphDrawer{noFilter: draw.SquareGlyph{}, maskFilter: draw.PlusGlyph{}}[filter.word]}
			for _, p := range filter.points {
				if x, y := at(p, roleTarget, target), at(p, rolePrivate, private); x != nil && y != nil {
					line.add(x.Mean, y.Mean, y.Deviation)
					if p.Part == partCoordinates && !slices.Contains(drawn, p.Coordinates) {
						drawn = append(drawn, p.Coordinates)
					}
				}
			}
			if line.points != nil {
				lines = append(lines, line)
			}
		}
		p, err := newPlot(fmt.Sprintf("attacker: %s; d = %s", private, commas(drawn)), "accuracy of the target", "", lines)
		if err != nil {
			return err
		}
		if len(plots) > 0 {
			p.Legend = plot.NewLegend() // that of the first panel is enough
		}
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0.4, 1, 0, 1
		p.Y.Tick.Marker = shareTicks
		plots = append(plots, p)
	}
	plots[0].Y.Label.Text = "accuracy of the private class"
	return writeRow(out, plots, vg.Length(len(plots))*10*vg.Centimeter, 12*vg.Centimeter)
}

func minimaxStyle(i int) draw.LineStyle {
	c := figure.Palette[i%len(figure.Palette)]
	if i < len(figure.Palette) {
		return figure.Solid(c, 1.8)
	}
	return figure.Dashed(c, 1.8)
}

// minimaxData is the columns of a CSV file: rows are people, with a target and a private class.
type minimaxData struct {
	file            string
	names           []string
	features        [][]float64 // by columns
	target, private encoders.Column
	parts           []string // of each row: train or test; nil if the file does not say
}

// aboutPeople says which data there are, of faces or not.
var aboutPeople = map[bool]string{true: "GENKI", false: "WISDM, in the place of the motion data of the paper"}

// readMinimax reads a file of faces or of activities. Columns without numbers are left out, missing
// numbers are the mean.
func readMinimax(s *shell.Streams, file string, faces bool) (*minimaxData, error) {
	target, private, split := "class", "user", ""
	if faces {
		target, private, split = "expression", "gender", "split"
	}
	header, columns, err := readColumns(s, file)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{target, private, split} {
		if name != "" && !slices.Contains(header, name) {
			return nil, shell.BadFile(file, fmt.Errorf("no column %s", name))
		}
	}
	d := &minimaxData{file: file}
	for i, name := range header {
		switch name {
		case target:
			d.target = classColumn(name, columns[i])
		case private:
			d.private = classColumn(name, columns[i])
		case split:
			d.parts = columns[i]
		case "UNIQUE_ID": // of the rows of WISDM
		default:
			if numbers, err := drolearn.Numbers(columns[i]); err == nil {
				d.names, d.features = append(d.names, name), append(d.features, numbers)
			}
		}
	}
	return d, nil
}

func classColumn(name string, texts []string) encoders.Column {
	c := encoders.Column{Name: name, Classes: distinct(texts), Labels: make([]int, len(texts))}
	for i, t := range texts {
		c.Labels[i], _ = slices.BinarySearch(c.Classes, t)
	}
	return c
}

// choose returns the rows of the given numbers, of features that vary among the rows of reference.
func (d *minimaxData) choose(rows, reference []int) minimax.Data {
	var kept [][]float64
	var names []string
	for j, column := range d.features {
		if slices.ContainsFunc(reference, func(i int) bool { return column[i] != column[reference[0]] }) {
			kept, names = append(kept, drolearn.Chosen(column, rows)), append(names, d.names[j])
		}
	}
	task := func(c encoders.Column) []minimax.Task { return []minimax.Task{{Column: chosen(c, rows)}} }
	return minimax.Data{Features: names, X: byRows(len(rows), kept), Targets: task(d.target), Private: task(d.private)}
}

// chosen returns the rows of a column, with the classes that are among them.
func chosen(c encoders.Column, rows []int) encoders.Column {
	texts := make([]string, len(rows))
	for k, i := range rows {
		texts[k] = c.Classes[c.Labels[i]]
	}
	return classColumn(c.Name, texts)
}

// given returns the parts that the file says.
func (d *minimaxData) given() (train, test minimax.Data, err error) {
	var rows [2][]int
	for i, part := range d.parts {
		switch part {
		case "train":
			rows[0] = append(rows[0], i)
		case "test":
			rows[1] = append(rows[1], i)
		default:
			return train, test, shell.BadFile(d.file, fmt.Errorf("row %d is of neither train nor test", i+1))
		}
	}
	return d.parted(rows[0], rows[1])
}

// parted returns parts, of which both have people.
func (d *minimaxData) parted(train, test []int) (minimax.Data, minimax.Data, error) {
	if len(train) < encoders.MinPeople || len(test) < encoders.MinPeople {
		return minimax.Data{}, minimax.Data{}, shell.BadFile(d.file, fmt.Errorf("%d rows to learn from and %d to test, want at least %d each", len(train), len(test), encoders.MinPeople))
	}
	a, b := d.choose(train, train), d.choose(test, train)
	for i, t := range [][2]minimax.Task{{a.Targets[0], b.Targets[0]}, {a.Private[0], b.Private[0]}} {
		if !slices.Equal(t[0].Classes, t[1].Classes) {
			return a, b, shell.BadFile(d.file, fmt.Errorf("other classes of %s to learn from than to test, want the same", []string{d.target.Name, d.private.Name}[i]))
		}
	}
	return a, b, nil
}

// people of the private column are chosen at random, and the rows of each are halved.
func (d *minimaxData) halved(people int, r *rand.Rand) (train, test minimax.Data, err error) {
	var rows [2][]int
	for _, k := range r.Perm(len(d.private.Classes))[:min(people, len(d.private.Classes))] {
		var own []int
		for i, l := range d.private.Labels {
			if l == k {
				own = append(own, i)
			}
		}
		r.Shuffle(len(own), func(i, j int) { own[i], own[j] = own[j], own[i] })
		rows[0], rows[1] = append(rows[0], own[:len(own)/2]...), append(rows[1], own[len(own)/2:]...)
	}
	return d.parted(rows[0], rows[1])
}

// standardize gives the columns of train the mean 0 and the variance 1, and does the same to test.
func standardize(train, test encoder.Matrix) {
	rows := float64(train.Rows)
	for j := range train.Cols {
		mean, square := 0.0, 0.0
		for i := range train.Rows {
			mean += train.Data[i*train.Stride+j] / rows
		}
		for i := range train.Rows {
			v := train.Data[i*train.Stride+j] - mean
			square += v * v / rows
		}
		for _, m := range []encoder.Matrix{train, test} {
			for i := range m.Rows {
				v := &m.Data[i*m.Stride+j]
				*v = (*v - mean) / math.Sqrt(square)
			}
		}
	}
}
