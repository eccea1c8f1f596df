package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot/vg"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/cli/shell"
	"github.com/noisewright/noisewright/internal/figure"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/tables"
)

// drawing is a figure.
type drawing interface {
	Draw(w io.Writer, format string, width, height vg.Length) error
}

func newPlotCommand(a *shell.Streams) *cobra.Command {
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
		Args:              shell.OneArgument("TABLE"),
		ValidArgsFunction: completeFiles("json"),
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "figure to write, its name ending in .svg or .png")
	cmd.Flags().StringVar(&values, "values", "", "for a kernel: query values, separated by commas, whose answers to draw")
	cmd.Flags().StringVar(&additive, "table", "", "for a kernel: table file of data independent noise to compare with")
	cmd.Flags().BoolVar(&log, "log", false, "logarithmic density axis")
	width := shell.NewText(cmd, "width", "number", "18", "width of the figure in cm, from 8 to 100")
	height := shell.NewText(cmd, "height", "number", "11", "height of the figure in cm, from 6 to 100")
	_ = cmd.MarkFlagFilename("output", "svg", "png")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var f shell.Fields
		format := f.FigureFormat("output", out)
		w := f.Number("width", width, "a number from 8 to 100, in cm", func(v float64) bool { return v >= 8 && v <= 100 })
		h := f.Number("height", height, "a number from 6 to 100, in cm", func(v float64) bool { return v >= 6 && v <= 100 })
		if err := f.Err(cmd); err != nil {
			return err
		}
		t, k, err := a.ReadEither(args[0])
		if err != nil {
			return err
		}
		var fig drawing
		switch {
		case k != nil && log:
			return shell.BadInput("", errors.New("log is for tables, want it without a kernel"))
		case k != nil:
			fig, err = newKernelFigure(a, args[0], k, values, additive)
		case values != "" || additive != "":
			return shell.BadInput("", errors.New("values and table are for kernels, want neither with a table"))
		default:
			var v *tables.Verified
			if v, err = shell.SoundTable(args[0], t); err == nil {
				fig = figure.NewTable(t, v.Certificate(), log)
			}
		}
		if err != nil {
			return err
		}
		file, err := a.Create(out, args[0])
		if err != nil {
			return err
		}
		defer file.Discard()
		if err := fig.Draw(file, format, vg.Length(w)*vg.Centimeter, vg.Length(h)*vg.Centimeter); err != nil {
			return err
		}
		if err := cmd.Context().Err(); err != nil {
			return err
		}
		return file.Commit()
	}
	return cmd
}

// maxValues is how many query values one figure tells apart.
var maxValues = len(figure.Palette)

// readValues reads the query values of a figure, separated by commas.
func readValues(k *kernels.Kernel, list string) ([]float64, error) {
	if list == "" {
		return nil, nil
	}
	var values []float64
	for _, v := range strings.Split(list, ",") {
		x, err := readQuery(k, "values", strings.TrimSpace(v))
		if err != nil {
			return nil, err
		}
		values = append(values, x)
	}
	if len(values) > maxValues {
		return nil, shell.BadInput("", fmt.Errorf("values = %s, want at most %d query values", check.Quoted(list), maxValues))
	}
	return values, nil
}

// newKernelFigure verifies a kernel and reads what its figure is to show: query
// values, and the file of a table to compare with.
func newKernelFigure(a *shell.Streams, path string, k *kernels.Kernel, values, additive string) (*figure.Kernel, error) {
	f := &figure.Kernel{Kernel: k}
	var err error
	if f.Values, err = readValues(k, values); err != nil {
		return nil, err
	}
	v, err := shell.SoundKernel(path, k)
	if err != nil {
		return nil, err
	}
	f.Certificate = v.Certificate()
	if additive != "" {
		v, err := a.ReadSound(additive)
		if err != nil {
			return nil, err
		}
		t := v.Table()
		if t.Privacy() != k.Privacy() || t.Loss().Name() != k.Loss().Name() {
			return nil, shell.BadInput("", fmt.Errorf("table = %s is for another privacy or loss, want those of the kernel", check.Quoted(additive)))
		}
		f.Independent, _ = v.Certificate().ExpectedLoss.Float64()
	}
	return f, nil
}
