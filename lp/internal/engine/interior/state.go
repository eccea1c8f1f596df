// SPDX-License-Identifier: Apache-2.0

package interior

import (
	"math"

	"github.com/noisewright/noisewright/internal/matrix"
)

// state is a point of the interior, and a direction from it, with the names of newton.go.
type state struct {
	*Program
	terms
	n, pairs int

	p, z, r, eta, x, price, lambda []float64

	dp, dz, dr, deta, dx, dprice, dlambda []float64

	kept [][]float64 // the direction before a corrector

	cp, cr, cx []float64 // what products are to be

	rd, reduced    []float64 // what the duals of masses miss; c + Σ y∂g + … before equations
	rk             []float64 // δ − what limits have
	re, rx         []float64 // what rows miss
	primal, dual   float64
	excess, misses float64 // the worst relative ones, of limits and of equations
	penalty        float64 // of what all of them miss, at their prices
	mean           float64 // of the products
	dearest        float64 // at least what any masses cost

	h, root                  []float64
	bands                    *matrix.Panels // B/√h, a row for each mass
	band                     []float64
	matrix                   *matrix.Matrix
	diagonal                 []float64
	border                   [][]float64 // M⁻¹Aᵀ, for each equation
	offset                   []int32     // by term: the element of the matrix that is its own
	right, byLimit, constant []float64

	masses, sums, more []float64 // masses twice, and what is summed for both places
	scratch, scaled    []float64 // of a run
}

func newState(p *Program) *state {
	n, terms, limits := len(p.Cost), p.terms, len(p.Limits)
	s := &state{Program: p, n: n, pairs: n + 2*terms + limits + len(p.least)}
	vectors := func(length int, all ...*[]float64) {
		for _, v := range all {
			*v = make([]float64, length)
		}
	}
	vectors(n, &s.p, &s.z, &s.dz, &s.cp, &s.rd, &s.reduced)
	vectors(limits, &s.r, &s.eta, &s.dr, &s.deta, &s.cr, &s.rk, &s.h, &s.root, &s.constant)
	vectors(len(p.least), &s.x, &s.price, &s.dx, &s.dprice, &s.cx, &s.rx)
	vectors(len(p.equal), &s.lambda, &s.dlambda, &s.re)
	vectors(terms, &s.s, &s.t, &s.y, &s.w, &s.ds, &s.dt, &s.dy, &s.dw, &s.cs, &s.ct)
	vectors(terms, &s.rg, &s.inverse, &s.iw, &s.iy)
	vectors(2*n, &s.masses, &s.sums, &s.more, &s.scratch, &s.scaled)
	s.bands, s.matrix = matrix.NewPanels(n, limits), matrix.NewMatrix(n)
	for _, v := range []*[]float64{&s.right, &s.diagonal, &s.band, &s.dp} {
		*v = s.bands.Vector()[:n]
	}
	s.byLimit = s.bands.Row()[:limits]
	for range p.equal {
		s.border = append(s.border, s.bands.Vector()[:n])
	}
	s.offset = make([]int32, terms)
	for _, runs := range p.runs {
		for _, r := range runs {
			for i := range r.count {
				u, v := variable(r.gain+i, n), variable(r.lose+i, n)
				s.offset[r.first+i] = int32(s.matrix.Index(max(u, v), min(u, v)))
			}
		}
	}
	return s
}

// start takes the expected masses, and puts all else where products are alike.
func (s *state) start() {
	total := &s.equal[0]
	sum := total.at(s.Start)
	for v := range s.p {
		s.p[v] = s.Start[v] / sum * total.bound
	}
	for _, e := range total.entries {
		s.dearest = max(s.dearest, s.Cost[e.index]/e.value*total.bound)
	}
	limits := float64(max(len(s.Limits), 1))
	mu := startGap / float64(s.pairs)
	twice(s.masses, s.p)
	for k := range s.eta {
		s.eta[k] = 1 / (limits * s.Delta)
		s.r[k] = mu / s.eta[k]
		for _, r := range s.runs[k] {
			for i, g := range s.compare(r) {
				s.centered(r.first+i, g, s.eta[k], mu)
			}
		}
	}
	for i, r := range s.least {
		s.x[i] = max(r.at(s.p)-r.bound, 1e-2*(math.Abs(r.bound)+math.Abs(r.at(s.p))), 1e-12)
		s.price[i] = mu / s.x[i]
	}
	s.residuals()
	for v, p := range s.p {
		s.z[v] = max(mu/p, s.reduced[v]) // so that the dearest do not hold all others up
	}
}

// centered starts a term of a limit with a price: s − t = g, s·w = t·y = μ and y + w = η. Of
// the two shares of η, one is computed without cancellation, and so is the other.
func (s *state) centered(i int, g, eta, mu float64) {
	q := g * eta / mu
	root := math.Hypot(q, 2)
	s.y[i] = eta * 2 / (2 + opposite(root, q))
	s.w[i] = eta * 2 / (2 + opposite(root, -q))
	s.s[i], s.t[i] = mu/s.w[i], mu/s.y[i]
}

