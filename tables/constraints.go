// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"fmt"
	"math"
	"math/big"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// keeps returns an error that names the first constraint the noise does not keep, exactly. It wraps
// ErrFalseClaim. The answer does not count if the meter said stop.
func (s *Spec) keeps(m *proof.Meter) error {
	c := s.Constraints
	if c.None() {
		return nil
	}
	broken := func(format string, args ...any) error {
		return check.Errorf("tables", proof.ErrFalseClaim, "constraints.%s", fmt.Sprintf(format, args...))
	}
	first, last := s.support()
	if c.Symmetric && !s.isSymmetric(first, last) {
		return broken("symmetric is stated, but the weights are not those of their mirror image")
	}
	if c.Monotone {
		if s.Grid.FirstPoint(first) > 0 || s.Grid.FirstPoint(last+1) <= 0 {
			return broken("monotone is stated, but the cells with weight lie on one side of 0 and do not hold it")
		}
		if i := s.rises(first, last); i >= 0 {
			return broken("monotone is stated, but weight %d is less than the next one outwards", i)
		}
	}
	if c.Unbiased {
		if s.twiceMean().Sign() != 0 {
			return broken("unbiased is stated, but the mean is not 0")
		}
	}
	if err := s.keepsSupport(first, last, broken); err != nil {
		return err
	}
	if v := c.MaxVariance; v != 0 {
		if found, bound := s.expected(loss.L2, m), exact.Rational(v); found.Cmp(bound) > 0 {
			return broken("max_variance = %g is stated, but it is %s", v, exact.StateUp(found))
		}
	}
	for _, q := range c.Quantiles {
		loss, err := q.Loss()
		if err != nil {
			return check.Errorf("tables", dp.ErrInvalid, "constraints.quantiles: %w", err)
		}
		rest := new(big.Rat).SetInt64(1)
		rest.Sub(rest, exact.Rational(q.Probability))
		if found := s.expected(loss, m); found.Cmp(rest) > 0 {
			return broken("quantiles = %g,%g is stated, but more than %g lies beyond with probability %s", q.Probability, q.Magnitude, q.Magnitude, exact.StateUp(found))
		}
	}
	if p := c.MaxDistinguishing; p != 0 {
		if found := s.distinguishing(m); found != nil && found.Cmp(exact.Rational(p)) > 0 {
			return broken("max_distinguishing = %g is stated, but it is %s", p, exact.StateUp(found))
		}
	}
	return nil
}

// keepsSupport returns what broken makes of a stated support that points with weight, the
// atom's among them, lie outside of. The cells with weight go from first to last.
func (s *Spec) keepsSupport(first, last int, broken func(format string, args ...any) error) error {
	b := s.Constraints.Support
	if b == nil {
		return nil
	}
	step := s.Grid.Step()
	outside := func(point int64, end float64, sign int) bool {
		if math.IsInf(end, 0) {
			return false
		}
		x := new(big.Rat).SetInt64(point)
		return x.Mul(x, step).Cmp(exact.Rational(end)) == sign
	}
	if s.hasTail() && !(math.IsInf(b.Lower, -1) && math.IsInf(b.Upper, 1)) {
		return broken("support = %g,%g is stated, but the noise has a tail", b.Lower, b.Upper)
	}
	lowest, highest := s.Grid.FirstPoint(first), s.Grid.FirstPoint(last+1)-1
	if s.Atom > 0 {
		lowest, highest = min(lowest, 0), max(highest, 0)
	}
	if outside(lowest, b.Lower, -1) || outside(highest, b.Upper, 1) {
		return broken("support = %g,%g is stated, but points %d to %d have weight", b.Lower, b.Upper, lowest, highest)
	}
	return nil
}

// support returns the indices of the first and the last weight that is not 0, or
// of all weights if there is a tail.
func (s *Spec) support() (first, last int) {
	first, last = 0, len(s.Weights)-1
	if s.hasTail() {
		return first, last
	}
	for first < last && s.Weights[first] == 0 {
		first++
	}
	for last > first && s.Weights[last] == 0 {
		last--
	}
	return first, last
}

// isSymmetric compares the weights first … last with their mirror image about the point 0.
func (s *Spec) isSymmetric(first, last int) bool {
	return isSymmetric(s.Weights[first:last+1]) && s.Grid.FirstPoint(first) == -(s.Grid.FirstPoint(last+1)-1)
}

// rises returns the index of a weight that is less than its neighbor further
// from 0, or -1. All cells have as many points, and one of them holds 0. Where there
// is a tail, the last cell of a block also has the first of its next period beyond it.
func (s *Spec) rises(first, last int) int {
	less := func(i, j int) bool { return s.Weights[i] < s.Weights[j] }
	var p *periodic
	if s.hasTail() {
		p = s.unroll()
		less = func(i, j int) bool { return p.cells[i].Less(p.cells[j]) }
	}
	for i := first; i < last; i++ {
		inner, outer := i, i+1
		if s.Grid.FirstPoint(i+1) <= 0 {
			inner, outer = outer, inner
		}
		if less(inner, outer) {
			return inner
		}
	}
	switch {
	case p == nil:
	case p.left[p.k].Less(p.left[p.k-1]):
		return first
	case p.right[p.k-1].Less(p.right[p.k]):
		return last
	}
	return -1
}

// twiceMean returns 2^65 times the mean of the noise, in steps. A draw from a
// block of a tail lies on average ρ/(1-ρ) periods further out.
func (s *Spec) twiceMean() *big.Rat {
	twice, outwards := new(big.Int), new(big.Int)
	for i, w := range s.Weights {
		weight := new(big.Int).SetUint64(w)
		if side, ok := s.isBlock(i); ok {
			outwards.Add(outwards, new(big.Int).Mul(big.NewInt(side), weight))
		}
		c := big.NewInt(2*s.Grid.FirstPoint(i) + s.Grid.PointsPerCell - 1)
		twice.Add(twice, c.Mul(c, weight))
	}
	mean := new(big.Rat).SetInt(twice)
	if outwards.Sign() != 0 {
		r := s.ratio()
		r.Quo(r, rest(r))
		r.Mul(r, new(big.Rat).SetInt64(2*s.Grid.period()))
		mean.Add(mean, r.Mul(r, new(big.Rat).SetInt(outwards)))
	}
	return mean
}

// distinguishing returns a bound on the largest probability, over shifts by at most the
// sensitivity, of points that the shifted noise cannot take: the hockey-stick divergence with e^ε
// replaced by infinity, linear between whole cells like the others, and the atom in full.
func (s *Spec) distinguishing(m *proof.Meter) *big.Rat {
	most, _ := s.worstShift(exact.RatioInfinity(), m)
	return most
}
