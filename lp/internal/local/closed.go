// SPDX-License-Identifier: Apache-2.0

package local

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/lp/internal/engine/ratio"
	"github.com/noisewright/noisewright/lp/internal/meet"
)

// A design starts from the best randomizer in closed form, so that it has a proven one whatever
// the time: randomized response (Warner 1965; Kairouz, Bonawitz & Ramage 2016 among k answers)
// to values rounded at random to one of k, or one answer for all. With delta > 0 the value
// itself is answered with this probability. Unbiased answers are spread by what responses shrink.

const (
	// closedMargin is the share of e^ε − 1 and of δ that rounding to weights may use up.
	closedMargin = 0x1p-12
	// closedTries is how many randomizers, the best first, are certified until one is kept.
	closedTries = 4
	// cheapWeights is about how many weights one has that is certified whatever the time, and
	// closedWeights bounds those of all.
	cheapWeights  = 1 << 7
	closedWeights = 1 << 12
	// closedConstants is how many answers for all are tried.
	closedConstants = 17
	// rare is the probability of answers beside one for all, which itself has no weight of 2^64.
	rare = 0x1p-30
)

var closedAnswers = []int{2, 3, 5, 9, 17, 33}

// begin keeps the best randomizer in closed form that keeps the demands, if there is one.
func (d *designer) begin(ctx context.Context) {
	all := d.closed()
	slices.SortStableFunc(all, func(a, b *priced) int { return cmp.Compare(a.Value, b.Value) })
	var cheap []*priced
	for _, s := range all {
		if n := len(s.Laws) * len(s.grid.answers); n <= max(cheapWeights, 4*len(s.Laws)) && n <= closedWeights {
			cheap = append(cheap, s)
		}
	}
	d.first(context.WithoutCancel(ctx), cheap)
	d.first(ctx, all)
}

// first keeps the first of some randomizers that keeps the demands exactly.
func (d *designer) first(ctx context.Context, all []*priced) {
	for _, s := range all[:min(len(all), closedTries)] {
		if err := d.roundMasses(ctx, s); err == nil {
			return
		}
	}
}

// closed lists randomizers in closed form.
func (d *designer) closed() (all []*priced) {
	counts := closedAnswers
	if d.Values.Kind == local.Integer {
		counts = append(slices.Clip(counts), d.Values.Count())
	}
	add := func(g grid, laws [][]float64) {
		fits := len(laws)*len(g.answers) <= closedWeights || len(g.answers) <= 2 || d.Values.Kind == local.Category
		fits = fits && (d.Values.Kind != local.Real || len(g.nodes) <= d.Options.MaxCells+1)
		if len(g.answers) < 2 || !fits || d.MaxAnswers > 0 && len(g.answers) > d.MaxAnswers {
			return
		}
		if s := d.valued(g, laws); s != nil {
			all = append(all, s)
		}
	}
	switch u := d.Demands; {
	case d.Values.Kind == local.Category:
		d.closedChoices(add)
	case u.Unbiased && (u.Step > 0 || d.Bounded()):
		d.closedPairs(add)
	case u.Unbiased:
		for _, k := range counts {
			own, other := d.response(k)
			add(d.responses(k, 1/(own-other)))
		}
	default:
		for _, k := range counts {
			for _, spread := range []float64{0.25, 0.5, 0.75, 1} {
				add(d.responses(k, spread))
			}
		}
		d.closedConstant(add)
	}
	return all
}

// response returns the probabilities of the own answer, and of each other one, of randomized
// response among k.
func (m *model) response(k int) (own, other float64) {
	e, delta := 1+math.Expm1(m.Epsilon)*(1-closedMargin), m.Delta*(1-closedMargin)
	other = (1 - delta) / (e + float64(k-1))
	return 1 - float64(k-1)*other, other
}

// closedNodes are k nodes of real values, if their number is not fixed.
func (m *model) closedNodes(k int) []float64 { return m.nodes(cmp.Or(m.Cells, k-1)) }

// responses is randomized response among k values, evenly spaced, whose answers are spread.
func (m *model) responses(k int, spread float64) (grid, [][]float64) {
	own, other := m.response(k)
	answers := evenly(k, spread)
	for j := range answers {
		answers[j] = m.snap(answers[j])
	}
	g := grid{nodes: m.closedNodes(k), answers: m.merged(nil, answers)}
	laws := meet.Matrix(len(g.nodes), len(g.answers))
	for i, t := range g.nodes {
		at := (t + 1) / 2 * float64(k-1)
		low := min(int(at), k-2)
		up := at - float64(low)
		for j, y := range answers {
			mass := other
			switch j {
			case low:
				mass += (own - other) * (1 - up)
			case low + 1:
				mass += (own - other) * up
			}
			laws[i][slices.Index(g.answers, y)] += mass
		}
	}
	return g, laws
}

