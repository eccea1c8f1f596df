// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"context"
	"math"
)

// Matrix is symmetric, of which the lower half is used; Factor puts its factor in its place.
type Matrix struct {
	Panels
	n int
}

// NewMatrix returns a matrix of zeros.
func NewMatrix(n int) *Matrix { return &Matrix{*NewPanels(n, n), n} }

// Clear sets all elements to 0.
func (m *Matrix) Clear() {
	for i := range m.panels {
		clear(m.panel(i, (i+1)*width))
	}
}

// Add adds b·bᵀ, on all cores if that is much. If the context ends first, the matrix is spoilt.
func (m *Matrix) Add(ctx context.Context, b *Panels) {
	each(m.panels, func(i int) {
		if ctx.Err() != nil {
			return
		}
		for j := range i + 1 {
			product(m.tile(i, j), b.panel(i, b.columns), b.panel(j, b.columns), 1)
		}
	})
}

// Scale multiplies row and column i by scale[i], which is as long as a Vector, and adds
// a number to all of the diagonal.
func (m *Matrix) Scale(scale []float64, add float64) {
	for i := range m.panels {
		rows := (*[width]float64)(scale[i*width:])
		for column, s := range scale[:(i+1)*width] {
			x := (*[width]float64)(m.data[i*m.stride+column*width:])
			for r := range x {
				x[r] = x[r] * s * rows[r]
			}
		}
	}
	for v := range m.n {
		m.data[m.Index(v, v)] += add
	}
}

// tile is eight rows by eight columns, column after column.
type tile = [width * width]float64

func (m *Matrix) tile(i, j int) *tile { return (*tile)(m.data[i*m.stride+j*width*width:]) }

// Factor replaces the matrix by its lower Cholesky factor, with the reciprocals of its
// diagonal, on all cores if that is much. It reports whether the matrix is positive
// definite; if not, or if the context ends first, it is spoilt.
func (m *Matrix) Factor(ctx context.Context) bool {
	for v := m.n; v < m.panels*width; v++ {
		m.data[m.Index(v, v)] = 1
	}
	return inOrder(m.panels, func(i int, wait func(j int)) bool {
		if ctx.Err() != nil {
			return false
		}
		for j := range i {
			wait(j)
			t := m.tile(i, j)
			product(t, m.panel(i, j*width), m.panel(j, j*width), -1)
			divide(t, m.tile(j, j))
		}
		t := m.tile(i, i)
		product(t, m.panel(i, i*width), m.panel(i, i*width), -1)
		return factor(t)
	})
}

func factor(t *tile) bool {
	for j := range width {
		x := (*[width]float64)(t[j*width:])
		if !(x[j] > 0) || math.IsInf(x[j], 1) {
			return false
		}
		x[j] = 1 / math.Sqrt(x[j])
		for r := j + 1; r < width; r++ {
			x[r] *= x[j]
		}
		for c := j + 1; c < width; c++ {
			y := (*[width]float64)(t[c*width:])
			for r := c; r < width; r++ {
				y[r] -= float64(x[r] * x[c])
			}
		}
	}
	return true
}

// Solve replaces x, as long as a Vector, by the solution of the factored matrix for it.
func (m *Matrix) Solve(x []float64) {
	for i := range m.panels {
		to, t := (*[width]float64)(x[i*width:]), m.tile(i, i)
		times(to, m.panel(i, i*width), x[:i*width], -1)
		for c := range width {
			to[c] *= t[c*width+c]
			for r := c + 1; r < width; r++ {
				to[r] -= float64(to[c] * t[c*width+r])
			}
		}
	}
	var sum [width]float64
	for i := m.panels - 1; i >= 0; i-- {
		to, t := (*[width]float64)(x[i*width:]), m.tile(i, i)
		if i+1 < m.panels {
			transposed(&sum, m.data[(i+1)*m.stride+i*width*width:], m.stride, x[(i+1)*width:])
			for r := range to {
				to[r] -= sum[r]
			}
		}
		for c := width - 1; c >= 0; c-- {
			for r := c + 1; r < width; r++ {
				to[c] -= float64(to[r] * t[c*width+r])
			}
			to[c] *= t[c*width+c]
		}
	}
}
