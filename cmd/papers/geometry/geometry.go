// SPDX-License-Identifier: Apache-2.0

// Package geometry is that of finite projective spaces, which block designs of subset mechanisms are made of.
package geometry

// Space is a projective space over a finite field, whose points stand for points and, as the
// coefficients of equations, for hyperplanes.
type Space struct {
	sum, product [][]int // of elements, which are numbers from 0 on
	Points       [][]int // each with 1 as its first coordinate that is not 0
}

// New returns the least space over the field with q elements that has k points.
func New(q int, k int64) *Space {
	g := &Space{}
	g.sum, g.product = field(q)
	for size := 2; int64(len(g.Points)) < k; size++ {
		g.Points = nil
		for lead := range size {
			rest := 1
			for range size - lead - 1 {
				rest *= q
			}
			for code := range rest {
				point := make([]int, size)
				point[lead] = 1
				for i := lead + 1; i < size; i++ {
					point[i] = code % q
					code /= q
				}
				g.Points = append(g.Points, point)
			}
		}
	}
	return g
}

// On reports whether a point is on a hyperplane.
func (g *Space) On(point, plane []int) bool {
	sum := 0
	for i, x := range point {
		sum = g.sum[sum][g.product[x][plane[i]]]
	}
	return sum == 0
}

// field returns the tables of a field with q elements, a power of a prime p: polynomials over the integers modulo p, by
// their digits, modulo the first monic one without divisors.
func field(q int) (sum, product [][]int) {
	p := 2
	for q%p != 0 {
		p++
	}
	sum = table(q, func(x, y int) (z int) {
		for unit := 1; unit < q; unit *= p {
			z += (x/unit + y/unit) % p * unit
		}
		return z
	})
	for low := range q { // of the polynomial, whose highest coefficient is 1
		times := func(x, y int) (z int) { // by Horner's rule, from the highest digit of y on
			for unit := q / p; unit > 0; unit /= p {
				top := z / (q / p)
				z = z % (q / p) * p // z·X, without its highest power, which is −top·low
				for range (p - top) % p {
					z = sum[z][low]
				}
				for range y / unit % p {
					z = sum[z][x]
				}
			}
			return z
		}
		if product = table(q, times); whole(product) {
			return sum, product
		}
	}
	panic("no field of a size that is no power of a prime")
}

func table(q int, of func(x, y int) int) [][]int {
	t := make([][]int, q)
	for x := range t {
		t[x] = make([]int, q)
		for y := range t[x] {
			t[x][y] = of(x, y)
		}
	}
	return t
}

// whole reports whether no product of two elements is 0 that are not.
func whole(product [][]int) bool {
	for _, row := range product[1:] {
		for _, z := range row[1:] {
			if z == 0 {
				return false
			}
		}
	}
	return true
}
