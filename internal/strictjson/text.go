// SPDX-License-Identifier: Apache-2.0

package strictjson

import (
	"errors"
	"io"
	"unicode/utf8"
)

// textReader passes on JSON whose strings are text, and ends with a fault before a byte
// that is not UTF-8, or an escape that is half of a surrogate pair. encoding/json reads
// either as U+FFFD: two files that differ would say the same.
type textReader struct {
	r     io.Reader
	fault string // what stopped it, at the next byte
	at    int64  // of the next byte

	rest   [utf8.UTFMax]byte // of a character that is not complete
	length int

	inString, escaped bool
	digits            int  // of an escape \u, that are to come
	unit              rune // of those that came
	high              bool // the first half of a pair came last
}

const (
	notUTF8 = "not UTF-8"
	half    = "half of a surrogate pair"
)

func (t *textReader) Read(p []byte) (int, error) {
	if t.fault != "" {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := t.r.Read(p)
	for i, c := range p[:n] {
		if t.fault = t.next(c); t.fault != "" {
			return i, io.ErrUnexpectedEOF
		}
		t.at++
	}
	if errors.Is(err, io.EOF) && t.length > 0 {
		t.fault = notUTF8
		return n, io.ErrUnexpectedEOF
	}
	return n, err
}

// next says what is wrong with a byte, after those before.
func (t *textReader) next(c byte) string {
	if t.length > 0 || c >= utf8.RuneSelf {
		return t.continued(c)
	}
	switch {
	case t.digits > 0:
		t.unit = t.unit<<4 | digit(c)
		if t.digits--; t.digits == 0 {
			return t.escape()
		}
		return ""
	case t.escaped:
		t.escaped = false
		if c == 'u' {
			t.digits, t.unit = 4, 0
			return ""
		}
	case t.inString && c == '\\':
		t.escaped = true
		return ""
	case c == '"':
		t.inString = !t.inString
	}
	if t.high {
		return half
	}
	return ""
}

// continued is next for a byte of a character of several.
func (t *textReader) continued(c byte) string {
	if t.high {
		return half
	}
	t.rest[t.length] = c
	t.length++
	if !utf8.FullRune(t.rest[:t.length]) {
		return ""
	}
	_, size := utf8.DecodeRune(t.rest[:t.length])
	whole := size == t.length && size > 1 // a byte alone is not one
	t.length, t.escaped = 0, false
	if !whole {
		return notUTF8
	}
	return ""
}

// escape is next for the last digit of one.
func (t *textReader) escape() string {
	high, low := t.unit >= 0xd800 && t.unit < 0xdc00, t.unit >= 0xdc00 && t.unit < 0xe000
	if t.high != low {
		return half
	}
	t.high = high
	return ""
}

// digit is the value of a hexadecimal one; what is none is refused by whoever reads on.
func digit(c byte) rune {
	switch {
	case c >= 'a':
		return rune(c-'a') + 10
	case c >= 'A':
		return rune(c-'A') + 10
	}
	return rune(c) - '0'
}
