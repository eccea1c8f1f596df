// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"errors"
	"slices"

	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/lp/internal/engine/ratio"
)

// Answers are generated: a program with few of them has prices, the prices tell which
// others would gain, and these are added until none gains much.

// priced is a solved program.
type priced struct {
	grid grid
	*ratio.Solution
	// short is what other answers can gain at most.
	short float64
	// tolerance is how much of the value that may be.
	tolerance float64
}

const (
	startAnswers = 21
	mostRounds   = 25
	// addShare is the share of the tolerance from which an answer is added.
	addShare = 0.3
	// solveShare is how much more exactly a program is solved than answers are priced.
	solveShare = 0.1
	coarse     = 1e-2
	// unused is the share of an average probability below which an answer is given up.
	unused = 0.02
	// candidates is how many answers are priced at first, on an even grid, and zooms how
	// often the grid is refined, zoomParts times, around those that gain.
	candidates = 1200
	zooms      = 3
	zoomParts  = 4
	// outward is how much further the next grid reaches, where there may be answers beyond
	// one, which has fewCandidates.
	outward       = 4
	fewCandidates = 200
)

// generate solves the program of a grid with ever more answers, until others would lower
// the optimum by no more than the relative tolerance.
func (m *model) generate(ctx context.Context, g grid, tolerance float64) (*priced, error) {
	if len(g.answers) == 0 {
		g.answers = m.firstAnswers()
	}
	if m.Delta > 0 && m.allAnswers() == nil {
		g.answers = m.merged(g.answers, g.nodes) // where masses of their own gain most
	}
	last := 0.1 // the gain to be had, relative
	for round := 0; ; round++ {
		p := m.program(&g, g.answers)
		s, err := m.solve(ctx, p, max(min(last*solveShare, coarse), tolerance))
		if err != nil {
			return nil, err
		}
		add, short := m.price(&g, s, addShare*tolerance*s.Value)
		out := &priced{g.clone(), s, short, tolerance}
		done := last <= tolerance
		last = short / s.Value
		if round >= mostRounds || done && last <= tolerance {
			s.Laws = m.joinOwnMasses(s.Laws)
			return out, nil
		}
		before := g.answers
		if m.allAnswers() == nil {
			g.answers = m.merged(used(p, s, g.answers), add)
		}
		if last > tolerance && slices.Equal(before, g.answers) {
			s.Laws = m.joinOwnMasses(s.Laws)
			return out, nil // those that would gain are too close to others
		}
	}
}

func (m *model) solve(ctx context.Context, p ratio.Program, tolerance float64) (*ratio.Solution, error) {
	m.rounds++
	p.Step = m.step
	return ratio.Solve(ctx, p, tolerance*solveShare)
}

// fewer returns the better of two solutions with at most MaxAnswers: what is left when the least
// likely are given up, some at a time, and evenly spaced ones.
func (m *model) fewer(ctx context.Context, s *priced) (*priced, error) {
	if m.MaxAnswers == 0 || len(s.grid.answers) <= m.MaxAnswers {
		return s, nil
	}
	given, err := m.givenUp(ctx, s)
	if m.Loss == nil || err != nil && !errors.Is(err, ratio.ErrFailed) {
		return given, err
	}
	even, evenErr := m.solved(ctx, s, m.merged(nil, evenly(m.MaxAnswers, m.reach())))
	if evenErr != nil || err == nil && given.Value <= even.Value {
		return given, err
	}
	return even, nil
}

func (m *model) solved(ctx context.Context, s *priced, answers []float64) (*priced, error) {
	g := s.grid.clone()
	g.answers = answers
	again, err := m.solve(ctx, m.program(&g, answers), s.tolerance)
	if err != nil {
		return nil, err
	}
	again.Laws = m.joinOwnMasses(again.Laws)
	return &priced{g, again, s.short, s.tolerance}, nil
}

