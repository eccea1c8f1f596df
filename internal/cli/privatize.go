package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/cli/shell"
	"github.com/noisewright/noisewright/internal/csvfile"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/sampler"
)

type privatizeOptions struct {
	shell.Common
	in           string // the CSV file
	table        string // or a kernel
	column       string
	clip         *clip // nil: none
	report       bool
	constantTime bool
}

func newPrivatizeCommand(s *shell.Streams) *cobra.Command {
	o := &privatizeOptions{Common: shell.Common{Streams: s}}
	f := shell.NewFlags(&cobra.Command{
		Use:   "privatize --table TABLE --column NAME IN.csv",
		Short: "Add noise to a column of a CSV file",
		Long: `Verify a table, and replace every number of one column of a CSV file by that
number plus a draw of the table's noise. The new number stands alone, without the
blanks and quotes around the old one, which may tell something about it.
Everything else keeps its bytes: the header, other columns, line ends. The file
may be larger than memory.

Each value is made (epsilon, delta)-differentially private by itself if replacing
one person's value by another moves it by at most the table's sensitivity. Give
--lower and --upper to make sure of it: values outside are clipped, and
upper - lower may not exceed the sensitivity. Where it does so only by the
rounding of decimals to float64, as 1.1 - 0.1 exceeds 1, upper is lowered to the
largest float64 that fits. Without --lower and --upper you promise that
neighboring values, read as float64s, differ by at most the sensitivity. Other
columns are not protected, and every further run on the same data spends epsilon
and delta again.

With a table for integer queries the column has integers, of at most 2^53, and
gets integers. With one that publishes in steps (design --step) values are rounded
to a multiple of the step at random, without bias, before the noise, and results
are multiples of the step.

With a kernel file in place of a table each value is clipped to the kernel's range
and replaced by an answer of the kernel, noise that depends on the value.

IN.csv is comma separated UTF-8 with a header line, or - for standard input. An
empty or non-numeric cell is an error, and nothing is written then. Output to
standard output waits in a temporary file for the end of the input.`,
		Example: `  noisewright design --epsilon 1 --delta 1e-6 --sensitivity 100 --loss l1 -o table.json
  noisewright privatize --table table.json --column hours --lower 0 --upper 100 in.csv -o out.csv`,
	})
	f.Source(&o.table)
	f.Argument(&o.in, "IN.csv", "csv")
	f.String(&o.column, "column", "name of the column, as in the header")
	f.Require(&o.column, "column", "a name from the header")
	f.Check(func() error {
		if o.table == "-" && o.in == "-" {
			return errors.New("table = - and IN.csv = -, want only one of them from standard input")
		}
		return nil
	})
	o.clipFlags(f)
	f.Bool(&o.report, "report", "print to standard error how many values were clipped; that number is not private")
	f.Bool(&o.constantTime, "constant-time", "draw in a time that does not depend on the values drawn, many times slower")
	f.Output(&o.Common, "file to write, - for standard output (default -)", "csv")
	f.Quiet(&o.Common, "no progress")
	return f.Run(o.run)
}

// clipFlags adds the two ends of the clip, both or none of which are given.
func (o *privatizeOptions) clipFlags(f *shell.Flags) {
	var c clip
	finite := func(with string) shell.Rule {
		return shell.Rule{Want: "a finite number, together with " + with, OK: func(float64) bool { return true }}
	}
	lower := f.OptionalNumber(&c.lower, "lower", finite("upper"), "smallest value, in the column's units; smaller ones are raised to it")
	upper := f.OptionalNumber(&c.upper, "upper", finite("lower"), "largest value, in the column's units; larger ones are lowered to it")
	f.Check(func() error {
		switch {
		case !lower.Given && !upper.Given:
			return nil
		case !lower.Given:
			return shell.About("lower", "", shell.Want(finite("upper").Want))
		case !upper.Given:
			return shell.About("upper", "", shell.Want(finite("lower").Want))
		case c.lower >= c.upper:
			return fmt.Errorf("lower = %v and upper = %v, want lower below upper", c.lower, c.upper)
		}
		o.clip = &c
		return nil
	})
}

