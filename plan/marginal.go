// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"slices"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
)

// The table of a set S is a sum over its subsets B of components: what the table of B has that those of
// fewer attributes do not, spread evenly over the other attributes of S. The components of different
// sets are orthogonal, so that each is estimated by itself: from all measured tables that have B, or
// from the residuals of B (Xiao, He, Zhang & Kifer 2023, ResidualPlanner). docs/proofs/plan.md.

// Subsets calls a function with every subset of a set, ascending in size of their bits.
func Subsets(set []int, do func(sub []int)) {
	for mask := range 1 << len(set) {
		sub := make([]int, 0, len(set))
		for i, a := range set {
			if mask>>i&1 == 1 {
				sub = append(sub, a)
			}
		}
		do(sub)
	}
}

// contains reports whether an ascending set has all of another one.
func contains(set, sub []int) bool {
	return !slices.ContainsFunc(sub, func(a int) bool { _, is := slices.BinarySearch(set, a); return !is })
}

// measured returns the sets of attributes that are measured, those of Residuals or of all Partitions.
func (s *Spec) measured() (sets [][]int) {
	for i := range s.Measurements {
		if m := &s.Measurements[i]; m.Kind == Residuals {
			sets = append(sets, m.Sets...)
		} else if m.Attributes != nil {
			sets = append(sets, *m.Attributes)
		}
	}
	return sets
}

// bases returns the measured sets that are in no other one: their tables are the input.
func (s *Spec) bases() (out [][]int) {
	all := s.measured()
	for i, set := range all {
		within := func(j int) bool { return contains(all[j], set) && (len(all[j]) > len(set) || j < i) }
		found := false
		for j := range all {
			found = found || within(j)
		}
		if !found {
			out = append(out, set)
		}
	}
	return out
}

// maxSubsets bounds those of all sets together.
const maxSubsets = 1 << 18

// validateMeasured checks that measurements of marginals tell all components of the queries.
func (s *Spec) validateMeasured(errs *check.List) {
	residuals := slices.IndexFunc(s.Measurements, func(m Measurement) bool { return m.Kind == Residuals })
	if residuals >= 0 && len(s.Measurements) > 1 {
		errs.Bad("measurements", len(s.Measurements), "no other one beside residuals")
		return
	}
	all, there, subs := s.measured(), map[string]bool{}, 0
	s.Workload.validateSets("measurements", all, errs)
	for _, set := range slices.Concat(all, s.Workload.Sets) {
		subs += 1 << len(set)
	}
	errs.If(subs > maxSubsets, "workload.sets", fmt.Sprintf("%d subsets", subs), "at most %d of all sets that are asked and measured", maxSubsets)
	if !errs.None() {
		return
	}
	for i, set := range all {
		there[key(set)] = true
		if residuals >= 0 {
			d := s.Measurements[residuals].Deviations[i]
			errs.If(d*float64(s.Workload.size(set)) > maxDeviation, fmt.Sprintf("measurements[%d].deviations[%d]", residuals, i), d, "at most 2^40 by the cells of the table")
		}
	}
	for i, set := range s.Workload.Sets {
		told := residuals >= 0 || slices.ContainsFunc(all, func(a []int) bool { return contains(a, set) })
		if residuals >= 0 {
			Subsets(set, func(sub []int) { told = told && there[key(sub)] })
		}
		errs.If(!told, fmt.Sprintf("workload.sets[%d]", i), fmt.Sprint(set), "attributes that are measured together")
	}
}

// others returns the cells of a table of the attributes of a set that are not in its subset.
func (w *Workload) others(set, sub []int) int64 { return int64(w.size(set) / w.size(sub)) }

// component returns the variance of an estimate of a component, before it is projected: in a direction
// of norm 1; and the shares of the measured tables in it, none of Residuals.
func (c *content) component(b []int) (variance *big.Rat, shares []float64) {
	s := &c.spec
	if m := &s.Measurements[0]; m.Kind == Residuals {
		i := slices.IndexFunc(m.Sets, func(set []int) bool { return slices.Equal(set, b) })
		// A row of norm h has the deviation h·d, rounded up by less than 2^-49 of it, and rounded noise.
		v := exact.Rational(m.Deviations[i])
		v.Mul(v, v).Mul(v, new(big.Rat).Add(big.NewRat(1, 1), exact.PowerOfTwo(-47)))
		return v.Add(v, new(big.Rat).Quo(exact.PowerOfTwo(-len(b)), big.NewRat(12, 1))), nil
	}
	sum, variance := new(big.Rat), new(big.Rat)
	weights := make([]*big.Rat, len(s.Measurements))
	for i := range s.Measurements {
		m := &s.Measurements[i]
		weights[i] = new(big.Rat)
		if a := *m.Attributes; contains(a, b) {
			n := s.Workload.others(a, b)
			weights[i].SetFrac64(m.Weight, n)
			sum.Add(sum, weights[i])
			v := new(big.Rat).SetInt64(n)
			variance.Add(variance, v.Mul(v, c.laws[i].variance).Mul(v, weights[i]).Mul(v, weights[i]))
		}
	}
	shares = make([]float64, len(weights))
	for i := range weights {
		shares[i], _ = weights[i].Quo(weights[i], sum).Float64()
	}
	return variance.Quo(variance, sum.Mul(sum, sum)), shares
}

