package cli

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"
)

// frame is a CSV file whose columns are told apart into features, which are
// numbers, and others, which are text.
type frame struct {
	names  []string   // of the features
	data   []float64  // by rows
	others []string   // names of the columns kept as they are
	kept   [][]string // their values, a row each
	rows   int
}

// matrix returns the features, a row per person.
func (f *frame) matrix() *mat.Dense { return mat.NewDense(f.rows, len(f.names), f.data) }

// constant returns the first feature that is the same in every row.
func (f *frame) constant() (name string, ok bool) {
	n := len(f.names)
	for j, name := range f.names {
		same := true
		for i := 1; i < f.rows && same; i++ {
			same = f.data[i*n+j] == f.data[j]
		}
		if same {
			return name, true
		}
	}
	return "", false
}

// openCSV opens a CSV file, "-" for standard input, that may be compressed with
// gzip.
func (a *app) openCSV(name string) (r *csv.Reader, done func(), err error) {
	in, done, err := a.open(name)
	if err != nil {
		return nil, nil, err
	}
	text := in
	if head, _ := in.Peek(2); bytes.Equal(head, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			done()
			return nil, nil, badInput("", fmt.Errorf("%s: %w", inputName(name), err))
		}
		text = bufio.NewReaderSize(z, bufferSize)
	}
	if head, _ := text.Peek(3); bytes.Equal(head, []byte("\xef\xbb\xbf")) {
		_, _ = text.Discard(3)
	}
	r = csv.NewReader(text)
	r.ReuseRecord = true
	return r, done, nil
}

// matches reports whether a name is one of the patterns: names, or with * and ?.
func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return p == name || err == nil && ok
	})
}

// readFrame reads the columns that choose takes as features, in the order of the
// file, and those that keep takes as they are. A feature that is no finite number
// is an error, and so is a file without any.
func (a *app) readFrame(name string, choose, keep func(column string) bool) (*frame, error) {
	return a.readColumns(name, choose, keep, false)
}

// readColumns is readFrame. If it may drop columns, one that has text in every row is
// no feature, and a warning says so.
func (a *app) readColumns(name string, choose, keep func(column string) bool, drop bool) (*frame, error) {
	r, done, err := a.openCSV(name)
	if err != nil {
		return nil, err
	}
	defer done()
	bad := func(format string, args ...any) error {
		return badInput("", fmt.Errorf("%s: %s", inputName(name), fmt.Sprintf(format, args...)))
	}
	header, err := r.Read()
	if err != nil {
		if errors.Is(err, io.EOF) {
			return nil, bad("the file is empty, want a header and rows")
		}
		return nil, bad("%s", csvCause(err))
	}
	var f frame
	var features, others []int
	seen := map[string]bool{}
	for i, column := range header {
		if seen[column] {
			return nil, bad("column %s is there twice, want distinct names", shown(column))
		}
		seen[column] = true
		switch {
		case choose(column):
			features = append(features, i)
			f.names = append(f.names, strings.Clone(column))
		case keep != nil && keep(column):
			others = append(others, i)
			f.others = append(f.others, strings.Clone(column))
		}
	}
	if len(features) == 0 {
		return nil, bad("none of the columns %s is wanted: is the header row missing?", shown(clipped(strings.Join(header, ","))))
	}
	text := make([]bool, len(features)) // no number so far
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, bad("%s", csvCause(err))
		}
		for k, i := range features {
			v, err := strconv.ParseFloat(strings.TrimSpace(record[i]), 64)
			number := err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
			if f.rows == 0 && drop {
				text[k] = !number
			}
			if number == text[k] {
				line, _ := r.FieldPos(i)
				if number {
					line-- // it is the rows before that are no numbers
				}
				// The value is of a person: say where it is, not what.
				return nil, bad("line %d, column %s: not a finite number", line, shown(f.names[k]))
			}
			f.data = append(f.data, v)
		}
		if keep != nil {
			kept := make([]string, len(others))
			for k, i := range others {
				kept[k] = strings.Clone(record[i])
			}
			f.kept = append(f.kept, kept)
		}
		f.rows++
	}
	if f.rows == 0 {
		return nil, bad("no rows after the header")
	}
	if drop && !slices.ContainsFunc(f.names, func(s string) bool { return !isNumber(s) && !text[slices.Index(f.names, s)] }) {
		a.warn("%s: the columns have numbers for names: is the header row missing?", inputName(name))
	}
	if slices.Contains(text, true) {
		return a.withoutText(name, &f, text)
	}
	return &f, nil
}

