// SPDX-License-Identifier: Apache-2.0

package csvfile

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/noisewright/noisewright/internal/check"
)

// maxRecord bounds the bytes of a record, so that a quote nobody closes does not read
// the rest of a large file into memory, and maxFields its fields.
const (
	maxRecord = 16 << 20
	maxFields = 1 << 20
)

const bufferSize = 64 << 10

// Options say how a file is read.
type Options struct {
	// Delimiter is what stands between two fields, as ParseDelimiter takes it; 0 means a comma.
	Delimiter byte
	// OneLine says that a row is a line: fields have no line breaks, in quotes neither.
	OneLine bool
}

var (
	// ErrRow marks an error about one row alone, after which the next one can be read. What
	// quotes have broken ends with its first line.
	ErrRow = errors.New("malformed row")
	// errLarge marks one about a record that is not kept.
	errLarge = check.Errorf("", ErrRow, "a large row")
	// ErrBlank marks one about an empty line.
	ErrBlank = check.Errorf("", ErrRow, "an empty line")
)

// Reader splits a CSV file (RFC 4180, UTF-8) into records and keeps every byte of them:
// encoding/csv forgets which fields were quoted and how lines ended. The file may be compressed
// with gzip or zstd and start with a byte order mark. No more than a record is in memory.
//
// Read the header first, then rows with Row; or all records with Next.
type Reader struct {
	r       *bufio.Reader
	end     func() // of the decompression
	oneLine bool
	again   []byte // read too far by a malformed row; again[at:] comes before r
	at      int
	fresh   bool // some of Raw was read from r
	cut     bool // a record was too large, and is not read to its end
	state   int  // of the record, after Raw[:pos]
	pos     int
	line    int // lines read so far
	columns int // of the header
	blank   int // line of an empty line, good only at the end; 0: none

	// Mark is the byte order mark that the text starts with, which is no part of the first field.
	Mark    []byte
	Record      // the current one, valid until the next one is read
	lineEnd int // where the line end starts in Raw
}

