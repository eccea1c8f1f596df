// SPDX-License-Identifier: Apache-2.0

package design

import (
	"context"
	"fmt"
	"math"

	"github.com/noisewright/noisewright/internal/quadrature"
	"github.com/noisewright/noisewright/plan"
)

// Hierarchies measure the cells, blocks of them, and perhaps larger blocks of whole blocks, with shares of epsilon.

// sumsOf returns the sums of a matrix above and before each entry.
func sumsOf(g [][]float64) [][]float64 {
	sums := make([][]float64, len(g)+1)
	sums[0] = make([]float64, len(g)+1)
	for i, row := range g {
		sums[i+1] = make([]float64, len(g)+1)
		before := 0.0
		for j, x := range row {
			before += x
			sums[i+1][j+1] = sums[i][j+1] + before
		}
	}
	return sums
}

// within is the sum of the gram over cells a to b−1 and c to d−1.
func (s *study) within(a, b, c, d int) float64 {
	return s.sums[b][d] - s.sums[a][d] - s.sums[b][c] + s.sums[a][c]
}

// hierarchies returns the best of two levels, and of three if that has a smaller estimate.
func (s *study) hierarchies() (list []candidate) {
	n := len(s.gram)
	two, at := math.Inf(1), 0
	for b := 2; b < n; b++ {
		if value, _ := s.twoLevels(b); value < two {
			two, at = value, b
		}
	}
	if at == 0 {
		return nil
	}
	_, share := s.twoLevels(at)
	list = append(list, s.hierarchy(two, []int{1, at}, []float64{share, 1 - share}))
	three, sizes, shares := two, []int(nil), []float64(nil)
	for b := 2; b < n/2; b += 1 + b/8 {
		for k := 2; k*b < n; k += 1 + k/8 {
			if value, found := s.threeLevels(b, k*b); value < three {
				three, sizes, shares = value, []int{1, b, k * b}, found
			}
		}
	}
	if sizes != nil {
		list = append(list, s.hierarchy(three, sizes, shares))
	}
	return list
}

func (s *study) hierarchy(value float64, sizes []int, shares []float64) candidate {
	c := candidate{make: func(ctx context.Context) ([]plan.Measurement, error) { return s.levels(ctx, sizes, shares) }}
	c.Name, c.MeanSquaredError = fmt.Sprintf("cells and blocks of %d", sizes[1]), value
	if len(sizes) > 2 {
		c.Name += fmt.Sprintf(" and %d", sizes[2])
	}
	return c
}

// twoLevels returns the error with blocks of b, and the share of the cells.
func (s *study) twoLevels(b int) (value, share float64) {
	epsilon := part(s.problem.Epsilon, s.touched)
	share, value = quadrature.Minimum(func(share float64) float64 {
		return s.errorOf(b, 0, geometricVariance(epsilon*share), geometricVariance(epsilon*(1-share)), 0)
	}, 0.05, 0.95, 24)
	return value, share
}

// threeLevels returns the error with blocks of b and of c, which is a multiple of it, and the shares.
func (s *study) threeLevels(b, c int) (value float64, shares []float64) {
	epsilon := part(s.problem.Epsilon, s.touched)
	of := func(first, second float64) float64 {
		return s.errorOf(b, c, geometricVariance(epsilon*first), geometricVariance(epsilon*second), geometricVariance(epsilon*(1-first-second)))
	}
	inner := func(first float64) (second, value float64) {
		rest := 1 - first
		return quadrature.Minimum(func(second float64) float64 { return of(first, second) }, 0.1*rest, 0.9*rest, 12)
	}
	first, value := quadrature.Minimum(func(first float64) float64 {
		_, value := inner(first)
		return value
	}, 0.1, 0.9, 12)
	second, _ := inner(first)
	return value, []float64{first, second, 1 - first - second}
}

// errorOf returns the mean squared error with noise of variances v on cells, w on blocks of b and x on those of c, a
// multiple of it or 0. The inverse A of I/v + J/w is v·(I − J·v/(w + n·v)) on a block of n cells, that with
// larger blocks A − A·1·1ᵀ·A/(x + 1ᵀ·A·1), where A·1 is v·w/(w + n·v).
func (s *study) errorOf(b, c int, v, w, x float64) float64 {
	n, sum := len(s.gram), v*s.trace
	for at := 0; at < n; at += b {
		end := min(at+b, n)
		sum -= s.within(at, end, at, end) * v * v / (w + float64(end-at)*v)
	}
	if c > 0 {
		for at := 0; at < n; at += c {
			end := min(at+c, n)
			middle := end - (end-at)%b // only the last block may be shorter
			alpha := v * w / (w + float64(b)*v)
			last := v * w / (w + float64(end-middle)*v)
			form := alpha*alpha*s.within(at, middle, at, middle) + 2*alpha*last*s.within(at, middle, middle, end) + last*last*s.within(middle, end, middle, end)
			sum -= form / (x + alpha*float64(middle-at) + last*float64(end-middle))
		}
	}
	return sum / s.queries()
}
