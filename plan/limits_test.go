// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/proof"
)

// valid says whether a plan is one, and that what is not is refused as invalid.
func valid(t *testing.T, s Spec) bool {
	t.Helper()
	_, err := s.validate()
	if err != nil && !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("%v, want ErrInvalid", err)
	}
	return err == nil
}

// TestLimitsOfPlans: every number of a plan is taken up to its limits, and no further.
func TestLimitsOfPlans(t *testing.T) {
	stated := claims{"1", "1", "1"}
	prefix := func(cells int) Spec {
		return Spec{
			Budget: dp.Budget{Epsilon: 1, Delta: 0.1}, Neighbors: dp.AddRemove, MaxPerPerson: 1,
			Workload:     Workload{Kind: Prefix, Cells: cells},
			Measurements: []Measurement{{Kind: Partition, Block: 1, Weight: 1, Noise: geometric(t, 1)}},
			Claims:       stated, Variances: slices.Repeat([]string{"1"}, cells),
		}
	}
	type limit struct {
		change func(n int) Spec
		least  int
		most   int
	}
	row := func(cells, at int) []int64 {
		out := make([]int64, cells)
		out[at] = 1
		return out
	}
	for name, c := range map[string]limit{
		"cells": {func(n int) Spec { s := prefix(max(n, 0)); s.Workload.Cells = n; return s }, 1, maxSequence},
		"cells of a matrix": {func(n int) Spec {
			s := prefix(max(n, 1))
			s.Workload.Kind, s.Workload.Cells, s.Workload.Rows, s.Variances = Matrix, n, [][]int64{row(max(n, 1), 0)}, []string{"1"}
			return s
		}, 1, limits.PlanCells},
		"cells of rows": {func(n int) Spec {
			s := prefix(max(n, 1))
			s.Workload.Cells = n
			s.Measurements = append(s.Measurements, Measurement{Kind: L2, Rows: [][]int64{row(max(n, 1), 0)}, Weight: 1, Deviation: 1})
			return s
		}, 1, limits.PlanCells},
		"max_per_person": {func(n int) Spec { s := prefix(3); s.MaxPerPerson = n; return s }, 1, limits.PlanCells},
		"block":          {func(n int) Spec { s := prefix(3); s.Measurements[0].Block = n; return s }, 1, maxSequence},
		"weight":         {func(n int) Spec { s := prefix(3); s.Measurements[0].Weight = int64(n); return s }, 1, 1 << 30},
		"variances":      {func(n int) Spec { s := prefix(3); s.Variances = slices.Repeat([]string{"1"}, n); return s }, 3, 3},
		"measurements": {func(n int) Spec {
			s := prefix(3)
			s.Measurements = slices.Repeat([]Measurement{{Kind: L2, Rows: [][]int64{{1, 0, 0}}, Weight: 1, Deviation: 1}}, n)
			return s
		}, 1, maxMeasurements},
		"rows of a matrix": {func(n int) Spec {
			s := prefix(3)
			s.Workload.Kind = Matrix
			s.Workload.Rows = slices.Repeat([][]int64{row(3, 1)}, n)
			s.Variances = slices.Repeat([]string{"1"}, n)
			return s
		}, 1, limits.PlanQueries / limits.PlanCells},
		"numbers of a row": {func(n int) Spec {
			s := prefix(3)
			s.Workload.Kind, s.Workload.Rows, s.Variances = Matrix, [][]int64{slices.Repeat([]int64{1}, n)}, []string{"1"}
			return s
		}, 3, 3},
		"coefficients": {func(n int) Spec {
			s := prefix(3)
			s.Workload.Kind, s.Workload.Rows, s.Variances = Matrix, [][]int64{{0, 0, int64(n)}}, []string{"1"}
			return s
		}, 1, maxCoefficient},
		"negative coefficients": {func(n int) Spec {
			s := prefix(3)
			s.Workload.Kind, s.Workload.Rows, s.Variances = Matrix, [][]int64{{0, 0, int64(-n)}}, []string{"1"}
			return s
		}, 1, maxCoefficient},
		"rows of another kind": {func(n int) Spec {
			s := prefix(3)
			s.Workload.Rows = slices.Repeat([][]int64{row(3, 0)}, n)
			return s
		}, 0, 0},
		"attributes of another kind": {func(n int) Spec {
			s := prefix(3)
			s.Workload.Attributes = attributes(slices.Repeat([]int{2}, n)...)
			return s
		}, 0, 0},
		"sets of another kind": {func(n int) Spec { s := prefix(3); s.Workload.Sets = make([][]int, n); return s }, 0, 0},
	} {
		holdsLimits(t, name, c.least, c.most, func(n int) bool { return valid(t, c.change(n)) })
	}
	for _, s := range []Spec{{}, {Budget: dp.Budget{Epsilon: 1}}} {
		if valid(t, s) {
			t.Errorf("%+v is taken", s)
		}
	}
	for name, change := range map[string]func(s *Spec){
		"epsilon":   func(s *Spec) { s.Epsilon = -1 },
		"delta":     func(s *Spec) { s.Delta = 1 },
		"large":     func(s *Spec) { s.Epsilon = 1e9 },
		"neighbors": func(s *Spec) { s.Neighbors = "none" },
		"workload":  func(s *Spec) { s.Workload.Kind = "none" },
		"claims":    func(s *Spec) { s.Claims.Delta = "-1" },
		"kind":      func(s *Spec) { s.Measurements[0].Kind = "none" },
		"residuals": func(s *Spec) { s.Measurements[0].Kind = Residuals },
	} {
		s := prefix(3)
		if change(&s); valid(t, s) {
			t.Errorf("another %s is taken", name)
		}
	}
	without := prefix(3)
	without.Claims, without.Variances = claims{}, nil
	if !valid(t, without) {
		t.Error("a plan without claims is refused")
	}
}

