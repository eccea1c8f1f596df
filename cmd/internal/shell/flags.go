// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noisewright/noisewright/internal/check"
)

// Flags binds the flags and the argument of a command to the values they stand for. They are read
// when the command runs, so that all that is wrong with them is reported together: pflag stops at
// the first. What a value is before it is bound is the default.
type Flags struct {
	cmd       *cobra.Command
	steps     []func() error // read a flag, or check several
	given     []string       // the arguments
	arguments []string       // of them, those not read yet
	hint      string         // in place of the help
	tables    int            // of the arguments, 0 or 1
	local     bool           // of a command for local randomizers only
}

// NewFlags returns no flags yet, of a command without arguments yet.
func NewFlags(cmd *cobra.Command) *Flags {
	cmd.Args = cobra.ArbitraryArgs // checked by Run, with the flags
	return &Flags{cmd: cmd}
}

// Run gives the command its work, which is done once all flags are read and good.
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
	Again bool   // given more than once, of which the last counts
	kind  string // as shown in the help
}

// Set implements pflag.Value.
func (f *Flag) Set(s string) error {
	f.Text, f.Given, f.Again = s, true, f.Given
	return nil
}

// String implements pflag.Value.
func (f *Flag) String() string { return f.Text }

// Type implements pflag.Value.
func (f *Flag) Type() string { return f.kind }

// Want is the error of a flag that breaks the rule it states: "a number above 0".
type Want string

func (w Want) Error() string { return "want " + string(w) }

// Func adds a flag that read reads, if it is given or has a default. Where that returns a Want the
// message is about the flag and its text; other errors say themselves what they are about.
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

// when adds flags that are read if the named one is given, or is not; else refusal has both names.
func (f *Flags) when(name string, given bool, refusal string, add func()) {
	before := len(f.steps)
	added := f.added(add)
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

// added returns the names of the flags that a function adds.
func (f *Flags) added(add func()) (names []string) {
	others := map[string]bool{}
	f.cmd.Flags().VisitAll(func(p *pflag.Flag) { others[p.Name] = true })
	add()
	f.cmd.Flags().VisitAll(func(p *pflag.Flag) {
		if !others[p.Name] {
			names = append(names, p.Name)
		}
	})
	return names
}

// Argument adds one argument: a file with one of the extensions, a directory if there is none.
func (f *Flags) Argument(p *string, what string, extensions ...string) {
	f.ArgumentText(p, what)
	f.completeFiles(1, extensions)
}

// ArgumentText adds one argument that is taken as it is.
func (f *Flags) ArgumentText(p *string, what string) {
	f.ArgumentFunc(what, func(text string) error {
		*p = text
		return nil
	})
}

// TableArgument adds the file of a table, kernel or randomizer as an argument, with so many others
// before and after it, or none; what is its word in the help. The flags --table and --kernel, which
// the help does not show, name it too. Where an argument is missing or they are in another order,
// one that is the file of a table is taken for the table.
func (f *Flags) TableArgument(p *string, what string, before, after int) {
	kernel := ""
	for name, to := range map[string]*string{"table": p, "kernel": &kernel} {
		f.File(to, name, "", "json")
		_ = f.cmd.Flags().MarkHidden(name)
	}
	f.tables = 1
	f.completeFiles(before+after, nil)
	f.Check(func() error {
		if *p != "" && kernel != "" && *p != kernel {
			return fmt.Errorf("table = %s and kernel = %s, want only one of them", check.Quoted(*p), check.Quoted(kernel))
		}
		named, n := cmp.Or(*p, kernel), len(f.arguments)
		table := named
		if n > before {
			at := before
			if i := slices.IndexFunc(f.arguments, IsTableFile); i >= 0 && !IsTableFile(f.arguments[at]) {
				at = i
			}
			given := f.arguments[at]
			extra, is := n > before+after, IsTableFile(given)
			if extra && (named == "" || is || given == named) || is && named == "" {
				table = given
				f.arguments = slices.Delete(slices.Clone(f.arguments), at, at+1)
			}
		}
		switch {
		case table == "":
			return nil
		case named != "" && table != named:
			return fmt.Errorf("table = %s and %s = %s, want only one of them", check.Quoted(named), what, check.Quoted(table))
		}
		return f.cmd.Flags().Set("table", table) // as if it had been given, for what goes with it or without
	})
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

// completeFiles completes up to n arguments by such files, or by directories, and one more if there
// is a table among them.
func (f *Flags) completeFiles(n int, extensions []string) {
	if f.tables > 0 {
		n, extensions = n+f.tables, append([]string{"json"}, extensions...)
	}
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

// CompleteOrFile is Complete for a flag that takes files as well, or a word that goes on.
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

// Negatives makes errors say how to give a negative number as an argument.
func Negatives(cmd *cobra.Command, what, example string) {
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		if strings.HasPrefix(err.Error(), "unknown shorthand flag") { // a digit
			err = BadInput(fmt.Sprintf("put -- before a negative %s: %s", what, example), err)
		}
		return err
	})
}

// Group completes a command that has others below it and does nothing itself. Its errors
// list them; what is the word for one.
func Group(cmd *cobra.Command, what string, below ...*cobra.Command) *cobra.Command {
	names := make([]string, len(below))
	for i, c := range below {
		names[i] = c.Name()
	}
	want := Want(oneOf(names...))
	cmd.AddCommand(below...)
	// What the flags are depends on the word, so a wrong one is what there is to say.
	cmd.FParseErrWhitelist.UnknownFlags = true
	cmd.SuggestionsMinimumDistance = 2
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		hint := cmd.CommandPath() + " --help"
		if like := cmd.SuggestionsFor(args[0]); len(like) > 0 {
			hint = "did you mean " + strings.Join(like, " or ") + "?"
		}
		return BadInput(hint, fmt.Errorf("%s = %s, %w", what, check.Quoted(args[0]), want))
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return BadInput(cmd.CommandPath()+" --help", About(what, "", want))
	}
	return cmd
}
