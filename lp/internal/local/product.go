// SPDX-License-Identifier: Apache-2.0

package local

import (
	"math"
	"slices"

	"github.com/noisewright/noisewright/local"
)

// product turns multipliers of delta = 0 into those of any delta, with prices that are products. What a place
// lacks must be bounded over all answers, as delta is paid for the most of it.
func (m *model) product(d *local.Dual, delta float64) {
	d.Product = true
	switch {
	case m.averaged():
		for i := range d.PointTotals {
			if d.PointMeans == nil { // those above 0 are rounding errors, and would lack far out, too
				d.PointTotals[i] = min(d.PointTotals[i], 0)
			}
		}
		if d.PointMeans != nil {
			m.blur(d, delta)
		}
	case m.Objective == local.Worst && m.Values.Kind == local.Real:
		m.leaveOut(d)
	}
}

// leaveOut leaves out the nodes without weight, whose losses make up for nothing far out.
func (m *model) leaveOut(d *local.Dual) {
	weights := d.Weights
	for _, list := range []*[]float64{&d.Nodes, &d.Totals, &d.Means, &d.Weights} {
		var kept []float64
		for i, x := range *list {
			if weights[i] > 0 {
				kept = append(kept, x)
			}
		}
		*list = kept
	}
}

// blur turns the multipliers of the ends of the range, which have no weight either, into densities that fall to
// 0 over a width h next to them. φ being concave and positively homogeneous, that lowers no gain. It costs
// |mean|·h/3 of the value, as the mean loss is paid for h/3 away from the end, and for the squared error
// about delta·mean²/(3·h·density), which the width makes equal.
func (m *model) blur(d *local.Dual, delta float64) {
	density := 1 / (2 * m.half)
	for side, end := range []int{0, len(d.Nodes) - 1} {
		last := len(d.Nodes) - 1
		at, inner := end, 1
		if side == 1 {
			at, inner = last, last-1
		}
		gap := math.Abs(d.Nodes[inner] - d.Nodes[at])
		mean, total := d.PointMeans[at], d.PointTotals[at]
		if mean == 0 && total == 0 {
			continue
		}
		width := min(math.Sqrt(delta*math.Abs(mean)/density), gap/2)
		width = max(width, gap*leastBlur)
		x := m.mid + math.Round((d.Nodes[at]+math.Copysign(width, d.Nodes[inner]-d.Nodes[at])-m.mid)/(m.grain*m.half))*(m.grain*m.half)
		width = math.Abs(x - d.Nodes[at])
		share := width / gap
		where := inner
		if side == 1 {
			where = last
		}
		for _, list := range []*[]float64{&d.Totals, &d.Means, &d.Caps} {
			if len(*list) == 0 {
				continue
			}
			between := (1-share)*(*list)[at] + share*(*list)[inner]
			*list = slices.Insert(*list, where, between)
		}
		d.Nodes = slices.Insert(d.Nodes, where, x)
		d.PointTotals, d.PointMeans = slices.Insert(d.PointTotals, where, 0), slices.Insert(d.PointMeans, where, 0)
		if side == 1 {
			at++
		}
		d.Totals[at] += 2 * total / width
		d.Means[at] += 2 * mean / width
		d.PointTotals[at], d.PointMeans[at] = 0, 0
	}
	d.PointTotals, d.PointMeans = nil, nil
}

// leastBlur is the least width, as a share of the distance of the nodes.
const leastBlur = 0x1p-16
