// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/vlm"
	"github.com/noisewright/noisewright/cmd/internal/figure"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/noise"
)

type vlmSetting struct {
	people, epochs          int
	radius, trainingEpsilon float64
}

func (s vlmSetting) String() string {
	return fmt.Sprintf("l = %g, ε_pre = %g", s.radius, s.trainingEpsilon)
}

var vlmFull = []vlmSetting{{45_000, 15, 5, 15}, {45_000, 15, 10, 27}}

type vlmFigure struct {
	name, short, about string
	data               string   // what --data is
	published          []string // what the paper says, as it prints no numbers
	run                func(*vlmOptions, context.Context) error
}

var vlmFigures = []vlmFigure{vlmFigure1, vlmFigure2, vlmFigure3, vlmFigure4, vlmFigure7}

const (
	mnistFolder = "folder of the four files of MNIST, perhaps compressed with gzip"
	adultFile   = "CSV file of the data set adult, perhaps compressed with gzip"
	mnistHelp   = `The data is MNIST (LeCun, Cortes and Burges), a folder with train-images-idx3-ubyte,
train-labels-idx1-ubyte, t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, each
perhaps with .gz. Quick runs train on 12,000 images, --full on 45,000, with one seed.`
	adultHelp = `The data is "Adult" of the UCI Machine Learning Repository
(https://archive.ics.uci.edu/dataset/2), a CSV file with its columns; it stands in for
the loans of the paper, which are not public in this form. Classes are balanced for
classifiers and tests by leaving people out, so an accuracy of 0.5 is chance.`
)

type vlmOptions struct {
	shell.Common
	figure               vlmFigure
	data, adult          string
	full                 bool
	runs, people, epochs int // of quick runs
	checkpoints          string
	// What tests make smaller: the values of ε, the hidden layers of a network of images (nil:
	// those of the paper), and the least number of steps of a network of adult.
	epsilons   []float64
	hidden     []int
	adultSteps int
	line       *shell.Progress
	study      vlmStudy
}

func newVLMFigureCommand(s *shell.Streams, v vlmFigure) *cobra.Command {
	o := &vlmOptions{Common: shell.Common{Streams: s}, figure: v, runs: 5, people: 12_000, epochs: 8, epsilons: []float64{10, 8, 6, 4, 2}, adultSteps: 1400}
	images := v.data == mnistFolder
	example, runs := "--data adult.csv.gz", "runs, each with its own seed"
	if images {
		example, runs = "--data mnist", runs+", without --full"
	}
	return command(&o.Common, v.name, example, v.short, v.about+`

The paper is Mansbridge, Barbour, Piras, Murray, Frye, Feige and Barber, "Learning to
Noise" (arXiv 2010.12464). It prints no numbers for this figure; what it says in words
is printed beside ours. Written are `+v.name+`.csv, the mean and the standard
deviation over the runs, and `+v.name+`.svg.`, o.run, func(f *shell.Flags) {
		if images {
			f.Directory(&o.data, "data", v.data)
			f.Bool(&o.full, "full", "45,000 images, 15 epochs, one run (7 minutes of a core for each of two networks)")
			f.Integer(&o.people, "people", "", 1, 1<<20, "images that train a network, without --full")
			f.Integer(&o.epochs, "epochs", "", 1, 1000, "epochs of training, without --full")
			f.Directory(&o.checkpoints, "checkpoints", "directory of trained networks, to go on from and to use again")
		} else {
			f.File(&o.data, "data", v.data, "csv", "gz")
		}
		f.Require(&o.data, "data", "a "+v.data+"; papers "+v.name+" --help says which")
		if v.name == vlmFigure1.name {
			f.File(&o.adult, "adult", "a second panel: "+adultFile, "csv", "gz")
		}
		f.Integer(&o.runs, "runs", "", 1, 1000, runs)
	})
}

