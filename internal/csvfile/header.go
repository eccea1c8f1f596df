// SPDX-License-Identifier: Apache-2.0

package csvfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/noisewright/noisewright/internal/check"
)

// Header reads the first record, to which Row holds the others, and returns the names, unquoted.
func (c *Reader) Header() ([]string, error) {
	err := c.Next()
	if errors.Is(err, io.EOF) || err == nil && c.Blank() {
		return nil, errors.New("no header, want a first line with column names")
	}
	if err != nil {
		return nil, err
	}
	if bytes.Count(c.Raw, []byte("\r")) != bytes.Count(c.Raw, []byte("\r\n")) {
		return nil, errors.New("the header has a carriage return without a line feed, want lines that end in LF or CR LF")
	}
	if bytes.IndexByte(c.Raw, 0) >= 0 {
		return nil, errors.New("the header has a zero byte, want CSV text in UTF-8")
	}
	c.columns = len(c.Fields)
	header := make([]string, c.columns)
	for i := range header {
		header[i] = c.Content(i)
	}
	return header, nil
}

// HeaderLine is Header for one that is on the first line, whatever is on the others.
func (c *Reader) HeaderLine() ([]string, error) {
	defer func(oneLine bool) { c.oneLine = oneLine }(c.oneLine)
	c.oneLine = true
	return c.Header()
}

// maxListed is how many column names an error lists.
const maxListed = 10

// Index returns where the named column stands in a header, blanks around a name left out, and how
// many have the name.
func Index(header []string, column string) (at, found int) {
	at = -1
	for i, name := range header {
		if name == column || strings.TrimSpace(name) == column {
			at, found = i, found+1
		}
	}
	return at, found
}

// Find returns where the named column stands in a header; blanks around a name in the
// file do not count. The header may be the first row of a file without one, or all of
// a file whose lines end in another way: errors do not print that.
func (c *Reader) Find(header []string, column string) (int, error) {
	at, found := Index(header, column)
	numbers := 0
	var names []string
	for i, name := range header {
		if IsNumber(strings.TrimSpace(name)) {
			numbers++
		}
		if i < maxListed {
			names = append(names, strconv.Quote(check.Shortened(name)))
		}
	}
	list := strings.Join(names, ", ")
	if more := len(header) - len(names); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	if numbers > 0 { // perhaps a person's record
		list = fmt.Sprintf("the header's; %d of its %d cells are numbers: is the header row missing?", numbers, len(header))
	}
	switch {
	case found == 0:
		if err := c.WrongDelimiter(header); err != nil {
			return 0, fmt.Errorf("no column %q: %w", column, err)
		}
		return 0, fmt.Errorf("no column %q, want one of %s", column, list)
	case found > 1:
		return 0, fmt.Errorf("%d columns are called %q, want a name that stands once in %s", found, column, list)
	case IsNumber(strings.TrimSpace(column)):
		return 0, errors.New("the header cell of the column is a number: is the header row missing?")
	}
	return at, nil
}

// commonDelimiters are those that a file may have.
const commonDelimiters = ",;\t|"

// WrongDelimiter is the error of a header that seems to have another delimiter: a
// single name with that in it. nil: it has not.
func (c *Reader) WrongDelimiter(header []string) error {
	if len(header) != 1 {
		return nil
	}
	other, most := byte(0), 0
	for _, d := range []byte(commonDelimiters) {
		if n := strings.Count(header[0], string(d)); d != c.delimiter && n > most {
			other, most = d, n
		}
	}
	if most == 0 {
		return nil
	}
	return fmt.Errorf("the header has %s where the delimiter is %s, want --delimiter %s", delimiterName(other), delimiterName(c.delimiter), delimiterFlag(other))
}

// afterQuote is the error of what follows a closing quote.
func (c *Reader) afterQuote(b byte) error {
	if strings.IndexByte(commonDelimiters, b) >= 0 {
		return bad(c.line, "%s after a closing quote, want %s, or --delimiter %s", delimiterName(b), delimiterName(c.delimiter), delimiterFlag(b))
	}
	return bad(c.line, "text after a closing quote, want %s or the end of the line", delimiterName(c.delimiter))
}

// WantDelimiter is the rule of ParseDelimiter.
const WantDelimiter = "tab, or a character such as , ; | or :, but no letter, digit, quote, sign, point or blank"

// ParseDelimiter reads a delimiter: tab, or a character that does not stand in a
// number, in quotes or at the end of a line. That is 0 for none.
func ParseDelimiter(s string) byte {
	switch {
	case s == "tab" || s == `\t` || s == "\t":
		return '\t'
	case len(s) == 1 && strings.Contains("!#$%&()*,/:;<=>?@[\\]^`{|}~", s):
		return s[0]
	}
	return 0
}

// delimiterFlag is a delimiter as a shell takes it.
func delimiterFlag(d byte) string {
	if d == '\t' {
		return "tab"
	}
	return "'" + string(d) + "'"
}

// delimiterName is a delimiter in messages.
func delimiterName(d byte) string {
	switch d {
	case ',':
		return "a comma"
	case ';':
		return "a semicolon"
	case '\t':
		return "a tab"
	}
	return strconv.Quote(string(d))
}
