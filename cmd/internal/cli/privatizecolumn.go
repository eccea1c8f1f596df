// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"regexp"
	"strconv"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/csvfile"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/sampler"
	"github.com/noisewright/noisewright/tables"
)

type columnOptions struct {
	name  string
	table string    // or another mechanism's file
	clip  *interval // of values; nil: none
	clamp *interval // of results; nil: none
	own   bool      // has settings of its own, so that errors name the column

	response *response // in the place of a table; nil: none
	people   *people   // of all columns
	joint    bool      // one of several that are drawn for together
	place    int       // among these
}

func (c columnOptions) prefix() string {
	if c.own {
		return "column " + check.Quoted(c.name) + ": "
	}
	return ""
}

func (c columnOptions) about(err error) error {
	if f, ok := errors.AsType[*shell.Failure](err); ok && c.own {
		return &shell.Failure{Code: f.Code, Hint: f.Hint, Err: fmt.Errorf("%s%w", c.prefix(), f.Err)}
	}
	return err
}

type interval struct{ lower, upper float64 }

// settingKey finds the settings after a column's name, which may have commas of its own.
var settingKey = regexp.MustCompile(`,(table|lower|upper|clamp|categories|epsilon|for)=`)

func (o *privatizeOptions) columnFlags(f *shell.Flags) {
	settings := map[string]string{}
	table := ""
	f.TableArgument(&table, o.file(), 0, 1)
	f.Argument(&o.in, "IN.csv", "csv", "gz", "zst")
	f.Check(func() error {
		if table != "" {
			settings["table"] = table
		}
		return nil
	})
	var names []string
	own := "table=, lower=, upper= and clamp="
	if o.local {
		own = "table= and clamp="
	}
	f.TextList(&names, "column", "NAME[,KEY=VALUE...]", "name of the column, as in the header, perhaps with its own "+own+", or categories= and epsilon=; repeated for several")
	f.Settings(settings, "lower", "number", "smallest value, in the column's units; smaller ones are raised to it")
	f.Settings(settings, "upper", "number", "largest value, in the column's units; larger ones are lowered to it")
	f.Settings(settings, "clamp", "A,B", "move results into this range, perhaps infinite; no cost in privacy, but they are then biased")
	f.Settings(settings, "categories", "A,B,...", categoriesUsage+"; answers are drawn by randomized response")
	f.Settings(settings, "epsilon", "number", "with --categories: privacy parameter epsilon of an answer, without unit: "+responseEpsilon.Want)
	forFlag(f, settings)
	if !o.local {
		jointFlags(f, settings)
		f.Bool(&o.degrees, "degrees", "with --columns LATITUDE,LONGITUDE: they and --center are in degrees, the noise and --radius in meters")
	}
	o.people.flags(f)
	f.Check(func() error {
		if settings["columns"] != "" {
			return o.readJoint(names, settings)
		}
		return errors.Join(o.onlyJoint(settings), o.readColumns(names, settings))
	})
}

// file is the word for what is drawn from.
func (o *privatizeOptions) file() string {
	if o.local {
		return "RANDOMIZER"
	}
	return "TABLE"
}

func (o *privatizeOptions) missingFile() error {
	want := shell.Want("a table file")
	if o.local {
		want = wantRandomizer
	}
	return shell.About(o.file(), "", want)
}

func (o *privatizeOptions) readColumns(texts []string, settings map[string]string) error {
	var errs []error
	said := map[string]bool{} // by columns without own settings
	add := func(c columnOptions, err error) {
		for _, s := range check.Sentences(err) {
			if s = c.prefix() + s; !said[s] {
				said[s] = true
				errs = append(errs, errors.New(s))
			}
		}
	}
	if len(texts) == 0 {
		if _, err := o.readColumn("", settings); err != nil {
			add(columnOptions{}, err)
		}
		add(columnOptions{}, shell.About("column", "", shell.Want("a name from the header")))
	}
	for _, text := range texts {
		c, err := o.readColumn(text, settings)
		if err != nil {
			add(c, err)
		}
		if c.table == "-" && o.in == "-" {
			add(columnOptions{}, errors.New("table = - and IN.csv = -, want only one of them from standard input"))
		}
		o.columns = append(o.columns, c)
	}
	return errors.Join(errs...)
}

