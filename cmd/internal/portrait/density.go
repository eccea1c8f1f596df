// SPDX-License-Identifier: Apache-2.0

package portrait

import (
	"encoding/json"
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/tables"
)

const (
	maxUnrolled = 1 << 18 // cells of a tail
	hiddenMass  = 0.005   // of the noise, outside a linear figure
	maxSteps    = 4000    // of a curve; more are averaged
)

// Point is one of a curve.
type Point struct{ X, Y float64 }

// MarshalJSON writes a pair.
func (p Point) MarshalJSON() ([]byte, error) { return json.Marshal([2]float64{p.X, p.Y}) }

// Density is that of a table's noise: a step function, and a mass on 0 that Table.PMF tells.
type Density struct {
	Step float64 // distance of neighboring points, query units
	Unit float64 // what it is per: 1 query unit, or a step if points are few

	table *tables.Table
}

// NewDensity returns the density of a table.
func NewDensity(t *tables.Table) *Density {
	d := &Density{table: t, Unit: 1}
	d.Step, _ = t.Grid().Step().Float64()
	if t.Query() == dp.LatticeQuery {
		d.Unit = d.Step
	}
	return d
}

// cell returns the ends of the i-th cell in query units, and the mean density there. A point
// fills the step around it.
func (d *Density) cell(i int) (left, right, density float64) {
	g := d.table.Grid()
	left = (float64(g.FirstPoint(i)) - 0.5) * d.Step
	right = (float64(g.FirstPoint(i+1)) - 0.5) * d.Step
	return left, right, d.mass(i) / (right - left) * d.Unit
}

// mass is that of the i-th cell; the cells of a tail go on to either side of the table's.
func (d *Density) mass(i int) float64 {
	k, n := d.table.Grid().CellsPerSensitivity, d.table.Cells()
	periods := 0
	for ; i < 0; i += k {
		periods++
	}
	for ; i >= n; i -= k {
		periods++
	}
	p := math.Ldexp(float64(d.table.Weight(i)), -64)
	if _, ok := d.table.Block(i); ok {
		rho := math.Ldexp(float64(d.table.TailRatio()), -64)
		p *= (1 - rho) * math.Pow(rho, float64(periods))
	}
	return p
}

// unrolled is how many cells of a tail are drawn on either side: all but a millionth of it.
func (d *Density) unrolled() int {
	r := d.table.TailRatio()
	if r == 0 {
		return 0
	}
	periods := math.Ceil(math.Log(1e-6) / math.Log(math.Ldexp(float64(r), -64)))
	k := d.table.Grid().CellsPerSensitivity
	return k * int(min(periods, float64(maxUnrolled/k)))
}

// Reach returns the range of the noise, with 0 and a margin: all of it if whole, else all but
// the tails, and not less than one sensitivity.
func (d *Density) Reach(whole bool) (left, right float64) {
	i, j := -d.unrolled(), d.table.Cells()-1+d.unrolled()
	limit := hiddenMass / 2
	if whole {
		limit = 0
	}
	for hidden := d.mass(i); i < j && hidden <= limit; hidden += d.mass(i) {
		i++
	}
	for hidden := d.mass(j); j > i && hidden <= limit; hidden += d.mass(j) {
		j--
	}
	left, _, _ = d.cell(i)
	_, right, _ = d.cell(j)
	left, right = min(left, 0), max(right, 0)
	if short := d.table.Privacy().Sensitivity - (right - left); short > 0 {
		left, right = left-short/2, right+short/2
	}
	margin := 0.025 * (right - left)
	return left - margin, right + margin
}

// Steps is the density as a step curve, averaged where a figure cannot show all steps.
func (d *Density) Steps(left, right float64) []Point {
	first, end := -d.unrolled(), d.table.Cells()+d.unrolled()
	lo, hi := end, first-1 // visible cells
	for i := first; i < end; i++ {
		if from, to, _ := d.cell(i); to > left && from < right {
			lo, hi = min(lo, i), i
		}
	}
	return Stairs(lo, hi, d.cell)
}

// Masses is the law on the integers of noise from left to right, as a step curve.
func Masses(mass func(float64) float64, left, right float64) []Point {
	return Stairs(int(math.Ceil(left)), int(math.Floor(right)), func(i int) (float64, float64, float64) {
		return float64(i) - 0.5, float64(i) + 0.5, mass(float64(i))
	})
}

// Stairs returns a step curve over the cells lo … hi that falls to 0 at its ends.
func Stairs(lo, hi int, cell func(int) (left, right, density float64)) []Point {
	group := (hi-lo)/maxSteps + 1
	var points []Point
	add := func(x, y float64) { points = append(points, Point{x, y}) }
	for i := lo; i <= hi; i += group {
		left, right, sum := cell(i)
		m := 1
		for ; m < group && i+m <= hi; m++ {
			var d float64
			_, right, d = cell(i + m)
			sum += d
		}
		if i == lo {
			add(left, 0)
		}
		add(left, sum/float64(m))
		add(right, sum/float64(m))
		if i+group > hi {
			add(right, 0)
		}
	}
	return points
}
