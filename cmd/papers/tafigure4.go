// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/noisewright/noisewright/cmd/internal/encoders/taskaware"
	"github.com/noisewright/noisewright/cmd/internal/figure"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/internal/csvfile"
	"github.com/noisewright/noisewright/internal/taskspace"
	"github.com/noisewright/noisewright/latent"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/tables"
)

type taFigure4Options struct {
	shell.Common
	data   string // CSV file of days
	cache  string // directory of designed tables
	design lp.Options
}

func newTAFigure4Command(s *shell.Streams) *cobra.Command {
	o := &taFigure4Options{Common: shell.Common{Streams: s}, design: designOptions(0.005)}
	o.design.TimeLimit = 5 * time.Second
	return paperCommand(&o.Common, "ta-figure4", "--data household_daily_profiles.csv.gz", "Figure 4 of Cheng, Tang & Chinchali (2022): hourly household power", taFigure4Said,
		`It is the experiment behind a figure of Cheng, Tang & Chinchali, "Task-aware privacy
preservation for multi-dimensional data" (2022): one min-max normalization over all days,
the first 70 % for training. Losses are exact expectations per hour; no noise is drawn,
and nothing is random. Three protocols:

  published  noise as in the authors' program, of scale D/(sqrt 2 epsilon), where
             D is the largest l1 distance of two encoded days in the set that is
             evaluated: sqrt 2 too little for the epsilon claimed, and a promise
             to these days only
  formula    the scale D/epsilon of the paper's theory, with the same D; designed
             noise at delta 1e-5 and 1e-3, its sensitivities being the ranges of
             the coordinates in the same set, stands beside it
  domain     what can be promised to everybody: task coordinates clipped to the
             0.99 quantile of the training days, with Laplace, Gaussian, truncated
             Laplace and designed noise

Written are ta-figure4.csv and ta-figure4.svg, and the mean squared error of every
hour on the test days at epsilon 5, ta-figure4-hours.csv and ta-figure4-hours.svg.

The data is "Individual household electric power consumption" of the UCI Machine
Learning Repository (https://archive.ics.uci.edu/dataset/235), as a CSV file with a
row per day and columns h00 to h23, the mean of Global_active_power in every hour,
perhaps compressed with gzip. --data names it.`, o.run, func(f *shell.Flags) {
			f.Effort(&o.design, " of one design")
			f.File(&o.data, "data", "CSV file of days, perhaps compressed with gzip", "csv", "gz")
			f.Require(&o.data, "data", "a CSV file of days; papers ta-figure4 --help says which")
			f.Directory(&o.cache, "cache", cacheUsage)
		})
}

var taFigure4Said = said{
	caption: `Hourly household power, with double weight from 8 to 20 h: the task loss of the task-aware, the task-agnostic and the
privacy-agnostic encoder against 1/epsilon, and the mean squared error of every hour at epsilon 5`,
	differs: `losses are expectations and not of draws; the published noise is sqrt 2 too small for its epsilon, so beside it are the noise of the
formula, and what can be promised to everybody; designed noise, of delta 1e-5 and 1e-3, is ours`,
	published: []string{"at most 22.9 % better than task-agnostic, at epsilon 10, and 11.7 % than privacy-agnostic, at epsilon 5"},
}

const cacheUsage = "directory of designed tables, used again in later designs (default: that of the user, - for none)"

func (o *taFigure4Options) run(ctx context.Context) error {
	store, err := shell.NewStore(o.Streams, o.cache, o.design)
	if err != nil {
		return err
	}
	e, err := newTAExperiment(o.Streams, o.data, store)
	if err != nil {
		return err
	}
	files, err := produce(&o.Common, func(line *shell.Progress) error { return shell.LatentFailure(e.run(ctx, line)) },
		output{"ta-figure4", e.records, e.draw}, output{"ta-figure4-hours", e.hourRecords, e.drawHours})
	if err != nil {
		return err
	}
	improvements := e.improvements()
	return taFigure4Said.print(&o.Common, "ta-figure4", shell.Object{"improvements", improvements}, improvementRows(improvements), files)
}

