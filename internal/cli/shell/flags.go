package shell

import (
	"cmp"
	"context"
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

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/csvfile"
)

// Flags binds the flags and the argument of a command to the values they stand for.
// They are read when the command runs, so that all that is wrong with them is reported
// together: pflag stops at the first. What a value is before it is bound is the
// default.
type Flags struct {
	cmd       *cobra.Command
	steps     []func() error // read a flag, or check several
	given     []string       // the arguments
	arguments []string       // of them, those not read yet
	hint      string         // in place of the help
}

// NewFlags returns no flags yet. The command takes no arguments, until there are some
// to read.
func NewFlags(cmd *cobra.Command) *Flags {
	cmd.Args = cobra.ArbitraryArgs // checked by Run, with the flags
	return &Flags{cmd: cmd}
}

// Run gives the command its work, which is done once all flags are read and good, and
// returns it.
func (f *Flags) Run(run func(context.Context) error) *cobra.Command {
	f.completeNothing()
	f.cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f.given, f.arguments = args, args
		var errs []error
		for _, step := range f.steps {
			errs = append(errs, step())
		}
		if len(f.arguments) > 0 {
			errs = append(errs, fmt.Errorf("unexpected argument %q", f.arguments[0]))
		}
		if err := errors.Join(errs...); err != nil {
			return BadInput(cmp.Or(f.hint, cmd.CommandPath()+" --help"), err)
		}
		return run(cmd.Context())
	}
	return f.cmd
}

// Flag is a flag kept as written.
type Flag struct {
	Text  string
	Given bool
	kind  string // as shown in the help
}

// Set implements pflag.Value.
func (f *Flag) Set(s string) error {
	f.Text, f.Given = s, true
	return nil
}

// String implements pflag.Value.
func (f *Flag) String() string { return f.Text }

// Type implements pflag.Value.
func (f *Flag) Type() string { return f.kind }

// Want is the error of a flag that breaks the rule it states: "a number above 0".
type Want string

func (w Want) Error() string { return "want " + string(w) }

// Func adds a flag that read reads, if it is given or has a default. Where that
// returns a Want the message is about the flag and its text; other errors say
// themselves what they are about.
func (f *Flags) Func(name, kind, value, usage string, read func(text string) error) *Flag {
	return f.add(name, "", &Flag{Text: value, kind: kind}, usage, func(t *Flag) error {
		if !t.Given && t.Text == "" {
			return nil
		}
		return read(t.Text)
	})
}

// RequiredFunc is Func for a flag that has to be given.
func (f *Flags) RequiredFunc(name, kind, usage string, read func(text string) error) *Flag {
	return f.add(name, "", &Flag{kind: kind}, usage, func(t *Flag) error { return read(t.Text) })
}

// add adds a flag with its letter, "" for none.
func (f *Flags) add(name, letter string, t *Flag, usage string, read func(t *Flag) error) *Flag {
	f.cmd.Flags().VarP(t, name, letter, usage)
	f.Check(func() error { return About(name, t.Text, read(t)) })
	return t
}

// About completes a Want of the named flag; other errors are complete.
func About(name, text string, err error) error {
	w, ok := err.(Want) //nolint:errorlint // one that is wrapped is complete
	switch {
	case !ok:
		return err
	case text == "":
		return fmt.Errorf("%s is missing, %w", name, w)
	}
	return fmt.Errorf("%s = %s, %w", name, check.Quoted(text), w)
}

// Check adds a test of several flags. It is made after those added before it are read.
func (f *Flags) Check(test func() error) { f.steps = append(f.steps, test) }

// Unless adds flags that are not read, and may not be given, once the named flag is.
func (f *Flags) Unless(name string, add func()) {
	f.when(name, false, "%s and %s are given, want only one of them", add)
}

// With adds flags that are read, and may be given, only if the named flag is.
func (f *Flags) With(name string, add func()) {
	f.when(name, true, "%[2]s is given without %[1]s, want both", add)
}

// when adds flags that are read if the named flag is given or if it is not; refusal is
// the error of both names otherwise.
func (f *Flags) when(name string, given bool, refusal string, add func()) {
	before, others := len(f.steps), map[string]bool{}
	f.cmd.Flags().VisitAll(func(p *pflag.Flag) { others[p.Name] = true })
	add()
	var added []string
	f.cmd.Flags().VisitAll(func(p *pflag.Flag) {
		if !others[p.Name] {
			added = append(added, p.Name)
		}
	})
	steps := slices.Clone(f.steps[before:])
	f.steps = f.steps[:before]
	f.Check(func() error {
		var errs []error
		if f.cmd.Flags().Changed(name) == given {
			for _, step := range steps {
				errs = append(errs, step())
			}
			return errors.Join(errs...)
		}
		for _, other := range added {
			if f.cmd.Flags().Changed(other) {
				errs = append(errs, fmt.Errorf(refusal, name, other))
			}
		}
		return errors.Join(errs...)
	})
}

