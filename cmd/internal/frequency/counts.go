// SPDX-License-Identifier: Apache-2.0

package frequency

import (
	"math"
	"slices"
)

// Count is a published mechanism for counts of categories.
type Count struct {
	Name, Source string
	// TotalVariance is that of the best linear unbiased estimates of all queries, times the number of
	// people, for data in which all categories are equally frequent.
	TotalVariance float64
}

// Counts returns them for the queries, each with a coefficient for each category: of randomized
// response and subset selection, whose answers have no order, and of the square wave, whose have.
func Counts(epsilon float64, queries [][]float64) []Count {
	k := len(queries[0])
	e, n := math.Exp(epsilon), float64(k)
	trace, whole := 0.0, 0.0 // of G = WᵀW, and 1ᵀG1
	for _, q := range queries {
		sum := 0.0
		for _, x := range q {
			trace += x * x
			sum += x
		}
		whole += sum * sum
	}
	// The information about equal shares has the eigenvalue k of 1, and otherwise one.
	of := func(d float64) float64 {
		information := (n*n*(d*e*e+n-d)/((d*e+n-d)*(d*e+n-d)) - n) / (n - 1)
		return (trace-whole/n)/information + whole/(n*n) - trace/n
	}
	best := of(1)
	for d := 2; d < k; d++ {
		best = min(best, of(float64(d)))
	}
	return []Count{
		{"randomized-response", "Warner 1965, Kairouz et al. 2016", of(1)},
		{"subset-selection", "Ye & Barg 2018, the best size", best},
		{"square-wave", "Li et al. 2020, in as many steps as categories", squareWaveCounts(epsilon, queries)},
	}
}

// squareWaveCounts is the variance for answers that are close to the category: within so many steps of it each
// is e^epsilon times as likely as each farther one (Li et al. 2020).
func squareWaveCounts(epsilon float64, queries [][]float64) float64 {
	k, e := len(queries[0]), math.Exp(epsilon)
	b := (epsilon*e - e + 1) / (2 * e * (e - 1 - epsilon))
	reach := max(1, int(math.Round(b*float64(k))))
	answers := k + 2*reach
	total := float64(2*reach+1)*e + float64(k-1)
	law := func(i, y int) float64 {
		if y >= i && y <= i+2*reach {
			return e / total
		}
		return 1 / total
	}
	information := make([][]float64, k)
	for i := range information {
		information[i] = make([]float64, k)
	}
	for y := range answers {
		mean := 0.0
		for i := range k {
			mean += law(i, y) / float64(k)
		}
		for i := range k {
			for j := range k {
				information[i][j] += law(i, y) * law(j, y) / mean
			}
		}
	}
	root := lowerRoot(information)
	sum := 0.0
	for _, q := range queries {
		x := slices.Clone(q) // q·J⁻¹·q is the squared norm of the root's inverse times q
		for i := range x {
			for j := range i {
				x[i] -= root[i][j] * x[j]
			}
			x[i] /= root[i][i]
			sum += x[i]*x[i] - q[i]*q[i]/float64(k)
		}
	}
	return sum
}

// lowerRoot returns the Cholesky factor of a positive definite matrix; NaNs of another.
func lowerRoot(a [][]float64) [][]float64 {
	l := make([][]float64, len(a))
	for i := range l {
		l[i] = make([]float64, len(a))
		for j := range i + 1 {
			x := a[i][j]
			for m := range j {
				x -= l[i][m] * l[j][m]
			}
			if i == j {
				l[i][i] = math.Sqrt(x)
			} else {
				l[i][j] = x / l[j][j]
			}
		}
	}
	return l
}