// certifyMarginals sets the variances of Marginals: that of a cell of S is the sum over its subsets B of
// the component's, times Π(1−1/n) over B, divided by the square of the cells of the other attributes.
func (c *content) certifyMarginals(found *Certificate) {
	w := &c.spec.Workload
	known := map[string]*big.Rat{}
	total, cells := new(big.Rat), int64(0)
	found.MaxSquaredError = new(big.Rat)
	for _, set := range w.Sets {
		sum := new(big.Rat)
		Subsets(set, func(b []int) {
			v := known[key(b)]
			if v == nil {
				v, _ = c.component(b)
				for _, a := range b {
					n := int64(w.Attributes[a].Size)
					v.Mul(v, big.NewRat(n-1, n))
				}
				known[key(b)] = v
			}
			rest := big.NewRat(1, w.others(set, b))
			sum.Add(sum, rest.Mul(rest, rest).Mul(rest, v))
		})
		found.Variances = append(found.Variances, sum)
		n := int64(w.size(set))
		cells += n
		total.Add(total, new(big.Rat).Mul(sum, new(big.Rat).SetInt64(n)))
		if sum.Cmp(found.MaxSquaredError) > 0 {
			found.MaxSquaredError = sum
		}
	}
	found.MeanSquaredError = total.Quo(total, new(big.Rat).SetInt64(cells))
}

// sizes returns those of the attributes of a set.
func (w *Workload) sizes(set []int) []int {
	out := make([]int, len(set))
	for i, a := range set {
		out[i] = w.Attributes[a].Size
	}
	return out
}

type number interface{ int64 | float64 }

// alongAxes replaces every line of a table along each of its axes by what do makes of it, which may be
// shorter or longer. The last attribute changes first.
func alongAxes[T number](table []T, sizes []int, do func(axis int, line []T) []T) []T {
	sizes = slices.Clone(sizes)
	for axis := range sizes {
		inner, n := 1, sizes[axis]
		for _, m := range sizes[axis+1:] {
			inner *= m
		}
		outer := 1
		for _, m := range sizes[:axis] {
			outer *= m
		}
		line := make([]T, n)
		var out []T
		for o := range outer {
			for i := range inner {
				for k := range n {
					line[k] = table[(o*n+k)*inner+i]
				}
				made := do(axis, line)
				sizes[axis] = len(made)
				if out == nil {
					out = make([]T, outer*len(made)*inner)
				}
				for k, x := range made {
					out[(o*len(made)+k)*inner+i] = x
				}
			}
		}
		table = out
	}
	return table
}

// sumOut returns the table of a subset's attributes.
func sumOut[T number](w *Workload, table []T, set, sub []int) []T {
	return alongAxes(table, w.sizes(set), func(axis int, line []T) []T {
		if slices.Contains(sub, set[axis]) {
			return line
		}
		var sum T
		for _, x := range line {
			sum += x
		}
		return []T{sum}
	})
}

// residuals returns the inner products of a table with the products of rows (1, …, 1, −k, 0, …), k ones,
// for each axis and k from 1 to n−1: of no two are the products with each other anything but 0.
func residuals(w *Workload, table []int64, set []int) []int64 {
	return alongAxes(table, w.sizes(set), func(_ int, line []int64) []int64 {
		out, sum := make([]int64, len(line)-1), int64(0)
		for k := range out {
			sum += line[k]
			out[k] = sum - int64(k+1)*line[k+1]
		}
		return out
	})
}

// fromResiduals returns the component with these residuals.
func fromResiduals(w *Workload, y []float64, set []int) []float64 {
	sizes := w.sizes(set)
	for i := range sizes {
		sizes[i]--
	}
	return alongAxes(y, sizes, func(_ int, line []float64) []float64 {
		out, sum := make([]float64, len(line)+1), 0.0
		for k := len(line); k >= 1; k-- {
			x := line[k-1] / (float64(k) * float64(k+1)) // the square of the row's norm
			out[k] = sum - float64(k)*x
			sum += x
		}
		out[0] = sum
		return out
	})
}

// centered returns the component of a table: along each axis without its mean.
func centered(w *Workload, table []float64, set []int) []float64 {
	return alongAxes(table, w.sizes(set), func(_ int, line []float64) []float64 {
		mean := 0.0
		for _, x := range line {
			mean += x / float64(len(line))
		}
		for k := range line {
			line[k] -= mean
		}
		return line
	})
}

// spread adds a component to the table of a set, evenly over the other attributes.
func spread(w *Workload, table, component []float64, set, b []int) {
	n := len(table)
	strides := make([]int, len(set)) // in the component, 0 for attributes that it has not
	for i, step := len(set)-1, 1; i >= 0; i-- {
		if slices.Contains(b, set[i]) {
			strides[i] = step
			step *= w.Attributes[set[i]].Size
		}
	}
	share, at, sizes := float64(w.others(set, b)), make([]int, len(set)), w.sizes(set)
	for cell, from := 0, 0; cell < n; cell++ {
		table[cell] += component[from] / share
		for i := len(set) - 1; i >= 0; i-- {
			at[i]++
			from += strides[i]
			if at[i] < sizes[i] {
				break
			}
			from -= at[i] * strides[i]
			at[i] = 0
		}
	}
}

// deviations calls a function with the standard deviation of the noise of each residual of a set, in
// order: d·√Π k(k+1), rounded up.
func (w *Workload) deviations(set []int, d float64, do func(deviation float64) error) error {
	sizes := w.sizes(set)
	at := make([]int, len(set))
	for {
		square := uint64(1)
		for _, k := range at {
			_, square = bits.Mul64(square, uint64(k+1)*uint64(k+2)) // at most 2^44
		}
		x := d * math.Sqrt(float64(square))
		if square > 1 {
			for range 3 {
				x = math.Nextafter(x, math.Inf(1))
			}
		}
		if err := do(x); err != nil {
			return err
		}
		i := len(at) - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] < sizes[i]-1 {
				break
			}
			at[i] = 0
		}
		if i < 0 {
			return nil
		}
	}
}