// holdsLimits holds what is taken against the least and the most that is to be.
func holdsLimits(t *testing.T, name string, least, most int, taken func(n int) bool) {
	t.Helper()
	for n, want := range map[int]bool{least: true, most: true, least - 1: false, most + 1: false} {
		if n < 0 {
			continue
		}
		if got := taken(n); got != want {
			t.Errorf("%s of %d is taken: %v", name, n, got)
		}
	}
}

// TestLimitsOfMarginals is the same for attributes and sets.
func TestLimitsOfMarginals(t *testing.T) {
	of := func(sets [][]int, sizes ...int) *Workload {
		return &Workload{Kind: Marginals, Attributes: attributes(sizes...), Sets: sets}
	}
	taken := func(w *Workload) bool {
		err := w.Validate()
		if err != nil && !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%v, want ErrInvalid", err)
		}
		return err == nil
	}
	two := func(n int) []int { return slices.Repeat([]int{2}, n) }
	holdsLimits(t, "attributes", 1, maxAttributes, func(n int) bool { return taken(of([][]int{{}}, two(n)...)) })
	holdsLimits(t, "size", 2, limits.PlanQueries, func(n int) bool { return taken(of([][]int{{}}, n)) })
	holdsLimits(t, "size of a table", 2, limits.PlanQueries, func(n int) bool { return taken(of([][]int{{0}}, n)) })
	holdsLimits(t, "cells", 0, 0, func(n int) bool { w := of([][]int{{}}, 2); w.Cells = n; return taken(w) })
	pairs := func(n int) (sets [][]int) {
		for i := range maxAttributes {
			for j := range i {
				for k := range j {
					if len(sets) < n {
						sets = append(sets, []int{k, j, i})
					}
				}
			}
		}
		return sets
	}
	holdsLimits(t, "sets", 1, maxSets, func(n int) bool { return taken(of(pairs(n), two(maxAttributes)...)) })
	for name, c := range map[string]struct {
		sets  [][]int
		sizes []int
		good  bool
	}{
		"ascending":            {[][]int{{0, 1, 2}}, []int{2, 2, 2}, true},
		"descending":           {[][]int{{1, 0}}, []int{2, 2, 2}, false},
		"twice":                {[][]int{{1, 1}}, []int{2, 2, 2}, false},
		"negative":             {[][]int{{-1}}, []int{2, 2, 2}, false},
		"beyond":               {[][]int{{0, 3}}, []int{2, 2, 2}, false},
		"the same set":         {[][]int{{0, 1}, {0, 1}}, []int{2, 2, 2}, false},
		"the same, apart":      {[][]int{{0, 1}, {1}, {0, 1}}, []int{2, 2, 2}, false},
		"2^22 cells":           {[][]int{{0}, {1}}, []int{1 << 21, 1 << 21}, true},
		"one more":             {[][]int{{0}, {1}}, []int{1 << 21, 1<<21 + 1}, false},
		"2^22 of one":          {[][]int{{0, 1}}, []int{1 << 11, 1 << 11}, true},
		"beyond of one":        {[][]int{{0, 1}}, []int{1 << 11, 1<<11 + 1}, false},
		"beyond 2^64 of one":   {[][]int{{0, 1, 2, 3}}, []int{1 << 20, 1 << 20, 1 << 20, 1 << 20}, false},
		"beyond 2^64 of three": {[][]int{{0, 1, 2}, {0, 1}, {0, 2}}, []int{1 << 22, 1 << 22, 1 << 22}, false},
	} {
		if got := taken(of(c.sets, c.sizes...)); got != c.good {
			t.Errorf("%s is taken: %v", name, got)
		}
	}
	if taken(&Workload{Kind: Marginals, Attributes: []Attribute{{"a", 2}, {"a", 3}}, Sets: [][]int{{0}}}) {
		t.Error("two attributes of one name are taken")
	}
	w := of(nil, 1<<11, 1<<11, 2, 3)
	for i, c := range []struct {
		set  []int
		size int
	}{{nil, 1}, {[]int{2}, 2}, {[]int{2, 3}, 6}, {[]int{0, 1}, limits.PlanQueries}, {[]int{0, 1, 2}, limits.PlanQueries + 1}, {[]int{2, 3, 0, 1}, limits.PlanQueries + 1}} {
		if got := w.size(c.set); got != c.size {
			t.Errorf("case %d: %d cells, want %d", i, got, c.size)
		}
	}
}

