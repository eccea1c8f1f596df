// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"image/color"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/noisewright/noisewright/cmd/internal/encoders"
	"github.com/noisewright/noisewright/cmd/internal/encoders/vlm"
	"github.com/noisewright/noisewright/cmd/internal/figure"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/noise"
)

// vlmFigure is a figure of the paper.
type vlmFigure struct {
	name, short string
	said        said
	images      bool // needs MNIST
	tables      bool // has panels of tables
	run         func(*vlmOptions, context.Context) error
}

const (
	mnistFolder = "folder of the four files of MNIST, perhaps compressed with gzip"
	adultFile   = "CSV file of the data set adult, perhaps compressed with gzip"
	loansFile   = "CSV file of the sample of Lending Club, perhaps compressed with gzip"
	mnistHelp   = `--data is MNIST (LeCun, Cortes and Burges), a folder with train-images-idx3-ubyte,
train-labels-idx1-ubyte, t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, each
perhaps with .gz.`
	tablesHelp = `--loans is the sample lending_club of the R package modeldata as CSV: 9,857 loans of
2016, where the paper has some 540,000 of 2007 to 2018 with other columns. --adult is
"Adult" of the UCI Machine Learning Repository
(https://archive.ics.uci.edu/dataset/2), beside it. Classes are balanced for
classifiers and tests by leaving people out, so an accuracy of 0.5 is chance.`
	trainingDiffers = `the accountant (subsampled Gaussian noise, exact; the paper names none) and the
epochs; encoder and decoder are trained privately together, for the paper's order
protects nobody (--published-order draws it too, without guarantee); l, epsilon_pre
and the share of epsilon are chosen from fewer`
	imagesDiffer = trainingDiffers + `;
classifiers of encodings are fitted through the known noise, with what is known of
encodings from the people who trained the network, and classifiers of features have
one hidden layer`
)

var vlmFigures = []vlmFigure{
	{
		name: "vlm-figure1", short: "Figure 1 of Mansbridge et al. (2020): clean accuracy by local epsilon, for data collection",
		said: said{
			caption: `Clean accuracy by local epsilon (infinite, 10, 8, 6, 4, 2, 1) for data collection: MNIST above, loans below;
latent level left, feature level right; a line for each central (epsilon, 1e-5) with which the encoder was trained`,
			differs: imagesDiffer + `;
encodings of digits are sharpened (fourth powers) at a local epsilon of at most 2; the
loans are a small sample`,
			published: []string{
				"direct noise is no better than chance for every local epsilon up to 100 on MNIST, and up to 20 on loans",
				"encodings with noise train classifiers far above chance",
			},
		},
		images: true, tables: true,
		run: func(o *vlmOptions, ctx context.Context) error {
			if err := o.collectImages(ctx, false, true, latentLevel, featureLevel); err != nil {
				return err
			}
			return o.collectTables(ctx)
		},
	},
	{
		name: vlmNovel, short: "Figure 2 of Mansbridge et al. (2020): clean accuracy by local epsilon, for a novel class",
		said: said{
			caption: `Clean accuracy by local epsilon for a novel class, a digit that the network has not seen against the others:
latent level left, feature level right; a line for each central (epsilon, 1e-5) with which the encoder was trained`,
			differs:   imagesDiffer + "; all of epsilon is for the encoding, for who is asked for a nine is known",
			published: []string{"about 75 % at local epsilon 2, for encodings and for features, and above chance at 1"},
		},
		images: true,
		run:    (*vlmOptions).novelClass,
	},
	{
		name: "vlm-figure3", short: "Figure 3 of Mansbridge et al. (2020): semi-private accuracy by local epsilon, for joining data",
		said: said{
			caption: `Semi-private accuracy by local epsilon for joining data, latent level: classifiers of clean features beside
encodings of the features of a second organization, tested on people whose encodings are private too; a line for
each central (epsilon, 1e-5) with which the encoder was trained`,
			differs: trainingDiffers + `; the loans are a small sample with other columns, divided so: the first
organization has the request and the person, the second the account`,
			published: []string{"clean features alone 56.1 %, all features clean 65.8 %, and a gain by joining for epsilon from 4 to 10 (loans)"},
		},
		tables: true,
		run:    (*vlmOptions).join,
	},
	{
		name: "vlm-figure4", short: "Figure 4 of Mansbridge et al. (2020): private accuracy by local epsilon, latent level",
		said: said{
			caption: `Private accuracy by local epsilon, latent level: the people who are classified send encodings with noise too,
all of epsilon; a line for each central (epsilon, 1e-5) with which the encoder was trained, and the bound (10)`,
			differs: imagesDiffer + `;
encodings are sharpened (fourth powers) at a local epsilon of at most 6`,
			published: []string{"the accuracy on private people stays below the bound (10)"},
		},
		images: true,
		run: func(o *vlmOptions, ctx context.Context) error {
			return o.collectImages(ctx, true, false, latentLevel)
		},
	},
	{
		name: "vlm-figure7", short: "Figure 7 of Mansbridge et al. (2020): private accuracy by local epsilon, feature level",
		said: said{
			caption: `Private accuracy by local epsilon, feature level: classifiers of what the decoder makes of encodings, of people
who send these with noise, all of epsilon; a line for each central (epsilon, 1e-5) with which the encoder was
trained, and the bound (10)`,
			differs:   imagesDiffer,
			published: []string{"no number in the text"},
		},
		images: true,
		run: func(o *vlmOptions, ctx context.Context) error {
			return o.collectImages(ctx, true, false, featureLevel)
		},
	},
}

