// SPDX-License-Identifier: Apache-2.0

package loss

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"math/big"
	"strings"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
)

// segment is a stretch of a piecewise linear loss.
type segment struct {
	// Knot is where the segment starts, in query units; -Inf for the first.
	Knot float64
	// Slope is the slope from there to the next knot.
	Slope float64
	// Jump is c just right of the knot less c just left of it; 0 for the first.
	Jump float64
}

// newPWL returns the piecewise linear loss with the given segments, in ascending order of their
// knots, the first at -Inf; at a jump it takes the lower value. Its level is such that its infimum
// is 0. The first slope must be negative and the last positive, for otherwise the loss does not
// grow at that end, noise may escape there, and no bound on it converges. There are at most 10,000
// segments. Errors wrap dp.ErrInvalid.
func newPWL(segments []segment) (Loss, error) {
	if len(segments) < 2 || len(segments) > maxKnots {
		return nil, badField("pwl", "number of segments", fmt.Sprint(len(segments)), fmt.Sprintf("2 to %d", maxKnots))
	}
	first, last := segments[0], segments[len(segments)-1]
	if !math.IsInf(first.Knot, -1) || first.Jump != 0 {
		return nil, badField("pwl", "first segment", first.String(), "the knot -inf and no jump")
	}
	const why = "for otherwise the loss does not grow at that end, the noise escapes there, and the bounds do not converge"
	if !(first.Slope < 0) {
		return nil, badField("pwl", "first slope", formatNumber(first.Slope), "a number < 0, "+why)
	}
	if !(last.Slope > 0) {
		return nil, badField("pwl", "last slope", formatNumber(last.Slope), "a number > 0, "+why)
	}
	for i, s := range segments[1:] {
		if !(s.Knot > segments[i].Knot) {
			return nil, badField(fmt.Sprintf("pwl: segment %d", i+2), "knot", formatNumber(s.Knot), "knots in ascending order")
		}
	}
	return pwl(segments), nil
}

// pwl builds the loss from checked segments. Its infimum is at a knot, for it
// falls at the left end and rises at the right one.
func pwl(segments []segment) *piecewise {
	n := len(segments) - 1
	x, pieces := make([]float64, n), make([]Quadratic, n+1)
	names := make([]string, n+1)
	var lowest *big.Rat
	value := new(big.Rat) // at the knot, coming from the left; 0 at the first
	for i, s := range segments {
		names[i] = s.String()
		c1 := exact.Rational(s.Slope)
		if i == 0 {
			knot := exact.Rational(segments[1].Knot)
			pieces[0] = Quadratic{C0: knot.Mul(knot, c1).Neg(knot), C1: c1}
			continue
		}
		x[i-1] = s.Knot
		knot := exact.Rational(s.Knot)
		if i > 1 {
			value = pieces[i-1].filled().value(knot)
		}
		right := new(big.Rat).Add(value, exact.Rational(s.Jump))
		if at := lower(value, right); lowest == nil || at.Cmp(lowest) < 0 {
			lowest = new(big.Rat).Set(at)
		}
		pieces[i] = Quadratic{C0: right.Sub(right, knot.Mul(knot, c1)), C1: c1}
	}
	for i := range pieces {
		pieces[i].C0.Sub(pieces[i].C0, lowest)
	}
	return newPiecewise("pwl:"+strings.Join(names, ";"), x, pieces, nil)
}

// String is the segment as in a loss's name: "knot,slope" or "knot,slope,jump".
func (s segment) String() string {
	text := "-inf"
	if !math.IsInf(s.Knot, -1) {
		text = formatNumber(s.Knot)
	}
	text += "," + formatNumber(s.Slope)
	if s.Jump != 0 {
		text += "," + formatNumber(s.Jump)
	}
	return text
}

func parsePWL(s string) (Loss, error) {
	parts := strings.SplitN(s, ";", maxKnots+1)
	segments := make([]segment, 0, len(parts))
	for i, part := range parts {
		s, err := parseSegment(fmt.Sprintf("pwl: segment %d", i+1), strings.SplitN(part, ",", 4))
		if err != nil {
			return nil, err
		}
		segments = append(segments, s)
	}
	return newPWL(segments)
}

// parseSegment reads knot, slope and possibly jump.
func parseSegment(where string, values []string) (segment, error) {
	if len(values) != 2 && len(values) != 3 {
		return segment{}, badField(where, "segment", fmt.Sprintf("%q", abbreviated(strings.Join(values, ","))), "knot,slope or knot,slope,jump")
	}
	s := segment{Knot: math.Inf(-1)}
	var err error
	if values[0] != "-inf" {
		if s.Knot, err = number(where, "knot", values[0]); err != nil {
			return segment{}, err
		}
	}
	if s.Slope, err = number(where, "slope", values[1]); err != nil {
		return segment{}, err
	}
	if len(values) == 3 {
		if values[2] == "" {
			return s, nil // no jump, as in a CSV file whose other rows have one
		}
		s.Jump, err = number(where, "jump", values[2])
	}
	return s, err
}

// ReadPWL reads a piecewise linear loss (see [newPWL]) from CSV text: the header
// "knot,slope" or "knot,slope,jump", then one segment per line, the first with the
// knot -inf. Nothing is quoted, no spaces, no empty lines but at the end. The
// errors name the line and wrap dp.ErrInvalid, unless the reader itself fails.
func ReadPWL(r io.Reader) (Loss, error) {
	scanner := bufio.NewScanner(r)
	var segments []segment
	columns := 0
	for line := 1; scanner.Scan(); line++ {
		where := fmt.Sprintf("pwl: line %d", line)
		if columns == 0 {
			switch text := scanner.Text(); text {
			case "knot,slope":
				columns = 2
			case "knot,slope,jump":
				columns = 3
			default:
				return nil, badField(where, "header", fmt.Sprintf("%q", abbreviated(text)), "knot,slope or knot,slope,jump")
			}
			continue
		}
		values := strings.Split(scanner.Text(), ",")
		if len(values) != columns {
			return nil, badField(where, "values", fmt.Sprintf("%q", abbreviated(scanner.Text())), fmt.Sprintf("%d, as in the header", columns))
		}
		s, err := parseSegment(where, values)
		if err != nil {
			return nil, err
		}
		if len(segments) == maxKnots {
			return nil, badField(where, "number of segments", fmt.Sprint(maxKnots+1), fmt.Sprintf("at most %d", maxKnots))
		}
		segments = append(segments, s)
	}
	if err := scanner.Err(); err != nil {
		return nil, check.Errorf("loss", nil, "reading a pwl loss: %w", err)
	}
	return newPWL(segments)
}
