package cli

import (
	"errors"
	"io"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot/vg"

	"github.com/noisewright/noisewright/tables"
)

// drawing is a figure.
type drawing interface {
	draw(w io.Writer, format string, width, height vg.Length) error
}

func newPlotCommand(a *app) *cobra.Command {
	var (
		out, values, additive string
		log                   bool
	)
	cmd := &cobra.Command{
		Use:   "plot TABLE|KERNEL -o FIGURE.svg|FIGURE.png",
		Short: "Draw the density of a table",
		Long: `Verify a table and draw the density of its noise, with the Laplace and the
truncated Laplace mechanism of the same privacy over it, as SVG or PNG; those of
integer noise and of noise on a lattice are steps, one per point or more, over
discrete Laplace noise for integers. Each curve's expected loss is in the legend. Probability on the single point 0, which
has no density, is an arrow.

For a kernel, draw the expected loss of every query value, or with --values the
probabilities of the answers to these values. --table adds the loss of additive
noise to the former, as a dashed line.

The linear figure shows where all but 0.5 % of the noise is, the logarithmic one
the whole support.`,
		Example: `  noisewright plot table.json -o figure.svg
  noisewright plot table.json --log --width 24 --height 12 -o figure.png`,
		Args:              oneArgument("TABLE"),
		ValidArgsFunction: completeFiles("json"),
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "figure to write, its name ending in .svg or .png")
	cmd.Flags().StringVar(&values, "values", "", "for a kernel: query values, separated by commas, whose answers to draw")
	cmd.Flags().StringVar(&additive, "table", "", "for a kernel: table file of data independent noise to compare with")
	cmd.Flags().BoolVar(&log, "log", false, "logarithmic density axis")
	width := newText(cmd, "width", "number", "18", "width of the figure in cm, from 8 to 100")
	height := newText(cmd, "height", "number", "11", "height of the figure in cm, from 6 to 100")
	_ = cmd.MarkFlagFilename("output", "svg", "png")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var f fields
		format := f.figureFormat("output", out)
		w := f.number("width", width, "a number from 8 to 100, in cm", func(v float64) bool { return v >= 8 && v <= 100 })
		h := f.number("height", height, "a number from 6 to 100, in cm", func(v float64) bool { return v >= 6 && v <= 100 })
		if err := f.err(cmd); err != nil {
			return err
		}
		t, k, err := a.readEither(args[0])
		if err != nil {
			return err
		}
		var fig drawing
		switch {
		case k != nil && log:
			return badInput("", errors.New("log is for tables, want it without a kernel"))
		case k != nil:
			fig, err = a.newKernelFigure(args[0], k, values, additive)
		case values != "" || additive != "":
			return badInput("", errors.New("values and table are for kernels, want neither with a table"))
		default:
			var c tables.Certificate
			if c, err = soundTable(args[0], t); err == nil {
				fig = newFigure(t, c, log)
			}
		}
		if err != nil {
			return err
		}
		file, err := a.create(out, args[0])
		if err != nil {
			return err
		}
		defer file.discard()
		if err := fig.draw(file, format, vg.Length(w)*vg.Centimeter, vg.Length(h)*vg.Centimeter); err != nil {
			return err
		}
		if err := cmd.Context().Err(); err != nil {
			return err
		}
		return file.commit()
	}
	return cmd
}
