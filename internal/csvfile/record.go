// SPDX-License-Identifier: Apache-2.0

package csvfile

import "strings"

// Record is a record with all of its bytes.
type Record struct {
	Raw       []byte // with its line end
	Fields    []Span
	Line      int // line it starts on, from 1
	Rows      int // rows read so far, this one included
	delimiter byte
}

// Span is one field: Raw[Start:End], quotes included.
type Span struct{ Start, End int }

// Batch is records in a row, which stay when others are read.
type Batch struct {
	Records []Record
	raw     []byte
	fields  []Span
}

// Bytes is the length of its records.
func (b *Batch) Bytes() int { return len(b.raw) }

// Clear makes the batch empty, to be filled again.
func (b *Batch) Clear() { b.Records, b.raw, b.fields = b.Records[:0], b.raw[:0], b.fields[:0] }

// Add appends a copy of a record.
func (b *Batch) Add(r *Record) {
	raw, fields := len(b.raw), len(b.fields)
	b.raw, b.fields = append(b.raw, r.Raw...), append(b.fields, r.Fields...)
	b.Records = append(b.Records, Record{b.raw[raw:], b.fields[fields:], r.Line, r.Rows, r.delimiter})
}

// Content returns a field without its quotes.
func (r *Record) Content(i int) string {
	s := string(r.Raw[r.Fields[i].Start:r.Fields[i].End])
	if len(s) >= 2 && s[0] == '"' {
		s = strings.ReplaceAll(s[1:len(s)-1], `""`, `"`)
	}
	return s
}

// Quoted appends a field with a text to dst, in quotes if it needs them.
func (r *Record) Quoted(dst []byte, text string) []byte {
	if text != "" && !strings.ContainsAny(text, "\"\r\n"+string(rune(r.delimiter))) && strings.TrimSpace(text) == text {
		return append(dst, text...)
	}
	dst = append(dst, '"')
	dst = append(dst, strings.ReplaceAll(text, `"`, `""`)...)
	return append(dst, '"')
}

// Inner returns where the text of a field stands in Raw, without quotes and surrounding blanks.
func (r *Record) Inner(i int) Span {
	f := r.Fields[i]
	if f.End-f.Start >= 2 && r.Raw[f.Start] == '"' {
		f.Start++
		f.End--
	}
	for f.Start < f.End && isBlank(r.Raw[f.Start]) {
		f.Start++
	}
	for f.Start < f.End && isBlank(r.Raw[f.End-1]) {
		f.End--
	}
	return f
}

func isBlank(b byte) bool { return b == ' ' || b == '\t' }
