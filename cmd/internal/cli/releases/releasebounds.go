// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"fmt"

	"github.com/noisewright/noisewright/cmd/internal/shell"
	"github.com/noisewright/noisewright/release"
)

var columnNumber = shell.Any("a finite number, in the units of the column")

func boundFlags(f *shell.Flags, q *release.Query) {
	rule := columnNumber
	given := func() {
		f.Number(&q.Lower, "lower", rule, "values below are clipped to it, in the units of the column")
		f.Number(&q.Upper, "upper", rule, "values above are clipped to it, in the units of the column")
	}
	if q.Kind != release.Sum && q.Kind != release.Mean {
		given()
		return
	}
	rule.Want += " (or --bounds private)"
	f.Text(&q.Bounds, "bounds", "private|prior:lognormal,MU,SIGMA", "where nobody knows --lower and --upper: private finds powers of two in the data, with a fifth of epsilon; a prior is that the logarithms of about --rows values are normal, and the bounds are 0 and what is best for them")
	f.CompleteOrFile("bounds", "private", "prior:lognormal,")
	f.Unless("bounds", given)
}

// boundRows say what values were clipped to, where that is not in the query.
func boundRows(c *release.Clipped) []shell.Row {
	if c == nil {
		return nil
	}
	text := fmt.Sprintf("%v to %v: the interval is of the noise, and not of what clipping to them took off", c.Lower, c.Upper)
	if c.Bias != nil {
		text += fmt.Sprintf(", which adds %.3g on average if the prior is right", *c.Bias)
	}
	return []shell.Row{{"bounds", text}}
}
