package lp

import (
	"context"
	"errors"
	"math"
	"sort"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/lp/solver"
)

// layout describes a discretised design problem: cells in a row, the linear
// program's variables they share, and the shifts that are constrained.
//
// With masses p over the cells it stands for
//
//	minimise   Σ_j cost_j p_j  (+ 0·a)
//	subject to Σ_j p_j + a = 1,  p ≥ 0, a ≥ 0
//	           a + Σ_{j in events} (p_j − e^ε p_{j−k})₊ ≤ δ   for every shift k
//
// with p = 0 outside the cells and a the atom at 0, if there is one.
type layout struct {
	// variable maps each cell to its variable; cells that mirror each other
	// share one.
	variable []int
	// cost per variable, of one cell's mass.
	cost []float64
	// scale per variable: the expected order of magnitude of its mass.
	scale []float64
	// eventLo, eventHi bound the cells [lo, hi) whose gain counts.
	eventLo, eventHi int
	// shifts in cells; with mirrored variables the positive ones suffice.
	shifts []int
	atom   bool
	// first is the number of the first cell on the program's grid.
	first int
	// decreasing lists pairs (inner, outer) of variables: p_inner ≥ p_outer.
	decreasing [][2]int
	// moments are further linear constraints.
	moments []momentRow

	ratio float64 // e^ε
	delta float64
	// budget makes δ a variable, at most what tighten says; delta is then
	// only its scale.
	budget bool
}

// momentRow demands lower ≤ Σ_j coefficient_j p_j + atom·a ≤ upper; coefficients
// are those of a moment divided by scale, per variable, of one cell's mass.
type momentRow struct {
	kind                      momentKind
	lower, upper, scale, atom float64
	coefficient               []float64
}

// pair is one term (p_j − e^ε p_{j−k})₊ of a lifted shift.
type pair struct{ shift, cell int }

// program solves a layout by constraint generation. The exact constraint of a
// shift needs one auxiliary variable s ≥ p_j − e^ε p_{j−k}, s ≥ 0 for each
// term that can be positive; both shifts and terms are added as the current
// solution violates them ("lift the shift, not the event", docs/how-it-works.md),
// so that the program stays a small fraction of the complete one. Leaving
// terms out only relaxes it: the duals are valid at any time, the primal when
// no violation is left.
//
// Variables are scaled, p_v = scale_v·x_v, each row is divided by the scale of
// its gaining cell and the sum rows by δ: with δ = 1e-9 masses span ten orders
// of magnitude, and the solver's tolerances are absolute.
type program struct {
	layout
	solver   solver.Solver
	attempts []attempt
	interior bool // large relaxations need no corner of the optimal face

	cells    []int // number of cells of each variable
	sumRow   []int // row of a shift's sum, by shift index; -1: not lifted
	rowOf    map[pair]int
	columns  int
	rows     int
	atomCol  int
	limit    float64   // δ
	mass     []float64 // current solution per variable
	atomMass float64
	duals    []float64
	value    float64

	rounds, iterations int
}

var errSolver = errors.New("the LP solver gave up")

