// SPDX-License-Identifier: Apache-2.0

package csvfile

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// readAll returns the contents of all records, and their bytes put together
// again.
func readAll(text []byte) (records [][]string, bytesBack []byte, err error) {
	c, err := NewReader(bytes.NewReader(text), Options{})
	if err != nil {
		return nil, nil, err
	}
	defer c.Close()
	back := slices.Clone(c.Mark)
	for {
		if err := c.Next(); errors.Is(err, io.EOF) {
			return records, back, nil
		} else if err != nil {
			return nil, nil, err
		}
		// Put the record together from its parts, to see that they cover it.
		var fields []string
		for i, f := range c.Fields {
			if i > 0 {
				back = append(back, ',')
			}
			in := c.Inner(i)
			back = append(back, c.Raw[f.Start:in.Start]...)
			back = append(back, c.Raw[in.Start:in.End]...)
			back = append(back, c.Raw[in.End:f.End]...)
			fields = append(fields, c.Content(i))
		}
		back = append(back, c.Raw[c.lineEnd:]...)
		if !c.Blank() {
			records = append(records, fields)
		}
	}
}

// FuzzCSV holds csvReader against encoding/csv: both accept the same files and
// find the same fields, and csvReader keeps every byte.
func FuzzCSV(f *testing.F) {
	for _, s := range []string{
		"", "a", "a,b\n1,2\n", "a,b\r\n1,2\r\n", "\"a\"\"b\",\"c\nd\"\r\n,\n\n\n", "a\"b", "\"a\"b", "\"a", "\"", "\"\"",
		"\xef\xbb\xbfa,b\n", "a\r", "a\rb\n", "\"a\r\n\"\r", ",,,", " \"a\"", "\"\r\n\"", "a,\"\"\n", "x\r\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		records, back, err := readAll(text)
		if _, is := compressed(text); is {
			return // FuzzCompressed has those
		}
		if slices.ContainsFunc(others, func(o other) bool { return bytes.HasPrefix(text, o.magic) }) {
			if err == nil {
				t.Fatalf("%q accepted", text)
			}
			return
		}
		r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))))
		r.FieldsPerRecord = -1
		want, wantErr := r.ReadAll()
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: error %v, encoding/csv: %v", text, err, wantErr)
		}
		if err != nil {
			return
		}
		if !bytes.Equal(back, text) {
			t.Fatalf("%q became %q", text, back)
		}
		if len(records) != len(want) {
			t.Fatalf("%q: %d records, encoding/csv: %d", text, len(records), len(want))
		}
		for i := range records {
			for j := range records[i] {
				// encoding/csv turns line ends inside quotes into \n.
				records[i][j] = strings.ReplaceAll(records[i][j], "\r\n", "\n")
			}
			if !slices.Equal(records[i], want[i]) {
				t.Fatalf("%q: record %d is %q, encoding/csv: %q", text, i, records[i], want[i])
			}
		}
	})
}

func TestCSVRecordsAcrossBuffers(t *testing.T) {
	long := strings.Repeat("x", 3*bufferSize)
	text := "a,b\n" + long + ",\"" + long + "\n" + long + "\"\n1,2"
	records, back, err := readAll([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if string(back) != text || len(records) != 3 || records[1][0] != long || records[2][1] != "2" {
		t.Errorf("%d records, %d of %d bytes", len(records), len(back), len(text))
	}
}

func TestCSVLines(t *testing.T) {
	c, err := NewReader(strings.NewReader("a\n\"b\n\nc\"\nd\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var first []int
	for c.Next() == nil {
		first = append(first, c.Line)
	}
	if want := []int{1, 2, 5}; !slices.Equal(first, want) {
		t.Errorf("records start on lines %v, want %v", first, want)
	}
}

// TestCSVBoundsFields has a line of delimiters that does not end, within the bytes of a
// record.
func TestCSVBoundsFields(t *testing.T) {
	c, err := NewReader(strings.NewReader(strings.Repeat(",", maxFields)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Next(); err == nil || !strings.Contains(err.Error(), "more than 1048576 fields") {
		t.Errorf("error %v", err)
	}
}

// TestCSVBoundsARecord has a quote that nobody closes in endless input.
func TestCSVBoundsARecord(t *testing.T) {
	endless := io.MultiReader(strings.NewReader(`"`), zeros{})
	c, err := NewReader(endless, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Next(); err == nil || !strings.Contains(err.Error(), "is a quote not closed?") {
		t.Errorf("error %v", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}
