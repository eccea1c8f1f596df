package lp

import (
	"context"
	"errors"
	"math"
	"slices"
	"sort"

	"github.com/noisewright/noisewright/lp/internal/cuts"
	"github.com/noisewright/noisewright/lp/solver"
	"github.com/noisewright/noisewright/tables"
)

// kernelLayout describes a discretised design problem with one law P_k over n
// outputs for each of n queries:
//
//	minimise   Σ_k Σ_j cost[k][j]·P_k(j)
//	subject to Σ_j P_k(j) = 1,  P ≥ 0
//	           H(P_gain ‖ P_lose) ≤ δ      for every limit
//	           Σ coefficient·P_k(j) ≤ 1    for every cap
//
// where H(P‖Q) = Σ_j (P(j) − e^ε Q(j))₊.
type kernelLayout struct {
	cost   [][]float64
	limits []nodePair
	// mirrored: the problem is its own mirror image, so that P_k(j) and
	// P_{n−1−k}(n−1−j) may share a variable (average a solution with its mirror
	// image). Limits and caps then stand for their images too.
	mirrored     bool
	ratio, delta float64
	// violated, if not nil, returns caps that laws do not keep.
	violated func(laws [][]float64) [][]capTerm
}

// nodePair is an ordered pair of queries.
type nodePair struct{ gain, lose int }

// protect limits the divergences of pairs of queries both ways; of pairs that are
// mirror images of each other one stands for both.
func (l *kernelLayout) protect(pairs [][2]int) {
	n := len(l.cost)
	seen := make(map[nodePair]bool)
	for _, p := range pairs {
		for _, a := range []nodePair{{p[0], p[1]}, {p[1], p[0]}} {
			if b := (nodePair{n - 1 - a.gain, n - 1 - a.lose}); l.mirrored && (b.gain < a.gain || b.gain == a.gain && b.lose < a.lose) {
				a = b
			}
			if !seen[a] {
				seen[a] = true
				l.limits = append(l.limits, a)
			}
		}
	}
}

// capTerm is one entry of a cap: a coefficient of P_k(j).
type capTerm struct {
	k, j        int
	coefficient float64
}

// kernelProgram solves a kernelLayout by constraint generation, as program does
// for additive noise: a divergence is lifted by auxiliary s ≥ P_gain(j) −
// e^ε P_lose(j), s ≥ 0 for those outputs j at which it may be positive, and both
// limits and terms are added as the solution violates them. Leaving some out
// only relaxes the program.
type kernelProgram struct {
	kernelLayout
	n      int
	solver solver.Solver

	variable [][]int      // of (k, j)
	count    []int        // number of (k, j) of each variable
	lifted   []liftedPair // by limit
	capRow   []int        // by call of cap
	columns  int
	rows     int
	mass     []float64 // current solution per variable
	duals    []float64
	value    float64

	rounds int
}

// liftedPair holds the row of a limit's sum and of its terms by output, -1 where
// there is none.
type liftedPair struct {
	sum  int
	term []int
}

