// SPDX-License-Identifier: Apache-2.0

package csvfile

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/noisewright/noisewright/internal/check"
)

// Frame is columns of numbers, the features, in memory.
type Frame struct {
	Names []string
	Data  []float64 // by rows
	Rows  int
	Text  []string   // names of columns left out because they are no numbers
	Kept  [][]string // of columns kept, by rows
}

// Constant returns the first feature that is the same in every row.
func (f *Frame) Constant() (name string, ok bool) {
	n := len(f.Names)
	for j, name := range f.Names {
		same := true
		for i := 1; i < f.Rows && same; i++ {
			same = f.Data[i*n+j] == f.Data[j]
		}
		if same {
			return name, true
		}
	}
	return "", false
}

// Matches reports whether a name is one of the patterns: names, or with * and ?.
func Matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return p == name || err == nil && ok
	})
}

// Columns reads a CSV file row by row: columns of numbers, the features, and of text that is kept.
type Columns struct {
	Names  []string // of the features, in the order of the file
	Kept   []string // of the columns kept
	Texts  []string // of the current row, in the order of Kept; valid until the next call of Next
	Rows   int      // read so far
	values []float64

	r        *Reader
	again    bool  // the header is the first row
	features []int // where they stand
	kept     []int
	drop     bool   // columns that have text in every row are no error
	text     []bool // those columns
}

// ErrNoFeature marks a header without any feature.
var ErrNoFeature = errors.New("no feature")

// NewColumns reads the header: choose takes columns as features, keep those that are kept; nil
// keeps none. A file without any feature is an error, ErrNoFeature if it is no matter of the
// delimiter. The caller closes the reader.
func NewColumns(r *Reader, choose, keep func(column string) bool) (*Columns, error) {
	header, err := r.Header()
	if err != nil {
		return nil, err
	}
	c := &Columns{r: r}
	return c, c.name(header, choose, keep)
}

// name sorts the columns of a header.
func (c *Columns) name(header []string, choose, keep func(column string) bool) error {
	seen := map[string]bool{}
	for i, column := range header {
		if seen[column] {
			return fmt.Errorf("column %s is there twice, want distinct names", check.Quoted(column))
		}
		seen[column] = true
		switch {
		case choose(column):
			c.features = append(c.features, i)
			c.Names = append(c.Names, column)
		case keep != nil && keep(column):
			c.kept = append(c.kept, i)
			c.Kept = append(c.Kept, column)
		}
	}
	if len(c.features) == 0 {
		if err := c.r.WrongDelimiter(header); err != nil {
			return err
		}
		return check.Errorf("", ErrNoFeature, "none of the columns %s is wanted: is the header row missing?", check.Quoted(check.Shortened(strings.Join(header, ","))))
	}
	c.text = make([]bool, len(c.features)) // no number so far
	c.values = make([]float64, len(c.features))
	c.Texts = make([]string, len(c.kept))
	return nil
}

// Next reads a row, io.EOF after the last one. A feature that is no finite number is
// an error, and so is a file without rows.
func (c *Columns) Next() error {
	if !c.again {
		if err := c.r.Row(); errors.Is(err, io.EOF) && c.Rows == 0 {
			return errors.New("no rows after the header")
		} else if err != nil {
			return err
		}
	}
	c.again = false
	row := string(c.r.Raw)
	for k, i := range c.features {
		cell := c.r.Inner(i)
		v, err := Number(row[cell.Start:cell.End])
		ok := err == nil
		if c.Rows == 0 && c.drop {
			c.text[k] = !ok
		}
		if ok == c.text[k] {
			line := c.r.Line
			if ok {
				line-- // it is the rows before that are no numbers
			}
			// The value is of a person: say where it is, not what.
			return fmt.Errorf("line %d, column %s: not a finite number", line, check.Quoted(c.Names[k]))
		}
		c.values[k] = v
	}
	for k, i := range c.kept {
		c.Texts[k] = c.r.Content(i)
	}
	c.Rows++
	return nil
}

