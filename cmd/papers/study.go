// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/noisewright/noisewright/cmd/internal/figure"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/internal/csvfile"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/lp/highs"
)

// What the commands of all papers share: their files, the means of runs, lines with bars.

// command completes a command that writes into a folder and prints a summary. Its name is
// that of the files, and example are the flags of an example.
func command(c *shell.Common, name, example, short, long string, run func(context.Context) error, flags func(*shell.Flags)) *cobra.Command {
	if example != "" {
		example += " "
	}
	f := shell.NewFlags(&cobra.Command{Use: name, Short: short, Long: long, Example: "  papers " + name + " " + example + "-o results"})
	c.Output = "."
	f.Check(func() error {
		c.Force = true
		return nil
	})
	f.Output(c, "folder to write to, made if it is missing; files of the same names are replaced")
	f.Require(&c.Output, "output", "a folder")
	flags(f)
	f.Summary(c, "output")
	return f.Run(run)
}

// output is NAME.csv and, if there is something to draw, NAME.svg.
type output struct {
	name    string
	records func() [][]string
	draw    func(io.Writer) error
}

// produce does the work of a command, with a line of progress, and writes its files, of which all
// appear or none, in the folder of -o, which is made if needed. They are opened before the work,
// which would be lost otherwise.
func produce(c *shell.Common, work func(line *shell.Progress) error, outputs ...output) (names []string, err error) {
	if err := shell.MakeFolder(c.Output); err != nil {
		return nil, err
	}
	var files []*shell.Output
	for _, o := range outputs {
		for _, ending := range []string{".csv", ".svg"} {
			if ending == ".svg" && o.draw == nil {
				continue
			}
			names = append(names, filepath.Join(c.Output, o.name+ending))
			f, err := c.Create(names[len(files)])
			if err != nil {
				return nil, err
			}
			defer f.Discard()
			files = append(files, f)
		}
	}
	line := c.Progress()
	defer line.Clear()
	broken := work(line)
	if broken != nil && !(errors.Is(broken, context.Canceled) && len(outputs[0].records()) > 1) {
		return nil, broken
	}
	line.Clear()
	next := files
	for _, o := range outputs {
		if err := csv.NewWriter(next[0]).WriteAll(o.records()); err != nil {
			return nil, err
		}
		if next = next[1:]; o.draw != nil {
			if err := o.draw(next[0]); err != nil {
				return nil, err
			}
			next = next[1:]
		}
	}
	for _, f := range files {
		err = errors.Join(err, f.Commit())
	}
	if broken != nil && err == nil {
		// What was finished is worth its files, which say how many runs there were.
		c.Warn("%s: only what was finished before", strings.Join(names, ", "))
		err = broken
	}
	return names, err
}

// document is what is printed as JSON: the fields of body between the name and the files.
func document(name string, body any, files []string) shell.Object {
	return shell.Object{struct {
		Name string `json:"name"`
	}{name}, body, struct {
		Files []string `json:"files"`
	}{files}}
}

// report prints a summary that ends with the files.
func report(c *shell.Common, name string, body any, rows []shell.Row, files []string) error {
	return c.Print(document(name, body, files), append(rows, shell.Row{"files", strings.Join(files, ", ")}))
}

func publishedRows(texts []string) (rows []shell.Row) {
	for _, text := range texts {
		rows = append(rows, shell.Row{"the paper has", text})
	}
	return rows
}

func record(values ...any) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = fmt.Sprint(v)
	}
	return out
}

// rounded is a number of a CSV file, with n significant digits.
func rounded(v float64, n int) string { return fmt.Sprintf("%.*g", n, v) }

// needSolver refuses a build without the LP solver.
func needSolver() error {
	if highs.Version() == "" {
		_, err := highs.New()
		return &shell.Failure{Code: shell.ExitFailure, Err: err}
	}
	return nil
}

// designOptions are the defaults of designs but for the gap.
func designOptions(gap float64) lp.Options {
	o := shell.DesignOptions()
	o.Gap = gap
	return o
}

// How a design ended.
const (
	optimal = "optimal"
	limited = "limit"
)

