// SPDX-License-Identifier: Apache-2.0

package design

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"

	"github.com/noisewright/noisewright/internal/limits"
)

// strategy is a matrix of rows, with what its answers cost where every column is of norm 1.
type strategy struct {
	name  string
	rows  *mat.Dense
	total float64   // tr(G·(AᵀA)⁻¹)
	bound float64   // below that of every other one; 0: none is known
	at    []float64 // the v of the bound
	// stopped says that time ended the search.
	stopped bool
}

func denseOf(g [][]float64) *mat.Dense {
	m := mat.NewDense(len(g), len(g), nil)
	for i, row := range g {
		m.SetRow(i, row)
	}
	return m
}

// pIdentities returns the best matrix of the form (D; Θ·D) with p rows Θ >= 0 that was found from
// several starts, D such that the columns sum to 1 (McKenna, Miklau, Hay & Machanavajjhala 2018, HDMM,
// OPT₀); nil if none is better than the identity, as where the context ends before the first is found.
func pIdentities(ctx context.Context, g [][]float64) *strategy {
	n := len(g)
	const starts = 3
	least, most := n/25, n/3
	if n > 128 { // one power of 2
		least, most = n/16, n/8
	}
	gram, best := denseOf(g), (*pIdentity)(nil)
	for p := 1; p <= most; p *= 2 {
		if p < least {
			continue
		}
		for seed := range starts {
			if best != nil && ctx.Err() != nil {
				break
			}
			r := rand.New(rand.NewPCG(uint64(p), uint64(seed))) //nolint:gosec // starts, which no guarantee rests on
			found := newPIdentity(gram, p).minimize(ctx, r)
			if best == nil || found.value < best.value {
				best = found
			}
		}
	}
	if best == nil || best.value >= mat.Trace(gram) {
		return nil
	}
	return best.strategy()
}

// pIdentity evaluates the squared error, u_i = 1/D_i = 1 + Σ_k Θ_ki: Σ H∘(I + ΘᵀΘ)⁻¹ with H = uᵀ·G·u,
// by the inverse of p×p numbers.
type pIdentity struct {
	g     *mat.Dense
	p, n  int
	at    []float64 // the roots of Θ, for which the rest is
	value float64
	slope []float64
}

func newPIdentity(g *mat.Dense, p int) *pIdentity {
	n, _ := g.Dims()
	return &pIdentity{g: g, p: p, n: n}
}

func (o *pIdentity) theta(at []float64) (theta *mat.Dense, u []float64) {
	theta, u = mat.NewDense(o.p, o.n, nil), make([]float64, o.n)
	for i := range u {
		u[i] = 1
	}
	for k := range o.p {
		for i := range o.n {
			x := at[k*o.n+i]
			theta.Set(k, i, x*x)
			u[i] += x * x
		}
	}
	return theta, u
}

func (o *pIdentity) evaluate(at []float64) {
	if o.at != nil && equal(o.at, at) {
		return
	}
	o.at = append(o.at[:0], at...)
	theta, u := o.theta(at)
	inner := mat.NewSymDense(o.p, nil)
	inner.SymOuterK(1, theta)
	for k := range o.p {
		inner.SetSym(k, k, inner.At(k, k)+1)
	}
	var factor mat.Cholesky
	var y, yh, t, s mat.Dense
	if !factor.Factorize(inner) || factor.SolveTo(&y, theta) != nil { // Y = (I + ΘΘᵀ)⁻¹·Θ
		o.value = math.Inf(1)
		o.slope = make([]float64, len(at))
		return
	}
	scaled := mat.DenseCopyOf(&y)
	scale := func(m *mat.Dense) {
		for k := range o.p {
			row := m.RawRowView(k)
			for i := range row {
				row[i] *= u[i]
			}
		}
	}
	scale(scaled)
	yh.Mul(scaled, o.g)
	scale(&yh) // Y·H
	o.value = 0
	byU := make([]float64, o.n)
	for i := range o.n {
		h := o.g.At(i, i) * u[i] * u[i]
		for k := range o.p {
			h -= theta.At(k, i) * yh.At(k, i)
		}
		o.value += h
		byU[i] = 2 * h / u[i]
	}
	// d/dΘ = −2·Y·H·(I − Θᵀ·Y), and by u.
	t.Mul(&yh, theta.T())
	s.Mul(&t, &y)
	o.slope = make([]float64, len(at))
	for k := range o.p {
		for i := range o.n {
			d := -2*(yh.At(k, i)-s.At(k, i)) + byU[i]
			o.slope[k*o.n+i] = 2 * at[k*o.n+i] * d
		}
	}
}

