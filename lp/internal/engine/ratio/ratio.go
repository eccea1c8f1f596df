// SPDX-License-Identifier: Apache-2.0

// Package ratio solves the linear programs of mechanisms with delta = 0, in which the
// probabilities of one answer differ by a ratio at most:
//
//	minimize   Σ_ij Cost[i][j]·q_ij + T
//	subject to Rows, and m_g ≤ q_ij ≤ Ratio·m_g for every law i and answer j of group g.
//
// It is an interior point method (Mehrotra 1992) with primal and dual steps of their
// own. Newton's equations are reduced to one unknown per row: q_ij and m_g couple the
// rows by blocks of single laws and by one vector per group, so an iteration costs half
// (rows)²·(groups) multiplications, where a general solver would factor 2·laws·answers
// rows. Nothing here is trusted: what it finds is certified as any other mechanism.
package ratio

import (
	"context"
	"errors"
	"math"
	"slices"
)

// ErrFailed marks a program on which the method made no progress: it has no solution, or
// its numbers are too far apart.
var ErrFailed = errors.New("the interior point method gave up")

// Program is a linear program in the laws q_i over the answers.
type Program struct {
	Ratio float64 // above 1
	// Cost of each law and answer; nil: none.
	Cost [][]float64
	Rows []Row
	// Group numbers from 0 what answers share their least probability.
	Group []int
	Laws  int
	// Free laws come after the others, in Cost too. Their masses only have to be at least 0.
	Free int
	// Step, if not nil, is called with the multiplications of every iteration, about.
	Step func(work float64)
}

// Row is Σ Terms = Bound, or ≤ Bound, or ≤ T for the variable T of the objective.
type Row struct {
	Terms []Term
	Bound float64
	Kind  Kind
}

// Term is Σ_j Value[j]·q_ij for i = Law.
type Term struct {
	Law   int
	Value []float64
}

// Kind is the kind of a Row.
type Kind int

// The kinds of rows.
const (
	Equal Kind = iota
	AtMost
	AtMostT
)

// Solution of a Program.
type Solution struct {
	Laws  [][]float64 // q
	Least []float64   // m
	// Prices are the derivatives of the optimum in the bounds of the rows.
	Prices []float64
	Value  float64 // of the laws
}

// state is a point of the interior, and the directions from it.
type state struct {
	Program
	n, rows, groups int
	touch           [][]entry // by law
	capped          bool      // there is a T
	scale           float64   // of the objective

	point, step vars
	a, rd       [][]float64 // reduced costs, and by how much z misses them
	rp, rm      []float64   // what rows and groups miss
	rt          float64

	d, b    [][]float64 // 1/(σ+τ) and (σ+Eτ)/(σ+τ)
	h, root []float64   // of each group, and 1/√h
	bands   [][]float64 // per row, over groups: Σ a·b/√h
	matrix  [][]float64
	diag    []float64
	unit    []float64 // M⁻¹·(the rows with T)

	pairs                     int         // of complementary variables
	secondU, secondV          [][]float64 // products of directions
	gu, gv, g                 [][]float64 // right sides, see direction
	secondS, gs, byGroup, law []float64
	fd, fg, fr, secondF       [][]float64 // of free laws: f/zf, right sides, misses, products
}

type entry struct {
	row   int
	value []float64
}

// vars are the primal and the dual variables: u = q − m, v = Ratio·m − q and the slacks
// of rows, with their duals, which are kept apart as differences would cancel.
type vars struct {
	u, v, zu, zv [][]float64
	f, zf        [][]float64 // free masses
	m            []float64
	s, zs        []float64 // by row; 0 where it is Equal
	lambda       []float64
	t            float64
}

// Solve solves a program until the optimum is known to the relative tolerance. A context
// that ends is an error.
func Solve(ctx context.Context, p Program, tolerance float64) (*Solution, error) {
	s := newState(p)
	s.start()
	best, before := math.Inf(1), math.Inf(1)
	stalled := 0
	for iteration := 0; iteration < mostIterations && stalled <= patience; iteration++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		miss, rows := s.residuals()
		if math.IsNaN(miss + rows) {
			return nil, ErrFailed
		}
		// Rows are met ever worse close to the optimum: what rounding leaves of them grows.
		done := miss <= tolerance
		if done && (rows <= rowTolerance || rows <= slackRows && rows > before/2) {
			return s.solution(), nil
		}
		before = rows
		if stalled++; miss*s.scale+rows < 0.9*best {
			best, stalled = miss*s.scale+rows, 0
		}
		s.iterate(done)
		if s.Step != nil {
			s.Step(float64(s.rows) * float64(s.rows) * float64(s.rows+s.groups) / 2)
		}
	}
	if miss, rows := s.residuals(); miss <= slackTolerance && rows <= slackRows {
		return s.solution(), nil
	}
	return nil, ErrFailed
}

