package main

import (
	"cmp"
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
	"github.com/noisewright/noisewright/encoder/taskaware"
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

// taStudy collects points.
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

// meanAndDeviation returns those of a sample; the deviation of one number is 0.
func meanAndDeviation(x []float64) (mean, deviation float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		deviation += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(deviation / float64(max(len(x)-1, 1)))
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
		out = append(out, []string{
			p.Data, p.Protocol, string(p.Approach), strconv.Itoa(p.Coordinates), fmt.Sprint(p.Epsilon), trimmed(p.Mean), trimmed(p.Deviation),
			wrong, strconv.Itoa(p.Runs), strings.Join(p.Noise, " "), strconv.Itoa(p.Redrawn), strconv.Itoa(p.Replaced),
		})
	}
	return out
}

// taTitles are the titles of the protocols.
var taTitles = map[string]string{
	protocolPublished: "as published, no guarantee",
	protocolFormula:   "noise of the formula, no guarantee",
	protocolPromised:  "promised to everybody",
}

// draw draws a panel for each data set and protocol, with bars of a standard deviation of the
// runs either way.
func (s *taStudy) draw(out *shell.Output) error {
	panels := inOrder(s.points, func(p *trainedPoint) string { return p.Data + ": " + taTitles[p.Protocol] })
	var plots []*plot.Plot
	for _, title := range panels {
		of := slices.DeleteFunc(slices.Clone(s.points), func(p *trainedPoint) bool { return p.Data+": "+taTitles[p.Protocol] != title })
		p := figure.New()
		p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, "1/ε", "task loss, test people"
		var curves []figure.Curve
		top := 0.0
		for i, name := range inOrder(of, (*trainedPoint).series) {
			style := figure.Solid(figure.Palette[i%len(figure.Palette)], 2)
			points, bars := lineOf(of, name)
			for k, v := range points {
				top = max(top, v.Y+bars[k].High)
			}
			b, err := plotter.NewYErrorBars(struct {
				plotter.XYs
				plotter.YErrors
			}{points, bars})
			if err != nil {
				return err
			}
			b.LineStyle = figure.Solid(style.Color, 1)
			dots, err := plotter.NewScatter(points) // one ε makes no line
			if err != nil {
				return err
			}
			dots.GlyphStyle = draw.GlyphStyle{Color: style.Color, Radius: vg.Points(2.5), Shape: draw.CircleGlyph{}}
			p.Add(b, dots)
			curves = append(curves, figure.Curve{Name: name, Points: points, Style: style})
		}
		if err := figure.Add(p, curves); err != nil {
			return err
		}
		p.X.Min, p.Y.Min, p.Y.Max = 0, 0, 1.4*top // room for the legend
		plots = append(plots, p)
	}
	return figure.WritePanels(out, plots, 15*vg.Centimeter, 12*vg.Centimeter)
}

// lineOf returns the points of a series by 1/ε, and the bar of each.
func lineOf(all []*trainedPoint, series string) (points plotter.XYs, bars plotter.YErrors) {
	of := slices.DeleteFunc(slices.Clone(all), func(p *trainedPoint) bool { return p.series() != series })
	slices.SortFunc(of, func(a, b *trainedPoint) int { return cmp.Compare(b.Epsilon, a.Epsilon) })
	for _, p := range of {
		points = append(points, plotter.XY{X: 1 / p.Epsilon, Y: p.Mean})
		bars = append(bars, struct{ Low, High float64 }{p.Deviation, p.Deviation})
	}
	return points, bars
}

// series names the line that a point is on.
func (p *trainedPoint) series() string {
	if p.Approach == taskaware.Agnostic {
		return string(p.Approach)
	}
	return fmt.Sprintf("%s, z = %d", p.Approach, p.Coordinates)
}