func equal(a, b []float64) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// minimize goes down from a random start.
func (o *pIdentity) minimize(ctx context.Context, r *rand.Rand) *pIdentity {
	at := make([]float64, o.p*o.n)
	for i := range at {
		at[i] = math.Sqrt(r.Float64())
	}
	o.evaluate(at)
	unit := o.value
	found, err := optimize.Minimize(optimize.Problem{
		Func: func(x []float64) float64 { o.evaluate(x); return o.value / unit },
		Grad: func(slope, x []float64) {
			o.evaluate(x)
			for i := range slope {
				slope[i] = o.slope[i] / unit
			}
		},
		Status: func() (optimize.Status, error) {
			if ctx.Err() != nil {
				return optimize.RuntimeLimit, nil
			}
			return optimize.NotTerminated, nil
		},
	}, at, &optimize.Settings{
		GradientThreshold: 1e-7, MajorIterations: 800,
		Converger: &optimize.FunctionConverge{Relative: 1e-5, Iterations: 50},
	}, &optimize.LBFGS{Store: 15})
	if found != nil && (err == nil || found.F < 1) {
		at = found.X
	}
	o.at = nil
	o.evaluate(at)
	return o
}

// strategy returns the matrix.
func (o *pIdentity) strategy() *strategy {
	theta, u := o.theta(o.at)
	rows := mat.NewDense(o.n+o.p, o.n, nil)
	for i := range o.n {
		rows.Set(i, i, 1/u[i])
		for k := range o.p {
			rows.Set(o.n+k, i, theta.At(k, i)/u[i])
		}
	}
	return &strategy{name: "p-identity", rows: rows, total: o.value}
}

// gaussian returns the matrix with the least tr(G·X⁻¹) of X = AᵀA with X_ii <= 1, and the value of the
// dual, by the fixed point v ← diag √(V^½·G·V^½): tr R·max(R_ii/v_i) is a value and (tr R)²/Σv a bound
// for every v > 0, with R that root. It stops at a relative gap, or after the second root once the context has ended or
// another root would not be done before it ends, when the gap is some percent. Where two roots would take more than
// the time that is left and patience, there are no rows, and the bound is that of fewer cells. Of more cells than rows may have
// there is a bound alone.
func gaussian(ctx context.Context, g [][]float64, gap float64) *strategy {
	best, _, _ := factorization(ctx, g, gap)
	if best.rows != nil {
		best.bound = certain(g, best.at)
	}
	return best
}

