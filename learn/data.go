// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/csvfile"
	"github.com/noisewright/noisewright/release"
)

// Values are rounded to multiples of 1/gridSteps before they are added up: sums are exact, and
// no rounding enlarges what a record changes in one.
const (
	gridBits  = 24
	gridSteps = 1 << gridBits
)

// onGrid rounds x, clipped to [-1, 1], to the grid.
func onGrid(x float64) int64 {
	return int64(math.Round(min(max(x, -1), 1) * gridSteps))
}

// Data are records, encoded by a schema. They are secret. They are immutable and safe for
// concurrent use.
type Data struct {
	schema  *Schema
	classes []int32   // nil: not labeled
	columns [][]int32 // by features: categories, or values on the grid
	rows    int
	misfit  csvfile.LeftOut
}

// Schema returns the schema, which must not be changed.
func (d *Data) Schema() *Schema { return d.schema }

// Len returns the number of records.
func (d *Data) Len() int { return d.rows }

// Labeled reports whether the classes are known.
func (d *Data) Labeled() bool { return d.classes != nil }

func (d *Data) wantLabels() error {
	if d.Labeled() {
		return nil
	}
	return check.Field("learn", "data", "not labeled", "records with their classes")
}

// Class returns the class of a record, an index of Schema.Classes.
func (d *Data) Class(row int) int { return int(d.classes[row]) }

// Code returns the category of a categorical feature, an index of its Categories.
func (d *Data) Code(feature, row int) int { return int(d.columns[feature][row]) }

// Unit returns the value of a numeric feature, mapped from its bounds to [-1, 1] and rounded
// to a multiple of 2^-24.
func (d *Data) Unit(feature, row int) float64 {
	return float64(d.columns[feature][row]) / gridSteps
}

// Misfit says which record was the first that does not keep to the schema: its line and its
// column, and not its text. It is an exact answer about a single record, and not private; nil if
// there is none.
func (d *Data) Misfit() error {
	if err := d.misfit.Err(); err != nil {
		return check.Errorf("learn", dp.ErrInvalid, "%w", err)
	}
	return nil
}

// Read reads the records of rows; columns that are not in the schema are not looked at. Numbers
// beyond the bounds are moved to these. A record that is malformed, lacks a number or has a
// category that is not in the schema is left out, and nothing but Misfit tells so.
//
// Errors are those of rows, or wrap dp.ErrInvalid, for a bad schema and a column that is
// missing. A header without any column of the schema may be a record, and its names are not told.
func (s *Schema) Read(rows release.Rows) (*Data, error) { return s.read(rows, true) }

