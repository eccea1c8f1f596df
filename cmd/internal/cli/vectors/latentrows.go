// SPDX-License-Identifier: Apache-2.0

package vectors

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/csvfile"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/sampler"
)

// rowsOptions are those of commands that put other numbers in the place of each row's.
type rowsOptions struct {
	shell.Common
	in      string // CSV file
	bundle  string
	keep    string // columns to copy
	csv     csvfile.Options
	sampler sampler.Options
}

type conversion struct {
	doing    string
	draws    bool
	from, to func(*bundle.Bundle) []string // columns
	// open returns what makes one for each goroutine.
	open func(ctx context.Context, o *rowsOptions, b *bundle.Bundle) (func() (convert, error), error)
}

// convert appends to a record what becomes of the numbers x of a row.
type convert func(record []string, x []float64) ([]string, error)

// numbers is the convert of a function that makes other numbers, in dst.
func numbers(other func(dst, x []float64) ([]float64, error)) convert {
	var values []float64
	return func(record []string, x []float64) (_ []string, err error) {
		if values, err = other(values[:0], x); err != nil {
			return nil, err
		}
		for _, v := range values {
			record = append(record, strconv.FormatFloat(v, 'g', -1, 64))
		}
		return record, nil
	}
}

func newRowsCommand(s *shell.Streams, cmd *cobra.Command, c conversion) *cobra.Command {
	o := &rowsOptions{Common: shell.Common{Streams: s}}
	f := shell.NewFlags(cmd)
	f.Directory(&o.bundle, "bundle", "directory of the bundle")
	f.Require(&o.bundle, "bundle", wantBundle)
	f.Misplaced("bundle", shell.IsBundle)
	f.Argument(&o.in, "FILE", shell.CSVFiles...)
	f.Output(&o.Common, "CSV file to write, - for standard output (default -)", shell.CSVFiles...)
	f.String(&o.keep, "keep", "names of columns to copy as they are, separated by commas, with * and ?; they are NOT private")
	f.Delimiter(&o.csv)
	if c.draws {
		f.Bool(&o.sampler.ConstantTime, "constant-time", "draw in a time that does not depend on the values drawn; slower, the more cells there are")
	}
	f.Quiet(&o.Common, "no progress")
	return f.Run(func(ctx context.Context) error { return o.run(ctx, c) })
}

const wantBundle = "a directory made by latent design or encoder train"

func newLatentPrivatizeCommand(s *shell.Streams) *cobra.Command {
	return newRowsCommand(s, &cobra.Command{
		Use:   "privatize --bundle BUNDLE FILE [-o FILE]",
		Short: "Encode feature vectors and add noise",
		Long: `Verify a bundle, encode the features of every row of a CSV file, clip, add noise,
and write the private numbers u1, u2, …: what leaves a device. Each run spends the
whole promise of the bundle on every person again.

Other columns are left out, except those of --keep, which are copied without
protection. The file has a header. It may be compressed with gzip or zstd; what is
written is if its name ends in .gz or .zst.

--constant-time is about drawing noise, and not to be had for spherical noise.
Encoding and clipping are plain float64 arithmetic either way.

A filter, which is a bundle of the kind none, adds no noise and makes no promise. What
it makes of the rows is written, with a warning at every run, --quiet or not.`,
		Example: "  noisewright latent privatize --bundle bundle in.csv -o private.csv",
	}, privatizing)
}

var privatizing = conversion{"privatizing", true, featureNames, unitNames, func(ctx context.Context, o *rowsOptions, b *bundle.Bundle) (func() (convert, error), error) {
	if b.Spec().Noise == bundle.None {
		o.Warn("%s is a filter: it adds no noise and promises nothing, so what is written is NOT PRIVATE", o.bundle)
		return func() (convert, error) { return numbers(b.Filter), nil }, nil
	}
	p, err := openPrivatizer(ctx, o.bundle, b, o.sampler)
	return func() (convert, error) {
		q, err := p.Fork()
		if err != nil {
			return nil, err
		}
		return numbers(q.Privatize), nil
	}, err
}}

func newLatentDecodeCommand(s *shell.Streams) *cobra.Command {
	return newRowsCommand(s, &cobra.Command{
		Use:   "decode --bundle BUNDLE FILE [-o FILE]",
		Short: "Reconstruct features, values or classes from private numbers",
		Long: `Decode the private numbers of every row that latent privatize wrote: to the features,
or to what the bundle names as its outputs. Of classes there is a column with the
probability of each, and the most probable one in the column class. Decoding costs no
privacy.`,
		Example: "  noisewright latent decode --bundle bundle private.csv -o decoded.csv",
	}, decoding)
}

const classColumn = "class"

var decoding = conversion{"decoding", false, unitNames, func(b *bundle.Bundle) []string {
	if b.Spec().Output == bundle.Classes {
		return append(b.Outputs(), classColumn)
	}
	return b.Outputs()
}, func(_ context.Context, o *rowsOptions, b *bundle.Bundle) (func() (convert, error), error) {
	if b.Spec().Output != bundle.Classes {
		return func() (convert, error) { return numbers(b.Decode), nil }, nil
	}
	classes := b.Outputs()
	if slices.Contains(classes, classColumn) {
		return nil, shell.BadInput("", fmt.Errorf("bundle %s has a class of the name %s, want other names: that is the column of the most probable class", o.bundle, classColumn))
	}
	return func() (convert, error) {
		likely := 0
		decode := numbers(func(dst, u []float64) ([]float64, error) {
			p, err := b.Decode(dst, u)
			if err == nil {
				likely = b.Decide(u, p)
			}
			return p, err
		})
		return func(record []string, u []float64) ([]string, error) {
			record, err := decode(record, u)
			return append(record, classes[likely]), err
		}, nil
	}, nil
}}

