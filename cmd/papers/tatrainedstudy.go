package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"github.com/noisewright/noisewright/cmd/internal/encoders/taskaware"
	"github.com/noisewright/noisewright/cmd/internal/figure"
)

// trainedPoint is the mean of runs.
type trainedPoint struct {
	Data        string             `json:"data"`
	Protocol    string             `json:"protocol"`
	Approach    taskaware.Approach `json:"approach"`
	Coordinates int                `json:"coordinates"` // those of the setting; noise says what was chosen
	Epsilon     float64            `json:"epsilon"`
	Mean        float64            `json:"mean_loss"`
	Deviation   float64            `json:"deviation"` // of the runs
	Wrong       float64            `json:"error"`     // share of wrong classes
	Runs        int                `json:"runs"`
	Noise       []string           `json:"noise"` // of the runs, distinct
	// Redrawn is how many trainings of the schedule began anew as their answers were the same
	// for everybody, and Replaced how many task networks were replaced by others for which
	// each start ended so.
	Redrawn  int `json:"redrawn"`
	Replaced int `json:"task_networks_replaced"`

	losses, wrong []float64
}

type taStudy struct{ points []*trainedPoint }

func (s *taStudy) find(data, protocol string, a taskaware.Approach, z int, epsilon float64) *trainedPoint {
	for _, p := range s.points {
		if p.Data == data && p.Protocol == protocol && p.Approach == a && (p.Coordinates == z || z == 0) && p.Epsilon == epsilon {
			return p
		}
	}
	return nil
}

func (s *taStudy) add(data, protocol string, a taskaware.Approach, z int, epsilon float64, e taskaware.Evaluation, noise string) *trainedPoint {
	p := s.find(data, protocol, a, z, epsilon)
	if p == nil {
		p = &trainedPoint{Data: data, Protocol: protocol, Approach: a, Coordinates: z, Epsilon: epsilon}
		s.points = append(s.points, p)
	}
	p.losses, p.wrong = append(p.losses, e.Loss), append(p.wrong, e.Wrong)
	p.Mean, p.Deviation = meanAndDeviation(p.losses)
	p.Wrong, _ = meanAndDeviation(p.wrong)
	p.Runs = len(p.losses)
	if !slices.Contains(p.Noise, noise) {
		p.Noise = append(p.Noise, noise)
	}
	return p
}

// taGain is by how much task-aware is better than another approach, as a share of the other's
// loss, run by run.
type taGain struct {
	Data        string             `json:"data"`
	Protocol    string             `json:"protocol"`
	Than        taskaware.Approach `json:"than"`
	Coordinates int                `json:"coordinates"`
	Epsilon     float64            `json:"epsilon"`
	Share       float64            `json:"share"`
	Deviation   float64            `json:"deviation"`
	Runs        int                `json:"runs"`
}

func (s *taStudy) improvements() (out []taGain) {
	for _, p := range s.points {
		if p.Approach != taskaware.Aware {
			continue
		}
		for _, than := range []taskaware.Approach{taskaware.Agnostic, taskaware.PrivacyAgnostic} {
			z := p.Coordinates
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
			share, deviation := meanAndDeviation(shares)
			out = append(out, taGain{p.Data, p.Protocol, than, p.Coordinates, p.Epsilon, share, deviation, len(shares)})
		}
	}
	return out
}

func (s *taStudy) records() [][]string {
	out := [][]string{{"data", "protocol", "approach", "coordinates", "epsilon", "mean_loss", "deviation", "error", "runs", "noise", "redrawn", "task_networks_replaced"}}
	for _, p := range s.points {
		wrong := ""
		if p.Data != realEstate {
			wrong = trimmed(p.Wrong)
		}
		out = append(out, record(p.Data, p.Protocol, p.Approach, p.Coordinates, p.Epsilon, trimmed(p.Mean), trimmed(p.Deviation), wrong, p.Runs, strings.Join(p.Noise, " "), p.Redrawn, p.Replaced))
	}
	return out
}

var taTitles = map[string]string{
	protocolPublished: "as published, no guarantee",
	protocolFormula:   "noise of the formula, no guarantee",
	protocolPromised:  "promised to everybody",
}

func trimmed(v float64) string { return strconv.FormatFloat(v, 'g', 5, 64) }

// draw draws a panel for each data set and protocol, with bars of a standard deviation of the
// runs either way.
func (s *taStudy) draw(out io.Writer) error {
	title := func(p *trainedPoint) string { return p.Data + ": " + taTitles[p.Protocol] }
	var plots []*plot.Plot
	for _, panel := range grouped(s.points, title) {
		var lines []series
		top := 0.0
		for i, of := range grouped(panel.points, (*trainedPoint).series) {
			line := lineOf(of.points, of.word)
			line.style = figure.Solid(figure.Palette[i%len(figure.Palette)], 2)
			for k, v := range line.points {
				top = max(top, v.Y+line.bars[k].High)
			}
			lines = append(lines, line)
		}
		p, err := newPlot(panel.word, "1/ε", "task loss, test people", lines)
		if err != nil {
			return err
		}
		p.X.Min, p.Y.Min, p.Y.Max = 0, 0, 1.4*top // room for the legend
		plots = append(plots, p)
	}
	return writePanels(out, plots, 15*vg.Centimeter, 12*vg.Centimeter)
}

func lineOf(all []*trainedPoint, name string) series {
	of := which(all, func(p *trainedPoint) bool { return p.series() == name })
	slices.SortFunc(of, func(a, b *trainedPoint) int { return cmp.Compare(b.Epsilon, a.Epsilon) })
	line := series{name: name}
	for _, p := range of {
		line.add(1/p.Epsilon, p.Mean, p.Deviation)
	}
	return line
}

// series names the line that a point is on.
func (p *trainedPoint) series() string {
	if p.Approach == taskaware.Agnostic {
		return string(p.Approach)
	}
	return fmt.Sprintf("%s, z = %d", p.Approach, p.Coordinates)
}
