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

// frame is columns of numbers, the features, in memory.
type frame struct {
	names []string
	data  []float64 // by rows
	rows  int
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

// columnReader reads a CSV file row by row: columns of numbers, the features, and
// columns of text that are kept as they are.
type columnReader struct {
	file     string
	r        *csv.Reader
	done     func()
	names    []string // of the features, in the order of the file
	others   []string // of the columns kept
	features []int    // where they stand
	kept     []int
	drop     bool      // columns that have text in every row are no error
	text     []bool    // those columns
	rows     int       // read so far
	values   []float64 // of the current row; 0 in columns of text
	texts    []string
}

func (c *columnReader) bad(format string, args ...any) error {
	return badInput("", fmt.Errorf("%s: %s", inputName(c.file), fmt.Sprintf(format, args...)))
}

// openColumns opens a CSV file and reads its header: choose takes columns as
// features, keep those that are kept. A file without any feature is an error. The
// caller calls done.
func (a *app) openColumns(file string, choose, keep func(column string) bool) (*columnReader, error) {
	c := &columnReader{file: file}
	var err error
	if c.r, c.done, err = a.openCSV(file); err != nil {
		return nil, err
	}
	if err := c.readHeader(choose, keep); err != nil {
		c.done()
		return nil, err
	}
	return c, nil
}

func (c *columnReader) readHeader(choose, keep func(column string) bool) error {
	header, err := c.r.Read()
	if err != nil {
		if errors.Is(err, io.EOF) {
			return c.bad("the file is empty, want a header and rows")
		}
		return c.bad("%s", csvCause(err))
	}
	seen := map[string]bool{}
	for i, column := range header {
		if seen[column] {
			return c.bad("column %s is there twice, want distinct names", shown(column))
		}
		seen[column] = true
		switch {
		case choose(column):
			c.features = append(c.features, i)
			c.names = append(c.names, strings.Clone(column))
		case keep != nil && keep(column):
			c.kept = append(c.kept, i)
			c.others = append(c.others, strings.Clone(column))
		}
	}
	if len(c.features) == 0 {
		return c.bad("none of the columns %s is wanted: is the header row missing?", shown(clipped(strings.Join(header, ","))))
	}
	c.text = make([]bool, len(c.features)) // no number so far
	c.values = make([]float64, len(c.features))
	c.texts = make([]string, len(c.kept))
	return nil
}

// next reads a row, io.EOF after the last one. A feature that is no finite number is
// an error, and so is a file without rows. What it read is valid until the next call.
func (c *columnReader) next() error {
	record, err := c.r.Read()
	switch {
	case errors.Is(err, io.EOF) && c.rows == 0:
		return c.bad("no rows after the header")
	case errors.Is(err, io.EOF):
		return io.EOF
	case err != nil:
		return c.bad("%s", csvCause(err))
	}
	for k, i := range c.features {
		v, err := strconv.ParseFloat(strings.TrimSpace(record[i]), 64)
		number := err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
		if c.rows == 0 && c.drop {
			c.text[k] = !number
		}
		if number == c.text[k] {
			line, _ := c.r.FieldPos(i)
			if number {
				line-- // it is the rows before that are no numbers
			}
			// The value is of a person: say where it is, not what.
			return c.bad("line %d, column %s: not a finite number", line, shown(c.names[k]))
		}
		c.values[k] = v
	}
	for k, i := range c.kept {
		c.texts[k] = record[i]
	}
	c.rows++
	return nil
}

// readAll reads all rows, the features in the order of the names.
func (c *columnReader) readAll(names []string) (*frame, error) {
	f := &frame{names: names}
	row := c.ordered(names)
	for {
		err := c.next()
		if errors.Is(err, io.EOF) {
			f.rows = c.rows
			return f, nil
		}
		if err != nil {
			return nil, err
		}
		f.data = append(f.data, row()...)
	}
}

// ordered returns a function that returns the current row in the order of the names.
func (c *columnReader) ordered(names []string) func() []float64 {
	order := make([]int, len(names))
	for i, name := range names {
		order[i] = slices.Index(c.names, name)
	}
	row := make([]float64, len(names))
	return func() []float64 {
		for i, k := range order {
			row[i] = c.values[k]
		}
		return row
	}
}

// readFrame reads the columns that choose takes as features. If it may drop columns,
// one that has text in every row is no feature, and a warning says so.
func (a *app) readFrame(file string, choose func(column string) bool, drop bool) (*frame, error) {
	c, err := a.openColumns(file, choose, nil)
	if err != nil {
		return nil, err
	}
	defer c.done()
	c.drop = drop
	f, err := c.readAll(c.names)
	if err != nil {
		return nil, err
	}
	if drop && !slices.ContainsFunc(f.names, func(s string) bool { return !isNumber(s) && !c.text[slices.Index(f.names, s)] }) {
		a.warn("%s: the columns have numbers for names: is the header row missing?", inputName(file))
	}
	if slices.Contains(c.text, true) {
		return a.withoutText(file, f, c.text)
	}
	return f, nil
}

// withoutText drops the columns of text.
func (a *app) withoutText(name string, f *frame, text []bool) (*frame, error) {
	out := &frame{rows: f.rows}
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