func (o *privatizeOptions) run(ctx context.Context) error {
	p, err := o.privatizer()
	if err != nil {
		return err
	}
	if o.report && p.clip == nil {
		return shell.BadInput("noisewright privatize --help", errors.New("report counts clipped values, want lower and upper with it"))
	}
	in, err := o.Open(o.in)
	if err != nil {
		return err
	}
	defer in.Close()
	w, err := o.Create(o.Output, o.in, o.table)
	if err != nil {
		return err
	}
	defer w.Discard()
	line := o.Progress()
	if err := p.run(ctx, w, in, func() { line.Rows("adding noise", p.rows, in) }); err != nil {
		return err
	}
	if err := w.Commit(); err != nil {
		return err
	}
	if o.report {
		o.Warn("the next line tells something about the data and is not private")
		fmt.Fprintf(o.Err, "clipped: %d of %d values\n", p.clipped, p.rows)
	}
	return nil
}

// privatizer verifies what is to be drawn from. Values are clipped to what a kernel
// answers, or as the options say and a table allows.
func (o *privatizeOptions) privatizer() (*privatizer, error) {
	t, k, err := o.ReadEither(o.table)
	if err != nil {
		return nil, err
	}
	p := &privatizer{file: o.in, column: o.column, clip: o.clip, parse: parseCell}
	if k != nil {
		return p, o.answerBy(p, k)
	}
	v, err := shell.Sound(o.table, t.Verify)
	if err != nil {
		return nil, err
	}
	s, err := sampler.New(v, sampler.Options{ConstantTime: o.constantTime})
	if err != nil {
		return nil, err
	}
	if p.clip == nil {
		o.Warn("without --lower and --upper, the result is private only if one person's values differ by at most %v", t.Privacy().Sensitivity)
	}
	if t.Query() == dp.IntegerQuery {
		p.parse = parseInteger
	}
	printer := newPrinter(t)
	p.answer = func(dst []byte, x float64) ([]byte, error) {
		n, err := s.AddNoiseSteps(x)
		if errors.Is(err, dp.ErrInvalid) {
			return nil, p.wrongCell(fmt.Errorf("is too large, want a magnitude of at most %v, what the table's grid holds", largest(s)))
		} else if err != nil {
			return nil, err
		}
		return printer.append(dst, n), nil
	}
	return p, p.clip.check(s)
}

// answerBy makes p answer through a kernel.
func (o *privatizeOptions) answerBy(p *privatizer, k *kernels.Kernel) error {
	if o.clip != nil || o.constantTime {
		return shell.BadInput("noisewright privatize --help", errors.New("lower, upper and constant-time are for tables, want none of them with a kernel"))
	}
	v, err := shell.Sound(o.table, k.Verify)
	if err != nil {
		return err
	}
	s, err := sampler.NewKernel(v, sampler.Options{})
	p.clip = &clip{lower: k.Queries().Lower, upper: k.Queries().Upper}
	p.answer = func(dst []byte, x float64) ([]byte, error) {
		y, err := s.Release(x)
		return strconv.AppendFloat(dst, y, 'g', -1, 64), err
	}
	return err
}

// clip is a range of values; nil does not clip.
type clip struct{ lower, upper float64 }

