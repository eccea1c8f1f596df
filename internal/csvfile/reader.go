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

// maxRecord bounds the bytes of a record, so that a quote nobody closes does not read
// the rest of a large file into memory, and maxFields its fields.
const (
	maxRecord = 16 << 20
	maxFields = 1 << 20
)

const bufferSize = 64 << 10

// Options say how a file is read.
type Options struct {
	// Delimiter is what stands between two fields, as ParseDelimiter takes it; 0 means
	// a comma.
	Delimiter byte
}

// Reader splits a CSV file (RFC 4180, UTF-8) into records and keeps every byte of
// them: encoding/csv forgets which fields were quoted and how lines ended. The file
// may be compressed with gzip or zstd and start with a byte order mark. No more than
// a record is in memory.
//
// Read the header first, then rows with Row; or all records with Next.
type Reader struct {
	r         *bufio.Reader
	end       func() // of the decompression
	delimiter byte
	line      int // lines read so far
	columns   int // of the header
	blank     int // line of an empty line, good only at the end; 0: none

	// Mark is the byte order mark that the text starts with, which is no part of the
	// first field.
	Mark []byte
	// The current record, valid until the next one is read.
	Raw     []byte // with its line end
	Fields  []Span
	Line    int // line it starts on, from 1
	Rows    int // rows read so far, the current one included
	lineEnd int // where the line end starts in Raw
}

// Span is one field: Raw[Start:End], quotes included.
type Span struct{ Start, End int }

// NewReader returns a reader of r. The caller closes it.
func NewReader(r io.Reader, o Options) (*Reader, error) {
	text, end, err := decompressed(r)
	if err != nil {
		return nil, err
	}
	c := &Reader{r: text, end: end, delimiter: o.Delimiter}
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
)

// Next reads a record, of any number of fields, io.EOF if there is none.
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
		c.lineEnd = endOfText(c.Raw)
		for ; pos < c.lineEnd; pos++ {
			b := c.Raw[pos]
			switch {
			case state == quoted && b != '"':
			case state == quoted && pos+1 < c.lineEnd && c.Raw[pos+1] == '"':
				pos++
			case state == quoted:
				state = closed
			case b == c.delimiter:
				c.Fields = append(c.Fields, Span{start, pos})
				start, state = pos+1, fieldStart
				if len(c.Fields) >= maxFields {
					return fmt.Errorf("line %d: a record of more than %d fields", c.Line, maxFields)
				}
			case state == fieldStart && b == '"':
				state = quoted
			case state == closed:
				return c.afterQuote(b)
			case b == '"':
				return fmt.Errorf("line %d: a quote inside a field that does not start with one", c.line)
			default:
				state = plain
			}
		}
		if state != quoted {
			c.Fields = append(c.Fields, Span{start, c.lineEnd})
			return nil
		}
		pos = len(c.Raw)
	}
}

// readLine appends the next line, with its end, to Raw.
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

// endOfText returns where the line end of raw starts.
func endOfText(raw []byte) int {
	return len(bytes.TrimSuffix(bytes.TrimSuffix(raw, []byte("\n")), []byte("\r")))
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

// Content returns a field without its quotes.
func (c *Reader) Content(i int) string {
	s := string(c.Raw[c.Fields[i].Start:c.Fields[i].End])
	if len(s) >= 2 && s[0] == '"' {
		s = strings.ReplaceAll(s[1:len(s)-1], `""`, `"`)
	}
	return s
}

// Quoted appends a field with a text to dst, in quotes if it needs them.
func (c *Reader) Quoted(dst []byte, text string) []byte {
	if text != "" && !strings.ContainsAny(text, "\"\r\n"+string(rune(c.delimiter))) && strings.TrimSpace(text) == text {
		return append(dst, text...)
	}
	dst = append(dst, '"')
	dst = append(dst, strings.ReplaceAll(text, `"`, `""`)...)
	return append(dst, '"')
}

// Inner returns where the text of a field stands in Raw, without quotes and
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
