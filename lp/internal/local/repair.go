// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"math"

	"github.com/noisewright/noisewright/local"
)

// Prices are known at some answers and, for densities, at some values. In between G is a
// little below 0, and its least value is subtracted from the bound. Lowering all totals
// by t costs t times the number of nodes (or the range). It raises G by as much, and by
// (e^ε − 1)·t more for each node for which the answer is likely, so that the bound gains.

const (
	// liftSteps is how often the totals are lowered: each step is Newton's for the worst
	// answer, and reaches no further than needed, as G is concave in t.
	liftSteps = 12
	// liftShare is the share of the tolerance that totals are lowered by beyond need.
	liftShare = 0.2
)

// repair does so. If the context ends the multipliers prove little.
func (m *model) repair(ctx context.Context, d *local.Dual, s *priced) {
	parts := newTangents(m, d)
	at := m.looked(s.grid.answers)
	parts.shrink()
	var t float64
	for range liftSteps {
		var worst, slope float64
		for _, y := range at {
			if ctx.Err() != nil {
				return
			}
			if g, s, _ := parts.gain(y, t); g < worst {
				worst, slope = g, s
			}
		}
		if worst == 0 {
			break
		}
		t += -worst / slope
	}
	t += liftShare * s.tolerance * s.Value * m.unit / parts.size()
	for i := range d.Totals {
		d.Totals[i] -= t
	}
}

// shrink lowers totals and means in proportion until G is not negative far out, where lowering
// the totals alone is of little use: what is left of the losses grows with them.
func (p *tangents) shrink() {
	if p.Bounded() || p.Loss == nil {
		return
	}
	var share float64
	for out := p.farthest(); out < farOut; out *= 4 {
		for _, y := range []float64{p.mid - out*p.half, p.mid + out*p.half} {
			if g, _, losses := p.gain(y, 0); g < 0 {
				share = max(share, -g/(losses-g))
			}
		}
	}
	if share == 0 {
		return
	}
	share = min(2*share, 1)
	for _, list := range [][]float64{p.d.Totals, p.d.Means, p.d.PointTotals, p.d.PointMeans} {
		for i := range list {
			list[i] *= 1 - share
		}
	}
	*p = *newTangents(p.model, p.d)
}

const farOut = 1e7

// looked lists the answers at which G is looked at: of a program, between them, an even grid.
func (m *model) looked(answers []float64) []float64 {
	if all := m.allAnswers(); all != nil {
		return m.valuesOf(all)
	}
	out := answers
	for i, t := range answers[1:] {
		for part := 1; part < zoomParts; part++ {
			out = append(out, answers[i]+(t-answers[i])*float64(part)/zoomParts)
		}
	}
	return m.valuesOf(append(out, evenly(candidates+1, m.farthest())...))
}

func (m *model) valuesOf(answers []float64) []float64 {
	out := make([]float64, len(answers))
	for i, t := range answers {
		if out[i] = t; m.Loss != nil {
			out[i] = m.answer(t)
		}
	}
	return out
}

// tangents are the nodes, or parts of a density, on which a dual's certificate has a tangent for
// the loss, or about.
type tangents struct {
	*model
	d                  *local.Dual
	x                  []float64 // nodes or ends of parts
	weight             []float64 // of each node or part
	total, mean, limit []float64 // at the nodes or ends
	known              map[float64][][2]float64
}

const liftLeast = 256

func newTangents(m *model, d *local.Dual) *tangents {
	p := &tangents{model: m, d: d, known: make(map[float64][][2]float64)}
	if !m.averaged() {
		p.x, p.total, p.mean, p.limit, p.weight = d.Nodes, d.Totals, d.Means, d.Caps, d.Weights
		zeros := make([]float64, len(d.Totals))
		if m.Loss == nil {
			p.x = m.nodes(0)
		}
		if p.mean == nil {
			p.mean = zeros
		}
		if p.limit == nil {
			p.limit = zeros
		}
		if p.weight == nil {
			for i := range zeros {
				p.weight = append(p.weight, m.share(i))
			}
		}
		return p
	}
	n := len(d.Nodes) - 1
	split := 1
	for split*n < liftLeast && split < 32 {
		split *= 2
	}
	at := func(list []float64, i int, share float64) float64 {
		if list == nil {
			return 0
		}
		return list[i] + (list[min(i+1, n)]-list[i])*share
	}
	for i := range n*split + 1 {
		k, share := i/split, float64(i%split)/float64(split)
		p.x = append(p.x, at(d.Nodes, k, share))
		p.total = append(p.total, at(d.Totals, k, share))
		p.mean = append(p.mean, at(d.Means, k, share))
		p.limit = append(p.limit, at(d.Caps, k, share))
	}
	for i := range n * split {
		p.weight = append(p.weight, m.densityAt(((p.x[i]+p.x[i+1])/2-m.mid)/m.half)/m.half)
	}
	return p
}

func (p *tangents) size() float64 {
	if p.averaged() {
		return 2 * p.half
	}
	return float64(len(p.total))
}

// gain returns G at an answer with all totals less t, its derivative in t, and what the
// losses alone would give.
func (p *tangents) gain(y, t float64) (g, slope, losses float64) {
	e := p.ratio()
	phi := func(a, width float64) {
		if a < 0 {
			a, width = e*a, e*width
		}
		g += a
		slope += width
	}
	if !p.averaged() {
		for i, x := range p.x {
			c := 0.0
			if p.Loss == nil {
				c = p.Costs[i][int(y)]
			} else {
				c = p.Loss.At(y - x)
			}
			c *= p.weight[i] + p.limit[i]
			losses += c
			phi(c-p.total[i]-p.mean[i]*y+t, 1)
		}
		return g, slope, losses
	}
	for i, ends := range p.ends(y) {
		u, v := p.x[i], p.x[i+1]
		var a [2]float64
		for k := range a {
			losses += ends[k] * (v - u) / 2
			a[k] = ends[k] - p.total[i+k] - p.mean[i+k]*y + t
		}
		if a[0]*a[1] >= 0 {
			phi((a[0]+a[1])/2*(v-u), v-u)
			continue
		}
		for k := range a { // the root splits the part
			width := (v - u) * math.Abs(a[k]) / (math.Abs(a[0]) + math.Abs(a[1]))
			phi(a[k]/2*width, width)
		}
	}
	for i, total := range p.d.PointTotals {
		a := -total
		if p.d.PointMeans != nil {
			a -= p.d.PointMeans[i] * y
		}
		phi(a, 0)
	}
	return g, slope, losses
}

// ends returns the tangents of the losses of an answer at the ends of all parts.
func (p *tangents) ends(y float64) [][2]float64 {
	if out, ok := p.known[y]; ok {
		return out
	}
	out := make([][2]float64, len(p.weight))
	for i, w := range p.weight {
		u, v := p.x[i], p.x[i+1]
		middle, step := (u+v)/2, (v-u)/4
		c := p.Loss.At(y - middle)
		rise := (p.Loss.At(y-middle+step) - p.Loss.At(y-middle-step)) * (v - u) / (4 * step)
		out[i] = [2]float64{(c + rise) * (w + p.limit[i]), (c - rise) * (w + p.limit[i+1])}
	}
	p.known[y] = out
	return out
}