// check refuses a range wider than the sensitivity, and one whose ends the
// table's grid cannot reach. It lowers upper if the range is wider only by the
// rounding of decimals.
func (c *clip) check(s *sampler.Sampler) error {
	if c == nil {
		return nil
	}
	sensitivity := s.Table().Privacy().Sensitivity
	width := exact.Rational(c.upper)
	width.Sub(width, exact.Rational(c.lower))
	if width.Cmp(exact.Rational(sensitivity)) > 0 {
		// f is width to the nearest. If it is not the sensitivity it is a larger
		// float64, and so shown as a larger number.
		f, _ := width.Float64()
		if f == sensitivity {
			c.upper = addDown(c.lower, sensitivity)
			return c.check(s)
		}
		wider := s.Table().Problem()
		wider.Sensitivity = f
		return shell.BadInput(shell.DesignHint(wider),
			fmt.Errorf("upper - lower = %v, want at most %v, the sensitivity of the table", f, sensitivity))
	}
	for _, end := range []struct {
		name  string
		value float64
	}{{"lower", c.lower}, {"upper", c.upper}} {
		if s.Table().Query() == dp.IntegerQuery && end.value != math.Trunc(end.value) {
			return shell.BadInput("", fmt.Errorf("%s = %v, want an integer, as the table is for integer queries", end.name, end.value))
		}
		if _, err := s.AddNoise(end.value); errors.Is(err, dp.ErrInvalid) {
			return shell.BadInput("", fmt.Errorf("%s = %v, want a magnitude of at most %v, what the table's grid holds", end.name, end.value, largest(s)))
		} else if err != nil {
			return err
		}
	}
	return nil
}

// addDown returns the largest float64 u with u - x <= y exactly. As the upper
// end of a range it depends on no data and makes the range narrower than asked
// for, by less than the rounding of its ends, so the range is as private as any
// of width y.
func addDown(x, y float64) float64 {
	sum := exact.Rational(x)
	return exact.FloatDown(sum.Add(sum, exact.Rational(y)))
}

// largest returns the largest value that noise can be added to exactly.
func largest(s *sampler.Sampler) float64 {
	return float64(exact.MaxInteger-s.Table().Reach()) * s.Step()
}

// apply returns x moved into the range, and whether it moved.
func (c *clip) apply(x float64) (float64, bool) {
	switch {
	case c == nil:
		return x, false
	case x < c.lower:
		return c.lower, true
	case x > c.upper:
		return c.upper, true
	}
	return x, false
}

type privatizer struct {
	file   string // as in messages
	in     *csvfile.Reader
	column string
	at     int // where the column stands
	clip   *clip
	parse  func(cell string) (float64, error)
	answer func(dst []byte, x float64) ([]byte, error) // appends a private answer to x, which is clipped

	rows, clipped int // so far
}

// progressRows is how many rows are done between two looks at the clock.
const progressRows = 1 << 10

// run copies the CSV file r to w with noise on the column. It calls progress now and
// then.
func (p *privatizer) run(ctx context.Context, w io.Writer, r io.Reader, progress func()) error {
	var mark []byte
	var err error
	if p.in, mark, err = csvfile.NewReader(r); err != nil {
		return p.bad(err)
	}
	if err := p.in.Next(); errors.Is(err, io.EOF) || err == nil && p.in.Blank() {
		return p.bad(errors.New("no header, want a first line with column names"))
	} else if err != nil {
		return p.bad(err)
	}
	if err := p.find(); err != nil {
		return p.bad(err)
	}
	line := append(mark, p.in.Raw...)
	columns := len(p.in.Fields)
	blank := 0 // line of an empty line, good only at the end
	for {
		if _, err := w.Write(line); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := p.in.Next(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return p.bad(err)
		}
		if p.in.Blank() {
			if blank == 0 {
				blank = p.in.Line
			}
			line = append(line[:0], p.in.Raw...)
			continue
		}
		p.rows++
		if blank > 0 {
			return p.bad(fmt.Errorf("line %d is empty, want a row", blank))
		}
		if len(p.in.Fields) != columns {
			return p.wrong(fmt.Errorf("%d fields, want %d as in the header", len(p.in.Fields), columns))
		}
		if line, err = p.row(line[:0]); err != nil {
			return err
		}
		if p.rows%progressRows == 0 {
			progress()
		}
	}
}

// bad is about the file, wrong about the current row and wrongCell about its number.
func (p *privatizer) bad(err error) error { return shell.BadFile(p.file, shell.FileCause(err)) }

