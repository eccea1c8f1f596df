package cli

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/cli/shell"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/sampler"
	"github.com/noisewright/noisewright/tables"
)

// sampleBlock is the number of draws made at a time.
const sampleBlock = 4096

func newSampleCommand(a *shell.Streams) *cobra.Command {
	var (
		table, out, value string
		integer, constant bool
	)
	cmd := &cobra.Command{
		Use:   "sample --table TABLE -n N",
		Short: "Draw noise from a table",
		Long: `Verify a table and print independent draws of its noise, in query units. The
generator is cryptographic and seeded by the operating system; there is no seed
to give. Decimals are the shortest that read back as the same float64; those of
noise on a lattice are exact multiples of the decimal of its step.

For a kernel file, print independent answers to the query value given by --value.

To publish a noisy number, use privatize: noise added to a number by other means
is not private if the number was not rounded to the grid first.`,
		Example: `  noisewright sample --table table.json -n 1000
  noisewright sample --table table.json -n 1000000 --format f64le -o noise.f64`,
		Args: shell.NoArguments,
	}
	cmd.Flags().StringVar(&table, "table", "", "table file to draw from")
	cmd.Flags().StringVar(&value, "value", "", "query value to answer, in the kernel's range; for a kernel file only, where it is required")
	count := shell.NewTextP(cmd, "count", "n", "count", "", "number of draws")
	format := shell.NewText(cmd, "format", "name", "text", "text (one decimal per line) or f64le (8 bytes each, little endian)")
	cmd.Flags().BoolVar(&integer, "integer", false, "print grid points n instead; the noise is n steps of the table's granularity")
	cmd.Flags().BoolVar(&constant, "constant-time", false, "draw in a time that does not depend on the values drawn, many times slower")
	cmd.Flags().StringVarP(&out, "output", "o", "", "file to write, - for standard output (default -)")
	completeTable(cmd)
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"text", "f64le"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var f shell.Fields
		f.Required("table", table, "a table file")
		n := f.Integer("count", count, "an integer of at least 1", 1, math.MaxInt64)
		form := f.Choice("format", format, "text", "f64le")
		if err := f.Err(cmd); err != nil {
			return err
		}
		t, k, err := a.ReadEither(table)
		if err != nil {
			return err
		}
		var x float64
		var sound *tables.Verified
		var soundKernel *kernels.Verified
		switch {
		case k != nil && (integer || constant || form != "text"):
			return shell.BadInput("", errors.New("integer, constant-time and format are for tables, want none of them with a kernel"))
		case k != nil:
			if x, err = readQuery(k, "value", value); err != nil {
				return err
			}
			soundKernel, err = shell.SoundKernel(table, k)
		case value != "":
			return shell.BadInput("", fmt.Errorf("value = %s is for kernels, want none with a table", check.Quoted(value)))
		default:
			sound, err = shell.SoundTable(table, t)
		}
		if err != nil {
			return err
		}
		w := a.Direct()
		if !shell.IsStandard(out) {
			if w, err = a.Create(out, table); err != nil {
				return err
			}
		}
		defer w.Discard()
		if k != nil {
			return sampleKernel(a, cmd.Context(), w, soundKernel, x, n)
		}
		s, err := sampler.New(sound, sampler.Options{ConstantTime: constant})
		if err != nil {
			return err
		}
		d := drawer{sampler: s, printer: newPrinter(s.Table()), integer: integer, binary: form == "f64le"}
		if err := d.write(cmd.Context(), w, n); err != nil {
			return err
		}
		return w.Commit()
	}
	return cmd
}

// completeTable completes --table by JSON files.
func completeTable(cmd *cobra.Command) {
	_ = cmd.MarkFlagFilename("table", "json")
}

// drawer prints draws.
type drawer struct {
	sampler         *sampler.Sampler
	printer         *printer
	integer, binary bool
}

// write prints n draws.
func (d drawer) write(ctx context.Context, w io.Writer, n int64) error {
	points := make([]int64, sampleBlock)
	scale := d.sampler.Step()
	if d.integer {
		scale = 1 // exact: a table's points stay below 2^53
	}
	var line []byte
	for n > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		m := int(min(n, sampleBlock))
		n -= int64(m)
		if err := d.sampler.FillInt(points[:m]); err != nil {
			return err
		}
		line = line[:0]
		for _, point := range points[:m] {
			switch {
			case d.binary:
				line = binary.LittleEndian.AppendUint64(line, math.Float64bits(float64(point)*scale))
			case d.integer:
				line = append(strconv.AppendInt(line, point, 10), '\n')
			default:
				line = append(d.printer.append(line, point), '\n')
			}
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// newSampler returns a sampler of the table file, verified.
func newSampler(a *shell.Streams, path string, o sampler.Options) (*sampler.Sampler, error) {
	v, err := a.ReadSound(path)
	if err != nil {
		return nil, err
	}
	return sampler.New(v, o)
}

// newKernelSampler returns a sampler of the kernel file, verified.
func newKernelSampler(a *shell.Streams, path string) (*sampler.KernelSampler, error) {
	_, k, err := a.ReadEither(path)
	if err != nil {
		return nil, err
	}
	if k == nil {
		return nil, shell.BadInput("privatize --table takes a table", fmt.Errorf("%s is a table, want a kernel made by design-kernel", shell.InputName(path)))
	}
	v, err := shell.SoundKernel(path, k)
	if err != nil {
		return nil, err
	}
	return sampler.NewKernel(v, sampler.Options{})
}

// sampleKernel prints n answers of a kernel to the query value x.
func sampleKernel(a *shell.Streams, ctx context.Context, w *shell.Output, k *kernels.Verified, x float64, n int64) error {
	s, err := sampler.NewKernel(k, sampler.Options{})
	if err != nil {
		return err
	}
	var line []byte
	for ; n > 0; n-- {
		if err := ctx.Err(); err != nil {
			return err
		}
		y, err := s.Release(x)
		if err != nil {
			return err
		}
		line = append(strconv.AppendFloat(line[:0], y, 'g', -1, 64), '\n')
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return w.Commit()
}

// readQuery reads a query value of a kernel's range.
func readQuery(k *kernels.Kernel, name, value string) (float64, error) {
	q := k.Queries()
	if value == "" {
		return 0, shell.BadInput("", fmt.Errorf("%s is missing, want a number from %v to %v, the kernel's range", name, q.Lower, q.Upper))
	}
	x, err := strconv.ParseFloat(value, 64)
	if err != nil || !(x >= q.Lower && x <= q.Upper) || math.IsNaN(x) {
		return 0, shell.BadInput("", fmt.Errorf("%s = %s, want a number from %v to %v, the kernel's range", name, check.Quoted(value), q.Lower, q.Upper))
	}
	return x, nil
}