// taImprovement is by how much an approach is better than another at most, as a share
// of the other's loss, and at which ε.
type taImprovement struct {
	Protocol string  `json:"protocol"`
	Approach string  `json:"approach"`
	Delta    float64 `json:"delta"`
	Than     string  `json:"than"`
	Share    float64 `json:"share"`
	Epsilon  float64 `json:"epsilon"`
}

func (e *taExperiment) improvements() (out []taImprovement) {
	for _, protocol := range []string{protocolPublished, protocolFormula, protocolDomain} {
		out = append(out,
			e.improvement(protocol, taskAware, 0, taskAgnostic),
			e.improvement(protocol, taskAware, 0, privacyAgnostic))
		for _, delta := range taDeltas {
			if protocol != protocolPublished {
				out = append(out, e.improvement(protocol, string(bundle.Designed), delta, taskAware))
			}
		}
	}
	return out
}

func (e *taExperiment) improvement(protocol, approach string, delta float64, than string) taImprovement {
	best := taImprovement{protocol, approach, delta, than, math.Inf(-1), 0}
	for _, epsilon := range taEpsilons {
		a, b := e.find(protocol, approach, epsilon, delta), e.find(protocol, than, epsilon, 0)
		if a == nil || b == nil {
			continue
		}
		if share := 1 - a.test/b.test; share > best.Share {
			best.Share, best.Epsilon = share, epsilon
		}
	}
	return best
}

func improvementRows(all []taImprovement) (rows []shell.Row) {
	for _, i := range all {
		text := fmt.Sprintf("%s is at most %s better than %s, at epsilon %g", i.Approach, shell.Percent(i.Share), i.Than, i.Epsilon)
		if i.Delta > 0 {
			text = fmt.Sprintf("designed noise at delta %g is at most %s better than task-aware with Laplace noise, at epsilon %g", i.Delta, shell.Percent(i.Share), i.Epsilon)
		}
		rows = append(rows, shell.Row{i.Protocol, text})
	}
	return rows
}

type taPanel struct {
	protocol, title string
	deltas          []float64 // of designed noise
}

// draw draws the loss by 1/ε, a panel per protocol.
func (e *taExperiment) draw(out io.Writer) error {
	panels := []taPanel{
		{protocolPublished, "as published (noise √2 too small)", nil},
		{protocolFormula, "noise of the formula, sensitivity of the data", taDeltas},
		{protocolDomain, "promised to everybody: clipped domain", taDeltas},
	}
	return drawPanels(out, panels, "1/ε", "task loss per hour, test days", 34*vg.Centimeter, func(p *plot.Plot) {
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 0.036
	}, func(protocol, approach string, delta float64) (points plotter.XYs) {
		for _, epsilon := range taEpsilons {
			if l := e.find(protocol, approach, epsilon, delta); l != nil {
				points = append(points, plotter.XY{X: 1 / epsilon, Y: l.test})
			}
		}
		return points
	})
}

const hoursEpsilon = 5

// drawHours draws the error of every hour: with the published noise and with that of the formula.
func (e *taExperiment) drawHours(out io.Writer) error {
	panels := []taPanel{
		{protocolPublished, "ε = 5, as published (noise √2 too small)", nil},
		{protocolFormula, "ε = 5, noise of the formula", taDeltas[:1]},
	}
	return drawPanels(out, panels, "hour of the day (8 to 19 count double)", "mean squared error, test days", 30*vg.Centimeter, func(p *plot.Plot) {
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, taHours-1, 0, 0.03
	}, func(protocol, approach string, delta float64) (points plotter.XYs) {
		if l := e.find(protocol, approach, hoursEpsilon, delta); l != nil {
			for h, v := range e.unweighted(l) {
				points = append(points, plotter.XY{X: float64(h), Y: v})
			}
		}
		return points
	})
}

