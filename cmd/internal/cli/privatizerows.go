// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/csvfile"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/subset"
	"github.com/noisewright/noisewright/tables"
)

type privatizer struct {
	file        string // as in messages
	columns     []*column
	keepMissing bool
	people      *people
	joint       *vector // of all columns; nil: each by itself

	header []string
}

// rowsOfBytes is how much of a file is worked on at a time.
const rowsOfBytes = 64 << 10

// rows are some rows of a file, and what becomes of them.
type rows struct {
	csvfile.Batch
	private []byte
	rest    []byte // empty lines at the end
}

// run copies a CSV file with noise on the columns, and calls progress with the number of rows now and then. Each of
// the workers draws by samplers of its own.
func (p *privatizer) run(ctx context.Context, w io.Writer, in *csvfile.Reader, workers int, progress func(rows int)) error {
	if err := p.find(in); err != nil {
		return p.bad(err)
	}
	if _, err := w.Write(append(slices.Clone(in.Mark), in.Raw...)); err != nil {
		return err
	}
	at := make([]*privatizer, workers)
	for k := range at {
		var err error
		if at[k], err = p.fork(); err != nil {
			return err
		}
	}
	defer func() {
		for _, q := range at {
			p.count(q)
		}
	}()
	return shell.InOrder(workers, func(b *rows) error {
		b.Clear()
		b.rest = nil
		for b.Bytes() < rowsOfBytes {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := in.Row(); errors.Is(err, io.EOF) {
				b.rest = in.Raw
				return err
			} else if err != nil {
				return p.bad(err)
			}
			b.Add(&in.Record)
		}
		return nil
	}, func(worker int, b *rows) (err error) {
		b.private = b.private[:0]
		for i := range b.Records {
			if b.private, err = at[worker].row(b.private, &b.Records[i]); err != nil {
				return err
			}
		}
		return nil
	}, func(b *rows) error {
		if n := len(b.Records); n > 0 {
			progress(b.Records[n-1].Rows)
		}
		if _, err := w.Write(b.private); err != nil {
			return err
		}
		_, err := w.Write(b.rest)
		return err
	})
}

// fork returns one for another goroutine.
func (p *privatizer) fork() (*privatizer, error) {
	q, people := *p, *p.people
	q.people, q.columns = &people, nil
	if p.joint != nil {
		q.joint = &vector{clip: p.joint.clip, origin: p.joint.origin, integer: p.joint.integer}
	}
	sources := map[*source]*source{} // columns share them
	for _, c := range p.columns {
		from := sources[c.source]
		if from == nil {
			var err error
			if from, err = c.source.fork(); err != nil {
				return nil, err
			}
			sources[c.source] = from
		}
		column, err := newColumn(c.options, from)
		if err != nil {
			return nil, err
		}
		column.at = c.at
		q.columns = append(q.columns, column)
	}
	return &q, nil
}

// count adds what a fork has counted.
func (p *privatizer) count(q *privatizer) {
	for i, c := range q.columns {
		p.columns[i].values += c.values
		p.columns[i].clipped += c.clipped
	}
	if p.joint != nil {
		p.joint.points += q.joint.points
		p.joint.clipped += q.joint.clipped
	}
}

func (p *privatizer) find(in *csvfile.Reader) error {
	header, err := in.Header()
	if err != nil {
		return err
	}
	p.header = slices.Clone(header)
	for i, c := range p.columns {
		if c.at, err = in.Find(header, c.name); err != nil {
			return err
		}
		for _, other := range p.columns[:i] {
			if other.at == c.at {
				return fmt.Errorf("column %s is given twice, want it once: noise is added once", check.Quoted(c.name))
			}
		}
	}
	if err := p.people.find(in, header); err != nil {
		return err
	}
	for _, c := range p.columns {
		if p.people.column != "" && c.at == p.people.at {
			return fmt.Errorf("column %s is that of --person too, want another one: names are not answered", check.Quoted(c.name))
		}
	}
	slices.SortFunc(p.columns, func(a, b *column) int { return a.at - b.at })
	return nil
}

// asTheyWere returns the first names of columns that are copied.
func (p *privatizer) asTheyWere() (names []string) {
	for i, name := range p.header {
		switch answered := slices.ContainsFunc(p.columns, func(c *column) bool { return c.at == i }); {
		case answered:
		case len(names) == mostNamed:
			return append(names, "…")
		default:
			names = append(names, check.Quoted(shell.Printable(name)))
		}
	}
	return names
}

// mostNamed is how many columns a line names.
const mostNamed = 12

func (p *privatizer) bad(err error) error { return shell.BadFile(p.file, shell.FileCause(err)) }

// cellError is what is wrong with a number of the file.
type cellError struct{ error }

