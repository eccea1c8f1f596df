// SPDX-License-Identifier: Apache-2.0

package matrix

import "golang.org/x/sys/cpu"

// useAVX2 and useAVX512 say which code is taken; without either it is that in Go.
var useAVX2, useAVX512 = cpu.X86.HasAVX2, cpu.X86.HasAVX2 && cpu.X86.HasAVX512F

func product(c *tile, a, b []float64, sign float64) {
	columns := min(len(a), len(b)) / width
	switch {
	case columns == 0:
	case useAVX512:
		productAVX512(c, &a[0], &b[0], columns, sign)
	case useAVX2:
		productAVX2(c, &a[0], &b[0], columns, sign)
	default:
		productGo(c, a, b, sign)
	}
}

func divide(x, d *tile) {
	if useAVX2 {
		divideAVX2(x, d)
	} else {
		divideGo(x, d)
	}
}

func times(out *[width]float64, a, x []float64, sign float64) {
	fours := min(len(a)/width, len(x)) / 4
	switch {
	case fours == 0:
	case useAVX2:
		timesAVX2(out, &a[0], &x[0], fours, sign)
	default:
		timesGo(out, a, x, sign)
	}
}

func transposed(out *[width]float64, a []float64, stride int, x []float64) {
	panels := len(x) / width
	if !useAVX2 || panels == 0 {
		transposedGo(out, a, stride, x)
		return
	}
	_ = a[(panels-1)*stride+width*width-1]
	transposedAVX2(out, &a[0], stride, &x[0], panels)
}

// The loops of kernels.go, of so many columns, fours of columns or panels, at least one.

//go:noescape
func productAVX512(c *tile, a, b *float64, columns int, sign float64)

//go:noescape
func productAVX2(c *tile, a, b *float64, columns int, sign float64)

//go:noescape
func divideAVX2(x, d *tile)

//go:noescape
func timesAVX2(out *[width]float64, a, x *float64, fours int, sign float64)

//go:noescape
func transposedAVX2(out *[width]float64, a *float64, stride int, x *float64, panels int)