const (
	mostIterations = 150
	patience       = 30
	// slackTolerance is what is better than nothing where the method stalls.
	slackTolerance = 1e-4
	// rowTolerance is the most that rows may miss, whatever the tolerance: balance makes up for it.
	rowTolerance = 1e-9
	slackRows    = 1e-7
)

func newState(p Program) *state {
	s := &state{Program: p, n: len(p.Group), rows: len(p.Rows)}
	for _, g := range p.Group {
		s.groups = max(s.groups, g+1)
	}
	s.touch = make([][]entry, p.Laws+p.Free)
	for r, row := range p.Rows {
		for _, t := range row.Terms {
			s.touch[t.Law] = append(s.touch[t.Law], entry{r, t.Value})
		}
		s.capped = s.capped || row.Kind == AtMostT
	}
	grid := func() [][]float64 { return matrix(p.Laws, s.n) }
	free := func() [][]float64 { return matrix(p.Free, s.n) }
	s.fd, s.fg, s.fr, s.secondF = free(), free(), free(), free()
	for _, v := range []*vars{&s.point, &s.step} {
		*v = vars{
			u: grid(), v: grid(), zu: grid(), zv: grid(), f: free(), zf: free(), m: make([]float64, s.groups),
			s: make([]float64, s.rows), zs: make([]float64, s.rows), lambda: make([]float64, s.rows),
		}
	}
	s.a, s.rd, s.d, s.b = grid(), grid(), grid(), grid()
	s.secondU, s.secondV, s.gu, s.gv, s.g = grid(), grid(), grid(), grid(), grid()
	for _, v := range []*[]float64{&s.rp, &s.secondS, &s.gs, &s.diag, &s.unit} {
		*v = make([]float64, s.rows)
	}
	for _, v := range []*[]float64{&s.rm, &s.h, &s.root, &s.byGroup} {
		*v = make([]float64, s.groups)
	}
	s.law = make([]float64, s.n)
	s.pairs = (2*p.Laws + p.Free) * s.n
	for _, row := range p.Rows {
		if row.Kind != Equal {
			s.pairs++
		}
	}
	s.bands, s.matrix = matrix(s.rows, s.groups), matrix(s.rows, s.rows)
	return s
}

func matrix(rows, columns int) [][]float64 {
	all := make([]float64, rows*columns)
	out := make([][]float64, rows)
	for i := range out {
		out[i] = all[i*columns : (i+1)*columns : (i+1)*columns]
	}
	return out
}

func (s *state) start() {
	p := &s.point
	size := make([]float64, s.groups)
	for _, g := range s.Group {
		size[g]++
	}
	for g := range p.m {
		p.m[g] = 2 / ((1 + s.Ratio) * float64(s.n))
	}
	half := (s.Ratio - 1) / ((1 + s.Ratio) * float64(s.n))
	q := 1 / float64(s.n)
	value := make([]float64, s.rows)
	for i, entries := range s.touch[:s.Laws] {
		for _, e := range entries {
			for _, a := range e.value {
				value[e.row] += a * q
			}
		}
		for j := range s.n {
			p.u[i][j], p.v[i][j] = half, half
			if s.Cost != nil {
				s.scale += s.Cost[i][j] * q
			}
		}
	}
	for r, row := range s.Rows {
		if row.Kind == AtMostT {
			p.t = max(p.t, 1.5*value[r])
		}
	}
	s.scale = max(s.scale+p.t, 1e-300)
	mu := s.scale / float64(s.pairs)
	for r, row := range s.Rows {
		switch row.Kind {
		case Equal:
			continue
		case AtMost:
			p.s[r] = max(row.Bound-value[r], 0.1*row.Bound)
		case AtMostT:
			p.s[r] = max(p.t-value[r], 0.1*p.t)
		}
		p.zs[r] = mu / p.s[r]
		p.lambda[r] = -p.zs[r]
	}
	for i := range p.zu {
		for j := range p.zu[i] {
			p.zu[i][j], p.zv[i][j] = mu/half, mu/half
		}
	}
	for i := range p.f {
		for j := range p.f[i] {
			p.f[i][j], p.zf[i][j] = half, mu/half
		}
	}
}

