package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxRecord bounds a record, so that a quote nobody closes does not read the
// rest of a large file into memory.
const maxRecord = 16 << 20

// csvReader splits a CSV file (RFC 4180, comma separated, UTF-8) into records
// and keeps every byte of them: encoding/csv forgets which fields were quoted
// and how lines ended.
type csvReader struct {
	r    *bufio.Reader
	line int // lines read so far
	// The current record.
	raw    []byte // with its line end
	end    int    // where the line end starts in raw
	fields []span
	first  int // line it starts on, from 1
}

// span is one field: raw[start:end], quotes included.
type span struct{ start, end int }

// newCSVReader returns a reader of r and the byte order mark that r starts
// with, which is no part of the first field.
func newCSVReader(r io.Reader) (c *csvReader, mark []byte, err error) {
	c = &csvReader{r: bufio.NewReaderSize(r, bufferSize)}
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

// next reads a record, io.EOF if there is none.
func (c *csvReader) next() error {
	c.raw, c.fields, c.first = c.raw[:0], c.fields[:0], c.line+1
	start, pos, state := 0, 0, fieldStart
	for {
		if err := c.readLine(); err != nil {
			if errors.Is(err, io.EOF) && len(c.raw) > 0 {
				return fmt.Errorf("line %d: a quote is not closed", c.first)
			}
			return err
		}
		c.end = lineEnd(c.raw)
		for ; pos < c.end; pos++ {
			b := c.raw[pos]
			switch {
			case state == quoted && b != '"':
			case state == quoted && pos+1 < c.end && c.raw[pos+1] == '"':
				pos++
			case state == quoted:
				state = closed
			case b == ',':
				c.fields = append(c.fields, span{start, pos})
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
			c.fields = append(c.fields, span{start, c.end})
			return nil
		}
		pos = len(c.raw)
	}
}

// readLine appends the next line, with its end, to raw.
func (c *csvReader) readLine() error {
	for read := false; ; read = true {
		chunk, err := c.r.ReadSlice('\n')
		c.raw = append(c.raw, chunk...)
		if len(c.raw) > maxRecord {
			return fmt.Errorf("line %d: a record of more than %d bytes, is a quote not closed?", c.first, maxRecord)
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

// blank reports whether the record is an empty line.
func (c *csvReader) blank() bool { return c.end == 0 }

// content returns a field without its quotes.
func (c *csvReader) content(i int) string {
	s := string(c.raw[c.fields[i].start:c.fields[i].end])
	if len(s) >= 2 && s[0] == '"' {
		s = strings.ReplaceAll(s[1:len(s)-1], `""`, `"`)
	}
	return s
}

// inner returns where the text of a field stands in raw, without quotes and
// surrounding blanks.
func (c *csvReader) inner(i int) span {
	f := c.fields[i]
	if f.end-f.start >= 2 && c.raw[f.start] == '"' {
		f.start++
		f.end--
	}
	for f.start < f.end && isBlank(c.raw[f.start]) {
		f.start++
	}
	for f.start < f.end && isBlank(c.raw[f.end-1]) {
		f.end--
	}
	return f
}

func isBlank(b byte) bool { return b == ' ' || b == '\t' }
