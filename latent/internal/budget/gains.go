// SPDX-License-Identifier: Apache-2.0

package budget

import "context"

// shareUnits is the number of equal parts of ε that SplitGains deals in: the gain is flat
// at the optimum, so that half a part more or less is not worth a search.
const shareUnits = 128

// SplitGains divides epsilon > 0 over coordinates that gain by it independently, and
// returns the shares whose gains add up to most. gains[i] is the gain of coordinate i as a
// function of its share; it does not fall, and is 0 where that is 0. The shares, as numbers
// without rounding, add up to at most epsilon. Gains are evaluated at some forty shares and
// taken to be linear in between. Errors are those of the context.
func SplitGains(ctx context.Context, gains []func(epsilon float64) float64, epsilon float64) ([]float64, error) {
	most := make([]float64, shareUnits+1)   // by so many units
	choices := make([][]uint16, len(gains)) // the units of coordinate i, of so many for those up to it
	for i, gain := range gains {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		choices[i] = deal(most, most, interpolated(gain, epsilon))
	}
	shares := make([]float64, len(gains))
	left, used := shareUnits, 0
	for i := len(gains) - 1; i >= 0; i-- {
		units := int(choices[i][left])
		left, used = left-units, used+units
		shares[i] = float64(units)
	}
	for i := range shares {
		shares[i] *= epsilon / float64(max(used, 1)) // what nobody gains by is spread
	}
	fit(shares, epsilon)
	return shares, nil
}

// interpolated returns the gain of 0 … shareUnits units: of up to 16 as it is, and from
// there on in steps of an eighth.
func interpolated(gain func(epsilon float64) float64, epsilon float64) []float64 {
	curve := make([]float64, shareUnits+1)
	for at, from := 1, 0; from < shareUnits; at, from = min(at+max(1, at/8), shareUnits), at {
		curve[at] = gain(epsilon * (float64(at) / shareUnits))
		for m := from + 1; m < at; m++ {
			t := float64(m-from) / float64(at-from)
			curve[m] = (1-t)*curve[from] + t*curve[at]
		}
	}
	return curve
}
