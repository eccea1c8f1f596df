// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/csvfile"
)

// Bool adds a switch.
func (f *Flags) Bool(p *bool, name, usage string) { f.cmd.Flags().BoolVar(p, name, *p, usage) }

// Alias gives a flag its older name as well, which the help does not show.
func (f *Flags) Alias(name, older string) {
	alias := *f.cmd.Flags().Lookup(name)
	alias.Name, alias.Shorthand, alias.Usage, alias.Hidden = older, "", "", true
	f.cmd.Flags().AddFlag(&alias)
}

// String adds a text that is taken as it is.
func (f *Flags) String(p *string, name, usage string) { f.Text(p, name, "text", usage) }

// Text is String for a text of a kind, which the help shows in its place.
func (f *Flags) Text(p *string, name, kind, usage string) { f.text(p, name, "", kind, usage) }

func (f *Flags) text(p *string, name, letter, kind, usage string) {
	f.cmd.Flags().StringVarP(p, name, letter, *p, usage)
	flag := f.cmd.Flags().Lookup(name)
	flag.Value = kinded{flag.Value, kind}
}

// kinded is a value with a kind in the place of its type.
type kinded struct {
	pflag.Value
	kind string
}

func (k kinded) Type() string { return k.kind }

// Settings adds texts that are kept by their names, those that are given.
func (f *Flags) Settings(settings map[string]string, name, kind, usage string) {
	f.Func(name, kind, "", usage, func(text string) error {
		settings[name] = text
		return nil
	})
}

// File adds the name of a file with one of the extensions.
func (f *Flags) File(p *string, name, usage string, extensions ...string) {
	f.Text(p, name, "file", usage)
	_ = f.cmd.MarkFlagFilename(name, extensions...)
}

// Directory adds the name of a directory.
func (f *Flags) Directory(p *string, name, usage string) {
	f.Text(p, name, "folder", usage)
	_ = f.cmd.MarkFlagDirname(name)
}

// RequiredFile is File for one that has to be given; want says what it is.
func (f *Flags) RequiredFile(p *string, name, want, usage string, extensions ...string) {
	f.File(p, name, usage, extensions...)
	f.Require(p, name, want)
}

// Require wants a text to be given; want says what it is.
func (f *Flags) Require(p *string, name, want string) {
	f.Check(func() error {
		if *p == "" {
			return About(name, "", Want(want))
		}
		return nil
	})
}

// Misplaced gives a hint where the flag is missing and an argument is what it takes.
func (f *Flags) Misplaced(name string, is func(argument string) bool) {
	f.Check(func() error {
		if i := slices.IndexFunc(f.given, is); i >= 0 && f.cmd.Flags().Lookup(name).Value.String() == "" {
			f.hint = f.commandLine(name, i)
		}
		return nil
	})
}

