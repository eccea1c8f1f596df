// SPDX-License-Identifier: Apache-2.0

package ratio

import "math"

// With residuals rp of rows, rd of a − zu + zv = 0, rm of Σ (zu − E·zv) = 0 and rt of
// 1 + Σ λ = 0 (E the ratio, sums over the cells of a group), and right-hand sides of the
// products such as ru = μ − u·zu, Newton's equations are, with σ = zu/u, τ = zv/v:
//
//	(σ+τ)·dq − (σ+Eτ)·dm = Aᵀdλ + ru/u − rv/v − rd               (each cell)
//	Σ (σ+E²τ)·dm − Σ (σ+Eτ)·dq = −rm − Σ (ru/u − E·rv/v)         (each group)
//	A·dq − dT + ds = rp,  Σ dλ = rt.
//
// A free mass f with z = a has df = f/z·(Aᵀdλ + right side/f − rd) and no group.
//
// With d = 1/(σ+τ), b = (σ+Eτ)·d and h = (E−1)²·Σ στ·d, all sums of positive numbers:
//
//	dm = (−rm − Σ(ru/u − E·rv/v) + Σ b·g)/h,  dq = d·g + b·dm,  g the right side above,
//
// and rows remain: A·D·Aᵀ + Σ_groups (A·b)(A·b)ᵀ/h + s/zs, bordered by T.

// iterate takes one predictor and corrector step, or, if it is to hold, one that only
// meets the rows better.
func (s *state) iterate(hold bool) {
	s.factor()
	p, d := &s.point, &s.step
	var primal, dual float64
	if !hold {
		s.direction(0, false)
		primal, dual = s.lengths(1)
	}
	now, then := s.products(primal, dual)
	mean := now / float64(s.pairs)
	if !hold {
		s.blocks(func(_, _, dx, dz, second []float64) {
			for j := range second {
				second[j] = dx[j] * dz[j]
			}
		})
		left := then / now
		s.direction(mean*min(max(left*left*left, 1e-6), 0.9), true)
		primal, dual = s.lengths(stepShare)
	}
	if min(primal, dual) < shortStep {
		// The point is off center: products that are small already block the way. Without
		// the terms of second order, and not as far, there is one.
		s.direction(centering*mean, false)
		primal, dual = s.lengths(stepShare)
	}
	s.blocks(func(x, z, dx, dz, _ []float64) {
		axpy(x, primal, dx)
		axpy(z, dual, dz)
	})
	axpy(p.m, primal, d.m)
	p.t += primal * d.t
	axpy(p.lambda, dual, d.lambda)
}

const (
	stepShare = 0.995 // of the way to the boundary is taken
	shortStep = 0.1
	centering = 0.8
)

// blocks shows all complementary variables, their directions, and the products of directions
// that are kept.
func (s *state) blocks(show func(x, z, dx, dz, second []float64)) {
	p, d := &s.point, &s.step
	for i := range p.u {
		show(p.u[i], p.zu[i], d.u[i], d.zu[i], s.secondU[i])
		show(p.v[i], p.zv[i], d.v[i], d.zv[i], s.secondV[i])
	}
	for i := range p.f {
		show(p.f[i], p.zf[i], d.f[i], d.zf[i], s.secondF[i])
	}
	show(p.s, p.zs, d.s, d.zs, s.secondS) // all 0 where the row is Equal
}

func (s *state) products(primal, dual float64) (now, then float64) {
	s.blocks(func(x, z, dx, dz, _ []float64) {
		for j := range x {
			now += x[j] * z[j]
			then += (x[j] + primal*dx[j]) * (z[j] + dual*dz[j])
		}
	})
	return now, then
}

// lengths returns the longest steps, up to 1, that leave a share of every variable.
func (s *state) lengths(share float64) (primal, dual float64) {
	primal, dual = share, share // of the length to the boundary
	s.blocks(func(x, z, dx, dz, _ []float64) {
		for j := range x {
			if -primal*dx[j] > share*x[j] {
				primal = share * x[j] / -dx[j]
			}
			if -dual*dz[j] > share*z[j] {
				dual = share * z[j] / -dz[j]
			}
		}
	})
	return primal, dual
}

func (s *state) factor() {
	p, e := &s.point, s.Ratio
	clear(s.h)
	for i := range p.u {
		for j, g := range s.Group {
			sigma, tau := p.zu[i][j]/p.u[i][j], p.zv[i][j]/p.v[i][j]
			d := 1 / (sigma + tau)
			s.d[i][j] = d
			s.b[i][j] = (sigma + e*tau) * d
			s.h[g] += sigma * tau * d
		}
	}
	for g := range s.h {
		s.h[g] *= (e - 1) * (e - 1)
	}
	for r := range s.matrix {
		clear(s.matrix[r])
		clear(s.bands[r])
	}
	for i := range s.fd {
		for j, x := range p.f[i] {
			s.fd[i][j] = x / p.zf[i][j]
		}
		s.addLaw(s.Laws+i, s.fd[i])
	}
	for i, entries := range s.touch[:s.Laws] {
		for _, x := range entries {
			band := s.bands[x.row]
			for j, g := range s.Group {
				band[g] += x.value[j] * s.b[i][j]
			}
		}
		s.addLaw(i, s.d[i])
	}
	for g, h := range s.h {
		s.root[g] = 1 / math.Sqrt(h)
	}
	for _, band := range s.bands {
		for g := range band {
			band[g] *= s.root[g]
		}
	}
	addSquares(s.matrix, s.bands)
	for r, row := range s.Rows {
		if row.Kind != Equal {
			s.matrix[r][r] += p.s[r] / p.zs[r]
		}
		s.diag[r] = 1 / math.Sqrt(s.matrix[r][r])
	}
	cholesky(s.matrix, s.diag)
	if s.capped {
		for r, row := range s.Rows {
			s.unit[r] = 0
			if row.Kind == AtMostT {
				s.unit[r] = 1
			}
		}
		solve(s.matrix, s.diag, s.unit)
	}
}

