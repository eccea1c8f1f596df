package csvfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxRecord bounds a record, so that a quote nobody closes does not read the
// rest of a large file into memory.
const maxRecord = 16 << 20

const bufferSize = 64 << 10

// Reader splits a CSV file (RFC 4180, comma separated, UTF-8) into records
// and keeps every byte of them: encoding/csv forgets which fields were quoted
// and how lines ended.
type Reader struct {
	r    *bufio.Reader
	line int // lines read so far
	// The current record.
	Raw    []byte // with its line end
	end    int    // where the line end starts in raw
	Fields []Span
	Line   int // line it starts on, from 1
}

// Span is one field: raw[start:end], quotes included.
type Span struct{ Start, End int }

// NewReader returns a reader of r and the byte order mark that r starts
// with, which is no part of the first field.
func NewReader(r io.Reader) (c *Reader, mark []byte, err error) {
	c = &Reader{r: bufio.NewReaderSize(r, bufferSize)}
	head, err := c.r.Peek(3)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	switch utf8Mark := []byte("\xef\xbb\xbf"); {
	case bytes.HasPrefix(head, utf8Mark):
		_, err = c.r.Discard(len(utf8Mark))
		return c, utf8Mark, err
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return nil, nil, errors.New("the text is UTF-16, want UTF-8")
	}
	return c, nil, nil
}

// states of next.
const (
	fieldStart = iota
	plain      // in a field without quotes
	quoted     // between quotes
	closed     // after the closing quote
)

// Next reads a record, io.EOF if there is none.
func (c *Reader) Next() error {
	c.Raw, c.Fields, c.Line = c.Raw[:0], c.Fields[:0], c.line+1
	start, pos, state := 0, 0, fieldStart
	for {
		if err := c.readLine(); err != nil {
			if errors.Is(err, io.EOF) && len(c.Raw) > 0 {
				return fmt.Errorf("line %d: a quote is not closed", c.Line)
			}
			return err
		}
		c.end = lineEnd(c.Raw)
		for ; pos < c.end; pos++ {
			b := c.Raw[pos]
			switch {
			case state == quoted && b != '"':
			case state == quoted && pos+1 < c.end && c.Raw[pos+1] == '"':
				pos++
			case state == quoted:
				state = closed
			case b == ',':
				c.Fields = append(c.Fields, Span{start, pos})
				start, state = pos+1, fieldStart
			case state == fieldStart && b == '"':
				state = quoted
			case state == closed:
				return fmt.Errorf("line %d: text after a closing quote, want a comma or the end of the line", c.line)
			case b == '"':
				return fmt.Errorf("line %d: a quote inside a field that does not start with one", c.line)
			default:
				state = plain
			}
		}
		if state != quoted {
			c.Fields = append(c.Fields, Span{start, c.end})
			return nil
		}
		pos = len(c.Raw)
	}
}

// readLine appends the next line, with its end, to raw.
func (c *Reader) readLine() error {
	for read := false; ; read = true {
		chunk, err := c.r.ReadSlice('\n')
		c.Raw = append(c.Raw, chunk...)
		if len(c.Raw) > maxRecord {
			return fmt.Errorf("line %d: a record of more than %d bytes, is a quote not closed?", c.Line, maxRecord)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if errors.Is(err, io.EOF) && (read || len(chunk) > 0) {
			err = nil // the last line has no end
		}
		if err == nil {
			c.line++
		}
		return err
	}
}

// lineEnd returns where the line end of raw starts.
func lineEnd(raw []byte) int {
	return len(bytes.TrimSuffix(bytes.TrimSuffix(raw, []byte("\n")), []byte("\r")))
}

// Blank reports whether the record is an empty line.
func (c *Reader) Blank() bool { return c.end == 0 }

// Content returns a field without its quotes.
func (c *Reader) Content(i int) string {
	s := string(c.Raw[c.Fields[i].Start:c.Fields[i].End])
	if len(s) >= 2 && s[0] == '"' {
		s = strings.ReplaceAll(s[1:len(s)-1], `""`, `"`)
	}
	return s
}

// Inner returns where the text of a field stands in raw, without quotes and
// surrounding blanks.
func (c *Reader) Inner(i int) Span {
	f := c.Fields[i]
	if f.End-f.Start >= 2 && c.Raw[f.Start] == '"' {
		f.Start++
		f.End--
	}
	for f.Start < f.End && isBlank(c.Raw[f.Start]) {
		f.Start++
	}
	for f.Start < f.End && isBlank(c.Raw[f.End-1]) {
		f.End--
	}
	return f
}

func isBlank(b byte) bool { return b == ' ' || b == '\t' }

// IsNumber reports whether a header cell reads as a number, finite or not.
func IsNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}