func unitNames(b *bundle.Bundle) []string {
	names := make([]string, b.Coordinates())
	for i := range names {
		names[i] = fmt.Sprintf("u%d", i+1)
	}
	return names
}

func featureNames(b *bundle.Bundle) []string { return b.Spec().Features }

type bundleRows struct {
	*csvfile.Columns
	*shell.CSV
}

// openRows opens a CSV file with all of the columns of a bundle and those to keep.
func openRows(s *shell.Streams, file string, o csvfile.Options, columns []string, keep string) (rows *bundleRows, err error) {
	var patterns []string
	if keep != "" {
		patterns = strings.Split(keep, ",")
	}
	input, err := s.OpenCSV(file, o)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			input.Close()
		}
	}()
	c, err := csvfile.NewColumns(input.Reader,
		func(name string) bool { return slices.Contains(columns, name) },
		func(name string) bool { return csvfile.Matches(patterns, name) })
	if err != nil {
		if errors.Is(err, csvfile.ErrNoFeature) {
			err = fmt.Errorf("%w The bundle wants %s", err, check.Quoted(check.Shortened(strings.Join(columns, ","))))
		}
		return nil, shell.BadFile(file, err)
	}
	for _, column := range columns {
		if !slices.Contains(c.Names, column) {
			return nil, shell.BadFile(file, fmt.Errorf("column %s of the bundle is missing", check.Quoted(column)))
		}
	}
	for _, k := range patterns {
		if !slices.ContainsFunc(c.Kept, func(name string) bool { return csvfile.Matches([]string{k}, name) }) {
			return nil, shell.BadInput("", fmt.Errorf("keep = %s, want the name of a column of %s that the bundle does not read", check.Quoted(k), shell.InputName(file)))
		}
	}
	return &bundleRows{c, input}, nil
}

// run writes a row for each of the input's; the file appears whole or not at all.
func (o *rowsOptions) run(ctx context.Context, c conversion) error {
	o.Progress().Watch("verifying")
	b, err := readBundle(o.bundle)
	if err != nil {
		return err
	}
	in, err := openRows(o.Streams, o.in, o.csv, c.from(b), o.keep)
	if err != nil {
		return err
	}
	defer in.Close()
	for _, name := range in.Kept {
		if slices.Contains(c.to(b), name) {
			return shell.BadInput("", fmt.Errorf("keep = %s, want columns with names other than %s, which is one of the result", check.Quoted(o.keep), check.Quoted(name)))
		}
	}
	open, err := c.open(ctx, o, b)
	if err != nil {
		return err
	}
	return o.WriteCSV(o.Output, func(w io.Writer) error { return o.write(ctx, w, in, b, c, open) }, o.in)
}

// rowsAtOnce is how many rows are worked on at a time.
const rowsAtOnce = 256

// rows are some rows of a file.
type rows struct {
	texts   []string  // of all rows, those that are kept
	numbers []float64 // of all rows
	last    int       // number of the last one
	count   int
	text    bytes.Buffer // what becomes of them
}

func (o *rowsOptions) write(ctx context.Context, w io.Writer, in *bundleRows, b *bundle.Bundle, c conversion, open func() (convert, error)) error {
	writer := func(w io.Writer) *csv.Writer {
		out := csv.NewWriter(w)
		if o.csv.Delimiter != 0 {
			out.Comma = rune(o.csv.Delimiter)
		}
		return out
	}
	kept, columns := len(in.Kept), len(c.from(b))
	header := writer(w)
	if err := header.Write(append(slices.Clone(in.Kept), c.to(b)...)); err != nil {
		return err
	}
	if header.Flush(); header.Error() != nil {
		return header.Error()
	}
	converts := make([]convert, shell.Workers())
	for k := range converts {
		var err error
		if converts[k], err = open(); err != nil {
			return err
		}
	}
	line, row := o.Progress(), in.Ordered(c.from(b))
	return shell.InOrder(len(converts), func(r *rows) error {
		r.texts, r.numbers, r.count = r.texts[:0], r.numbers[:0], 0
		for r.count < rowsAtOnce {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := in.Next(); errors.Is(err, io.EOF) {
				return err
			} else if err != nil {
				return shell.BadFile(o.in, err)
			}
			r.texts, r.numbers = append(r.texts, in.Texts...), append(r.numbers, row()...)
			r.count++
			r.last = in.Rows
		}
		return nil
	}, func(worker int, r *rows) error {
		r.text.Reset()
		out := writer(&r.text)
		var record []string
		for i := range r.count {
			var err error
			if record, err = converts[worker](append(record[:0], r.texts[i*kept:(i+1)*kept]...), r.numbers[i*columns:(i+1)*columns]); err != nil {
				err = fmt.Errorf("row %d: %w", r.last-r.count+1+i, err)
				if errors.Is(err, dp.ErrInvalid) {
					return shell.BadFile(o.in, err)
				}
				return fmt.Errorf("%s: %w", shell.InputName(o.in), err)
			}
			if err := out.Write(record); err != nil {
				return err
			}
		}
		out.Flush()
		return out.Error()
	}, func(r *rows) error {
		line.Rows(c.doing, r.last, in.Input)
		_, err := w.Write(r.text.Bytes())
		return err
	})
}
