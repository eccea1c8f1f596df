// SPDX-License-Identifier: Apache-2.0

package local

import (
	"cmp"
	"math"
	"math/big"
	"slices"

	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/lp/internal/engine"
	"github.com/noisewright/noisewright/lp/internal/engine/ratio"
	"github.com/noisewright/noisewright/lp/internal/meet"
	"github.com/noisewright/noisewright/proof"
)

// model is a localProblem as the linear programs see it: values from −1 to 1 (of
// categories their numbers), and costs of about 1.
type model struct {
	Problem
	// mid + half·t is the value t; steps of half·grain away from mid are float64s exactly.
	mid, half, grain float64
	unit             float64 // of costs
	mirrored         bool    // the problem is its own mirror image
	density          []weightPiece
	margin           float64 // the share of e^ε − 1 that rounding to weights may use up
	rounds           int     // programs solved so far
	step             func(work float64)
}

// weightPiece is a piece of the density of values on [−1, 1], whose integral is 1.
type weightPiece struct{ from, to, density float64 }

// grainBits: answers and nodes are multiples of 2^-grainBits of the range. Then unbiased weights
// are few units from any (see exactRows), and no answer is missed.
const grainBits = 30

// leastMargin is the margin to start with where a small gap is wanted.
const leastMargin = 0x1p-20

func newModel(p Problem) *model {
	m := &model{Problem: p, half: 1, unit: 1, margin: leastMargin}
	if p.Values.Kind == local.Category {
		var most float64
		for _, row := range p.Costs {
			most = max(most, slices.Max(row))
		}
		m.unit = cmp.Or(most, 1)
		return m
	}
	v := p.Values
	m.half = (v.Upper - v.Lower) / 2
	// Answers lie within some reach of the range: they are float64s if the lattice is no
	// finer than the last bit of the largest.
	largest := max(math.Abs(v.Lower), math.Abs(v.Upper)) + m.half*m.reach()*4
	_, exp := math.Frexp(m.half)
	_, top := math.Frexp(largest)
	grain := math.Ldexp(1, max(exp-grainBits, top-53))
	m.mid = math.Round((v.Lower+m.half)/grain) * grain
	m.grain = grain / m.half
	m.unit = max(p.Loss.At(m.half*m.reach()), p.Loss.At(-m.half*m.reach()))
	if !(m.unit > 0) {
		m.unit = 1
	}
	m.density = densityOf(v, m.mid, m.half)
	m.mirrored = m.isMirrored()
	return m
}

// reach returns how far answers lie from the middle, in halves of the range: those of the best
// mechanism with two answers, and a bit.
func (m *model) reach() float64 {
	if !m.Demands.Unbiased {
		return 1.25
	}
	return 1.25 * (1 + 2*(1-m.Delta)/(math.Expm1(m.Epsilon)+2*m.Delta))
}

func densityOf(v local.Values, mid, half float64) []weightPiece {
	pieces := v.Weight
	if len(pieces) == 0 {
		pieces = []proof.Piece{{From: v.Lower, Weight: 1}}
	}
	var out []weightPiece
	var total float64
	for i, p := range pieces {
		to := v.Upper
		if i+1 < len(pieces) {
			to = pieces[i+1].From
		}
		out = append(out, weightPiece{(p.From - mid) / half, (to - mid) / half, p.Weight})
		total += (to - p.From) / half * p.Weight
	}
	for i := range out {
		out[i].density /= total
	}
	return out
}

func (m *model) isMirrored() bool {
	d, s := m.Demands, m.Values.Shares
	if !m.Loss.Symmetric() || d.Step != 0 || m.Bounded() && d.Lower+d.Upper != m.Values.Lower+m.Values.Upper {
		return false
	}
	for i, p := range m.density {
		q := m.density[len(m.density)-1-i]
		if math.Abs(p.from+q.to) > 1e-9 || math.Abs(p.density-q.density) > 1e-9*p.density {
			return false
		}
	}
	for i := range s {
		if s[i] != s[len(s)-1-i] {
			return false
		}
	}
	return true
}

// value returns the value t in units of the problem.
func (m *model) value(t float64) float64 { return m.mid + math.Round(t/m.grain)*(m.grain*m.half) }

// answer returns the answer t in units of the problem.
func (m *model) answer(t float64) float64 {
	d := m.Demands
	if d.Step != 0 {
		y := new(big.Rat).SetFloat64(math.Round((m.mid + m.half*t - d.Lower) / d.Step))
		y.Mul(y, exact.Rational(d.Step)).Add(y, exact.Rational(d.Lower))
		f, _ := y.Float64()
		return f
	}
	y := m.value(t)
	if m.Bounded() {
		y = min(max(y, d.Lower), d.Upper)
	}
	return y
}