func (p *privatizer) wrong(err error) error {
	return p.bad(fmt.Errorf("row %d (line %d): %w", p.rows, p.in.Line, err))
}

func (p *privatizer) wrongCell(err error) error {
	return p.wrong(fmt.Errorf("%s %w", check.Quoted(p.column), err))
}

// row appends the current record with the noisy number in place of the column's. All
// of the field goes: how many blanks are before a right-aligned number, and whether it
// has quotes, depends on the number.
func (p *privatizer) row(dst []byte) ([]byte, error) {
	field, cell := p.in.Fields[p.at], p.in.Inner(p.at)
	x, err := p.parse(string(p.in.Raw[cell.Start:cell.End]))
	if err != nil {
		return nil, p.wrongCell(err)
	}
	x, clipped := p.clip.apply(x)
	if clipped {
		p.clipped++
	}
	dst, err = p.answer(append(dst, p.in.Raw[:field.Start]...), x) // needs no quotes
	if err != nil {
		return nil, err
	}
	return append(dst, p.in.Raw[field.End:]...), nil
}

// maxListed is how many column names an error lists.
const maxListed = 10

// find finds the column in the header just read. What it takes for a header may be
// the first row of a file without one, or all of a file whose lines end in another
// way: its errors must not print that.
func (p *privatizer) find() error {
	raw := p.in.Raw
	if bytes.Count(raw, []byte("\r")) != bytes.Count(raw, []byte("\r\n")) {
		return errors.New("the header has a carriage return without a line feed, want lines that end in LF or CR LF")
	}
	found, numbers := 0, 0
	var names []string
	for i := range p.in.Fields {
		name := p.in.Content(i)
		if name == p.column || strings.TrimSpace(name) == p.column {
			p.at = i
			found++
		}
		if csvfile.IsNumber(strings.TrimSpace(name)) {
			numbers++
		}
		if i < maxListed {
			names = append(names, strconv.Quote(check.Shortened(name)))
		}
	}
	list := strings.Join(names, ", ")
	if more := len(p.in.Fields) - len(names); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	if numbers > 0 { // perhaps a person's record
		list = fmt.Sprintf("the header's; %d of its %d cells are numbers: is the header row missing?", numbers, len(p.in.Fields))
	}
	switch {
	case found == 0:
		return fmt.Errorf("no column %q, want one of %s", p.column, list)
	case found > 1:
		return fmt.Errorf("%d columns are called %q, want a name that stands once in %s", found, p.column, list)
	case csvfile.IsNumber(strings.TrimSpace(p.column)):
		return errors.New("the header cell of the column is a number: is the header row missing?")
	}
	return nil
}

// parseCell reads a plain decimal number. Its errors do not quote the cell,
// which is private.
func parseCell(s string) (float64, error) {
	if s == "" {
		return 0, errors.New("is empty, want a number")
	}
	// ParseFloat also reads hexadecimal, underscores, inf and nan.
	if strings.Trim(s, "0123456789+-.eE") != "" {
		return 0, errNotNumber
	}
	x, err := strconv.ParseFloat(s, 64)
	if errors.Is(err, strconv.ErrRange) || math.IsInf(x, 0) {
		return 0, errors.New("is too large for a float64, want a finite number")
	}
	if err != nil {
		return 0, errNotNumber
	}
	return x, nil
}

// parseInteger reads a plain decimal integer. Its errors do not quote the cell.
func parseInteger(s string) (float64, error) {
	if s == "" {
		return 0, errors.New("is empty, want an integer")
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if errors.Is(err, strconv.ErrRange) || n > exact.MaxInteger || n < -exact.MaxInteger {
		return 0, fmt.Errorf("is too large, want an integer of at most %d in magnitude", int64(exact.MaxInteger))
	}
	if err != nil {
		return 0, errors.New("is not a plain integer, want one such as 12 or -5, as the table is for integer queries")
	}
	return float64(n), nil
}

var errNotNumber = errors.New("is not a plain number, want one such as 12 or -0.5")