// withoutText drops the columns of text.
func (a *app) withoutText(name string, f *frame, text []bool) (*frame, error) {
	out := &frame{others: f.others, kept: f.kept, rows: f.rows}
	var dropped []string
	for k, n := range f.names {
		if text[k] {
			dropped = append(dropped, n)
		} else {
			out.names = append(out.names, n)
		}
	}
	for i, v := range f.data {
		if !text[i%len(text)] {
			out.data = append(out.data, v)
		}
	}
	if len(out.names) == 0 {
		return nil, badInput("", fmt.Errorf("%s: no column of numbers", inputName(name)))
	}
	a.warn("%s: %s left out, for it is not numbers", inputName(name), clipped(strings.Join(dropped, ", ")))
	return out, nil
}

// csvCause says what is wrong without quoting the file.
func csvCause(err error) string {
	var p *csv.ParseError
	if errors.As(err, &p) {
		return fmt.Sprintf("line %d: %v", p.Line, p.Err)
	}
	return err.Error()
}

// readNamed reads a CSV file of numbers with a header of feature names, in any order,
// or without a header and in the order of the features, and returns the numbers in the
// order of the features.
func (a *app) readNamed(name string, features []string) (*mat.Dense, error) {
	r, done, err := a.openCSV(name)
	if err != nil {
		return nil, err
	}
	defer done()
	bad := func(format string, args ...any) error {
		return badInput("", fmt.Errorf("%s: %s", inputName(name), fmt.Sprintf(format, args...)))
	}
	r.ReuseRecord = false
	records, err := r.ReadAll()
	if err != nil {
		return nil, bad("%s", csvCause(err))
	}
	if len(records) == 0 {
		return nil, bad("the file is empty, want rows of numbers")
	}
	order := make([]int, len(features))
	first := 0
	if !slices.ContainsFunc(records[0], func(s string) bool { return !isNumber(s) }) {
		if len(records[0]) != len(features) {
			return nil, bad("%d columns, want %d, one for each feature", len(records[0]), len(features))
		}
		for j := range order {
			order[j] = j
		}
	} else {
		first = 1
		for j, feature := range features {
			if order[j] = slices.Index(records[0], feature); order[j] < 0 {
				return nil, bad("column %s is missing, want one for each of the %d features (--exclude makes them fewer)", shown(feature), len(features))
			}
		}
		for _, column := range records[0] {
			if !slices.Contains(features, column) {
				return nil, bad("column %s is not a feature", shown(column))
			}
		}
	}
	records = records[first:]
	if len(records) == 0 {
		return nil, bad("no rows after the header")
	}
	m := mat.NewDense(len(records), len(features), nil)
	for i, record := range records {
		for j, k := range order {
			v, err := strconv.ParseFloat(strings.TrimSpace(record[k]), 64)
			if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, bad("row %d, column %s = %s, want a finite number", i+1, shown(features[j]), shown(record[k]))
			}
			m.Set(i, j, v)
		}
	}
	return m, nil
}

// writeFrame writes a CSV file of the kept columns and the numbers of every row.
func (f *frame) write(w io.Writer, names []string, row func(i int) ([]float64, error)) error {
	out := csv.NewWriter(w)
	record := append(slices.Clone(f.others), names...)
	if err := out.Write(record); err != nil {
		return err
	}
	for i := range f.rows {
		values, err := row(i)
		if err != nil {
			return err
		}
		record = append(record[:0], f.kept[i]...)
		for _, v := range values {
			record = append(record, strconv.FormatFloat(v, 'g', -1, 64))
		}
		if err := out.Write(record); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
