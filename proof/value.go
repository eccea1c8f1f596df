// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
)

// Kind is what inputs or answers are.
type Kind string

// The kinds, and the type of their values.
const (
	Numbers    Kind = "number"   // Number
	Integers   Kind = "integer"  // Integer
	Categories Kind = "category" // Category
	Rows       Kind = "row"      // Row
	Codes      Kind = "code"     // Code
)

// Value is an input or an answer: a Number, Integer, Category, Row or Code. Its text is what
// Space.Parse reads, and its JSON what encoding/json makes of it.
type Value interface {
	fmt.Stringer
	Kind() Kind
}

// Values of each kind.
type (
	// Number is a real number, in the units of its space.
	Number float64
	// Integer is a whole number.
	Integer int64
	// Category is the label of one.
	Category string
	// Row has several numbers, such as one for each cell of a plan.
	Row []float64
	// Code names one of very many sets: {t·A + B} of a modulus, or that of the rank B, with A = 0.
	Code struct{ A, B int64 }
)

// Kind implements Value.
func (Number) Kind() Kind { return Numbers }

// Kind implements Value.
func (Integer) Kind() Kind { return Integers }

// Kind implements Value.
func (Category) Kind() Kind { return Categories }

// Kind implements Value.
func (Row) Kind() Kind { return Rows }

// Kind implements Value.
func (Code) Kind() Kind { return Codes }

// String implements Value.
func (x Number) String() string   { return strconv.FormatFloat(float64(x), 'g', -1, 64) }
func (x Integer) String() string  { return strconv.FormatInt(int64(x), 10) } // String implements Value.
func (x Category) String() string { return string(x) }                       // String implements Value.

// String implements Value.
func (x Row) String() string {
	list := make([]string, len(x))
	for i, v := range x {
		list[i] = Number(v).String()
	}
	return strings.Join(list, ",")
}

// String implements Value: A:B, or the rank alone.
func (x Code) String() string {
	if x.A == 0 {
		return strconv.FormatInt(x.B, 10)
	}
	return fmt.Sprintf("%d:%d", x.A, x.B)
}

// MarshalText is String, for encoding/json.
func (x Code) MarshalText() ([]byte, error) { return []byte(x.String()), nil }

// Float returns a number or an integer of at most 2^53 in magnitude as a float64; NaN for all else.
func Float(v Value) (x float64, ok bool) {
	switch v := v.(type) {
	case Number:
		return float64(v), true
	case Integer:
		if v >= -exact.MaxInteger && v <= exact.MaxInteger {
			return float64(v), true
		}
	}
	return math.NaN(), false
}

// Space is a set of inputs or of answers.
type Space struct {
	Kind Kind
	// Lower and Upper bound numbers, integers, and each cell; they may be infinite.
	Lower, Upper float64
	// Size is how many cells there are.
	Size int
	// Labels are the categories, or the names of cells, if any.
	Labels []string
	// Count, if not 0, is how many categories there are, labeled 0, 1, …, without Labels; of codes
	// how many ranks.
	Count int64
	// Modulus is that of codes, 0 for ranks.
	Modulus int64
}

// Number returns the number of a category, from 0 on.
func (s Space) Number(label string) (n int64, ok bool) {
	if s.Count == 0 {
		n = int64(slices.Index(s.Labels, label))
		return n, n >= 0
	}
	n, err := strconv.ParseInt(label, 10, 64)
	return n, err == nil && n >= 0 && n < s.Count && strconv.FormatInt(n, 10) == label
}

// Contains says whether a value is in it. Whole numbers are integers and the other way around.
func (s Space) Contains(v Value) bool {
	within := func(x float64) bool { return check.Finite(x) && x >= s.Lower && x <= s.Upper }
	switch v := v.(type) {
	case Number, Integer:
		x, ok := Float(v)
		return ok && within(x) && (s.Kind == Numbers || s.Kind == Integers && x == math.Trunc(x))
	case Category:
		_, ok := s.Number(string(v))
		return s.Kind == Categories && ok
	case Code:
		return s.Kind == Codes && s.containsCode(v)
	case Row:
		return s.Kind == Rows && len(v) == s.Size && !slices.ContainsFunc(v, func(x float64) bool { return !within(x) })
	}
	return false
}

func (s Space) containsCode(v Code) bool {
	if s.Modulus > 0 {
		return v.A > 0 && v.A < s.Modulus && v.B >= 0 && v.B < s.Modulus
	}
	return v.A == 0 && v.B >= 0 && v.B < s.Count
}

// Parse reads a value of the space as it is written in a flag or a file: a number, a label,
// or several with commas between. The error says what is wanted and not what was read.
func (s Space) Parse(text string) (Value, error) {
	v, err := s.Read(text)
	if err == nil && !s.Contains(v) {
		err = check.Errorf("proof", check.ErrInvalid, "the value is not %s", s)
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

// Read is Parse for any value of the kind.
func (s Space) Read(text string) (Value, error) {
	switch s.Kind {
	case Numbers:
		if x, err := strconv.ParseFloat(text, 64); err == nil {
			return Number(x), nil
		}
	case Integers:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return Integer(n), nil
		}
	case Categories:
		return Category(text), nil
	case Codes:
		if c, ok := code(text); ok {
			return c, nil
		}
	case Rows:
		if r, ok := row(text); ok {
			return r, nil
		}
	}
	return nil, check.Errorf("proof", check.ErrInvalid, "the value is not a %s", s.Kind)
}

// code reads what Code.String writes, and nothing else that means the same.
func code(text string) (c Code, ok bool) {
	a, b, two := strings.Cut(text, ":")
	if !two {
		a, b = "0", a
	}
	x, errA := strconv.ParseInt(a, 10, 64)
	y, errB := strconv.ParseInt(b, 10, 64)
	c = Code{x, y}
	return c, errA == nil && errB == nil && c.String() == text
}

func row(text string) (r Row, ok bool) {
	for part := range strings.SplitSeq(text, ",") {
		x, err := strconv.ParseFloat(part, 64)
		if err != nil {
			return nil, false
		}
		r = append(r, x)
	}
	return r, true
}

// String completes "want …".
func (s Space) String() string {
	span := ""
	if !math.IsInf(s.Lower, -1) || !math.IsInf(s.Upper, 1) {
		span = fmt.Sprintf(" from %g to %g", s.Lower, s.Upper)
	}
	switch s.Kind {
	case Numbers:
		return "a number" + span
	case Integers:
		return "an integer" + span
	case Categories:
		if s.Count > 0 {
			return fmt.Sprintf("one of the categories 0 to %d", s.Count-1)
		}
		return fmt.Sprintf("one of %d categories", len(s.Labels))
	case Codes:
		if s.Modulus > 0 {
			return fmt.Sprintf("a set as a:b, with a from 1 and b from 0 to %d", s.Modulus-1)
		}
		return fmt.Sprintf("the rank of a set, from 0 to %d", s.Count-1)
	case Rows:
		return fmt.Sprintf("a row of %d cells, numbers%s", s.Size, span)
	}
	return "a value of the kind " + string(s.Kind)
}
