package noisebeam

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/fileio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local" // for file names; others are imported by who has them
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/parquetio"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/tables"
)

// record is a line of a CSV file, with the number that gets noise.
type record struct {
	Fields []string
	Value  float64
}

// PrivatizeCSV reads the CSV files that match in, which have the same header (RFC 4180,
// UTF-8, perhaps compressed), replaces a column by AddNoise and writes the rows to the file
// out, in any order. Other columns are not protected. out appears whole or not at all where the
// file system can rename.
//
// Guarantee and errors are those of AddNoise. A bad header or a text that is no number
// fails the pipeline, with an error that does not tell the text.
func PrivatizeCSV(s beam.Scope, table *tables.Verified, column Column, in, out string) error {
	s = s.Scope("noisebeam.PrivatizeCSV")
	own := column
	own.Name = "Value"
	if err := checkFiles(in, out); err != nil {
		return err
	}
	if err := column.validate(table); err != nil {
		return err
	}
	records, headers := beam.ParDo2(s, &readCSVFn{Column: column.Name}, files(s, in))
	noisy, err := AddNoise(s, records, table, own)
	if err != nil {
		return err
	}
	all := beam.GroupByKey(s, beam.AddFixedKey(s, noisy))
	beam.ParDo0(s, &writeCSVFn{File: out, Column: column.Name}, all, beam.SideInput{Input: headers})
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
	noisy, err := AddNoise(s, parquetio.Read(s, in, row), table, column)
	if err != nil {
		return err
	}
	parquetio.Write(s, out, noisy)
	return nil
}

func checkFiles(in, out string) error {
	bad := check.In("noisebeam")
	if in == "" {
		bad.Bad("in", `""`, "a file, or a pattern of files")
	}
	if out == "" {
		bad.Bad("out", `""`, "a file")
	}
	return bad.Err()
}

func files(s beam.Scope, in string) beam.PCollection {
	filesystem.ValidateScheme(in)
	return fileio.ReadMatches(s, fileio.MatchFiles(s, in), fileio.ReadAutoCompression())
}

// ReadRows reads the CSV files that match in as a PCollection<Row>. A row without a number
// does not count; value may be "", where nothing but counts is released.
func ReadRows(s beam.Scope, in, person, partition, value string) (beam.PCollection, error) {
	bad := check.In("noisebeam")
	if person == "" {
		bad.Bad("person", `""`, "the column that tells whose a row is")
	}
	if partition == "" {
		bad.Bad("partition", `""`, "the column of partitions")
	}
	if in == "" {
		bad.Bad("in", `""`, "a file, or a pattern of files")
	}
	if err := bad.Err(); err != nil {
		return beam.PCollection{}, err
	}
	s = s.Scope("noisebeam.ReadRows")
	return beam.ParDo(s, &readRowsFn{Person: person, Partition: partition, Value: value}, files(s, in)), nil
}

// scan calls each for the records of a file after its header, which it returns to first.
func scan(ctx context.Context, file fileio.ReadableFile, first func(header []string) error, each func(fields []string, line int) error) error {
	in, err := file.Open(ctx)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // what was read is whole
	r := csv.NewReader(in)
	r.ReuseRecord = true
	header, err := r.Read()
	if err != nil {
		return check.Errorf("noisebeam", dp.ErrInvalid, "%s: no header line of a CSV file", file.Metadata.Path)
	}
	header = slices.Clone(header)
	header[0] = strings.TrimPrefix(header[0], "\ufeff")
	if err := first(header); err != nil {
		return err
	}
	for {
		fields, err := r.Read()
		line, _ := r.FieldPos(0)
		var wrong *csv.ParseError
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &wrong): // tells the line, not the text
			return check.Errorf("noisebeam", dp.ErrInvalid, "%s: line %d: %w", file.Metadata.Path, wrong.Line, wrong.Err)
		case err != nil:
			return err
		}
		if err := each(fields, line); err != nil {
			return err
		}
	}
}