// stopped is the end of a command if a limit stopped the named designs; nil if there are none.
func stopped(names []string, gap float64) error {
	if len(names) == 0 {
		return nil
	}
	return &shell.Failure{
		Code: shell.ExitLimit,
		Err:  fmt.Errorf("%s stopped short of the gap of %s, and is proven all the same", strings.Join(names, "; "), shell.Percent(gap)),
		Hint: "more time (--time-limit) or a larger gap (--gap)",
	}
}

// readColumns reads the fields of a CSV file by columns, without the blanks around them.
func readColumns(s *shell.Streams, file string) (header []string, columns [][]string, err error) {
	in, err := s.OpenCSV(file, csvfile.Options{})
	if err != nil {
		return nil, nil, err
	}
	defer in.Close()
	if header, err = in.Header(); err != nil {
		return nil, nil, shell.BadFile(file, err)
	}
	columns = make([][]string, len(header))
	for {
		if err := in.Row(); errors.Is(err, io.EOF) {
			return header, columns, nil
		} else if err != nil {
			return nil, nil, shell.BadFile(file, err)
		}
		for i := range columns {
			columns[i] = append(columns[i], strings.TrimSpace(in.Content(i)))
		}
	}
}

func distinct(column []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(column)))
}

// group is points of the same word.
type group[P any] struct {
	word   string
	points []P
}

// grouped returns the points by their words, both in their order.
func grouped[P any](points []P, word func(P) string) (out []group[P]) {
	for _, p := range points {
		w := word(p)
		i := slices.IndexFunc(out, func(g group[P]) bool { return g.word == w })
		if i < 0 {
			i, out = len(out), append(out, group[P]{word: w})
		}
		out[i].points = append(out[i].points, p)
	}
	return out
}

// like returns the point that is so, which is p if there was none.
func like[P any](all *[]*P, p P, so func(*P) bool) *P {
	if i := slices.IndexFunc(*all, so); i >= 0 {
		return (*all)[i]
	}
	*all = append(*all, &p)
	return &p
}

// which returns the points that are so.
func which[P any](points []P, so func(P) bool) (out []P) {
	return slices.DeleteFunc(slices.Clone(points), func(p P) bool { return !so(p) })
}

// accuracies are those of runs, and their mean.
type accuracies struct {
	Mean      float64  `json:"accuracy"`
	Deviation float64  `json:"-"`                  // over the runs; 0 of one
	Known     *float64 `json:"standard_deviation"` // the same; nil of one
	Runs      int      `json:"runs"`
	values    []float64
}

func (a *accuracies) add(accuracy float64) {
	a.values = append(a.values, accuracy)
	a.Runs = len(a.values)
	a.Mean, a.Deviation = meanAndDeviation(a.values)
	a.Known = deviationOf(a.values)
}

func (a *accuracies) text() string {
	if a.Runs > 1 {
		return fmt.Sprintf("%.3f ± %.3f", a.Mean, a.Deviation)
	}
	return fmt.Sprintf("%.3f", a.Mean)
}

