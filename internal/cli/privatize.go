package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/sampler"
)

func newPrivatizeCommand(a *app) *cobra.Command {
	var (
		table, kernel, column, out string
		report, constant           bool
	)
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
gets integers. With one for a lattice (design --output-step) values are rounded
to a multiple of its step at random, without bias, before the noise, and results
are multiples of the step.

With --kernel in place of --table each value is clipped to the kernel's range and
replaced by an answer of the kernel, noise that depends on the value.

IN.csv is comma separated UTF-8 with a header line, or - for standard input. An
empty or non-numeric cell is an error, and nothing is written then. Output to
standard output waits in a temporary file for the end of the input.`,
		Example: `  noisewright design --epsilon 1 --delta 1e-6 --sensitivity 100 --loss l1 -o table.json
  noisewright privatize --table table.json --column hours --lower 0 --upper 100 in.csv -o out.csv`,
		Args:              oneArgument("IN.csv"),
		ValidArgsFunction: completeFiles("csv"),
	}
	cmd.Flags().StringVar(&table, "table", "", "table file to draw from")
	cmd.Flags().StringVar(&kernel, "kernel", "", "kernel file to answer with, in place of a table; values are clipped to its range")
	cmd.Flags().StringVar(&column, "column", "", "name of the column, as in the header")
	lower := newText(cmd, "lower", "number", "", "smallest value, in the column's units; smaller ones are raised to it")
	upper := newText(cmd, "upper", "number", "", "largest value, in the column's units; larger ones are lowered to it")
	cmd.Flags().BoolVar(&report, "report", false, "print to standard error how many values were clipped; that number is not private")
	cmd.Flags().BoolVar(&constant, "constant-time", false, "draw in a time that does not depend on the values drawn, many times slower")
	cmd.Flags().StringVarP(&out, "output", "o", "", "file to write, - for standard output (default -)")
	completeTable(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var f fields
		source := table
		switch {
		case table != "" && kernel != "":
			f.add("table = %s and kernel = %s, want only one of them", shown(table), shown(kernel))
		case kernel != "":
			source = kernel
			if lower.set || upper.set || constant {
				f.add("lower, upper and constant-time are for tables, want none of them with kernel")
			}
		default:
			f.required("table", table, "a table file")
		}
		f.required("column", column, "a name from the header")
		bounds := readClip(&f, lower, upper)
		if source == "-" && args[0] == "-" {
			f.add("table = - and IN.csv = -, want only one of them from standard input")
		}
		if report && bounds == nil && kernel == "" {
			f.add("report counts clipped values, want lower and upper with it")
		}
		if err := f.err(cmd); err != nil {
			return err
		}
		p := privatizer{column: column, clip: bounds}
		if kernel != "" {
			s, err := a.newKernelSampler(kernel)
			if err != nil {
				return err
			}
			p.answerer, p.clip = kernelAnswerer{s}, kernelClip(s)
		} else {
			s, err := a.newSampler(table, sampler.Options{ConstantTime: constant})
			if err != nil {
				return err
			}
			if err := bounds.check(s); err != nil {
				return err
			}
			if bounds == nil {
				a.warn("without --lower and --upper, the result is private only if one person's values differ by at most %v", s.Table().Privacy().Sensitivity)
			}
			p.answerer = tableAnswerer{s, newPrinter(s.Table())}
		}
		if err := a.privatize(cmd.Context(), &p, args[0], out, source); err != nil {
			return err
		}
		if report {
			a.warn("the next line tells something about the data and is not private")
			fmt.Fprintf(a.stderr, "clipped: %d of %d values\n", p.clipped, p.rows)
		}
		return nil
	}
	return cmd
}

// privatize runs p from the input file to the output file.
func (a *app) privatize(ctx context.Context, p *privatizer, in, out, table string) error {
	r := a.stdin
	if in != "-" {
		f, err := openInput(in)
		if err != nil {
			return err
		}
		defer f.Close()
		r = f
	}
	w, err := a.create(out, in, table)
	if err != nil {
		return err
	}
	defer w.discard()
	if err := p.run(ctx, w, r); err != nil {
		var data *dataError
		if errors.As(err, &data) {
			return badInput("", fmt.Errorf("%s: %w", inputName(in), data.err))
		}
		return err
	}
	return w.commit()
}

// clip is a range of values; nil does not clip.
type clip struct{ lower, upper float64 }

func readClip(f *fields, lower, upper *text) *clip {
	if !lower.set && !upper.set {
		return nil
	}
	number := func(float64) bool { return true }
	c := &clip{
		lower: f.number("lower", lower, "a finite number, together with upper", number),
		upper: f.number("upper", upper, "a finite number, together with lower", number),
	}
	if c.lower >= c.upper {
		f.add("lower = %v and upper = %v, want lower below upper", c.lower, c.upper)
	}
	return c
}

// check refuses a range wider than the sensitivity, and one whose ends the
// table's grid cannot reach. It lowers upper if the range is wider only by the
// rounding of decimals.
func (c *clip) check(s *sampler.Sampler) error {
	if c == nil {
		return nil
	}
	sensitivity := s.Table().Privacy().Sensitivity
	width := new(big.Rat).SetFloat64(c.upper)
	width.Sub(width, new(big.Rat).SetFloat64(c.lower))
	if width.Cmp(new(big.Rat).SetFloat64(sensitivity)) > 0 {
		// f is width to the nearest. If it is not the sensitivity it is a larger
		// float64, and so shown as a larger number.
		f, _ := width.Float64()
		if f == sensitivity {
			c.upper = addDown(c.lower, sensitivity)
			return c.check(s)
		}
		return badInput(fmt.Sprintf("noisewright design --sensitivity %v makes a table for this range", f),
			fmt.Errorf("upper - lower = %v, want at most %v, the sensitivity of the table", f, sensitivity))
	}
	for _, end := range []struct {
		name  string
		value float64
	}{{"lower", c.lower}, {"upper", c.upper}} {
		if s.Table().Query() == dp.IntegerQuery && end.value != math.Trunc(end.value) {
			return badInput("", fmt.Errorf("%s = %v, want an integer, as the table is for integer queries", end.name, end.value))
		}
		if _, err := s.AddNoise(end.value); errors.Is(err, dp.ErrInvalid) {
			return badInput("", fmt.Errorf("%s = %v, want a magnitude of at most %v, what the table's grid holds", end.name, end.value, largest(s)))
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
	sum := new(big.Rat).SetFloat64(x)
	sum.Add(sum, new(big.Rat).SetFloat64(y))
	u, _ := sum.Float64() // to the nearest
	if new(big.Rat).SetFloat64(u).Cmp(sum) > 0 {
		u = math.Nextafter(u, math.Inf(-1))
	}
	return u
}

// largest returns the largest value that noise can be added to exactly.
func largest(s *sampler.Sampler) float64 {
	return float64(exactIntegers-s.Table().Reach()) * s.Step()
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
	// Found by run.
	rows, clipped int64
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
	in, mark, err := newCSVReader(r)
	if err != nil {
		return &dataError{inputCause(err)}
	}
	if err := in.next(); errors.Is(err, io.EOF) || err == nil && in.blank() {
		return &dataError{errors.New("no header, want a first line with column names")}
	} else if err != nil {
		return &dataError{inputCause(err)}
	}
	at, err := p.find(in)
	if err != nil {
		return &dataError{err}
	}
	if _, err := w.Write(append(mark, in.raw...)); err != nil {
		return err
	}
	columns := len(in.fields)
	blank := 0 // line of an empty line, good only at the end
	var line []byte
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := in.next(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return &dataError{inputCause(err)}
		}
		if in.blank() {
			if blank == 0 {
				blank = in.first
			}
			line = append(line[:0], in.raw...)
		} else {
			p.rows++
			if blank > 0 {
				return &dataError{fmt.Errorf("line %d is empty, want a row", blank)}
			}
			if len(in.fields) != columns {
				return p.wrong(in, fmt.Errorf("%d fields, want %d as in the header", len(in.fields), columns))
			}
			if line, err = p.row(line[:0], in, at); err != nil {
				return err
			}
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
}

// wrong says which row the error is about.
func (p *privatizer) wrong(in *csvReader, err error) error {
	return &dataError{fmt.Errorf("row %d (line %d): %w", p.rows, in.first, err)}
}

// row appends the current record with the noisy number in place of field at to
// dst. All of the field goes: how many blanks are before a right-aligned number,
// and whether it has quotes, depends on the number.
func (p *privatizer) row(dst []byte, in *csvReader, at int) ([]byte, error) {
	field, cell := in.fields[at], in.inner(at)
	x, err := p.parse(string(in.raw[cell.start:cell.end]))
	if err != nil {
		return nil, p.wrong(in, fmt.Errorf("%s %w", shown(p.column), err))
	}
	x, clipped := p.clip.apply(x)
	if clipped {
		p.clipped++
	}
	dst = append(dst, in.raw[:field.start]...)
	dst, err = p.answer(dst, x) // needs no quotes
	var data *dataError
	if errors.As(err, &data) {
		return nil, p.wrong(in, fmt.Errorf("%s %w", shown(p.column), data.err))
	} else if err != nil {
		return nil, err
	}
	return append(dst, in.raw[field.end:]...), nil
}

// How many column names an error lists, and how many bytes of each: a header may
// be anything, if the file is not what it is taken for.
const (
	maxListed = 10
	maxName   = 40
)

// find returns the index of the column in the header just read. What it takes
// for a header may be the first row of a file without one, or all of a file
// whose lines end in another way: its errors must not print that.
func (p *privatizer) find(in *csvReader) (int, error) {
	if bareCR(in.raw) {
		return 0, errors.New("the header has a carriage return without a line feed, want lines that end in LF or CR LF")
	}
	at, found, numbers := 0, 0, 0
	var names []string
	for i := range in.fields {
		name := in.content(i)
		if name == p.column || strings.TrimSpace(name) == p.column {
			at = i
			found++
		}
		if isNumber(strings.TrimSpace(name)) {
			numbers++
		}
		if len(names) < maxListed {
			names = append(names, strconv.Quote(clipped(name)))
		}
	}
	list := strings.Join(names, ", ")
	if more := len(in.fields) - len(names); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	if numbers > 0 { // perhaps a person's record
		list = fmt.Sprintf("the header's; %d of its %d cells are numbers: is the header row missing?", numbers, len(in.fields))
	}
	switch {
	case found == 0:
		return 0, fmt.Errorf("no column %q, want one of %s", p.column, list)
	case found > 1:
		return 0, fmt.Errorf("%d columns are called %q, want a name that stands once in %s", found, p.column, list)
	case isNumber(strings.TrimSpace(p.column)):
		return 0, errors.New("the header cell of the column is a number: is the header row missing?")
	}
	return at, nil
}

// bareCR reports whether a carriage return stands without a line feed after it.
func bareCR(raw []byte) bool {
	return bytes.Count(raw, []byte("\r")) != bytes.Count(raw, []byte("\r\n"))
}

// isNumber reports whether a header cell reads as a number, finite or not.
func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}

// clipped returns the start of a long name, of whole runes.
func clipped(name string) string {
	if len(name) <= maxName {
		return name
	}
	end := maxName
	for end > maxName-utf8.UTFMax && !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end] + "…"
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

// exactIntegers is 2^53: every integer up to it is a float64.
const exactIntegers = 1 << 53

// parseInteger reads a plain decimal integer. Its errors do not quote the cell.
func parseInteger(s string) (float64, error) {
	if s == "" {
		return 0, errors.New("is empty, want an integer")
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if errors.Is(err, strconv.ErrRange) || n > exactIntegers || n < -exactIntegers {
		return 0, fmt.Errorf("is too large, want an integer of at most %d in magnitude", int64(exactIntegers))
	}
	if err != nil {
		return 0, errors.New("is not a plain integer, want one such as 12 or -5, as the table is for integer queries")
	}
	return float64(n), nil
}

var errNotNumber = errors.New("is not a plain number, want one such as 12 or -0.5")