// certain returns a bound (tr R)²/Σv, R the root of M = V^½·G·V^½ and v what the root in float64 squares to, that is
// below the exact one: tr R >= tr(M·Z)/‖Z·M·Z‖^½ for every symmetric Z, as tr(R·RZ) <= tr R·‖RZ‖. Z is about the inverse
// of R, where M has one, and K = Z·M·Z about a projection, so that ‖K‖ <= 1 + ‖K² − K‖. What is computed of M, M·Z and K
// is off, in the norm of Frobenius, by n·2^-53 of the factors' norms, of which u is the double.
func certain(g [][]float64, v []float64) float64 {
	n, w := len(g), make([]float64, len(v))
	m, most, sum := mat.NewSymDense(len(v), nil), 0.0, 0.0
	for i := range w {
		w[i] = math.Sqrt(v[i])
		most, sum = max(most, g[i][i]), sum+w[i]*w[i]
		for j := range i + 1 {
			m.SetSym(i, j, g[i][j]*w[i]*w[j])
		}
	}
	z := inverseRoot(m)
	if z == nil {
		return 0
	}
	var mz, k, square mat.Dense
	mz.Mul(m, z)
	k.Mul(z, &mz)
	square.Mul(&k, k.T())
	square.Sub(&square, &k)
	norm := func(x mat.Matrix) float64 { return mat.Norm(x, 2) * (1 + 0x1p-20) }
	u, wide, size := float64(n+16)*0x1p-52, norm(z), norm(&k)
	offMZ := (u*norm(m) + 0x1p-50*most*sum) * wide
	offK := mat.Norm(z, math.Inf(1))*(1+0x1p-20)*offMZ + u*wide*norm(&mz)
	above := func(most float64) float64 { // what ‖K‖ has above 1, as it is at most this
		return norm(&square) + u*size*size + (2*most+offK+1)*offK
	}
	off := above(1 + above(size+offK))
	trace, all := 0.0, 0.0
	for i := range n {
		trace += mz.At(i, i)
		all += math.Abs(mz.At(i, i))
	}
	root := max(0, trace-u*all-offMZ)
	return root * root / (1 + off) / sum * (1 - 4*u)
}

