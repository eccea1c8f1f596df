// SPDX-License-Identifier: Apache-2.0

package loss

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/noisewright/noisewright/internal/check"
)

// Kind describes one kind of loss that a flag or a file can name.
type Kind struct {
	// Name is the kind, the part of a loss's name before the first colon.
	Name string
	// Syntax is the whole name, with capitals for what is to be filled in.
	Syntax string
	// Meaning is one line: c(x).
	Meaning string
	// Unit is what an expected loss is, with its unit.
	Unit string

	// fields are the parameters after the kind, in order; each is > 0 unless holds checks the rule.
	fields []string
	rule   string
	holds  func(v float64) bool
	// build makes the loss with its name from the parameters. A kind whose only
	// parameter is no number has parse instead.
	build func(name string, v []float64) Loss
	parse func(text string) (Loss, error)
}

// Kinds describes every kind of loss in display order. A weight W > 0 may follow any
// of them after one more colon, as in l1:0.7, and losses joined by " + " are added.
func Kinds() []Kind { return slices.Clone(kinds) }

// names lists the kinds, sorted.
func names() []string {
	list := make([]string, len(kinds))
	for i, k := range kinds {
		list[i] = k.Name
	}
	slices.Sort(list)
	return list
}

// New returns the loss of a kind, such as New("l1"), New("pinball", 0.9) or
// New("asymmetric", 1, 2), whose parameters are those of [Kinds], meant exactly; pwl
// has none that are numbers, see [ReadPWL]. Errors wrap dp.ErrInvalid.
func New(kind string, parameters ...float64) (Loss, error) {
	i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == kind && k.build != nil })
	if i < 0 || len(parameters) != len(kinds[i].fields) {
		return nil, badField("loss", "kind", fmt.Sprintf("%q with %d numbers", kind, len(parameters)), "one of Kinds with its parameters")
	}
	return kinds[i].make(parameters)
}

// make returns the loss with as many parameters as there are fields.
func (k Kind) make(parameters []float64) (Loss, error) {
	var texts []string
	for i, v := range parameters {
		err := checkPositive(k.Name, k.fields[i], v)
		if k.holds != nil {
			if err = nil; !k.holds(v) {
				err = badField(k.Name, k.fields[i], formatNumber(v), k.rule)
			}
		}
		if err != nil {
			return nil, err
		}
		texts = append(texts, formatNumber(v))
	}
	return k.build(k.Name+":"+strings.Join(texts, ","), parameters), nil
}

// Unit says what an expected loss is and in which unit, e.g. "mean absolute
// error in query units". It knows the loss by its name.
func (v View) Unit() string {
	name := v.loss.Name()
	terms := strings.Split(name, termSeparator)
	if len(terms) > 1 {
		return fmt.Sprintf("sum of %d mean losses, in the unit that the weights give", len(terms))
	}
	k, values, weight, err := cutTerm(name)
	if err != nil {
		return "mean loss in the units of " + name
	}
	unit := k.Unit
	for i, f := range k.fields {
		unit = strings.ReplaceAll(unit, f, values[i])
	}
	if weight != "" {
		return weight + " times the " + unit
	}
	return unit
}

const (
	// termSeparator stands between the terms of a sum.
	termSeparator = " + "
	// maxTerms bounds the terms of a sum, maxKnots the knots of a loss: enough, and no burden.
	maxTerms = 32
	maxKnots = 10000
	// minNumber and maxNumber bound the size of a parameter: squares and
	// products of a few of them are still far inside float64.
	minNumber = 1e-60
	maxNumber = 1e60
)