// The epochs of --full.
const fullEpochs, fullCentralEpochs = 15, 8

type vlmOptions struct {
	shell.Common
	figure                        vlmFigure
	data, adult, loans            string
	full, order                   bool
	runs, tableRuns, collections  int
	people, epochs, centralEpochs int // of networks of images
	seed                          uint64
	checkpoints                   string
	epsilons, protected           []float64 // local and central ones
	networks                      []choice  // of images, to choose from; nil: those of the setting
	// What tests make smaller: the hidden layers of a network of images (nil: those of the paper),
	// and the least number of steps of a network of a table.
	hidden     []int
	tableSteps int
	line       *shell.Progress
	kept       *unfinished
	study      vlmStudy
	sizes      []string // of each data set, as the form of a run says
}

func newVLMFigureCommand(s *shell.Streams, v vlmFigure) *cobra.Command {
	o := &vlmOptions{
		Common: shell.Common{Streams: s}, figure: v, runs: 1, tableRuns: 1, collections: 1,
		people: 6000, epochs: 6, centralEpochs: 1, tableSteps: 1400,
	}
	if !v.images { // a run of a table is cheap, and its test small
		o.tableRuns = 3
	}
	example, help := "--data mnist", mnistHelp
	switch {
	case v.images && v.tables:
		example, help = "--data mnist --loans lending_club.csv.gz", mnistHelp+"\n\n"+tablesHelp
	case v.tables:
		example, help = "--loans lending_club.csv.gz --adult adult.csv.gz", tablesHelp
	}
	return paperCommand(&o.Common, v.name, example, v.short, v.said, `The share of epsilon for the encoding and the network are chosen for each epsilon by the
private answers of people who take part in nothing else, each spending epsilon once. The
people who are collected from send once for every choice in these studies; where it is
no study they would do so for what was chosen before.

`+help+`

The paper is Mansbridge, Barbour, Piras, Murray, Frye, Feige and Barber, "Learning to
Noise" (arXiv 2010.12464). It prints no numbers for this figure; what it says in words
is printed beside ours. Written are `+v.name+`.csv, the mean and the standard
deviation over the runs, the accuracy of the most frequent class for everybody
(chance), and how significantly the mean is above it (Student's one-sided test on
three runs or more, or on the --collections of fewer), and `+v.name+`.svg.
Noise is drawn in floating point. What a run that was stopped had finished is kept
in `+v.name+`.unfinished-…, and the same command goes on from there.`, o.run, func(f *shell.Flags) {
		if v.images {
			f.Directory(&o.data, "data", mnistFolder)
			f.Require(&o.data, "data", "a "+mnistFolder+"; papers "+v.name+" --help says which")
			f.Bool(&o.full, "full", "45,000 images and 15 epochs, two networks to choose from, 8 epochs with a central epsilon (some 24 minutes of a core)")
			f.Integer(&o.people, "people", "", 1, 1<<20, "images that train a network, without --full")
			f.Integer(&o.epochs, "epochs", "", 1, 1000, "epochs of training, without --full")
			f.Directory(&o.checkpoints, "checkpoints", "directory of networks without a central epsilon, to go on from and to use again")
			f.Texts("network", "L,EPSILON_PRE", "radius and training epsilon of a network of images to choose from; may be repeated (default 5,15, and 10,27 with --full)", o.readNetworks)
		}
		if v.tables {
			f.File(&o.loans, "loans", loansFile, "csv", "gz")
			f.File(&o.adult, "adult", adultFile, "csv", "gz")
			f.Integer(&o.tableRuns, "table-runs", "", 1, 1000, "runs of the tables, each with another split")
			f.Check(func() error {
				return shell.Refuse(!v.images && o.loans == "" && o.adult == "", "loans and adult are missing, want a CSV file of at least one")
			})
		}
		f.Func("local", "numbers", "inf,10,8,6,4,2,1", "local epsilons, inf for no noise", readEpsilons(&o.epsilons))
		f.Func("central", "numbers", "inf,5,1", "central epsilons, a line for each, inf for none", readEpsilons(&o.protected))
		f.Bool(&o.order, "published-order", "also lines of networks trained in the order of the paper, which protects nobody")
		f.Integer(&o.runs, "runs", "", 1, 1000, "runs, each with its own networks and people")
		f.Integer(&o.collections, "collections", "", 1, 1000, "times that the people of a run send their encodings, each with noise of its own; the accuracy of a run at latent level is the mean")
		seedFlag(f, &o.seed)
	})
}

