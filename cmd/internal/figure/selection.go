// SPDX-License-Identifier: Apache-2.0

package figure

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/plot/plotter"

	"github.com/noisewright/noisewright/cmd/internal/frequency"
	"github.com/noisewright/noisewright/subset"
)

// Selection is the chart of the variance that the selection makes small, for sets of other sizes too, of which
// those with at most twice the lower bound are drawn, and of published mechanisms.
func Selection(v *subset.Verified) *Chart {
	const most = 2
	s, k := v.Mechanism().Spec(), v.Mechanism().Categories()
	bound, _ := v.Bounds().LowerBound.Float64()
	own, _ := v.Bounds().Loss.Float64()
	points := max(k, s.Modulus)
	value := func(p, q float64) float64 {
		total, largest := frequency.Share{P: p, Q: q}.Variances(k)
		if s.Objective == subset.Largest {
			return largest
		}
		return total
	}
	c := &Chart{Title: betweenAny(v.Mechanism()), X: "points in a set", Y: "number of people × " + string(s.Objective) + " variance of shares"}
	var sizes plotter.XYs
	for d, m, e := 1.0, float64(points), math.Exp(s.Epsilon); d < m; d += max(1, math.Floor(m/2000)) {
		p := d * e / (d*e + m - d)
		if y := value(p, (d-p)/(m-1)); y <= most*bound {
			sizes = append(sizes, plotter.XY{X: d, Y: y})
		}
	}
	sizes = append(sizes, plotter.XY{X: float64(s.Size), Y: own})
	slices.SortFunc(sizes, func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) })
	c.Left, c.Right = sizes[0].X, sizes[len(sizes)-1].X
	if c.Left == c.Right { // a single size is near the bound
		c.Right++
	}
	c.Curves = []Curve{{"sets of so many points", sizes, Solid(Blue, 2)}}
	c.level(own, Solid(Blue, 1), "the selection, sets of %d: %.4g", s.Size, own)
	for i, b := range frequency.Shares(k, s.Epsilon) {
		if y := value(b.P, b.Q); y <= most*bound {
			c.level(y, Dashed(Palette[1+i%(len(Palette)-1)], 1.2), "%s, %.4g", b.Name, y)
		}
	}
	c.level(bound, Dashed(Green, 1.4), "lower bound on all, %.4g", bound)
	return c
}