// TestMeasuredSets: what is measured is to tell every table that is asked, and residuals all of its subsets.
func TestMeasuredSets(t *testing.T) {
	three := attributes(2, 3, 4)
	tables := func(sets ...[]int) (list []Measurement) {
		for _, set := range sets {
			list = append(list, Measurement{Kind: Partition, Attributes: &set, Weight: 1, Noise: geometric(t, 1)})
		}
		return list
	}
	residuals := func(sets ...[]int) []Measurement {
		return []Measurement{{Kind: Residuals, Sets: sets, Deviations: slices.Repeat([]float64{1}, len(sets))}}
	}
	for i, c := range []struct {
		measured []Measurement
		asked    [][]int
		good     bool
	}{
		{tables([]int{0, 1}), [][]int{{0}, {0, 1}, {}}, true},
		{tables([]int{0, 1}), [][]int{{0}, {2}}, false},
		{tables([]int{0, 1}, []int{1, 2}), [][]int{{0, 1}, {1, 2}, {2}}, true},
		{tables([]int{0, 1}, []int{1, 2}), [][]int{{0, 2}}, false}, // only each for itself
		{tables([]int{0, 1}, []int{0, 1}), [][]int{{0}}, false},    // twice
		{residuals([]int{}, []int{0}, []int{1}, []int{0, 1}), [][]int{{0}, {0, 1}}, true},
		{residuals([]int{}, []int{0}, []int{0, 1}), [][]int{{0}, {0, 1}}, false},
		{residuals([]int{0}, []int{1}, []int{0, 1}), [][]int{{0, 1}}, false},
		{residuals([]int{}, []int{0}, []int{1}), [][]int{{0, 1}}, false},
		{residuals([]int{}, []int{0}), [][]int{{}}, true},
		{append(residuals([]int{}, []int{0}), residuals([]int{1})...), [][]int{{0}}, false},
		{append(residuals([]int{}, []int{0}), tables([]int{0})...), [][]int{{0}}, false},
		{append(tables([]int{0}), residuals([]int{}, []int{0})...), [][]int{{0}}, false},
	} {
		s := Spec{
			Budget: dp.Budget{Epsilon: 1, Delta: 0.1}, Neighbors: dp.AddRemove, MaxPerPerson: 1,
			Workload: Workload{Kind: Marginals, Attributes: three, Sets: c.asked}, Measurements: c.measured,
		}
		if got := valid(t, s); got != c.good {
			t.Errorf("case %d is taken: %v", i, got)
		}
	}
	for field, list := range map[string][]Measurement{
		"measurements[0].attributes[0]": tables([]int{1, 0}),
		"measurements[1].attributes[0]": tables([]int{0}, []int{3}),
		"measurements[0].sets[1]":       residuals([]int{}, []int{-1}),
	} {
		s := Spec{
			Budget: dp.Budget{Epsilon: 1, Delta: 0.1}, Neighbors: dp.AddRemove, MaxPerPerson: 1,
			Workload: Workload{Kind: Marginals, Attributes: three, Sets: [][]int{{0}}}, Measurements: list,
		}
		if _, err := s.validate(); !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), field+" ") {
			t.Errorf("%v, want a sentence with %s", err, field)
		}
	}
	for deviation, want := range map[float64]bool{1 << 38: true, math.Nextafter(1<<38, 1<<39): false, 0x1p-20: true, math.Nextafter(0x1p-20, 0): false, 0: false, -1: false, math.Inf(1): false, math.NaN(): false} {
		list := residuals([]int{}, []int{2}) // of 4 cells
		list[0].Deviations[1] = deviation
		s := Spec{
			Budget: dp.Budget{Epsilon: 1, Delta: 0.1}, Neighbors: dp.AddRemove, MaxPerPerson: 1,
			Workload: Workload{Kind: Marginals, Attributes: three, Sets: [][]int{{2}}}, Measurements: list,
		}
		if got := valid(t, s); got != want {
			t.Errorf("a deviation of %g of four cells is taken: %v", deviation, got)
		}
	}
	for n, want := range map[int]bool{12: true, 13: false} { // 2^17 subsets, of what is measured and what is asked
		var full []int
		for i := range 17 {
			full = append(full, i)
		}
		w := Workload{Kind: Marginals, Attributes: attributes(slices.Repeat([]int{2}, 17)...), Sets: [][]int{full}}
		s := Spec{Workload: w, Measurements: tables(full)}
		if n == 13 {
			s.Workload.Sets = append(s.Workload.Sets, []int{0})
		}
		errs := check.In("plan")
		if s.validateMeasured(errs); errs.None() != want {
			t.Errorf("2^18 subsets and %d more are taken: %v", 2*(n-12), errs.Err())
		}
	}
}