// readEpsilons reads numbers above 0, perhaps infinite, in the order given.
func readEpsilons(to *[]float64) func(string) error {
	return func(text string) error {
		*to = nil
		for word := range strings.SplitSeq(text, ",") {
			v, err := strconv.ParseFloat(strings.TrimSpace(word), 64)
			if err != nil || !(v > 0) || slices.Contains(*to, v) {
				return shell.Want("different numbers above 0, or inf, separated by commas")
			}
			*to = append(*to, v)
		}
		return nil
	}
}

func (o *vlmOptions) readNetworks(texts []string) error {
	for _, text := range texts {
		l, e, err := shell.ParsePair(text)
		if err != nil || !check.Positive(l) || !check.Positive(e) {
			return shell.About("network", text, shell.Want("two numbers above 0: 5,15"))
		}
		o.networks = append(o.networks, choice{0, l, e})
	}
	return nil
}

func (o *vlmOptions) run(ctx context.Context) error {
	begin := time.Now()
	if o.full {
		o.people, o.epochs, o.centralEpochs = 45_000, fullEpochs, fullCentralEpochs
	}
	o.tableRuns = max(o.tableRuns, o.runs)
	var err error
	if o.kept, err = newUnfinished(&o.Common, o.figure.name, o.files(), o.people, o.epochs, o.centralEpochs, o.full, o.seed, o.networks, o.hidden, o.tableSteps, o.collections); err != nil {
		return err
	}
	files, err := produce(&o.Common, func(line *shell.Progress) error {
		o.line = line
		return o.figure.run(o, ctx)
	}, output{o.figure.name, func() [][]string { return o.study.records() }, func(w io.Writer) error { return o.study.draw(w) }})
	if err = o.kept.ended(&o.Common, err); err != nil {
		return err
	}
	took := time.Since(begin)
	says := o.figure.said
	says.form, says.against = o.form(), o.study.against(o.figure.name)
	body := shell.Object{"points", o.study, "seconds", math.Round(took.Seconds())}
	return says.print(&o.Common, o.figure.name, body, append(o.study.rows(), shell.Row{"time", took.Round(time.Second).String()}), files)
}

// form is the sizes of the run.
func (o *vlmOptions) form() string {
	sizes := slices.Clone(o.sizes)
	runs := shell.Counted(o.runs, "run")
	if o.figure.tables {
		of := shell.Counted(o.tableRuns, "run") + " of tables, each with another split"
		if runs += ", " + of; !o.figure.images {
			runs = of
		}
	}
	sizes = append(sizes, runs, shell.Counted(o.collections, "collection")+" in each", fmt.Sprintf("seed %d", o.seed))
	if !o.figure.images {
		return strings.Join(sizes, "; ")
	}
	return formOf(o.full, sizes...)
}

// size notes the sizes of a data set, once for all runs: of people there are for the network, and how it is trained.
func (o *vlmOptions) size(s *scene, available int, training string) {
	n := len(s.test.labels)
	text := fmt.Sprintf("%s: %d of %d train the network, %s, %d a classifier, %d are tested (standard error up to %.3f)",
		s.data, s.network.Rows, available, training, len(s.train.labels), n, 0.5/math.Sqrt(float64(n)))
	if !slices.ContainsFunc(o.sizes, func(old string) bool { return strings.HasPrefix(old, s.data+":") }) {
		o.sizes = append(o.sizes, text)
	}
}

