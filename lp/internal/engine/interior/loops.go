// SPDX-License-Identifier: Apache-2.0

package interior

// Below are the loops over masses and terms. Vector code does the first numbers of each, four
// at a time and as many as vectors says. Both do the same operations in the same order: sums
// have four parts, one for each place in a vector, and conversions to float64 keep the compiler
// from fusing a product with a sum. So results are the same bits on every processor.

// lanes is the number of parts that sums have.
const lanes = 4

// parts are those of a sum, or of a least value.
type parts [lanes]float64

func (p *parts) sum() float64   { return (p[0] + p[1]) + (p[2] + p[3]) }
func (p *parts) least() float64 { return min(p[0], p[1], p[2], p[3]) }

// terms is what is known of the terms of all limits, with the names of newton.go.
type terms struct {
	s, t, y, w, ds, dt, dy, dw, cs, ct []float64
	rg, inverse, iw, iy                []float64 // s − t − g, 1/D, 1/w, 1/y

	first, second, third parts
}

// compare sets g to x − ratio·z.
func compare(g, x, z []float64, ratio float64) {
	x, z = x[:len(g)], z[:len(g)]
	n := vectors(len(g))
	if n > 0 {
		compareAVX2(&g[0], &x[0], &z[0], n, ratio)
	}
	for i := n; i < len(g); i++ {
		g[i] = x[i] - float64(ratio*z[i])
	}
}

// add adds f·x to a vector that is as long or longer.
func add(to, x []float64, f float64) {
	to = to[:len(x)]
	n := vectors(len(x))
	if n > 0 {
		addAVX2(&to[0], &x[0], n, f)
	}
	for i := n; i < len(x); i++ {
		to[i] += float64(f * x[i])
	}
}

// aim sets c to mu − x·z.
func aim(c, x, z []float64, mu float64) {
	x, z = x[:len(c)], z[:len(c)]
	n := vectors(len(c))
	if n > 0 {
		aimAVX2(&c[0], &x[0], &z[0], n, mu)
	}
	for i := n; i < len(c); i++ {
		c[i] = mu - float64(x[i]*z[i])
	}
}

// within shrinks steps to what leaves a share of every x after dx.
func within(steps *parts, x, dx []float64, share float64) {
	dx = dx[:len(x)]
	n := vectors(len(x))
	if n > 0 {
		withinAVX2(steps, &x[0], &dx[0], n, share)
	}
	for i := n; i < len(x); i++ {
		if least, fall := share*x[i], -dx[i]; steps[i%lanes]*fall > least {
			steps[i%lanes] = least / fall
		}
	}
}

// block is complementary variables, their directions, and what their products are to be.
type block struct{ x, z, dx, dz, c []float64 }

// products adds up the products after a step.
func (b *block) products(sum *parts, primal, dual float64) {
	n := vectors(len(b.x))
	if n > 0 {
		productsAVX2(b, sum, n, primal, dual)
	}
	for i := n; i < len(b.x); i++ {
		sum[i%lanes] += float64(b.after(i, primal, dual))
	}
}

func (b *block) after(i int, primal, dual float64) float64 {
	return (b.x[i] + float64(primal*b.dx[i])) * (b.z[i] + float64(dual*b.dz[i]))
}

// correct adds to the right sides what products after a step miss of low, or exceed high by
// but for more than high.
func (b *block) correct(primal, dual, low, high float64) {
	n := vectors(len(b.c))
	if n > 0 {
		correctAVX2(b, n, primal, dual, low, high)
	}
	for i := n; i < len(b.c); i++ {
		v, d := b.after(i, primal, dual), 0.0
		if v < low {
			d = low - v
		} else if v > high {
			d = max(high-v, -high)
		}
		b.c[i] += d
	}
}

// residuals computes what terms miss, for their g, and adds up s, the positive parts of g
// and the products.
func (t *terms) residuals(from int, g []float64) {
	n := vectors(len(g))
	if n > 0 {
		residualsAVX2(t, from, n, &g[0])
	}
	for i := n; i < len(g); i++ {
		j := from + i
		s, t1, p := t.s[j], t.t[j], i%lanes
		t.rg[j] = (s - t1) - g[i]
		t.first[p] += s
		if g[i] > 0 {
			t.second[p] += g[i]
		}
		t.third[p] += float64(s*t.w[j]) + float64(t1*t.y[j])
	}
}

// weigh computes what Newton's equations need of terms, sets f to σ/D, and adds up στ/D.
func (t *terms) weigh(from int, f []float64) {
	n := vectors(len(f))
	if n > 0 {
		weighAVX2(t, from, n, &f[0])
	}
	for i := n; i < len(f); i++ {
		j := from + i
		iw, iy := 1/t.w[j], 1/t.y[j]
		sigma, tau := float64(t.s[j]*iw), float64(t.t[j]*iy)
		inverse := 1 / (sigma + tau)
		t.iw[j], t.iy[j], t.inverse[j] = iw, iy, inverse
		f[i] = float64(sigma * inverse)
		t.first[i%lanes] += float64(f[i] * tau)
	}
}

// sides sets f to e/D, and adds up the shares of terms in the right side of their limit.
func (t *terms) sides(from int, f []float64) {
	n := vectors(len(f))
	if n > 0 {
		sidesAVX2(t, from, n, &f[0])
	}
	for i := n; i < len(f); i++ {
		j := from + i
		toS := float64(t.cs[j]*t.iw[j]) - t.s[j]
		toT := float64(t.ct[j]*t.iy[j]) - t.t[j]
		f[i] = float64(((toT - toS) - t.rg[j]) * t.inverse[j])
		t.first[i%lanes] += toS + float64(float64(t.s[j]*t.iw[j])*f[i])
	}
}

// expand computes the directions of terms from Δg and Δη.
func (t *terms) expand(from int, dg []float64, deta float64) {
	n := vectors(len(dg))
	if n > 0 {
		expandAVX2(t, from, n, &dg[0], deta)
	}
	for i := n; i < len(dg); i++ {
		j := from + i
		iw, iy := t.iw[j], t.iy[j]
		toS := float64(t.cs[j]*iw) - t.s[j]
		toT := float64(t.ct[j]*iy) - t.t[j]
		sigma, tau := float64(t.s[j]*iw), float64(t.t[j]*iy)
		g := ((toT - toS) - t.rg[j]) + dg[i]
		dy := float64((g + float64(sigma*deta)) * t.inverse[j])
		dw := float64((float64(tau*deta) - g) * t.inverse[j])
		t.dy[j], t.dw[j] = dy, dw
		t.ds[j], t.dt[j] = toS-float64(sigma*dw), toT-float64(tau*dy)
	}
}
