// Package strictjson reads JSON token by token, for formats whose every field is
// known: no field is unknown, missing or repeated, none is null, numbers are written
// plainly and fit, and nothing follows. encoding/json's mapping to structs lets all of
// these pass. Messages say where in the file they are about.
package strictjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Format is what [Decode] has to know of a kind of file.
type Format struct {
	// Noun is what a file holds, for messages.
	Noun string
	// MaxSize bounds a file, in bytes.
	MaxSize int64
	// Err is the sentinel for errors.Is of a file that is not of the format. It is
	// not printed.
	Err error
}

// Decode reads one value from r with the given function, and nothing may follow it.
// Memory is bounded by what the function keeps and some 64 KiB.
//
// Errors wrap the format's, or are those of the function and of r.
func Decode(r io.Reader, f Format, read func(*Parser) error) error {
	limited := &io.LimitedReader{R: r, N: f.MaxSize + 1}
	p := &Parser{dec: json.NewDecoder(limited), format: f}
	p.dec.UseNumber()
	err := read(p)
	if err == nil {
		err = p.end()
	}
	if limited.N == 0 {
		return p.errorf("file is larger than %d bytes", f.MaxSize)
	}
	return err
}

// Parser reads a file. Each method reads the next value, and fails if it is of another
// kind; what has been stored is then of no use. The methods that store a value fit
// [Slice].
type Parser struct {
	dec    *json.Decoder
	format Format
	path   string // of the value being read, for messages
}

// Fields are those of an object by their names, each with what reads its value.
type Fields map[string]func() error

// Object reads an object whose fields are exactly the given ones, in any order, each
// once; the optional ones may be missing.
func (p *Parser) Object(fields Fields, optional ...string) error {
	if err := p.delim('{', "an object"); err != nil {
		return err
	}
	outer := p.path
	defer func() { p.path = outer }()
	seen := make(map[string]bool, len(fields))
	for p.dec.More() {
		tok, err := p.token()
		if err != nil {
			return err
		}
		name, ok := tok.(string)
		if !ok {
			return p.Wrong(tok, "a field name")
		}
		read, known := fields[name]
		if !known {
			p.path = outer
			return p.errorf("%s in %s is not a field of the format", quote(name), p.where())
		}
		p.path = join(outer, name)
		if seen[name] {
			return p.errorf("%s stands twice", p.path)
		}
		seen[name] = true
		if err := read(); err != nil {
			return err
		}
	}
	p.path = outer
	if _, err := p.token(); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !seen[name] && !slices.Contains(optional, name) {
			return p.errorf("%s is missing", join(outer, name))
		}
	}
	return nil
}

// Array reads an array of at most limit elements with the given function.
func (p *Parser) Array(limit int, element func() error) error {
	if err := p.delim('[', "an array"); err != nil {
		return err
	}
	outer := p.path
	defer func() { p.path = outer }()
	for i := 0; p.dec.More(); i++ {
		if i >= limit {
			return p.errorf("%s has more than %d elements", outer, limit)
		}
		p.path = outer + "[" + strconv.Itoa(i) + "]"
		if err := element(); err != nil {
			return err
		}
	}
	p.path = outer
	_, err := p.token()
	return err
}

// Slice reads an array of at most limit elements into dst, which is not nil then.
func Slice[T any](p *Parser, limit int, dst *[]T, element func(*T) error) error {
	*dst = []T{}
	var v, zero T
	return p.Array(limit, func() error {
		v = zero
		err := element(&v)
		*dst = append(*dst, v)
		return err
	})
}

// String reads a string.
func (p *Parser) String(dst *string) error {
	tok, err := p.token()
	if err != nil {
		return err
	}
	var ok bool
	if *dst, ok = tok.(string); !ok {
		return p.Wrong(tok, "a string")
	}
	return nil
}

// Text reads the one string that is wanted.
func (p *Parser) Text(want string) error {
	var s string
	err := p.String(&s)
	if err == nil && s != want {
		err = p.Wrong(s, strconv.Quote(want))
	}
	return err
}

// Bool reads true or false.
func (p *Parser) Bool(dst *bool) error {
	tok, err := p.token()
	if err != nil {
		return err
	}
	var ok bool
	if *dst, ok = tok.(bool); !ok {
		return p.Wrong(tok, "true or false")
	}
	return nil
}

// Float reads a number, rounded to the nearest float64.
func (p *Parser) Float(dst *float64) error {
	n, err := p.number()
	if err != nil {
		return err
	}
	*dst, err = strconv.ParseFloat(n.String(), 64)
	if err != nil {
		return p.Wrong(n, "a number in the range of float64")
	}
	return nil
}