// residuals computes what the point misses, and returns the worst of it, relative to the
// objective, and that of the rows.
func (s *state) residuals() (miss, rows float64) {
	p := &s.point
	s.reduced()
	var dual, gap float64
	for r, row := range s.Rows {
		s.rp[r] = row.Bound - p.s[r]
		if row.Kind == AtMostT {
			s.rp[r] += p.t
		}
	}
	clear(s.rm)
	value := 0.0
	if s.capped {
		value = p.t
	}
	for i := range s.a {
		q := s.law
		s.lawOf(i, q)
		for _, e := range s.touch[i] {
			s.rp[e.row] -= dot(e.value, q)
		}
		if s.Cost != nil {
			value += dot(s.Cost[i], q)
		}
		for j, g := range s.Group {
			zu, zv := p.zu[i][j], p.zv[i][j]
			s.rd[i][j] = s.a[i][j] - zu + zv
			s.rm[g] += zu - s.Ratio*zv
			gap += zu*p.u[i][j] + zv*p.v[i][j]
			dual = max(dual, math.Abs(s.rd[i][j])*q[j]*float64(s.n))
		}
	}
	for i, f := range p.f {
		if s.Cost != nil {
			value += dot(s.Cost[s.Laws+i], f)
		}
		for _, e := range s.touch[s.Laws+i] {
			s.rp[e.row] -= dot(e.value, f)
		}
		for j, x := range f {
			s.fr[i][j] -= p.zf[i][j] // its reduced cost, so far
			gap += x * p.zf[i][j]
			dual = max(dual, math.Abs(s.fr[i][j])*x*float64(s.n))
		}
	}
	s.rt = -1
	for r, row := range s.Rows {
		if row.Kind == AtMostT {
			s.rt -= p.lambda[r]
		}
		gap += p.s[r] * p.zs[r]
		rows = max(rows, math.Abs(s.rp[r])/(1+math.Abs(row.Bound)))
	}
	for g, r := range s.rm {
		dual = max(dual, math.Abs(r)*p.m[g]*float64(s.n))
	}
	s.scale = max(math.Abs(value), 1e-300)
	miss = max(gap, dual) / s.scale
	if s.capped {
		miss = max(miss, math.Abs(s.rt))
	}
	return miss, rows
}

// reduced sets a and fr to the costs less the prices of the rows.
func (s *state) reduced() {
	for i, to := range slices.Concat(s.a, s.fr) {
		clear(to)
		if s.Cost != nil {
			copy(to, s.Cost[i])
		}
		for _, e := range s.touch[i] {
			axpy(to, -s.point.lambda[e.row], e.value)
		}
	}
}

func (s *state) lawOf(i int, q []float64) {
	for j, g := range s.Group {
		q[j] = s.point.m[g] + s.point.u[i][j]
	}
}

func (s *state) solution() *Solution {
	out := &Solution{Least: slices.Clone(s.point.m), Prices: slices.Clone(s.point.lambda), Value: s.scale}
	for i := range s.Laws {
		out.Laws = append(out.Laws, make([]float64, s.n))
		s.lawOf(i, out.Laws[i])
	}
	for _, f := range s.point.f {
		out.Laws = append(out.Laws, slices.Clone(f))
	}
	for i := range s.Laws {
		s.balance(i, out.Laws)
	}
	return out
}

// balance makes up for what a law misses in the rows to equal that no law but it and free ones are
// in: close to the optimum the normal equations leave some 1e-9. It moves in proportion to how
// far probabilities are from their bounds.
func (s *state) balance(i int, laws [][]float64) {
	q := laws[i]
	var equal []entry
	for _, e := range s.touch[i] {
		own := 0
		for _, t := range s.Rows[e.row].Terms {
			if t.Law < s.Laws {
				own++
			}
		}
		if s.Rows[e.row].Kind == Equal && own == 1 {
			equal = append(equal, e)
		}
	}
	room := make([]float64, s.n)
	for j := range room {
		u, v := s.point.u[i][j], s.point.v[i][j]
		room[j] = u*v/(u+v) + balanceShare*q[j]
	}
	n := len(equal)
	gram, diag, x := matrix(n, n), make([]float64, n), make([]float64, n)
	for a := range equal {
		for b := range a + 1 {
			gram[a][b] = weighted(room, equal[a].value, equal[b].value)
		}
		diag[a] = 1 / math.Sqrt(gram[a][a])
	}
	cholesky(gram, diag)
	for range 3 { // each leaves rounding errors of the one before
		for a, e := range equal {
			x[a] = s.Rows[e.row].Bound
			for _, t := range s.Rows[e.row].Terms {
				x[a] -= dot(t.Value, laws[t.Law])
			}
		}
		solve(gram, diag, x)
		for a, e := range equal {
			for j, v := range e.value {
				q[j] += x[a] * v * room[j]
			}
		}
	}
}

// balanceShare is the share of a probability at its bound that counts as room.
const balanceShare = 1e-9
