// SPDX-License-Identifier: Apache-2.0

package minimax

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/internal/check"
)

// scatterRidge is the ridge of scatter matrices, relative to their trace.
const scatterRidge = 1e-8

// randomFilter returns orthonormal columns of a random orientation.
func randomFilter(features, d int, r *rand.Rand) *mat.Dense {
	g := dense.NewMatrix(features, d)
	for i := range g.Data {
		g.Data[i] = r.NormFloat64()
	}
	return orthonormal(toMat(g))
}

// orthonormal returns an orthonormal basis of the span of the columns, of which
// the first k span what the first k columns do.
func orthonormal(u *mat.Dense) *mat.Dense {
	var qr mat.QR
	qr.Factorize(u)
	var q mat.Dense
	qr.QTo(&q)
	n, d := u.Dims()
	return mat.DenseCopyOf(q.Slice(0, n, 0, d))
}

func gram(x *mat.Dense) *mat.SymDense {
	_, n := x.Dims()
	s := mat.NewSymDense(n, nil)
	blas64.Syrk(blas.Trans, 1, x.RawMatrix(), 0, s.RawSymmetric())
	return s
}

// topVectors returns the d eigenvectors of the largest eigenvalues, the largest first.
func topVectors(s *mat.SymDense, d int) (*mat.Dense, error) {
	var e mat.EigenSym
	if !e.Factorize(s, true) {
		return nil, noConvergence()
	}
	n := s.SymmetricDim()
	var all mat.Dense
	e.VectorsTo(&all)
	out := mat.NewDense(n, d, nil)
	for j := range d {
		out.SetCol(j, mat.Col(nil, n-1-j, &all))
	}
	return out, nil
}

func noConvergence() error {
	return check.Field("minimax", "eigenvectors", "none", "data of which they can be computed: no huge or tiny values")
}

// generalized returns the d directions u of the largest uᵀau/uᵀbu, the largest first, each
// of length 1; b is positive definite.
func generalized(a, b *mat.SymDense, d int) (*mat.Dense, error) {
	var e mat.EigenSym
	if !e.Factorize(b, true) {
		return nil, noConvergence()
	}
	n := b.SymmetricDim()
	var root mat.Dense // b^(-1/2), up to a rotation
	e.VectorsTo(&root)
	for j, v := range e.Values(nil) {
		if !(v > 0) {
			return nil, check.Field("minimax", "scatter matrix", "singular", "features that vary, or a larger ridge")
		}
		s := 1 / math.Sqrt(v)
		for i := range n {
			root.Set(i, j, root.At(i, j)*s)
		}
	}
	var half, whole mat.Dense
	half.Mul(a, &root)
	whole.Mul(root.T(), &half)
	top, err := topVectors(symmetric(&whole), d)
	if err != nil {
		return nil, err
	}
	var out mat.Dense
	out.Mul(&root, top)
	normalize(&out)
	return &out, nil
}

func symmetric(m *mat.Dense) *mat.SymDense {
	n, _ := m.Dims()
	s := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			s.SetSym(i, j, (m.At(i, j)+m.At(j, i))/2)
		}
	}
	return s
}

func normalize(u *mat.Dense) {
	_, d := u.Dims()
	for j := range d {
		c := u.ColView(j)
		if length := mat.Norm(c, 2); length > 0 {
			c.(*mat.VecDense).ScaleVec(1/length, c)
		}
	}
}

// ridged adds a share of its trace to the diagonal.
func ridged(s *mat.SymDense, share float64) *mat.SymDense {
	t := share * mat.Trace(s)
	for i := range s.SymmetricDim() {
		s.SetSym(i, i, s.At(i, i)+t)
	}
	return s
}

func centered(x *mat.Dense) *mat.Dense {
	out := mat.DenseCopyOf(x)
	rows, cols := x.Dims()
	for j := range cols {
		mean := 0.0
		for i := range rows {
			mean += x.At(i, j)
		}
		mean /= float64(rows)
		for i := range rows {
			out.Set(i, j, out.At(i, j)-mean)
		}
	}
	return out
}

