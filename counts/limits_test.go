// SPDX-License-Identifier: Apache-2.0

package counts

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/proof"
)

// TestProblemLimits: one on either side of what a problem may be, with the field that is wrong.
func TestProblemLimits(t *testing.T) {
	prefix := Workload{Kind: Prefix}
	sizes := func(n ...int) Workload { return Workload{Kind: Marginals, Sizes: n} }
	query := func(row ...float64) Workload {
		return Workload{Kind: Queries, Names: []string{"a"}, Queries: [][]float64{row}}
	}
	for _, c := range []struct {
		p    Problem
		want string // "" for none
	}{
		{Problem{Epsilon: 1, Count: 2, Workload: prefix}, ""},
		{Problem{Epsilon: 1, Count: 1, Workload: prefix}, "count = 1, want from 2 to 128 categories"},
		{Problem{Epsilon: 1, Count: limits.CountCategories, Workload: prefix}, ""},
		{Problem{Epsilon: 1, Count: limits.CountCategories + 1, Workload: prefix}, "count = 129, want from 2 to 128 categories"},
		{Problem{Epsilon: 1, Labels: []string{"a", "b"}, Workload: prefix}, ""},
		{Problem{Epsilon: 1, Labels: []string{"a"}, Workload: prefix}, "labels = 1 label, want 2 to 128"},
		{Problem{Epsilon: 0, Count: 2, Workload: prefix}, "epsilon = 0, want a finite number above 0"},
		{Problem{Epsilon: 1e9, Count: 2, Workload: prefix}, "epsilon = 1e+09, want"},
		{Problem{Epsilon: 1, Count: 128, Workload: sizes(16, 8)}, ""},
		{Problem{Epsilon: 1, Count: 6, Workload: sizes(2, 3)}, ""},
		{Problem{Epsilon: 1, Count: 6, Workload: sizes(1, 6)}, "workload.sizes = [1 6], want"},
		{Problem{Epsilon: 1, Count: 6, Workload: sizes(-2, -3)}, "workload.sizes = [-2 -3], want"},
		{Problem{Epsilon: 1, Count: 6, Workload: sizes(2, 3, 1)}, "workload.sizes = [2 3 1], want"},
		{Problem{Epsilon: 1, Count: 6, Workload: sizes(2, 3, 1<<40)}, "workload.sizes = [2 3 1099511627776], want"},
		{Problem{Epsilon: 1, Count: 6, Workload: sizes(6)}, "workload.sizes = [6], want"},
		{Problem{Epsilon: 1, Count: 2, Workload: sizes(1<<32, 1<<32, 2)}, "workload.sizes = [4294967296 4294967296 2], want"},
		{Problem{Epsilon: 1, Count: 2, Workload: Workload{Kind: Prefix, Names: []string{"a"}}}, "workload.queries = 0 queries, want none for the kind prefix"},
		{Problem{Epsilon: 1, Count: 2, Workload: Workload{Kind: Prefix, Queries: [][]float64{{1, 0}}}}, "workload.queries = 1 queries, want none for the kind prefix"},
		{Problem{Epsilon: 1, Count: 2, Workload: Workload{Kind: Prefix, Names: []string{"a"}, Queries: [][]float64{{1, 0}}}}, "workload.queries = 1 queries, want none for the kind prefix"},
		{Problem{Epsilon: 1, Count: 2, Workload: Workload{Kind: Queries, Names: []string{"a"}, Queries: [][]float64{{1, 0}, {0, 1}}}}, "workload.queries = 2 queries, want 1, one for each name"},
		{Problem{Epsilon: 1, Count: 2, Workload: query(1e6, -1e-6)}, ""},
		{Problem{Epsilon: 1, Count: 2, Workload: query(math.Nextafter(1e6, 2e6), 0)}, "workload.queries[0][0] = "},
		{Problem{Epsilon: 1, Count: 2, Workload: query(0, math.Nextafter(-1e-6, 0))}, "workload.queries[0][1] = "},
	} {
		err := c.p.Validate()
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, check.ErrInvalid) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.p, err, c.want)
		}
	}
}

