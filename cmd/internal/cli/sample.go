// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/plane"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/sampler"
	"github.com/noisewright/noisewright/tables"
)

type sampleOptions struct {
	shell.Common
	table        string // or a kernel
	value        string // of the query, for a kernel
	sensitivity  string // of two numbers, with its norm
	count        int
	format       string
	integer      bool
	constantTime bool
}

// The words of --format.
const (
	formatText   = "text"
	formatBinary = "f64le"
)

func newSampleCommand(s *shell.Streams) *cobra.Command {
	o := &sampleOptions{Common: shell.Common{Streams: s}, format: formatText}
	f := shell.NewFlags(&cobra.Command{
		Use:   "sample TABLE -n N",
		Short: "Draw noise from a table",
		Long: `Verify a table and print independent draws of its noise, in query units. The
generator is cryptographic and seeded by the operating system; there is no seed
to give. Decimals are the shortest that read back as the same float64; those of
noise in steps are exact multiples of the decimal of the step.

For a kernel or a local randomizer file, print independent answers to the value given
by --value; for noise in the plane, to two numbers A,B.

To publish a noisy number, use privatize: noise added to a number by other means
is not private if the number was not rounded to the grid first.`,
		Example: `  noisewright sample table.json -n 1000
  noisewright sample table.json -n 1000000 --format f64le -o noise.f64`,
	})
	f.TableArgument(&o.table, "TABLE", 0, 0)
	f.Require(&o.table, "TABLE", "a table file")
	f.String(&o.value, "value", "value to answer, of the kernel's or randomizer's range; for their files only, where it is required")
	f.String(&o.sensitivity, "sensitivity", "for noise in the plane: how far neighboring data sets may change the two numbers of --value, with the norm, such as linf:1 or l1:2; a file that is not for it is refused")
	f.Integer(&o.count, "count", "n", 1, math.MaxInt, "number of draws")
	f.Word(&o.format, "format", "name", "text (one decimal per line) or f64le (8 bytes each, little endian)", formatText, formatBinary)
	f.Bool(&o.integer, "integer", "print the number of steps, the distance of grid points, in the place of the noise")
	f.Bool(&o.constantTime, "constant-time", "draw in a time that does not depend on the values drawn; slower, the more cells there are")
	f.Output(&o.Common, "file to write, - for standard output (default -)", "*")
	f.Quiet(&o.Common, "no progress")
	return f.Run(o.run)
}

func (o *sampleOptions) run(ctx context.Context) error {
	o.Progress().Watch("verifying")
	made, err := o.ReadAny(o.table)
	if err != nil {
		return err
	}
	start := (*sampleOptions).answers
	if own := owns[made.Form().Package]; own.draw != nil {
		start = own.draw
	}
	draw, err := start(o, ctx, made)
	if err != nil {
		return err
	}
	w, line := o.Direct(), o.Progress()
	if !shell.IsStandard(o.Output) {
		if w, err = o.Create(o.Output, o.table); err != nil {
			return err
		}
	} else if o.Screen {
		line = &shell.Progress{} // it would stand among the draws
	}
	defer w.Discard()
	var text []byte
	for done := 0; done < o.count; {
		if err := ctx.Err(); err != nil {
			return err
		}
		m := min(o.count-done, sampleBlock)
		if text, err = draw(text[:0], m); err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
		done += m
		line.Count("drawing", done, o.count)
	}
	return w.Commit()
}

const sampleBlock = 4096

// drawer appends n draws to dst as they are printed.
type drawer func(dst []byte, n int) ([]byte, error)