// ReadUnlabeled is Read for records whose classes are not known. If there is a column of the
// Target, it is read. No record is left out: a Misfit is an error.
func (s *Schema) ReadUnlabeled(rows release.Rows) (*Data, error) {
	_, err := columnOf(rows, s.Target)
	d, err := s.read(rows, err == nil)
	if err == nil {
		err = d.Misfit()
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

func (s *Schema) read(rows release.Rows, labeled bool) (*Data, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	r, err := newReader(rows, s, labeled)
	if err != nil {
		return nil, err
	}
	width := len(rows.Columns())
	for {
		record, line, err := rows.Next()
		switch {
		case errors.Is(err, release.ErrRow):
		case errors.Is(err, io.EOF):
			return r.data, nil
		case err != nil:
			return nil, err
		case len(record) != width:
			err = fmt.Errorf("line %d: %d fields, want one for each column", line, len(record))
		default:
			if err = r.row(record); err != nil {
				err = fmt.Errorf("line %d, %w", line, err)
			}
		}
		r.data.misfit.Row(err)
	}
}

// reader encodes records.
type reader struct {
	data *Data
	at   []int // of the features, and the target
	code []map[string]int32
}

func newReader(rows release.Rows, s *Schema, labeled bool) (*reader, error) {
	r := &reader{data: &Data{schema: s, columns: make([][]int32, len(s.Features))}}
	bad, known := check.In("learn"), false
	find := func(name string) {
		if !bad.None() && len(rows.Columns()) == 1 {
			return // another delimiter, of which the first column says all
		}
		i, err := columnOf(rows, name)
		bad.Add(err)
		known = known || err == nil || slices.Contains(rows.Columns(), name)
		r.at = append(r.at, i)
	}
	codes := func(list []string) map[string]int32 {
		if list == nil {
			return nil
		}
		m := make(map[string]int32, len(list))
		for i, text := range list {
			m[text] = int32(i) //nolint:gosec // at most maxCategories
		}
		return m
	}
	for _, f := range s.Features {
		find(f.Name)
		r.code = append(r.code, codes(f.Categories))
	}
	if labeled {
		find(s.Target)
		r.code = append(r.code, codes(s.Classes))
		r.data.classes = []int32{}
	}
	err := bad.Err()
	if err != nil && !known && len(rows.Columns()) > 1 { // of a single one the delimiter may be another
		err = check.Errorf("learn", dp.ErrInvalid, "the header has none of the schema's columns, want their names in the first line")
	}
	return r, err
}

// columnOf returns where a column stands. Files know what may be wrong with their headers.
func columnOf(rows release.Rows, name string) (int, error) {
	if file, ok := rows.(*release.CSV); ok {
		i, err := file.Find(name)
		if err != nil {
			err = check.Errorf("learn", dp.ErrInvalid, "%w", err)
		}
		return i, err
	}
	i, found := csvfile.Index(rows.Columns(), name)
	bad := check.In("learn")
	bad.If(found == 0, "column", check.Quoted(name), "one of the data, as the schema says")
	bad.If(found > 1, "column", check.Quoted(name), "one that is there once")
	return i, bad.Err()
}

// row takes a record whole or not at all. The error is about one that does not keep to the schema,
// also if it is taken.
func (r *reader) row(record []string) (misfit error) {
	d, values := r.data, make([]int32, len(r.at))
	for j, at := range r.at {
		text := strings.TrimSpace(record[at])
		if r.code[j] == nil {
			b := *d.schema.Features[j].Bounds
			v, err := csvfile.Number(text)
			if err != nil || !(v >= b.Lower && v <= b.Upper) {
				misfit = cmp.Or(misfit, fmt.Errorf("column %s: no number within the bounds of the schema, want one from %v to %v", check.Quoted(d.schema.Features[j].Name), b.Lower, b.Upper))
			}
			if err != nil {
				return misfit
			}
			values[j] = int32(onGrid(b.unit(min(max(v, b.Lower), b.Upper)))) //nolint:gosec // at most gridSteps
			continue
		}
		code, ok := r.code[j][text]
		switch {
		case !ok && j < len(d.columns):
			return cmp.Or(misfit, fmt.Errorf("column %s: not in the schema, want one of %s", check.Quoted(d.schema.Features[j].Name), listed(d.schema.Features[j].Categories)))
		case !ok:
			return cmp.Or(misfit, fmt.Errorf("column %s: not in the schema, want one of %s", check.Quoted(d.schema.Target), listed(d.schema.Classes)))
		}
		values[j] = code
	}
	for j := range d.columns {
		d.columns[j] = append(d.columns[j], values[j])
	}
	if d.classes != nil {
		d.classes = append(d.classes, values[len(values)-1])
	}
	d.rows++
	return misfit
}

// listed returns the first of the texts, which are public.
func listed(texts []string) string {
	const most = 8
	var out []string
	for _, text := range texts[:min(len(texts), most)] {
		out = append(out, strconv.Quote(check.Shortened(text)))
	}
	list := strings.Join(out, ", ")
	if more := len(texts) - most; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}

// unit maps a value from the bounds to [-1, 1], up to rounding.
func (b Bounds) unit(v float64) float64 {
	return (v-b.Lower)/(b.Upper-b.Lower)*2 - 1
}