// Int reads an integer of 32 bits, written without a fraction or an exponent.
func (p *Parser) Int(dst *int) error {
	v, err := p.integer(math.MinInt32, math.MaxInt32)
	*dst = int(v)
	return err
}

// Int64 reads an integer of a magnitude up to 2^53, which all readers of JSON agree
// on, written without a fraction or an exponent.
func (p *Parser) Int64(dst *int64) error {
	v, err := p.integer(-1<<53, 1<<53)
	*dst = v
	return err
}

// Version reads the one version of a format that is wanted.
func (p *Parser) Version(want int64) error {
	v, err := p.integer(math.MinInt32, math.MaxInt32)
	if err == nil && v != want {
		err = p.Wrong(v, fmt.Sprintf("version %d, the one this program reads", want))
	}
	return err
}

// Uint64Text reads a decimal string of an integer from 0 to 2^64-1, without sign or
// leading zeros.
func (p *Parser) Uint64Text(dst *uint64) error {
	var s string
	if err := p.String(&s); err != nil {
		return err
	}
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil || strconv.FormatUint(v, 10) != s {
		return p.Wrong(s, "a decimal string of an integer from 0 to 2^64-1")
	}
	*dst = v
	return nil
}

// Int63Text is Uint64Text up to 2^63-1.
func (p *Parser) Int63Text(dst *int64) error {
	var v uint64
	err := p.Uint64Text(&v)
	if err == nil && v > math.MaxInt64 {
		err = p.Wrong(v, "an integer up to 2^63-1")
	}
	*dst = int64(v) //nolint:gosec // checked above
	return err
}

// Wrong returns the error about a value that was read and is not what is wanted.
func (p *Parser) Wrong(got any, want string) error {
	var text string
	switch v := got.(type) {
	case nil:
		text = "null"
	case string:
		text = quote(v)
	default:
		text = clip(fmt.Sprint(v))
	}
	return p.errorf("%s = %s, want %s", p.where(), text, want)
}

func (p *Parser) number() (json.Number, error) {
	tok, err := p.token()
	if err != nil {
		return "", err
	}
	n, ok := tok.(json.Number)
	if !ok {
		return "", p.Wrong(tok, "a number")
	}
	return n, nil
}

func (p *Parser) integer(lo, hi int64) (int64, error) {
	n, err := p.number()
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseInt(n.String(), 10, 64)
	if err != nil || v < lo || v > hi {
		return 0, p.Wrong(n, fmt.Sprintf("an integer from %d to %d", lo, hi))
	}
	return v, nil
}

func (p *Parser) delim(d json.Delim, want string) error {
	tok, err := p.token()
	if err == nil && tok != d {
		err = p.Wrong(tok, want)
	}
	return err
}

func (p *Parser) token() (json.Token, error) {
	tok, err := p.dec.Token()
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return tok, nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, p.errorf("the file ends early, in %s", p.where())
	case errors.As(err, &syntax):
		return nil, p.errorf("not JSON at byte %d, in %s: %w", p.dec.InputOffset(), p.where(), syntax)
	default:
		return nil, err // the reader's own
	}
}

// end checks that nothing follows.
func (p *Parser) end() error {
	tok, err := p.dec.Token()
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		return p.errorf("data after the %s: %s follows the %[1]s", p.format.Noun, quote(fmt.Sprint(tok)))
	case errors.As(err, &syntax), errors.Is(err, io.ErrUnexpectedEOF):
		return p.errorf("data after the %s: %w", p.format.Noun, err)
	default:
		return err // the reader's own
	}
}

func (p *Parser) where() string {
	if p.path == "" {
		return "the outermost object"
	}
	return p.path
}

// formatError is an error of the kind of its format, which it does not print.
type formatError struct{ kind, err error }

func (e *formatError) Error() string   { return e.err.Error() }
func (e *formatError) Unwrap() []error { return []error{e.kind, e.err} }

func (p *Parser) errorf(format string, args ...any) error {
	return &formatError{p.format.Err, fmt.Errorf(format, args...)}
}

func join(outer, name string) string {
	if outer == "" {
		return name
	}
	return outer + "." + name
}

// quote makes a string of the file fit for a message: short, and without raw
// control characters.
func quote(s string) string {
	return strconv.QuoteToGraphic(clip(s))
}

// clip keeps messages short whatever the file holds.
func clip(s string) string {
	if len(s) > 60 {
		return strings.ToValidUTF8(s[:60], "") + "…"
	}
	return s
}
