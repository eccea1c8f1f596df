package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/sampler"
)

func newPrivatizeCommand(a *app) *cobra.Command {
	var (
		table, column, out string
		report, constant   bool
	)
	cmd := &cobra.Command{
		Use:   "privatize --table TABLE --column NAME IN.csv",
		Short: "Add noise to a column of a CSV file",
		Long: `Verify a table, and replace every number of one column of a CSV file by that
number plus a draw of the table's noise. Everything else keeps its bytes: other
columns, quotes, line ends. The file may be larger than memory.

Each value is made (epsilon, delta)-differentially private by itself if replacing
one person's value by another moves it by at most the table's sensitivity. Give
--lower and --upper to make sure of it: values outside are clipped, and
upper - lower may not exceed the sensitivity. Without them it is your duty.
Other columns are not protected, and every further run on the same data spends
epsilon and delta again.

IN.csv is comma separated UTF-8 with a header line, or - for standard input. An
empty or non-numeric cell is an error, and nothing is written then. Output to
standard output waits in a temporary file for the end of the input.`,
		Example: `  noisewright design --epsilon 1 --delta 1e-6 --sensitivity 100 --loss l1 -o table.json
  noisewright privatize --table table.json --column hours --lower 0 --upper 100 in.csv -o out.csv`,
		Args:              oneArgument("IN.csv"),
		ValidArgsFunction: completeFiles("csv"),
	}
	cmd.Flags().StringVar(&table, "table", "", "table file to draw from")
	cmd.Flags().StringVar(&column, "column", "", "name of the column, as in the header")
	lower := newText(cmd, "lower", "number", "", "smallest value, in the column's units; smaller ones are raised to it")
	upper := newText(cmd, "upper", "number", "", "largest value, in the column's units; larger ones are lowered to it")
	cmd.Flags().BoolVar(&report, "report", false, "print to standard error how many values were clipped; that number is not private")
	cmd.Flags().BoolVar(&constant, "constant-time", false, "draw in a time that does not depend on the values drawn, many times slower")
	cmd.Flags().StringVarP(&out, "output", "o", "", "file to write, - for standard output (default -)")
	completeTable(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var f fields
		f.required("table", table, "a table file")
		f.required("column", column, "a name from the header")
		bounds := readClip(&f, lower, upper)
		if table == "-" && args[0] == "-" {
			f.add("table = - and IN.csv = -, want only one of them from standard input")
		}
		if report && bounds == nil {
			f.add("report counts clipped values, want lower and upper with it")
		}
		if err := f.err(cmd); err != nil {
			return err
		}
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
		p := privatizer{sampler: s, column: column, clip: bounds}
		if err := a.privatize(cmd.Context(), &p, args[0], out, table); err != nil {
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
// table's grid cannot reach.
func (c *clip) check(s *sampler.Sampler) error {
	if c == nil {
		return nil
	}
	sensitivity := s.Table().Privacy().Sensitivity
	width := new(big.Rat).SetFloat64(c.upper)
	width.Sub(width, new(big.Rat).SetFloat64(c.lower))
	if width.Cmp(new(big.Rat).SetFloat64(sensitivity)) > 0 {
		f, _ := width.Float64()
		return badInput(fmt.Sprintf("noisewright design --sensitivity %v makes a table for this range", f),
			fmt.Errorf("upper - lower = %v, want at most %v, the sensitivity of the table", f, sensitivity))
	}
	for _, end := range []struct {
		name  string
		value float64
	}{{"lower", c.lower}, {"upper", c.upper}} {
		if _, err := s.AddNoise(end.value); errors.Is(err, sampler.ErrInvalid) {
			return badInput("", fmt.Errorf("%s = %v, want a magnitude of at most %v, what the table's grid holds", end.name, end.value, largest(s)))
		} else if err != nil {
			return err
		}
	}
	return nil
}

// largest returns the largest value that noise can be added to exactly.
func largest(s *sampler.Sampler) float64 {
	const exactIntegers = 1 << 53
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
	sampler *sampler.Sampler
	column  string
	clip    *clip
	// Found by run.
	rows, clipped int64
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

// row appends the current record with noise on field at to dst.
func (p *privatizer) row(dst []byte, in *csvReader, at int) ([]byte, error) {
	cell := in.inner(at)
	x, err := parseCell(string(in.raw[cell.start:cell.end]))
	if err != nil {
		return nil, p.wrong(in, fmt.Errorf("%s %w", shown(p.column), err))
	}
	x, clipped := p.clip.apply(x)
	if clipped {
		p.clipped++
	}
	y, err := p.sampler.AddNoise(x)
	if errors.Is(err, sampler.ErrInvalid) {
		return nil, p.wrong(in, fmt.Errorf("%s is too large, want a magnitude of at most %v, what the table's grid holds", shown(p.column), largest(p.sampler)))
	} else if err != nil {
		return nil, err
	}
	dst = append(dst, in.raw[:cell.start]...)
	dst = strconv.AppendFloat(dst, y, 'g', -1, 64)
	return append(dst, in.raw[cell.end:]...), nil
}

// maxListed is how many column names an error lists.
const maxListed = 40

// find returns the index of the column in the header just read.
func (p *privatizer) find(in *csvReader) (int, error) {
	at, found := 0, 0
	var names []string
	for i := range in.fields {
		name := in.content(i)
		if name == p.column || strings.TrimSpace(name) == p.column {
			at = i
			found++
		}
		if len(names) < maxListed {
			names = append(names, strconv.Quote(name))
		}
	}
	list := strings.Join(names, ", ")
	if more := len(in.fields) - len(names); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	switch {
	case found == 0:
		return 0, fmt.Errorf("no column %q, want one of %s", p.column, list)
	case found > 1:
		return 0, fmt.Errorf("%d columns are called %q, want a name that stands once in %s", found, p.column, list)
	}
	return at, nil
}

// parseCell reads a plain decimal number.
func parseCell(s string) (float64, error) {
	if s == "" {
		return 0, errors.New("is empty, want a number")
	}
	const longest = 40
	text := s
	if len(text) > longest {
		text = text[:longest] + "…"
	}
	// ParseFloat also reads hexadecimal, underscores, inf and nan.
	if strings.Trim(s, "0123456789+-.eE") != "" {
		return 0, fmt.Errorf("is %q, want a number such as 12 or -0.5", text)
	}
	x, err := strconv.ParseFloat(s, 64)
	if errors.Is(err, strconv.ErrRange) || math.IsInf(x, 0) {
		return 0, fmt.Errorf("is %q, want a finite number", text)
	}
	if err != nil {
		return 0, fmt.Errorf("is %q, want a number such as 12 or -0.5", text)
	}
	return x, nil
}
