// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat/combin"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/internal/limits"
)

// The kinds of workload.
const (
	Identity  = "identity"  // each cell
	Prefix    = "prefix"    // the first cell, the first two, …: running totals
	Ranges    = "ranges"    // every run of neighboring cells
	Matrix    = "matrix"    // sums of cells times whole numbers
	Marginals = "marginals" // tables of some attributes each
)

// Limits of a workload.
const (
	// maxSequence bounds the cells of all kinds but Marginals and Matrix, of which blocks are measured.
	maxSequence = 1 << 11
	// maxAttributes bounds the attributes of Marginals.
	maxAttributes = 64
	// maxSets bounds their tables.
	maxSets = 1 << 12
	// maxCoefficient bounds the numbers of a matrix.
	maxCoefficient = 1 << 20
)

// Workload says which sums of cells are asked. A person is in one of the cells, see Spec.
type Workload struct {
	Kind  string `json:"kind"`
	Cells int    `json:"cells,omitempty"` // of all kinds but Marginals
	// Rows are those of a Matrix, one for each query.
	Rows [][]int64 `json:"rows,omitempty"`
	// Attributes and Sets are those of Marginals: a set names attributes by their number, from 0 on
	// and in ascending order, and asks for the count of every combination of their values.
	Attributes []Attribute `json:"attributes,omitempty"`
	Sets       [][]int     `json:"sets,omitempty"`
}

// Attribute is a column with so many values.
type Attribute struct {
	Name string `json:"name"`
	Size int    `json:"size"`
}

// ParseWorkload reads prefix:N, ranges:N, identity:N or marginals:NAME=SIZE,…:ORDER, which asks for
// all tables of one to ORDER attributes.
func ParseWorkload(text string) (w Workload, err error) {
	kind, rest, _ := strings.Cut(text, ":")
	bad := func() (Workload, error) {
		return Workload{}, check.Field("plan", "workload", check.Quoted(text), "prefix:N, ranges:N or identity:N of N cells, marginals:NAME=SIZE,…:ORDER, or matrix:FILE")
	}
	switch w.Kind = kind; kind {
	case Prefix, Ranges, Identity:
		if w.Cells, err = strconv.Atoi(rest); err != nil {
			return bad()
		}
	case Marginals:
		list, order, _ := strings.Cut(rest, ":")
		ways, err := strconv.Atoi(order)
		if err != nil || ways < 1 {
			return Workload{}, check.Field("plan", "workload", check.Quoted(text), "marginals:NAME=SIZE,…:ORDER, such as :2 at its end for all tables of up to two columns")
		}
		for part := range strings.SplitSeq(list, ",") {
			name, size, _ := strings.Cut(part, "=")
			n, err := strconv.Atoi(size)
			if err != nil {
				return Workload{}, check.Field("plan", "workload", check.Quoted(part), "NAME=SIZE, an attribute and how many values it may have, which is public")
			}
			w.Attributes = append(w.Attributes, Attribute{name, n})
		}
		if k := len(w.Attributes); ways <= k && k <= maxAttributes {
			for size := 1; size <= ways && len(w.Sets) <= maxSets; size++ {
				if combin.GeneralizedBinomial(float64(k), float64(size)) > maxSets {
					return Workload{}, check.Field("plan", "workload", check.Quoted(text), fmt.Sprintf("at most %d tables", maxSets))
				}
				w.Sets = append(w.Sets, combin.Combinations(k, size)...)
			}
		}
	default:
		return bad()
	}
	return w, w.Validate()
}

// Validate reports all bad fields together, wrapping dp.ErrInvalid.
func (w *Workload) Validate() error {
	errs := check.In("plan")
	errs.OneOf("workload.kind", w.Kind, Identity, Prefix, Ranges, Matrix, Marginals)
	errs.If(len(w.Rows) > 0 != (w.Kind == Matrix), "workload.rows", fmt.Sprintf("%d rows", len(w.Rows)), "rows of a matrix, and of no other kind")
	if w.Kind == Marginals {
		w.validateMarginals(errs)
		return errs.Err()
	}
	errs.If(len(w.Attributes) > 0 || len(w.Sets) > 0, "workload.attributes", len(w.Attributes), "none but of marginals")
	most := maxSequence
	if w.Kind == Matrix {
		most = limits.PlanCells
	}
	errs.If(w.Cells < 1 || w.Cells > most, "workload.cells", w.Cells, "1 to %d", most)
	errs.If(len(w.Rows) > limits.PlanQueries/limits.PlanCells, "workload.rows", fmt.Sprintf("%d rows", len(w.Rows)), "at most %d", limits.PlanQueries/limits.PlanCells)
	for i, row := range w.Rows {
		validateRow(fmt.Sprintf("workload.rows[%d]", i), row, w.Cells, maxCoefficient, errs)
	}
	return errs.Err()
}