// imageTraining says for how long networks of images are trained, beside --full.
func (o *vlmOptions) imageTraining() string {
	return fmt.Sprintf("%d of %d epochs (%d of %d with a central ε)", o.epochs, fullEpochs, min(o.epochs, o.centralEpochs), fullCentralEpochs)
}

// files are those of the data that are there; who reads them reports others.
func (o *vlmOptions) files() (files []string) {
	names := []string{o.loans, o.adult}
	for _, part := range []string{trainPart, testPart} {
		for _, name := range []string{imagesName, labelsName} {
			names = append(names, filepath.Join(o.data, part+name), filepath.Join(o.data, part+name+".gz"))
		}
	}
	for _, name := range names {
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
			files = append(files, name)
		}
	}
	return files
}

// flat is a text in one line.
func flat(text string) string { return strings.ReplaceAll(text, "\n", " ") }

// centrals are the lines: a guarantee for the training data in most.
func (o *vlmOptions) centrals() (lines []central) {
	for _, order := range []bool{false, true} {
		for _, epsilon := range o.protected {
			none := math.IsInf(epsilon, 1)
			switch {
			case order && (none || !o.order):
			case none:
				lines = append(lines, noCentral)
			case order:
				lines = append(lines, central{fmt.Sprintf("order of the paper, noise of central ε = %g", epsilon), epsilon, true})
			default:
				lines = append(lines, central{fmt.Sprintf("central ε = %g", epsilon), epsilon, false})
			}
		}
	}
	return lines
}

type vlmPoint struct {
	Data   string `json:"data"`
	Series string `json:"series"`
	// Epsilon is nil without privacy.
	Epsilon *float64 `json:"epsilon"`
	accuracies
	Chance float64 `json:"chance"` // accuracy of the most frequent class for everybody
	Tested int     `json:"tested"` // people tested in a run, the first of several
	// AboveChance is the level of significance at which the mean is above chance, by Student's one-sided test: on
	// the means of the runs if there are at least three, and otherwise on all collections, of these runs'
	// networks alone; nil where there is none.
	AboveChance *float64 `json:"p_above_chance"`

	collections [][]float64 // of each run
}

type vlmStudy []*vlmPoint

// at is a point of a scene without accuracies; an infinite epsilon is none.
func (s *scene) at(l level, series string, epsilon float64) vlmPoint {
	return vlmPoint{Data: s.data + ", " + string(l), Series: series, Epsilon: shell.Finite(epsilon), Chance: s.chance(), Tested: len(s.test.labels)}
}

// add adds a run to a point, with the accuracy of each of its collections.
func (s *vlmStudy) add(at vlmPoint, run ...float64) {
	p := like((*[]*vlmPoint)(s), at, func(p *vlmPoint) bool {
		return p.Data == at.Data && p.Series == at.Series && noiseless(p.Epsilon) == noiseless(at.Epsilon)
	})
	p.accuracies.add(stat.Mean(run, nil))
	p.collections = append(p.collections, run)
	p.Chance = max(p.Chance, at.Chance)
	p.AboveChance = p.significance()
}

// significance is that of a mean above chance; nil if there is none to be had.
func (p *vlmPoint) significance() *float64 {
	n, freedom, square := p.Runs, p.Runs-1, p.Deviation*p.Deviation
	if p.Runs < 3 {
		n, freedom, square = 0, 0, 0
		for _, run := range p.collections {
			_, deviation := meanAndDeviation(run)
			n, freedom, square = n+len(run), freedom+len(run)-1, square+float64(len(run)-1)*deviation*deviation
		}
		square /= float64(max(freedom, 1))
	}
	if freedom < 2 || square == 0 {
		return nil
	}
	t := (p.Mean - p.Chance) / math.Sqrt(square/float64(n))
	level := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(freedom)}.Survival(t)
	return &level
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
	out := [][]string{{"data", "series", "epsilon", "accuracy", "standard_deviation", "runs", "chance", "p_above_chance"}}
	for _, p := range s {
		epsilon := "inf"
		if p.Epsilon != nil {
			epsilon = fmt.Sprint(*p.Epsilon)
		}
		above := ""
		if p.AboveChance != nil {
			above = rounded(*p.AboveChance, 2)
		}
		out = append(out, slices.Concat([]string{p.Data, p.Series, epsilon}, p.record(), []string{rounded(p.Chance, 4), above}))
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
			if p.AboveChance != nil && p.Epsilon != nil {
				at += fmt.Sprintf(" (chance %.3f, p %s)", p.Chance, rounded(*p.AboveChance, 1))
			}
			parts = append(parts, p.text()+at)
		}
		rows = append(rows, shell.Row{data, fmt.Sprintf("%s, %d tested in a run: %s", name, points[0].Tested, strings.Join(parts, ", "))})
	})
	return rows
}