func (o *privatizeOptions) readColumn(text string, settings map[string]string) (c columnOptions, err error) {
	all := settings
	settings = maps.Clone(settings)
	c.name, c.people = text, &o.people
	keys := settingKey.FindAllStringSubmatchIndex(text, -1)
	for _, k := range keys { // what a column is drawn from takes the place of that of all
		switch text[k[2]:k[3]] {
		case "table":
			delete(settings, "categories")
			delete(settings, "epsilon")
			delete(settings, "for")
		case "categories":
			delete(settings, "table")
			for _, name := range []string{"epsilon", "for"} {
				if text, given := all[name]; given {
					settings[name] = text
				}
			}
		}
	}
	for i, k := range keys {
		if i == 0 {
			c.name, c.own = text[:k[0]], true
		}
		end := len(text)
		if i+1 < len(keys) {
			end = keys[i+1][0]
		}
		settings[text[k[2]:k[3]]] = text[k[1]:end]
	}
	if c.own && c.name == "" {
		err = shell.About("column", text, shell.Want("a name from the header before its settings"))
	}
	var responseErr error
	c.response, responseErr = readResponse(settings)
	err = errors.Join(err, responseErr)
	if c.table = settings["table"]; c.table == "" && settings["categories"] == "" {
		err = errors.Join(err, o.missingFile())
	}
	clip, clipErr := readClip(settings)
	clamp, clampErr := readClamp(settings)
	c.clip, c.clamp = clip, clamp
	return c, errors.Join(err, clipErr, clampErr)
}

// readClip reads the range that values are moved into, of which both ends are given or none.
func readClip(settings map[string]string) (*interval, error) {
	lowerText, lowerGiven := settings["lower"]
	upperText, upperGiven := settings["upper"]
	if !lowerGiven && !upperGiven {
		return nil, nil //nolint:nilnil // no range
	}
	end := func(name, with, text string) (float64, error) {
		v, err := shell.ParseNumber(text, shell.Any("a finite number, together with "+with))
		return v, shell.About(name, text, err)
	}
	lower, lowerErr := end("lower", "upper", lowerText)
	upper, upperErr := end("upper", "lower", upperText)
	switch {
	case lowerErr != nil || upperErr != nil:
		return nil, errors.Join(lowerErr, upperErr)
	case lower >= upper:
		return nil, fmt.Errorf("lower = %v and upper = %v, want lower below upper", lower, upper)
	}
	return &interval{lower, upper}, nil
}

func readClamp(settings map[string]string) (*interval, error) {
	text, given := settings["clamp"]
	if !given {
		return nil, nil //nolint:nilnil // no range
	}
	a, b, err := shell.ParsePair(text)
	if err != nil || !(a < b) {
		return nil, shell.About("clamp", text, shell.Want("A,B, two numbers with A below B, or -inf and inf"))
	}
	return &interval{a, b}, nil
}

type source struct {
	dp.Privacy
	proven  proof.Proven
	answers sampler.Sampler
	noise   *sampler.Noise // of a table, which is drawn from in steps; nil: of another form
}

func (o *privatizeOptions) open(ctx context.Context, c columnOptions) (*source, error) {
	if c.response != nil {
		if o.constantTime {
			return nil, errOnlyTables
		}
		v, err := c.response.verified()
		if err != nil {
			return nil, err
		}
		return newSource(v, false)
	}
	made, err := readFor(o.Streams, "privatize", c.table, o.local)
	if err != nil {
		return nil, err
	}
	if _, table := made.(*tables.Table); o.constantTime && !table {
		return nil, errOnlyTables
	}
	v, err := shell.Prove(ctx, c.table, made)
	if err != nil {
		return nil, err
	}
	return newSource(v, o.constantTime)
}

func newSource(p proof.Proven, constantTime bool) (*source, error) {
	options := sampler.Options{ConstantTime: constantTime}
	s, err := sampler.New(p, options)
	if err != nil {
		return nil, err
	}
	out := &source{Privacy: s.Mechanism().Privacy(), proven: p, answers: s}
	if v, ok := p.(*tables.Verified); ok {
		out.noise, err = sampler.NewNoise(v, options)
	}
	return out, err
}