// TestSubsets: every subset once, and no other one.
func TestSubsets(t *testing.T) {
	for n := range 6 {
		var set []int
		for i := range n {
			set = append(set, 3*i+1)
		}
		seen := map[string]bool{}
		Subsets(set, func(sub []int) {
			if first, last := len(seen) == 0, len(seen) == 1<<n-1; first && len(sub) > 0 || last && len(sub) < n {
				t.Errorf("%v is subset %d of %v", sub, len(seen), set)
			}
			if seen[key(sub)] || !contains(set, sub) || !slices.IsSorted(sub) {
				t.Errorf("%v of %v", sub, set)
			}
			seen[key(sub)] = true
		})
		if len(seen) != 1<<n {
			t.Errorf("%d subsets of %v", len(seen), set)
		}
	}
	if contains([]int{1, 4}, []int{2}) || contains([]int{1}, []int{1, 4}) || !contains([]int{1, 4}, nil) || !contains([]int{1, 4}, []int{1, 4}) {
		t.Error("one set has another")
	}
}

// TestBases: the measured sets that are in no other one, each once and in their order.
func TestBases(t *testing.T) {
	for i, c := range []struct{ measured, want [][]int }{
		{[][]int{{0, 1}, {0}, {}, {1}}, [][]int{{0, 1}}},
		{[][]int{{0}, {0, 1}, {1, 2}, {2}}, [][]int{{0, 1}, {1, 2}}},
		{[][]int{{2}, {0}, {1}}, [][]int{{2}, {0}, {1}}},
		{[][]int{{0}, {0}, {1}}, [][]int{{0}, {1}}},
		{[][]int{{}}, [][]int{{}}},
	} {
		var list []Measurement
		for _, set := range c.measured {
			list = append(list, Measurement{Kind: Partition, Attributes: &set})
		}
		for kind, s := range map[string]Spec{"tables": {Measurements: list}, "residuals": {Measurements: []Measurement{{Kind: Residuals, Sets: c.measured}}}} {
			if got := s.bases(); fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("case %d of %s: %v, want %v", i, kind, got, c.want)
			}
		}
	}
}

