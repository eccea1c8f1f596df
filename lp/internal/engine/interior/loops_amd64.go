// SPDX-License-Identifier: Apache-2.0

package interior

import "golang.org/x/sys/cpu"

// useAVX2 says whether loops are in vector code.
var useAVX2 = cpu.X86.HasAVX2

// vectors returns how many of n numbers are for vector code.
func vectors(n int) int {
	if !useAVX2 {
		return 0
	}
	return n / lanes * lanes
}

// The loops of loops.go, for n numbers, a multiple of four above 0.

//go:noescape
func compareAVX2(to, x, z *float64, n int, ratio float64)

//go:noescape
func addAVX2(to, x *float64, n int, f float64)

//go:noescape
func aimAVX2(c, x, z *float64, n int, mu float64)

//go:noescape
func withinAVX2(steps *parts, x, dx *float64, n int, share float64)

//go:noescape
func productsAVX2(b *block, sum *parts, n int, primal, dual float64)

//go:noescape
func correctAVX2(b *block, n int, primal, dual, low, high float64)

//go:noescape
func residualsAVX2(t *terms, from, n int, differences *float64)

//go:noescape
func weighAVX2(t *terms, from, n int, f *float64)

//go:noescape
func sidesAVX2(t *terms, from, n int, f *float64)

//go:noescape
func expandAVX2(t *terms, from, n int, dg *float64, deta float64)
