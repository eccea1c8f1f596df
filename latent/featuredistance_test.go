// SPDX-License-Identifier: Apache-2.0

package latent

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/internal/exact"
)

func randomSquare(r *rand.Rand, n int) *mat.Dense {
	b := mat.NewDense(n, n, nil)
	b.Apply(func(i, _ int, _ float64) float64 { return r.NormFloat64() * float64(1+i%4) }, b)
	return b
}

// largest returns signMaximum in both norms.
func largest(t *testing.T, b *mat.Dense) (l1, l2 float64) {
	t.Helper()
	l1, err1 := signMaximum(b, 1)
	l2, err2 := signMaximum(b, 2)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	return l1, l2
}

func TestSignMaximumAgainstAllSigns(t *testing.T) {
	r := rand.New(rand.NewPCG(30, 0))
	for range 60 {
		n := 1 + r.IntN(7)
		b := randomSquare(r, n)
		var want1, want2 float64
		for signs := range 1 << n {
			s := mat.NewVecDense(n, nil)
			for i := range n {
				s.SetVec(i, float64(2*(signs>>i&1)-1))
			}
			var sum mat.VecDense
			sum.MulVec(b.T(), s)
			want1, want2 = max(want1, mat.Norm(&sum, 1)), max(want2, mat.Norm(&sum, 2))
		}
		l1, l2 := largest(t, b)
		wantNear(t, fmt.Sprintf("l1 of %d rows", n), l1, want1, 1e-13)
		wantNear(t, fmt.Sprintf("l2 of %d rows", n), l2, want2, 1e-13)
	}
}

// Where the signs are too many, none may be above the bound: a search looks for some,
// taking the best signs for the image in turn. The bound is to beat the sum of all.
func TestSignMaximumOfManyRows(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 0))
	for _, n := range []int{25, 60, 100} {
		b := randomSquare(r, n)
		l1, l2 := largest(t, b)
		all := 0.0
		for _, v := range b.RawMatrix().Data {
			all += math.Abs(v)
		}
		if l1 > all || l2 > l1 {
			t.Errorf("%d rows: bounds %g and %g, the sum of all is %g", n, l1, l2, all)
		}
		signs := func(v *mat.VecDense) {
			for i := range n {
				v.SetVec(i, math.Copysign(1, v.AtVec(i)))
			}
		}
		s, sum := mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
		for range 200 {
			for i := range n {
				s.SetVec(i, r.NormFloat64())
			}
			for range 10 {
				signs(s)
				sum.MulVec(b.T(), s)
				if one, two := mat.Norm(sum, 1), mat.Norm(sum, 2); one > l1*(1+1e-12) || two > l2*(1+1e-12) {
					t.Fatalf("%d rows: sums of %g and %g, bounds %g and %g", n, one, two, l1, l2)
				}
				signs(sum)
				s.MulVec(b, sum)
			}
		}
	}
}

// 24 features, the hours of a day, are not too many.
func TestSignMaximumOf24Rows(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	b := randomSquare(rand.New(rand.NewPCG(32, 0)), 24)
	rows := make([][]float64, 24)
	for i := range rows {
		rows[i] = b.RawRowView(i)
	}
	if l1, err := signMaximum(b, 1); err != nil || l1 != exact.SignMaximumL1(rows) {
		t.Errorf("%g, %v is not the maximum over all signs", l1, err)
	}
}

// The spectral bound is sharp for a Hadamard matrix, and the sum of absolute values for a
// diagonal one.
func TestSignMaximumSharp(t *testing.T) {
	h := mat.NewDense(1, 1, []float64{1})
	for range 6 {
		var next mat.Dense
		next.Kronecker(mat.NewDense(2, 2, []float64{1, 1, 1, -1}), h)
		h = &next
	}
	l1, l2 := largest(t, h)
	wantNear(t, "l1 of a Hadamard matrix", l1, 64*8, 1e-12)
	wantNear(t, "l2 of a Hadamard matrix", l2, 64, 1e-12)
	diagonal := slices.Repeat([]float64{1, 5}, 20)
	l1, l2 = largest(t, mat.DenseCopyOf(mat.NewDiagDense(40, diagonal)))
	wantNear(t, "l1 of a diagonal matrix", l1, 120, 1e-12)
	wantNear(t, "l2 of a diagonal matrix", l2, math.Sqrt(20*26), 1e-12)
}
