// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/taskaware"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/internal/check"
)

// trainedPoint is the mean of runs.
type trainedPoint struct {
	Data      string             `json:"data"`
	Protocol  string             `json:"protocol"`
	Approach  taskaware.Approach `json:"approach"`
	Sent      sentNumbers        `json:"coordinates"`
	Epsilon   float64            `json:"epsilon"`
	Mean      float64            `json:"mean_loss"`
	Deviation *float64           `json:"deviation"` // of the runs; nil of one
	Wrong     float64            `json:"error"`     // share of wrong classes
	Runs      int                `json:"runs"`
	Noise     []string           `json:"noise"` // of the runs, distinct
	// Redrawn is how many trainings of the schedule began anew with the same answers for everybody,
	// and Replaced how many task networks were replaced by others for which each start ended so.
	Redrawn  int `json:"redrawn"`
	Replaced int `json:"task_networks_replaced"`

	coordinates   int // of the setting; as promised another number may be chosen
	losses, wrong []float64
}

// sentNumbers are the numbers of coordinates that runs send: one in most cases, in JSON too.
type sentNumbers []int

func (s sentNumbers) String() string { return joined(s, " or ") }

// MarshalJSON implements json.Marshaler.
func (s sentNumbers) MarshalJSON() ([]byte, error) {
	if len(s) == 1 {
		return json.Marshal(s[0])
	}
	return json.Marshal([]int(s))
}

type taStudy struct{ points []*trainedPoint }

func (s *taStudy) find(data, protocol string, a taskaware.Approach, z int, epsilon float64) *trainedPoint {
	for _, p := range s.points {
		if p.Data == data && p.Protocol == protocol && p.Approach == a && (p.coordinates == z || z == 0) && p.Epsilon == epsilon {
			return p
		}
	}
	return nil
}

func (s *taStudy) add(data, protocol string, a taskaware.Approach, z int, epsilon float64, o taOutcome) *trainedPoint {
	p := s.find(data, protocol, a, z, epsilon)
	if p == nil {
		p = &trainedPoint{Data: data, Protocol: protocol, Approach: a, coordinates: z, Epsilon: epsilon}
		s.points = append(s.points, p)
	}
	p.losses, p.wrong = append(p.losses, o.Loss), append(p.wrong, o.Wrong)
	p.Mean, _ = meanAndDeviation(p.losses)
	p.Deviation = deviationOf(p.losses)
	p.Wrong, _ = meanAndDeviation(p.wrong)
	p.Runs = len(p.losses)
	if !slices.Contains(p.Noise, o.noise) {
		p.Noise = append(p.Noise, o.noise)
	}
	if !slices.Contains(p.Sent, o.sent) {
		p.Sent = append(p.Sent, o.sent)
		slices.Sort(p.Sent)
	}
	return p
}

// taGain is by how much task-aware is better than another approach, as a share of its loss, by run.
type taGain struct {
	Data      string             `json:"data"`
	Protocol  string             `json:"protocol"`
	Than      taskaware.Approach `json:"than"`
	Sent      sentNumbers        `json:"coordinates"`
	Epsilon   float64            `json:"epsilon"`
	Share     float64            `json:"share"`
	Deviation *float64           `json:"deviation"` // nil of one run
	Runs      int                `json:"runs"`
}

func (s *taStudy) improvements() (out []taGain) {
	for _, p := range s.points {
		if p.Approach != taskaware.Aware {
			continue
		}
		for _, than := range []taskaware.Approach{taskaware.Agnostic, taskaware.PrivacyAgnostic} {
			z := p.coordinates
			if than == taskaware.Agnostic {
				z = 0
			}
			other := s.find(p.Data, p.Protocol, than, z, p.Epsilon)
			if other == nil {
				continue
			}
			var shares []float64
			for i := range min(p.Runs, other.Runs) {
				shares = append(shares, 1-p.losses[i]/other.losses[i])
			}
			share, _ := meanAndDeviation(shares)
			out = append(out, taGain{p.Data, p.Protocol, than, p.Sent, p.Epsilon, share, deviationOf(shares), len(shares)})
		}
	}
	return out
}

func (s *taStudy) records() [][]string {
	out := [][]string{{"data", "protocol", "approach", "coordinates", "epsilon", "mean_loss", "deviation", "error", "runs", "noise", "redrawn", "task_networks_replaced"}}
	five := func(v float64) string { return rounded(v, 5) }
	for _, p := range s.points {
		wrong := ""
		if p.Data != realEstate {
			wrong = rounded(p.Wrong, 5)
		}
		out = append(out, record(p.Data, p.Protocol, p.Approach, p.Sent, p.Epsilon, rounded(p.Mean, 5), deviationText(p.Deviation, five), wrong, p.Runs, strings.Join(p.Noise, " "), p.Redrawn, p.Replaced))
	}
	return out
}

var taTitles = map[string]string{
	protocolPublished: "as published, no guarantee",
	protocolFormula:   "noise of the formula, no guarantee",
	protocolPromised:  "promised to everybody",
}

// draw draws a panel for each data set and protocol, with bars of the runs' standard deviation.
func (s *taStudy) draw(out io.Writer) error {
	title := func(p *trainedPoint) string { return p.Data + ": " + taTitles[p.Protocol] }
	var plots []*plot.Plot
	for _, panel := range grouped(s.points, title) {
		var lines []series
		top := 0.0
		for i, of := range grouped(panel.points, (*trainedPoint).series) {
			line := lineOf(of.points, of.word)
			line.style = minimaxStyle(i)
			for k, v := range line.points {
				top = max(top, v.Y+line.bars[k].High)
			}
			lines = append(lines, line)
		}
		p, err := newPlot(panel.word, "1/ε", "task loss, test people", lines)
		if err != nil {
			return err
		}
		p.X.Min, p.Y.Min, p.Y.Max = 0, 0, 1.05*top
		plots = append(plots, p)
	}
	return writePanels(out, plots, 15*vg.Centimeter, 12*vg.Centimeter)
}

