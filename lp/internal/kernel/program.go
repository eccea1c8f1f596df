// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"context"
	"math"
	"slices"

	"github.com/noisewright/noisewright/internal/solver"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/lp/internal/engine"
	"github.com/noisewright/noisewright/lp/internal/engine/cuts"
	"github.com/noisewright/noisewright/lp/internal/meet"
)

// layout describes a discretized design problem with one law P_k over n
// outputs for each of n queries:
//
//	minimize   Σ_k Σ_j cost[k][j]·P_k(j)
//	subject to Σ_j P_k(j) = 1,  P ≥ 0
//	           H(P_gain ‖ P_lose) ≤ δ      for every limit
//	           Σ coefficient·P_k(j) ≤ 1    for every cap
//
// where H(P‖Q) = Σ_j (P(j) − e^ε Q(j))₊.
type layout struct {
	cost   [][]float64
	limits []nodePair
	// mirrored: the problem is its own mirror image, so that P_k(j) and
	// P_{n−1−k}(n−1−j) may share a variable (average a solution with its mirror
	// image). Limits and caps then stand for their images too.
	mirrored     bool
	ratio, delta float64
	// caps are on the loss of single queries.
	caps [][]capTerm
	// broken, if not nil, returns further caps that laws do not keep.
	broken func(laws [][]float64) [][]capTerm
}

func (l *layout) laws() engine.Laws {
	return engine.Laws{Inputs: len(l.cost), Answers: len(l.cost), Mirrored: l.mirrored}
}

// nodePair is an ordered pair of queries.
type nodePair struct{ gain, lose int }

// protect limits the divergences of pairs of queries both ways; of pairs that are
// mirror images of each other one stands for both.
func (l *layout) protect(pairs [][2]int) {
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

type program struct {
	layout
	engine.Laws
	variable [][]int // of (k, j)
	*engine.Solution
}

// solve solves a layout. coarse are the laws of a coarser program, or nil.
func (l *layout) solve(ctx context.Context, o *meet.Options, coarse [][]float64, want engine.Want) (*program, solver.Status, error) {
	p := &program{layout: *l, Laws: l.laws()}
	p.variable = p.Variables()
	of := engine.OfLaws(p.problem()) // starts from uniform laws
	of.Total = slices.Repeat([]float64{1}, p.Own())
	of.Generation.Expect = func() (mass []float64, limits []int, slack float64) {
		mass = make([]float64, len(of.Cost))
		limits, slack = p.expected(mass, coarse)
		return mass, limits, slack
	}
	if l.broken != nil {
		of.Generation.Broken = func(mass []float64) []cuts.Row { return p.rows(l.broken(p.Of(mass))) }
	}
	var status solver.Status
	var err error
	p.Solution, status, err = engine.Solve(ctx, o, of, want)
	return p, status, err
}

// problem states the layout in variables. The rows are the total masses, of query i in
// row i, and the caps.
func (p *program) problem() cuts.Problem {
	n := p.Answers
	out := cuts.Problem{
		Ratio: p.ratio, Delta: p.delta,
		Cost: make([]float64, p.Count()), Scale: slices.Repeat([]float64{1 / float64(n)}, p.Count()),
	}
	for k, row := range p.variable {
		for j, v := range row {
			out.Cost[v] += p.cost[k][j]
		}
		if k < p.Own() {
			out.Rows = append(out.Rows, cuts.Row{Lower: 1, Upper: 1, Index: row, Value: slices.Repeat([]float64{1}, n)})
		}
	}
	out.Rows = append(out.Rows, p.rows(p.caps)...)
	for _, l := range p.limits {
		out.Limits = append(out.Limits, cuts.Limit{Gain: p.variable[l.gain], Lose: p.variable[l.lose]})
	}
	return out
}

func (p *program) rows(caps [][]capTerm) []cuts.Row {
	var rows []cuts.Row
	for _, terms := range caps {
		r := cuts.Row{Lower: math.Inf(-1), Upper: 1}
		for _, t := range terms {
			r.Index = append(r.Index, p.variable[t.k][t.j])
			r.Value = append(r.Value, t.coefficient)
		}
		rows = append(rows, r)
	}
	return rows
}

// expected sets the masses and returns the limits that are expected to matter: the limits between the queries furthest
// apart, which nearly always bind, or, with the laws of a coarser program, all limits
// with the terms that those laws make positive.
func (p *program) expected(mass []float64, coarse [][]float64) (limits []int, slack float64) {
	if coarse == nil {
		for v := range mass {
			mass[v] = 1
		}
		return p.far(), 0
	}
	for k, row := range p.variable {
		for j, v := range row {
			mass[v] = interpolate(coarse, p.Inputs, k, j)
		}
	}
	for i := range p.limits {
		limits = append(limits, i)
	}
	return limits, engine.HintSlack
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
	return m*float64(len(coarse))/float64(n) + engine.HintFloor
}

func (p *program) far() []int {
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

// dual reads the multipliers of a lower program, in units of the loss (unit is
// what the costs were divided by, and the caps by instanceCap). Whatever the
// solver's errors, the result proves a true bound.
func (p *program) dual(unit, instanceCap float64) *kernels.Dual {
	d := &kernels.Dual{Cells: p.Inputs, Mirrored: p.mirrored}
	var some bool
	if d.Exponent, d.Caps, some = p.Caps(p.Solution, len(p.limits), unit, instanceCap); !some {
		return d
	}
	y := make([]float64, p.Answers)
	for i, l := range p.limits {
		for j := range y {
			y[j] = math.Ldexp(p.Multiplier(i, j)*unit*p.Share(), -d.Exponent)
		}
		if first, m := meet.Integers(y, 1); m != nil {
			d.Add(l.gain, l.lose, first, meet.Trimmed(m))
		}
	}
	return d
}
