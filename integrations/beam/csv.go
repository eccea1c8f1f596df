// SPDX-License-Identifier: Apache-2.0

package noisebeam

import (
	"context"
	"crypto/rand"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/fileio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local" // for file names; others are imported by who has them
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/parquetio"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/integrations/beam/internal/fault"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/csvfile"
	"github.com/noisewright/noisewright/tables"
)

// record is a line of a CSV file, with the number that has noise.
type record struct {
	Fields []string
	Value  float64
}

// header is that of a CSV file, and where the column stands in it.
type header struct {
	Columns []string
	At      int
}

// PrivatizeCSV reads the CSV files that match in, which have the same header (RFC 4180,
// UTF-8, perhaps compressed), clips a column to its range, adds noise to every row and writes the rows to
// the file out, in any order that does not depend on the column. Other columns are not protected. out, which
// must not be there yet, appears whole or not at all where the file system can rename. What
// a row is to an engine that reads it again is its file and line: these get the same noise for
// the same value.
//
// Guarantee and errors are those of AddNoise. A text that is no plain decimal number counts as the
// middle of the range, and a row that is malformed as one with empty fields and that value. What
// fails the pipeline: a header without the column, or with two of that name; no files or no rows;
// and, with StrictNotPrivate alone, such a row or text, by an error that tells its line and not the
// text.
func PrivatizeCSV(s beam.Scope, table *tables.Verified, column Column, in, out string) error {
	s = s.Scope("noisebeam.PrivatizeCSV")
	if err := checkFiles(in, out); err != nil {
		return err
	}
	if err := once(); err != nil {
		return err
	}
	if err := column.validate(table); err != nil {
		return err
	}
	n, err := newNoise(table)
	if err != nil {
		return err
	}
	noisy, headers := beam.ParDo2(s, &readCSVFn{n, column}, files(s, in))
	wantRows(s, in, noisy)
	all := beam.GroupByKey(s, beam.AddFixedKey(s, fault.After(s, "noisy", noisy)))
	beam.ParDo0(s, &writeCSVFn{File: out}, all, beam.SideInput{Input: headers})
	return nil
}

// wantRows fails the pipeline if there are none.
func wantRows(s beam.Scope, in string, rows beam.PCollection) {
	n := beam.DropKey(s, beam.CombinePerKey(s, &addFn{}, beam.ParDo(s, one, rows)))
	beam.ParDo0(s, &someFn{in}, beam.Impulse(s), beam.SideInput{Input: n})
}

func one(beam.X) (int, int64) { return 0, 1 }

type someFn struct{ In string }

func (f *someFn) ProcessElement(_ []byte, counts func(*int64) bool) error {
	var n int64
	if !counts(&n) {
		return check.Errorf("noisebeam", dp.ErrInvalid, "%s: no rows, want some", f.In)
	}
	return nil
}

// PrivatizeParquet is PrivatizeCSV for Parquet files, by Beam's parquetio: row is the type
// of a struct with parquet tags, and column the name of a float64 field of it.
func PrivatizeParquet(s beam.Scope, table *tables.Verified, column Column, in, out string, row reflect.Type) error {
	s = s.Scope("noisebeam.PrivatizeParquet")
	if err := checkFiles(in, out); err != nil {
		return err
	}
	if err := checkField(row, column.Name); err != nil {
		return err
	}
	rows := parquetio.Read(s, in, row)
	wantRows(s, in, rows)
	noisy, err := AddNoise(s, rows, table, column)
	if err != nil {
		return err
	}
	parquetio.Write(s, out, noisy)
	return nil
}

func checkFiles(in, out string) error {
	bad := check.In("noisebeam")
	bad.Want(in != "", "in", `""`, "a file, or a pattern of files")
	bad.Want(out != "", "out", `""`, "a file")
	bad.Want(out == "" || !exists(out), "out", check.Quoted(out), "a file that is not there yet: an old result could be taken for the new one")
	return bad.Err()
}

// exists reports whether a file is there, as far as who builds the pipeline can see.
func exists(file string) bool {
	ctx := context.Background()
	filesystem.ValidateScheme(file)
	fs, err := filesystem.New(ctx, file)
	if err != nil {
		return false
	}
	defer fs.Close() //nolint:errcheck // nothing is written
	list, err := fs.List(ctx, file)
	return err == nil && slices.Contains(list, file)
}

// files opens those that match, of which there has to be one. What is compressed is found by
// its first bytes.
func files(s beam.Scope, in string) beam.PCollection {
	filesystem.ValidateScheme(in)
	return fileio.ReadMatches(s, fileio.MatchFiles(s, in, fileio.MatchEmptyDisallow()), fileio.ReadUncompressed())
}

