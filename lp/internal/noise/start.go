package noise

import (
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/lp/internal/meet"
	"github.com/noisewright/noisewright/lp/internal/noise/staircase"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

// With one cell per sensitivity both programs are chains, which need no solver:
// every constraint ties a cell to its neighbor. A Design starts from them. For
// small epsilon they nearly meet, and cells are so many that a solver is slow.

// chainTable is the optimum of the upper program at K = 1 without an atom, for
// a symmetric loss that does not decrease away from 0: the integer law of Awan
// & Dong (see noise.AwanDongTails), spread over cells.
func (m *model) chainTable(maxCells int) (t *tables.Verified, err error) {
	reach := SupportBound(m.Problem)
	if 2*reach > float64(maxCells) {
		return nil, tooManyCells(maxCells)
	}
	for _, margin := range []float64{1e-7, 1e-5, 1e-3} {
		var tails []float64
		epsilon, delta := upper{m}.privacy(grid{}.centered(int(reach)+1), margin)
		tails, err = noise.AwanDongTails(max(epsilon, 0), delta)
		if err != nil {
			return nil, check.Errorf("lp", nil, "%w", err)
		}
		half := len(tails)
		if 2*half+1 > maxCells {
			return nil, tooManyCells(maxCells)
		}
		masses := make([]float64, 2*half+1)
		masses[half] = 1 - 2*tails[0]
		for i, beyond := range tails { // the mass beyond cell i, on each side
			mass := beyond
			if i+1 < half {
				mass -= tails[i+1]
			}
			masses[half+i+1], masses[half-i-1] = mass, mass
		}
		t, err = m.makeTable(upper{m}.cells(1).centered(half), masses, 0)
		if !errors.Is(err, proof.ErrNotPrivate) {
			break
		}
	}
	return t, err
}

// chainDual solves the dual of the lower program at K = 1. With the multipliers
// y_j of the shift by −1, j ≥ 0, and their mirror images, the coefficients are
//
//	c_0 = l_0 + 2y_0,   c_j = l_j + y_j − e^ε y_{j−1},
//
// so the least y with all c_j ≥ λ follow one another, and the bound that λ gives, λ − 2δ·max y, is
// concave in λ. The search starts from the loss of a known table.
func (m *model) chainDual(loss float64, maxCells int) *tables.Dual {
	var nodes []float64
	l := &lower{model: m}
	g := l.cells(1)
	node := func(j int) float64 {
		for len(nodes) <= j {
			nodes = append(nodes, l.cost(&g, m.Loss, len(nodes)))
		}
		return nodes[j]
	}
	ratio := math.Exp(m.Epsilon)
	// multipliers returns the least y and their largest, or ok = false if they grow past all use.
	multipliers := func(level float64) (y []float64, top float64, ok bool) {
		last := max(0, (level-node(0))/2)
		y, top = append(y, last), last
		for j := 1; last > 0 || node(j) < level; j++ {
			last = max(0, level-node(j)+ratio*last)
			if j > maxCells || last > level/m.Delta {
				return nil, 0, false
			}
			y, top = append(y, last), max(top, last)
		}
		return y, top, true
	}
	value := func(level float64) float64 {
		_, top, ok := multipliers(level)
		if !ok {
			return math.Inf(-1)
		}
		return level - 2*m.Delta*top
	}
	lo, hi := 0.0, loss
	for value(2*hi) > value(hi) {
		hi *= 2
	}
	hi *= 2
	for range 120 {
		a, b := lo+(hi-lo)/3, hi-(hi-lo)/3
		if value(a) < value(b) {
			lo = a
		} else {
			hi = b // also where both are beyond all use
		}
	}
	y, _, ok := multipliers(lo)
	if !ok {
		return nil
	}
	return shiftsDual(1, staircase.Multipliers{-1: maps.Collect(slices.All(y))}, true)
}

// Simple returns the noise that a Design starts from, see simpleTable.
func Simple(p dp.Problem, s *meet.Search) (*tables.Verified, error) {
	d, err := newDesigner(p, s)
	if err != nil {
		return nil, err
	}
	return d.simpleTable()
}

// simpleTable is the best noise that needs no solver, so that a Design always
// has a proven table: the best one of a cell per sensitivity and staircases
// (Geng & Viswanath 2014) with and without an atom.
func (d *designer) simpleTable() (*tables.Verified, error) {
	start := d.Elapsed()
	best, err := d.chainTable(d.Options.MaxCells)
	gamma, ok := noise.StaircaseStep(d.Epsilon, d.Loss)
	if !ok {
		if free := d.freeTable(); free != nil {
			best, err = free, nil
		}
		return best, err
	}
	if d.Epsilon == 0 {
		return best, err
	}
	const mostStairCells = 200 // per sensitivity
	work, most := maxSimpleWork, mostStairCells
	runs := 1 // how many times sooner tables of few runs are tested
	switch {
	case d.points > 0: // worth more: it is the optimum for δ = 0
		work, most = 4*work, d.Options.MaxCells
	case 0.6/gamma > mostStairCells: // a cell is at most about a step
		runs, most = 64, int(0.6/gamma)
	}
	work, cells := d.simpleCost(best, d.Elapsed()-start, work)
	work *= runs
	reach := 2 * (SupportBound(d.Problem) + 2)
	affordable := int(min(math.Sqrt(float64(work)/reach), float64(cells)/reach))
	if affordable < 1 && best != nil {
		return best, err // nor are there staircases in the time
	}
	k := d.edgeCells(gamma, max(1, min(affordable, most)))
	g := upper{d.model}.cells(k)
	// The inner n+½ cells of a step are its upper part, and a step down by e^ε
	// comes with every whole sensitivity from its edge on.
	edge := math.Round(float64(k)*gamma-0.5) + 0.5
	steps := func(x float64) float64 {
		return d.Epsilon * math.Ceil((x*float64(k)-edge+0.25)/float64(k))
	}
	for _, atom := range []float64{0, 0.9 * d.Delta, 0.999 * d.Delta, (1 - 1e-6) * d.Delta} {
		if stairs, serr := d.truncatedStaircase(g, min(cells, work/k), atom, steps); serr == nil {
			if err != nil || stairs.Certificate().ExpectedLoss.Cmp(best.Certificate().ExpectedLoss) < 0 {
				best, err = stairs, nil
			}
		}
	}
	return best, err
}

// freeTable returns noise that costs nothing, of a loss that is 0 as far out as truncated Laplace
// noise reaches, or nil: programs leave some mass where it costs.
func (d *designer) freeTable() *tables.Verified {
	reach := SupportBound(d.Problem)
	if d.points > 0 || d.Loss.At(reach*d.Sensitivity) > 0 {
		return nil
	}
	for k := 1; 2*reach*float64(k) < float64(min(d.Options.MaxCells, maxSimpleWork/k)); k *= 2 {
		fall := func(x float64) float64 { return d.Epsilon * x }
		t, err := d.truncatedStaircase(upper{d.model}.cells(k), d.Options.MaxCells, 0, fall)
		if err == nil && t.Certificate().ExpectedLoss.Sign() == 0 {
			return t
		}
	}
	return nil
}

// simpleCost returns the work, cells times cells per sensitivity, and the cells of a
// staircase that is certified in a small share of the time that is left, as it took so
// long to make the first table: at most the given work and the cells allowed.
func (d *designer) simpleCost(first *tables.Verified, took time.Duration, most int) (work, cells int) {
	if d.Options.TimeLimit == 0 {
		return most, d.Options.MaxCells
	}
	const share, shift, few = 1.0 / 8, 5 * time.Nanosecond, 1000
	left := share * float64(d.Left())
	work, cells = min(most, int(left/float64(shift))), d.Options.MaxCells
	if first != nil && first.Mechanism().Cells() > few {
		took = max(took, 1)
		cells = min(cells, int(left/float64(took)*float64(first.Mechanism().Cells())))
	}
	return max(work, 0), max(cells, 0)
}

// edgeCells returns the number of cells per sensitivity, up to the most, that has an edge nearest
// to γ; of a query on points, whose cells of one point serve best, theirs if possible.
func (m *model) edgeCells(gamma float64, most int) int {
	if m.points > 0 {
		if m.points <= int64(most) {
			return int(m.points)
		}
		return fit(upper{m}, most/2)
	}
	best, least := 1, math.Inf(1)
	for k := 1; k <= most; k++ {
		n := max(0, math.Round(float64(k)*gamma-0.5))
		if miss := math.Abs(float64(k)*gamma-0.5-n) / float64(k); miss < least*0.9 {
			best, least = k, miss
		}
	}
	return best
}

// maxSimpleWork bounds cells times cells per sensitivity of a simple table,
// which take about 5 ns each to certify.
const maxSimpleWork = 1 << 24

// truncatedStaircase makes the law with cell masses proportional to e^(−fall(|x|)),
// x in sensitivities, and the given atom, on the least support whose ends weigh
// no more than what the atom leaves of δ.
func (m *model) truncatedStaircase(g grid, maxCells int, atom float64, fall func(x float64) float64) (*tables.Verified, error) {
	const shrink = 1 - 1e-6
	start := 0.5 // sensitivities
	if atom == 0 {
		start = max(start, SupportBound(m.Problem)*shrink-1)
	}
	half := max(1, int(min(start, float64(maxCells))*float64(g.k)))
	// The unscaled mass of a cell depends on its distance from the middle one.
	var at []float64
	var inner float64 // the sum of at, but for the middle cell
	for ; 2*half+1 <= maxCells; half += max(1, half/64) {
		for d := len(at); d <= half; d++ {
			at = append(at, math.Exp(-shrink*fall(float64(d)/float64(g.k))))
			if d > 0 {
				inner += at[d]
			}
		}
		sum := at[0] + 2*inner
		var edge float64
		for i := range min(g.k, 2*half+1) {
			edge += at[max(i-half, half-i)]
		}
		if edge*(1-atom) > (m.Delta-atom)*shrink*sum {
			continue
		}
		masses := make([]float64, 2*half+1)
		for i := range masses {
			masses[i] = at[max(i-half, half-i)] * (1 - atom) / sum
		}
		t, err := m.makeTable(g.centered(half), masses, atom)
		if err == nil || errors.Is(err, proof.ErrFalseClaim) {
			return t, err // a longer one keeps no constraint that this one does not
		}
	}
	return nil, tooManyCells(maxCells)
}

func tooManyCells(maxCells int) error {
	return check.Errorf("lp", meet.ErrLimit, "the noise needs more than %d cells (max-cells)", maxCells)
}
