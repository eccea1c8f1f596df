package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/noisewright/noisewright/internal/check"
)

// The exit codes.
const (
	exitDone        = 0
	exitFailure     = 1
	exitBadInput    = 2
	exitNegative    = 3
	exitLimit       = 4
	exitInterrupted = 130
)

// failure is an error with the exit code it leads to and the command to try
// next.
type failure struct {
	code int
	err  error
	hint string
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// badInput is about a flag, an argument or an input file.
func badInput(hint string, err error) error {
	return &failure{code: exitBadInput, err: err, hint: hint}
}

// negative is about a table that does not keep what it claims.
func negative(hint string, err error) error {
	return &failure{code: exitNegative, err: err, hint: hint}
}

func interrupted() error {
	return &failure{code: exitInterrupted, err: errors.New("interrupted")}
}

// usageError is about the command line as cobra and pflag see it.
func usageError(err error, cmd *cobra.Command) error {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	// cobra's suggestions follow on lines of their own.
	first, rest, _ := strings.Cut(err.Error(), "\n")
	hint := cmd.CommandPath() + " --help"
	if _, name, ok := strings.Cut(rest, "Did you mean this?"); ok {
		if name = strings.Join(strings.Fields(name), " or "); name != "" {
			hint = "did you mean " + name + "?"
		}
	}
	return badInput(hint, errors.New(first))
}

// standardOutput marks the errors of standard output.
type standardOutput struct{ io.Writer }

// Write implements io.Writer.
func (s standardOutput) Write(p []byte) (int, error) {
	n, err := s.Writer.Write(p)
	if err != nil {
		err = &outputError{err}
	}
	return n, err
}

type outputError struct{ err error }

func (e *outputError) Error() string {
	var path *fs.PathError
	if errors.As(e.err, &path) {
		return "standard output: " + path.Err.Error()
	}
	return "standard output: " + e.err.Error()
}
func (e *outputError) Unwrap() error { return e.err }

// report prints what went wrong and returns the exit code.
func (a *app) report(err error) int {
	if err == nil {
		return exitDone
	}
	code, hint := exitFailure, ""
	var f *failure
	if errors.As(err, &f) {
		code, hint = f.code, f.hint
	}
	var out *outputError
	if errors.As(err, &out) && errors.Is(out, syscall.EPIPE) && f == nil {
		return exitDone // the reader, such as head, has all it wanted
	}
	if errors.Is(err, context.Canceled) {
		code = exitInterrupted
	}
	label := "error"
	if code == exitLimit {
		label = "warning"
	}
	for _, s := range check.Sentences(err) {
		a.say(label, s)
	}
	if hint != "" {
		a.say("hint", hint)
	}
	return code
}

// say prints a labelled line to standard error. All errors, hints and warnings
// pass here: they may hold text of files and names of files, which must not
// reach a terminal as commands.
func (a *app) say(label, s string) {
	fmt.Fprintf(a.stderr, "%s: %s\n", label, printable(s))
}

// printable writes what is not printable, line ends included, as a Go string
// does: \x1b, \n, \u202e.
func printable(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if strconv.IsPrint(r) && (r != utf8.RuneError || size > 1) {
			b.WriteString(s[:size])
		} else {
			quoted := strconv.Quote(s[:size])
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		s = s[size:]
	}
	return b.String()
}

// sentence is what an error says to a reader of the program, on one line.
func sentence(err error) string { return strings.Join(check.Sentences(err), "; ") }
