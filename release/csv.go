// SPDX-License-Identifier: Apache-2.0

package release

import (
	"cmp"
	"errors"
	"io"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/csvfile"
)

// CSV are the rows of a CSV file with a header (RFC 4180, UTF-8), perhaps compressed
// with gzip or zstd.
type CSV struct {
	r         *csvfile.Reader
	delimiter byte
	header    []string
	record    []string
}

// NewCSV reads the header, which is one line. The delimiter 0 means a comma. The caller closes the
// CSV.
func NewCSV(r io.Reader, delimiter byte) (*CSV, error) {
	return newCSV(r, csvfile.Options{Delimiter: delimiter})
}

func newCSV(r io.Reader, o csvfile.Options) (*CSV, error) {
	in, err := csvfile.NewReader(r, o)
	if err != nil {
		return nil, err
	}
	header, err := in.HeaderLine()
	if err != nil {
		in.Close()
		return nil, check.Errorf("release", dp.ErrInvalid, "%w", err)
	}
	return &CSV{r: in, delimiter: cmp.Or(o.Delimiter, ','), header: header, record: make([]string, len(header))}, nil
}

// Columns implements Rows.
func (c *CSV) Columns() []string { return c.header }

// Next implements Rows. Of a row that is malformed the record is its first line.
func (c *CSV) Next() ([]string, int, error) {
	err := c.r.RowAlone()
	switch {
	case errors.Is(err, ErrRow):
		return []string{string(c.r.Raw)}, c.r.Line, err
	case err != nil:
		return nil, 0, err
	}
	for i := range c.record {
		c.record[i] = c.r.Content(i)
	}
	return c.record, c.r.Line, nil
}

// Find returns where the named column stands among the Columns; blanks around a name in the
// file do not count. Errors say what is wrong with the header, such as another delimiter.
func (c *CSV) Find(column string) (int, error) { return c.r.Find(c.header, column) }

// suspect is the error of a header that seems to have another delimiter, nil if not.
func (c *CSV) suspect() error { return c.r.WrongDelimiter(c.header) }

// Close releases what decompressing takes; the reader beneath stays open.
func (c *CSV) Close() { c.r.Close() }
