// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot/vg"

	"github.com/noisewright/noisewright/ball"
	"github.com/noisewright/noisewright/cells"
	"github.com/noisewright/noisewright/cmd/internal/figure"
	"github.com/noisewright/noisewright/cmd/internal/report"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/counts"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/plan"
	"github.com/noisewright/noisewright/plane"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/subset"
	"github.com/noisewright/noisewright/tables"
)

type plotOptions struct {
	shell.Common
	files         []string
	file          string // the one that is drawn
	format        string // of the figure
	log           bool
	width, height float64 // cm
	values        string  // of a kernel or a randomizer, separated by commas
	table         string  // to compare a kernel with
	profile       bool    // what is drawn: how delta falls with epsilon, or
	tradeOff      bool    // how errors of tests are traded off
	times         []int   // that each release is made, for these
	csv           string
}

func newPlotCommand(s *shell.Streams) *cobra.Command {
	o := &plotOptions{Common: shell.Common{Streams: s}, width: 18, height: 11}
	f := shell.NewFlags(&cobra.Command{
		Use:   "plot TABLE|KERNEL... -o FIGURE.svg|FIGURE.png",
		Short: "Draw the density of a table, or of several",
		Long: `Verify a table and draw the density of its noise, with the Laplace and the
truncated Laplace mechanism of the same privacy over it, as SVG or PNG. Noise on
integers or in steps is drawn as a step curve, that on integers over discrete
Laplace noise. Each curve's expected loss is in the legend. Probability on the
single point 0, which has no density, is an arrow.

A table made by calibrate is for the total of several releases, which is proved and
in the title. The curves over it are Laplace and Gaussian noise for the same total.

For a kernel or a local randomizer, draw the expected loss of every value, or with
--values the probabilities of the answers to these values; for categories, those of all.
For noise on balls, draw its density by the norm, and spherical noise over it.
For a subset selection, draw the variance of sets of other sizes, and of published
mechanisms. For an additive kernel, draw the loss of every cell, or the density of the
noise for the values. --table adds the loss of noise that does not depend on the value
to that of a kernel, as a dashed line.

Several files of one form are drawn over each other: the densities of tables, or the
expected losses of kernels or randomizers, without the mechanisms to compare with.

--profile draws what is proved of delta at each epsilon, of files and of classical
mechanisms as account has them, each made --times. --trade-off draws the least type II
error that it proves for each type I error, of all tests whether a person is there
(Dong, Roth and Su 2022). --csv writes the numbers.

For a plan, draw the squared error of each query under it and under all other candidates
of plan design, of ranges the mean by their length; with --values, which are made-up
counts of its cells, where 95 % of the answers are, and of answers one by one. For the
JSON file of release workload or release histogram, draw the answers with their intervals.

The linear figure shows where all but 0.5 % of the noise is, the logarithmic one
the whole support.`,
		Example: `  noisewright plot table.json -o figure.svg
  noisewright plot table.json --log --width 24 --height 12 -o figure.png
  noisewright plot symmetric.json lopsided.json -o both.svg
  noisewright plot months.json -o errors.svg --csv errors.csv
  noisewright plot --profile table.json laplace:epsilon=1 gaussian:sigma=4 -o profile.svg`,
	})
	f.Output(&o.Common, "figure to write, its name ending in .svg or .png", "svg", "png")
	f.Require(&o.Output, "output", shell.WantFigure)
	f.FigureFormat(&o.Output, &o.format, "output")
	f.String(&o.values, "values", "for a kernel or a local randomizer: values, separated by commas, whose answers to draw; for a plan: counts of its cells")
	f.File(&o.table, "table", "for a kernel: table file of data independent noise to compare with", "json")
	f.ArgumentFrom(&o.table) // --table, as other commands have it, where there is nothing to compare
	f.Arguments(&o.files, "TABLE is missing", "json")
	f.Bool(&o.profile, "profile", "draw delta over epsilon, of files and of mechanisms such as laplace:epsilon=1")
	f.Bool(&o.tradeOff, "trade-off", "draw type II over type I errors of tests, likewise")
	f.Func("times", "K[,K...]", "1", "for these: how often each release is made, one number for all, or one for each", func(text string) (err error) {
		o.times, err = readTimes(text, len(o.files))
		return err
	})
	f.File(&o.csv, "csv", "for these, and for plans: file for the numbers", "csv")
	f.Check(func() error {
		switch other := o.log || o.values != "" || o.table != ""; {
		case !o.profile && !o.tradeOff && slices.ContainsFunc(o.times, func(n int) bool { return n > 1 }):
			return errors.New("times is for profile and trade-off, want one of these with it")
		case o.profile && o.tradeOff:
			return errors.New("profile and trade-off, want only one of them")
		case (o.profile || o.tradeOff) && other:
			return errors.New("log, values and table are not for profile and trade-off, want none of them")
		}
		return nil
	})
	f.Bool(&o.log, "log", "logarithmic density axis")
	f.Number(&o.width, "width", centimeters(8), "width of the figure in cm, from 8 to 100")
	f.Number(&o.height, "height", centimeters(6), "height of the figure in cm, from 6 to 100")
	f.Quiet(&o.Common, "no progress")
	return f.Run(o.run)
}