func validateRow(field string, row []int64, cells int, most int64, errs *check.List) {
	errs.If(len(row) != cells, field, fmt.Sprintf("%d numbers", len(row)), "%d, one for each cell", cells)
	errs.If(!slices.ContainsFunc(row, func(a int64) bool { return a != 0 }), field, "zeros alone", "a number that is not 0")
	if i := slices.IndexFunc(row, func(a int64) bool { return a < -most || a > most }); i >= 0 {
		errs.Badf(fmt.Sprintf("%s[%d]", field, i), row[i], "a whole number of at most %d in magnitude", most)
	}
}

func (w *Workload) validateMarginals(errs *check.List) {
	errs.If(w.Cells != 0, "workload.cells", w.Cells, "none of marginals, whose attributes have sizes")
	names := make([]string, len(w.Attributes))
	for i, a := range w.Attributes {
		names[i] = a.Name
		errs.If(a.Size < 2 || a.Size > limits.PlanQueries, fmt.Sprintf("workload.attributes[%d].size", i), a.Size, "2 to %d", limits.PlanQueries)
	}
	formfile.ValidateLabels("workload.attributes", names, maxAttributes, errs)
	w.validateSets("workload.sets", w.Sets, errs)
}

// validateSets checks sets of attributes: each once, and their tables no larger than limits.PlanQueries together.
func (w *Workload) validateSets(field string, sets [][]int, errs *check.List) {
	errs.If(len(sets) < 1 || len(sets) > maxSets, field, len(sets), "1 to %d sets of attributes, and no more attributes in a set than there are", maxSets)
	if !errs.None() {
		return
	}
	seen, all := map[string]bool{}, 0
	for i, s := range sets {
		at := fmt.Sprintf("%s[%d]", field, i)
		ascending := slices.IsSortedFunc(s, func(a, b int) int { return cmp.Or(cmp.Compare(a, b), -1) })
		if !ascending || len(s) > 0 && (s[0] < 0 || s[len(s)-1] >= len(w.Attributes)) {
			errs.Badf(at, fmt.Sprint(s), "numbers of attributes from 0 to %d, ascending", len(w.Attributes)-1)
			return
		}
		errs.If(seen[key(s)], at, fmt.Sprint(s), "each set once")
		seen[key(s)] = true
		if all = min(all+w.size(s), limits.PlanQueries+1); all > limits.PlanQueries {
			errs.Badf(at, fmt.Sprint(s), "tables of at most %d cells together", limits.PlanQueries)
			return
		}
	}
}

// key tells sets apart.
func key(set []int) string { return fmt.Sprint(set) }

// size returns the cells of a table, limits.PlanQueries+1 if there are more.
func (w *Workload) size(set []int) int {
	n := 1
	for _, a := range set {
		if n = n * w.Attributes[a].Size; n > limits.PlanQueries {
			return limits.PlanQueries + 1
		}
	}
	return n
}

// Closed returns what of a plan is known when the first cells alone are: the same noise on each of them, and the queries
// about them. It keeps the plan's promise.
//
// The error wraps dp.ErrInvalid for a plan that measures sums of several cells, which are not known before the last of
// them is.
func (p *Plan) Closed(cells int) (*Plan, error) {
	s := p.Spec()
	// One partition from which all cells follow has a block for each.
	if m := s.Measurements; s.Workload.Kind == Marginals || s.Workload.Kind == Matrix || len(m) != 1 || m[0].Kind != Partition {
		return nil, check.Field("plan", "plan", "one of "+s.Workload.Kind+" that measures sums of cells", "one of prefix, ranges or identity that measures each cell by itself")
	}
	s.Workload.Cells = cells
	s.Claims, s.Variances = claims{}, nil
	return New(s)
}

// Queries returns how many queries there are.
func (w *Workload) Queries() (n int) {
	switch w.Kind {
	case Ranges:
		return w.Cells * (w.Cells + 1) / 2
	case Matrix:
		return len(w.Rows)
	case Marginals:
		for _, s := range w.Sets {
			n += w.size(s)
		}
		return n
	}
	return w.Cells
}

// intervals calls a function with the cells from a to b−1 of each query, in order, unless the
// workload is a Matrix or Marginals.
func (w *Workload) intervals(do func(q, a, b int)) {
	q := 0
	for a := range w.Cells {
		switch w.Kind {
		case Identity:
			do(a, a, a+1)
		case Prefix:
			do(a, 0, a+1)
		case Ranges:
			for b := a + 1; b <= w.Cells; b++ {
				do(q, a, b)
				q++
			}
		}
	}
}

// Gram returns Wᵀ·W of the rows of all kinds but Marginals.
func (w *Workload) Gram() [][]float64 {
	n := w.Cells
	g := make([][]float64, n)
	for i := range g {
		g[i] = make([]float64, n)
		for j := range n {
			switch low, high := min(i, j), max(i, j); w.Kind {
			case Identity:
				g[i][j] = float64((low + n - high) / n)
			case Prefix:
				g[i][j] = float64(n - high)
			case Ranges:
				g[i][j] = float64((low + 1) * (n - high))
			}
		}
	}
	for _, row := range w.Rows {
		for i, a := range row {
			for j, b := range row {
				g[i][j] += float64(a * b)
			}
		}
	}
	return g
}
