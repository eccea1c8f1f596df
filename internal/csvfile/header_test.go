// SPDX-License-Identifier: Apache-2.0

package csvfile

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// open returns a reader of the text.
func open(t *testing.T, text string, o Options) *Reader {
	t.Helper()
	c, err := NewReader(strings.NewReader(text), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// wantError checks that the error says what it has to, or is none for "".
func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Errorf("error %v, want none", err)
		}
		return
	}
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}

func TestHeader(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
		err  string
	}{
		{"a,\"b,c\"\n1,2\n", []string{"a", "b,c"}, ""},
		{"\xef\xbb\xbf\"a\",b", []string{"a", "b"}, ""},
		{"", nil, "no header"},
		{"\n1\n", nil, "no header"},
		{"a,b\r1,2\r", nil, "a carriage return without a line feed"},
		{"a\x00,b\n", nil, "a zero byte"},
		{"\"a\";\"b\"\n", nil, "line 1: a semicolon after a closing quote, want a comma, or --delimiter ';'"},
		{"\"a\"b\n", nil, "line 1: text after a closing quote, want a comma or the end of the line"},
	} {
		got, err := open(t, c.text, Options{}).Header()
		wantError(t, err, c.err)
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: header %q, want %q", c.text, got, c.want)
		}
	}
}

func TestFind(t *testing.T) {
	for _, c := range []struct {
		header, column string
		delimiter      byte
		want           int
		err            string
	}{
		{"a, b ,c", "b", 0, 1, ""},
		{"a;b", "b", ';', 1, ""},
		{"a\tb", "b", '\t', 1, ""},
		{"a|b", "a|b", 0, 0, ""},
		{"a,b", "c", 0, 0, `no column "c", want one of "a", "b"`},
		{"a,b,b", "b", 0, 0, `2 columns are called "b"`},
		{"39,Ann", "c", 0, 0, "1 of its 2 cells are numbers"},
		{"39,Ann", "39", 0, 0, "is the header row missing?"},
		{"a;b;c", "c", 0, 0, `no column "c": the header has a semicolon where the delimiter is a comma, want --delimiter ';'`},
		{"a,b", "b", ';', 0, "want --delimiter ','"},
		{"a\tb,c\td", "b", 0, 0, `want one of "a\tb", "c\td"`},
		{"a\tb", "b", 0, 0, "want --delimiter tab"},
		{"a|b", "b", 0, 0, "want --delimiter '|'"},
	} {
		r := open(t, c.header, Options{Delimiter: c.delimiter})
		header, err := r.Header()
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Find(header, c.column)
		wantError(t, err, c.err)
		if got != c.want {
			t.Errorf("%q: column %q at %d, want %d", c.header, c.column, got, c.want)
		}
	}
}

func TestParseDelimiter(t *testing.T) {
	for s, want := range map[string]byte{",": ',', ";": ';', "tab": '\t', `\t`: '\t', "\t": '\t', "|": '|', ":": ':'} {
		if got := ParseDelimiter(s); got != want {
			t.Errorf("delimiter %q is %q, want %q", s, got, want)
		}
	}
	for _, s := range []string{"", " ", "a", "7", `"`, "'", ".", "-", "+", "_", "\n", "\r", "\x00", "\x7f", "é", ";;", "comma"} {
		if got := ParseDelimiter(s); got != 0 {
			t.Errorf("delimiter %q is %q, want none", s, got)
		}
	}
}

func TestRow(t *testing.T) {
	for _, c := range []struct {
		text  string
		rows  int
		blank string // at the end
		err   string
	}{
		{"a,b\n1,2\n3,4", 2, "", ""},
		{"a,b\n1,2\n\r\n\n", 1, "\r\n\n", ""},
		{"a,b\n\n1,2\n", 0, "", "line 2 is empty, want a row"},
		{"a,b\n1,2\n\"x\ny\"\n", 2, "", "row 2 (line 3): 1 fields, want 2 as in the header"},
	} {
		r := open(t, c.text, Options{})
		if _, err := r.Header(); err != nil {
			t.Fatal(err)
		}
		var err error
		for err == nil {
			err = r.Row()
		}
		if errors.Is(err, io.EOF) {
			err = nil
			if string(r.Raw) != c.blank {
				t.Errorf("%q ends with %q, want %q", c.text, r.Raw, c.blank)
			}
		}
		wantError(t, err, c.err)
		if r.Rows != c.rows {
			t.Errorf("%q: %d rows, want %d", c.text, r.Rows, c.rows)
		}
	}
}

func TestDelimiterKeepsBytes(t *testing.T) {
	r := open(t, "a;\"b;c\";d,e\n", Options{Delimiter: ';'})
	header, err := r.Header()
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a", "b;c", "d,e"}; !slices.Equal(header, want) {
		t.Errorf("header %q, want %q", header, want)
	}
}
