// SPDX-License-Identifier: Apache-2.0

package account

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

// laws is the profile of a mechanism with one law of answers for each of finitely many inputs: the
// supremum over the pairs of inputs that are neighbors. Both orders of each are there.
type laws struct {
	epsilon float64 // that the mechanism promises
	rows    []law
	pairs   []proof.Pair // the largest of their profiles bounds those of all neighbors from above
	own     []proof.Pair // the pairs of inputs that are neighbors, for lower bounds
	coarse  []float64
	// probe is the pair of the largest finite expected loss, and mean that loss.
	probe proof.Pair
	mean  float64
}

// LossOf is a release of one answer of a mechanism of whatever form; of a table, one of noise drawn
// from it, for the sensitivity it promises. It trusts the weights of the mechanism and which inputs
// are neighbors, and nothing that it claims: what does not verify is accounted for as what it is. A
// proof.Drawer without laws is accounted for by the epsilon that it promises, if it keeps that, and the
// delta that is proved of it.
//
// The error wraps [dp.ErrInvalid] if there is no mechanism, or for a table whose cells do not
// cover its sensitivity or that has a tail that is not purely private; and proof.ErrWork if
// checking it takes more than the default work and was not done before, or if it has too many
// laws, or too many cells, of a tail those that matter, for so many shifts.
func LossOf(m proof.Mechanism) (*PrivacyLossDistribution, error) {
	if t, ok := m.(*tables.Table); ok {
		return lossOfTable(t)
	}
	c, ok := m.(proof.Lossy)
	if _, draws := m.(proof.Drawer); !ok && draws {
		return lossOfPromise(m)
	}
	if !ok {
		return nil, check.Field("account", "mechanism", fmt.Sprintf("a %T", m), "a table, a proof.Lossy or a proof.Drawer")
	}
	noun := m.Form().File.Noun
	v, err := m.Prove(context.Background(), proof.Options{})
	if v == nil && (errors.Is(err, dp.ErrInvalid) || errors.Is(err, proof.ErrWork)) {
		return nil, check.Errorf("account", nil, "%s: %w", noun, err)
	}
	rows := c.Rows()
	all, own := c.Pairs()
	return newLaws(noun, m.Privacy().Epsilon, rows, distinct(rows, all), distinct(rows, own))
}

// lossOfPromise is LossOf of a mechanism of which only the epsilon that it promises is known, and the
// delta that is proved there.
func lossOfPromise(m proof.Mechanism) (*PrivacyLossDistribution, error) {
	v, err := m.Prove(context.Background(), proof.Options{})
	if err != nil {
		return nil, check.Errorf("account", dp.ErrInvalid, "%s: %w", m.Form().File.Noun, err)
	}
	return Approximate(m.Privacy().Epsilon, exact.FloatUp(v.Bounds().Delta))
}

// distinct returns the pairs. If rows and pairs are their own mirror images, every profile is
// there twice, and it returns one pair of each two.
func distinct(rows [][]uint64, pairs []proof.Pair) []proof.Pair {
	n := len(rows)
	there := make(map[proof.Pair]bool, len(pairs))
	symmetric := true
	for _, c := range pairs {
		there[c] = true
		symmetric = symmetric && c.Shift == 0
	}
	for i := range rows {
		symmetric = symmetric && slices.Equal(rows[i], reversed(rows[n-1-i]))
	}
	image := func(c proof.Pair) proof.Pair { return proof.Pair{Gain: n - 1 - c.Gain, Lose: n - 1 - c.Lose} }
	for _, c := range pairs { // cells of different widths have neighbors of their own
		symmetric = symmetric && there[image(c)]
	}
	var out []proof.Pair
	for _, c := range pairs {
		if i := image(c); !symmetric || cmp.Or(cmp.Compare(i.Gain, c.Gain), cmp.Compare(i.Lose, c.Lose)) >= 0 {
			out = append(out, c)
		}
	}
	return out
}

// newLaws makes the profile of laws.
func newLaws(name string, epsilon float64, rows [][]uint64, pairs, own []proof.Pair) (*PrivacyLossDistribution, error) {
	l := &laws{epsilon: epsilon, pairs: pairs, own: own}
	for _, row := range rows {
		l.rows = append(l.rows, law{row, logs(row)})
	}
	if len(l.pairs) == 0 { // all inputs have one law
		l.pairs = []proof.Pair{{}}
	}
	if len(l.own) == 0 {
		l.own = []proof.Pair{{}}
	}
	if compared := int64(len(l.pairs)) * int64(len(rows[0])); compared > maxPairs {
		return nil, check.Errorf("account", proof.ErrWork, "%s: %d pairs of laws over %d answers are more than %d comparisons, the most that are accounted for", name, len(l.pairs), len(rows[0]), maxPairs)
	}
	for i, c := range l.own {
		mean := 0.0
		l.finite(c, func(p, loss float64) { mean += p * loss })
		if i == 0 || mean > l.mean {
			l.probe, l.mean = c, mean
		}
	}
	l.coarse = l.upper(coarseLosses)
	return &PrivacyLossDistribution{pair: l}, nil
}

// finite calls a function with the probabilities under P of outputs that Q has too, and
// their losses, right to a few roundoffs. It returns the probability of the others.
func (l *laws) finite(c proof.Pair, do func(p, loss float64)) (lone float64) {
	p, q := l.rows[c.Gain], l.rows[c.Lose]
	for j, w := range p.weights {
		switch {
		case w == 0:
		case at(q.weights, j-c.Shift) == 0:
			lone += float64(w) * 0x1p-64
		default:
			do(float64(w)*0x1p-64, p.logs[j]-q.logs[j-c.Shift])
		}
	}
	return lone
}