// fork returns one of the same mechanism for another goroutine.
func (s *source) fork() (*source, error) {
	out := *s
	var err error
	if s.noise != nil {
		out.noise, err = s.noise.Fork()
	} else {
		out.answers, err = s.answers.Fork()
	}
	return &out, err
}

var errOnlyTables = shell.BadInput("noisewright privatize --help", errors.New("lower, upper and constant-time are for tables, want none of them with a kernel or a local randomizer"))

// release is a draw as account takes it, or at least what was verified of it.
func (s *source) release() (*account.PrivacyLossDistribution, error) {
	pld, err := account.LossOf(s.answers.Mechanism())
	if err != nil {
		return account.Approximate(s.Epsilon, s.Delta)
	}
	return pld, nil
}

type column struct {
	name    string
	options columnOptions
	at      int // where it stands
	source  *source
	clip    *interval
	want    string // what a cell has
	parse   func(cell string) (float64, error)
	answer  func(dst []byte, x float64) ([]byte, error) // appends a private answer to x, which is clipped
	// label, if not nil, is in place of both, for cells that are no numbers, such as categories, of a person
	// who is named if that is asked for.
	label func(cell, person string) (string, error)

	values, clipped int // so far
}

// newColumn clips to what a kernel or a randomizer answers, or as asked for and a table allows.
func newColumn(o columnOptions, from *source) (*column, error) {
	c := &column{name: o.name, options: o, source: from, clip: o.clip, want: "a number", parse: csvfile.Number}
	if o.joint {
		return c, nil
	}
	if from.noise == nil {
		return c, c.answerBy(o, from.answers)
	}
	table := from.noise.Table()
	if table.Query() == dp.IntegerQuery {
		c.want, c.parse = "an integer", parseInteger
	}
	if c.clip != nil {
		fitted, err := c.clip.within(from.noise)
		if err != nil {
			return nil, err
		}
		c.clip = &fitted
	}
	printer := newPrinter(table)
	lowest, highest := int64(math.MinInt64), int64(math.MaxInt64)
	if o.clamp != nil {
		var err error
		if lowest, highest, err = o.clamp.steps(printer); err != nil {
			return nil, err
		}
	}
	c.answer = func(dst []byte, x float64) ([]byte, error) {
		n, err := from.noise.AddNoiseSteps(x)
		if errors.Is(err, dp.ErrInvalid) {
			return nil, cellError{fmt.Errorf("is too large, want a magnitude of at most %v, what the table's grid holds", largest(from.noise))}
		} else if err != nil {
			return nil, err
		}
		return printer.append(dst, min(max(n, lowest), highest)), nil
	}
	return c, nil
}

// answerInRange makes the column answer values that are clipped to a range.
func (c *column) answerInRange(o columnOptions, r interval, s sampler.Sampler) error {
	if o.clip != nil {
		return errOnlyTables
	}
	c.clip = &r
	clamp := interval{math.Inf(-1), math.Inf(1)}
	if o.clamp != nil {
		clamp = *o.clamp
	}
	c.answer = func(dst []byte, x float64) ([]byte, error) {
		y, err := s.ReleaseNumber(x)
		switch {
		case errors.Is(err, dp.ErrInvalid): // it is clipped, so it is in a cell
			return nil, cellError{errors.New("is too large for the kernel's grid")}
		case err != nil:
			return nil, err
		}
		return strconv.AppendFloat(dst, min(max(y, clamp.lower), clamp.upper), 'g', -1, 64), nil
	}
	return nil
}

// answerBy makes the column answer by draws from laws of answers.
func (c *column) answerBy(o columnOptions, s sampler.Sampler) error {
	inputs := s.Mechanism().Inputs()
	switch inputs.Kind { //nolint:exhaustive // the others are read as words
	case proof.Integers:
		c.want, c.parse = "an integer", parseInteger
		fallthrough
	case proof.Numbers:
		return c.answerInRange(o, interval{inputs.Lower, inputs.Upper}, s)
	}
	what, none := inputs.String(), "is not "+inputs.String()
	with := s.Mechanism().Form().Noun
	if inputs.Kind == proof.Categories {
		what, none, with = "a category", "is none of the categories", "categories"
	}
	if o.clip != nil || o.clamp != nil {
		return shell.BadInput("", fmt.Errorf("lower, upper and clamp are for numbers, want none of them with %s", with))
	}
	release, err := o.people.releaser(o.name, c.source)
	if err != nil {
		return err
	}
	c.want = what
	c.label = func(cell, person string) (string, error) {
		var answer string
		input, err := inputs.Read(cell)
		if err == nil {
			answer, err = release(input, person)
		}
		if errors.Is(err, dp.ErrInvalid) {
			return "", cellError{errors.New(none)}
		}
		return answer, err
	}
	return nil
}