// Files are CSV files of rows, and what a row of them is, which is for who holds the data to say, and
// not for who asks: read in another way one record is many.
type Files struct {
	Pattern string // of their names
	// Delimiter is what stands between two fields; 0 means a comma.
	Delimiter byte
	// OneLine says that a row is a line: fields have no line breaks, in quotes neither. Then a
	// quote that nobody closes is no matter of other rows, whoever wrote the file.
	OneLine bool
}

// ReadRows reads CSV files as a PCollection<Row>. A row that is malformed or without
// a plain decimal number does not count, and nothing tells so; value may be "", where nothing but
// counts is released. What fails the pipeline is public: no files, and a header, on one line, that lacks one
// of the columns or has two of its name.
func ReadRows(s beam.Scope, in Files, person, partition, value string) (beam.PCollection, error) {
	bad := check.In("noisebeam")
	in.check(person, bad)
	bad.Want(partition != "", "partition", `""`, "the column of partitions")
	if err := bad.Err(); err != nil {
		return beam.PCollection{}, err
	}
	s = s.Scope("noisebeam.ReadRows")
	return beam.ParDo(s, &readRowsFn{person, partition, value, in.options()}, files(s, in.Pattern)), nil
}

// ReadEntries reads CSV files as a PCollection<Entry>, with the values of these columns. A row that is
// malformed does not count, and nothing tells so. What fails the pipeline is what fails that of ReadRows.
func ReadEntries(s beam.Scope, in Files, person string, columns ...string) (beam.PCollection, error) {
	bad := check.In("noisebeam")
	in.check(person, bad)
	bad.Want(len(columns) > 0 && !slices.Contains(columns, ""), "columns", fmt.Sprintf("%q", columns), "the names of one or more")
	if err := bad.Err(); err != nil {
		return beam.PCollection{}, err
	}
	s = s.Scope("noisebeam.ReadEntries")
	return beam.ParDo(s, &readEntriesFn{append([]string{person}, columns...), in.options()}, files(s, in.Pattern)), nil
}

func (in Files) check(person string, bad *check.List) {
	bad.Want(person != "", "person", `""`, "the column that tells whose a row is")
	bad.Want(in.Pattern != "", "in", `""`, "a file, or a pattern of files")
	bad.Want(in.Delimiter == 0 || csvfile.ParseDelimiter(string(rune(in.Delimiter))) != 0, "delimiter", strconv.QuoteRune(rune(in.Delimiter)), csvfile.WantDelimiter)
}

func (in Files) options() csvfile.Options {
	return csvfile.Options{Delimiter: in.Delimiter, OneLine: in.OneLine}
}

// scan calls first for the header of a file and then each for every row. One that is malformed ends
// it if strict, by an error that tells its line; else malformed is called.
func scan(ctx context.Context, file fileio.ReadableFile, o csvfile.Options, strict bool, first func(columns []string) error, each func(in *csvfile.Reader) error, malformed func(line int, err error) error) error {
	bad := func(err error) error {
		return check.Errorf("noisebeam", dp.ErrInvalid, "%s: %w", file.Metadata.Path, err)
	}
	opened, err := file.Open(ctx)
	if err != nil {
		return err
	}
	defer opened.Close() //nolint:errcheck // what was read is whole
	in, err := csvfile.NewReader(opened, o)
	if err != nil {
		return bad(err)
	}
	defer in.Close()
	header, next := in.HeaderLine, in.RowAlone
	if strict {
		header, next = in.Header, in.Row
	}
	names, err := header()
	if err == nil {
		err = first(names)
	}
	if err != nil {
		return bad(err)
	}
	for {
		err = next()
		switch {
		case err == nil:
			err = each(in)
		case !strict && errors.Is(err, csvfile.ErrRow):
			err = malformed(in.Line, err)
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return bad(err)
		}
	}
}

// find returns where the column stands, blanks around names left out. Its errors do not tell the
// header, as that may be a row of a file without one.
func find(columns []string, column string) (int, error) {
	at, n := csvfile.Index(columns, column)
	if n != 1 {
		return 0, fmt.Errorf("%d columns are called %s in the header, want one", n, check.Quoted(column))
	}
	return at, nil
}

// readCSVFn reads a file for PrivatizeCSV, and adds noise.
type readCSVFn struct {
	Noise  noise
	Column Column
}

func (f *readCSVFn) Setup() error { return f.Noise.setup() }