// find returns where the column stands.
func find(file fileio.ReadableFile, header []string, column string) (int, error) {
	i := slices.Index(header, column)
	if i < 0 {
		return 0, check.Errorf("noisebeam", dp.ErrInvalid, "%s: no column %s in the header", file.Metadata.Path, check.Quoted(column))
	}
	return i, nil
}

// readCSVFn reads a file for PrivatizeCSV.
type readCSVFn struct{ Column string }

// ProcessElement emits records and the header.
func (f *readCSVFn) ProcessElement(ctx context.Context, file fileio.ReadableFile, emit func(record), emitHeader func([]string)) error {
	var at int
	return scan(ctx, file, func(header []string) (err error) {
		at, err = find(file, header, f.Column)
		emitHeader(header)
		return err
	}, func(fields []string, line int) error {
		x, err := strconv.ParseFloat(strings.TrimSpace(fields[at]), 64)
		if err != nil {
			return check.Errorf("noisebeam", dp.ErrInvalid, "%s: line %d: column %s is not a number", file.Metadata.Path, line, check.Quoted(f.Column))
		}
		own := slices.Clone(fields)
		own[at] = ""
		emit(record{own, x})
		return nil
	})
}

// readRowsFn reads a file for ReadRows.
type readRowsFn struct{ Person, Partition, Value string }

// ProcessElement emits rows.
func (f *readRowsFn) ProcessElement(ctx context.Context, file fileio.ReadableFile, emit func(Row)) error {
	var at [3]int
	return scan(ctx, file, func(header []string) (err error) {
		for i, column := range []string{f.Person, f.Partition, f.Value} {
			if column == "" {
				at[i] = -1
			} else if at[i], err = find(file, header, column); err != nil {
				return err
			}
		}
		return nil
	}, func(fields []string, _ int) error {
		r := Row{Person: strings.Clone(fields[at[0]]), Partition: strings.Clone(fields[at[1]])}
		if at[2] >= 0 {
			x, err := strconv.ParseFloat(strings.TrimSpace(fields[at[2]]), 64)
			if err != nil {
				return nil // such rows do not count
			}
			r.Value = x
		}
		emit(r)
		return nil
	})
}

// writeCSVFn writes one file.
type writeCSVFn struct{ File, Column string }

// ProcessElement writes all records, first beside the file and then in its place, so that
// no half of it is ever seen, nor a file with the rows of two attempts.
func (f *writeCSVFn) ProcessElement(ctx context.Context, _ int, records func(*record) bool, headers func(*[]string) bool) error {
	header, err := theHeader(headers)
	if err != nil {
		return err
	}
	fs, err := filesystem.New(ctx, f.File)
	if err != nil {
		return err
	}
	defer fs.Close()                                       //nolint:errcheck // the file is closed
	part := fmt.Sprintf("%s.part-%016x", f.File, random()) // engines may run two attempts at once
	out, err := fs.OpenWrite(ctx, part)
	if err != nil {
		return err
	}
	if err := f.write(out, header, records); err != nil {
		return errors.Join(err, out.Close())
	}
	if err := out.Close(); err != nil {
		return err
	}
	return filesystem.Rename(ctx, fs, part, f.File)
}

func (f *writeCSVFn) write(out io.Writer, header []string, records func(*record) bool) error {
	w := csv.NewWriter(out)
	if err := w.Write(header); err != nil {
		return err
	}
	at := slices.Index(header, f.Column)
	var r record
	for records(&r) {
		r.Fields[at] = number(r.Value)
		if err := w.Write(r.Fields); err != nil {
			return err
		}
		r = record{}
	}
	w.Flush()
	return w.Error()
}

// theHeader returns the header of all files.
func theHeader(headers func(*[]string) bool) ([]string, error) {
	var header, h []string
	for headers(&h) {
		if header != nil && !slices.Equal(header, h) {
			return nil, check.Errorf("noisebeam", dp.ErrInvalid, "the files have different headers, want the same one")
		}
		header, h = h, nil
	}
	return header, nil
}