func newProgram(l layout, newSolver solver.Factory) (*program, error) {
	s, err := newSolver()
	if err != nil {
		return nil, err
	}
	p := &program{layout: l, solver: s, attempts: ladder, rowOf: make(map[pair]int), limit: l.delta}
	if err := p.build(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return p, nil
}

func (p *program) close() error { return p.solver.Close() }

// build passes the variables, the total-mass row, and the monotone and moment
// rows after it.
func (p *program) build() error {
	n := len(p.cost)
	p.cells = make([]int, n)
	for _, v := range p.variable {
		p.cells[v]++
	}
	p.sumRow = make([]int, len(p.shifts))
	for i := range p.sumRow {
		p.sumRow[i] = -1
	}
	cols := solver.Columns{}
	for v := range n {
		cols.Cost = append(cols.Cost, p.cost[v]*float64(p.cells[v])*p.scale[v])
		cols.Lower = append(cols.Lower, 0)
		cols.Upper = append(cols.Upper, math.Inf(1))
		cols.Start = append(cols.Start, 0)
	}
	p.atomCol = -1
	if p.atom {
		p.atomCol = n
		cols.Cost = append(cols.Cost, 0)
		cols.Lower = append(cols.Lower, 0)
		cols.Upper = append(cols.Upper, math.Inf(1))
		cols.Start = append(cols.Start, 0)
	}
	if p.budget {
		cols.Cost = append(cols.Cost, 0)
		cols.Lower = append(cols.Lower, 0)
		cols.Upper = append(cols.Upper, math.Inf(1))
		cols.Start = append(cols.Start, 0)
	}
	p.columns = len(cols.Cost)
	if err := p.solver.AddColumns(cols); err != nil {
		return err
	}
	rows := solver.Rows{Lower: []float64{1}, Upper: []float64{1}, Start: []int{0}}
	for v := range n {
		rows.Index = append(rows.Index, v)
		rows.Value = append(rows.Value, float64(p.cells[v])*p.scale[v])
	}
	if p.atom {
		rows.Index = append(rows.Index, p.atomCol)
		rows.Value = append(rows.Value, p.delta) // the atom is scaled by δ
	}
	for _, d := range p.decreasing {
		rows.Lower = append(rows.Lower, 0)
		rows.Upper = append(rows.Upper, math.Inf(1))
		rows.Start = append(rows.Start, len(rows.Index))
		rows.Index = append(rows.Index, d[0], d[1])
		rows.Value = append(rows.Value, p.scale[d[0]]/p.scale[d[1]], -1)
	}
	for _, m := range p.moments {
		rows.Lower = append(rows.Lower, m.lower)
		rows.Upper = append(rows.Upper, m.upper)
		rows.Start = append(rows.Start, len(rows.Index))
		for v, c := range m.coefficient {
			if c != 0 {
				rows.Index = append(rows.Index, v)
				rows.Value = append(rows.Value, c*float64(p.cells[v])*p.scale[v])
			}
		}
		if p.atom && m.atom != 0 {
			rows.Index = append(rows.Index, p.atomCol)
			rows.Value = append(rows.Value, m.atom*p.delta)
		}
	}
	p.rows = len(rows.Lower)
	return p.solver.AddRows(rows)
}

// lift adds the given terms of the shift with index i, and its sum row if it
// is new. Terms whose partner lies outside all cells are part of the sum row
// itself, as p_j, and are always in it.
func (p *program) lift(i int, cells []int) error {
	k := p.shifts[i]
	if p.sumRow[i] < 0 {
		row := solver.Rows{Lower: []float64{math.Inf(-1)}, Upper: []float64{1}, Start: []int{0}}
		if p.atom {
			row.Index = append(row.Index, p.atomCol)
			row.Value = append(row.Value, 1)
		}
		if p.budget {
			row.Upper[0] = 0
			row.Index = append(row.Index, p.budgetCol())
			row.Value = append(row.Value, -1)
		}
		lone := make(map[int]float64)
		for j := p.eventLo; j < p.eventHi; j++ {
			if v := p.variable[j]; !p.inside(j - k) {
				if lone[v] == 0 {
					row.Index = append(row.Index, v)
				}
				lone[v] += p.scale[v] / p.delta
			}
		}
		for _, v := range row.Index[len(row.Value):] {
			row.Value = append(row.Value, lone[v])
		}
		if err := p.solver.AddRows(row); err != nil {
			return err
		}
		p.sumRow[i] = p.rows
		p.rows++
	}
	var cols solver.Columns
	var rows solver.Rows
	for _, j := range cells {
		if _, done := p.rowOf[pair{k, j}]; done || !p.inside(j-k) {
			continue
		}
		u, v := p.variable[j], p.variable[j-k]
		cols.Cost = append(cols.Cost, 0)
		cols.Lower = append(cols.Lower, 0)
		cols.Upper = append(cols.Upper, math.Inf(1))
		cols.Start = append(cols.Start, len(cols.Index))
		cols.Index = append(cols.Index, p.sumRow[i])
		// s is scaled by the geometric mean of the scales of its two rows.
		balance := math.Sqrt(p.scale[u] / p.delta)
		cols.Value = append(cols.Value, balance)

		rows.Lower = append(rows.Lower, math.Inf(-1))
		rows.Upper = append(rows.Upper, 0)
		rows.Start = append(rows.Start, len(rows.Index))
		loss := p.ratio * p.scale[v] / p.scale[u]
		f := p.rowFactor(u, v)
		if u == v {
			rows.Index = append(rows.Index, u, p.columns)
			rows.Value = append(rows.Value, f*(1-loss), -f/balance)
		} else {
			rows.Index = append(rows.Index, u, v, p.columns)
			rows.Value = append(rows.Value, f, -f*loss, -f/balance)
		}
		p.rowOf[pair{k, j}] = p.rows
		p.columns++
		p.rows++
	}
	if err := p.solver.AddColumns(cols); err != nil {
		return err
	}
	return p.solver.AddRows(rows)
}

// rowFactor scales the row of a term that gains at variable u and loses at v
// once more where its entries would otherwise lie too far apart.
func (p *program) rowFactor(u, v int) float64 {
	const wide = 1e6
	if loss := p.ratio * p.scale[v] / p.scale[u]; loss > wide {
		return math.Sqrt(wide / loss)
	}
	return 1
}

func (p *program) inside(j int) bool { return j >= 0 && j < len(p.variable) }

// excess returns a + Σ_{j in events} (p_j − e^ε p_{j−k})₊ for a shift.
func (p *program) excess(k int) float64 {
	sum := p.atomMass
	for j := p.eventLo; j < p.eventHi; j++ {
		g := p.mass[p.variable[j]]
		if p.inside(j - k) {
			g -= p.ratio * p.mass[p.variable[j-k]]
		}
		if g > 0 {
			sum += g
		}
	}
	return sum
}

// terms lists the cells whose terms of shift k are positive or nearly so under
// the given masses: p_j > slack·e^ε·p_{j−k}.
func (p *program) terms(k int, slack float64) []int {
	var cells []int
	for j := p.eventLo; j < p.eventHi; j++ {
		if !p.inside(j - k) {
			continue
		}
		if m := p.mass[p.variable[j]]; m > 0 && m > slack*p.ratio*p.mass[p.variable[j-k]] {
			cells = append(cells, j)
		}
	}
	return cells
}

// solve adds violated constraints until every shift's excess is at most
// δ(1+tolerance), or a round raised the optimum by no more than the relative
// stall (0: never mind), or the context ends. In the latter case it returns
// StatusLimit with the last relaxation in place.
func (p *program) solve(ctx context.Context, tolerance, stall float64) (solver.Status, error) {
	for {
		before := p.value
		status, err := p.resolve(ctx)
		if err != nil || status != solver.StatusOptimal {
			return status, err
		}
		p.rounds++
		if stall > 0 && p.rounds > 1 && p.value-before < stall*p.value {
			return solver.StatusOptimal, nil
		}
		added, err := p.separate(tolerance)
		if err != nil {
			return solver.StatusFailed, err
		}
		if !added {
			return solver.StatusOptimal, nil
		}
	}
}

// separate lifts what the current solution violates most and reports whether
// there was anything.
func (p *program) separate(tolerance float64) (bool, error) {
	type violation struct {
		index  int
		excess float64
	}
	var bad []violation
	for i, k := range p.shifts {
		if e := p.excess(k); e > p.limit*(1+tolerance) {
			bad = append(bad, violation{i, e})
		}
	}
	if len(bad) == 0 {
		return false, nil
	}
	sort.Slice(bad, func(a, b int) bool { return bad[a].excess > bad[b].excess })
	// Take the worst shifts that are not close neighbours of one another.
	limit := max(2, len(p.shifts)/batchShare)
	apart := max(1, len(p.shifts)/(2*limit))
	var taken []int
	worst := 0.0 // of what was lifted
	for _, b := range bad {
		if b.excess-p.limit < batchLeast*worst {
			break
		}
		k := p.shifts[b.index]
		near := false
		for _, t := range taken {
			near = near || (k-t < apart && t-k < apart)
		}
		if near {
			continue
		}
		before := p.rows
		if err := p.lift(b.index, p.terms(k, termSlack)); err != nil {
			return false, err
		}
		if p.rows == before {
			// All its terms are in the program: this violation is the
			// solver's residual, and no further row can remove it.
			continue
		}
		worst = max(worst, b.excess-p.limit)
		if taken = append(taken, k); len(taken) >= limit {
			break
		}
	}
	return len(taken) > 0, nil
}

// Tuning of the constraint generation; any values give correct results.
const (
	batchShare = 8   // lift at most 1/8 of the shifts a round, and at least 2
	batchLeast = 0.2 // only shifts violated at least this much of the worst
	termSlack  = 0.3 // lift terms with p_j above this share of e^ε p_{j−k}
)

// attempt is one way to solve a relaxation.
type attempt struct {
	solver.Options
	effort int  // simplex iterations allowed, as a multiple of rows + columns; 0: any
	fresh  bool // forget the last basis first
	repair bool // for solver errors: skipped after a stall
}

// ladder lists what is tried, in turn, when a solve fails or stalls: the last
// basis with dual simplex, then other algorithms, fresh starts, scalings and
// tolerances. Efforts are counted, not timed, so that results can be repeated.
var ladder = []attempt{
	{Options: solver.Options{Method: solver.MethodDualSimplex, Tolerance: 1e-9}, effort: 1},
	{Options: solver.Options{Method: solver.MethodDualSimplex, Tolerance: 1e-9, Scaling: -1}, effort: 1, repair: true},
	{Options: solver.Options{Method: solver.MethodPrimalSimplex, Tolerance: 1e-9}, effort: 2, fresh: true},
	{Options: solver.Options{Method: solver.MethodInteriorPoint, Tolerance: 1e-9}, effort: 2, fresh: true},
	{Options: solver.Options{Method: solver.MethodDualSimplex, Tolerance: 1e-9, Presolve: true}, effort: 8, fresh: true},
	{Options: solver.Options{Method: solver.MethodDualSimplex, Tolerance: 1e-9, Scaling: 4}, effort: 8, fresh: true},
	{Options: solver.Options{Method: solver.MethodInteriorPoint, Tolerance: 1e-8, Presolve: true}, fresh: true},
	{Options: solver.Options{Method: solver.MethodDualSimplex, Tolerance: 1e-7, Scaling: -1}, fresh: true},
}

// For large epsilon and tiny delta simplex may take tens of thousands of degenerate
// steps in a large relaxation, and interior point without crossover a few dozen. It
// ends off the corners, which is enough for the lower program, whose duals are
// repaired.
const (
	interiorEpsilon = 4    // from here on
	interiorDelta   = 1e-5 // up to here
	interiorRows    = 4000
)

// resolve solves the current relaxation, going down the ladder on failures.
func (p *program) resolve(ctx context.Context) (solver.Status, error) {
	attempts := p.attempts
	if p.interior && p.rows > interiorRows {
		attempts = append([]attempt{{Options: solver.Options{Method: solver.MethodInteriorOnly, Tolerance: 1e-9}, fresh: true}}, ladder...)
	}
	sol, err := climb(ctx, p.solver, attempts, p.rows, p.columns)
	p.iterations += sol.Iterations
	if err == nil && sol.Status == solver.StatusOptimal {
		p.read(sol)
		if !p.whole() {
			// HiGHS sometimes calls an infeasible program optimal after a change
			// of scaling.
			return solver.StatusInfeasible, nil
		}
	}
	return sol.Status, err
}

// climb solves a program with one attempt after another until one succeeds. The
// Iterations are those of all.
func climb(ctx context.Context, s solver.Solver, attempts []attempt, rows, columns int) (solver.Solution, error) {
	stalled := false
	infeasible, iterations := 0, 0
	for _, a := range attempts {
		if a.repair && stalled {
			continue
		}
		if a.fresh {
			if err := s.Reset(); err != nil {
				return solver.Solution{}, err
			}
		}
		a.IterationLimit = a.effort * (rows + columns + 500)
		sol, err := s.Solve(ctx, a.Options)
		if err != nil {
			return solver.Solution{}, err
		}
		iterations += sol.Iterations
		sol.Iterations = iterations
		switch {
		case sol.Status == solver.StatusOptimal && finite(sol.Primal) && finite(sol.RowDual):
			return sol, nil
		case ctx.Err() != nil:
			return solver.Solution{Status: solver.StatusLimit, Iterations: iterations}, nil
		case sol.Status == solver.StatusLimit:
			stalled = true
		case sol.Status == solver.StatusInfeasible:
			infeasible++
		}
	}
	if infeasible >= enoughInfeasible {
		return solver.Solution{Status: solver.StatusInfeasible, Iterations: iterations}, nil
	}
	return solver.Solution{Iterations: iterations}, check.Errorf("lp", errSolver, "%d rows, %d columns, after %d attempts", rows, columns, len(attempts))
}

// whole reports whether the masses sum to about 1.
func (p *program) whole() bool {
	const tolerance = 1e-3 // the ties that settle may have raised
	total := p.atomMass
	for v, m := range p.mass {
		total += m * float64(p.cells[v])
	}
	return math.Abs(total-1) < tolerance
}

// enoughInfeasible is how many attempts have to find a program infeasible, and
// none solve it.
const enoughInfeasible = 2

func finite(v []float64) bool {
	for _, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
	}
	return true
}