func (o *sampleOptions) noise(ctx context.Context, m proof.Mechanism) (drawer, error) {
	if err := o.covered(m); err != nil {
		return nil, err
	}
	if o.value != "" {
		return nil, shell.BadInput("", fmt.Errorf("value = %s is for kernels and local randomizers, want none with a table", check.Quoted(o.value)))
	}
	t := m.(*tables.Table)
	v, err := shell.Sound(ctx, o.table, t)
	if err != nil {
		return nil, err
	}
	s, err := sampler.NewNoise(v, sampler.Options{ConstantTime: o.constantTime})
	if err != nil {
		return nil, err
	}
	printer, scale := newPrinter(t), s.Step()
	if o.integer {
		scale = 1 // exact: a table's points stay below 2^53
	}
	points := make([]int64, sampleBlock)
	return func(dst []byte, n int) ([]byte, error) {
		if err := s.FillInt(points[:n]); err != nil {
			return nil, err
		}
		for _, point := range points[:n] {
			switch {
			case o.format == formatBinary:
				dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(float64(point)*scale))
			case o.integer:
				dst = append(strconv.AppendInt(dst, point, 10), '\n')
			default:
				dst = append(printer.append(dst, point), '\n')
			}
		}
		return dst, nil
	}, nil
}

func (o *sampleOptions) answers(ctx context.Context, m proof.Mechanism) (drawer, error) {
	if o.integer || o.constantTime || o.format != formatText {
		return nil, shell.BadInput("", fmt.Errorf("integer, constant-time and format are for tables, want none of them with %s", m.Form().Noun))
	}
	if err := o.covered(m); err != nil {
		return nil, err
	}
	input, ok := readInput(m.Inputs(), o.value)
	if !ok {
		return nil, shell.BadInput("", shell.About("value", o.value, shell.Want(takes(m))))
	}
	v, err := shell.Prove(ctx, o.table, m)
	if err != nil {
		return nil, err
	}
	s, err := sampler.New(v, sampler.Options{})
	if err != nil {
		return nil, err
	}
	return func(dst []byte, n int) ([]byte, error) {
		for range n {
			answer, err := s.Release(input)
			switch {
			case errors.Is(err, dp.ErrInvalid):
				return nil, shell.BadInput("", fmt.Errorf("value = %v: %w", input, err))
			case err != nil:
				return nil, err
			}
			dst = append(append(dst, answer.String()...), '\n')
		}
		return dst, nil
	}, nil
}

// covered holds the sensitivity that was given, if one was, against that of the noise.
func (o *sampleOptions) covered(m proof.Mechanism) error {
	if o.sensitivity == "" {
		return nil
	}
	n, ok := m.(*plane.Noise)
	norm, text, _ := strings.Cut(o.sensitivity, ":")
	x, err := shell.ParseNumber(text, shell.Rule{OK: shell.Positive})
	switch {
	case !ok:
		return shell.BadInput("", fmt.Errorf("sensitivity is for noise in the plane, want none with %s", m.Form().Noun))
	case err != nil:
		return shell.BadInput("", shell.About("sensitivity", o.sensitivity, shell.Want("a norm and a number above 0, such as linf:1 or l1:2")))
	}
	if err := n.Covers(plane.Norm(norm), x); err != nil {
		return shell.BadInput("", err)
	}
	return nil
}

// readInput reads an input of a mechanism. An integer may be written as a number is.
func readInput(s proof.Space, text string) (proof.Value, bool) {
	if s.Kind != proof.Numbers && s.Kind != proof.Integers {
		v, err := s.Parse(text)
		return v, err == nil
	}
	x, err := shell.ParseNumber(text, shell.Rule{OK: func(x float64) bool { return s.Contains(proof.Number(x)) }})
	return proof.Number(x), err == nil
}

func takes(m proof.Mechanism) string {
	s := m.Inputs()
	words := strings.Fields(m.Form().Noun)
	thing := words[len(words)-1]
	switch s.Kind { //nolint:exhaustive // the others have one sentence
	case proof.Categories:
		if len(s.Labels) == 0 {
			break // they are numbered
		}
		return fmt.Sprintf("one of the %d categories of the %s, such as %s", len(s.Labels), thing, s.Labels[0])
	case proof.Integers:
		return fmt.Sprintf("an integer from %v to %v, the %s's range", s.Lower, s.Upper, thing)
	case proof.Numbers:
		return fmt.Sprintf("a number from %v to %v, the %s's range", s.Lower, s.Upper, thing)
	}
	return s.String()
}