// NewReader returns a reader of r. The caller closes it.
func NewReader(r io.Reader, o Options) (*Reader, error) {
	text, end, err := decompressed(r)
	if err != nil {
		return nil, err
	}
	c := &Reader{r: text, end: end, oneLine: o.OneLine, Record: Record{delimiter: o.Delimiter}}
	if c.delimiter == 0 {
		c.delimiter = ','
	}
	mark := []byte("\xef\xbb\xbf")
	head, err := peek(c.r, len(mark))
	if err == nil && bytes.Equal(head, mark) {
		c.Mark = mark
		_, err = c.r.Discard(len(mark))
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Close releases what decompressing takes. What is read from stays open.
func (c *Reader) Close() { c.end() }

// states of Next.
const (
	fieldStart = iota
	plain      // in a field without quotes
	quoted     // between quotes
	closed     // after the closing quote
	broken     // by a quote, to the end of the line
)

// after is the state after a byte.
func (c *Reader) after(state int, b byte) int {
	switch {
	case state == broken, state == quoted && b != '"':
		return state
	case state == quoted:
		return closed
	case b == c.delimiter:
		return fieldStart
	case b == '"' && state != plain: // in quotes two are one
		return quoted
	case b == '"', state == closed:
		return broken
	}
	return plain
}

// Next reads a record, of any number of fields, io.EOF if there is none. Errors that wrap
// ErrRow are about this record; the next one begins after its first line, or after all of one that
// is too large: what is between its quotes is no record.
func (c *Reader) Next() error {
	c.Raw, c.Fields, c.fresh = c.Raw[:0], c.Fields[:0], false
	err := c.skip()
	c.Line = c.line + 1
	if err == nil {
		err = c.record()
	}
	switch {
	case errors.Is(err, errLarge): // its first line alone is kept
		c.cut = !c.ends(c.Raw[c.pos:])
		c.Raw = c.Raw[:cmp.Or(bytes.IndexByte(c.Raw, '\n')+1, len(c.Raw))]
	case errors.Is(err, ErrRow):
		c.resume()
	}
	return err
}

// bad is an error about the record.
func bad(line int, format string, args ...any) error {
	return check.Errorf("", ErrRow, "line %d: %s", line, fmt.Sprintf(format, args...))
}

func (c *Reader) record() error {
	start := 0
	c.state, c.pos = fieldStart, 0
	for {
		if err := c.readLine(); err != nil {
			if errors.Is(err, io.EOF) && len(c.Raw) > 0 {
				return bad(c.Line, "a quote is not closed")
			}
			return err
		}
		c.lineEnd = lineEnd(c.Raw)
		for ; c.pos < c.lineEnd; c.pos++ {
			b, was := c.Raw[c.pos], c.state
			c.state = c.after(was, b)
			switch {
			case c.state == broken && was == closed:
				return c.afterQuote(b)
			case c.state == broken:
				return bad(c.line, "a quote inside a field that does not start with one")
			case c.state == fieldStart:
				c.Fields = append(c.Fields, Span{start, c.pos})
				start = c.pos + 1
				if len(c.Fields) >= maxFields {
					c.pos++
					return check.Errorf("", errLarge, "line %d: a record of more than %d fields", c.Line, maxFields)
				}
			}
		}
		if c.state != quoted {
			c.Fields = append(c.Fields, Span{start, c.lineEnd})
			return nil
		}
		if c.oneLine {
			return bad(c.Line, "a quote is not closed")
		}
		c.pos = len(c.Raw)
	}
}

// lineEnd is where the line end starts.
func lineEnd(line []byte) int {
	n := len(line)
	if n > 0 && line[n-1] == '\n' {
		n--
	}
	if n > 0 && line[n-1] == '\r' {
		n--
	}
	return n
}

// ends reads on in a record to the end of a line, at most, and reports whether it ends there.
func (c *Reader) ends(chunk []byte) bool {
	for _, b := range chunk {
		c.state = c.after(c.state, b)
	}
	return bytes.HasSuffix(chunk, []byte("\n")) && (c.state != quoted || c.oneLine)
}

// resume takes the reader to the end of the first line of a malformed record.
func (c *Reader) resume() {
	c.line = c.Line
	end := bytes.IndexByte(c.Raw, '\n') + 1
	if end == 0 {
		return
	}
	if c.fresh {
		c.again, c.at = bytes.Clone(c.Raw[end:]), 0
	} else {
		c.at -= len(c.Raw) - end
	}
	c.Raw = c.Raw[:end]
}

// skip reads the rest of a record that was too large.
func (c *Reader) skip() error {
	for c.cut {
		chunk, err := c.slice()
		full := errors.Is(err, bufio.ErrBufferFull)
		if err == nil || !full && len(chunk) > 0 {
			c.line++
		}
		if c.cut = !c.ends(chunk); c.cut && err != nil && !full {
			return err
		}
	}
	return nil
}

// slice is that of a bufio.Reader up to the end of a line.
func (c *Reader) slice() ([]byte, error) {
	rest := c.again[c.at:]
	if len(rest) == 0 {
		c.fresh = true
		return c.r.ReadSlice('\n')
	}
	n := bytes.IndexByte(rest, '\n') + 1
	if n == 0 { // the line goes on in r
		c.at = len(c.again)
		return rest, bufio.ErrBufferFull
	}
	c.at += n
	return rest[:n], nil
}

// readLine appends the next line, with its end, to Raw.
func (c *Reader) readLine() error {
	for read := false; ; read = true {
		chunk, err := c.slice()
		c.Raw = append(c.Raw, chunk...)
		full := errors.Is(err, bufio.ErrBufferFull)
		if errors.Is(err, io.EOF) && (read || len(chunk) > 0) {
			err = nil // the last line has no end
		}
		if err == nil {
			c.line++
		}
		switch {
		case len(c.Raw) > maxRecord && (err == nil || full):
			return check.Errorf("", errLarge, "line %d: a record of more than %d bytes, is a quote not closed?", c.Line, maxRecord)
		case !full:
			return err
		}
	}
}

// Blank reports whether the record is an empty line.
func (c *Reader) Blank() bool { return c.lineEnd == 0 }

// Row reads a row, which has as many fields as the header, io.EOF after the last one.
// Empty lines stand only at the end of a file; Raw then has those lines.
func (c *Reader) Row() error {
	if err := c.Next(); err != nil {
		return err
	}
	if c.Blank() {
		return c.onlyBlank()
	}
	c.Rows++
	if len(c.Fields) != c.columns {
		return fmt.Errorf("row %d (line %d): %d fields, want %d as in the header", c.Rows, c.Line, len(c.Fields), c.columns)
	}
	return nil
}

// RowAlone is Row for who must not learn of single rows: it takes every line for a row, an empty
// one too, so that what is read of a row does not depend on the others. Errors that wrap ErrRow
// are about this row, and reading goes on after it.
func (c *Reader) RowAlone() error {
	err := c.Next()
	if err != nil && !errors.Is(err, ErrRow) {
		return err
	}
	c.Rows++
	switch {
	case err != nil:
		return err
	case c.Blank():
		return check.Errorf("", ErrBlank, "line %d is empty, want a row", c.Line)
	case len(c.Fields) != c.columns:
		return bad(c.Line, "%d fields, want %d as in the header", len(c.Fields), c.columns)
	}
	return nil
}

// LeftOut remembers the first row that was left out; empty lines at the end of a file are no
// rows. What it tells is about single rows, and not private.
type LeftOut struct{ first, blank error }

// Row takes what was wrong with the next row, or nil.
func (l *LeftOut) Row(err error) {
	switch {
	case l.first != nil:
	case errors.Is(err, ErrBlank):
		l.blank = cmp.Or(l.blank, err)
	default:
		l.first = cmp.Or(l.blank, err)
	}
}

// Err returns what was wrong with the first of them, nil for none.
func (l *LeftOut) Err() error { return l.first }

// onlyBlank reads the rest of a file, empty lines, the first of which was read.
func (c *Reader) onlyBlank() error {
	first, lines := c.Line, bytes.Clone(c.Raw)
	for {
		err := c.Next()
		switch {
		case errors.Is(err, io.EOF):
			c.Raw = lines
			return io.EOF
		case err != nil:
			return err
		case !c.Blank():
			return fmt.Errorf("line %d is empty, want a row", first)
		case len(lines) > maxRecord:
			return fmt.Errorf("line %d is empty and so are more than %d after it, want rows", first, maxRecord)
		}
		lines = append(lines, c.Raw...)
	}
}

// IsNumber reports whether a header cell reads as a number, finite or not.
func IsNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}
