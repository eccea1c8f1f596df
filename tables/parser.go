package tables

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// parser reads a table token by token.
type parser struct {
	dec  *json.Decoder
	path string // of the field being read, for messages
}

// object reads an object whose fields are exactly the given ones, in any
// order, each once; the optional ones may be missing.
func (p *parser) object(fields map[string]func() error, optional ...string) error {
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
			return p.wrong(tok, "a field name")
		}
		read, known := fields[name]
		if !known {
			p.path = outer
			return fmt.Errorf("%s in %s is not a field of the format: %w", quote(name), p.where(), ErrFormat)
		}
		p.path = join(outer, name)
		if seen[name] {
			return fmt.Errorf("%s stands twice: %w", p.path, ErrFormat)
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
	for name := range fields {
		if !seen[name] && !slices.Contains(optional, name) {
			return fmt.Errorf("%s is missing: %w", join(outer, name), ErrFormat)
		}
	}
	return nil
}

// array reads an array of at most limit elements.
func (p *parser) array(limit int, element func() error) error {
	if err := p.delim('[', "an array"); err != nil {
		return err
	}
	outer := p.path
	defer func() { p.path = outer }()
	for i := 0; p.dec.More(); i++ {
		if i >= limit {
			return fmt.Errorf("%s has more than %d elements: %w", outer, limit, ErrFormat)
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

// end checks that nothing follows.
func (p *parser) end() error {
	if tok, err := p.dec.Token(); !errors.Is(err, io.EOF) {
		if err == nil {
			err = fmt.Errorf("%s follows the table", quote(fmt.Sprint(tok)))
		}
		return fmt.Errorf("data after the table: %w: %w", err, ErrFormat)
	}
	return nil
}

func (p *parser) token() (json.Token, error) {
	tok, err := p.dec.Token()
	if err == nil {
		return tok, nil
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("the file ends early, in %s: %w", p.where(), ErrFormat)
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return nil, fmt.Errorf("not JSON at byte %d, in %s: %w: %w", p.dec.InputOffset(), p.where(), syntax, ErrFormat)
	}
	return nil, err // the reader's own
}

func (p *parser) where() string {
	if p.path == "" {
		return "the outermost object"
	}
	return p.path
}

// wrong reports a token of the wrong kind or value.
func (p *parser) wrong(got json.Token, want string) error {
	text, isString := got.(string)
	if isString {
		text = quote(text)
	} else {
		text = clip(fmt.Sprint(got))
	}
	return fmt.Errorf("%s = %s, want %s: %w", p.where(), text, want, ErrFormat)
}

func (p *parser) delim(d json.Delim, want string) error {
	tok, err := p.token()
	if err == nil && tok != d {
		err = p.wrong(tok, want)
	}
	return err
}

func (p *parser) string() (string, error) {
	tok, err := p.token()
	if err != nil {
		return "", err
	}
	s, ok := tok.(string)
	if !ok {
		return "", p.wrong(tok, "a string")
	}
	return s, nil
}

func (p *parser) text(want string) error {
	s, err := p.string()
	if err == nil && s != want {
		err = p.wrong(s, strconv.Quote(want))
	}
	return err
}

func (p *parser) bool(dst *bool) error {
	tok, err := p.token()
	if err != nil {
		return err
	}
	var ok bool
	if *dst, ok = tok.(bool); !ok {
		return p.wrong(tok, "true or false")
	}
	return nil
}

func (p *parser) number() (json.Number, error) {
	tok, err := p.token()
	if err != nil {
		return "", err
	}
	n, ok := tok.(json.Number)
	if !ok {
		return "", p.wrong(tok, "a number")
	}
	return n, nil
}

func (p *parser) float(dst *float64) error {
	n, err := p.number()
	if err != nil {
		return err
	}
	*dst, err = strconv.ParseFloat(n.String(), 64)
	if err != nil {
		return p.wrong(n, "a number in the range of float64")
	}
	return nil
}

func (p *parser) integer(lo, hi int64) (int64, error) {
	n, err := p.number()
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseInt(n.String(), 10, 64)
	if err != nil || v < lo || v > hi {
		return 0, p.wrong(n, fmt.Sprintf("an integer from %d to %d", lo, hi))
	}
	return v, nil
}

func (p *parser) int64(dst *int64) error {
	v, err := p.integer(-1<<53, 1<<53)
	*dst = v
	return err
}

func (p *parser) int(dst *int) error {
	v, err := p.integer(math.MinInt32, math.MaxInt32)
	*dst = int(v)
	return err
}

// weight reads a decimal string of an integer from 0 to 2^64-1.
func (p *parser) weight() (uint64, error) {
	s, err := p.string()
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil || strconv.FormatUint(v, 10) != s {
		return 0, p.wrong(s, "a decimal string of an integer from 0 to 2^64-1")
	}
	return v, nil
}

// multiplier reads a decimal string of an integer from 0 to 2^63-1.
func (p *parser) multiplier() (int64, error) {
	v, err := p.weight()
	if err == nil && v > math.MaxInt64 {
		err = p.wrong(v, "an integer up to 2^63-1")
	}
	return int64(v), err //nolint:gosec // checked above
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
