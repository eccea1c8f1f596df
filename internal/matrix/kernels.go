// SPDX-License-Identifier: Apache-2.0

package matrix

// Below are the loops that take the time, in Go. Each stands for the same loop in vector
// code: what is summed in another order there is summed so here, and conversions to
// float64 keep the compiler from fusing a product with a sum.

// productGo adds sign·a·bᵀ to a tile, a and b being panels with the same columns. The sums
// are over the columns in their order.
func productGo(c *tile, a, b []float64, sign float64) {
	const rows, columns = 4, 2 // at a time: as many sums as registers hold
	for i := 0; i < width; i += rows {
		for j := 0; j < width; j += columns {
			var s00, s01, s10, s11, s20, s21, s30, s31 float64
			x, y := a, b
			for len(x) >= width && len(y) >= width {
				u, v := (*[rows]float64)(x[i:]), (*[columns]float64)(y[j:])
				s00 += float64(u[0] * v[0])
				s10 += float64(u[1] * v[0])
				s20 += float64(u[2] * v[0])
				s30 += float64(u[3] * v[0])
				s01 += float64(u[0] * v[1])
				s11 += float64(u[1] * v[1])
				s21 += float64(u[2] * v[1])
				s31 += float64(u[3] * v[1])
				x, y = x[width:], y[width:]
			}
			for r, s := range [rows]float64{s00, s10, s20, s30} {
				c[j*width+i+r] += float64(sign * s)
			}
			for r, s := range [rows]float64{s01, s11, s21, s31} {
				c[(j+1)*width+i+r] += float64(sign * s)
			}
		}
	}
}

// divideGo replaces x by x·d⁻ᵀ, where d is a tile that is factored.
func divideGo(x, d *tile) {
	for l := range width {
		from := (*[width]float64)(x[l*width:])
		for r := range from {
			from[r] *= d[l*width+l]
		}
		for c := l + 1; c < width; c++ {
			to, f := (*[width]float64)(x[c*width:]), d[l*width+c]
			for r := range to {
				to[r] -= float64(from[r] * f)
			}
		}
	}
}

// timesGo adds sign·a·x to out; a is a panel with as many columns as x, a multiple of
// four. Every fourth column has a sum of its own.
func timesGo(out *[width]float64, a, x []float64, sign float64) {
	const sums = 4
	var s [sums][width]float64
	for len(x) >= sums && len(a) >= sums*width {
		for l := range s {
			f, column := x[l], (*[width]float64)(a[l*width:])
			for r, v := range column {
				s[l][r] += float64(v * f)
			}
		}
		x, a = x[sums:], a[sums*width:]
	}
	for r := range out {
		out[r] += float64(sign * ((s[0][r] + s[1][r]) + (s[2][r] + s[3][r])))
	}
}

// transposedGo sets out to the product of the transposed panels with x, over eight columns
// of panels that begin at a, and each of the others a stride further. Every row of a panel
// has a sum of its own.
func transposedGo(out *[width]float64, a []float64, stride int, x []float64) {
	for l := range out {
		var s [width]float64
		at := l * width
		for i := 0; i+width <= len(x); i += width {
			column, y := (*[width]float64)(a[at:]), (*[width]float64)(x[i:])
			for r, v := range column {
				s[r] += float64(v * y[r])
			}
			at += stride
		}
		out[l] = ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]))
	}
}
