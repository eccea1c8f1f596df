// SPDX-License-Identifier: Apache-2.0

package interior

import (
	"context"
	"math"
)

// With g_i = p_gain − E·p_lose of term i of limit k (E the ratio), times its weight, the program is
//
//	minimize   c·p
//	subject to g_i = s_i − t_i,  Σ_{i in k} s_i + alone_k·p + r_k = δ,  A·p = b,  C·p − x = d
//	           p, s, t, r, x ≥ 0,
//
// with the duals y_i of the terms, η_k of the limits, λ and π of the rows, z of p and w_i = η_k −
// y_i, which is kept apart: the difference would cancel. Complementary are s·w, t·y, r·η, p·z and
// x·π. With σ = s/w, τ = t/y, D = σ+τ, and e of right sides, Newton's equations give for the terms
//
//	Δy = (Δg + e + σΔη)/D,  Δw = (τΔη − Δg − e)/D,
//
// and the price of each limit by itself:
//
//	Δη_k = (B_k·Δp + const_k)/h_k,  B_k = Σ σ/D·∂g + alone_k,  h_k = Σ στ/D + r_k/η_k.
//
// What remains is symmetric and positive definite,
//
//	M = diag(z/p) + Σ_i ∂g∂gᵀ/D + Σ_k B_k·B_kᵀ/h_k + Cᵀ·diag(π/x)·C,
//
// bordered by A. M and h are sums of positive parts, so that rounding leaves them so.
// (To eliminate p first, and keep the η, would need less work, but fails numerically.)

// build computes M and factors it, and reports whether it could before the context ended.
func (s *state) build(ctx context.Context) bool {
	s.matrix.Clear()
	clear(s.diagonal)
	clear(s.more)
	m := s.matrix.Data()
	for k := range s.eta {
		s.collect(k)
		s.root[k] = 1 / math.Sqrt(s.h[k])
		s.bands.SetColumn(k, whole(s.band), s.root[k])
	}
	fold(s.diagonal, s.more)
	for i, r := range s.least {
		f := s.price[i] / s.x[i]
		for _, a := range r.entries {
			for _, b := range r.entries {
				if b.index <= a.index {
					m[s.matrix.Index(a.index, b.index)] += f * a.value * b.value
				}
			}
		}
	}
	for v := range s.p {
		m[s.matrix.Index(v, v)] += s.diagonal[v] + s.z[v]/s.p[v]
	}
	s.matrix.Add(ctx, s.bands)
	for v := range s.diagonal {
		s.diagonal[v] = 1 / math.Sqrt(m[s.matrix.Index(v, v)])
	}
	s.matrix.Scale(whole(s.diagonal), regular)
	if !s.matrix.Factor(ctx) {
		return false
	}
	for i, r := range s.equal {
		x := s.border[i]
		clear(x)
		for _, e := range r.entries {
			x[e.index] = e.value
		}
		s.solve(x)
	}
	return true
}

// whole returns a vector with what is beyond its end, the zeros that package matrix needs.
func whole(x []float64) []float64 { return x[:cap(x)] }

// regular is added to the unit diagonal of the scaled matrix: some ten times the rounding
// errors of its factors.
const regular = 1e-13

// collect computes B and h of a limit, and adds its terms to the matrix.
func (s *state) collect(k int) {
	m := s.matrix.Data()
	clear(s.sums)
	s.first = parts{}
	for _, r := range s.runs[k] {
		f := s.scratch[:r.count]
		s.weigh(r.first, f)
		s.spread(r, f, 1)
		inverse := s.times(s.scaled, s.times(s.scaled, s.inverse[r.first:r.first+r.count], r), r)
		add(s.more[r.gain:], inverse, 1)
		add(s.more[r.lose:], inverse, r.ratio*r.ratio)
		for i, at := range s.offset[r.first : r.first+r.count] {
			m[at] -= float64(r.ratio * inverse[i])
		}
	}
	clear(s.band)
	fold(s.band, s.sums)
	for _, a := range s.alone[k] {
		s.band[a.index] += a.value
	}
	s.h[k] = s.r[k]/s.eta[k] + s.first.sum()
}

func (s *state) solve(x []float64) {
	for v := range x {
		x[v] *= s.diagonal[v]
	}
	s.matrix.Solve(whole(x))
	for v := range x {
		x[v] *= s.diagonal[v]
	}
}

// direction solves Newton's equations for the right sides.
func (s *state) direction() {
	right := s.right
	for v := range right {
		right[v] = s.cp[v]/s.p[v] - s.z[v] - s.rd[v]
	}
	clear(s.sums)
	for k := range s.eta {
		sum := s.limitSides(k)
		s.constant[k] = sum + s.cr[k]/s.eta[k] - s.r[k] - s.rk[k]
		s.byLimit[k] = -s.constant[k] * s.root[k]
	}
	fold(right, s.sums)
	s.bands.AddTimes(whole(right), whole(s.byLimit))
	for i, r := range s.least {
		// −Cᵀ Δπ, with Δπ = (cx − x·π)/x − π/x·(C·Δp + what the row misses).
		f := s.cx[i]/s.x[i] - s.price[i] + s.price[i]/s.x[i]*s.rx[i]
		for _, e := range r.entries {
			right[e.index] += f * e.value
		}
	}
	copy(s.dp, right)
	s.solve(s.dp)
	s.meet()
	s.bands.TransposedTimes(whole(s.byLimit), whole(s.dp))
	twice(s.masses, s.dp)
	for k := range s.eta {
		s.deta[k] = s.byLimit[k]*s.root[k] + s.constant[k]/s.h[k]
		s.dr[k] = s.cr[k]/s.eta[k] - s.r[k] - s.r[k]/s.eta[k]*s.deta[k]
		for _, r := range s.runs[k] {
			s.expand(r.first, s.compare(r), s.deta[k])
		}
	}
	for v := range s.dp {
		s.dz[v] = s.cp[v]/s.p[v] - s.z[v] - s.z[v]/s.p[v]*s.dp[v]
	}
	for i, r := range s.least {
		s.dx[i] = r.at(s.dp) - s.rx[i]
		s.dprice[i] = (s.cx[i]-s.price[i]*s.dx[i])/s.x[i] - s.price[i]
	}
}

// limitSides computes the right sides of the terms of a limit, subtracts them from those of
// the masses, and returns their share in that of the limit.
func (s *state) limitSides(k int) float64 {
	s.first = parts{}
	for _, r := range s.runs[k] {
		f := s.scratch[:r.count]
		s.sides(r.first, f)
		s.spread(r, f, -1)
	}
	return s.first.sum()
}

// meet adds to the direction what meets the equations: of one or two, so Gauss does.
func (s *state) meet() {
	count := len(s.equal)
	gram := make([][]float64, count)
	for i := range s.equal {
		gram[i] = make([]float64, count+1)
		for j := range s.equal {
			gram[i][j] = s.equal[i].at(s.border[j])
		}
		gram[i][count] = s.re[i] - s.equal[i].at(s.dp)
	}
	for i := range gram {
		for j := i + 1; j < count; j++ {
			f := gram[j][i] / gram[i][i]
			for c := i; c <= count; c++ {
				gram[j][c] -= f * gram[i][c]
			}
		}
	}
	for i := count - 1; i >= 0; i-- {
		x := gram[i][count]
		for j := i + 1; j < count; j++ {
			x -= gram[i][j] * s.dlambda[j]
		}
		s.dlambda[i] = x / gram[i][i]
		for v, b := range s.border[i] {
			s.dp[v] += s.dlambda[i] * b
		}
	}
}
