// SPDX-License-Identifier: Apache-2.0

// Package strictjson maps files of JSON to structs as encoding/json does, but reads them
// strictly: strings are text, no field is unknown, missing, repeated or in another case, none is
// null that is not meant to be, numbers are written plainly and fit, and nothing follows.
// Messages say what place of the file they are about. The one exception are fields that the file
// itself calls optional: docs/formats.md says what may be added to a format so.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/noisewright/noisewright/internal/check"
)

// Format is what [Decode] has to know of a kind of file.
type Format struct {
	// Noun is what a file holds, for messages.
	Noun string
	// Name and Version are what the fields "format" and "version" of a file are to be.
	Name    string
	Version int
	// Oldest, if not 0, is the least version read; what sets it apart is up to the caller.
	Oldest int
	// MaxSize bounds a file, in bytes.
	MaxSize int64
	// MaxElements bounds every array by the name of its field, and Elements all others.
	MaxElements map[string]int
	Elements    int
	// List names the outermost value if that is an array. Its objects are written by hand: every
	// field may be missing.
	List string
	// Err is the sentinel for errors.Is of a file that is not of the format. It is not printed.
	Err error
}

// Decode reads one value from r into the struct, or with List the slice of structs, that dst points
// to, and nothing may follow it. Its fields are those of the object, by their json tags as in encoding/json, of type string, bool,
// float64, int (32 bits), int64 (2^53 in magnitude, on which all readers of JSON agree), struct,
// pointer or slice. One with omitempty or omitzero may be missing. A pointer with the tag
// strict:"null" may be null, and is nil then. With the option string, an int64 >= 0 or a uint64, or
// all of a slice, are decimal strings. A slice that is read is not nil.
//
// Unknown fields of the outermost object are skipped if a field "optional" before them names them.
//
// Memory is bounded by what is kept, the longest string and some 64 KiB. Errors wrap the format's, or
// are those of r.
func Decode(r io.Reader, f Format, dst any) error {
	limited := &io.LimitedReader{R: r, N: f.MaxSize + 1}
	text := &textReader{r: limited}
	p := &parser{dec: json.NewDecoder(text), text: text, format: f, path: f.List}
	p.dec.UseNumber()
	err := p.value(reflect.ValueOf(dst).Elem(), field{name: f.List})
	if err == nil {
		err = p.end()
	}
	if limited.N == 0 {
		return p.errorf("file is larger than %d bytes", f.MaxSize)
	}
	return err
}

// Encode writes a struct as Decode reads it, on one line. What encodes itself as JSON does.
func Encode(w io.Writer, src any) error {
	text, err := appendValue(nil, reflect.ValueOf(src), field{})
	if err == nil {
		_, err = w.Write(append(text, '\n'))
	}
	return err
}

// field is a field of a struct.
type field struct {
	name           string
	index          []int
	text, optional bool
	null           bool
}

// fieldsOf returns the fields of a struct, and of those embedded in it.
func fieldsOf(t reflect.Type) []field {
	var list []field
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || name == "-" {
			continue
		}
		list = append(list, field{name, f.Index, strings.Contains(options, "string"), strings.Contains(options, "omit"), f.Tag.Get("strict") == "null"})
	}
	return list
}

func appendValue(b []byte, v reflect.Value, f field) (_ []byte, err error) {
	if _, own := v.Interface().(json.Marshaler); !own {
		switch v.Kind() { //nolint:exhaustive // encoding/json has the others
		case reflect.Pointer:
			if v.IsNil() {
				return append(b, "null"...), nil
			}
			return appendValue(b, v.Elem(), f)
		case reflect.Struct:
			b = append(b, '{')
			for _, f := range fieldsOf(v.Type()) {
				x := v.FieldByIndex(f.index)
				if f.optional && (x.IsZero() || x.Kind() == reflect.Slice && x.Len() == 0) {
					continue
				}
				b = append(strconv.AppendQuote(b, f.name), ':')
				if b, err = appendValue(b, x, f); err != nil {
					return nil, err
				}
				b = append(b, ',')
			}
			return append(bytes.TrimSuffix(b, []byte{','}), '}'), nil
		case reflect.Slice:
			b = append(b, '[')
			for i := range v.Len() {
				if b, err = appendValue(b, v.Index(i), f); err != nil {
					return nil, err
				}
				b = append(b, ',')
			}
			return append(bytes.TrimSuffix(b, []byte{','}), ']'), nil
		}
	}
	text, err := json.Marshal(v.Interface())
	if f.text {
		text = strconv.AppendQuote(nil, string(text))
	}
	return append(b, text...), err
}