// drawPanels draws the approaches of the paper and designed noise side by side by protocol.
func drawPanels(out io.Writer, panels []taPanel, x, y string, width vg.Length, finish func(*plot.Plot), line func(protocol, approach string, delta float64) plotter.XYs) error {
	var plots []*plot.Plot
	for _, panel := range panels {
		curves := taCurves(func(approach string) plotter.XYs { return line(panel.protocol, approach, 0) })
		for i, delta := range panel.deltas {
			style := figure.Solid(figure.Palette[3], 3.5)
			if i > 0 { // on top, and narrower: the lines may coincide
				style = figure.Dashed(figure.Palette[4], 1.5)
			}
			curves = append(curves, series{name: fmt.Sprintf("designed, δ = %g", delta), points: line(panel.protocol, string(bundle.Designed), delta), style: style})
		}
		p, err := newPlot(panel.title, x, "", curves)
		if err != nil {
			return err
		}
		finish(p)
		plots = append(plots, p)
	}
	plots[0].Y.Label.Text = y
	return writeRow(out, plots, width, 12*vg.Centimeter)
}

// taEpsilons are those of figure 4, whose axis is 1/ε.
var taEpsilons = []float64{1, 1.5, 3, 5, 10, 50}

// taDeltas are those of the designed noise beside it.
var taDeltas = []float64{1e-5, 1e-3}

// The protocols of the experiment.
const (
	// The noise of the authors' program: its scale is Δ/(√2·ε), and Δ the largest
	// distance in the data. It is (√2·ε)-private for nobody but these people.
	protocolPublished = "published"
	// The same with the scale Δ/ε of the paper.
	protocolFormula = "formula"
	// Clipping to a domain, so that the promise holds for every input.
	protocolDomain = "domain"
)

type taLoss struct {
	protocol, approach string
	epsilon, delta     float64
	z                  int
	train, test        float64   // per hour
	hours              []float64 // of test
}

// taExperiment is figure 4: hourly household power, with double weight from 8 to 20 h.
type taExperiment struct {
	train, test mat.Matrix
	task        *mat.Dense
	names       []string
	coordinates *taskspace.Coordinates
	moments     taskspace.Moments
	radius      float64
	store       *tables.Store
	losses      []taLoss
}

const taHours = 24

// The encoders of the paper, by the names that candidates of package latent have.
const (
	taskAware       = "task-aware"
	taskAgnostic    = "task-agnostic"
	privacyAgnostic = "privacy-agnostic"
)

// newTAExperiment reads the profiles, normalizes all of them together, as the
// authors do, and takes the first 70 % for training.
func newTAExperiment(a *shell.Streams, file string, store *tables.Store) (*taExperiment, error) {
	f, err := a.ReadFrame(file, csvfile.Options{}, func(name string) bool { return csvfile.Matches([]string{"h[0-9][0-9]"}, name) }, false)
	if err != nil {
		return nil, err
	}
	want := make([]string, taHours)
	for h := range want {
		want[h] = fmt.Sprintf("h%02d", h)
	}
	if !slices.Equal(f.Names, want) || f.Rows < 100 {
		return nil, shell.BadInput("", fmt.Errorf("%s: want columns h00 to h23, the mean power of each hour, and at least 100 days", shell.InputName(file)))
	}
	unitRange(f.Data)
	all := mat.NewDense(f.Rows, taHours, f.Data)
	split := f.Rows * 7 / 10
	e := &taExperiment{
		train: all.Slice(0, split, 0, taHours), test: all.Slice(split, f.Rows, 0, taHours),
		task: taskspace.Identity(taHours), names: want, store: store,
	}
	for h := 8; h < 20; h++ {
		e.task.Set(h, h, 2)
	}
	if e.moments, err = taskspace.NewMoments(e.train); err != nil {
		return nil, shell.BadInput("", err)
	}
	if e.coordinates, err = taskspace.NewCoordinates(e.moments, e.task, 0); err != nil {
		return nil, shell.BadInput("", err)
	}
	e.radius = taskspace.BallRadii(e.coordinates.Transform(e.train), 1)[taHours-1]
	return e, nil
}

