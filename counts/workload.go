// SPDX-License-Identifier: Apache-2.0

package counts

import (
	"fmt"
	"math"
	"math/big"
	"strings"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/internal/limits"
)

const (
	// maxQueries bounds the queries of a workload: more than there are ranges.
	maxQueries = 1 << 14
	// most and least bound the size of a coefficient that is not 0.
	most, least = 1e6, 1e-6
)

// The kinds of workloads.
const (
	Prefix    = "prefix"    // people up to each category but the last
	Ranges    = "ranges"    // people from one category to another, of all pairs but the first and last
	Marginals = "marginals" // people with each value of each of several attributes
	Queries   = "queries"   // sums of the people's coefficients
)

// Workload is the queries that are estimated: each is the mean over people of a coefficient of
// their category.
type Workload struct {
	Kind string `json:"kind"`
	// Sizes, for Marginals, is how many values each attribute has. Their product is the number of
	// categories, which are numbered with the last attribute as the fastest.
	Sizes []int `json:"sizes,omitempty"`
	// Names and Queries, for Queries: one row of coefficients for each name, one for each category.
	Names   []string    `json:"names,omitempty"`
	Queries [][]float64 `json:"queries,omitempty"`
}

func (w *Workload) validate(k int, errs *check.List) {
	errs.OneOf("workload.kind", w.Kind, Prefix, Ranges, Marginals, Queries)
	errs.If(w.Kind != Marginals && len(w.Sizes) > 0, "workload.sizes", fmt.Sprintf("%d sizes", len(w.Sizes)), "none but for marginals")
	errs.If(w.Kind != Queries && len(w.Names)+len(w.Queries) > 0, "workload.queries", fmt.Sprintf("%d queries", len(w.Queries)), "none for the kind %s", check.Shortened(w.Kind))
	switch w.Kind {
	case Marginals:
		product := 1
		for _, n := range w.Sizes {
			if n < 2 || n > limits.CountCategories {
				product = 0
				break
			}
			product = min(product*n, limits.CountCategories+1)
		}
		errs.If(len(w.Sizes) < 2 || product != k, "workload.sizes", fmt.Sprint(w.Sizes), "two sizes or more, of 2 or more, whose product is the number of categories, %d", k)
	case Queries:
		formfile.ValidateLabels("workload.names", w.Names, maxQueries, errs)
		errs.If(len(w.Queries) != len(w.Names), "workload.queries", fmt.Sprintf("%d queries", len(w.Queries)), "%d, one for each name", len(w.Names))
		for i, row := range w.Queries {
			if len(row) != k {
				errs.Badf(fmt.Sprintf("workload.queries[%d]", i), fmt.Sprintf("%d coefficients", len(row)), "%d, one for each category", k)
				return
			}
			some := false
			for j, x := range row {
				if size := math.Abs(x); x != 0 && !(size >= least && size <= most) {
					errs.Bad(fmt.Sprintf("workload.queries[%d][%d]", i, j), x, "0, or a number of a size from 1e-6 to 1e6")
					return
				}
				some = some || x != 0
			}
			if !some {
				errs.Bad(fmt.Sprintf("workload.queries[%d]", i), "0 everywhere", "a coefficient that is not 0")
				return
			}
		}
	}
}

// Matrix returns the coefficients of all queries for each of k categories.
func (w *Workload) Matrix(k int) [][]float64 {
	switch w.Kind {
	case Prefix:
		return intervals(k, 1)
	case Ranges:
		return intervals(k, k)
	case Marginals:
		return w.marginals(k)
	}
	return formfile.Clone(w.Queries)
}

// size returns how many queries there are.
func (w *Workload) size(k int) int {
	switch w.Kind {
	case Prefix:
		return k - 1
	case Ranges:
		return k*(k+1)/2 - 1
	case Marginals:
		sum := 0
		for _, n := range w.Sizes {
			sum += n
		}
		return sum
	}
	return len(w.Queries)
}

// intervals returns the indicators of the categories from one to another, but for all of them, with
// so many to begin with.
func intervals(k, firsts int) (rows [][]float64) {
	for first := range firsts {
		for last := first; last < k && last-first < k-1; last++ {
			row := make([]float64, k)
			for j := first; j <= last; j++ {
				row[j] = 1
			}
			rows = append(rows, row)
		}
	}
	return rows
}

func (w *Workload) marginals(k int) (rows [][]float64) {
	stride := k
	for _, n := range w.Sizes {
		stride /= n
		for value := range n {
			row := make([]float64, k)
			for j := range row {
				if j/stride%n == value {
					row[j] = 1
				}
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// names returns what the queries are called; label says what a category is.
func (w *Workload) names(k int, label func(int) string) (names []string) {
	switch w.Kind {
	case Prefix:
		for j := range k - 1 {
			names = append(names, "up to "+label(j))
		}
	case Ranges:
		for first := range k {
			for last := first; last < k && last-first < k-1; last++ {
				name := label(first)
				if last > first {
					name += " to " + label(last)
				}
				names = append(names, name)
			}
		}
	case Marginals:
		for a, n := range w.Sizes {
			for value := range n {
				cells := make([]string, len(w.Sizes))
				for b := range cells {
					cells[b] = "*"
				}
				cells[a] = fmt.Sprint(value)
				names = append(names, strings.Join(cells, "x"))
			}
		}
	default:
		return w.Names
	}
	return names
}

// gram returns the products of the columns of coefficients, exactly: WᵀW.
func (w *Workload) gram(k int) [][]*big.Rat {
	queries := w.Matrix(k)
	// Coefficients are multiples of 2^-fraction.
	fraction := 0
	for _, row := range w.Queries {
		for _, x := range row {
			fraction = max(fraction, exact.Rational(x).Denom().BitLen()-1)
		}
	}
	sums := make([][]*big.Rat, k)
	for i := range sums {
		sums[i] = make([]*big.Rat, k)
	}
	if w.Kind == Queries {
		whole := make([][]*big.Int, len(queries))
		for n, row := range queries {
			for _, x := range row {
				whole[n] = append(whole[n], floorAt(x, fraction))
			}
		}
		sum, term := new(big.Int), new(big.Int)
		for i := range k {
			for j := range i + 1 {
				sum.SetInt64(0)
				for _, row := range whole {
					sum.Add(sum, term.Mul(row[i], row[j]))
				}
				sums[i][j] = new(big.Rat).SetInt(sum)
				sums[i][j].Mul(sums[i][j], exact.PowerOfTwo(-2*fraction))
				sums[j][i] = sums[i][j]
			}
		}
		return sums
	}
	pairs := make([]int64, k*k)
	for _, row := range queries {
		for i, x := range row {
			for j, y := range row[:i+1] {
				if x != 0 && y != 0 {
					pairs[i*k+j]++
				}
			}
		}
	}
	for i := range k {
		for j := range i + 1 {
			sums[i][j] = big.NewRat(pairs[i*k+j], 1)
			sums[j][i] = sums[i][j]
		}
	}
	return sums
}

// floorAt returns x·2^bits, which is an integer.
func floorAt(x float64, bits int) *big.Int {
	r := exact.Rational(x)
	return new(big.Int).Lsh(r.Num(), uint(bits-r.Denom().BitLen()+1))
}