// Argument makes the command take one argument, a file with one of the extensions, or a
// directory if there is none.
func (f *Flags) Argument(p *string, what string, extensions ...string) {
	f.ArgumentFunc(what, func(text string) error {
		*p = text
		return nil
	})
	f.completeFiles(1, extensions)
}

// TableArgument is Argument for a table, which --table names too, as where the argument is
// something else. The help does not show that.
func (f *Flags) TableArgument(p *string) {
	table := ""
	f.File(&table, "table", "", "json")
	_ = f.cmd.Flags().MarkHidden("table")
	f.ArgumentFrom(&table)
	f.Check(func() error {
		if table != "" {
			return fmt.Errorf("table = %s and TABLE = %s, want only one of them", check.Quoted(table), check.Quoted(f.arguments[0]))
		}
		return nil
	})
	f.Argument(p, "TABLE", "json")
}

// ArgumentFrom takes the value of a flag for the argument, if there is none.
func (f *Flags) ArgumentFrom(flag *string) {
	f.Check(func() error {
		if len(f.arguments) == 0 && *flag != "" {
			f.arguments, *flag = []string{*flag}, ""
		}
		return nil
	})
}

// Arguments makes the command take one file or more; missing is the error of none.
func (f *Flags) Arguments(p *[]string, missing string, extensions ...string) {
	f.Check(func() error {
		*p, f.arguments = f.arguments, nil
		if len(*p) == 0 {
			return errors.New(missing)
		}
		return nil
	})
	f.completeFiles(math.MaxInt, extensions)
}

// completeFiles completes up to n arguments by files with the extensions, or by
// directories if there is none.
func (f *Flags) completeFiles(n int, extensions []string) {
	f.cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) >= n {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		if len(extensions) == 0 {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
		return extensions, cobra.ShellCompDirectiveFilterFileExt
	}
}

// ArgumentFunc makes the command take one argument that read reads.
func (f *Flags) ArgumentFunc(what string, read func(text string) error) {
	f.Check(func() error {
		args := f.arguments
		f.arguments = nil
		switch len(args) {
		case 0:
			return fmt.Errorf("%s is missing", what)
		case 1:
			return read(args[0])
		}
		return fmt.Errorf("%d arguments, want only %s: %q is one too many", len(args), what, args[1])
	})
}

// ArgumentsComplete completes the arguments by what complete says of the text so far,
// and by files where that is nothing. The text of a completion may go on.
func (f *Flags) ArgumentsComplete(complete func(text string) []string) {
	files := f.cmd.ValidArgsFunction
	f.cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if found := complete(text); len(found) > 0 {
			return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		}
		return files(cmd, args, text)
	}
}

// Complete completes the named flag by words.
func (f *Flags) Complete(name string, words ...string) {
	f.complete(name, cobra.ShellCompDirectiveNoFileComp, words)
}

// CompleteOrFile is Complete for a flag that takes the name of a file as well, or a
// word that goes on.
func (f *Flags) CompleteOrFile(name string, words ...string) {
	f.complete(name, cobra.ShellCompDirectiveNoSpace, words)
}

func (f *Flags) complete(name string, directive cobra.ShellCompDirective, words []string) {
	_ = f.cmd.RegisterFlagCompletionFunc(name, func(_ *cobra.Command, _ []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !strings.HasPrefix(w, text) }), directive
	})
}

// completeNothing keeps shells from offering files where none is wanted.
func (f *Flags) completeNothing() {
	if f.cmd.ValidArgsFunction == nil {
		f.cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	f.cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if len(flag.Annotations) == 0 { // those of files and directories
			_ = f.cmd.RegisterFlagCompletionFunc(flag.Name, cobra.NoFileCompletions) // unless it has one
		}
	})
}

// Negatives makes the errors of a command with a number for an argument say how to give
// a negative one.
func Negatives(cmd *cobra.Command, what, example string) {
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		if strings.HasPrefix(err.Error(), "unknown shorthand flag") { // a digit
			err = BadInput(fmt.Sprintf("put -- before a negative %s: %s", what, example), err)
		}
		return err
	})
}

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
func (f *Flags) Text(p *string, name, kind, usage string) {
	f.cmd.Flags().Var(&text{p, kind}, name, usage)
}