// rows returns the first task coordinates with squared scales, as rows of an
// encoder that clips nothing.
func (e *taExperiment) rows(squared []float64) *taskspace.Encoder {
	var entries []float64
	for i, s := range squared {
		if s == 0 {
			continue
		}
		for _, a := range e.coordinates.Analysis.RawRowView(i) {
			entries = append(entries, math.Sqrt(s)*a)
		}
	}
	return &taskspace.Encoder{Rows: mat.NewDense(len(entries)/taHours, taHours, entries), Mean: e.coordinates.Mean}
}

// sampled evaluates an encoder with noise whose variances are a function of the
// encoded people of the set that is evaluated.
func (e *taExperiment) sampled(l taLoss, encoder *taskspace.Encoder, variances func(u *mat.Dense) []float64) error {
	for _, set := range []struct {
		data  mat.Matrix
		value *float64
		hours *[]float64
	}{{e.train, &l.train, nil}, {e.test, &l.test, &l.hours}} {
		v := variances(encoder.Encode(set.data))
		l.z = len(v)
		d, err := taskspace.NewDecoder(encoder.UnclippedMoments(e.moments), v)
		if err != nil {
			return err
		}
		loss, err := taskspace.ExpectedLoss(e.task, encoder, d, set.data, v)
		if err != nil {
			return err
		}
		*set.value = loss.Total / taHours
		if set.hours != nil {
			*set.hours = loss.Output
		}
	}
	e.losses = append(e.losses, l)
	return nil
}

func (e *taExperiment) approaches(protocol string, epsilon float64) error {
	factor := 2.0 // Laplace noise of scale b has the variance 2b²
	if protocol == protocolPublished {
		factor = 1
	}
	noise := func(u *mat.Dense) []float64 {
		_, z := u.Dims()
		b := taskaware.LargestDistance(u.RawMatrix()) / epsilon
		return slices.Repeat([]float64{factor * b * b}, z)
	}
	aware, err := taskspace.Waterfill(e.coordinates.Lambda, e.radius, epsilon)
	if err != nil {
		return err
	}
	for _, approach := range []struct {
		name    string
		encoder *taskspace.Encoder
	}{
		{taskAware, e.rows(aware.Sigma2)},
		{taskAgnostic, &taskspace.Encoder{Rows: taskspace.Identity(taHours), Mean: e.coordinates.Mean}},
		{privacyAgnostic, e.rows([]float64{1, 1, 1})},
	} {
		if err := e.sampled(taLoss{protocol: protocol, approach: approach.name, epsilon: epsilon}, approach.encoder, noise); err != nil {
			return err
		}
	}
	return nil
}

// designed evaluates designed noise per coordinate where, as in the paper's
// experiment, the sensitivity is what the data shows: the range of each coordinate.
func (e *taExperiment) designed(ctx context.Context, epsilon, delta float64) error {
	ranges := func(u *mat.Dense) []float64 {
		_, z := u.Dims()
		out := make([]float64, z)
		for i := range out {
			column := mat.Col(nil, i, u)
			out[i] = slices.Max(column) - slices.Min(column)
		}
		return out
	}
	half := ranges(e.coordinates.Transform(e.train))
	for i := range half {
		half[i] /= 2
	}
	variances, err := (&latent.Options{Store: e.store}).Split(ctx, e.coordinates.Lambda, half, epsilon, delta)
	if err != nil {
		return err
	}
	used := make([]float64, len(variances))
	var unit []float64
	for i, v := range variances {
		if v > 0 {
			used[i] = 1
			unit = append(unit, v)
		}
	}
	return e.sampled(taLoss{protocol: protocolFormula, approach: string(bundle.Designed), epsilon: epsilon, delta: delta}, e.rows(used), func(u *mat.Dense) []float64 {
		v := ranges(u)
		for i := range v {
			v[i] *= v[i] * unit[i]
		}
		return v
	})
}

// taClip is the share of training days that clipping leaves alone, coordinate by coordinate.
const taClip = 0.99