func (o *vlmOptions) run(ctx context.Context) error {
	begin := time.Now()
	files, err := produce(&o.Common, func(line *shell.Progress) error {
		o.line = line
		return o.figure.run(o, ctx)
	}, output{o.figure.name, func() [][]string { return o.study.records() }, func(w io.Writer) error { return o.study.draw(w) }})
	if err != nil {
		return err
	}
	took := time.Since(begin)
	body := shell.Object{"published", o.figure.published, "points", o.study, "seconds", math.Round(took.Seconds())}
	rows := append(o.study.rows(), publishedRows(o.figure.published)...)
	return report(&o.Common, o.figure.name, body, append(rows, shell.Row{"time", took.Round(time.Second).String()}), files)
}

func (o *vlmOptions) settings() []vlmSetting {
	if o.full {
		return vlmFull
	}
	return []vlmSetting{{o.people, o.epochs, 5, 15}}
}

// seeds are those of the runs, below this number.
func (o *vlmOptions) seeds() uint64 {
	if o.full {
		return 1
	}
	return uint64(o.runs) //nolint:gosec // not negative
}

type vlmPoint struct {
	Data   string `json:"data"`
	Series string `json:"series"`
	// Epsilon is nil without privacy.
	Epsilon *float64 `json:"epsilon"`
	accuracies
}

type vlmStudy []*vlmPoint

// add adds a run; an infinite epsilon is none.
func (s *vlmStudy) add(data, series string, epsilon, accuracy float64) {
	like((*[]*vlmPoint)(s), vlmPoint{Data: data, Series: series, Epsilon: shell.Finite(epsilon)}, func(p *vlmPoint) bool {
		return p.Data == data && p.Series == series && noiseless(p.Epsilon) == epsilon
	}).add(accuracy)
}

// noiseless is infinite without noise.
func noiseless(epsilon *float64) float64 {
	if epsilon == nil {
		return math.Inf(1)
	}
	return *epsilon
}

// each calls do for each series of each data set, in the order of the points.
func (s vlmStudy) each(do func(data, series string, points vlmStudy)) {
	for _, data := range grouped(s, func(p *vlmPoint) string { return p.Data }) {
		for _, of := range grouped(data.points, func(p *vlmPoint) string { return p.Series }) {
			do(data.word, of.word, of.points)
		}
	}
}

func (s vlmStudy) records() [][]string {
	out := [][]string{{"data", "series", "epsilon", "accuracy", "standard_deviation", "runs"}}
	for _, p := range s {
		epsilon := "inf"
		if p.Epsilon != nil {
			epsilon = fmt.Sprint(*p.Epsilon)
		}
		out = append(out, append([]string{p.Data, p.Series, epsilon}, p.record()...))
	}
	return out
}

func (s vlmStudy) rows() (rows []shell.Row) {
	s.each(func(data, name string, points vlmStudy) {
		var parts []string
		for _, p := range points {
			at := ""
			if p.Epsilon != nil {
				at = fmt.Sprintf(" at %g", *p.Epsilon)
			}
			parts = append(parts, p.text()+at)
		}
		rows = append(rows, shell.Row{data, name + ": " + strings.Join(parts, ", ")})
	})
	return rows
}

// draw draws a panel for each data set: accuracies with bars of a standard deviation either
// way, those without privacy as lines across.
func (s vlmStudy) draw(out io.Writer) error {
	panels := map[string][]series{}
	s.each(func(data, name string, points vlmStudy) {
		ink := figure.Palette[len(panels[data])%len(figure.Palette)]
		line := series{name: name, style: figure.Solid(ink, 2), plain: true}
		for _, v := range points {
			if v.Epsilon != nil {
				line.add(*v.Epsilon, v.Mean, v.Deviation)
				continue
			}
			least, most := s.ends(data)
			line.style, line.points = figure.Dashed(ink, 1.4), plotter.XYs{{X: least, Y: v.Mean}, {X: most, Y: v.Mean}}
			break
		}
		panels[data] = append(panels[data], line)
	})
	var plots []*plot.Plot
	for _, data := range grouped(s, func(p *vlmPoint) string { return p.Data }) {
		p, err := newPlot(data.word, "ε", "accuracy", panels[data.word])
		if err != nil {
			return err
		}
		p.Legend.Top = true
		legendLeft(p)
		p.Y.Min, p.Y.Max = 0, 1.25 // room for the legend
		p.Y.Tick.Marker = shareTicks
		plots = append(plots, p)
	}
	return writeRow(out, plots, vg.Length(len(plots))*17*vg.Centimeter, 12*vg.Centimeter)
}