// read unscales the solution. Masses a hair below 0 are within the solver's
// tolerance and become 0; what is published is recomputed from the masses.
func (p *program) read(sol solver.Solution) {
	p.mass = p.mass[:0]
	for v := range p.cost {
		p.mass = append(p.mass, max(0, sol.Primal[v])*p.scale[v])
	}
	p.settle()
	p.atomMass = 0
	if p.atom {
		p.atomMass = max(0, sol.Primal[p.atomCol]) * p.delta
	}
	p.duals = append(p.duals[:0], sol.RowDual...)
	p.value = sol.Objective
}

// settle makes those terms that the optimum leaves tied, p_j = e^ε p_{j−k},
// exactly so, from the inside outwards, by raising the outer mass.
//
// The solver keeps such a row to its absolute tolerance, which near the middle
// can be more than all of δ. The raise is a relative one of at most tieWidth,
// and only lowers the divergences in which the raised cell is the divisor;
// those in which it gains are settled in their turn.
func (p *program) settle() {
	n := len(p.variable)
	order := p.fromOutside()
	for i := n - 1; i >= 0; i-- {
		j := order[i]
		for _, k := range p.shifts {
			if !p.inside(j - k) {
				continue
			}
			outer := &p.mass[p.variable[j-k]]
			want := p.mass[p.variable[j]] / p.ratio
			if *outer < want && *outer > want*(1-tieWidth) {
				*outer = want * (1 + 0x1p-50)
			}
		}
	}
}