func (a *accuracies) record() []string {
	four := func(v float64) string { return fmt.Sprintf("%.4f", v) }
	return []string{four(a.Mean), deviationText(a.Known, four), strconv.Itoa(a.Runs)}
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

// series are points of a figure, each with a bar of a deviation either way.
type series struct {
	name   string
	points plotter.XYs
	bars   plotter.YErrors
	style  draw.LineStyle
	shape  draw.GlyphDrawer // of its dots, which are larger; nil: as usual
	plain  bool             // without dots
}

func (s *series) add(x, y, deviation float64) {
	s.points = append(s.points, plotter.XY{X: x, Y: y})
	s.bars = append(s.bars, struct{ Low, High float64 }{deviation, deviation})
}

// addBars draws the bars, and the points as dots, which it returns.
func (s *series) addBars(p *plot.Plot) (*plotter.Scatter, error) {
	bars, err := plotter.NewYErrorBars(struct {
		plotter.XYs
		plotter.YErrors
	}{s.points, s.bars})
	if err != nil {
		return nil, err
	}
	bars.LineStyle = figure.Solid(s.style.Color, 1)
	dots, err := plotter.NewScatter(s.points)
	if err != nil {
		return nil, err
	}
	dots.GlyphStyle = draw.GlyphStyle{Color: s.style.Color, Radius: vg.Points(2.5), Shape: draw.CircleGlyph{}}
	if s.style.Dashes != nil {
		dots.GlyphStyle.Shape = draw.RingGlyph{}
	}
	if s.shape != nil {
		dots.GlyphStyle.Shape, dots.GlyphStyle.Radius = s.shape, vg.Points(5)
	}
	p.Add(bars)
	if !s.plain {
		p.Add(dots)
	}
	return dots, nil
}

// newPlot draws lines, each on top of those before it, with bars and dots: a quick run may have one
// point, which is no line.
func newPlot(title, x, y string, all []series) (*plot.Plot, error) {
	p := figure.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	var curves []figure.Curve
	for _, s := range all {
		if len(s.bars) > 0 {
			dots, err := s.addBars(p)
			if err != nil {
				return nil, err
			}
			if s.shape != nil { // what the key shows
				p.Legend.Add(s.name, dots)
				continue
			}
		}
		curves = append(curves, figure.Curve{Name: s.name, Points: s.points, Style: s.style})
	}
	return p, figure.Add(p, curves)
}

func writeFigure(p *plot.Plot, w io.Writer) error {
	return writeRow(w, []*plot.Plot{p}, 18*vg.Centimeter, 11*vg.Centimeter)
}

// shareTicks are those of shares.
var shareTicks = plot.ConstantTicks{{Value: 0, Label: "0"}, {Value: 0.2, Label: "0.2"}, {Value: 0.4, Label: "0.4"}, {Value: 0.6, Label: "0.6"}, {Value: 0.8, Label: "0.8"}, {Value: 1, Label: "1"}}

// ratioTicks are 1, 2, 5, 10 and so on, on a logarithmic axis.
func ratioTicks(lo, hi float64) []plot.Tick {
	var ticks []plot.Tick
	for decade := math.Floor(lo); decade <= hi; decade++ {
		for _, digit := range []float64{1, 2, 5} {
			if y := decade + math.Log10(digit); y >= lo && y <= hi {
				ticks = append(ticks, plot.Tick{Value: y, Label: fmt.Sprintf("%g", digit*math.Pow(10, decade))})
			}
		}
	}
	return ticks
}

// writeRow draws plots side by side.
func writeRow(w io.Writer, plots []*plot.Plot, width, height vg.Length) error {
	return writeRows(w, [][]*plot.Plot{plots}, width, height)
}

// writePanels draws plots of one size, in as few rows of three as hold them, which are as long
// as each other but for the last.
func writePanels(w io.Writer, plots []*plot.Plot, width, height vg.Length) error {
	const most = 3
	rows := make([][]*plot.Plot, (len(plots)+most-1)/most)
	long := (len(plots) + len(rows) - 1) / len(rows)
	for i := range rows {
		rows[i] = make([]*plot.Plot, long)
		copy(rows[i], plots[i*long:])
	}
	return writeRows(w, rows, vg.Length(long)*width, vg.Length(len(rows))*height)
}

// writeRows draws rows of as many plots each; nil leaves a place empty. The key of a plot is below it, so that an axis
// need not leave room for it.
func writeRows(w io.Writer, rows [][]*plot.Plot, width, height vg.Length) error {
	const edge, between = 6, 8 // points
	keys := make([][]plot.Legend, len(rows))
	var below vg.Length // of the highest key
	for i, row := range rows {
		for _, p := range row {
			key := plot.NewLegend()
			if p != nil {
				key, p.Legend = p.Legend, key
				key.Left, key.Top, key.XOffs, key.YOffs = true, true, 0, 0
				size := key.Rectangle(draw.Canvas{}).Size()
				below = max(below, size.Y)
			}
			keys[i] = append(keys[i], key)
		}
	}
	if below > 0 {
		below += between
	}
	height += vg.Length(len(rows)) * below
	return figure.WriteSVG(w, width, height, func(dc draw.Canvas) {
		tiles := draw.Tiles{
			Rows: len(rows), Cols: len(rows[0]), PadX: between, PadY: between + below,
			PadTop: edge, PadBottom: edge + below, PadLeft: edge, PadRight: edge,
		}
		for i, canvases := range plot.Align(rows, tiles, dc) {
			for j, canvas := range canvases {
				if rows[i][j] == nil {
					continue
				}
				rows[i][j].Draw(canvas)
				strip := tiles.At(dc, j, i)
				strip.Min.Y, strip.Max.Y = strip.Min.Y-below, strip.Min.Y
				keys[i][j].Draw(strip)
			}
		}
	})
}
