// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/tables"
)

const (
	maxWeight    = 1 << 30
	minDeviation = 0x1p-20
	maxDeviation = 1 << 40
)

// law is what is known of a measurement's noise.
type law struct {
	table    *tables.Table // nil for normal noise
	delta    *big.Rat      // at a shift by one
	variance *big.Rat      // from above
}

// validateMeasurement checks the i-th measurement and returns its noise.
func (s *Spec) validateMeasurement(i int) (l law, err error) {
	m, errs := &s.Measurements[i], check.In("plan")
	at := func(field string) string { return fmt.Sprintf("measurements[%d].%s", i, field) }
	marginals := s.Workload.Kind == Marginals
	kinds := []string{Partition, L1, L2}
	if marginals {
		kinds = []string{Partition, Residuals}
	}
	errs.OneOf(at("kind"), m.Kind, kinds...)
	is := func(kinds ...string) bool { return slices.Contains(kinds, m.Kind) }
	given := func(field string, there, wanted bool) {
		if there != wanted {
			errs.Bad(at(field), map[bool]string{true: "one", false: "none"}[there], map[bool]string{true: "one", false: "none"}[wanted]+" for this kind and workload")
		}
	}
	given("block", m.Block != 0, is(Partition) && !marginals)
	given("attributes", m.Attributes != nil, is(Partition) && marginals)
	given("rows", len(m.Rows) > 0, is(L1, L2))
	given("noise", m.Noise != nil, is(Partition, L1))
	given("deviation", m.Deviation != 0, is(L2))
	given("sets", len(m.Sets) > 0, is(Residuals))
	given("weight", m.Weight != 0, !is(Residuals))
	errs.If(len(m.Deviations) != len(m.Sets), at("deviations"), len(m.Deviations), "%d, one for each set", len(m.Sets))
	errs.If(m.Weight < 0 || m.Weight > maxWeight, at("weight"), m.Weight, "1 to %d", maxWeight)
	errs.If(m.Block < 0 || m.Block > maxSequence, at("block"), m.Block, "1 to %d", maxSequence)
	errs.If(is(L1, L2) && s.Workload.Cells > limits.PlanCells, at("rows"), s.Workload.Cells, "at most %d cells", limits.PlanCells)
	for k, d := range slices.Concat(m.Deviations, []float64{m.Deviation}) {
		if d != 0 || k < len(m.Deviations) {
			errs.If(!(d >= minDeviation && d <= maxDeviation), at("deviation"), d, "a number from 2^-20 to 2^40")
		}
	}
	if !errs.None() {
		return l, errs.Err()
	}
	for k, row := range m.Rows {
		validateRow(at(fmt.Sprintf("rows[%d]", k)), row, s.Workload.Cells, 1<<20, errs)
	}
	if m.Attributes != nil {
		s.Workload.validateSets(at("attributes"), [][]int{*m.Attributes}, errs)
	}
	if is(Residuals) {
		s.Workload.validateSets(at("sets"), m.Sets, errs)
	}
	if m.Noise == nil || !errs.None() {
		if is(L2) {
			l.variance = rounded(m.Deviation)
		}
		return l, errs.Err()
	}
	if l.table, err = m.Noise.table(); err != nil {
		return l, err
	}
	c := l.table.Certify()
	l.delta, l.variance = c.DeltaUpper, c.ExpectedLoss
	errs.If(l.delta.Sign() > 0 && (m.Kind == L1 || s.largestChange(m) > 1), at("noise.delta"), m.Noise.Delta, "0 where a person may change an answer by more than 1")
	errs.If(l.delta.Cmp(exact.Rational(m.Noise.Delta)) > 0, at("noise.delta"), m.Noise.Delta, "at least %s, that of its weights", exact.StateUp(l.delta))
	return l, errs.Err()
}

// rounded bounds the variance of normal noise that is rounded to the nearest integer: σ² + 1/12, as
// what is left of the Fourier series of the rounding is negative (docs/proofs/plan.md).
func rounded(deviation float64) *big.Rat {
	v := exact.Rational(deviation)
	return v.Mul(v, v).Add(v, big.NewRat(1, 12))
}

// touched returns in how many cells neighbors differ at most, each by 1.
func (s *Spec) touched() int {
	if s.Neighbors == dp.Replace {
		return 2 * s.MaxPerPerson
	}
	return s.MaxPerPerson
}

// blocks returns how many blocks a Partition has.
func (s *Spec) blocks(m *Measurement) int {
	if m.Attributes != nil {
		return s.Workload.size(*m.Attributes)
	}
	return (s.Workload.Cells + m.Block - 1) / m.Block
}

// largestChange returns by how much the count of a block of a Partition may change at most.
func (s *Spec) largestChange(m *Measurement) int {
	if m.Attributes != nil {
		if len(*m.Attributes) == len(s.Workload.Attributes) {
			return 1 // a block is a cell
		}
		return s.MaxPerPerson
	}
	return min(m.Block, s.MaxPerPerson)
}

// gram returns the inner products of the columns of a measurement's rows, or ok = false if one is
// beyond the range in which sums of weights times them are exact.
func (s *Spec) gram(m *Measurement) (g [][]int64, ok bool) {
	n := s.Workload.Cells
	g = make([][]int64, n)
	for i := range g {
		g[i] = make([]int64, n)
	}
	if m.Kind == Partition {
		for i := range g {
			for j := i / m.Block * m.Block; j < min(n, (i/m.Block+1)*m.Block); j++ {
				g[i][j] = 1
			}
		}
		return g, true
	}
	for _, row := range m.Rows {
		for i, a := range row {
			if a == 0 {
				continue
			}
			for j, b := range row {
				g[i][j] += a * b // 2^12 rows of numbers up to 2^20
			}
		}
	}
	for i := range g {
		if g[i][i] > maxGram {
			return nil, false
		}
	}
	return g, true
}

// maxGram bounds inner products.
const maxGram = 1 << 52