// inverseRoot returns about M^-½, 0 where M is; nil if its eigenvalues are not found.
func inverseRoot(m *mat.SymDense) *mat.SymDense {
	var eigen mat.EigenSym
	if !eigen.Factorize(m, true) {
		return nil
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	values := eigen.Values(nil)
	for k, x := range values {
		scale := 0.0
		if x > 0x1p-40*values[len(values)-1] {
			scale = 1 / math.Sqrt(math.Sqrt(x))
		}
		for i := range values {
			vectors.Set(i, k, vectors.At(i, k)*scale)
		}
	}
	z := mat.NewSymDense(len(values), nil)
	z.SymOuterK(1, &vectors)
	return z
}

// patience is what the first roots may take whatever the limit.
const patience = time.Second

// late reports whether so much work ends later than patience after the deadline of the context.
func late(ctx context.Context, work, patience time.Duration) bool {
	end, limited := ctx.Deadline()
	return limited && time.Until(end)+patience < work
}

// relaxed are the lengths of steps in the logarithm of v. Errors of v shrink by factors from 0.5, which nearby cells
// have, to above 0.9: these are Chebyshev's of three steps, for 0.5 to 0.92.
var relaxed = []float64{2.1, 3.4, 9.3}

// factorization also returns the last v and the least time of a root. It starts from that of fewer cells, four together, which takes a
// sixty-fourth of the time and is close where neighboring cells are asked alike. Its bound is one of all cells too: with S
// the number of cells together and P their indicators over √S, the trace of the root of a positive semidefinite M is at least that of
// PᵀMP, which for M = V^½·G·V^½ and v the same on all of them is (SV)^½·H·(SV)^½, H the means of G; and Σv is the sum of Sv.
func factorization(ctx context.Context, g [][]float64, gap float64) (best *strategy, v []float64, each time.Duration) {
	n := len(g)
	best = &strategy{name: "gaussian", total: math.Inf(1)}
	v = make([]float64, n)
	for i := range v {
		v[i] = math.Sqrt(g[i][i])
	}
	if n >= 96 {
		small := ctx
		if n < 1000 { // a fraction of a second, whatever the limit
			small = context.WithoutCancel(ctx)
		}
		fewer, few, took := factorization(small, coarser(g, 4), gap)
		best.bound = fewer.bound
		for i := range v {
			x := max(0, min((float64(i)-1.5)/4, float64(len(few)-1)-1e-9))
			k := int(x)
			v[i] = few[k] + (x-float64(k))*(few[k+1]-few[k])
		}
		each = 64 * took
		switch {
		case n > limits.PlanCells: // of so many no rows are measured
			if best.stopped = late(ctx, each, patience); !best.stopped {
				best.bound = max(best.bound, boundAt(g, v))
			}
			return best, v, each
		case late(ctx, 2*each, patience):
			best.stopped = true
			return best, v, each
		}
	}
	each = math.MaxInt64
	for step := range 2000 {
		start := time.Now()
		r, x := root(g, v)
		each = min(each, time.Since(start)) // other work may be in between
		if r == nil {
			break
		}
		best.improve(v, r, x)
		if best.total <= best.bound*(1+gap) {
			break
		}
		if best.stopped = step > 0 && (ctx.Err() != nil || late(ctx, each, 0)); best.stopped {
			break
		}
		for i := range v {
			v[i] *= math.Pow(r.At(i, i)/v[i], relaxed[step%len(relaxed)])
		}
	}
	return best, v, each
}

// improve takes the matrix and the bound of a root, if they are better.
func (s *strategy) improve(v []float64, r, x *mat.SymDense) {
	trace, sum, most := 0.0, 0.0, 0.0
	for i := range v {
		trace += r.At(i, i)
		sum += v[i]
		most = max(most, r.At(i, i)/v[i])
	}
	if bound := trace * trace / sum; bound > s.bound {
		s.bound, s.at = bound, slices.Clone(v)
	}
	value := trace * most
	if value >= s.total {
		return
	}
	s.total = value
	x.ScaleSym(1/most, x)
	var factor mat.Cholesky
	if factor.Factorize(x) {
		var u mat.TriDense
		factor.UTo(&u)
		s.rows = mat.DenseCopyOf(&u)
	}
}

// coarser returns the means over so many neighboring cells, the last perhaps fewer.
func coarser(g [][]float64, together int) [][]float64 {
	n := (len(g) + together - 1) / together
	out := make([][]float64, n)
	for i := range out {
		out[i] = make([]float64, n)
		for j := range out[i] {
			cells := 0.0
			for _, row := range g[i*together : min(len(g), (i+1)*together)] {
				for _, x := range row[j*together : min(len(g), (j+1)*together)] {
					out[i][j] += x
					cells++
				}
			}
			out[i][j] /= cells
		}
	}
	return out
}

// boundAt returns (tr R)²/Σv, by the eigenvalues alone.
func boundAt(g [][]float64, v []float64) float64 {
	var eigen mat.EigenSym
	if !eigen.Factorize(scaled(g, v), false) {
		return 0
	}
	trace, sum := 0.0, 0.0
	for i, w := range eigen.Values(nil) {
		trace += math.Sqrt(max(w, 0))
		sum += v[i]
	}
	return trace * trace / sum
}

// scaled returns V^½·G·V^½.
func scaled(g [][]float64, v []float64) *mat.SymDense {
	m := mat.NewSymDense(len(g), nil)
	for i := range g {
		for j := range i + 1 {
			m.SetSym(i, j, g[i][j]*math.Sqrt(v[i]*v[j]))
		}
	}
	return m
}

// root returns R = (V^½·G·V^½)^½ and V^-½·R·V^-½.
func root(g [][]float64, v []float64) (r, x *mat.SymDense) {
	n := len(g)
	var eigen mat.EigenSym
	if !eigen.Factorize(scaled(g, v), true) {
		return nil, nil
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	values := eigen.Values(nil)
	for k, w := range values {
		w = math.Sqrt(math.Sqrt(max(w, 0)))
		for i := range n {
			vectors.Set(i, k, vectors.At(i, k)*w)
		}
	}
	r, x = mat.NewSymDense(n, nil), mat.NewSymDense(n, nil)
	r.SymOuterK(1, &vectors)
	for i := range n {
		for j := range i + 1 {
			x.SetSym(i, j, r.At(i, j)/math.Sqrt(v[i]*v[j]))
		}
	}
	return r, x
}
