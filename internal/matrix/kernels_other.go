// SPDX-License-Identifier: Apache-2.0

//go:build !amd64

package matrix

func product(c *tile, a, b []float64, sign float64) { productGo(c, a, b, sign) }

func divide(x, d *tile) { divideGo(x, d) }

func times(out *[width]float64, a, x []float64, sign float64) { timesGo(out, a, x, sign) }

func transposed(out *[width]float64, a []float64, stride int, x []float64) {
	transposedGo(out, a, stride, x)
}