// domain evaluates what can be promised to everybody.
func (e *taExperiment) domain(ctx context.Context, epsilon, delta float64) error {
	r, err := latent.Design(ctx, latent.Problem{
		Features: e.names, Data: e.train, Task: e.task, Promise: bundle.Promise{Epsilon: epsilon, Delta: delta}, Domain: bundle.Box, Clip: taClip,
	}, latent.Options{Store: e.store, Kinds: []bundle.Kind{noise.Laplace, noise.Gaussian, noise.TruncatedLaplace, bundle.Designed}})
	if err != nil {
		return err
	}
	for _, c := range r.Candidates {
		approach := string(c.Noise)
		switch {
		case c.Noise == noise.Laplace && delta == taDeltas[0]:
			approach = c.Encoder // the paper's approaches; they do not use δ
		case c.Noise == noise.Laplace || c.Encoder != taskAware:
			continue
		}
		l := taLoss{protocol: protocolDomain, approach: approach, epsilon: epsilon, delta: delta, z: c.Z, train: c.Loss / taHours}
		if c.Noise == noise.Laplace {
			l.delta = 0
		}
		test, err := r.Loss(c, e.test)
		if err != nil {
			return err
		}
		l.test, l.hours = test.Total/taHours, test.Output
		e.losses = append(e.losses, l)
	}
	return nil
}

func (e *taExperiment) find(protocol, approach string, epsilon, delta float64) *taLoss {
	for i := range e.losses {
		if l := &e.losses[i]; l.protocol == protocol && l.approach == approach && l.epsilon == epsilon && l.delta == delta {
			return l
		}
	}
	return nil
}

func (e *taExperiment) run(ctx context.Context, line *shell.Progress) error {
	for i, epsilon := range taEpsilons {
		line.Count("evaluating", i, len(taEpsilons))
		for _, protocol := range []string{protocolPublished, protocolFormula} {
			if err := e.approaches(protocol, epsilon); err != nil {
				return err
			}
		}
		for _, delta := range taDeltas {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := e.designed(ctx, epsilon, delta); err != nil {
				return err
			}
			if err := e.domain(ctx, epsilon, delta); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *taExperiment) records() [][]string {
	out := [][]string{{"protocol", "approach", "epsilon", "one_over_epsilon", "delta", "z", "train_loss", "test_loss"}}
	for _, l := range e.losses {
		out = append(out, record(l.protocol, l.approach, l.epsilon, rounded(1/l.epsilon, 6), l.delta, l.z, rounded(l.train, 6), rounded(l.test, 6)))
	}
	return out
}

func (e *taExperiment) hourRecords() [][]string {
	out := [][]string{{"protocol", "approach", "delta", "hour", "test_loss"}}
	for i := range e.losses {
		l := &e.losses[i]
		if l.epsilon != hoursEpsilon {
			continue
		}
		for h, v := range e.unweighted(l) {
			out = append(out, record(l.protocol, l.approach, l.delta, h, rounded(v, 6)))
		}
	}
	return out
}

// unweighted are the losses of hours without their weights in the task.
func (e *taExperiment) unweighted(l *taLoss) []float64 {
	out := slices.Clone(l.hours)
	for h := range out {
		w := e.task.At(h, h)
		out[h] /= w * w
	}
	return out
}

// The approaches of Cheng, Tang & Chinchali (2022), and their curves.
var taStyles = []struct {
	name  string
	style draw.LineStyle
}{
	{"task-aware", draw.LineStyle{Color: figure.Blue, Width: vg.Points(2)}},
	{"task-agnostic", draw.LineStyle{Color: figure.Vermilion, Width: vg.Points(1.4), Dashes: []vg.Length{vg.Points(5), vg.Points(3)}}},
	{"privacy-agnostic", draw.LineStyle{Color: figure.Green, Width: vg.Points(1.4), Dashes: []vg.Length{vg.Points(2), vg.Points(2)}}},
}

// taCurves are those of the approaches, the first on top.
func taCurves(line func(approach string) plotter.XYs) (out []series) {
	for _, s := range slices.Backward(taStyles) {
		out = append(out, series{name: s.name, points: line(s.name), style: s.style})
	}
	return out
}