// addLaw adds the part of A·D·Aᵀ of a law to the matrix.
func (s *state) addLaw(law int, d []float64) {
	for k, x := range s.touch[law] {
		for _, y := range s.touch[law][:k+1] {
			lo, hi := min(x.row, y.row), max(x.row, y.row)
			s.matrix[hi][lo] += weighted(d, x.value, y.value)
		}
	}
}

// direction sets the step towards products of mu, less the second order products that are
// kept, if they are to be used.
func (s *state) direction(mu float64, second bool) {
	p, d, e := &s.point, &s.step, s.Ratio
	// gu and gv are the right sides of the products, divided by u and v; dm starts as its
	// right side.
	for k := range d.m {
		d.m[k] = -s.rm[k]
	}
	for i, g := range s.g {
		gu, gv, b := s.gu[i], s.gv[i], s.b[i]
		for j, k := range s.Group {
			u, v := p.u[i][j], p.v[i][j]
			gu[j], gv[j] = mu/u-p.zu[i][j], mu/v-p.zv[i][j]
			if second {
				gu[j] -= s.secondU[i][j] / u
				gv[j] -= s.secondV[i][j] / v
			}
			g[j] = gu[j] - gv[j] - s.rd[i][j]
			d.m[k] += b[j]*g[j] - (gu[j] - e*gv[j])
		}
	}
	x := d.lambda
	copy(x, s.rp)
	for k := range s.byGroup {
		s.byGroup[k] = d.m[k] * s.root[k]
	}
	for r, row := range s.Rows {
		x[r] -= dot(s.bands[r], s.byGroup)
		if row.Kind == Equal {
			continue
		}
		s.gs[r] = mu/p.zs[r] - p.s[r]
		if second {
			s.gs[r] -= s.secondS[r] / p.zs[r]
		}
		x[r] -= s.gs[r]
	}
	for i, entries := range s.touch[:s.Laws] {
		for _, en := range entries {
			x[en.row] -= weighted(s.d[i], s.g[i], en.value)
		}
	}
	for i, g := range s.fg {
		for j := range g {
			g[j] = mu/p.f[i][j] - p.zf[i][j] - s.fr[i][j]
			if second {
				g[j] -= s.secondF[i][j] / p.f[i][j]
			}
		}
		for _, en := range s.touch[s.Laws+i] {
			x[en.row] -= weighted(s.fd[i], g, en.value)
		}
	}
	solve(s.matrix, s.diag, x)
	d.t = 0
	if s.capped {
		miss, all := s.rt, 0.0
		for r, row := range s.Rows {
			if row.Kind == AtMostT {
				miss -= x[r]
				all += s.unit[r]
			}
		}
		d.t = miss / all
		axpy(x, d.t, s.unit)
	}
	s.expand()
}

func (s *state) expand() {
	p, d, e := &s.point, &s.step, s.Ratio
	clear(s.byGroup)
	for r, l := range d.lambda {
		axpy(s.byGroup, l, s.bands[r])
	}
	for k := range d.m {
		d.m[k] = (d.m[k]*s.root[k] + s.byGroup[k]) * s.root[k]
	}
	for i, g := range s.fg {
		for j := range g {
			d.zf[i][j] = g[j] + s.fr[i][j] // the right side of the product
		}
		for _, en := range s.touch[s.Laws+i] {
			axpy(g, d.lambda[en.row], en.value)
		}
		for j := range g {
			d.f[i][j] = s.fd[i][j] * g[j]
			d.zf[i][j] -= p.zf[i][j] / p.f[i][j] * d.f[i][j]
		}
	}
	for i, entries := range s.touch[:s.Laws] {
		g := s.g[i]
		for _, en := range entries {
			axpy(g, d.lambda[en.row], en.value)
		}
		for j, k := range s.Group {
			dm := d.m[k]
			dq := s.d[i][j]*g[j] + s.b[i][j]*dm
			du, dv := dq-dm, e*dm-dq
			d.u[i][j], d.v[i][j] = du, dv
			d.zu[i][j] = s.gu[i][j] - p.zu[i][j]/p.u[i][j]*du
			d.zv[i][j] = s.gv[i][j] - p.zv[i][j]/p.v[i][j]*dv
		}
	}
	for r, row := range s.Rows {
		if row.Kind != Equal {
			d.zs[r] = -d.lambda[r]
			d.s[r] = s.gs[r] - p.s[r]/p.zs[r]*d.zs[r]
		}
	}
}