type parser struct {
	dec    *json.Decoder
	text   *textReader // what dec reads
	format Format
	path   string // of the value being read, for messages
	// optional are the names that the file calls optional, nil before it does, and whether
	// a field of that name was skipped.
	optional map[string]bool
	// again is whether the next token is next, which has been read before.
	again bool
	next  json.Token
}

// value reads the next value into v, which is that of a field or in it.
func (p *parser) value(v reflect.Value, f field) error {
	switch v.Kind() { //nolint:exhaustive // no field is of another kind
	case reflect.Pointer:
		if f.null {
			tok, err := p.token()
			if err != nil || tok == nil {
				v.SetZero()
				return err
			}
			p.again, p.next = true, tok
		}
		v.Set(reflect.New(v.Type().Elem()))
		return p.value(v.Elem(), f)
	case reflect.Struct:
		return p.object(v)
	case reflect.Slice:
		return p.array(v, f)
	}
	tok, err := p.token()
	if err != nil {
		return err
	}
	switch kind := v.Kind(); {
	case f.text || kind == reflect.String:
		s, ok := tok.(string)
		if !ok {
			return p.wrong(tok, "a string")
		}
		if f.text {
			return p.decimal(v, s)
		}
		v.SetString(s)
		if p.path == "format" && s != p.format.Name {
			return p.wrong(s, strconv.Quote(p.format.Name))
		}
		return nil
	case kind == reflect.Bool:
		b, ok := tok.(bool)
		if !ok {
			return p.wrong(tok, "true or false")
		}
		v.SetBool(b)
		return nil
	}
	n, ok := tok.(json.Number)
	if !ok {
		return p.wrong(tok, "a number")
	}
	if v.Kind() == reflect.Float64 {
		x, err := n.Float64()
		if err != nil {
			return p.wrong(n, "a number in the range of float64")
		}
		v.SetFloat(x)
		return nil
	}
	return p.integer(v, n)
}

// object reads one with all fields of the struct, but for optional ones, in any order, each once.
func (p *parser) object(v reflect.Value) error {
	if err := p.delim('{', "an object"); err != nil {
		return err
	}
	outer := p.path
	missing := make(map[string]field)
	for _, f := range fieldsOf(v.Type()) {
		missing[f.name] = f
	}
	fields := maps.Clone(missing)
	for p.dec.More() {
		tok, err := p.token()
		if err != nil {
			return err
		}
		name, ok := tok.(string)
		if !ok {
			return p.wrong(tok, "a field name")
		}
		f, known := fields[name]
		if !known {
			if err := p.unknown(name); err != nil {
				return err
			}
			continue
		}
		p.path = join(outer, name)
		if _, first := missing[name]; !first {
			return p.errorf("%s stands twice", p.path)
		}
		delete(missing, name)
		if err := p.value(v.FieldByIndex(f.index), f); err != nil {
			return err
		}
		p.path = outer
	}
	if _, err := p.token(); err != nil {
		return err
	}
	maps.DeleteFunc(missing, func(_ string, f field) bool { return f.optional || p.format.List != "" })
	if names := slices.Sorted(maps.Keys(missing)); len(names) > 0 {
		return p.errorf("%s is missing", join(outer, names[0]))
	}
	return nil
}

const (
	optionalField = "optional"
	maxOptional   = 64 // names, each of at most as many letters
	maxDepth      = 16 // of arrays and objects in a value that is skipped
)

// optionalName is how the names of all formats are written, so that none differs from another by its case.
var optionalName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// unknown reads a field that the format lacks: the list of optional ones, or one in that list.
func (p *parser) unknown(name string) error {
	_, named := p.optional[name]
	switch {
	case p.path != "" || name != optionalField && !named:
		return p.errorf("%s in %s is not a field of the format", quote(name), p.where())
	case named && p.optional[name], name == optionalField && p.optional != nil:
		return p.errorf("%s stands twice", name)
	case named:
		p.optional[name] = true
		p.path = name
		defer func() { p.path = "" }()
		return p.skip()
	}
	var list []string
	p.path = name
	if err := p.array(reflect.ValueOf(&list).Elem(), field{name: name}); err != nil {
		return err
	}
	p.path = ""
	p.optional = make(map[string]bool)
	for i, field := range list {
		if _, twice := p.optional[field]; twice || field == optionalField || !optionalName.MatchString(field) {
			return p.errorf("%s[%d] = %s, want another name, of up to %d small letters, digits and _", name, i, quote(field), maxOptional)
		}
		p.optional[field] = false
	}
	return nil
}

// skip reads a value of any type.
func (p *parser) skip() error {
	for depth := 0; ; {
		tok, err := p.token()
		if err != nil {
			return err
		}
		if d, ok := tok.(json.Delim); ok {
			depth += map[json.Delim]int{'{': 1, '[': 1, '}': -1, ']': -1}[d]
		}
		if depth > maxDepth {
			return p.errorf("%s has arrays and objects more than %d deep in each other", p.path, maxDepth)
		}
		if depth == 0 {
			return nil
		}
	}
}