// TestParsedWorkloads: what is read is what is written, up to the limits of it.
func TestParsedWorkloads(t *testing.T) {
	names := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf("a%d=2", i))
		}
		return strings.Join(list, ",")
	}
	for text, sets := range map[string]int{
		"marginals:a=2,b=3,c=4:1":          3,
		"marginals:a=2,b=3,c=4:2":          6,
		"marginals:a=2,b=3,c=4:3":          7,
		"marginals:" + names(64) + ":1":    64,
		"marginals:" + names(64) + ":2":    64 + 2016,
		"marginals:" + names(12) + ":12":   4095,
		"marginals:" + names(64) + ":3":    -1,
		"marginals:" + names(13) + ":13":   -1,
		"marginals:" + names(65) + ":1":    -1,
		"marginals:a=2,b=3,c=4:4":          -1,
		"marginals:a=2,b=3,c=4:-1":         -1,
		"marginals:" + names(64) + ":1000": -1,
	} {
		w, err := ParseWorkload(text)
		switch {
		case sets < 0:
			if !errors.Is(err, dp.ErrInvalid) {
				t.Errorf("%.40s: %v, want ErrInvalid", text, err)
			}
		case err != nil || len(w.Sets) != sets:
			t.Errorf("%.40s: %d sets, %v, want %d", text, len(w.Sets), err, sets)
		}
	}
	if w, err := ParseWorkload("marginals:a=2,b=3:2"); err != nil || fmt.Sprint(w) != "{marginals 0 [] [{a 2} {b 3}] [[0] [1] [0 1]]}" {
		t.Errorf("%v, %v", w, err)
	}
	if w, err := ParseWorkload("ranges:5"); err != nil || w.Kind != Ranges || w.Cells != 5 {
		t.Errorf("%v, %v", w, err)
	}
}

// TestLimitsOfLaws: a law has at least two weights and at most 2^14, and the last of them is one.
func TestLimitsOfLaws(t *testing.T) {
	holdsLimits(t, "weights", 2, maxWeights, func(n int) bool {
		l := Law{Epsilon: 1, Delta: 0.9, Weights: slices.Repeat([]uint64{1}, max(n, 1))}
		l.Weights[0] = -(2 * uint64(n-1))
		_, err := l.table()
		if err != nil && !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%v, want ErrInvalid", err)
		}
		return err == nil
	})
	for _, weights := range [][]uint64{nil, {0}, {1 << 63}, {1 << 63, 1 << 62, 0}, {0, 0}, {1 << 63, 1 << 61}} {
		l := Law{Epsilon: 1, Delta: 0.9, Weights: weights}
		if _, err := l.table(); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%v: %v, want ErrInvalid", weights, err)
		}
	}
	l := Law{Epsilon: 1, Delta: 0.9, Weights: []uint64{0, 1 << 63}} // none of 0
	if _, err := l.table(); err != nil {
		t.Error(err)
	}
}

// TestImmutable: nothing that was given to New, and nothing that Spec or Bases return, changes a plan.
func TestImmutable(t *testing.T) {
	for name := range larger12(t) {
		s := larger12(t)[name]
		p := made(t, s)
		text := encoded(t, p)
		for _, given := range []Spec{s, p.Spec()} {
			for i := range given.Workload.Sets {
				given.Workload.Sets[i][0]++
			}
			for i := range given.Measurements {
				m := &given.Measurements[i]
				m.Weight++
				for k := range m.Rows {
					m.Rows[k][0]++
				}
				for k := range m.Deviations {
					m.Deviations[k]++
				}
				if m.Noise != nil {
					m.Noise.Weights[0]++
				}
			}
		}
		for _, b := range p.Bases() {
			b[0]++
		}
		if again := encoded(t, p); again != text {
			t.Errorf("%s is now %s", name, again)
		}
		for i, b := range p.Bases() {
			if i > 0 && slices.Equal(b, p.Bases()[i-1]) || slices.ContainsFunc(b, func(a int) bool { return a > 2 }) {
				t.Errorf("%s: the bases %v", name, p.Bases())
			}
		}
	}
}