// within returns the range as a table allows it: it refuses one wider than the
// sensitivity, and one whose ends the table's grid cannot reach, and lowers upper if
// the range is wider only by the rounding of decimals.
func (r interval) within(s *sampler.Noise) (interval, error) {
	sensitivity := s.Table().Privacy().Sensitivity
	width := exact.Rational(r.upper)
	width.Sub(width, exact.Rational(r.lower))
	if width.Cmp(exact.Rational(sensitivity)) > 0 {
		// f is width to the nearest: the sensitivity, or a larger number.
		f, _ := width.Float64()
		if f == sensitivity {
			return interval{r.lower, addDown(r.lower, sensitivity)}.within(s)
		}
		wider := s.Table().Problem()
		wider.Sensitivity = f
		return r, shell.BadInput(shell.DesignHint(wider),
			fmt.Errorf("upper - lower = %v, want at most %v, the sensitivity of the table", f, sensitivity))
	}
	for _, end := range []struct {
		name  string
		value float64
	}{{"lower", r.lower}, {"upper", r.upper}} {
		if s.Table().Query() == dp.IntegerQuery && end.value != math.Trunc(end.value) {
			return r, shell.BadInput("", fmt.Errorf("%s = %v, want an integer, as the table is for integer queries", end.name, end.value))
		}
		if _, err := s.AddNoise(end.value); errors.Is(err, dp.ErrInvalid) {
			return r, shell.BadInput("", fmt.Errorf("%s = %v, want a magnitude of at most %v, what the table's grid holds", end.name, end.value, largest(s)))
		} else if err != nil {
			return r, err
		}
	}
	return r, nil
}

// addDown returns the largest float64 u with u - x <= y exactly. As the upper end of a range it
// depends on no data and makes the range narrower than asked for, by less than the rounding of its
// ends, so the range is as private as any of width y.
func addDown(x, y float64) float64 {
	sum := exact.Rational(x)
	return exact.FloatDown(sum.Add(sum, exact.Rational(y)))
}

func largest(s *sampler.Noise) float64 {
	return float64(exact.MaxInteger-s.Table().Reach()) * s.Step()
}

// steps are the least and the most steps whose values, as printed, are in the range.
func (r interval) steps(p *printer) (lowest, highest int64, err error) {
	lowest, highest = math.MinInt64, math.MaxInt64
	if !math.IsInf(r.lower, 0) {
		// The least n >= lower/step is that of the largest n <= -lower/step.
		lowest = -stepsBelow(-r.lower, p)
	}
	if !math.IsInf(r.upper, 0) {
		highest = stepsBelow(r.upper, p)
	}
	if lowest > highest {
		return 0, 0, shell.BadInput("", fmt.Errorf("clamp = %v,%v, want a multiple of %v between, the step of the table's results", r.lower, r.upper, p.step))
	}
	return lowest, highest, nil
}

// stepsBelow returns the largest number of steps whose value, as printed, is at most x
// as printed. It is at most 2^62 either way, where no result is.
func stepsBelow(x float64, p *printer) int64 {
	n, _ := new(big.Rat).SetString(strconv.FormatFloat(x, 'f', -1, 64))
	n.Mul(n, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(p.places)), nil)))
	n.Quo(n, new(big.Rat).SetInt(p.decimal))
	floor := new(big.Int).Div(n.Num(), n.Denom()) // towards -∞, as the denominator is above 0
	const far = 1 << 62
	if floor.CmpAbs(big.NewInt(far)) > 0 {
		return int64(floor.Sign()) * far
	}
	return floor.Int64()
}

// key tells what is drawn from: columns with the same one share it.
func (c columnOptions) key() string {
	if r := c.response; r != nil {
		return fmt.Sprintf("%q %v %v %v", r.categories, r.count, r.epsilon, r.shares)
	}
	return c.table
}
