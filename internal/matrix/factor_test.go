// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
)

// random returns a matrix with a small share of extreme elements, or none.
func random(r *rand.Rand, rows, columns int, extreme bool) *Panels {
	p := NewPanels(rows, columns)
	for i := range rows {
		for j := range columns {
			p.data[p.Index(i, j)] = number(r, extreme)
		}
	}
	return p
}

func number(r *rand.Rand, extreme bool) float64 {
	if extreme && r.IntN(50) == 0 {
		return []float64{0, math.Inf(1), math.Inf(-1), math.NaN(), 5e-324, math.MaxFloat64}[r.IntN(6)]
	}
	return r.NormFloat64() * math.Exp(5*r.NormFloat64())
}

// TestFactor: factors times their transposes are the matrix, and solutions solve.
func TestFactor(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := 1; n < 60; n += 1 + r.IntN(4) {
		columns := r.IntN(2 * n)
		b, m := random(r, n, columns, false), NewMatrix(n)
		full := make([][]float64, n)
		scale := m.Vector()
		for i := range n {
			full[i] = make([]float64, n)
			diagonal := 0.1 + r.Float64()
			m.Data()[m.Index(i, i)] += diagonal
			full[i][i] += diagonal
			for j := range n {
				for k := range columns {
					full[i][j] += b.data[b.Index(i, k)] * b.data[b.Index(j, k)]
				}
			}
			scale[i] = 1 / math.Sqrt(full[i][i])
		}
		m.Add(t.Context(), b)
		for i := range n {
			for j := range i + 1 {
				if got, want := m.data[m.Index(i, j)], full[i][j]; math.Abs(got-want) > 1e-12*math.Sqrt(full[i][i]*full[j][j]) {
					t.Fatalf("n = %d: element %d, %d is %g, want %g", n, i, j, got, want)
				}
			}
		}
		const add = 1e-6
		m.Scale(scale, add)
		if !m.Factor(t.Context()) {
			t.Fatalf("n = %d: not positive definite", n)
		}
		x := m.Vector()
		for i := range n {
			x[i] = r.NormFloat64()
		}
		y := append([]float64(nil), x...)
		m.Solve(y)
		for i := range n {
			got, size := add*y[i], 0.0
			for j := range n {
				term := full[max(i, j)][min(i, j)] * scale[i] * scale[j] * y[j]
				got += term
				size += math.Abs(term)
			}
			if math.Abs(got-x[i]) > 1e-12*size {
				t.Errorf("n = %d: row %d of the matrix times the solution is %g, want %g", n, i, got, x[i])
			}
		}
	}
}

// TestNotPositive: matrices that are not positive definite are refused.
func TestNotPositive(t *testing.T) {
	for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		for n := 1; n < 20; n++ {
			m := NewMatrix(n)
			for i := range n {
				m.Data()[m.Index(i, i)] = 1
			}
			m.Data()[m.Index(n-1, n-1)] = bad
			if m.Factor(t.Context()) {
				t.Errorf("%d rows, of which the last has %g: factored", n, bad)
			}
		}
	}
}

// TestTimes compares products with vectors with sums in the plain order.
func TestTimes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		rows, columns := 1+r.IntN(40), 1+r.IntN(40)
		p := random(r, rows, columns, false)
		right, left := p.Row(), p.Vector()
		to, across := p.Vector(), p.Row()
		for i := range columns {
			right[i] = r.NormFloat64()
		}
		for i := range rows {
			left[i], to[i] = r.NormFloat64(), r.NormFloat64()
		}
		before := append([]float64(nil), to...)
		p.AddTimes(to, right)
		p.TransposedTimes(across, left)
		for i := range rows {
			want, size := before[i], math.Abs(before[i])
			for j := range columns {
				term := p.data[p.Index(i, j)] * right[j]
				want += term
				size += math.Abs(term)
			}
			if math.Abs(to[i]-want) > 1e-14*size {
				t.Errorf("%d × %d: row %d gives %g, want %g", rows, columns, i, to[i], want)
			}
		}
		for j := range columns {
			want, size := 0.0, 0.0
			for i := range rows {
				term := p.data[p.Index(i, j)] * left[i]
				want += term
				size += math.Abs(term)
			}
			if math.Abs(across[j]-want) > 1e-14*size {
				t.Errorf("%d × %d: column %d gives %g, want %g", rows, columns, j, across[j], want)
			}
		}
	}
}

// TestEnds: the context ends products and factors between two panels.
func TestEnds(t *testing.T) {
	const n = 3 * width
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	b, m := random(rand.New(rand.NewPCG(7, 8)), n, 2, false), NewMatrix(n)
	m.Add(ended, b)
	for i := range n {
		if m.data[m.Index(i, i)] != 0 {
			t.Fatalf("row %d was added after the end", i)
		}
		m.data[m.Index(i, i)] = 1
	}
	if m.Factor(ended) {
		t.Error("factored after the end")
	}
	if !m.Factor(t.Context()) {
		t.Error("not factored")
	}
}
