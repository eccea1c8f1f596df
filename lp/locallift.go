package lp

import (
	"math"

	"github.com/noisewright/noisewright/local"
)

// Between the values of the quadrature, and where the certificate replaces the loss by
// tangents, G of an averaged dual falls a little below 0. A bound is charged for the most
// that it does. To lower all totals by t costs t times the range, and raises G by that and
// by (e^ε − 1)·t times the range of values for which the answer is likely: much more.

// liftSteps is how often the totals are lowered: each step is Newton's for the worst
// answer, and reaches no further than needed, as G is concave in t.
const liftSteps = 12

// lift lowers the totals of an averaged dual until G is nearly nowhere negative.
func (m *localModel) lift(d *local.Dual, answers []float64, least float64) {
	parts := newLiftParts(m, d)
	var at []float64
	for i, t := range answers {
		at = append(at, m.answer(t))
		if i > 0 && m.Demands.Step == 0 {
			at = append(at, m.answer((t+answers[i-1])/2))
		}
	}
	if m.Demands.Step == 0 {
		for k := range candidates + 1 {
			at = append(at, m.answer(2*m.reach()*(2*float64(k)/candidates-1)))
		}
	}
	var t float64
	for range liftSteps {
		var worst, slope float64
		for _, y := range at {
			if g, s := parts.gain(y, t); g-least < worst {
				worst, slope = g-least, s
			}
		}
		if worst == 0 {
			break
		}
		t += -worst / slope
	}
	for i := range d.Totals {
		d.Totals[i] -= t
	}
}

// liftParts are the parts on which the certificate of a dual replaces the loss by a
// tangent, or about.
type liftParts struct {
	*localModel
	d       *local.Dual
	x       []float64 // ends of parts
	density []float64 // of each part
	total   []float64 // at the ends
	mean    []float64
	limit   []float64
}

// liftLeast is how many parts there are at least.
const liftLeast = 256

func newLiftParts(m *localModel, d *local.Dual) *liftParts {
	p := &liftParts{localModel: m, d: d}
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
		p.density = append(p.density, m.densityAt(((p.x[i]+p.x[i+1])/2-m.mid)/m.half)/m.half)
	}
	return p
}

// gain returns G at an answer with all totals less t, and its derivative in t.
func (p *liftParts) gain(y, t float64) (g, slope float64) {
	e := p.ratio()
	phi := func(a, width float64) {
		if a < 0 {
			a, width = e*a, e*width
		}
		g += a
		slope += width
	}
	for i, w := range p.density {
		u, v := p.x[i], p.x[i+1]
		middle, step := (u+v)/2, (v-u)/4
		c := p.Loss.At(y - middle)
		rise := (p.Loss.At(y-middle+step) - p.Loss.At(y-middle-step)) * (v - u) / (4 * step)
		ends := [2]float64{c + rise, c - rise}
		var a [2]float64
		for k := range a {
			a[k] = (w+p.limit[i+k])*ends[k] - p.total[i+k] - p.mean[i+k]*y + t
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
		if a < 0 {
			a *= e
		}
		g += a
	}
	return g, slope
}