// snap returns the allowed answer next to t.
func (m *model) snap(t float64) float64 {
	d := m.Demands
	if m.Bounded() {
		t = min(max(t, (d.Lower-m.mid)/m.half), (d.Upper-m.mid)/m.half)
	}
	if d.Step == 0 {
		return math.Round(t/m.grain) * m.grain
	}
	k := (m.mid + m.half*t - d.Lower) / d.Step
	if m.Bounded() {
		k = min(k, m.steps())
	}
	return (math.Round(k)*d.Step + d.Lower - m.mid) / m.half
}

// steps returns how many steps there are between the bounds of the answers. The last answer is
// rounded, and may lie beyond the bound that it should meet.
func (m *model) steps() float64 {
	d := m.Demands
	n := math.Floor((d.Upper-d.Lower)/d.Step + 1e-9)
	for n > 0 && m.answer((d.Lower+n*d.Step-m.mid)/m.half) > d.Upper {
		n = min(n-1, math.Nextafter(n, 0)) // beyond 2^53, n-1 is n
	}
	return n
}

// at is a value at which a law is charged, and how much.
type at struct{ x, weight float64 }

func (m *model) cost(y float64, charged []at) float64 {
	var sum float64
	for _, p := range charged {
		if m.Loss == nil {
			sum += p.weight * m.Costs[int(p.x)][int(y)]
			continue
		}
		sum += p.weight * m.Loss.At((y-p.x)*m.half)
	}
	return sum / m.unit
}

// grid holds the nodes and answers of a program, ascending, and mirrored in a mirrored problem.
type grid struct {
	nodes, answers []float64
	places         []place
	// points, in averaged programs, are the values that have laws, with their share of the range.
	points []at
	kept   float64 // the share of the cap that losses at places keep; 0: all of it
}

func (g *grid) clone() grid {
	return grid{slices.Clone(g.nodes), slices.Clone(g.answers), slices.Clone(g.places), slices.Clone(g.points), g.kept}
}

// place is where the loss is bounded: at the mixture of two neighboring nodes, theta of the next.
type place struct {
	node  int
	theta float64
}

// nodes returns those of a grid of real values, and the numbers of values of other kinds.
func (m *model) nodes(intervals int) []float64 {
	var nodes []float64
	switch v := m.Values; v.Kind {
	case local.Category:
		for i := range v.Labels {
			nodes = append(nodes, float64(i))
		}
		return nodes
	case local.Integer:
		intervals = v.Count() - 1
	case local.Real:
	}
	for i := range intervals + 1 {
		t := float64(2*i-intervals) / float64(intervals)
		if m.Values.Kind == local.Real && i > 0 && i < intervals {
			t = math.Round(t/m.grain) * m.grain
		}
		nodes = append(nodes, t)
	}
	return nodes
}

func (g *grid) x(p place) float64 {
	if p.theta == 0 {
		return g.nodes[p.node]
	}
	return (1-p.theta)*g.nodes[p.node] + p.theta*g.nodes[p.node+1]
}

// laws returns the number of laws of the program: one of two mirrored ones.
func (m *model) laws(g *grid) int {
	return engine.Laws{Inputs: len(g.nodes), Mirrored: m.mirrored}.Own()
}

// folded returns the law that stands for a node, and what it is charged for.
func (m *model) folded(g *grid, node int, charged []at) (int, []at) {
	if node < m.laws(g) {
		return node, charged
	}
	image := make([]at, len(charged))
	for i, c := range charged {
		image[i] = at{-c.x, c.weight}
	}
	return len(g.nodes) - 1 - node, image
}

// program states the program on a grid for answers that may be others than the grid's: then its
// reduced costs tell what they would gain. The rows are totals, means if unbiased, and losses.
func (m *model) program(g *grid, answers []float64) ratio.Program {
	if g.points != nil {
		return m.averagedProgram(g, answers)
	}
	laws := m.laws(g)
	p := ratio.Program{Ratio: m.ratio(), Laws: laws, Group: m.groups(answers)}
	ones := slices.Repeat([]float64{1}, len(answers))
	for i := range laws {
		p.Rows = append(p.Rows, ratio.Row{Terms: []ratio.Term{{Law: i, Value: ones}}, Bound: 1})
	}
	if m.Demands.Unbiased {
		scaled := scaledBy(answers, 1/m.reach())
		for i := range laws {
			p.Rows = append(p.Rows, ratio.Row{Terms: []ratio.Term{{Law: i, Value: scaled}}, Bound: g.nodes[i] / m.reach()})
		}
	}
	for _, at := range g.places {
		p.Rows = append(p.Rows, m.lossRow(g, at, answers))
	}
	if m.Objective == local.Mean {
		p.Cost = m.costs(g, answers)
	}
	if m.Delta > 0 {
		m.addOwnMasses(&p, laws, ones)
	}
	return p
}

