package check

import (
	"slices"
	"strings"
)

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

// If adds a FieldError if the rule, which may be one to format, is broken: a column of them is
// a table of rules.
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
