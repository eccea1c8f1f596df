// SPDX-License-Identifier: Apache-2.0

package interior

import (
	"math"
	"slices"

	"github.com/noisewright/noisewright/lp/internal/engine/cuts"
)

// tied are variables of a program that are powers of Ratio times others, so that only those are
// unknowns. Terms that compare the same two of these by the same ratio are one term.
type tied struct {
	// root is the unknown of each variable, and fall the power of 1/Ratio it is of it.
	root []int
	fall []int
}

// reduce states a program in its unknowns, if some of its variables are tied.
func (p *Program) reduce() {
	p.full = p.Problem
	if p.Root == nil {
		return
	}
	p.root, p.fall = make([]int, len(p.Cost)), make([]int, len(p.Cost))
	var cost, start []float64
	for v := range p.Cost {
		if v < len(p.Root) && p.Root[v] != v {
			continue
		}
		p.root[v] = len(cost)
		cost, start = append(cost, 0), append(start, p.Start[v])
	}
	for v, c := range p.Cost {
		if v < len(p.Root) && p.Root[v] != v {
			p.root[v], p.fall[v] = p.root[p.Root[v]], p.Fall[v]
		}
		cost[p.root[v]] += c * p.share(v)
	}
	p.Cost, p.Start, p.Rows = cost, start, slices.Clone(p.Rows)
	for i := range p.Rows {
		p.Rows[i] = p.reduced(p.Rows[i])
	}
}

// of returns the unknown of a variable.
func (p *Program) of(v int) int {
	if p.root == nil {
		return v
	}
	return p.root[v]
}

// share returns which share of its unknown a variable is.
func (p *Program) share(v int) float64 {
	if p.root == nil || p.fall[v] == 0 {
		return 1
	}
	return math.Pow(p.Ratio, -float64(p.fall[v]))
}

func (p *Program) reduced(r cuts.Row) cuts.Row {
	index, value := slices.Clone(r.Index), slices.Clone(r.Value)
	for i, v := range r.Index {
		index[i] = p.of(v)
		value[i] *= p.share(v)
	}
	r.Index, r.Value = index, value
	return r
}

// expanded returns the masses of all variables.
func (p *Program) expanded(x []float64) []float64 {
	if p.root == nil {
		return x
	}
	out := make([]float64, len(p.root))
	for v := range out {
		out[v] = x[p.root[v]] * p.share(v)
	}
	return out
}

// term is weight·(p_gain − ratio·p_lose), of unknowns.
type term struct {
	gain, lose    int
	weight, ratio float64
}

// layTied lays out the terms of a limit and returns what counts as it is.
func (p *Program) layTied(k int, skip func(limit, term int) bool) cuts.Row {
	const most = 1 << 10 // powers of Ratio between two of a chain
	n, l := len(p.Cost), p.Limits[k]
	powers := make([]float64, 0, most)
	power := func(i int) float64 { // Ratio^-i
		for len(powers) <= i {
			powers = append(powers, math.Pow(p.Ratio, -float64(len(powers))))
		}
		return powers[i]
	}
	var alone cuts.Row
	for _, v := range p.Common {
		alone.Index, alone.Value = append(alone.Index, p.of(v)), append(alone.Value, p.share(v))
	}
	type key struct{ gain, lose, fall int }
	known := make(map[key]int)
	var all []term
	for j, u := range l.Gain {
		v, f := l.Lose[j], power(p.fall[u])*l.Factor(j)
		p.place[k][j] = never
		switch {
		case v < 0:
			alone.Index, alone.Value = append(alone.Index, p.root[u]), append(alone.Value, f)
		case skip != nil && skip(k, j):
		case p.root[u] == p.root[v]:
			if p.fall[u] < p.fall[v]-1 { // it is above 0 by that
				p.place[k][j] = always
				alone.Index, alone.Value = append(alone.Index, p.root[u]), append(alone.Value, f-p.Ratio*power(p.fall[v])*l.Factor(j))
			}
		default:
			at, ok := known[key{p.root[u], p.root[v], p.fall[v] - p.fall[u]}]
			if !ok {
				at = len(all)
				known[key{p.root[u], p.root[v], p.fall[v] - p.fall[u]}] = at
				all = append(all, term{p.root[u], p.root[v], 0, p.Ratio * math.Pow(p.Ratio, float64(p.fall[u]-p.fall[v]))})
			}
			all[at].weight += f
			p.place[k][j] = int32(p.terms + at)
		}
	}
	for _, t := range all {
		p.append(k, t, n)
	}
	return alone
}

// Places of terms that have none: those that are never above 0, and those that count as they are.
const (
	never  = -1
	always = -2
)