// Parse returns the loss with the given name: a kind with its parameters, as [Kinds]
// lists them, possibly with a weight, or several joined by " + ". Numbers are plain
// decimals, an exponent allowed, and stand for the float64 nearest to them.
// Parse(l.Name()) gives a loss back that equals l. Errors wrap dp.ErrInvalid.
func Parse(name string) (Loss, error) {
	// A name comes from a file: no part of it is split further than it may go.
	if n := strings.Count(name, termSeparator) + 1; n > maxTerms {
		return nil, check.Errorf("loss", check.ErrInvalid, "loss = a sum of %d terms, want at most %d", n, maxTerms)
	}
	parts := strings.Split(name, termSeparator)
	terms := make([]Term, 0, len(parts))
	var errs []error
	for _, part := range parts {
		t, err := parseTerm(part)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		terms = append(terms, t)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return Sum(terms...)
}

func parseTerm(s string) (Term, error) {
	k, values, weight, err := cutTerm(s)
	if err != nil {
		return Term{}, err
	}
	t := Term{Weight: 1}
	if k.parse != nil {
		t.Loss, err = k.parse(values[0])
	} else {
		v := make([]float64, len(values))
		for i, text := range values {
			if v[i], err = number(k.Name, k.fields[i], text); err != nil {
				return Term{}, err
			}
		}
		t.Loss, err = k.make(v)
	}
	if err != nil {
		return Term{}, err
	}
	if weight != "" {
		t.Weight, err = number(k.Name, "weight", weight)
		if err == nil {
			err = checkPositive(k.Name, "weight", t.Weight)
		}
	}
	return t, err
}

// cutTerm splits "kind:value:…:weight"; weight is empty if there is none.
func cutTerm(s string) (k Kind, values []string, weight string, err error) {
	name, rest, _ := strings.Cut(s, ":")
	for _, k := range kinds {
		if k.Name != name {
			continue
		}
		// Several parameters are one part, separated by commas.
		n := len(k.fields)
		if len(s) > len(name) {
			values = strings.SplitN(rest, ":", n+2)
		}
		if n > 1 && len(values) > 0 {
			if first := strings.SplitN(values[0], ",", n+1); len(first) == n {
				values = append(first, values[1:]...)
			}
		}
		if len(values) == n+1 && values[n] != "" {
			weight = values[n]
		} else if len(values) != n {
			return Kind{}, nil, "", check.Errorf("loss", check.ErrInvalid, "loss = %q, want %s, or with a weight %s:W", abbreviated(s), k.Syntax, k.Syntax)
		}
		return k, values[:n], weight, nil
	}
	return Kind{}, nil, "", check.Errorf("loss", check.ErrInvalid, "loss = %q, want one of %s", abbreviated(s), strings.Join(names(), ", "))
}

func abbreviated(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}

// number reads a parameter: 0 or a decimal number of moderate size.
func number(kind, field, s string) (float64, error) {
	v, err := decimalFloat(s)
	if err != nil {
		return 0, badField(kind, field, fmt.Sprintf("%q", abbreviated(s)), "a decimal number such as 0.5 or 2e-3")
	}
	if a := math.Abs(v); v != 0 && !(a >= minNumber && a <= maxNumber) {
		return 0, badField(kind, field, formatNumber(v), "0 or a number of size "+formatNumber(minNumber)+" to "+formatNumber(maxNumber))
	}
	return v, nil
}

func checkPositive(kind, field string, v float64) error {
	if !(v >= minNumber && v <= maxNumber) {
		return badField(kind, field, formatNumber(v), "a number from "+formatNumber(minNumber)+" to "+formatNumber(maxNumber))
	}
	return nil
}

func badField(kind, field, value, rule string) error {
	return check.Errorf("loss", check.ErrInvalid, "%s: %s = %s, want %s", kind, field, value, rule)
}

// decimalFloat is strconv.ParseFloat for decimal digits alone: no plus sign, no
// names, no hexadecimal, no underscores. What rounds to 0 must be 0.
func decimalFloat(s string) (float64, error) {
	if strings.TrimLeft(s, "0123456789-.eE") != "" {
		return 0, strconv.ErrSyntax
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, err
	}
	if mantissa, _, _ := strings.Cut(strings.ToLower(s), "e"); v == 0 && strings.ContainsAny(mantissa, "123456789") {
		return 0, strconv.ErrRange
	}
	return v + 0, nil // no negative zero
}

var shortExponent = strings.NewReplacer("e+0", "e", "e+", "e", "e-0", "e-")

// formatNumber prints the shortest decimal that reads back as v, with neither a
// plus sign nor a leading zero in the exponent.
func formatNumber(v float64) string {
	return shortExponent.Replace(strconv.FormatFloat(v, 'g', -1, 64))
}
