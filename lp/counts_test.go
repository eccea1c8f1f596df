// SPDX-License-Identifier: Apache-2.0

package lp_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/noisewright/noisewright/counts"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/lp"
)

// TestDesignCounts holds designs for prefix sums against what they reached, for people who are a sample of
// equally likely categories: the variance and the bound, if there is one.
func TestDesignCounts(t *testing.T) {
	for _, c := range []struct {
		categories  int
		epsilon     float64
		most, least float64
	}{
		{8, 1, 24.35, 24.31}, {14, 2, 13.52, 13.49}, {14, 3, 5.81, 5.80}, {14, 1, 62.61, 62.52}, {32, 1, 224, 0}, {64, 1, 606, 0},
	} {
		if testing.Short() && c.categories > 8 {
			continue
		}
		v, err := lp.DesignCounts(t.Context(), counts.Problem{Epsilon: c.epsilon, Count: c.categories, Workload: counts.Workload{Kind: counts.Prefix}})
		if err != nil {
			t.Fatal(err)
		}
		found, sampling := v.Certificate(), v.Mechanism().Sampling()
		total, _ := found.TotalVariance.Float64()
		bound, _ := found.LowerBound.Float64()
		t.Logf("%d categories at %g: %g, bound %g, and %g of a sample", c.categories, c.epsilon, total, bound, sampling)
		if !(total+sampling <= c.most) || c.least > 0 && !(bound+sampling >= c.least) {
			t.Errorf("%d categories at %g: a variance of %g, bound %g, want at most %g and %g", c.categories, c.epsilon, total+sampling, bound+sampling, c.most, c.least)
		}
		if proved := v.Mechanism().Spec().Dual != nil; proved != (c.categories <= limits.CountProved) || !proved && bound != 0 {
			t.Errorf("%d categories: a bound of %g", c.categories, bound)
		}
	}
}

// TestDesignCountsShares: for the shares themselves the bound of subset selection is known in closed form.
func TestDesignCountsShares(t *testing.T) {
	const k = 6
	w := counts.Workload{Kind: counts.Queries}
	for j := range k {
		row := make([]float64, k)
		row[j] = 1
		w.Names, w.Queries = append(w.Names, string(rune('a'+j))), append(w.Queries, row)
	}
	for _, epsilon := range []float64{0.1, 1, 4} {
		v, err := lp.DesignCounts(t.Context(), counts.Problem{Epsilon: epsilon, Count: k, Workload: w})
		if err != nil {
			t.Fatal(err)
		}
		best, e := math.Inf(1), math.Exp(epsilon)
		for d := 1.0; d < k; d++ {
			best = min(best, (k-1)*(k-1)*(d*e+k-d)*(d*e+k-d)/(k*d*(k-d)*(e-1)*(e-1))-(k-1.)/k)
		}
		total, _ := v.Certificate().TotalVariance.Float64()
		bound, _ := v.Certificate().LowerBound.Float64()
		if !(bound <= best*(1+1e-12) && total >= best*(1-1e-12)) || total > bound*1.002 {
			t.Errorf("epsilon %g: from %g to %g, want %g between them", epsilon, bound, total, best)
		}
	}
}

func TestDesignCountsRefuses(t *testing.T) {
	for _, p := range []counts.Problem{
		{Epsilon: 0, Count: 3, Workload: counts.Workload{Kind: counts.Prefix}},
		{Epsilon: 1, Count: 1, Workload: counts.Workload{Kind: counts.Prefix}},
		{Epsilon: 1, Count: 129, Workload: counts.Workload{Kind: counts.Prefix}},
		{Epsilon: 1, Count: 3},
		{Epsilon: 1e-15, Count: 3, Workload: counts.Workload{Kind: counts.Prefix}},
	} {
		if v, err := lp.DesignCounts(t.Context(), p); v != nil || !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%+v: %v, %v", p, v, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := lp.DesignCounts(ctx, counts.Problem{Epsilon: 1, Count: 3, Workload: counts.Workload{Kind: counts.Prefix}}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}