// TestSpecLimits is the same of rows and duals.
func TestSpecLimits(t *testing.T) {
	rows := func(k, m int) (rows [][]uint64) {
		for range k {
			row := make([]uint64, m)
			for y := range row {
				row[y] = 1
			}
			row[0] -= uint64(m) // so that the sum is 2^64
			rows = append(rows, row[:m:m])
		}
		return rows
	}
	two := Problem{Epsilon: 1, Count: 2, Workload: Workload{Kind: Prefix}}
	dual := func(slopes [][]float64, prices ...float64) *Dual { return &Dual{Slopes: slopes, Prices: prices} }
	for _, c := range []struct {
		s    Spec
		want string
	}{
		{Spec{Problem: two, Rows: rows(2, 2)}, ""},
		{Spec{Problem: two, Rows: rows(2, 1)}, "rows = 1 answers, want 2 to"},
		{Spec{Problem: two, Rows: rows(3, 3)}, "rows = 3 rows, want 2, one for each category"},
		{Spec{Problem: two, Rows: rows(2, limits.CountWeights/2)}, ""},
		{Spec{Problem: two, Rows: rows(2, limits.CountWeights/2+1)}, "rows = 131073 answers, want 2 to 131072 for 2 categories"},
		{Spec{Problem: Problem{Epsilon: 1, Workload: Workload{Kind: Prefix}}, Rows: rows(2, 2)}, "count = 0, want from 2"},
		{Spec{Problem: two, Rows: rows(2, 2), Dual: dual([][]float64{{1, 0}, {0, 1}}, 0, 0)}, ""},
		{Spec{Problem: two, Rows: rows(2, 2), Dual: dual([][]float64{{1, 0}, {0, 1}, {0, 0}}, 0, 0)}, "dual.slopes = 3 rows, want 2, one for each category"},
		{Spec{Problem: two, Rows: rows(2, 2), Dual: dual([][]float64{{1, 0}}, 0, 0)}, "dual.slopes = 1 rows, want 2, one for each category"},
		{Spec{Problem: two, Rows: rows(2, 2), Dual: dual([][]float64{{1, 0}, {0, 1}}, 0, 0, 0)}, "dual.prices = 3 numbers, want 2 finite numbers"},
		{Spec{Problem: two, Rows: rows(2, 2), Dual: dual([][]float64{{1, 0}, {0, math.Inf(1)}}, 0, 0)}, "dual.slopes[1] = 2 numbers, want 2 finite numbers"},
		{Spec{Problem: two, Rows: rows(2, 2), Dual: dual([][]float64{{1, 0}, {0, 1}}, 0, math.NaN())}, "dual.prices = 2 numbers, want 2 finite numbers"},
	} {
		err := c.s.validate()
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, check.ErrInvalid) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v, %d rows: %v, want %q", c.s.Problem, len(c.s.Rows), err, c.want)
		}
	}
	// Claims that are all empty are none that a file can make.
	s := example(t)
	text, claims := encoded(t, s), s.Spec().Claims
	for _, x := range []string{claims.Delta, claims.TotalVariance, claims.WorstVariance, claims.LowerBound} {
		text = strings.Replace(text, `":"`+x+`"`, `":""`, 1)
	}
	if s, err := Decode(strings.NewReader(text)); !errors.Is(err, proof.ErrFormat) || !strings.Contains(err.Error(), "certificate.delta is empty") {
		t.Errorf("%s: %v, %v", text, s, err)
	}
}

// TestLabels: labels stand for categories in their order, answers for themselves.
func TestLabels(t *testing.T) {
	s := example(t)
	for row, label := range []string{"low", "middle", "high"} {
		if c, err := s.Choose(proof.Category(label)); err != nil || c.Row != row || s.Label(row) != label || s.Input(row) != proof.Category(label) {
			t.Errorf("%s: %+v, %v", label, c, err)
		}
	}
	if _, err := s.Choose(proof.Category("1")); !errors.Is(err, check.ErrInvalid) || s.Points() != 0 || s.Answer(proof.Choice{}, 2, 0) != (proof.Code{B: 2}) {
		t.Errorf("a number instead of a label: %v; %d points", err, s.Points())
	}
}