// crossScatter returns the sum over tasks of weight·share(task)·c·cᵀ with c = xᵀy, for centered
// x and centered outputs y of the task, the columns of y scaled by scale.
func crossScatter(x *mat.Dense, tasks []Task, scale func(share float64) float64) *mat.SymDense {
	rows, n := x.Dims()
	sum := mat.NewSymDense(n, nil)
	for _, t := range tasks {
		y := t.outputs(rows)
		_, k := y.Dims()
		for j := range k {
			share := 0.0
			for i := range rows {
				share += y.At(i, j)
			}
			share /= float64(rows)
			c := mat.NewVecDense(n, nil)
			col := mat.NewVecDense(rows, mat.Col(nil, j, y))
			for i := range rows {
				col.SetVec(i, (col.AtVec(i)-share)/float64(rows))
			}
			c.MulVec(x.T(), col)
			f := t.weight()
			if t.Labels != nil {
				f *= scale(share)
			}
			sum.SymRankOne(sum, f, c)
		}
	}
	return sum
}

// discriminant is Privacy LDS (Whitehill & Movellan, 2012): the directions of the largest
// ratio of the scatter between classes of the targets to that of the private tasks. With
// two classes there is one informative direction; all others do not move the means
// of the private classes, and are in the order in which the eigenvalues came out.
func discriminant(x *mat.Dense, p *Data, d int) (*mat.Dense, error) {
	// The scatter between classes, Σ_k n_k·(m_k - m)(m_k - m)ᵀ/n, has c/share_k for m_k - m.
	inverse := func(share float64) float64 { return 1 / max(share, 1e-12) }
	a := ridged(crossScatter(x, p.Targets, inverse), scatterRidge)
	b := ridged(crossScatter(x, p.Private, inverse), scatterRidge)
	return generalized(a, b, d)
}

// closedForm is the minimax filter of least squares, (4.1) of Hamm (2017): with linear regressions
// for classifiers the maximum has a closed form, and an eigenvalue problem is left.
func closedForm(x *mat.Dense, p *Data, rho float64, d int) (*mat.Dense, error) {
	one := func(float64) float64 { return 1 }
	a := crossScatter(x, p.Targets, one)
	a.ScaleSym(rho, a)
	private := crossScatter(x, p.Private, one)
	private.ScaleSym(-1, private)
	a.AddSym(a, private)
	rows, _ := x.Dims()
	b := gram(x)
	b.ScaleSym(1/float64(rows), b)
	return generalized(a, ridged(b, scatterRidge), d)
}

// leastSquares is PPLS (Enev et al., 2012): loadings of partial least squares whose directions
// covary with the targets and not with the private tasks. x is as it is, not centered.
func leastSquares(x *mat.Dense, p *Data, d int) (*mat.Dense, error) {
	rows, n := x.Dims()
	s := crossProducts(x, p.Targets, rows)
	private := crossProducts(x, p.Private, rows)
	loadings := mat.NewDense(n, d, nil)
	for j := range d {
		if j > 0 { // the part of s in the span of the loadings so far is spent
			q := orthonormal(mat.DenseCopyOf(loadings.Slice(0, n, 0, j)))
			var along, part mat.Dense
			along.Mul(q.T(), s)
			part.Mul(q, &along)
			s.Sub(s, &part)
		}
		w, err := difference(s, private)
		if err != nil {
			return nil, err
		}
		// p = xᵀxw/(wᵀxᵀxw), the loading of the direction.
		var xw, loading mat.VecDense
		xw.MulVec(x, w)
		loading.MulVec(x.T(), &xw)
		length := mat.Norm(&loading, 2)
		if !(length > 0) {
			return nil, noConvergence()
		}
		loading.ScaleVec(1/length, &loading)
		loadings.SetCol(j, loading.RawVector().Data)
	}
	return loadings, nil
}

// crossProducts returns xᵀ times the outputs of tasks, side by side.
func crossProducts(x *mat.Dense, tasks []Task, rows int) *mat.Dense {
	var out *mat.Dense
	for _, t := range tasks {
		var c mat.Dense
		c.Mul(x.T(), t.outputs(rows))
		if out == nil {
			out = &c
			continue
		}
		var both mat.Dense
		both.Augment(out, &c)
		out = &both
	}
	return out
}

// difference is the top eigenvector of s·sᵀ - m·mᵀ, which is in the span of both.
func difference(s, m *mat.Dense) (*mat.VecDense, error) {
	var both mat.Dense
	both.Augment(s, m)
	q := orthonormal(&both)
	var qs, qm, a, b mat.Dense
	qs.Mul(q.T(), s)
	qm.Mul(q.T(), m)
	a.Mul(&qs, qs.T())
	b.Mul(&qm, qm.T())
	a.Sub(&a, &b)
	top, err := topVectors(symmetric(&a), 1)
	if err != nil {
		return nil, err
	}
	var w mat.VecDense
	w.MulVec(q, top.ColView(0))
	return &w, nil
}