// ends are the least and the largest ε of a data set.
func (s vlmStudy) ends(data string) (least, most float64) {
	least, most = math.Inf(1), math.Inf(-1)
	for _, p := range s {
		if p.Data == data && p.Epsilon != nil {
			least, most = min(least, *p.Epsilon), max(most, *p.Epsilon)
		}
	}
	return least, most
}

// vlmRelease is a release of encodings of some people, with Laplace noise.
func vlmRelease(ctx context.Context, m *vlm.Model, u encoder.Matrix, epsilon float64, seed uint64, purpose string) (encoder.Matrix, error) {
	noise, err := encoder.NewNoise(ctx, noise.Laplace, m.Body, bundle.Promise{Epsilon: epsilon}, nil)
	if err != nil {
		return encoder.Matrix{}, err
	}
	z := matrix(u.Rows, u.Cols)
	noise.Release(z.Data, u.Data, encoders.Rand(seed, purpose+fmt.Sprintf(", ε = %g", epsilon), 0))
	return z, nil
}

const vlmTable1 = "vlm-table1"

type vlmTable1Options struct{ shell.Common }

func newVLMTable1Command(s *shell.Streams) *cobra.Command {
	o := &vlmTable1Options{shell.Common{Streams: s}}
	return command(&o.Common, vlmTable1, "", "Which part of a network has to be trained privately in which scenario",
		`Print which part of a network has to be trained with differential privacy for the
people of its training data, by scenario and by what is made of a release: the question
of appendix D of Mansbridge et al., "Learning to Noise" (arXiv 2010.12464). The rule is
one: a part that somebody else sees, or of which somebody sees what it computes. Noise
on encodings protects who is encoded, and nobody else.

noisewright encoder train vlm holds to this table. Written is vlm-table1.csv.`, o.run, func(*shell.Flags) {})
}

type vlmTable1Row struct {
	Scenario    vlm.Scenario `json:"scenario"`
	Level       vlm.Level    `json:"level"`
	EncoderSeen string       `json:"encoder_seen_by"`
	DecoderSeen string       `json:"decoder_seen_by"`
	Private     string       `json:"trained_privately"`
}

func vlmTable1Rows() (rows []vlmTable1Row, err error) {
	for _, s := range []vlm.Scenario{vlm.Collection, vlm.NovelClass, vlm.Joining} {
		for _, l := range []vlm.Level{vlm.Latent, vlm.Features} {
			row := vlmTable1Row{Scenario: s, Level: l, EncoderSeen: "those who are asked", DecoderSeen: "nobody"}
			switch {
			case s == vlm.Joining && l == vlm.Features:
				row.EncoderSeen, row.DecoderSeen = "the receiver, by features", "the receiver, by features"
			case s == vlm.Joining:
				row.EncoderSeen = "the receiver, by encodings"
			case l == vlm.Features:
				row.DecoderSeen = "nobody but who trained it"
			}
			parts, err := s.Private(l)
			if err != nil {
				return nil, err
			}
			row.Private = parts.String()
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func (o *vlmTable1Options) run(context.Context) error {
	rows, err := vlmTable1Rows()
	if err != nil {
		return err
	}
	all := [][]string{{"scenario", "level", "encoder_seen_by", "decoder_seen_by", "trained_privately"}}
	for _, r := range rows {
		all = append(all, record(r.Scenario, r.Level, r.EncoderSeen, r.DecoderSeen, r.Private))
	}
	files, err := produce(&o.Common, func(*shell.Progress) error { return nil }, output{name: vlmTable1, records: func() [][]string { return all }})
	if err != nil {
		return err
	}
	return o.PrintText(document(vlmTable1, shell.Object{"rows", rows}, files), func(b *strings.Builder) {
		for i, r := range all {
			b.WriteString("| " + strings.Join(r, " | ") + " |\n")
			if i == 0 {
				b.WriteString("|" + strings.Repeat(" --- |", len(r)) + "\n")
			}
		}
		b.WriteString("\nfile: " + files[0] + "\n")
	})
}