func centimeters(least float64) shell.Rule {
	const most = 100
	return shell.Rule{
		Want: fmt.Sprintf("a number from %g to %d, in cm", least, most),
		OK:   func(v float64) bool { return v >= least && v <= most },
	}
}

func (o *plotOptions) run(ctx context.Context) error {
	o.Progress().Watch("drawing")
	if o.profile || o.tradeOff {
		return o.profiles(ctx)
	}
	numbers, err := o.Reserve(o.csv, o.files...)
	if err != nil {
		return err
	}
	defer numbers.Discard()
	drawing, err := o.figure(ctx)
	if err != nil {
		return err
	}
	if o.csv != "" {
		chart, ok := drawing.(*figure.Chart)
		if !ok || chart.Lines == nil {
			return shell.BadInput("", errors.New("csv is for plans, profile and trade-off, want none without these"))
		}
		if err := numbers.Put(func(w io.Writer) error { return csv.NewWriter(w).WriteAll(chart.Lines) }); err != nil {
			return err
		}
	}
	return o.WriteFile(o.Output, func(w io.Writer) error {
		err := drawing.Draw(w, o.format, vg.Length(o.width)*vg.Centimeter, vg.Length(o.height)*vg.Centimeter)
		return cmp.Or(err, ctx.Err())
	}, o.files...)
}

type figureOf func(ctx context.Context, v proof.Proven) (figure.Picture, error)

// figure verifies the files and returns their figure.
func (o *plotOptions) figure(ctx context.Context) (figure.Picture, error) {
	for _, o.file = range o.files {
		if chart, err := o.answers(); chart != nil || err != nil {
			return chart, err
		}
	}
	if len(o.files) == 1 {
		_, drawing, err := o.one(ctx)
		return drawing, err
	}
	if o.values != "" || o.table != "" {
		return nil, shell.BadInput("", fmt.Errorf("values and table are for one file, want neither with %d", len(o.files)))
	}
	var all []figure.Drawn
	for _, o.file = range o.files {
		v, drawing, err := o.one(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, figure.Drawn{Name: filepath.Base(shell.InputName(o.file)), Proven: v, Picture: drawing})
	}
	over, err := figure.Over(all, o.log)
	if err != nil {
		return nil, shell.BadInput("", err)
	}
	return over, nil
}

// one verifies the file and returns its figure. What the flags say of it is read first.
func (o *plotOptions) one(ctx context.Context) (proof.Proven, figure.Picture, error) {
	made, err := o.ReadAny(o.file)
	if err != nil {
		return nil, nil, err
	}
	own, read := owns[made.Form().Package], (*plotOptions).laws
	if o.log && !own.log {
		return nil, nil, shell.BadInput("", errors.New("log is for tables, want it without a kernel or a local randomizer"))
	}
	if own.figure != nil {
		read = own.figure
	}
	draw, err := read(o, made)
	if err != nil {
		return nil, nil, err
	}
	v, err := shell.Prove(ctx, o.file, made)
	if err != nil {
		return nil, nil, err
	}
	drawing, err := draw(ctx, v)
	return v, drawing, err
}

func (o *plotOptions) laws(m proof.Mechanism) (figureOf, error) {
	c, ok := m.(proof.Channel)
	switch {
	case !ok:
		return nil, shell.BadInput("", fmt.Errorf("%s is %s, of which there is no figure", shell.InputName(o.file), m.Form().Noun))
	case o.values != "" || o.table != "":
		return nil, shell.BadInput("", fmt.Errorf("values and table are for kernels, want neither with %s", m.Form().Noun))
	}
	return func(context.Context, proof.Proven) (figure.Picture, error) { return figure.Laws(c), nil }, nil
}

