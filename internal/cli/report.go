package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/big"
	"strings"

	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/tables"
)

// schema is the version of the JSON objects printed.
const schema = 1

// finite returns a pointer to v for JSON, nil (null) if it is not finite.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// floatUp returns the least float64 that is not below r, floatDown the largest
// that is not above; nil (null in JSON) if there is none.
func floatUp(r *big.Rat) *float64   { return directed(r, math.Inf(1)) }
func floatDown(r *big.Rat) *float64 { return directed(r, math.Inf(-1)) }

func directed(r *big.Rat, toward float64) *float64 {
	f, exact := r.Float64()
	if !exact && !math.IsInf(f, 0) {
		if c := new(big.Rat).SetFloat64(f).Cmp(r); (c < 0) == (toward > 0) {
			f = math.Nextafter(f, toward)
		}
	}
	return finite(f)
}

// printJSON prints v on one line.
func printJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // notes compare with < and >
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// percent prints a ratio to about three significant digits.
func percent(ratio float64) string {
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

// gapOf returns the relative certified gap, +Inf if there is no lower bound.
func gapOf(c tables.Certificate) float64 {
	if g, ok := c.Gap(); ok {
		return g
	}
	return math.Inf(1)
}

// lossUnit names a loss and its unit.
func lossUnit(l loss.Loss) string { return clipped(l.Name()) + ", " + loss.Unit(l) }

// row is one line of a summary.
type row struct{ name, value string }

// printRows prints a summary with its values aligned.
func printRows(w io.Writer, rows []row) error {
	width := 0
	for _, r := range rows {
		width = max(width, len(r.name))
	}
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "%-*s  %s\n", width, r.name, r.value)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