// compare returns the g of a run, from the masses twice.
func (s *state) compare(r run) []float64 {
	g := s.scratch[:r.count]
	compare(g, s.masses[r.gain:], s.masses[r.lose:], r.ratio)
	s.times(g, g, r)
	return g
}

// times sets to to x times the weights of the terms of a run, if there are any.
func (s *state) times(to, x []float64, r run) []float64 {
	if s.weight == nil {
		return x
	}
	to = to[:r.count]
	for i, w := range s.weight[r.first : r.first+r.count] {
		to[i] = x[i] * w
	}
	return to
}

// spread adds what the terms of a run have, times f, to the sums of what they gain, and
// as much less, by their ratio, to those of what they lose.
func (s *state) spread(r run, x []float64, f float64) {
	x = s.times(s.scaled, x, r)
	add(s.sums[r.gain:], x, f)
	add(s.sums[r.lose:], x, -f*r.ratio)
}

// startGap is the sum of all products at the start, where costs are about 1: it took the fewest
// iterations.
const startGap = 10

func opposite(root, q float64) float64 {
	if q > 0 {
		return 4 / (root + q)
	}
	return root - q
}

func (r *row) at(p []float64) float64 {
	var sum float64
	for _, e := range r.entries {
		sum += e.value * p[e.index]
	}
	return sum
}

// residuals computes what the point misses, and what it proves.
func (s *state) residuals() {
	copy(s.reduced, s.Cost)
	clear(s.sums)
	twice(s.masses, s.p)
	gap, prices := 0.0, 0.0
	s.primal, s.excess, s.misses, s.penalty, s.dual = 0, 0, 0, 0, 0
	for v, c := range s.Cost {
		s.primal += c * s.p[v]
		gap += s.p[v] * s.z[v]
	}
	for k, eta := range s.eta {
		alone := 0.0
		for _, e := range s.alone[k] {
			alone += e.value * s.p[e.index]
			s.reduced[e.index] += e.value * eta
		}
		sum, excess, products := s.limit(k)
		gap += products + s.r[k]*eta
		prices += eta
		s.rk[k] = s.Delta - s.r[k] - alone - sum
		over := (alone+excess)/s.Delta - 1
		s.excess = max(s.excess, over)
		s.penalty += max(over, 0) * s.Delta * eta
	}
	fold(s.reduced, s.sums)
	for i := range s.least {
		r, pi := &s.least[i], s.price[i]
		for _, e := range r.entries {
			s.reduced[e.index] -= e.value * pi
		}
		s.rx[i] = r.bound + s.x[i] - r.at(s.p)
		gap += s.x[i] * pi
		s.dual += pi * r.bound
		s.penalty += max(0, r.bound-r.at(s.p)) * pi
	}
	s.mean = gap / float64(s.pairs)
	s.dual -= s.Delta * prices
	copy(s.rd, s.reduced)
	for i := range s.equal {
		r := &s.equal[i]
		for _, e := range r.entries {
			s.rd[e.index] -= e.value * s.lambda[i]
		}
		s.re[i] = r.bound - r.at(s.p)
		s.misses = max(s.misses, math.Abs(s.re[i])/max(math.Abs(r.bound), 1e-3))
		s.penalty += math.Abs(s.re[i] * s.lambda[i])
		if i > 0 {
			s.dual += s.lambda[i] * r.bound
		}
	}
	// The price of the total is the least that all reduced costs allow.
	least := math.Inf(1)
	for _, e := range s.equal[0].entries {
		least = min(least, (s.rd[e.index]+e.value*s.lambda[0])/e.value)
	}
	s.dual += least * s.equal[0].bound
	for v := range s.rd {
		s.rd[v] -= s.z[v]
	}
}

// limit sums over the terms of a limit: s, the positive parts, and the products.
func (s *state) limit(k int) (sum, excess, products float64) {
	s.first, s.second, s.third = parts{}, parts{}, parts{}
	for _, r := range s.runs[k] {
		s.terms.residuals(r.first, s.compare(r))
		s.spread(r, s.y[r.first:r.first+r.count], 1)
	}
	return s.first.sum(), s.second.sum(), s.third.sum()
}

// miss is how far the point is from an optimum.
func (s *state) miss() float64 {
	return (math.Abs(s.primal-s.dual)+s.penalty)/math.Abs(s.primal) + s.misses
}

// leastValue is the optimum, of costs about 1, below which the gap is relative to it: an
// optimum of 0 has no relative gap.
const leastValue = 1e-6

// done reports whether the point is as good as wanted.
func (s *state) done(gap, excess float64) bool {
	if !(s.primal-s.dual+s.penalty <= gap*max(math.Abs(s.primal), leastValue)) {
		return false
	}
	return math.IsInf(excess, 1) || s.excess <= excess && s.misses <= totalTolerance
}