// addOwnMasses gives each law further masses, at most δ in all, that are not bound by the ratio:
// what is positive in the divergence of two laws. The rows that bound them come before those of
// the places.
func (m *model) addOwnMasses(p *ratio.Program, laws int, ones []float64) {
	p.Free = laws
	for r, row := range p.Rows {
		for _, t := range row.Terms {
			p.Rows[r].Terms = append(p.Rows[r].Terms, ratio.Term{Law: laws + t.Law, Value: t.Value})
		}
	}
	if p.Cost != nil {
		p.Cost = append(p.Cost, p.Cost...)
	}
	var rows []ratio.Row
	for i := range laws {
		rows = append(rows, ratio.Row{
			Terms: []ratio.Term{{Law: laws + i, Value: ones}}, Bound: m.Delta*(1-m.margin) - 0x1p-50, Kind: ratio.AtMost,
		})
	}
	first := laws
	if m.Demands.Unbiased {
		first *= 2
	}
	p.Rows = slices.Insert(p.Rows, first, rows...)
}

func (m *model) joinOwnMasses(laws [][]float64) [][]float64 {
	if m.Delta == 0 {
		return laws
	}
	n := len(laws) / 2
	for i, own := range laws[n:] {
		for j, p := range own {
			laws[i][j] += p
		}
	}
	return laws[:n]
}

// groups numbers answers that are mirror images of each other alike.
func (m *model) groups(answers []float64) []int {
	group := make([]int, len(answers))
	for j := range group {
		group[j] = j
		if m.mirrored {
			group[j] = min(j, len(answers)-1-j)
		}
	}
	return group
}

func (m *model) lossRow(g *grid, p place, answers []float64) ratio.Row {
	row := ratio.Row{Kind: ratio.AtMostT}
	if m.Objective == local.Mean {
		row.Kind, row.Bound = ratio.AtMost, cmp.Or(g.kept, 1)*m.Demands.Cap/m.unit
	}
	x := g.x(p)
	add := func(node int, share float64) {
		if share == 0 {
			return
		}
		law, charged := m.folded(g, node, []at{{x, share}})
		value := make([]float64, len(answers))
		for j, y := range answers {
			value[j] = m.cost(y, charged)
		}
		for i, t := range row.Terms {
			if t.Law == law { // both neighbors of the middle
				for j := range value {
					row.Terms[i].Value[j] += value[j]
				}
				return
			}
		}
		row.Terms = append(row.Terms, ratio.Term{Law: law, Value: value})
	}
	add(p.node, 1-p.theta)
	if p.theta != 0 {
		add(p.node+1, p.theta)
	}
	return row
}

// costs returns the integral of the loss over the hat that random rounding gives each node, times
// the weight.
func (m *model) costs(g *grid, answers []float64) [][]float64 {
	out := meet.Matrix(m.laws(g), len(answers))
	for i := range out {
		charged := m.hat(g, i)
		if m.mirrored && 2*i+1 != len(g.nodes) {
			for k := range charged {
				charged[k].weight *= 2
			}
		}
		for j, y := range answers {
			out[i][j] = m.cost(y, charged)
		}
	}
	return out
}

// hat returns the values around a node with their weights: for real values, points and
// weights of a quadrature of hat·density.
func (m *model) hat(g *grid, node int) []at {
	if m.Values.Kind != local.Real {
		return []at{{g.nodes[node], m.share(node)}}
	}
	var out []at
	side := func(from, to float64) { // the hat is 1 at to
		lo, hi := min(from, to), max(from, to)
		for _, p := range m.density {
			a, b := max(lo, p.from), min(hi, p.to)
			if !(a < b) || p.density == 0 {
				continue
			}
			for k, x := range gaussPoints {
				at3 := (a+b)/2 + (b-a)/2*x
				out = append(out, at{at3, (b - a) / 2 * gaussWeights[k] * p.density * (at3 - from) / (to - from)})
			}
		}
	}
	if node > 0 {
		side(g.nodes[node-1], g.nodes[node])
	}
	if node+1 < len(g.nodes) {
		side(g.nodes[node+1], g.nodes[node])
	}
	return out
}

// Gauss–Legendre points of order 3, exact for the squared loss times a hat.
var (
	gaussPoints  = [...]float64{-0.7745966692414834, 0, 0.7745966692414834}
	gaussWeights = [...]float64{5.0 / 9, 8.0 / 9, 5.0 / 9}
)

func (m *model) share(node int) float64 {
	total := meet.Total(m.Values.Shares)
	if total == 0 {
		return 1 / float64(m.Values.Count())
	}
	return m.Values.Shares[node] / total
}

// ratio returns e^ε less a margin; for ε = 0 a hair above 1, so that there is an interior.
func (m *model) ratio() float64 { return 1 + max(math.Expm1(m.Epsilon)*(1-m.margin), m.margin) }
