// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// Schema is the version of the JSON objects printed, with which they all begin. Their numbers are
// float64s, rounded outwards where they are bounds, and none is a string.
const Schema = 3

// Finite returns a pointer to v for JSON, nil (null) if it is not finite.
func Finite(v float64) *float64 {
	if !check.Finite(v) {
		return nil
	}
	return &v
}

// FloatUp returns the least float64 not below r, nil (null in JSON) if there is none.
func FloatUp(r *big.Rat) *float64 { return Finite(exact.FloatUp(r)) }

// FloatDown returns the largest float64 that is not above r; nil if there is none.
func FloatDown(r *big.Rat) *float64 { return Finite(exact.FloatDown(r)) }

// Object is a JSON object in parts, one after the other: names, each with its value behind it,
// and structs or objects whose fields it takes; nil is none.
type Object []any

// MarshalJSON implements json.Marshaler.
func (o Object) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i := 0; i < len(o); i++ {
		part := o[i]
		if name, ok := part.(string); ok {
			i++
			part = map[string]any{name: o[i]}
		}
		var text bytes.Buffer
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false) // which is for who encodes the whole
		if err := e.Encode(part); err != nil {
			return nil, err
		}
		fields, ok := bytes.CutPrefix(bytes.TrimSuffix(text.Bytes(), []byte("}\n")), []byte{'{'})
		if !ok || len(fields) == 0 { // null, or no fields
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, fields...)
	}
	return append(out, '}'), nil
}

// EncodeJSON writes the object v behind its schema, on one line, or nothing.
func EncodeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false) // notes compare with < and >
	return e.Encode(Object{"schema", Schema, v})
}

// Percent prints a ratio to about three significant digits.
func Percent(ratio float64) string {
	p := 100 * ratio
	switch a := math.Abs(p); {
	case math.IsInf(p, 0) || math.IsNaN(p):
		return "unknown"
	case a >= 1e6:
		return fmt.Sprintf("%.2g %%", p)
	case a >= 10:
		return fmt.Sprintf("%.1f %%", p)
	case a >= 0.1:
		return fmt.Sprintf("%.2f %%", p)
	case a >= 0.001:
		return fmt.Sprintf("%.4f %%", p)
	default:
		return fmt.Sprintf("%.1e %%", p)
	}
}

// GapOf returns the relative certified gap, +Inf if there is no lower bound.
func GapOf(b proof.Bounds) float64 {
	if g, ok := b.Gap(); ok {
		return g
	}
	return math.Inf(1)
}

// LossUnit names a loss and its unit.
func LossUnit(l loss.Loss) string { return check.Shortened(l.Name()) + ", " + loss.Of(l).Unit() }

// ErrorPart says what claim is false, if one is.
func ErrorPart(falsehood error) Object {
	if falsehood == nil {
		return nil
	}
	return Object{"error", Sentence(falsehood)}
}

// If is a part of an Object that is there if there is something to say.
func If(there bool, part ...any) Object {
	if !there {
		return nil
	}
	return part
}

// Row is one line of a summary, a name and its value. One without either is left out.
type Row [2]string

// When is a row that is there if it applies.
func When(applies bool, name, value string) Row {
	if !applies {
		return Row{}
	}
	return Row{name, value}
}

// WriteRows writes a summary with its values aligned.
func WriteRows(b *strings.Builder, rows []Row) {
	var lines [][]string
	for _, row := range rows {
		if row != (Row{}) {
			lines = append(lines, row[:])
		}
	}
	WriteColumns(b, lines, "<<")
}

// DigitsUp prints a finite x >= 0 to 7 digits that, read back, are not below it.
func DigitsUp(x float64) string { return digits(x, +1, 7) }

// DigitsDown is DigitsUp for digits that are not above.
func DigitsDown(x float64) string { return digits(x, -1, 7) }

// Decimal prints a decimal of at most 15 digits as numbers of this size are printed
// elsewhere, with the same digits: 9.95e-07 for 0.000000995.
func Decimal(text string) string {
	x, err := strconv.ParseFloat(text, 64)
	if small := math.Abs(x) < 1e-300 && strings.Trim(text, "0.") != ""; err != nil || small { // float64s there have fewer digits
		return text
	}
	return strconv.FormatFloat(x, 'g', 15, 64)
}

// Interval prints an interval with ends >= 0, rounded outwards to 5 significant digits.
func Interval(lower, upper *big.Rat) string {
	low, high := FloatDown(lower), FloatUp(upper)
	if low == nil || high == nil {
		return "unknown"
	}
	return fmt.Sprintf("[%s, %s]", digits(*low, -1, 5), digits(*high, +1, 5))
}

// digits prints x to n significant digits, in the direction of sign.
func digits(x, sign float64, n int) string {
	text := fmt.Sprintf("%.*e", n-1, x)
	f, err := strconv.ParseFloat(text, 64)
	if err == nil && sign*f < sign*x {
		// One more in the last digit; the exponent of the text is that of x.
		_, exponent, _ := strings.Cut(text, "e")
		e, _ := strconv.Atoi(exponent)
		f += sign * math.Pow10(e-n+1)
	}
	return fmt.Sprintf("%.*g", n, f)
}

// Counted says how many things there are.
func Counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// WriteColumns aligns each column as its letter says: < to the left, > to the right.
func WriteColumns(b *strings.Builder, lines [][]string, align string) {
	width := make([]int, len(align))
	for _, line := range lines {
		for i, cell := range line {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for _, line := range lines {
		for i, cell := range line {
			if i > 0 {
				b.WriteString("  ")
			}
			switch last := i == len(line)-1; {
			case align[i] == '>':
				fmt.Fprintf(b, "%*s", width[i], cell)
			case last: // no blanks at the end
				b.WriteString(cell)
			default:
				fmt.Fprintf(b, "%-*s", width[i], cell)
			}
		}
		b.WriteByte('\n')
	}
}