// TestNoPlan: what New did not make is nothing that is verified, and a file that claims nothing is none.
func TestNoPlan(t *testing.T) {
	for name, p := range map[string]*Plan{"nil": nil, "zero": {}} {
		if v, err := proof.Verify(t.Context(), p, proof.Options{}); v != nil || !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%s: %v, %v, want ErrInvalid", name, v, err)
		}
	}
	text := encoded(t, made(t, larger12(t)["levels"]))
	if start := `{"format":"noisewright-plan","version":1,`; !strings.HasPrefix(strings.Join(strings.Fields(text), ""), start) {
		t.Errorf("a file begins with %.60s, want %s", text, start)
	}
	start, end := strings.Index(text, `"certificate":{`), strings.Index(text, `,"variances":[`)
	text = text[:start] + `"certificate":{"delta":"","mean_squared_error":"","max_squared_error":""` + text[end:]
	if p, err := Decode(strings.NewReader(text)); p != nil || !errors.Is(err, proof.ErrFormat) || !strings.Contains(err.Error(), "certificate.delta") {
		t.Errorf("a file without claims: %v, %v", p, err)
	}
}

// TestClosed: a plan that measures each cell by itself is, of its first cells alone, the same promise, noise and variances;
// and no other one is.
func TestClosed(t *testing.T) {
	closed := 0
	for _, neighbors := range []string{dp.AddRemove, dp.Replace} {
		list := small(t, neighbors, 2)
		list["ranges"] = Spec{Budget: dp.Budget{Epsilon: 4}, Workload: Workload{Kind: Ranges, Cells: 3}, Measurements: []Measurement{{Kind: Partition, Block: 1, Weight: 2, Noise: geometric(t, 0.7)}}}
		cell := Measurement{Kind: Partition, Block: 1, Weight: 1, Noise: geometric(t, 0.7)}
		list["matrix of cells"] = Spec{Budget: dp.Budget{Epsilon: 4}, Workload: Workload{Kind: Matrix, Cells: 3, Rows: [][]int64{{1, 0, 2}}}, Measurements: []Measurement{cell}}
		list["cells twice"] = Spec{Budget: dp.Budget{Epsilon: 6}, Workload: Workload{Kind: Prefix, Cells: 3}, Measurements: []Measurement{cell, cell}}
		list["table"] = Spec{Budget: dp.Budget{Epsilon: 4}, Workload: Workload{Kind: Marginals, Attributes: attributes(2), Sets: [][]int{{0}}}, Measurements: []Measurement{
			{Kind: Partition, Attributes: &[]int{0}, Weight: 1, Noise: geometric(t, 0.7)},
		}}
		for name, s := range list {
			s.Neighbors, s.MaxPerPerson = neighbors, 2
			p := made(t, s)
			c, err := p.Closed(2)
			if name != "identity" && name != "ranges" {
				if c != nil || !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), "measures each cell by itself") {
					t.Errorf("%s: %v, %v", name, c, err)
				}
				continue
			}
			closed++
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Verify(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			got, want := c.Spec(), p.Spec()
			variances := want.Variances[:2]
			want.Workload.Cells = 2
			if name == "ranges" {
				variances = []string{want.Variances[0], want.Variances[1], want.Variances[3]} // of the first, both, the second
			}
			if !slices.Equal(got.Variances, variances) {
				t.Errorf("%s: variances %v, want %v", name, got.Variances, variances)
			}
			got.Claims, got.Variances, want.Claims, want.Variances = claims{}, nil, claims{}, nil
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %+v, want %+v", name, got, want)
			}
		}
	}
	if closed != 4 {
		t.Errorf("%d plans have parts", closed)
	}
}
