// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/local"
)

// categoriesSpec has the rows, of weights of 2^-64.
func categoriesSpec(t *testing.T, rows [][]uint64) local.Spec {
	t.Helper()
	names := []string{"a", "b", "c", "d", "e"}
	s := local.Spec{Epsilon: 20, Delta: 0.5, Objective: local.Mean, Values: local.Values{Kind: local.Category, Labels: names[:len(rows)]}, AnswerLabels: names[:len(rows[0])], Rows: rows}
	for range rows {
		s.Costs = append(s.Costs, make([]float64, len(rows[0])))
	}
	r, err := local.New(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return r.Spec()
}

func TestShareInverse(t *testing.T) {
	v, err := local.RandomizedResponse([]string{"a", "b", "c", "d"}, 1.5)
	if err != nil {
		t.Fatal(err)
	}
	s := v.Mechanism().Spec()
	inverse, ok := NewShares(&s)
	if !ok {
		t.Fatal("randomized response is not inverted")
	}
	// (1{y=i} − q)/(p − q), of a variance of p(1−p) or q(1−q) over (p − q)².
	p, q := math.Exp(1.5)/(math.Exp(1.5)+3), 1/(math.Exp(1.5)+3)
	for i, row := range inverse.weight {
		for y, w := range row {
			want, variance := -q/(p-q), q*(1-q)/((p-q)*(p-q))
			if i == y {
				want, variance = (1-q)/(p-q), p*(1-p)/((p-q)*(p-q))
			}
			if math.Abs(w-want) > 1e-12 || math.Abs(inverse.square[i][y]-variance) > 1e-12 {
				t.Errorf("weight[%d][%d] = %g, variance %g, want %g, %g", i, y, w, inverse.square[i][y], want, variance)
			}
		}
		if inverse.bias[i] > 1e-13 || math.Abs(inverse.most[i]-1/(p-q)) > 1e-12 {
			t.Errorf("category %d: bias %g, most %g, want %g", i, inverse.bias[i], inverse.most[i], 1/(p-q))
		}
	}
	// Answers that are no categories; and laws that are mixtures of each other.
	const eighth = 1 << 61
	more := categoriesSpec(t, [][]uint64{{3 * eighth, eighth, 2 * eighth, eighth, eighth}, {eighth, 3 * eighth, eighth, 2 * eighth, eighth}, {eighth, eighth, eighth, eighth, 4 * eighth}})
	inverse, ok = NewShares(&more)
	if !ok {
		t.Fatal("five answers to three categories are not inverted")
	}
	for i := range more.Rows {
		for c, row := range more.Rows {
			sum := 0.0
			for y, w := range row {
				sum += float64(w) * 0x1p-64 * inverse.weight[i][y]
			}
			if c == i {
				sum--
			}
			if math.Abs(sum) > inverse.bias[i] {
				t.Errorf("weights of %d are off by %g for %d, beyond %g", i, sum, c, inverse.bias[i])
			}
		}
	}
	same := categoriesSpec(t, [][]uint64{{6 * eighth, 2 * eighth}, {2 * eighth, 6 * eighth}, {4 * eighth, 4 * eighth}})
	if _, ok := NewShares(&same); ok {
		t.Error("three categories are told apart by two answers")
	}
}

// TestShareCoverage draws answers of 400 people and holds estimates and intervals against
// their shares. Intervals of a level of 0.9 all hold in each of 500 trials but for a
// probability of 0.1; more than 100 failures would have a probability below 1e-9.
func TestShareCoverage(t *testing.T) {
	v, err := local.RandomizedResponse([]string{"a", "b", "c"}, 2)
	if err != nil {
		t.Fatal(err)
	}
	s := v.Mechanism().Spec()
	inverse, _ := NewShares(&s)
	people := []int{300, 90, 10}
	r := rand.New(rand.NewPCG(1, 2))
	const trials, n = 500, 400
	misses, means, width := 0, make([]float64, 3), 0.0
	for range trials {
		counts := make([]int, 3)
		for i, m := range people {
			for range m {
				y, u := 0, r.Uint64()
				for ; u >= s.Rows[i][y]; y++ {
					u -= s.Rows[i][y]
				}
				counts[y]++
			}
		}
		missed := false
		for i := range people {
			share, lower, upper := inverse.Share(i, counts, n, 0.9)
			truth := float64(people[i]) / n
			missed = missed || lower > truth || upper < truth
			means[i] += share / trials
			width += (upper - lower) / (3 * trials)
		}
		if missed {
			misses++
		}
	}
	if misses > 100 {
		t.Errorf("%d of %d trials have a share outside its interval, want at most a tenth", misses, trials)
	}
	// Standard deviations of a mean are below 0.002; 6 of them.
	for i, m := range means {
		if truth := float64(people[i]) / n; math.Abs(m-truth) > 0.012 {
			t.Errorf("the mean estimate of category %d is %g, want %g", i, m, truth)
		}
	}
	if width > 0.35 {
		t.Errorf("intervals are %g wide on average", width)
	}
}