func (o *plotOptions) noise(t *tables.Table) (figureOf, error) {
	if o.values != "" || o.table != "" {
		return nil, shell.BadInput("", errors.New("values and table are for kernels, want neither with a table"))
	}
	return func(ctx context.Context, v proof.Proven) (figure.Picture, error) {
		whole, err := report.SoundTotal(ctx, o.file, v)
		if err != nil {
			return nil, err
		}
		if whole != nil {
			return figure.NewTotal(t, v.Bounds(), o.log, whole.Target(t).Classical(ctx)), nil
		}
		return figure.NewTable(t, v.Bounds(), o.log), nil
	}, nil
}

func (o *plotOptions) kernel(k *kernels.Kernel) (figureOf, error) {
	q := k.Queries()
	values, err := o.readQueries(q.Lower, q.Upper)
	return func(ctx context.Context, v proof.Proven) (figure.Picture, error) {
		independent, err := o.independent(ctx, k.Privacy(), k.Loss())
		if len(values) > 0 {
			return figure.KernelLaws(k, values), err
		}
		return figure.Kernel(k, v.Bounds(), independent), err
	}, err
}

func (o *plotOptions) additive(k *cells.Kernel) (figureOf, error) {
	values, err := o.readQueries(k.Edge(0), k.Edge(k.Cells()))
	if err != nil {
		return nil, err
	}
	var in []int // cells
	for _, x := range values {
		cell, ok := k.CellAt(x)
		if !ok {
			return nil, shell.BadInput("", fmt.Errorf("values = %v, want what the kernel's grid holds", x))
		}
		in = append(in, cell)
	}
	return func(ctx context.Context, _ proof.Proven) (figure.Picture, error) {
		independent, err := o.independent(ctx, k.Privacy(), k.Loss())
		if len(values) > 0 {
			return figure.AdditiveLaws(k, values, in), err
		}
		return figure.Additive(k, k.Certify(), independent), err
	}, nil
}

func (o *plotOptions) readQueries(lower, upper float64) ([]float64, error) {
	return o.readValues(func(text string) (float64, error) {
		x, err := shell.ParseNumber(text, shell.Rule{
			Want: fmt.Sprintf("a number from %v to %v, the kernel's range", lower, upper),
			OK:   func(v float64) bool { return v >= lower && v <= upper },
		})
		if err != nil {
			return 0, shell.BadInput("", shell.About("values", text, err))
		}
		return x, nil
	})
}

// independent returns the loss of the table to compare with, 0 if there is none.
func (o *plotOptions) independent(ctx context.Context, p dp.Privacy, l loss.Loss) (float64, error) {
	if o.table == "" {
		return 0, nil
	}
	other, err := o.ReadSound(ctx, o.table)
	if err != nil {
		return 0, err
	}
	if is, want := statedBy(other.Mechanism().Privacy(), other.Mechanism().Loss()), statedBy(p, l); is != want {
		return 0, shell.BadInput("", fmt.Errorf("table = %s is for %s, want %s as the kernel", check.Quoted(o.table), is, want))
	}
	expected, _ := other.Certificate().ExpectedLoss.Float64()
	return expected, nil
}

func (o *plotOptions) readValues(read func(text string) (float64, error)) (values []float64, err error) {
	if o.values == "" {
		return nil, nil
	}
	for text := range strings.SplitSeq(o.values, ",") {
		x, err := read(strings.TrimSpace(text))
		if err != nil {
			return nil, err
		}
		values = append(values, x)
	}
	if most := len(figure.Palette); len(values) > most {
		return nil, shell.BadInput("", fmt.Errorf("values = %s, want at most %d values", check.Quoted(o.values), most))
	}
	return values, nil
}

func (o *plotOptions) randomizer(r *local.Randomizer) (figureOf, error) {
	category := r.Spec().Values.Kind == local.Category
	if o.table != "" || category && o.values != "" {
		return nil, shell.BadInput("", errors.New("table is for kernels, and values for numbers: want neither here"))
	}
	values, err := o.readValues(func(text string) (float64, error) {
		return shell.ParseNumber(text, shell.Rule{Want: takes(r), OK: func(x float64) bool { return r.PMFAt(x) != nil }})
	})
	if err != nil {
		return nil, shell.BadInput("", shell.About("values", o.values, err))
	}
	return func(_ context.Context, v proof.Proven) (figure.Picture, error) {
		switch {
		case category:
			return figure.Laws(r), nil
		case len(values) > 0:
			return figure.RandomizerLaws(r, values), nil
		}
		return figure.Randomizer(r, v.Bounds()), nil
	}, nil
}