func newKernelProgram(l kernelLayout, newSolver solver.Factory) (*kernelProgram, error) {
	s, err := newSolver()
	if err != nil {
		return nil, err
	}
	p := &kernelProgram{kernelLayout: l, n: len(l.cost), solver: s}
	if err := p.build(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return p, nil
}

func (p *kernelProgram) close() error { return p.solver.Close() }

// build passes the variables and the rows of total mass, row i for query i.
func (p *kernelProgram) build() error {
	n := p.n
	var cols solver.Columns
	p.variable = make([][]int, n)
	for k := range n {
		p.variable[k] = make([]int, n)
		for j := range n {
			if p.mirrored && (k > n-1-k || k == n-1-k && j > n-1-j) {
				v := p.variable[n-1-k][n-1-j]
				p.variable[k][j] = v
				cols.Cost[v] += p.cost[k][j]
				p.count[v]++
				continue
			}
			p.variable[k][j] = len(cols.Cost)
			p.count = append(p.count, 1)
			cols.Cost = append(cols.Cost, p.cost[k][j])
			cols.Lower = append(cols.Lower, 0)
			cols.Upper = append(cols.Upper, math.Inf(1))
			cols.Start = append(cols.Start, 0)
		}
	}
	p.columns = len(cols.Cost)
	p.mass = make([]float64, p.columns)
	if err := p.solver.AddColumns(cols); err != nil {
		return err
	}
	var rows solver.Rows
	for k := range p.sums() {
		rows.Lower = append(rows.Lower, 1)
		rows.Upper = append(rows.Upper, 1)
		terms := make([]capTerm, n)
		for j := range n {
			terms[j] = capTerm{k, j, 1}
		}
		p.appendTerms(&rows, terms)
	}
	p.lifted = make([]liftedPair, len(p.limits))
	for i := range p.lifted {
		p.lifted[i] = liftedPair{sum: -1, term: slices.Repeat([]int{-1}, n)}
	}
	return p.addRows(rows)
}

// sums returns the number of queries with a row of total mass of their own.
func (p *kernelProgram) sums() int {
	if p.mirrored {
		return (p.n + 1) / 2
	}
	return p.n
}

// appendTerms starts a new row with the given entries.
func (p *kernelProgram) appendTerms(rows *solver.Rows, terms []capTerm) {
	rows.Start = append(rows.Start, len(rows.Index))
	place := make(map[int]int, len(terms))
	for _, t := range terms {
		v := p.variable[t.k][t.j]
		at, ok := place[v]
		if !ok {
			at = len(rows.Index)
			place[v] = at
			rows.Index = append(rows.Index, v)
			rows.Value = append(rows.Value, 0)
		}
		rows.Value[at] += t.coefficient
	}
}

func (p *kernelProgram) addRows(rows solver.Rows) error {
	p.rows += len(rows.Lower)
	return p.solver.AddRows(rows)
}

// cap adds Σ coefficient·P_k(j) ≤ 1.
func (p *kernelProgram) cap(terms []capTerm) error {
	rows := solver.Rows{Lower: []float64{math.Inf(-1)}, Upper: []float64{1}}
	p.appendTerms(&rows, terms)
	p.capRow = append(p.capRow, p.rows)
	return p.addRows(rows)
}

// lift adds those terms of a limit that are positive or nearly so under the current
// masses, P_gain > slack·e^ε·P_lose, and its sum row if it is new.
func (p *kernelProgram) lift(i int, slack float64) (added bool, err error) {
	l := &p.lifted[i]
	if l.sum < 0 {
		l.sum, added = p.rows, true
		if err := p.addRows(solver.Rows{Lower: []float64{math.Inf(-1)}, Upper: []float64{1}, Start: []int{0}}); err != nil {
			return false, err
		}
	}
	// A term is scaled by the geometric mean of δ and masses of order 1/n.
	balance := math.Sqrt(1 / (float64(p.n) * p.delta))
	var cols solver.Columns
	var rows solver.Rows
	for j, row := range l.term {
		u, v := p.variable[p.limits[i].gain][j], p.variable[p.limits[i].lose][j]
		if m := p.mass[u]; row >= 0 || !(m > 0 && m > slack*p.ratio*p.mass[v]) {
			continue
		}
		cols.Cost = append(cols.Cost, 0)
		cols.Lower = append(cols.Lower, 0)
		cols.Upper = append(cols.Upper, math.Inf(1))
		cols.Start = append(cols.Start, len(cols.Index))
		cols.Index = append(cols.Index, l.sum)
		cols.Value = append(cols.Value, balance)

		l.term[j] = p.rows + len(rows.Lower)
		rows.Lower = append(rows.Lower, math.Inf(-1))
		rows.Upper = append(rows.Upper, 0)
		rows.Start = append(rows.Start, len(rows.Index))
		if u == v {
			rows.Index = append(rows.Index, u, p.columns)
			rows.Value = append(rows.Value, 1-p.ratio, -balance*p.delta)
		} else {
			rows.Index = append(rows.Index, u, v, p.columns)
			rows.Value = append(rows.Value, 1, -p.ratio, -balance*p.delta)
		}
		p.columns++
	}
	if len(cols.Cost) == 0 {
		return added, nil
	}
	if err := p.solver.AddColumns(cols); err != nil {
		return false, err
	}
	return true, p.addRows(rows)
}

// divergence returns H(P_gain ‖ P_lose) of the current masses.
func (p *kernelProgram) divergence(a nodePair) float64 {
	var sum float64
	for j := range p.n {
		if g := p.mass[p.variable[a.gain][j]] - p.ratio*p.mass[p.variable[a.lose][j]]; g > 0 {
			sum += g
		}
	}
	return sum
}

// solve adds violated limits until every one is at most δ(1+tolerance), or a
// round raised the optimum by no more than the relative stall (0: never mind),
// or the context ends: then it returns StatusLimit with the last relaxation in
// place.
func (p *kernelProgram) solve(ctx context.Context, tolerance, stall float64) (solver.Status, error) {
	for {
		before := p.value
		// Simplex needs many degenerate steps on the large ones, where interior point
		// takes some forty iterations whatever the size; and a point inside the optimal
		// face shows more of the terms that matter than a vertex does, which saves rounds.
		sol, err := cuts.Climb(ctx, p.solver, p.rows >= interiorFrom, p.rows, p.columns)
		if err != nil || sol.Status != solver.StatusOptimal {
			return sol.Status, err
		}
		p.read(sol)
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

func (p *kernelProgram) read(sol solver.Solution) {
	for v := range p.mass {
		p.mass[v] = max(0, sol.Primal[v])
	}
	p.duals = append(p.duals[:0], sol.RowDual...)
	p.value = sol.Objective
}

// separate lifts what the current solution violates most and reports whether
// there was anything.
func (p *kernelProgram) separate(tolerance float64) (bool, error) {
	type violation struct {
		index  int
		excess float64
	}
	var bad []violation
	for i, l := range p.limits {
		if e := p.divergence(l); e > p.delta*(1+tolerance) {
			bad = append(bad, violation{i, e})
		}
	}
	sort.Slice(bad, func(a, b int) bool { return bad[a].excess > bad[b].excess })
	taken := 0
	for _, b := range bad {
		if taken >= max(4, len(p.limits)/kernelBatch) || b.excess-p.delta < kernelLeast*(bad[0].excess-p.delta) {
			break
		}
		added, err := p.lift(b.index, cuts.TermSlack)
		if err != nil {
			return false, err
		}
		if added {
			taken++
		}
	}
	if p.violated != nil {
		for _, terms := range p.violated(p.laws()) {
			if err := p.cap(terms); err != nil {
				return false, err
			}
			taken++
		}
	}
	return taken > 0, nil
}

// Tuning of the constraint generation; any values give correct results.
const (
	kernelBatch  = 2    // lift at most this part of the limits a round
	kernelLeast  = 0.05 // only limits violated at least this much of the worst
	hintSlack    = 0.6  // as cuts.TermSlack, for the laws of a coarser program
	interiorFrom = 3000 // rows from which interior point is tried first
)

// start lifts what is expected to matter: the limits between the queries
// furthest apart, or, with the laws of a coarser program, all limits with the
// terms that those laws make positive.
func (p *kernelProgram) start(coarse [][]float64) error {
	if coarse == nil {
		for v := range p.mass {
			p.mass[v] = 1
		}
		for _, i := range p.far() {
			if _, err := p.lift(i, 0); err != nil {
				return err
			}
		}
		return nil
	}
	for k := range p.n {
		for j := range p.n {
			p.mass[p.variable[k][j]] = interpolate(coarse, p.n, k, j)
		}
	}
	for i := range p.limits {
		if _, err := p.lift(i, hintSlack); err != nil {
			return err
		}
	}
	return nil
}

// interpolate returns the mass that laws of another number of equally spaced
// queries and outputs suggest for (k, j) of n.
func interpolate(coarse [][]float64, n, k, j int) float64 {
	place := func(i int) (int, float64) {
		x := float64(i) * float64(len(coarse)-1) / float64(max(n-1, 1))
		at := min(int(x), max(len(coarse)-2, 0))
		return at, x - float64(at)
	}
	k0, s := place(k)
	j0, t := place(j)
	k1, j1 := min(k0+1, len(coarse)-1), min(j0+1, len(coarse)-1)
	m := (1-s)*((1-t)*coarse[k0][j0]+t*coarse[k0][j1]) + s*((1-t)*coarse[k1][j0]+t*coarse[k1][j1])
	return m*float64(len(coarse))/float64(n) + hintFloor
}

// hintFloor is a mass below which nothing is told from 0.
const hintFloor = 1e-9

// far lists the limits between the queries that are furthest apart, which
// nearly always bind.
func (p *kernelProgram) far() []int {
	apart := func(a nodePair) int { return max(a.gain-a.lose, a.lose-a.gain) }
	reach := 0
	for _, l := range p.limits {
		reach = max(reach, apart(l))
	}
	var far []int
	for i, l := range p.limits {
		if apart(l) == reach {
			far = append(far, i)
		}
	}
	return far
}

// laws returns the laws of all queries.
func (p *kernelProgram) laws() [][]float64 {
	laws := make([][]float64, p.n)
	for k := range laws {
		laws[k] = make([]float64, p.n)
		for j := range laws[k] {
			laws[k][j] = p.mass[p.variable[k][j]]
		}
	}
	return laws
}

// dualOf returns by how much the optimum would fall per unit of slack in a row.
func (p *kernelProgram) dualOf(row int) float64 {
	if row < 0 || row >= len(p.duals) { // lifted since the last solve
		return 0
	}
	return max(0, -p.duals[row])
}

// dual reads the multipliers of a lower program, in units of the loss (unit is
// what the costs were divided by, and the caps by instanceCap). Whatever the
// solver's errors, the result proves a true bound.
func (p *kernelProgram) dual(unit, instanceCap float64) *tables.KernelDual {
	// A variable of a mirrored program stands for two, and so does a row.
	image := 1.0
	if p.mirrored {
		image = 0.5
	}
	d := &tables.KernelDual{Cells: p.n, Mirrored: p.mirrored}
	var total float64
	for _, l := range p.lifted {
		total += p.dualOf(l.sum) / p.delta * unit
	}
	var caps []float64
	if len(p.capRow) > 0 {
		caps = make([]float64, p.n)
		for k, row := range p.capRow {
			kappa := p.dualOf(row) * unit / instanceCap
			caps[k] += kappa / 2
			if !p.mirrored {
				caps[k] += kappa / 2
			} else {
				caps[p.n-1-k] += kappa / 2
			}
			total += kappa
		}
	}
	if total <= 0 {
		return d
	}
	_, exp := math.Frexp(total)
	d.Exponent = exp - dualBits
	integer := func(y float64) int64 { return int64(math.Ldexp(y, -d.Exponent)) }
	for _, kappa := range caps {
		d.Caps = append(d.Caps, integer(kappa))
	}
	for i, l := range p.lifted {
		price := p.dualOf(l.sum) / p.delta
		m := tables.KernelDualPair{Gain: p.limits[i].gain, Lose: p.limits[i].lose}
		for j, row := range l.term {
			y := integer(min(p.dualOf(row), price) * unit * image)
			switch {
			case len(m.Multipliers) > 0:
				m.Multipliers = append(m.Multipliers, y)
			case y > 0:
				m.First = j
				m.Multipliers = append(m.Multipliers, y)
			}
		}
		for n := len(m.Multipliers); n > 0 && m.Multipliers[n-1] == 0; n-- {
			m.Multipliers = m.Multipliers[:n-1]
		}
		if len(m.Multipliers) > 0 {
			d.Pairs = append(d.Pairs, m)
		}
	}
	return d
}
