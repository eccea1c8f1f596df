// SPDX-License-Identifier: Apache-2.0

package ratio

import "math"

// dot returns Σ x·y, in four sums that do not wait for one another.
func dot(x, y []float64) float64 {
	var a, b, c, d float64
	y = y[:len(x)]
	i := 0
	for ; i+4 <= len(x); i += 4 {
		a += x[i] * y[i]
		b += x[i+1] * y[i+1]
		c += x[i+2] * y[i+2]
		d += x[i+3] * y[i+3]
	}
	for ; i < len(x); i++ {
		a += x[i] * y[i]
	}
	return (a + b) + (c + d)
}

func weighted(w, x, y []float64) float64 {
	var sum float64
	x, y = x[:len(w)], y[:len(w)]
	for i, v := range w {
		sum += v * x[i] * y[i]
	}
	return sum
}

// axpy adds a·x to y.
func axpy(y []float64, a float64, x []float64) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += a * v
	}
}

// addSquares adds B·Bᵀ to the lower triangle of a matrix, four rows at a time.
func addSquares(m, b [][]float64) {
	for r := range b {
		c := 0
		for ; c+4 <= r+1; c += 4 {
			w, x, y, z := dot4(b[r], b[c], b[c+1], b[c+2], b[c+3])
			m[r][c] += w
			m[r][c+1] += x
			m[r][c+2] += y
			m[r][c+3] += z
		}
		for ; c <= r; c++ {
			m[r][c] += dot(b[r], b[c])
		}
	}
}

// dot4 returns the products of x with four vectors.
func dot4(x, p, q, r, s []float64) (a, b, c, d float64) {
	p, q, r, s = p[:len(x)], q[:len(x)], r[:len(x)], s[:len(x)]
	for i, v := range x {
		a += v * p[i]
		b += v * q[i]
		c += v * r[i]
		d += v * s[i]
	}
	return a, b, c, d
}

// regular is added to the unit diagonal of the scaled matrix, some ten times the
// rounding errors of its factors: without it, rows that say the same would stop them.
const regular = 1e-13

// cholesky replaces the lower triangle of a matrix, scaled by diag on both sides, by its factor.
func cholesky(m [][]float64, diag []float64) {
	for r := range m {
		for c := range r + 1 {
			m[r][c] *= diag[r] * diag[c]
		}
		m[r][r] += regular
	}
	for r := range m {
		for c := range r {
			m[r][c] = (m[r][c] - dot(m[r][:c], m[c][:c])) / m[c][c]
		}
		m[r][r] = math.Sqrt(max(m[r][r]-dot(m[r][:r], m[r][:r]), regular))
	}
}

// solve replaces x by M⁻¹x, for the factor of M and its diagonal scaling.
func solve(factor [][]float64, diag, x []float64) {
	for r := range x {
		x[r] *= diag[r]
	}
	for r, row := range factor {
		x[r] = (x[r] - dot(row[:r], x[:r])) / row[r]
	}
	for r := len(x) - 1; r >= 0; r-- {
		x[r] /= factor[r][r]
		axpy(x[:r], -x[r], factor[r][:r])
	}
	for r := range x {
		x[r] *= diag[r]
	}
}