func (m *model) givenUp(ctx context.Context, s *priced) (*priced, error) {
	for most := m.MaxAnswers; len(s.grid.answers) > most; {
		n := len(s.grid.answers)
		mass := make([]float64, n)
		for _, law := range s.Laws {
			for j, q := range law {
				mass[j] += q
			}
		}
		if m.mirrored {
			for j := range mass[:(n+1)/2] {
				mass[j] += mass[n-1-j]
				mass[n-1-j] = mass[j]
			}
		}
		least := heaviest(mass)[max(most, n-1-n/giveUpShare):]
		var left []float64
		for j, t := range s.grid.answers {
			image := j
			if m.mirrored {
				image = n - 1 - j
			}
			if !slices.Contains(least, j) && !slices.Contains(least, image) {
				left = append(left, t)
			}
		}
		again, err := m.solved(ctx, s, left)
		if err != nil {
			return nil, err
		}
		s = again
	}
	return s, nil
}

// giveUpShare is the inverse of the share of answers given up at a time.
const giveUpShare = 8

// firstAnswers are few and far between, or all where there are not many.
func (m *model) firstAnswers() []float64 {
	if all := m.allAnswers(); all != nil {
		return all
	}
	return m.merged(nil, evenly(startAnswers, m.reach()))
}

// evenly returns so many numbers from −reach to reach.
func evenly(count int, reach float64) (t []float64) {
	for k := range count {
		t = append(t, reach*(2*float64(k)/float64(count-1)-1))
	}
	return t
}

const mostListed = 200

// allAnswers lists all answers if they are few; nil: they are not.
func (m *model) allAnswers() []float64 {
	n, d := 0, m.Demands
	switch {
	case m.Values.Kind == local.Category:
		n = len(m.Costs[0])
	case m.Bounded() && d.Lower == d.Upper:
		n = 1
	case m.Bounded() && d.Step > 0 && (d.Upper-d.Lower)/d.Step < mostListed:
		n = int(m.steps()) + 1
	default:
		return nil
	}
	all := make([]float64, n)
	for j := range all {
		all[j] = float64(j)
		if m.Values.Kind != local.Category {
			all[j] = m.snap((d.Lower + float64(j)*d.Step - m.mid) / m.half)
		}
	}
	return all
}

