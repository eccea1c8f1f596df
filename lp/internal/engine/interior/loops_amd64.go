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

func compareVectors(g, x, z []float64, ratio float64) int {
	n := vectors(len(g))
	if n > 0 {
		compareAVX2(&g[0], &x[0], &z[0], n, ratio)
	}
	return n
}

func addVectors(to, x []float64, f float64) int {
	n := vectors(len(x))
	if n > 0 {
		addAVX2(&to[0], &x[0], n, f)
	}
	return n
}

func aimVectors(c, x, z []float64, mu float64) int {
	n := vectors(len(c))
	if n > 0 {
		aimAVX2(&c[0], &x[0], &z[0], n, mu)
	}
	return n
}

func withinVectors(steps *parts, x, dx []float64, share float64) int {
	n := vectors(len(x))
	if n > 0 {
		withinAVX2(steps, &x[0], &dx[0], n, share)
	}
	return n
}

func (b *block) productsVectors(sum *parts, primal, dual float64) int {
	n := vectors(len(b.x))
	if n > 0 {
		productsAVX2(b, sum, n, primal, dual)
	}
	return n
}

func (b *block) correctVectors(primal, dual, low, high float64) int {
	n := vectors(len(b.c))
	if n > 0 {
		correctAVX2(b, n, primal, dual, low, high)
	}
	return n
}

func (t *terms) residualsVectors(from int, g []float64) int {
	n := vectors(len(g))
	if n > 0 {
		residualsAVX2(t, from, n, &g[0])
	}
	return n
}

func (t *terms) weighVectors(from int, f []float64) int {
	n := vectors(len(f))
	if n > 0 {
		weighAVX2(t, from, n, &f[0])
	}
	return n
}

func (t *terms) sidesVectors(from int, f []float64) int {
	n := vectors(len(f))
	if n > 0 {
		sidesAVX2(t, from, n, &f[0])
	}
	return n
}

func (t *terms) expandVectors(from int, dg []float64, deta float64) int {
	n := vectors(len(dg))
	if n > 0 {
		expandAVX2(t, from, n, &dg[0], deta)
	}
	return n
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
