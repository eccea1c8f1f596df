package noise

import (
	"math"

	"github.com/noisewright/noisewright/lp/internal/noise/staircase"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/tables"
)

// For a large ε the noise is nearly all inside a core, far narrower than a sensitivity,
// and multipliers in closed form prove nearly as much as a program. With A the level of
// all coefficients and g_j = (A − l_j)₊/(A − l_0), they are y_kj = η_k·g_j with prices
// Ση = A − l_0 over the shifts k and −k. Then nodes of the core gain A − l_j, and so have
// A, if no η_k moves a node of the core into it; and the others, z, keep A if
//
//	l_z − E·(η∗g)_z ≥ A,
//
// for which η_k is about in proportion to what l_k is above A, and scaled by the worst z.
// The largest A whose prices are enough proves A − δ·(A − l_0), for every δ.

// closedFrom is the epsilon from which such multipliers are tried.
const closedFrom = 12

// maxClosedShifts bounds the shifts of multipliers in closed form: a node takes microseconds.
const maxClosedShifts = 1 << 15

// closedDual returns the best multipliers of this form, up to so many, or nil.
func (m *model) closedDual(most float64) *tables.Dual {
	step, ok := noise.StaircaseStep(m.Epsilon, m.Loss)
	if !ok {
		return nil
	}
	var best *ramp
	try := func(k int) {
		if k < 4 || k > maxClosedShifts {
			return
		}
		if r := m.ramp(k); r != nil && (best == nil || r.value(m.Delta) > best.value(m.Delta)) {
			best = r
		}
	}
	try(int(math.Round(1 / step))) // one node: what l1 wants
	// As many as there may be, with the end of the core on a node or off it.
	if c := math.Floor(math.Sqrt(most * step / 2)); c > 1 {
		for _, part := range []float64{-0.5, 0, 0.5} {
			try(int((c + part) / step))
		}
	}
	if best == nil {
		return nil
	}
	return best.dual()
}

// ramp is a level A and its prices, on a grid of k cells per sensitivity.
type ramp struct {
	k     int
	node  []float64 // l from 0 on, to somewhat more than a sensitivity
	level float64
	core  []float64 // g of the nodes from 0 on
	price []float64 // η of the shifts from 0 on
}

func (r *ramp) value(delta float64) float64 {
	return r.level - delta*(r.level-r.node[0])
}

// ramp finds the largest level on a grid, by bisection.
func (m *model) ramp(k int) *ramp {
	l := &lower{model: m}
	g := l.cells(k)
	nodes := make([]float64, k+k/4+1)
	for j := range nodes {
		nodes[j] = l.cost(&g, m.Loss, j)
	}
	ratio := math.Exp(m.Epsilon)
	lo, hi := nodes[0], nodes[k/3]
	if !(hi > lo) {
		return nil
	}
	var best *ramp
	for range 50 {
		mid := lo + (hi-lo)/2
		if r := priceRamp(k, nodes, mid, ratio); r != nil {
			best, lo = r, mid
		} else {
			hi = mid
		}
	}
	return best
}

func priceRamp(k int, nodes []float64, level, ratio float64) *ramp {
	r := &ramp{k: k, node: nodes, level: level, price: make([]float64, k+1)}
	var weight, spread float64 // of the core, and what the loss grows by under it
	for j := 0; nodes[j] < level; j++ {
		if j >= k/4 {
			return nil
		}
		r.core = append(r.core, (level-nodes[j])/(level-nodes[0]))
	}
	c := len(r.core)
	if c == 0 {
		return nil
	}
	middle := k / 2
	for j, g := range r.core {
		double := 2.0
		if j == 0 {
			double = 1
		}
		weight += double * g
		spread += double * g * ((nodes[middle-j]+nodes[middle+j])/2 - nodes[middle])
	}
	spread /= weight
	const away = 3 // widths of the core, in which nothing is moved
	for s := away*c + 1; s <= k; s++ {
		r.price[s] = max(nodes[s]-level-spread, 0)
	}
	worst, total := 0.0, 0.0
	for z := c; z < k+c; z++ {
		moved := 0.0
		for j := 1 - c; j < c; j++ {
			if s := z - j; s > 0 && s <= k {
				moved += r.price[s] * r.core[max(j, -j)]
			}
		}
		if moved > 0 {
			worst = max(worst, ratio*moved/(nodes[z]-level))
		}
	}
	for s := range r.price {
		total += 2 * r.price[s] / worst
	}
	if !(total >= level-nodes[0]) || math.IsInf(worst, 0) {
		return nil
	}
	for s := range r.price {
		r.price[s] *= (level - nodes[0]) / (total * worst)
	}
	return r
}

func (r *ramp) dual() *tables.Dual {
	y := make(staircase.Multipliers)
	for s, price := range r.price {
		if price == 0 {
			continue
		}
		y[s] = make(map[int]float64, 2*len(r.core))
		for j, g := range r.core {
			y[s][j], y[s][-j] = price*g, price*g
		}
	}
	return shiftsDual(r.k, y, true)
}