// merged returns both lists, the second snapped, and with mirror images in a mirrored problem.
func (m *model) merged(answers, add []float64) []float64 {
	out := slices.Clone(answers)
	for _, t := range add {
		t = m.snap(t)
		if out = append(out, t); m.mirrored {
			out = append(out, -t)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// used returns the answers with a probability worth keeping, and two at least: a law of one
// answer has no weights.
func used(p ratio.Program, s *ratio.Solution, answers []float64) []float64 {
	limit := unused / (p.Ratio * float64(len(answers)))
	if least := slices.Sorted(slices.Values(s.Least)); len(least) > 1 {
		limit = min(limit, least[len(least)-2])
	}
	kept := make([]bool, len(s.Least))
	for j, k := range p.Group {
		kept[k] = kept[k] || s.Least[k] >= limit
		for _, own := range s.Laws[p.Laws:] {
			kept[k] = kept[k] || own[j] >= limit
		}
	}
	var out []float64
	for j, t := range answers {
		if kept[p.Group[j]] {
			out = append(out, t)
		}
	}
	return out
}

// price returns the answers that would gain most, each more than the least and than all next to
// it, and the most that any gains.
func (m *model) price(g *grid, s *ratio.Solution, least float64) (add []float64, short float64) {
	if all := m.allAnswers(); all != nil {
		return nil, max(0, -slices.Min(append(m.slacks(g, all, s), 0)))
	}
	count := candidates
	for reach := m.farthest(); ; reach *= outward {
		low, width, beyond := m.lows(g, s, reach, count)
		low, gain := m.zoom(g, s, low, width)
		for k, v := range gain {
			if v < -least {
				add = append(add, low[k])
			}
			short = max(short, -v)
		}
		if !beyond || reach > mostReach*m.farthest() {
			return add, short
		}
		count = fewCandidates
	}
}

// lows returns the answers on an even grid that are worth more than their neighbors, its width,
// and whether there may be others beyond it.
func (m *model) lows(g *grid, s *ratio.Solution, reach float64, count int) (low []float64, width float64, beyond bool) {
	width = 2 * reach / float64(count)
	at := make([]float64, count+1)
	for k := range at {
		at[k] = width*float64(k) - reach
	}
	gain := m.slacks(g, at, s)
	for k := range at {
		if (k == 0 || gain[k] <= gain[k-1]) && (k+1 == len(at) || gain[k] < gain[k+1]) {
			low = append(low, at[k])
		}
	}
	return low, width, m.mayFallBeyond(gain)
}

// mostReach bounds the search for answers that would gain, in halves of the range.
const mostReach = 50

func (m *model) farthest() float64 {
	if m.Bounded() {
		return max(m.Demands.Upper-m.mid, m.mid-m.Demands.Lower) / m.half
	}
	return max(2*m.reach(), 4)
}

// mayFallBeyond reports whether G on an even grid may be negative beyond: it does not rise there.
func (m *model) mayFallBeyond(gain []float64) bool {
	n := len(gain)
	rises := func(end, inner, half float64) bool { return end > 0 && end > inner && end > 1.5*half }
	return !m.Bounded() && !(rises(gain[0], gain[1], gain[n/4]) && rises(gain[n-1], gain[n-2], gain[n-1-n/4]))
}

// zoom moves each answer to the best within a width, and returns what they gain.
func (m *model) zoom(g *grid, s *ratio.Solution, low []float64, width float64) (best, gain []float64) {
	gain = make([]float64, len(low))
	for range zooms {
		// Symmetric lists: the gain is that of an answer and its image.
		var at []float64
		for _, t := range low {
			for k := -zoomParts; k <= zoomParts; k++ {
				at = append(at, m.snap(t+width*float64(k)/zoomParts))
			}
		}
		all := m.gains(g, s, at)
		n := 2*zoomParts + 1
		for i := range low {
			k := 0
			for j := range n {
				if all[i*n+j] < all[i*n+k] {
					k = j
				}
			}
			low[i], gain[i] = at[i*n+k], all[i*n+k]
		}
		width /= zoomParts
	}
	return low, gain
}

// gains returns what answers gain, with their mirror images in a mirrored problem.
func (m *model) gains(g *grid, s *ratio.Solution, answers []float64) []float64 {
	n := len(answers)
	if !m.mirrored {
		return m.slacks(g, answers, s)
	}
	both := slices.Clone(answers)
	for j := range n {
		both = append(both, -answers[n-1-j])
	}
	return m.slacks(g, both, s)[:n]
}

// slacks returns how much each answer is worth, below 0: what the optimum can gain at
// most by it, judged by a solution's prices of the rows of a program. G at the answer, the
// least Σ q·a over laws with probabilities from 1 to Ratio, is made 0 by lowering the
// prices of the totals, which come first, as far as needed; or, far out, by lowering those
// of totals and means in proportion, which leaves a share of the losses. The worth is by
// how much the bound falls that the prices prove. Where G is above 0, it is that.
func (m *model) slacks(g *grid, answers []float64, s *ratio.Solution) []float64 {
	p := m.program(g, answers)
	n := len(answers)
	out, group, slope, losses := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	totals := m.totals(g)
	var size float64
	for _, row := range p.Rows[:totals] {
		size += row.Bound
	}
	a, loss := make([]float64, n), make([]float64, n)
	byLaw := make([][]ratio.Term, p.Laws+p.Free)
	for r, row := range p.Rows {
		for _, t := range row.Terms {
			byLaw[t.Law] = append(byLaw[t.Law], ratio.Term{Law: r, Value: t.Value})
		}
	}
	for i := range p.Laws {
		clear(a)
		clear(loss)
		if p.Cost != nil {
			copy(loss, p.Cost[i])
		}
		var rise float64
		for _, t := range byLaw[i] {
			price, to := s.Prices[t.Law], a
			if p.Rows[t.Law].Kind != ratio.Equal {
				to = loss
			}
			for j, v := range t.Value {
				to[j] -= price * v
			}
			if t.Law < totals {
				rise += t.Value[0]
			}
		}
		for j, k := range p.Group {
			v, r := a[j]+loss[j], 1.0
			if v < 0 {
				r = p.Ratio
			}
			group[k] += r * v
			slope[k] += r * rise
			losses[k] += loss[j]
		}
	}
	for j, k := range p.Group {
		if out[j] = group[k]; out[j] < 0 {
			out[j] *= min(size/slope[k], s.Value/(losses[k]-group[k]))
		}
	}
	return out
}

func (m *model) totals(g *grid) int {
	if g.points != nil {
		return m.averagedShape(g).nodes
	}
	return m.laws(g)
}