// text is a text of a kind.
type text struct {
	value *string
	kind  string
}

// Set implements pflag.Value.
func (t *text) Set(s string) error {
	*t.value = s
	return nil
}

// String implements pflag.Value.
func (t *text) String() string {
	if t.value == nil { // pflag compares with a zero value
		return ""
	}
	return *t.value
}

// Type implements pflag.Value.
func (t *text) Type() string { return t.kind }

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

// Require wants a text to be given; want says what it is.
func (f *Flags) Require(p *string, name, want string) {
	f.Check(func() error {
		if *p == "" {
			return About(name, "", Want(want))
		}
		return nil
	})
}

// Misplaced gives a hint where the named flag is missing and an argument is what it
// takes, as is says.
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

// plainWord is what shells take as it is.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:=,+@%-]+$`)

// shellQuoted writes a word for a shell.
func shellQuoted(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Source is OptionalSource for what has to be given.
func (f *Flags) Source(table *string) {
	f.OptionalSource(table)
	f.Require(table, "table", "a table file")
}

// OptionalSource adds --table, a table or a kernel file to draw from, which --kernel
// names too.
func (f *Flags) OptionalSource(table *string) {
	kernel := ""
	f.File(table, "table", "table or kernel file to draw from, - for standard input", "json")
	f.Misplaced("table", IsTableFile)
	f.File(&kernel, "kernel", "", "json")
	_ = f.cmd.Flags().MarkHidden("kernel")
	f.Check(func() error {
		if *table != "" && kernel != "" {
			return fmt.Errorf("table = %s and kernel = %s, want only one of them", check.Quoted(*table), check.Quoted(kernel))
		}
		*table += kernel
		return nil
	})
}

// Delimiter adds --delimiter, what stands between the fields of the CSV files read.
func (f *Flags) Delimiter(o *csvfile.Options) {
	f.Func("delimiter", "char", ",", "what stands between the fields of a row: a character such as ; or |, or tab", func(text string) error {
		if o.Delimiter = csvfile.ParseDelimiter(text); o.Delimiter == 0 {
			return Want("tab, or a character such as , ; | or :, but no letter, digit, quote, sign, point or blank")
		}
		return nil
	})
	f.Complete("delimiter", "tab", ",", ";", "|", ":")
}

// Rule says which numbers a flag takes.
type Rule struct {
	Want string
	OK   func(float64) bool // for finite numbers
}

// Number adds a finite number that has to be given, unless the default is not 0. A bad
// one becomes NaN.
func (f *Flags) Number(p *float64, name string, r Rule, usage string) *Flag {
	text := ""
	if *p != 0 {
		text = fmt.Sprint(*p)
	}
	return f.number(p, name, text, r, usage, true)
}

// OptionalNumber adds a finite number that keeps its value, the default, if it is not
// given.
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
		return math.NaN(), Want(r.Want)
	}
	return v, nil
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

// Integer adds an integer from lo to hi that has to be given, unless the default is
// not 0. The letter may be "".
func (f *Flags) Integer(p *int, name, letter string, lo, hi int, usage string) *Flag {
	want := fmt.Sprintf("an integer from %d to %d", lo, hi)
	if hi == math.MaxInt {
		want = fmt.Sprintf("an integer of at least %d", lo)
	}
	t := &Flag{kind: "count"}
	if *p != 0 {
		t.Text = strconv.Itoa(*p)
	}
	return f.add(name, letter, t, usage, func(t *Flag) error {
		v, ok := ParseCount(t.Text)
		if !ok || v < lo || v > hi {
			return Want(want)
		}
		*p = v
		return nil
	})
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
	t := &texts{kind: kind}
	f.cmd.Flags().Var(t, name, usage)
	f.Check(func() error { return read(t.values) })
}

// texts is a repeatable text.
type texts struct {
	values []string
	kind   string
}

// Set implements pflag.Value.
func (t *texts) Set(s string) error {
	t.values = append(t.values, s)
	return nil
}

// String implements pflag.Value.
func (t *texts) String() string { return strings.Join(t.values, " ") }

// Type implements pflag.Value.
func (t *texts) Type() string { return t.kind }

// Append implements pflag.SliceValue, by which completion knows that the flag may be
// repeated.
func (t *texts) Append(s string) error { return t.Set(s) }

// Replace implements pflag.SliceValue.
func (t *texts) Replace(s []string) error {
	t.values = slices.Clone(s)
	return nil
}

// GetSlice implements pflag.SliceValue.
func (t *texts) GetSlice() []string { return slices.Clone(t.values) }