// ReadAll reads all rows, the features in the order of the names.
func (c *Columns) ReadAll(names []string) (*Frame, error) {
	f := &Frame{Names: names}
	row := c.Ordered(names)
	for {
		err := c.Next()
		if errors.Is(err, io.EOF) {
			f.Rows = c.Rows
			return f, nil
		}
		if err != nil {
			return nil, err
		}
		f.Data = append(f.Data, row()...)
		if len(c.Kept) > 0 {
			f.Kept = append(f.Kept, slices.Clone(c.Texts))
		}
	}
}

// Ordered returns what returns the current row in the order of the names, until the next call.
func (c *Columns) Ordered(names []string) func() []float64 {
	order := make([]int, len(names))
	for i, name := range names {
		order[i] = slices.Index(c.Names, name)
	}
	row := make([]float64, len(names))
	return func() []float64 {
		for i, k := range order {
			row[i] = c.values[k]
		}
		return row
	}
}

// ReadFrame reads the columns that choose takes as features. If it may drop columns,
// one that has text in every row is no feature.
func ReadFrame(r *Reader, choose func(column string) bool, drop bool) (*Frame, error) {
	f, _, err := ReadKept(r, choose, nil, drop)
	return f, err
}

// ReadKept is ReadFrame with columns of text that are kept, see NewColumns, and their names.
func ReadKept(r *Reader, choose, keep func(column string) bool, drop bool) (f *Frame, kept []string, err error) {
	c, err := NewColumns(r, choose, keep)
	if err != nil {
		return nil, nil, err
	}
	c.drop = drop
	if f, err = c.ReadAll(c.Names); err == nil && slices.Contains(c.text, true) {
		f, err = f.withoutText(c.text)
	}
	return f, c.Kept, err
}

func (f *Frame) withoutText(text []bool) (*Frame, error) {
	out := &Frame{Rows: f.Rows, Kept: f.Kept}
	for k, n := range f.Names {
		if text[k] {
			out.Text = append(out.Text, n)
		} else {
			out.Names = append(out.Names, n)
		}
	}
	for i, v := range f.Data {
		if !text[i%len(text)] {
			out.Data = append(out.Data, v)
		}
	}
	if len(out.Names) == 0 {
		return nil, errors.New("no column of numbers")
	}
	return out, nil
}

// ReadNamed reads a CSV file of numbers with a header of feature names, in any order, or without a
// header and in the order of the features, and returns them in the order of the features.
func ReadNamed(r *Reader, features []string) (*Frame, error) {
	header, err := r.Header()
	if err != nil {
		return nil, err
	}
	c := &Columns{r: r}
	if c.again = !slices.ContainsFunc(header, func(s string) bool { return !IsNumber(strings.TrimSpace(s)) }); c.again {
		if len(header) != len(features) {
			return nil, fmt.Errorf("%d columns, want %d, one for each feature", len(header), len(features))
		}
		header = features
	}
	for _, feature := range features {
		if !slices.Contains(header, feature) {
			if err := r.WrongDelimiter(header); err != nil {
				return nil, err
			}
			return nil, fmt.Errorf("column %s is missing, want one for each of the %d features (--exclude makes them fewer)", check.Quoted(feature), len(features))
		}
	}
	for _, column := range header {
		if !slices.Contains(features, column) {
			return nil, fmt.Errorf("column %s is not a feature", check.Quoted(column))
		}
	}
	if err := c.name(header, func(string) bool { return true }, nil); err != nil {
		return nil, err
	}
	return c.ReadAll(features)
}

var errNotNumber = errors.New("is not a plain number, want one such as 12 or -0.5")

// Number reads a plain decimal number of a cell, blanks around it left out: the one rule of all
// that reads numbers of files. Its errors do not quote the cell, which is private.
func Number(s string) (float64, error) {
	s = strings.TrimSpace(s)
	// ParseFloat also reads hexadecimal, underscores, inf and nan.
	if strings.Trim(s, "0123456789+-.eE") != "" {
		return 0, errNotNumber
	}
	x, err := strconv.ParseFloat(s, 64)
	if errors.Is(err, strconv.ErrRange) || math.IsInf(x, 0) {
		return 0, errors.New("is too large for a float64, want a finite number")
	}
	if err != nil {
		return 0, errNotNumber
	}
	return x, nil
}
