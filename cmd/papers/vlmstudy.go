package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/noisewright/noisewright/cmd/internal/figure"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/encoder/vlm"
)

// vlmSetting says how a network of images is trained.
type vlmSetting struct {
	people, epochs          int
	radius, trainingEpsilon float64
}

// String names the setting in a legend.
func (s vlmSetting) String() string {
	return fmt.Sprintf("l = %g, ε_pre = %g", s.radius, s.trainingEpsilon)
}

// vlmFull are the settings of full runs; quick ones have those of the flags.
var vlmFull = []vlmSetting{{45_000, 15, 5, 15}, {45_000, 15, 10, 27}}

// vlmFigure is a figure of accuracies.
type vlmFigure struct {
	name, short, about string
	data               string   // what --data is
	published          []string // what the paper says, as it prints no numbers
	run                func(context.Context, *vlmOptions) error
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

// vlmOptions are those of a figure.
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
	cmd := &cobra.Command{
		Use:   v.name,
		Short: v.short,
		Long: v.about + `

The paper is Mansbridge, Barbour, Piras, Murray, Frye, Feige and Barber, "Learning to
Noise" (arXiv 2010.12464). It prints no numbers for this figure; what it says in words
is printed beside ours. Written are ` + v.name + `.csv, the mean and the standard
deviation over the runs, and ` + v.name + `.svg.`,
		Example: "  papers " + v.name + " --data " + map[string]string{mnistFolder: "mnist", adultFile: "adult.csv.gz"}[v.data] + " -o results",
	}
	f := shell.NewFlags(cmd)
	f.Folder(&o.Common)
	if v.data == mnistFolder {
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
	f.Integer(&o.runs, "runs", "", 1, 1000, "runs, each with its own seed"+map[bool]string{true: ", without --full"}[v.data == mnistFolder])
	f.Summary(&o.Common, "output")
	f.Run(o.run)
	return cmd
}

func (o *vlmOptions) run(ctx context.Context) error {
	files, err := createPair(o.Streams, o.Output, o.figure.name) // before the work, which would be lost
	if err != nil {
		return err
	}
	defer files.discard()
	o.line = o.Progress()
	defer o.line.Clear()
	begin := time.Now()
	if err := o.figure.run(ctx, o); err != nil {
		return err
	}
	o.line.Clear()
	if err := csv.NewWriter(files.csv).WriteAll(o.study.records()); err != nil {
		return err
	}
	if err := o.study.draw(files.svg); err != nil {
		return err
	}
	if err := files.commit(); err != nil {
		return err
	}
	took := time.Since(begin)
	report := vlmReport{shell.Schema, o.figure.name, o.figure.published, o.study.points, math.Round(took.Seconds()), files.names}
	return o.Print(report, append(report.rows(), shell.Row{"time", took.Round(time.Second).String()}, filesRow(files)))
}

// settings are those of the networks of images.
func (o *vlmOptions) settings() []vlmSetting {
	if o.full {
		return vlmFull
	}
	return []vlmSetting{{o.people, o.epochs, 5, 15}}
}

// seeds are those of the runs, from 0.
func (o *vlmOptions) seeds() iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		seed := uint64(0)
		for range map[bool]int{false: o.runs, true: 1}[o.full] {
			if !yield(seed) {
				return
			}
			seed++
		}
	}
}

// vlmPoint is an accuracy.
type vlmPoint struct {
	Data   string `json:"data"`
	Series string `json:"series"`
	// Epsilon is nil without privacy.
	Epsilon   *float64 `json:"epsilon"`
	Mean      float64  `json:"accuracy"`
	Deviation float64  `json:"standard_deviation"` // over the runs
	Runs      int      `json:"runs"`
	values    []float64
}

// vlmStudy is accuracies.
type vlmStudy struct{ points []*vlmPoint }

// add adds a run; an infinite epsilon is none.
func (s *vlmStudy) add(data, series string, epsilon, accuracy float64) {
	at := slices.IndexFunc(s.points, func(p *vlmPoint) bool {
		return p.Data == data && p.Series == series && (p.Epsilon == nil) == math.IsInf(epsilon, 1) && (p.Epsilon == nil || *p.Epsilon == epsilon)
	})
	if at < 0 {
		at = len(s.points)
		s.points = append(s.points, &vlmPoint{Data: data, Series: series, Epsilon: shell.Finite(epsilon)})
	}
	p := s.points[at]
	p.values = append(p.values, accuracy)
	p.Runs = len(p.values)
	p.Mean, p.Deviation = meanAndDeviation(p.values)
}

func (s *vlmStudy) records() [][]string {
	out := [][]string{{"data", "series", "epsilon", "accuracy", "standard_deviation", "runs"}}
	for _, p := range s.points {
		epsilon := "inf"
		if p.Epsilon != nil {
			epsilon = fmt.Sprint(*p.Epsilon)
		}
		out = append(out, []string{p.Data, p.Series, epsilon, fmt.Sprintf("%.4f", p.Mean), fmt.Sprintf("%.4f", p.Deviation), strconv.Itoa(p.Runs)})
	}
	return out
}