func (o *plotOptions) selection(*subset.Selection) (figureOf, error) {
	if o.values != "" || o.table != "" {
		return nil, shell.BadInput("", errors.New("values and table are for kernels, want neither with a subset selection"))
	}
	return func(_ context.Context, v proof.Proven) (figure.Picture, error) {
		return figure.Selection(v.(*subset.Verified)), nil
	}, nil
}

func (o *plotOptions) plane(n *plane.Noise) (figureOf, error) {
	if o.values != "" || o.table != "" {
		return nil, shell.BadInput("", errors.New("values and table are for kernels, want neither with noise in the plane"))
	}
	return func(context.Context, proof.Proven) (figure.Picture, error) { return figure.Plane(n), nil }, nil
}

func statedBy(p dp.Privacy, l loss.Loss) string {
	return fmt.Sprintf("epsilon = %v, delta = %v, sensitivity = %v and loss = %s", p.Epsilon, p.Delta, p.Sensitivity, l.Name())
}

// own is what the program has for one form in particular. Nothing is what it has for all.
type own struct {
	about   func(f report.Finding) report.About
	figure  func(o *plotOptions, m proof.Mechanism) (figureOf, error)
	log     bool // of the figure, whether its axis can be logarithmic
	draw    func(o *sampleOptions, ctx context.Context, m proof.Mechanism) (drawer, error)
	compare func(o *compareOptions, ctx context.Context, v proof.Proven) error
	mean    func(o *intervalOptions, ctx context.Context, v proof.Proven) error
	vectors func(m proof.Mechanism) vectorNoise // of noise of several numbers
}

// figureFor is the figure of a form whose mechanisms are of the type M.
func figureFor[M proof.Mechanism](figure func(*plotOptions, M) (figureOf, error)) func(*plotOptions, proof.Mechanism) (figureOf, error) {
	return func(o *plotOptions, m proof.Mechanism) (figureOf, error) { return figure(o, m.(M)) }
}

// owns lists what forms have of their own, by their packages. The program knows mechanisms
// by package proof alone but for what starts here, and what a page shows (see portrait).
var owns = map[string]own{
	(*tables.Table)(nil).Form().Package:     {about: report.Table, figure: figureFor((*plotOptions).noise), log: true, draw: (*sampleOptions).noise, compare: (*compareOptions).compareTable, mean: (*intervalOptions).meanOfNoisy},
	(*kernels.Kernel)(nil).Form().Package:   {about: report.Kernel, figure: figureFor((*plotOptions).kernel)},
	(*cells.Kernel)(nil).Form().Package:     {about: report.Additive, figure: figureFor((*plotOptions).additive)},
	(*local.Randomizer)(nil).Form().Package: {about: report.Randomizer, figure: figureFor((*plotOptions).randomizer), compare: (*compareOptions).compareRandomizer, mean: (*intervalOptions).meanOfAnswers},
	(*subset.Selection)(nil).Form().Package: {about: report.Subset, figure: figureFor((*plotOptions).selection), compare: (*compareOptions).compareSets, mean: (*intervalOptions).sharesOfSets},
	(*counts.Strategy)(nil).Form().Package:  {about: report.Counts, compare: (*compareOptions).compareCounts, mean: (*intervalOptions).countsOfAnswers},
	(*ball.Noise)(nil).Form().Package:       {about: report.Ball, figure: figureFor((*plotOptions).ball), log: true, compare: (*compareOptions).compareBall, vectors: vectorsOfBall},
	(*plane.Noise)(nil).Form().Package:      {about: report.Plane, figure: figureFor((*plotOptions).plane), vectors: vectorsOfPlane},
	(*plan.Plan)(nil).Form().Package:        {figure: figureFor((*plotOptions).plan)},
}

// about says what was found about a mechanism.
func about(f report.Finding) report.About {
	if own := owns[f.Mechanism.Form().Package]; own.about != nil {
		return own.about(f)
	}
	return report.Any(f)
}