// closedPairs are unbiased answers of which nearly all are two, no closer than randomized response
// among two wants them, or as far apart as they may be. Where these two have no weights of 2^-64
// with exactly the means, two rare ones between them, a power of 2 of units away, help.
func (m *model) closedPairs(add func(grid, [][]float64)) {
	own, other := m.response(2)
	reach := []float64{1 / (own - other)}
	if m.Bounded() {
		reach = append(reach, m.farthest())
	}
	step := m.Demands.Step / m.half
	for _, r := range reach {
		low, high := m.snap(-r), m.snap(r)
		if low > -r {
			low = m.snap(low - step)
		}
		if high < r {
			high = m.snap(high + step)
		}
		unit := cmp.Or(step, m.grain)
		in := unit * math.Exp2(math.Floor(math.Log2((high-low)/unit))-2)
		for _, rarely := range []float64{0, max(closedMargin/8*other, rare/16)} {
			g := grid{nodes: m.closedNodes(2), answers: m.merged(nil, []float64{low, low + in, high - in, high})}
			if rarely == 0 {
				g.answers = []float64{low, high}
			}
			laws := meet.Matrix(len(g.nodes), len(g.answers))
			for i, t := range g.nodes {
				between := float64(len(g.answers)-2) * rarely
				for j := range laws[i] {
					laws[i][j] = rarely
				}
				up := (t - between*(low+high)/2 - (1-between)*low) / (high - low)
				laws[i][0], laws[i][len(laws[i])-1] = 1-between-up, up
			}
			add(g, laws)
		}
	}
}

// closedConstant are laws that are the same for all values.
func (m *model) closedConstant(add func(grid, [][]float64)) {
	at := []float64{0}
	if !m.mirrored {
		at = evenly(closedConstants, 1)
	}
	apart := max(0.25, m.Demands.Step/m.half)
	for _, t := range at {
		g := grid{nodes: m.closedNodes(2), answers: m.merged(nil, []float64{t - apart, t, t + apart})}
		law := slices.Repeat([]float64{rare}, len(g.answers))
		law[slices.Index(g.answers, m.snap(t))] = 1 - rare*float64(len(law)-1)
		add(g, slices.Repeat([][]float64{law}, len(g.nodes)))
	}
}

// closedChoices are responses among the best answers of the categories, and one answer for all.
func (m *model) closedChoices(add func(grid, [][]float64)) {
	best := make([]float64, len(m.Costs))
	for i, row := range m.Costs {
		best[i] = float64(slices.Index(row, slices.Min(row)))
	}
	nodes := m.nodes(0)
	g := grid{nodes: nodes, answers: slices.Compact(slices.Sorted(slices.Values(best)))}
	own, other := m.response(len(g.answers))
	laws := meet.Matrix(len(nodes), len(g.answers))
	for i, law := range laws {
		for j, y := range g.answers {
			if law[j] = other; y == best[i] {
				law[j] = own
			}
		}
	}
	add(g, laws)
	var least float64
	for j := range m.Costs[0] {
		var sum, worst float64
		for i, row := range m.Costs {
			sum, worst = sum+m.share(i)*row[j], max(worst, row[j])
		}
		if m.Objective == local.Worst {
			sum = worst
		}
		if j == 0 || sum < least {
			least, g.answers = sum, []float64{float64(j), float64((j + 1) % len(m.Costs[0]))}
		}
	}
	law := []float64{1 - rare, rare}
	if g.answers[0] > g.answers[1] {
		slices.Reverse(g.answers)
		slices.Reverse(law)
	}
	add(g, slices.Repeat([][]float64{law}, len(nodes)))
}

// valued returns laws with about their loss, nil if they do not keep the cap.
func (d *designer) valued(g grid, laws [][]float64) *priced {
	var worst, mean float64
	for _, p := range d.startPlaces(&g) {
		worst = max(worst, d.lossOf(&g, p, laws))
	}
	for i, row := range d.costs(&g, g.answers) {
		for j, c := range row {
			mean += c * laws[i][j]
		}
	}
	switch {
	case d.Demands.Cap > 0 && worst*d.unit > d.Demands.Cap:
		return nil
	case d.Objective == local.Worst:
		mean = worst
	}
	return &priced{grid: g, Solution: &ratio.Solution{Laws: laws, Value: mean}}
}