// draw draws a panel for each data set: accuracies with bars of a standard deviation either
// way, those without privacy as lines across.
func (s *vlmStudy) draw(out *shell.Output) error {
	var plots []*plot.Plot
	for _, data := range s.data() {
		p := figure.New()
		p.Title.Text = data
		p.X.Label.Text = "ε"
		p.Y.Label.Text = "accuracy"
		var curves []figure.Curve
		left, right := s.epsilons(data)
		for i, series := range s.series(data) {
			style := figure.Solid(figure.Palette[i%len(figure.Palette)], 2)
			points, bars := plotter.XYs{}, plotter.YErrors{}
			for _, v := range s.points {
				if v.Data != data || v.Series != series {
					continue
				}
				if v.Epsilon == nil {
					style = figure.Dashed(figure.Palette[i%len(figure.Palette)], 1.4)
					points = plotter.XYs{{X: left, Y: v.Mean}, {X: right, Y: v.Mean}}
					break
				}
				points = append(points, plotter.XY{X: *v.Epsilon, Y: v.Mean})
				bars = append(bars, struct{ Low, High float64 }{v.Deviation, v.Deviation})
			}
			curves = append(curves, figure.Curve{Name: series, Points: points, Style: style})
			if len(bars) > 0 {
				b, err := plotter.NewYErrorBars(struct {
					plotter.XYs
					plotter.YErrors
				}{points, bars})
				if err != nil {
					return err
				}
				b.LineStyle = figure.Solid(style.Color, 1)
				p.Add(b)
			}
		}
		if err := figure.Add(p, curves); err != nil {
			return err
		}
		p.Legend.Top = true
		p.Legend.Left = true
		p.Legend.XOffs = vg.Points(8)
		p.Y.Min, p.Y.Max = 0, 1.25 // room for the legend
		p.Y.Tick.Marker = shareTicks
		plots = append(plots, p)
	}
	return figure.WriteRow(out, plots, vg.Length(len(plots))*17*vg.Centimeter, 12*vg.Centimeter)
}

// data are the data sets, in the order of the points.
func (s *vlmStudy) data() []string {
	return inOrder(s.points, func(p *vlmPoint) string { return p.Data })
}

func (s *vlmStudy) series(data string) []string {
	of := slices.DeleteFunc(slices.Clone(s.points), func(p *vlmPoint) bool { return p.Data != data })
	return inOrder(of, func(p *vlmPoint) string { return p.Series })
}

func (s *vlmStudy) epsilons(data string) (least, most float64) {
	least, most = math.Inf(1), math.Inf(-1)
	for _, p := range s.points {
		if p.Data == data && p.Epsilon != nil {
			least, most = min(least, *p.Epsilon), max(most, *p.Epsilon)
		}
	}
	return least, most
}

// inOrder returns the words of the points, each once, in their order.
func inOrder[P any](points []P, word func(P) string) (out []string) {
	for _, p := range points {
		if w := word(p); !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// vlmReport is what is printed as JSON.
type vlmReport struct {
	Schema    int         `json:"schema"`
	Name      string      `json:"name"`
	Published []string    `json:"published"`
	Points    []*vlmPoint `json:"points"`
	Seconds   float64     `json:"seconds"`
	Files     [2]string   `json:"files"`
}

func (r vlmReport) rows() (rows []shell.Row) {
	s := vlmStudy{r.Points}
	for _, data := range s.data() {
		for _, series := range s.series(data) {
			var parts []string
			for _, p := range s.points {
				if p.Data != data || p.Series != series {
					continue
				}
				at := ""
				if p.Epsilon != nil {
					at = fmt.Sprintf(" at %g", *p.Epsilon)
				}
				text := fmt.Sprintf("%.3f", p.Mean)
				if p.Runs > 1 {
					text += fmt.Sprintf(" ± %.3f", p.Deviation)
				}
				parts = append(parts, text+at)
			}
			rows = append(rows, shell.Row{data, series + ": " + strings.Join(parts, ", ")})
		}
	}
	for _, text := range r.Published {
		rows = append(rows, shell.Row{"published", text})
	}
	return rows
}

// vlmRelease is a release of encodings of some people.
func vlmRelease(ctx context.Context, m *vlm.Model, u encoder.Matrix, epsilon float64, seed uint64, purpose string) (encoder.Matrix, error) {
	noise, err := vlmNoise(ctx, m, epsilon)
	if err != nil {
		return encoder.Matrix{}, err
	}
	z := matrix(u.Rows, u.Cols)
	noise.Release(z.Data, u.Data, encoder.Rand(seed, purpose+fmt.Sprintf(", ε = %g", epsilon), 0))
	return z, nil
}