func lineOf(all []*trainedPoint, name string) series {
	of := which(all, func(p *trainedPoint) bool { return p.series() == name })
	slices.SortFunc(of, func(a, b *trainedPoint) int { return cmp.Compare(b.Epsilon, a.Epsilon) })
	line := series{name: name}
	for _, p := range of {
		line.add(1/p.Epsilon, p.Mean, bar(p.Deviation))
	}
	return line
}

// series names the line that a point is on.
func (p *trainedPoint) series() string {
	switch {
	case p.Approach == taskaware.Agnostic:
		return string(p.Approach)
	case p.Approach == taskaware.Aware && p.Protocol == protocolPromised:
		return string(p.Approach) + ", noise and z chosen"
	}
	return fmt.Sprintf("%s, z = %d", p.Approach, p.coordinates)
}

// taPeople are those of a data set, every column between 0 and 1 over all, as the authors have it.
type taPeople struct {
	all *encoders.Data
	fit int // the first so many are to learn from, the others to test
}

// The parts of MNIST that the authors' program uses.
const taTrainImages, taTestImages = 6000, 1000

func (o *taTrainedOptions) read(s *taSetting) (*taPeople, error) {
	switch s.data {
	case realEstate:
		return readTAPeople(o.Streams, o.realEstate, "Y house price of unit area", "No")
	case breastCancer:
		return readTAPeople(o.Streams, o.wdbc, "diagnosis", "id")
	default:
		return o.readDigits()
	}
}

func readTAPeople(s *shell.Streams, file, target, number string) (*taPeople, error) {
	header, columns, err := readColumns(s, file)
	if err != nil {
		return nil, err
	}
	at := slices.Index(header, target)
	if at < 0 {
		return nil, shell.BadFile(file, fmt.Errorf("no column %s", check.Quoted(target)))
	}
	rows := len(columns[at])
	d := &encoders.Data{Target: classColumn(target, columns[at])}
	// As in the authors' program the malignant class is the first.
	slices.Reverse(d.Target.Classes)
	for i, label := range d.Target.Labels {
		d.Target.Labels[i] = len(d.Target.Classes) - 1 - label
	}
	if values, err := floats(columns[at]); err == nil {
		d.Target = encoders.Column{Name: target, Values: values}
	}
	var features [][]float64
	for j, name := range header {
		if name == target || name == number {
			continue
		}
		values, err := floats(columns[j])
		if err != nil {
			return nil, shell.BadFile(file, fmt.Errorf("column %s: %w", check.Quoted(name), err))
		}
		unitRange(values)
		d.Features, features = append(d.Features, name), append(features, values)
	}
	d.X = byRows(rows, features)
	unitRange(d.Target.Values)
	if err := d.Validate(); err != nil {
		return nil, shell.BadFile(file, err)
	}
	return &taPeople{d, rows * 7 / 10}, nil
}

// byRows is a matrix of so many rows with these columns.
func byRows(rows int, columns [][]float64) encoder.Matrix {
	m := matrix(rows, len(columns))
	for j, column := range columns {
		for i, v := range column {
			m.Data[i*m.Cols+j] = v
		}
	}
	return m
}

func floats(column []string) ([]float64, error) {
	out := make([]float64, len(column))
	for i, text := range column {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("row %d is not a number", i+1)
		}
		out[i] = v
	}
	return out, nil
}

func unitRange(x []float64) {
	if len(x) == 0 {
		return
	}
	low, high := slices.Min(x), slices.Max(x)
	for i := range x {
		x[i] = (x[i] - low) / (high - low)
	}
}

// readDigits reads the images; pixels that are the same in all images to learn from are left out.
func (o *taTrainedOptions) readDigits() (*taPeople, error) {
	p := &taPeople{all: &encoders.Data{}}
	var pixels [][]byte
	for _, part := range []struct {
		name string
		most int
	}{{"train", taTrainImages}, {"t10k", taTestImages}} {
		images, err := readImages(o.digits, part.name)
		if err != nil {
			return nil, err
		}
		n := min(part.most, len(images.labels))
		size := len(images.pixels.Data) / images.pixels.Dims[0]
		for i := range n {
			pixels = append(pixels, images.pixels.Data[i*size:(i+1)*size])
		}
		p.all.Target.Labels = append(p.all.Target.Labels, images.labels[:n]...)
		if p.fit == 0 {
			p.fit = n
		}
	}
	for y := range digits {
		p.all.Target.Classes = append(p.all.Target.Classes, strconv.Itoa(y))
	}
	p.all.Target.Name = "digit"
	var kept []int
	for j := range pixels[0] {
		if slices.ContainsFunc(pixels[:p.fit], func(image []byte) bool { return image[j] != pixels[0][j] }) {
			kept = append(kept, j)
			p.all.Features = append(p.all.Features, fmt.Sprintf("pixel %d", j))
		}
	}
	p.all.X = matrix(len(pixels), len(kept))
	for i, image := range pixels {
		for k, j := range kept {
			p.all.X.Data[i*len(kept)+k] = float64(image[j]) / 255
		}
	}
	return p, nil
}

// split returns people to learn from and to test, in the order of the file for 0, else shuffled.
func (p *taPeople) split(order uint64) (train, test *encoders.Data) {
	rows := span(p.all.X.Rows, 0, 1)
	if order > 0 {
		rows = encoders.Rand(order, "split", 0).Perm(p.all.X.Rows)
	}
	return p.all.Pick(rows[:p.fit]), p.all.Pick(rows[p.fit:])
}