// tieWidth is the relative distance from a tie within which one is meant.
const tieWidth = 1e-6

// multiplier returns y_{k,j} ≥ 0 and η_k in the program's cost units: by how
// much the optimum would fall per unit of slack in p_j − e^ε p_{j−k} ≤ s and in
// the sum row of the shift.
func (p *program) multiplier(i, j int) float64 {
	k := p.shifts[i]
	if !p.inside(j - k) {
		return p.price(i)
	}
	row, ok := p.rowOf[pair{k, j}]
	if !ok || row >= len(p.duals) {
		return 0
	}
	u, v := p.variable[j], p.variable[j-k]
	y := -p.duals[row] * p.rowFactor(u, v) / p.scale[u]
	return min(max(y, 0), p.price(i))
}

// descent returns the multiplier of the i-th demand that masses decrease, in the
// program's cost units.
func (p *program) descent(i int) float64 {
	return max(0, p.duals[1+i]) / p.scale[p.decreasing[i][1]]
}

// momentPrice returns by how much the optimum grows per unit of the i-th
// moment's limit, of either sign; at most 0 for an upper limit.
func (p *program) momentPrice(i int) float64 {
	m := &p.moments[i]
	price := p.duals[1+len(p.decreasing)+i] / m.scale
	if math.IsInf(m.lower, -1) {
		price = min(price, 0)
	}
	return price
}

func (p *program) price(i int) float64 {
	row := p.sumRow[i]
	if row < 0 || row >= len(p.duals) { // lifted since the last solve
		return 0
	}
	return max(0, -p.duals[row]/p.delta)
}