// beyond is where no noise at all is on the axis of ε.
const beyond = 12

// draw draws a panel for each data set and level, two in a row: accuracies with bars of a standard
// deviation either way, and those of clean features as lines across.
func (s vlmStudy) draw(out io.Writer) error {
	var plots []*plot.Plot
	for _, data := range grouped(s, func(p *vlmPoint) string { return p.Data }) {
		var panel []series
		drawn := 0
		for k, of := range grouped(data.points, func(p *vlmPoint) string { return p.Series }) {
			ink := figure.Palette[k%len(figure.Palette)]
			line := series{name: of.word, style: vlmStyle(ink, drawn)}
			for _, v := range of.points {
				line.add(min(noiseless(v.Epsilon), beyond), v.Mean, v.Deviation)
			}
			if len(of.points) == 1 && of.points[0].Epsilon == nil {
				v := of.points[0].Mean
				line.plain, line.bars = true, nil
				line.style, line.points = figure.Dashed(ink, 1.4), plotter.XYs{{X: 1, Y: v}, {X: beyond, Y: v}}
			} else {
				drawn++
			}
			panel = append(panel, line)
		}
		p, err := newPlot(data.word, "local ε", "accuracy", panel)
		if err != nil {
			return err
		}
		p.Y.Min, p.Y.Max = 0, 1
		p.Y.Tick.Marker = shareTicks
		p.X.Tick.Marker = plot.ConstantTicks{{Value: 1, Label: "1"}, {Value: 2, Label: "2"}, {Value: 4, Label: "4"}, {Value: 6, Label: "6"}, {Value: 8, Label: "8"}, {Value: 10, Label: "10"}, {Value: beyond, Label: "∞"}}
		plots = append(plots, p)
	}
	rows := make([][]*plot.Plot, 0, (len(plots)+1)/2)
	for row := range slices.Chunk(plots, 2) {
		rows = append(rows, append(row[:len(row):len(row)], make([]*plot.Plot, min(len(plots), 2)-len(row))...))
	}
	return writeRows(out, rows, vg.Length(len(rows[0]))*13*vg.Centimeter, vg.Length(len(rows))*10*vg.Centimeter)
}

// vlmStyle is that of a line of a panel. Each is narrower than those before it, over which it is drawn, and from the
// third on with gaps, so that both of two that coincide are seen.
func vlmStyle(ink color.Color, k int) draw.LineStyle {
	width := max(1.2, 3.6-float64(k))
	if k < 2 {
		return figure.Solid(ink, width)
	}
	return figure.Dashed(ink, width)
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

var vlmTable1Said = said{
	caption: `Which part of a network has to be trained with differential privacy for the people of its training data, by
scenario and by what is made of a release: the question of appendix D of Mansbridge et al., "Learning to Noise"
(arXiv 2010.12464)`,
	differs: `the rows follow from one rule, that a part is trained privately that somebody else sees, or of which
somebody sees what it computes, and are not copied from the paper, whose order of training (all without privacy, then
the encoder again beside the frozen decoder) protects nobody`,
	published: []string{"a table, which has no numbers"},
}

type vlmTable1Options struct{ shell.Common }

func newVLMTable1Command(s *shell.Streams) *cobra.Command {
	o := &vlmTable1Options{shell.Common{Streams: s}}
	return paperCommand(&o.Common, vlmTable1, "", "Which part of a network has to be trained privately in which scenario", vlmTable1Said,
		`Noise on encodings protects who is encoded, and nobody else.

noisewright encoder train vlm holds to this table. Written is vlm-table1.csv. Nothing is random.`, o.run, func(*shell.Flags) {})
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
	return o.PrintText(vlmTable1Said.document(vlmTable1, shell.Object{"rows", rows}, files), func(b *strings.Builder) {
		say := func(rows []shell.Row) {
			for _, r := range rows {
				b.WriteString(wrapped(r[0]+": "+r[1]) + "\n")
			}
		}
		say(vlmTable1Said.head())
		b.WriteByte('\n')
		for i, r := range all {
			b.WriteString("| " + strings.Join(r, " | ") + " |\n")
			if i == 0 {
				b.WriteString("|" + strings.Repeat(" --- |", len(r)) + "\n")
			}
		}
		b.WriteByte('\n')
		say(vlmTable1Said.tail(files))
	})
}