// commandLine is the one given, with its i-th argument after the named flag.
func (f *Flags) commandLine(name string, i int) string {
	words := []string{f.cmd.CommandPath(), "--" + name, shellQuoted(f.given[i])}
	f.cmd.Flags().Visit(func(p *pflag.Flag) {
		values := []string{p.Value.String()}
		if s, several := p.Value.(pflag.SliceValue); several {
			values = s.GetSlice()
		}
		for _, v := range values {
			switch {
			case p.NoOptDefVal != "": // a switch
				words = append(words, "--"+p.Name)
			case p.Shorthand != "":
				words = append(words, "-"+p.Shorthand, shellQuoted(v))
			default:
				words = append(words, "--"+p.Name, shellQuoted(v))
			}
		}
	})
	rest := slices.Delete(slices.Clone(f.given), i, i+1)
	if slices.ContainsFunc(rest, func(s string) bool { return strings.HasPrefix(s, "-") && s != "-" }) {
		words = append(words, "--")
	}
	for _, s := range rest {
		words = append(words, shellQuoted(s))
	}
	return strings.Join(words, " ")
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:=,+@%-]+$`)

func shellQuoted(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Delimiter adds --delimiter, what stands between the fields of the CSV files read.
func (f *Flags) Delimiter(o *csvfile.Options) *pflag.Flag {
	f.Func("delimiter", "char", ",", "what stands between the fields of a row: a character such as ; or |, or tab", func(text string) error {
		if o.Delimiter = csvfile.ParseDelimiter(text); o.Delimiter == 0 {
			return Want(csvfile.WantDelimiter)
		}
		return nil
	})
	f.Complete("delimiter", "tab", ",", ";", "|", ":")
	return f.cmd.Flags().Lookup("delimiter")
}

// OneLine adds --one-line, that every line of the CSV files read is a row.
func (f *Flags) OneLine(o *csvfile.Options) *pflag.Flag {
	f.Bool(&o.OneLine, "one-line", "every line of the file is a row: fields have no line breaks, in quotes neither; then a quote that nobody closes, in a file that was not made by a CSV writer, is no matter of other rows")
	return f.cmd.Flags().Lookup("one-line")
}

// Rule says which numbers a flag takes.
type Rule struct {
	Want string
	OK   func(float64) bool // for finite numbers
}

// AtMost is the rule of a number above 0, or what else the word is, that is at most so large.
func AtMost(what string, most float64) Rule {
	return Rule{fmt.Sprintf("%s above 0, at most %v", what, most), func(v float64) bool { return v > 0 && v <= most }}
}

// Between is the rule of a number from one to another.
func Between(least, most float64) Rule {
	return Rule{fmt.Sprintf("a number from %g to %g", least, most), func(v float64) bool { return v >= least && v <= most }}
}

// Any is the rule of any finite number.
func Any(want string) Rule { return Rule{want, func(float64) bool { return true }} }

// Number adds a finite number, required unless the default is not 0. A bad one becomes NaN.
func (f *Flags) Number(p *float64, name string, r Rule, usage string) *Flag {
	text := ""
	if *p != 0 {
		text = fmt.Sprint(*p)
	}
	return f.number(p, name, text, r, usage, true)
}

// OptionalNumber adds a finite number that keeps its value if it is not given.
func (f *Flags) OptionalNumber(p *float64, name string, r Rule, usage string) *Flag {
	return f.number(p, name, "", r, usage, false)
}

func (f *Flags) number(p *float64, name, text string, r Rule, usage string, required bool) *Flag {
	return f.add(name, "", &Flag{Text: text, kind: "number"}, usage, func(t *Flag) error {
		if !t.Given && !required {
			return nil
		}
		v, err := ParseNumber(t.Text, r)
		*p = v
		return err
	})
}

// ParseNumber reads a number that keeps the rule, or returns NaN and a Want.
func ParseNumber(text string, r Rule) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !check.Finite(v) || !r.OK(v) {
		return math.NaN(), NumberWant(text, r.Want)
	}
	return v, nil
}

// grouped is a number with commas between its thousands.
var grouped = regexp.MustCompile(`^[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]+)?$`)

// NumberWant is the error of a text that is no number such as is wanted.
func NumberWant(text, want string) Want {
	if grouped.MatchString(text) {
		want += ", written without commas: " + strings.ReplaceAll(text, ",", "")
	}
	return Want(want)
}

// NumberOrAuto adds a number or the word auto; value is the default, "" for none.
func (f *Flags) NumberOrAuto(p *float64, auto *bool, name, kind, value string, r Rule, usage string) *Flag {
	t := f.Func(name, kind, value, usage, func(text string) (err error) {
		if *auto = text == "auto"; !*auto {
			*p, err = ParseNumber(text, r)
		}
		return err
	})
	f.Complete(name, "auto")
	return t
}

// ParsePair reads two numbers A,B, perhaps infinite or NaN.
func ParsePair(text string) (a, b float64, err error) {
	first, second, _ := strings.Cut(text, ",")
	a, errA := strconv.ParseFloat(strings.TrimSpace(first), 64)
	b, errB := strconv.ParseFloat(strings.TrimSpace(second), 64)
	return a, b, errors.Join(errA, errB)
}

// Numbers adds a list of numbers, separated by commas, which are sorted, each once.
func (f *Flags) Numbers(p *[]float64, name, value string, r Rule, usage string) {
	f.Func(name, "numbers", value, usage, func(text string) error {
		*p = nil
		var errs []error
		for s := range strings.SplitSeq(text, ",") {
			s = strings.TrimSpace(s)
			v, err := ParseNumber(s, r)
			if err != nil {
				errs = append(errs, About(name, s, err))
				continue
			}
			*p = append(*p, v)
		}
		slices.Sort(*p)
		*p = slices.Compact(*p)
		return errors.Join(errs...)
	})
}

// Integer adds an integer from lo to hi, required unless the default is not 0; the letter may be "".
func (f *Flags) Integer(p *int, name, letter string, lo, hi int, usage string) *Flag {
	t, read := &Flag{kind: "count"}, integer(p, lo, hi)
	if *p != 0 {
		t.Text = strconv.Itoa(*p)
	}
	return f.add(name, letter, t, usage, func(t *Flag) error { return read(t.Text) })
}

// OptionalInteger is Integer for one that keeps its value if it is not given.
func (f *Flags) OptionalInteger(p *int, name string, lo, hi int, usage string) {
	f.Func(name, "count", "", usage, integer(p, lo, hi))
}

func integer(p *int, lo, hi int) func(text string) error {
	want := fmt.Sprintf("an integer from %d to %d", lo, hi)
	if hi == math.MaxInt {
		want = fmt.Sprintf("an integer of at least %d", lo)
	}
	return func(text string) error {
		v, ok := ParseCount(text)
		if !ok || v < lo || v > hi {
			return NumberWant(text, want)
		}
		*p = v
		return nil
	}
}

// count is an integer as people write large ones: 1000000, 1_000_000, 1e6, 2.5e3.
var count = regexp.MustCompile(`^[+-]?[0-9]+(_[0-9]+)*(\.[0-9]+)?([eE]\+?[0-9]{1,2})?$`)

// ParseCount reads an integer, digits in groups or with an exponent included. Nothing
// is rounded: what is no integer, or does not fit, is not ok.
func ParseCount(text string) (n int, ok bool) {
	if !count.MatchString(text) {
		return 0, false
	}
	r, ok := new(big.Rat).SetString(strings.ReplaceAll(text, "_", ""))
	if !ok || !r.IsInt() || !r.Num().IsInt64() {
		return 0, false
	}
	n = int(r.Num().Int64())
	return n, int64(n) == r.Num().Int64() // an int may have 32 bits
}

// Duration adds a time above 0 with its unit; the value is the default.
func (f *Flags) Duration(p *time.Duration, name, usage string) {
	// In seconds, where a Duration writes 1m0s.
	f.Func(name, "duration", fmt.Sprintf("%gs", p.Seconds()), usage, func(text string) error {
		v, err := time.ParseDuration(text)
		if err != nil || v <= 0 {
			return Want("a time above 0 with its unit, such as 60s or 5m")
		}
		*p = v
		return nil
	})
}

// CheckLimit adds the time limit of a check.
func (f *Flags) CheckLimit(p *time.Duration) {
	*p = time.Minute
	f.Duration(p, "time-limit", "wall time after which the check is given up, with its unit: 500ms, 60s, 5m")
}

// Word adds one of a few words; the value is the default.
func (f *Flags) Word(p *string, name, kind, usage string, words ...string) *Flag {
	t := f.Func(name, kind, *p, usage, func(text string) error {
		if !slices.Contains(words, text) {
			return Want(strings.Join(words, " or "))
		}
		*p = text
		return nil
	})
	f.Complete(name, words...)
	return t
}

// Figure adds the name of a figure, whose ending says its format: "svg" or "png".
func (f *Flags) Figure(path, format *string, name, usage string) {
	f.File(path, name, usage, "svg", "png")
	f.FigureFormat(path, format, name)
}

// FigureFormat reads the format of a figure off the name that the flag gives it.
func (f *Flags) FigureFormat(path, format *string, name string) {
	f.Check(func() error {
		if *path == "" {
			return nil
		}
		*format = strings.ToLower(strings.TrimPrefix(filepath.Ext(*path), "."))
		if *format != "svg" && *format != "png" {
			return About(name, *path, Want(WantFigure))
		}
		return nil
	})
}

// WantFigure is what the name of a figure is.
const WantFigure = "a file name ending in .svg or .png"

// Texts adds a flag that may be repeated; read has all of its texts.
func (f *Flags) Texts(name, kind, usage string, read func(texts []string) error) {
	var values []string
	f.cmd.Flags().StringArrayVar(&values, name, nil, usage)
	flag := f.cmd.Flags().Lookup(name)
	flag.Value, flag.DefValue = texts{flag.Value.(sliceValue), kind}, "" // and not []
	f.Check(func() error { return read(values) })
}

// TextList is Texts for texts that are taken as they are.
func (f *Flags) TextList(p *[]string, name, kind, usage string) {
	f.Texts(name, kind, usage, func(texts []string) error {
		*p = texts
		return nil
	})
}

// texts are a repeatable text. As a pflag.SliceValue completion knows that it may be repeated.
type texts struct {
	sliceValue
	kind string
}

type sliceValue interface {
	pflag.Value
	pflag.SliceValue
}

func (t texts) String() string { return strings.Join(t.GetSlice(), " ") }
func (t texts) Type() string   { return t.kind }