func (p *parser) array(v reflect.Value, f field) error {
	if err := p.delim('[', "an array"); err != nil {
		return err
	}
	outer := p.path
	limit, ok := p.format.MaxElements[f.name]
	switch {
	case outer == optionalField: // no format has a field of that name
		limit = maxOptional
	case !ok:
		limit = p.format.Elements
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	for i := 0; p.dec.More(); i++ {
		if i >= limit {
			return p.errorf("%s has more than %d elements", outer, limit)
		}
		p.path = outer + "[" + strconv.Itoa(i) + "]"
		v.Grow(1)
		v.SetLen(i + 1)
		if err := p.value(v.Index(i), f); err != nil {
			return err
		}
	}
	p.path = outer
	_, err := p.token()
	return err
}

// decimal reads an integer without sign or leading zeros.
func (p *parser) decimal(v reflect.Value, s string) error {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || strconv.FormatUint(n, 10) != s {
		return p.wrong(s, "a decimal string of an integer from 0 to 2^64-1")
	}
	if v.CanUint() {
		v.SetUint(n)
		return nil
	}
	if n > math.MaxInt64 {
		return p.wrong(n, "an integer up to 2^63-1")
	}
	v.SetInt(int64(n)) //nolint:gosec // checked above
	return nil
}

// integer reads one without a fraction or an exponent.
func (p *parser) integer(v reflect.Value, number json.Number) error {
	lo, hi := int64(math.MinInt32), int64(math.MaxInt32)
	if v.Kind() == reflect.Int64 {
		lo, hi = -1<<53, 1<<53
	}
	n, err := number.Int64()
	if err != nil || n < lo || n > hi {
		return p.wrong(number, fmt.Sprintf("an integer from %d to %d", lo, hi))
	}
	v.SetInt(n)
	if newest, oldest := p.format.Version, p.format.Oldest; p.path == "version" && n != int64(newest) && !(oldest > 0 && int64(oldest) <= n && n < int64(newest)) {
		want := fmt.Sprintf("version %d, the one this program reads", newest)
		if oldest > 0 {
			want = fmt.Sprintf("version %d to %d, those that this program reads", oldest, newest)
		}
		return p.wrong(n, want)
	}
	return nil
}

// wrong returns the error about a value that was read and is not what is wanted.
func (p *parser) wrong(got any, want string) error {
	text := clip(fmt.Sprint(got))
	switch v := got.(type) {
	case nil:
		text = "null"
	case string:
		text = quote(v)
	}
	return p.errorf("%s = %s, want %s", p.where(), text, want)
}

func (p *parser) delim(d json.Delim, want string) error {
	tok, err := p.token()
	if err == nil && tok != d {
		err = p.wrong(tok, want)
	}
	return err
}

func (p *parser) token() (json.Token, error) {
	if p.again {
		p.again = false
		return p.next, nil
	}
	tok, err := p.dec.Token()
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return tok, nil
	case p.text.fault != "":
		return nil, p.noText()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, p.errorf("the file ends early, in %s", p.where())
	case errors.As(err, &syntax):
		return nil, p.errorf("not JSON at byte %d, in %s: %w", p.dec.InputOffset(), p.where(), syntax)
	default:
		return nil, err // the reader's own
	}
}

func (p *parser) end() error {
	tok, err := p.dec.Token()
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case p.text.fault != "":
		return p.noText()
	case err == nil:
		return p.errorf("data after the %s: %s follows the %[1]s", p.format.Noun, quote(fmt.Sprint(tok)))
	case errors.As(err, &syntax), errors.Is(err, io.ErrUnexpectedEOF):
		return p.errorf("data after the %s: %w", p.format.Noun, err)
	default:
		return err // the reader's own
	}
}

// noText is the error about strings that are no text.
func (p *parser) noText() error { return p.errorf("%s at byte %d", p.text.fault, p.text.at) }

func (p *parser) where() string {
	if p.path == "" {
		return "the outermost object"
	}
	return p.path
}

func (p *parser) errorf(format string, args ...any) error {
	return check.Errorf("", p.format.Err, format, args...)
}

func join(outer, name string) string {
	if outer == "" {
		return name
	}
	return outer + "." + name
}

// quote makes a string of the file fit for a message: short, and without raw control characters.
func quote(s string) string { return strconv.QuoteToGraphic(clip(s)) }

// clip keeps messages short whatever the file holds.
func clip(s string) string {
	if len(s) > 60 {
		return strings.ToValidUTF8(s[:60], "") + "…"
	}
	return s
}
