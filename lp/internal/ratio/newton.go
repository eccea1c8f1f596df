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
// With d = 1/(σ+τ), b = (σ+Eτ)·d and h = (E−1)²·Σ στ·d, all sums of positive numbers:
//
//	dm = (−rm − Σ(ru/u − E·rv/v) + Σ b·g)/h,  dq = d·g + b·dm,  g the right side above,
//
// and rows remain: A·D·Aᵀ + Σ_groups (A·b)(A·b)ᵀ/h + s/zs, bordered by T.

// iterate takes one predictor and corrector step.
func (s *state) iterate() {
	s.factor()
	p, d := &s.point, &s.step
	s.direction(0, nil)
	primal, dual := s.lengths(1)
	var now, then float64
	count := 0
	s.products(func(x, z, dx, dz float64) {
		now += x * z
		then += (x + primal*dx) * (z + dual*dz)
		count++
	})
	center := math.Pow(then/now, 3)
	mu := now / float64(count) * min(max(center, 1e-6), 0.9)
	affine := d.clone()
	s.direction(mu, &affine)
	primal, dual = s.lengths(stepShare)
	if min(primal, dual) < shortStep {
		// The point is off center: products that are small already block the way. Without
		// the terms of second order, and not as far, there is one.
		s.direction(centering*now/float64(count), nil)
		primal, dual = s.lengths(stepShare)
	}
	for i := range p.u {
		axpy(p.u[i], primal, d.u[i])
		axpy(p.v[i], primal, d.v[i])
		axpy(p.zu[i], dual, d.zu[i])
		axpy(p.zv[i], dual, d.zv[i])
	}
	axpy(p.m, primal, d.m)
	axpy(p.s, primal, d.s)
	p.t += primal * d.t
	axpy(p.lambda, dual, d.lambda)
	axpy(p.zs, dual, d.zs)
}

const (
	stepShare = 0.995 // of the way to the boundary is taken
	shortStep = 0.1
	centering = 0.8
)

func (v *vars) clone() vars {
	c := vars{s: append([]float64(nil), v.s...), zs: append([]float64(nil), v.zs...)}
	for _, x := range []struct{ to, from *[][]float64 }{{&c.u, &v.u}, {&c.v, &v.v}, {&c.zu, &v.zu}, {&c.zv, &v.zv}} {
		*x.to = matrix(len(*x.from), len((*x.from)[0]))
		for i := range *x.from {
			copy((*x.to)[i], (*x.from)[i])
		}
	}
	return c
}

// products shows all complementary pairs and their directions.
func (s *state) products(show func(x, z, dx, dz float64)) {
	p, d := &s.point, &s.step
	for i := range p.u {
		for j := range p.u[i] {
			show(p.u[i][j], p.zu[i][j], d.u[i][j], d.zu[i][j])
			show(p.v[i][j], p.zv[i][j], d.v[i][j], d.zv[i][j])
		}
	}
	for r, row := range s.Rows {
		if row.Kind != Equal {
			show(p.s[r], p.zs[r], d.s[r], d.zs[r])
		}
	}
}

// lengths returns the longest steps, up to 1, that leave a share of every variable.
func (s *state) lengths(share float64) (primal, dual float64) {
	primal, dual = 1, 1
	s.products(func(x, z, dx, dz float64) {
		if dx < 0 && share*x < primal*-dx {
			primal = share * x / -dx
		}
		if dz < 0 && share*z < dual*-dz {
			dual = share * z / -dz
		}
	})
	return primal, dual
}

// factor builds the matrix of the rows and its Cholesky factor.
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
	for i, entries := range s.touch {
		for k, x := range entries {
			band := s.bands[x.row]
			for j, g := range s.Group {
				band[g] += x.value[j] * s.b[i][j]
			}
			for _, y := range entries[:k+1] {
				lo, hi := min(x.row, y.row), max(x.row, y.row)
				s.matrix[hi][lo] += weighted(s.d[i], x.value, y.value)
			}
		}
	}
	for g, h := range s.h {
		root := 1 / math.Sqrt(h)
		for r := range s.bands {
			s.bands[r][g] *= root
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

// direction sets the step towards products of mu, less the second order products of an
// earlier direction if there is one.
func (s *state) direction(mu float64, before *vars) {
	p, d, e := &s.point, &s.step, s.Ratio
	target := func(x, z float64) float64 { return mu - x*z }
	ru, rv := func(i, j int) float64 { return target(p.u[i][j], p.zu[i][j]) }, func(i, j int) float64 { return target(p.v[i][j], p.zv[i][j]) }
	rs := func(r int) float64 { return target(p.s[r], p.zs[r]) }
	if before != nil {
		ru = func(i, j int) float64 { return target(p.u[i][j], p.zu[i][j]) - before.u[i][j]*before.zu[i][j] }
		rv = func(i, j int) float64 { return target(p.v[i][j], p.zv[i][j]) - before.v[i][j]*before.zv[i][j] }
		rs = func(r int) float64 { return target(p.s[r], p.zs[r]) - before.s[r]*before.zs[r] }
	}
	// dm starts as its right side, and du as d·g without the prices.
	g, x := matrix(s.Laws, s.n), d.lambda
	for k := range d.m {
		d.m[k] = -s.rm[k]
	}
	for i := range g {
		for j, k := range s.Group {
			gu, gv := ru(i, j)/p.u[i][j], rv(i, j)/p.v[i][j]
			g[i][j] = gu - gv - s.rd[i][j]
			d.m[k] += s.b[i][j]*g[i][j] - (gu - e*gv)
		}
	}
	copy(x, s.rp)
	scaled := make([]float64, s.groups)
	for k := range scaled {
		scaled[k] = d.m[k] / math.Sqrt(s.h[k])
	}
	for r := range x {
		x[r] -= dot(s.bands[r], scaled)
		if s.Rows[r].Kind != Equal {
			x[r] -= rs(r) / p.zs[r]
		}
	}
	for i, entries := range s.touch {
		for _, en := range entries {
			x[en.row] -= weighted(s.d[i], g[i], en.value)
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
	s.expand(g, ru, rv, rs)
}

// expand computes all of the direction from that of the prices.
func (s *state) expand(g [][]float64, ru, rv func(i, j int) float64, rs func(r int) float64) {
	p, d, e := &s.point, &s.step, s.Ratio
	for k := range d.m {
		var sum float64
		for r, l := range d.lambda {
			sum += l * s.bands[r][k]
		}
		d.m[k] = d.m[k]/s.h[k] + sum/math.Sqrt(s.h[k])
	}
	for i, entries := range s.touch {
		for _, en := range entries {
			axpy(g[i], d.lambda[en.row], en.value)
		}
		for j, k := range s.Group {
			dq := s.d[i][j]*g[i][j] + s.b[i][j]*d.m[k]
			du, dv := dq-d.m[k], e*d.m[k]-dq
			d.u[i][j], d.v[i][j] = du, dv
			d.zu[i][j] = (ru(i, j) - p.zu[i][j]*du) / p.u[i][j]
			d.zv[i][j] = (rv(i, j) - p.zv[i][j]*dv) / p.v[i][j]
		}
	}
	for r, row := range s.Rows {
		if row.Kind == Equal {
			continue
		}
		d.zs[r] = -d.lambda[r]
		d.s[r] = (rs(r) - p.s[r]*d.zs[r]) / p.zs[r]
	}
}