// row appends a record with noisy numbers in place of the columns'. All of such a field
// goes: how many blanks are before a right-aligned number, and whether it has quotesdepends on it.
func (p *privatizer) row(dst []byte, in *csvfile.Record) ([]byte, error) {
	raw, copied := in.Raw, 0
	if err := p.people.read(in); err != nil {
		return nil, p.bad(err)
	}
	wrong := func(name string, err error) error {
		if of := (cellError{}); errors.As(err, &of) {
			return p.bad(fmt.Errorf("row %d (line %d): %s %w", in.Rows, in.Line, check.Quoted(name), of.error))
		}
		return err
	}
	if p.joint != nil {
		if about, err := p.joint.draw(in, p.columns, p.keepMissing); err != nil {
			return nil, wrong(about, err)
		}
	}
	asked := -1 // none in particular
	if p.people.one {
		asked = subset.Pick(p.people.seed, p.people.current, len(p.columns))
	}
	for i, c := range p.columns {
		field, cell := in.Fields[c.at], in.Inner(c.at)
		dst = append(dst, raw[copied:field.Start]...)
		copied = field.End
		var err error
		switch text := string(raw[cell.Start:cell.End]); {
		case asked >= 0 && asked != i: // it stays empty, whatever the value
			if len(in.Fields) == 1 {
				dst = append(dst, `""`...)
			}
		case text != "":
			if p.joint != nil {
				dst = p.joint.append(dst, c.options.place)
				break
			}
			if c.label == nil {
				dst, err = c.appendNoisy(dst, text) // needs no quotes
				break
			}
			var answer string
			answer, err = c.label(strings.TrimSpace(in.Content(c.at)), p.people.current)
			dst = in.Quoted(dst, answer)
		case !p.keepMissing:
			err = cellError{errors.New("is empty, want " + c.want + ", or --missing keep")}
		case len(in.Fields) == 1:
			dst = append(dst, `""`...) // not an empty line
		}
		if err != nil {
			return nil, wrong(c.name, err)
		}
	}
	return append(dst, raw[copied:]...), nil
}

func (c *column) appendNoisy(dst []byte, cell string) ([]byte, error) {
	x, err := c.parse(cell)
	if err != nil {
		return nil, cellError{err}
	}
	c.values++
	if c.clip != nil {
		inside := min(max(x, c.clip.lower), c.clip.upper)
		if inside != x {
			c.clipped++
		}
		x = inside
	}
	return c.answer(dst, x)
}

// parseInteger reads a plain decimal integer. Its errors do not quote the cell.
func parseInteger(s string) (float64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if errors.Is(err, strconv.ErrRange) || n > exact.MaxInteger || n < -exact.MaxInteger {
		return 0, fmt.Errorf("is too large, want an integer of at most %d in magnitude", int64(exact.MaxInteger))
	}
	if err != nil {
		return 0, errors.New("is not a plain integer, want one such as 12 or -5, as the table is for integer queries")
	}
	return float64(n), nil
}

type printer struct {
	query dp.Query
	step  float64
	// Of a lattice: the shortest decimal of its step, without its point, and the digits after that.
	decimal *big.Int
	places  int
}

func newPrinter(t *tables.Table) *printer {
	step, _ := t.Grid().Step().Float64() // exact
	return printerOf(t.Query(), step)
}

func printerOf(q dp.Query, step float64) *printer {
	p := &printer{query: q, step: step}
	whole, part, _ := strings.Cut(strconv.FormatFloat(step, 'f', -1, 64), ".")
	p.decimal, _ = new(big.Int).SetString(whole+part, 10)
	p.places = len(part)
	return p
}

// append appends the value of point n to dst. For a real query it is the shortest decimal that
// reads back as the same float64. For a lattice it is the exact multiple of the step as its decimal
// is written, so that 3 steps of 0.1 are 0.3.
func (p *printer) append(dst []byte, n int64) []byte {
	switch p.query {
	case dp.IntegerQuery:
		return strconv.AppendInt(dst, n, 10)
	case dp.LatticeQuery:
		return p.multiple(dst, n)
	default:
		return strconv.AppendFloat(dst, float64(n)*p.step, 'g', -1, 64)
	}
}

func (p *printer) multiple(dst []byte, n int64) []byte {
	product := new(big.Int).Mul(big.NewInt(n), p.decimal)
	if product.Sign() < 0 {
		dst = append(dst, '-')
	}
	digits := fmt.Sprintf("%0*d", p.places+1, product.Abs(product))
	point := len(digits) - p.places
	dst = append(dst, digits[:point]...)
	if part := strings.TrimRight(digits[point:], "0"); part != "" {
		dst = append(append(dst, '.'), part...)
	}
	return dst
}