func (f *readCSVFn) ProcessElement(ctx context.Context, file fileio.ReadableFile, emit func(record), emitHeader func(header)) error {
	var at, width int
	row := func(line int, fields []string, x float64) (err error) {
		if x, err = f.Column.valid(x, f.Noise.s.Table().Query()); err == nil {
			x, err = f.Noise.row(x, "file", file.Metadata.Path, whole(int64(line)))
		}
		if err != nil {
			return fmt.Errorf("line %d: column %s %w", line, check.Quoted(f.Column.Name), err)
		}
		fields[at] = ""
		emit(record{Fields: fields, Value: x})
		return nil
	}
	return scan(ctx, file, csvfile.Options{}, f.Column.StrictNotPrivate, func(columns []string) (err error) {
		if at, err = find(columns, f.Column.Name); err == nil {
			width = len(columns)
			emitHeader(header{columns, at})
		}
		return err
	}, func(in *csvfile.Reader) error {
		cell := in.Inner(at)
		x, err := csvfile.Number(string(in.Raw[cell.Start:cell.End]))
		switch {
		case err != nil && f.Column.StrictNotPrivate:
			return fmt.Errorf("line %d: column %s %w", in.Line, check.Quoted(f.Column.Name), err)
		case err != nil:
			x = math.NaN()
		}
		return row(in.Line, contents(in), x)
	}, func(line int, err error) error {
		if width > 1 && errors.Is(err, csvfile.ErrBlank) {
			return nil // whatever the value is
		}
		return row(line, make([]string, width), math.NaN())
	})
}

func contents(in *csvfile.Reader) []string {
	out := make([]string, len(in.Fields))
	for i := range out {
		out[i] = in.Content(i)
	}
	return out
}

// readRowsFn reads a file for ReadRows.
type readRowsFn struct {
	Person, Partition, Value string
	Options                  csvfile.Options
}

func (f *readRowsFn) ProcessElement(ctx context.Context, file fileio.ReadableFile, emit func(Row)) error {
	var at []int
	return scan(ctx, file, f.Options, false, func(columns []string) (err error) {
		at, err = findAll(columns, f.Person, f.Partition, f.Value)
		return err
	}, func(in *csvfile.Reader) error {
		r := Row{Person: in.Content(at[0]), Partition: in.Content(at[1])}
		if at[2] >= 0 {
			cell := in.Inner(at[2])
			x, err := csvfile.Number(string(in.Raw[cell.Start:cell.End]))
			if err != nil {
				return nil // such rows do not count
			}
			r.Value = x
		}
		emit(r)
		return nil
	}, func(int, error) error { return nil }) // nor do these
}

// findAll returns where the columns stand, -1 for "".
func findAll(columns []string, names ...string) ([]int, error) {
	at := make([]int, len(names))
	for i, name := range names {
		var err error
		if at[i] = -1; name != "" {
			at[i], err = find(columns, name)
		}
		if err != nil {
			return nil, err
		}
	}
	return at, nil
}

// readEntriesFn reads a file for ReadEntries.
type readEntriesFn struct {
	Columns []string // that of persons is the first
	Options csvfile.Options
}

func (f *readEntriesFn) ProcessElement(ctx context.Context, file fileio.ReadableFile, emit func(Entry)) error {
	var at []int
	return scan(ctx, file, f.Options, false, func(columns []string) (err error) {
		at, err = findAll(columns, f.Columns...)
		return err
	}, func(in *csvfile.Reader) error {
		e := Entry{Person: in.Content(at[0])}
		for _, i := range at[1:] {
			e.Values = append(e.Values, in.Content(i))
		}
		emit(e)
		return nil
	}, func(int, error) error { return nil }) // such rows do not count
}

type writeCSVFn struct{ File string }

// ProcessElement writes all records, first beside the file and then in its place, so that
// no half of it is ever seen, nor a file with the rows of two attempts.
func (f *writeCSVFn) ProcessElement(ctx context.Context, _ int, records func(*record) bool, headers func(*header) bool) error {
	h, err := theHeader(headers)
	if err != nil {
		return err
	}
	fs, err := filesystem.New(ctx, f.File)
	if err != nil {
		return err
	}
	defer fs.Close()                             //nolint:errcheck // the file is closed
	part := f.File + ".part-" + rand.Text()[:16] // engines may run two attempts at once
	out, err := fs.OpenWrite(ctx, part)
	if err != nil {
		return err
	}
	if err := h.write(out, records); err != nil {
		return errors.Join(err, out.Close())
	}
	if err := out.Close(); err != nil {
		return err
	}
	return filesystem.Rename(ctx, fs, part, f.File)
}

func (h *header) write(out io.Writer, records func(*record) bool) error {
	w := csv.NewWriter(out)
	if err := w.Write(h.Columns); err != nil {
		return err
	}
	var r record
	for records(&r) {
		r.Fields[h.At] = number(r.Value)
		if err := w.Write(r.Fields); err != nil {
			return err
		}
		r = record{}
	}
	w.Flush()
	return w.Error()
}

func theHeader(headers func(*header) bool) (*header, error) {
	var all *header
	var h header
	for headers(&h) {
		if all == nil {
			own := h
			all = &own
		} else if !slices.Equal(all.Columns, h.Columns) {
			return nil, check.Errorf("noisebeam", dp.ErrInvalid, "the files have different headers, want the same one")
		}
		h = header{}
	}
	return all, nil
}
