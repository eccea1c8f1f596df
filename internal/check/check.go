// SPDX-License-Identifier: Apache-2.0

// Package check makes the errors of this module. An error carries the package it
// comes from, what kind it is of (a sentinel for errors.Is), and for bad input the
// field, its value and the rule it breaks (a [FieldError] for errors.As). The
// library prints the package in front, the program prints the [Sentences] alone.
package check

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ErrInvalid marks an input outside its stated range, everywhere; dp.ErrInvalid is its public name.
var ErrInvalid = errors.New("invalid input")

// ErrEntropy is sampler.ErrEntropy, for what sampler does not know of.
var ErrEntropy = errors.New("no entropy")

// FieldError says that the value of a field breaks a rule. It wraps ErrInvalid.
type FieldError struct {
	Package string // that found it
	Field   string // as written in flags and files
	Value   any
	Rule    string // completes "want …"
}

// Field returns a FieldError.
func Field(pkg, field string, value any, rule string) error {
	return &FieldError{pkg, field, value, rule}
}

// Error implements error: "package: field = value, want rule".
func (e *FieldError) Error() string { return e.Package + ": " + e.sentence() }

// Unwrap returns ErrInvalid.
func (e *FieldError) Unwrap() error { return ErrInvalid }

func (e *FieldError) sentence() string {
	return fmt.Sprintf("%s = %v, want %s", e.Field, e.Value, e.Rule)
}

// failure is any other error of a package.
type failure struct {
	pkg  string // may be "", for a cause of another error of the package
	kind error  // not printed; may be nil
	err  error  // the sentence, with its causes
}

// Errorf returns an error of the package that is of the given kind for errors.Is
// and reads as fmt.Errorf writes it, causes included. The kind is not printed; nil
// is none. The package "" is for the causes of an error that names it.
func Errorf(pkg string, kind error, format string, args ...any) error {
	return &failure{pkg, kind, fmt.Errorf(format, args...)}
}

func (e *failure) Error() string {
	if e.pkg == "" {
		return e.err.Error()
	}
	return e.pkg + ": " + e.err.Error()
}

func (e *failure) Unwrap() []error {
	if e.kind == nil {
		return []error{e.err}
	}
	return []error{e.kind, e.err}
}

// Sentences returns what an error says to a reader of the program: one sentence
// for each of the errors joined in it, without the names of packages.
func Sentences(err error) []string {
	return strings.FieldsFunc(sentence(err), func(r rune) bool { return r == '\n' })
}

func sentence(err error) string {
	switch e := err.(type) { //nolint:errorlint // the outermost error is what is printed
	case *FieldError:
		return e.sentence()
	case *failure:
		return sentence(e.err)
	case interface{ Unwrap() error }:
		return replaced(err, e.Unwrap())
	case interface{ Unwrap() []error }:
		return replaced(err, e.Unwrap()...)
	}
	return err.Error()
}

// replaced is the text of an error with the sentences of its causes in place of their texts.
func replaced(err error, causes ...error) string {
	rest, text := err.Error(), ""
	for _, cause := range causes {
		if cause == nil {
			continue
		}
		before, after, ok := strings.Cut(rest, cause.Error())
		if !ok {
			continue
		}
		text += before + sentence(cause)
		rest = after
	}
	return text + rest
}

// List collects the bad fields of one package.
type List struct {
	pkg  string
	errs []error
}

// In returns an empty List of the package.
func In(pkg string) *List { return &List{pkg: pkg} }

// Bad adds a FieldError.
func (l *List) Bad(field string, value any, rule string) {
	l.errs = append(l.errs, Field(l.pkg, field, value, rule))
}

// Badf is Bad with a rule to format.
func (l *List) Badf(field string, value any, rule string, args ...any) {
	l.Bad(field, value, fmt.Sprintf(rule, args...))
}

// Want adds a FieldError unless the rule, which may be one to format, holds for the field.
func (l *List) Want(holds bool, field string, value any, rule string, args ...any) {
	if !holds {
		l.Badf(field, value, rule, args...)
	}
}

// Add adds an error; nil is none.
func (l *List) Add(err error) {
	if err != nil {
		l.errs = append(l.errs, err)
	}
}

// None reports whether nothing was added.
func (l *List) None() bool { return len(l.errs) == 0 }

// Err joins all that was added, and is nil if nothing was.
func (l *List) Err() error { return errors.Join(l.errs...) }

// Positive reports whether a number is finite and above 0.
func Positive(x float64) bool { return x > 0 && x <= math.MaxFloat64 }

// Finite reports whether no number is NaN or infinite.
func Finite(x ...float64) bool {
	return !slices.ContainsFunc(x, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

// Delta returns the FieldError of a δ that breaks the rule for it, nil if it does not.
func Delta(pkg, field string, delta float64) error {
	if delta >= 0 && delta < 1 {
		return nil
	}
	return Field(pkg, field, delta, "a probability, at least 0 and below 1")
}

// Delta adds the FieldError of a δ that breaks the rule for it.
func (l *List) Delta(field string, delta float64) { l.Add(Delta(l.pkg, field, delta)) }

// MaxEpsilon bounds the epsilon of a promise; beyond it e^epsilon exceeds any use.
const MaxEpsilon = 100

// MaxEpsilon adds the FieldError of an epsilon beyond MaxEpsilon. That it is a number >= 0
// is for dp.Privacy.Validate.
func (l *List) MaxEpsilon(epsilon float64) {
	if epsilon > MaxEpsilon && Finite(epsilon) {
		l.Badf("epsilon", epsilon, "a number from 0 to %d", MaxEpsilon)
	}
}

// Budget adds the FieldErrors of an epsilon and a delta that something may cost.
func (l *List) Budget(epsilon, delta float64) {
	l.Want(Positive(epsilon), "epsilon", epsilon, "a finite number above 0")
	l.Delta("delta", delta)
}

// OneOf adds the FieldError of a word that is none of the listed ones.
func (l *List) OneOf(field, word string, words ...string) {
	if last := len(words) - 1; !slices.Contains(words, word) {
		l.Bad(field, Quoted(Shortened(word)), strings.Join(words[:last], ", ")+" or "+words[last])
	}
}

// If adds a FieldError if the rule, perhaps one to format, is broken: many are a table.
func (l *List) If(broken bool, field string, value any, rule string, args ...any) {
	if broken {
		l.Badf(field, value, rule, args...)
	}
}

// AddOf adds the FieldErrors joined in an error, each of the field with the text behind its
// name, and any other error as it is.
func (l *List) AddOf(err error, of string) {
	joined, ok := err.(interface{ Unwrap() []error }) //nolint:errorlint // what List.Err returns
	if !ok {
		l.Add(err)
		return
	}
	for _, e := range joined.Unwrap() {
		if f, ok := e.(*FieldError); ok { //nolint:errorlint // what List.Bad adds
			l.Bad(f.Field+of, f.Value, f.Rule)
		} else {
			l.Add(e)
		}
	}
}

// Quoted quotes a value of a message where it needs it.
func Quoted(s string) string {
	if quoted := strconv.Quote(s); strings.ContainsRune(s, ' ') || quoted != `"`+s+`"` {
		return quoted
	}
	return s
}

// maxShown is how many bytes of a text a message repeats, which may be anything.
const maxShown = 40

// Shortened returns the start of a long text, of whole runes.
func Shortened(s string) string {
	if len(s) <= maxShown {
		return s
	}
	end := maxShown
	for end > maxShown-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
