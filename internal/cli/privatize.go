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
	"github.com/noisewright/noisewright/sampler"
)

type privatizeOptions struct {
	shell.Common
	in            string // the CSV file
	table, kernel string // one of them
	column        string
	clip          *clip // nil: none
	report        bool
	constantTime  bool
}

func newPrivatizeCommand(s *shell.Streams) *cobra.Command {
	o := &privatizeOptions{Common: shell.Common{Streams: s}}
	cmd := &cobra.Command{
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
neighbouring values, read as float64s, differ by at most the sensitivity. Other
columns are not protected, and every further run on the same data spends epsilon
and delta again.

With a table for integer queries the column has integers, of at most 2^53, and
gets integers. With one that publishes in steps (design --step) values are rounded
to a multiple of the step at random, without bias, before the noise, and results
are multiples of the step.

With --kernel in place of --table each value is clipped to the kernel's range and
replaced by an answer of the kernel, noise that depends on the value.

IN.csv is comma separated UTF-8 with a header line, or - for standard input. An
empty or non-numeric cell is an error, and nothing is written then. Output to
standard output waits in a temporary file for the end of the input.`,
		Example: `  noisewright design --epsilon 1 --delta 1e-6 --sensitivity 100 --loss l1 -o table.json
  noisewright privatize --table table.json --column hours --lower 0 --upper 100 in.csv -o out.csv`,
	}
	f := shell.NewFlags(cmd)
	f.Argument(&o.in, "IN.csv", "csv")
	f.File(&o.table, "table", "table file to draw from", "json")
	f.File(&o.kernel, "kernel", "kernel file to answer with, in place of a table; values are clipped to its range", "json")
	f.String(&o.column, "column", "name of the column, as in the header")
	o.clipFlags(f)
	f.Bool(&o.report, "report", "print to standard error how many values were clipped; that number is not private")
	f.Bool(&o.constantTime, "constant-time", "draw in a time that does not depend on the values drawn, many times slower")
	f.Output(&o.Common, "file to write, - for standard output (default -)", "csv")
	f.Quiet(&o.Common, "no progress")
	f.Check(o.check)
	f.Run(o.run)
	return cmd
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

// check tests what the options demand of each other.
func (o *privatizeOptions) check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	source := o.table + o.kernel
	switch {
	case o.table != "" && o.kernel != "":
		bad("table = %s and kernel = %s, want only one of them", check.Quoted(o.table), check.Quoted(o.kernel))
	case source == "":
		bad("table is missing, want a table file")
	case o.kernel != "" && (o.clip != nil || o.constantTime):
		bad("lower, upper and constant-time are for tables, want none of them with kernel")
	}
	if o.column == "" {
		bad("column is missing, want a name from the header")
	}
	if source == "-" && o.in == "-" {
		bad("table = - and IN.csv = -, want only one of them from standard input")
	}
	if o.report && o.clip == nil && o.kernel == "" {
		bad("report counts clipped values, want lower and upper with it")
	}
	return errors.Join(errs...)
}

func (o *privatizeOptions) run(ctx context.Context) error {
	p := privatizer{column: o.column, clip: o.clip}
	var err error
	if p.answerer, err = o.answerer(&p); err != nil {
		return err
	}
	in, err := o.Open(o.in)
	if err != nil {
		return err
	}
	defer in.Close()
	w, err := o.Create(o.Output, o.in, o.table+o.kernel)
	if err != nil {
		return err
	}
	defer w.Discard()
	line := o.Progress()
	p.progress = func(rows int) { line.Rows("adding noise", rows, in) }
	if err := p.run(ctx, w, in); err != nil {
		var data *dataError
		if errors.As(err, &data) {
			return shell.BadFile(o.in, data.err)
		}
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

// answerer verifies what p draws from, and sets the clip of p to what a kernel answers
// or to what a table allows.
func (o *privatizeOptions) answerer(p *privatizer) (answerer, error) {
	if o.kernel == "" {
		v, err := o.ReadSound(o.table)
		if err != nil {
			return nil, err
		}
		s, err := sampler.New(v, sampler.Options{ConstantTime: o.constantTime})
		if err != nil {
			return nil, err
		}
		if p.clip == nil {
			o.Warn("without --lower and --upper, the result is private only if one person's values differ by at most %v", v.Table().Privacy().Sensitivity)
		}
		return tableAnswerer{s, newPrinter(v.Table())}, p.clip.check(s)
	}
	_, k, err := o.ReadEither(o.kernel)
	if err != nil {
		return nil, err
	}
	if k == nil {
		return nil, shell.BadInput("privatize --table takes a table", fmt.Errorf("%s is a table, want a kernel made by design-kernel", shell.InputName(o.kernel)))
	}
	v, err := shell.Sound(o.kernel, k.Verify)
	if err != nil {
		return nil, err
	}
	p.clip = &clip{lower: k.Queries().Lower, upper: k.Queries().Upper}
	s, err := sampler.NewKernel(v, sampler.Options{})
	return kernelAnswerer{s}, err
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
		return shell.BadInput(fmt.Sprintf("noisewright design --sensitivity %v makes a table for this range", f),
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

// dataError is about the content of the input.
type dataError struct{ err error }

func (e *dataError) Error() string { return e.err.Error() }
func (e *dataError) Unwrap() error { return e.err }

// privatizer adds noise to one column.
type privatizer struct {
	answerer
	column string
	clip   *clip
	// progress is called with the number of rows read, now and then.
	progress func(rows int)
	// Found by run.
	rows, clipped int
}

// answerer makes private numbers of numbers.
type answerer interface {
	// parse reads a cell.
	parse(cell string) (float64, error)
	// answer appends a private answer to x, which is clipped, to dst. A
	// dataError is about x and does not quote it.
	answer(dst []byte, x float64) ([]byte, error)
}

// tableAnswerer adds a table's noise.
type tableAnswerer struct {
	sampler *sampler.Sampler
	printer *printer
}

func (t tableAnswerer) parse(cell string) (float64, error) {
	if t.sampler.Table().Query() == dp.IntegerQuery {
		return parseInteger(cell)
	}
	return parseCell(cell)
}

func (t tableAnswerer) answer(dst []byte, x float64) ([]byte, error) {
	n, err := t.sampler.AddNoiseSteps(x)
	if errors.Is(err, dp.ErrInvalid) {
		return nil, &dataError{fmt.Errorf("is too large, want a magnitude of at most %v, what the table's grid holds", largest(t.sampler))}
	} else if err != nil {
		return nil, err
	}
	return t.printer.append(dst, n), nil
}

// kernelAnswerer answers through a kernel.
type kernelAnswerer struct{ sampler *sampler.KernelSampler }

func (kernelAnswerer) parse(cell string) (float64, error) { return parseCell(cell) }

func (k kernelAnswerer) answer(dst []byte, x float64) ([]byte, error) {
	y, err := k.sampler.Release(x)
	if err != nil {
		return nil, err
	}
	return strconv.AppendFloat(dst, y, 'g', -1, 64), nil
}

// run copies the CSV file r to w with noise on the column.
func (p *privatizer) run(ctx context.Context, w io.Writer, r io.Reader) error {
	in, mark, err := csvfile.NewReader(r)
	if err != nil {
		return &dataError{shell.FileCause(err)}
	}
	if err := in.Next(); errors.Is(err, io.EOF) || err == nil && in.Blank() {
		return &dataError{errors.New("no header, want a first line with column names")}
	} else if err != nil {
		return &dataError{shell.FileCause(err)}
	}
	at, err := p.find(in)
	if err != nil {
		return &dataError{err}
	}
	if _, err := w.Write(append(mark, in.Raw...)); err != nil {
		return err
	}
	columns := len(in.Fields)
	blank := 0 // line of an empty line, good only at the end
	var line []byte
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := in.Next(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return &dataError{shell.FileCause(err)}
		}
		if in.Blank() {
			if blank == 0 {
				blank = in.Line
			}
			line = append(line[:0], in.Raw...)
		} else {
			p.rows++
			if blank > 0 {
				return &dataError{fmt.Errorf("line %d is empty, want a row", blank)}
			}
			if len(in.Fields) != columns {
				return p.wrong(in, fmt.Errorf("%d fields, want %d as in the header", len(in.Fields), columns))
			}
			if line, err = p.row(line[:0], in, at); err != nil {
				return err
			}
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
		if p.rows%progressRows == 0 {
			p.progress(p.rows)
		}
	}
}

// progressRows is how many rows are done between two looks at the clock.
const progressRows = 1 << 10

// wrong says which row the error is about.
func (p *privatizer) wrong(in *csvfile.Reader, err error) error {
	return &dataError{fmt.Errorf("row %d (line %d): %w", p.rows, in.Line, err)}
}

// row appends the current record with the noisy number in place of field at to
// dst. All of the field goes: how many blanks are before a right-aligned number,
// and whether it has quotes, depends on the number.
func (p *privatizer) row(dst []byte, in *csvfile.Reader, at int) ([]byte, error) {
	field, cell := in.Fields[at], in.Inner(at)
	x, err := p.parse(string(in.Raw[cell.Start:cell.End]))
	if err != nil {
		return nil, p.wrong(in, fmt.Errorf("%s %w", check.Quoted(p.column), err))
	}
	x, clipped := p.clip.apply(x)
	if clipped {
		p.clipped++
	}
	dst = append(dst, in.Raw[:field.Start]...)
	dst, err = p.answer(dst, x) // needs no quotes
	var data *dataError
	if errors.As(err, &data) {
		return nil, p.wrong(in, fmt.Errorf("%s %w", check.Quoted(p.column), data.err))
	} else if err != nil {
		return nil, err
	}
	return append(dst, in.Raw[field.End:]...), nil
}

// maxListed is how many column names an error lists.
const maxListed = 10

// find returns the index of the column in the header just read. What it takes
// for a header may be the first row of a file without one, or all of a file
// whose lines end in another way: its errors must not print that.
func (p *privatizer) find(in *csvfile.Reader) (int, error) {
	if bareCR(in.Raw) {
		return 0, errors.New("the header has a carriage return without a line feed, want lines that end in LF or CR LF")
	}
	at, found, numbers := 0, 0, 0
	var names []string
	for i := range in.Fields {
		name := in.Content(i)
		if name == p.column || strings.TrimSpace(name) == p.column {
			at = i
			found++
		}
		if csvfile.IsNumber(strings.TrimSpace(name)) {
			numbers++
		}
		if len(names) < maxListed {
			names = append(names, strconv.Quote(check.Shortened(name)))
		}
	}
	list := strings.Join(names, ", ")
	if more := len(in.Fields) - len(names); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	if numbers > 0 { // perhaps a person's record
		list = fmt.Sprintf("the header's; %d of its %d cells are numbers: is the header row missing?", numbers, len(in.Fields))
	}
	switch {
	case found == 0:
		return 0, fmt.Errorf("no column %q, want one of %s", p.column, list)
	case found > 1:
		return 0, fmt.Errorf("%d columns are called %q, want a name that stands once in %s", found, p.column, list)
	case csvfile.IsNumber(strings.TrimSpace(p.column)):
		return 0, errors.New("the header cell of the column is a number: is the header row missing?")
	}
	return at, nil
}

// bareCR reports whether a carriage return stands without a line feed after it.
func bareCR(raw []byte) bool {
	return bytes.Count(raw, []byte("\r")) != bytes.Count(raw, []byte("\r\n"))
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