func (l *laws) deltaUpper(epsilon float64) float64 {
	r, most := exact.RatioDown(math.Min(epsilon, check.MaxEpsilon)), new(big.Int)
	for _, c := range l.pairs {
		if d := r.ShiftedDivergence(l.rows[c.Gain].weights, l.rows[c.Lose].weights, c.Shift); d.Cmp(most) > 0 {
			most = d
		}
	}
	return exact.FloatUp(exact.Probability(most))
}

func (l *laws) epsilonUpper(delta float64) (float64, error) {
	return solveOnGrids(l.coarse, l.upper, l.deltaUpper, delta)
}

func (l *laws) deltaLower(epsilon float64) float64 {
	if epsilon > check.MaxEpsilon {
		return 0
	}
	e, high, best := math.Exp(epsilon), ratioUp(epsilon), 0.0
	for _, c := range l.own {
		best = math.Max(best, excess(l.rows[c.Gain].weights, l.rows[c.Lose].weights, c.Shift, true, e, high))
	}
	return best * (1 - 8*roundoff)
}

func (l *laws) extent(tail float64) (least, most float64) {
	most = reach(l.coarse, tail)
	return -most, most
}

func (l *laws) unit(float64) float64 { return l.epsilon }
func (l *laws) narrow() float64      { return math.Inf(1) }

// fits looks at what rounding the losses of one pair down costs, and what regrouping them
// does where there are enough of them.
func (l *laws) fits(step float64) bool {
	all, lost := 0.0, 0.0 // in steps
	l.finite(l.probe, func(p, loss float64) {
		x := loss/step + slackShare
		all += p
		lost += p * (x - math.Floor(x))
	})
	if lost <= mostLost*all {
		return true
	}
	end := math.Ceil(reach(l.coarse, 0)/step) + 1
	if answers := len(l.rows[0].weights); end > float64(answers) {
		return false
	}
	d := l.onGrid(grid{step: step, first: -int(end), last: int(end)}, l.probe)
	kept := 0.0
	for i, m := range d.mass {
		kept += m * float64(d.first+i) * step
	}
	return l.mean-kept <= mostLost*step
}

// maxHeights bounds the heights that upper computes, over all pairs.
const maxHeights = 1 << 29

func (l *laws) upper(g grid) []float64 {
	if every := int(int64(len(l.pairs))*int64(g.len())/maxHeights) + 1; every > 1 {
		return chords(g, every, l.envelope)
	}
	return l.envelope(g)
}

// envelope is the largest of [losses.raise] over the pairs.
func (l *laws) envelope(g grid) []float64 {
	out := make([]float64, g.len())
	b, alphas := newLosses(g), discounted(g)
	for _, c := range l.pairs {
		b.spread(g, c.Shift, l.rows[c.Gain], l.rows[c.Lose], countSlack)
		b.raise(out, alphas, exact.Uint128{})
	}
	for i := range out {
		out[i] = math.Min(1, out[i]*0x1p-64*(1+8*roundoff))
	}
	return out
}

// chords returns bounds above a profile at the losses of a grid from bounds, with the slack of
// raise, at every so many of them: the profile is convex in α, so nowhere above its chords.
func chords(g grid, every int, upper func(grid) []float64) []float64 {
	thin := grid{step: g.step * float64(every), first: int(math.Floor(float64(g.first) / float64(every)))}
	thin.last = int(math.Ceil(float64(g.last)/float64(every))) + 1
	heights := upper(thin)
	out := make([]float64, g.len())
	for i := range out {
		at := g.first + i - thin.first*every // in steps of g
		k, part := at/every, float64(at%every)*g.step
		// The share of the way in α, rounded down.
		share := math.Expm1(part) / math.Expm1(thin.step) * (1 - 16*roundoff)
		out[i] = (heights[k] - share*(heights[k]-heights[k+1])) * (1 + 8*roundoff)
	}
	return out
}

// onGrid returns a sub-law of the losses of the pair on the grid, regrouped.
func (l *laws) onGrid(g grid, c proof.Pair) *pmf {
	b := newLosses(g)
	b.spread(g, c.Shift, l.rows[c.Gain], l.rows[c.Lose], g.slack()/2)
	d := &pmf{step: g.step, first: g.first, mass: make([]float64, g.len())}
	d.infinityMass = b.lone.Float64() * 0x1p-64 * (1 - 8*roundoff)
	gain, price := make([]float64, g.len()), make([]float64, g.len())
	for i := range gain {
		gain[i], price[i] = b.gain[i].Float64()*0x1p-64, b.price[i].Float64()*0x1p-64
	}
	d.regroup(g, gain, price)
	return d
}

// lower takes the pair of the largest moment, and that of the largest mass at infinity.
func (l *laws) lower(g grid, theta float64) []*pmf {
	var finite, lone proof.Pair
	top, best, most := reach(l.coarse, 0), -1.0, -1.0
	for _, c := range l.own {
		moment := 0.0
		infinity := l.finite(c, func(p, loss float64) { moment += p * math.Exp(theta*(loss-top)) })
		if moment > best {
			finite, best = c, moment
		}
		if infinity > most {
			lone, most = c, infinity
		}
	}
	d := l.onGrid(g, finite)
	if lone == finite || most <= 1.001*d.infinityMass { // not worth another composition
		return []*pmf{d}
	}
	return []*pmf{d, l.onGrid(g, lone)}
}
