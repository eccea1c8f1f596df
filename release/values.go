// SPDX-License-Identifier: Apache-2.0

package release

import (
	"cmp"
	"encoding"
	"io"
	"iter"
	"reflect"
	"strconv"
	"strings"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
)

// valueColumn is the column of rows that are single values.
const valueColumn = "value"

// values are Go values as Rows.
type values struct {
	columns []string
	fields  [][]int // the index of each column's field; empty for the row itself
	next    func() (reflect.Value, bool)
	stop    func()
	record  []string
	row     int
}

// newValues takes a slice, an array or an iterator.
func newValues(data any) (*values, error) {
	v := reflect.ValueOf(data)
	var rows iter.Seq[reflect.Value]
	var element reflect.Type
	switch kind := v.Kind(); {
	case (kind == reflect.Slice || kind == reflect.Array) && v.Type().Elem().Kind() != reflect.Uint8: // bytes are a file
		element = v.Type().Elem()
		rows = func(yield func(reflect.Value) bool) {
			for i := range v.Len() {
				if !yield(v.Index(i)) {
					return
				}
			}
		}
	case kind == reflect.Func && v.Type().CanSeq() && !v.IsNil():
		element, rows = v.Type().In(0).In(0), v.Seq()
	case data == nil:
		return nil, check.Field("release", "data", "none", wantData)
	default:
		return nil, errorOf("data", v.Type(), wantData)
	}
	r := &values{}
	if err := r.columnsOf(element); err != nil {
		return nil, err
	}
	r.record = make([]string, len(r.columns))
	r.next, r.stop = iter.Pull(rows)
	return r, nil
}

const wantData = "a CSV file as an io.Reader, or a slice or an iterator of structs or numbers"

// columnsOf finds the columns of rows of a type.
func (r *values) columnsOf(t reflect.Type) error {
	if isValue(t) {
		r.columns, r.fields = []string{valueColumn}, [][]int{{}}
		return nil
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return errorOf("a row of the data", t, "a struct, "+wantValue)
	}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("csv"), ",")
		if !f.IsExported() || name == "-" || isEmbedded(f) {
			continue
		}
		if !isValue(f.Type) {
			return errorOf("field "+f.Name+" of "+t.String(), f.Type, wantValue+`, or the tag csv:"-"`)
		}
		if name == "" {
			name = f.Name
		}
		r.columns, r.fields = append(r.columns, name), append(r.fields, f.Index)
	}
	if len(r.columns) == 0 {
		return errorOf("a row of the data", t, "one with an exported field")
	}
	return nil
}

// isEmbedded reports whether a field stands for the fields of another struct, which are
// visible too.
func isEmbedded(f reflect.StructField) bool {
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return f.Anonymous && t.Kind() == reflect.Struct && !isValue(f.Type)
}

const wantValue = "a number, a text, a truth value, an encoding.TextMarshaler or a pointer to one"

var textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()

// isValue reports whether text can be made of a type.
func isValue(t reflect.Type) bool {
	switch k := t.Kind(); {
	case t.Implements(textMarshaler):
		return true
	case k == reflect.Pointer:
		return t.Elem().Kind() != reflect.Pointer && isValue(t.Elem())
	default:
		return k == reflect.String || k == reflect.Bool || k >= reflect.Int && k <= reflect.Uint64 || k == reflect.Float32 || k == reflect.Float64
	}
}

// Columns implements Rows.
func (r *values) Columns() []string { return r.columns }

// Next implements Rows.
func (r *values) Next() ([]string, int, error) {
	v, ok := r.next()
	if !ok {
		return nil, 0, io.EOF
	}
	r.row++
	var wrong error
	for i, index := range r.fields {
		field := v
		if len(index) > 0 {
			if field = reflect.Indirect(v); !field.IsValid() {
				clear(r.record)
				return r.record, r.row, check.Errorf("release", ErrRow, "row %d is nil, want a struct", r.row)
			}
			field, _ = field.FieldByIndexErr(index) // an embedded struct that is nil has no values
		}
		text, err := textOf(field)
		if err != nil {
			wrong = cmp.Or(wrong, check.Errorf("release", ErrRow, "row %d, column %s: %w", r.row, check.Quoted(r.columns[i]), err))
			text = ""
		}
		r.record[i] = text
	}
	return r.record, r.row, wrong
}

// textOf writes a value, from which a number can be read back as it was; "" for none.
func textOf(v reflect.Value) (string, error) {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return "", nil
	}
	if v.Type().Implements(textMarshaler) {
		text, err := v.Interface().(encoding.TextMarshaler).MarshalText() //nolint:forcetypeassert // as Implements says
		return string(text), err
	}
	switch v.Kind() { //nolint:exhaustive // those of isValue
	case reflect.Pointer:
		return textOf(v.Elem())
	case reflect.Bool:
		return strconv.FormatBool(v.Bool()), nil
	case reflect.Float32, reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64), nil
	case reflect.String:
		return v.String(), nil
	}
	if v.CanInt() {
		return strconv.FormatInt(v.Int(), 10), nil
	}
	return strconv.FormatUint(v.Uint(), 10), nil
}

// errorOf is the error of data of a type that has no rows.
func errorOf(what string, t reflect.Type, want string) error {
	return check.Errorf("release", dp.ErrInvalid, "%s is %v, want %s", what, t, want)
}
