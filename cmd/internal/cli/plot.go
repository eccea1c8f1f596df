package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot/vg"

	"github.com/noisewright/noisewright/cells"
	"github.com/noisewright/noisewright/cmd/internal/figure"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/tables"
)

type plotOptions struct {
	shell.Common
	file          string
	format        string // of the figure
	log           bool
	width, height float64 // cm
	values        string  // of a kernel or a randomizer, separated by commas
	table         string  // to compare a kernel with
}

func newPlotCommand(s *shell.Streams) *cobra.Command {
	o := &plotOptions{Common: shell.Common{Streams: s}, width: 18, height: 11}
	f := shell.NewFlags(&cobra.Command{
		Use:   "plot TABLE|KERNEL -o FIGURE.svg|FIGURE.png",
		Short: "Draw the density of a table",
		Long: `Verify a table and draw the density of its noise, with the Laplace and the
truncated Laplace mechanism of the same privacy over it, as SVG or PNG. Noise on
integers or in steps is drawn as a step curve, that on integers over discrete
Laplace noise. Each curve's expected loss is in the legend. Probability on the
single point 0, which has no density, is an arrow.

A table made by calibrate is for the total of several releases, which is proved and
in the title. The curves over it are Laplace and Gaussian noise for the same total.

For a kernel or a local randomizer, draw the expected loss of every value, or with
--values the probabilities of the answers to these values; for categories, those of all.
For an additive kernel, draw the loss of every cell, or the density of the noise for the
values. --table adds the loss of noise that does not depend on the value to that of a
kernel, as a dashed line.

The linear figure shows where all but 0.5 % of the noise is, the logarithmic one
the whole support.`,
		Example: `  noisewright plot table.json -o figure.svg
  noisewright plot table.json --log --width 24 --height 12 -o figure.png`,
	})
	f.Output(&o.Common, "figure to write, its name ending in .svg or .png", "svg", "png")
	f.Require(&o.Output, "output", shell.WantFigure)
	f.FigureFormat(&o.Output, &o.format, "output")
	f.String(&o.values, "values", "for a kernel or a local randomizer: values, separated by commas, whose answers to draw")
	f.File(&o.table, "table", "for a kernel: table file of data independent noise to compare with", "json")
	f.ArgumentFrom(&o.table) // --table, as other commands have it, where there is nothing to compare
	f.Argument(&o.file, "TABLE", "json")
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
	drawing, err := o.figure(ctx)
	if err != nil {
		return err
	}
	file, err := o.Create(o.Output, o.file)
	if err != nil {
		return err
	}
	defer file.Discard()
	if err := drawing.Draw(file, o.format, vg.Length(o.width)*vg.Centimeter, vg.Length(o.height)*vg.Centimeter); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return file.Commit()
}

type drawing interface {
	Draw(w io.Writer, format string, width, height vg.Length) error
}

// figure verifies the file and returns its figure.
func (o *plotOptions) figure(ctx context.Context) (drawing, error) {
	made, err := o.ReadAny(o.file)
	if err != nil {
		return nil, err
	}
	t, isTable := made.(*tables.Table)
	if o.log && !isTable {
		return nil, shell.BadInput("", errors.New("log is for tables, want it without a kernel or a local randomizer"))
	}
	switch made := made.(type) {
	case *kernels.Kernel:
		return o.kernel(ctx, made)
	case *cells.Kernel:
		return o.additive(ctx, made)
	case *local.Randomizer:
		return o.randomizer(ctx, made)
	}
	if o.values != "" || o.table != "" {
		return nil, shell.BadInput("", errors.New("values and table are for kernels, want neither with a table"))
	}
	v, err := shell.Sound(ctx, o.file, t)
	if err != nil {
		return nil, err
	}
	whole, err := soundTotal(ctx, o.file, v)
	if err != nil {
		return nil, err
	}
	if whole != nil {
		return figure.NewTotal(t, v.Certificate(), o.log, whole.target(t).Classical(ctx)), nil
	}
	return figure.NewTable(t, v.Certificate(), o.log), nil
}

// kernel verifies a kernel and reads what its figure is to show: query values, and the
// file of a table to compare with.
func (o *plotOptions) kernel(ctx context.Context, k *kernels.Kernel) (*figure.Kernel, error) {
	q := k.Queries()
	values, err := o.readQueries(q.Lower, q.Upper)
	if err != nil {
		return nil, err
	}
	v, err := shell.Sound(ctx, o.file, k)
	if err != nil {
		return nil, err
	}
	independent, err := o.independent(ctx, k.Privacy(), k.Loss())
	return &figure.Kernel{Kernel: k, Certificate: v.Certificate(), Values: values, Independent: independent}, err
}

// additive is kernel for an additive one.
func (o *plotOptions) additive(ctx context.Context, k *cells.Kernel) (*figure.Additive, error) {
	values, err := o.readQueries(k.Edge(0), k.Edge(k.Cells()))
	if err != nil {
		return nil, err
	}
	f := &figure.Additive{Kernel: k, Values: values}
	for _, x := range values {
		cell, ok := k.CellAt(x)
		if !ok {
			return nil, shell.BadInput("", fmt.Errorf("values = %v, want what the kernel's grid holds", x))
		}
		f.Cells = append(f.Cells, cell)
	}
	v, err := shell.Sound(ctx, o.file, k)
	if err != nil {
		return nil, err
	}
	f.Certificate = v.Certificate()
	f.Independent, err = o.independent(ctx, k.Privacy(), k.Loss())
	return f, err
}

// readQueries reads --values of a kernel's range.
func (o *plotOptions) readQueries(lower, upper float64) ([]float64, error) {
	return o.readValues(func(text string) (float64, error) { return readQuery(lower, upper, "values", text) })
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

// readValues reads --values, at most as many as there are colors.
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

// randomizer verifies a local randomizer and reads the values whose answers its figure is
// to show.
func (o *plotOptions) randomizer(ctx context.Context, r *local.Randomizer) (*figure.Randomizer, error) {
	category := r.Spec().Values.Kind == local.Category
	if o.table != "" || category && o.values != "" {
		return nil, shell.BadInput("", errors.New("table is for kernels, and values for numbers: want neither here"))
	}
	f := &figure.Randomizer{Randomizer: r}
	var err error
	f.Values, err = o.readValues(func(text string) (float64, error) {
		return shell.ParseNumber(text, shell.Rule{Want: takes(r), OK: func(x float64) bool { return r.PMFAt(x) != nil }})
	})
	if err != nil {
		return nil, shell.BadInput("", shell.About("values", o.values, err))
	}
	v, err := shell.Sound(ctx, o.file, r)
	if err != nil {
		return nil, err
	}
	f.Certificate = v.Certificate()
	return f, nil
}

// statedBy says what privacy and loss something is made for.
func statedBy(p dp.Privacy, l loss.Loss) string {
	return fmt.Sprintf("epsilon = %v, delta = %v, sensitivity = %v and loss = %s", p.Epsilon, p.Delta, p.Sensitivity, l.Name())
}
