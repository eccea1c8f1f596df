// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"math/big"
	"sort"

	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// Certificate is what exact arithmetic finds in a table. Every number is a
// rigorous bound in the direction its name says.
type Certificate struct {
	// DeltaUpper bounds the delta of the table's noise at its epsilon and
	// sensitivity from above, with e^epsilon rounded down.
	DeltaUpper *big.Rat
	// WorstShift is the shift, in cells, that attains it.
	WorstShift int
	// SensitivityCovered says whether CellsPerSensitivity cells are at least one sensitivity long
	// on the grid. If not, DeltaUpper is about shorter shifts than promised and proves nothing.
	SensitivityCovered bool
	// ExpectedLoss is the exact expected loss of the noise on the grid, its tail included, in the
	// units of the loss (rounded up in the last of some 40 digits where a tail crosses the kinks of
	// a loss, and for lp:P as GridMeanUp and the tail are). Rounding the query to the grid moves it
	// by at most half a step more.
	ExpectedLoss *big.Rat
	// LowerBound bounds from below the expected loss of every additive noise that keeps the promise
	// at every real shift up to the sensitivity. A table keeps it at the shifts of its grid, to
	// which queries are rounded; spread by half a step either way it is such a noise. So its own
	// loss may be below the bound, by at most P(0)·step/4 for l1 and step²/12 for l2: nothing for a
	// fine grid, and more for a coarse one.
	LowerBound *big.Rat
}

// Bounds implements proof.Certificate.
func (c Certificate) Bounds() proof.Bounds {
	return proof.Bounds{Delta: c.DeltaUpper, Loss: c.ExpectedLoss, LowerBound: c.LowerBound}
}

// Claims returns the strongest claims the certificate supports, as plain
// decimals of 15 significant digits rounded so that they are true.
func (c Certificate) Claims() formfile.Claims { return formfile.State[formfile.Claims](c.stated()...) }

func (c Certificate) stated() []*big.Rat {
	return []*big.Rat{c.DeltaUpper, c.ExpectedLoss, c.LowerBound}
}

// Certify recomputes everything that can be claimed, in exact arithmetic, once. It takes about
// cells × cells per sensitivity × 5 ns, and a microsecond per multiplier of the dual.
// Only the limits of a Spec bound that; proof.Verify has a limit of its own.
func (t *Table) Certify() Certificate { return t.proof.Certificate() }

// certify computes the certificate. It does not count if the meter said stop.
func (s *Spec) certify(m *proof.Meter) Certificate {
	var c Certificate
	c.DeltaUpper, c.WorstShift = s.worstShift(exact.RatioDown(s.Epsilon), m)
	c.SensitivityCovered = s.Grid.covers(s.Privacy.Sensitivity)
	c.ExpectedLoss = s.expected(s.Loss, m)
	c.LowerBound = s.Dual.lowerBound(s.Problem, m)
	return c
}

// covers reports whether ⌈sensitivity/g⌉ <= K·S. Rounding two values to the
// grid, halves upwards, leaves them at most that many points apart.
func (g Grid) covers(sensitivity float64) bool {
	points := new(big.Int).Mul(big.NewInt(int64(g.CellsPerSensitivity)), big.NewInt(g.PointsPerCell))
	reach := new(big.Rat).SetInt(points)
	reach.Mul(reach, g.Step())
	// ⌈a⌉ <= n exactly when a <= n, n an integer.
	return exact.Rational(sensitivity).Cmp(reach) <= 0
}

// ExpectedLossOf returns the expectation of any loss, not only the one the table
// was designed for, exactly as Certificate.ExpectedLoss is: an upper bound, and
// the value itself for a loss whose averages over points of the grid are exact.
func (t *Table) ExpectedLossOf(loss loss.Loss) *big.Rat { return t.spec.expected(loss, nil) }

// Mean returns E X, exactly, in query units.
func (t *Table) Mean() *big.Rat {
	mean := t.spec.twiceMean()
	return mean.Mul(mean, t.spec.Grid.Step()).Mul(mean, exact.PowerOfTwo(-65))
}

// expected returns Σ_j W_j·(mean loss of cell j) / 2^64, plus the atom's, or a
// bound above it if the loss gives one. It does not count if the meter says stop.
func (s *Spec) expected(l loss.Loss, m *proof.Meter) *big.Rat {
	step := s.Grid.Step()
	sum := new(big.Rat)
	work := loss.Of(l).Work(s.pointBits())
	if !m.Spend(work.Pass + cellWork*int64(len(s.Weights))) {
		return sum
	}
	term := new(big.Rat)
	weight := new(big.Int)
	var tails []tailSum
	if s.hasTail() {
		tails = s.newTailSums(l, m)
	}
	left, right := 0, len(s.Weights)
	if !s.hasTail() {
		left, right = s.polynomialEnds(l, step)
		sum.Add(s.polynomialSum(l, step, left-1, -1), s.polynomialSum(l, step, right, 1))
	}
	for i := left; i < right; i++ {
		if !m.Spend(work.Bound) {
			return sum
		}
		w := s.Weights[i]
		if w == 0 {
			continue
		}
		if side, ok := s.isBlock(i); ok {
			for _, t := range tails {
				t.add(i, side)
			}
			continue
		}
		term.SetInt(weight.SetUint64(w))
		sum.Add(sum, term.Mul(term, l.GridMeanUp(s.Grid.FirstPoint(i), s.Grid.PointsPerCell, step)))
	}
	if s.Atom > 0 {
		term.SetInt(weight.SetUint64(s.Atom))
		sum.Add(sum, term.Mul(term, l.GridMeanUp(0, 1, step)))
	}
	for _, t := range tails {
		sum.Add(sum, t.total())
	}
	return sum.Quo(sum, exact.PowerOfTwo(64))
}

// cellWork is what a cell costs where the loss is a polynomial.
const cellWork = 100

// pointBits is the size of a point of the grid as a rational, in query units.
func (s *Spec) pointBits() int { return exact.Bits(s.Grid.Step()) + 53 }

// polynomialEnds returns the cells left <= i < right outside which the loss is one polynomial on
// either side of 0, of degree 2 at most: all of them if it is not known to be one anywhere.
func (s *Spec) polynomialEnds(l loss.Loss, step *big.Rat) (left, right int) {
	n := len(s.Weights)
	from, degree, ok := loss.Of(l).PolynomialBeyond()
	if !ok || degree > 2 {
		return 0, n
	}
	// Strictly beyond: at a knot a loss may jump.
	beyond := func(point int64) bool {
		x := new(big.Rat).SetInt64(point)
		return x.Mul(x, step).Cmp(from) > 0
	}
	left = sort.Search(n, func(i int) bool { return !beyond(-(s.Grid.FirstPoint(i+1) - 1)) })
	right = sort.Search(n, func(i int) bool { return beyond(s.Grid.FirstPoint(i)) })
	return left, max(left, right)
}

// polynomialSum returns Σ_i W_i·(mean loss of cell i) over the cells first, first+by, first+2·by,
// …, by = ±1, where the loss is a polynomial of degree 2 at most. So is the mean over the k-th of
// these cells as a function of k, hence f(k) = f(0) + k·Δf + k(k−1)/2·Δ²f, and the sum needs three
// means and the moments of the weights.
func (s *Spec) polynomialSum(loss loss.Loss, step *big.Rat, first, by int) *big.Rat {
	var moments [3]big.Int // Σ W, Σ W·k, Σ W·k(k−1)/2
	var w, term big.Int
	for k, i := uint64(0), first; i >= 0 && i < len(s.Weights); i += by {
		w.SetUint64(s.Weights[i])
		moments[0].Add(&moments[0], &w)
		moments[1].Add(&moments[1], term.Mul(&w, term.SetUint64(k)))
		if k > 0 {
			moments[2].Add(&moments[2], term.Mul(&w, term.SetUint64(k*(k-1)/2)))
		}
		k++
	}
	sum := new(big.Rat)
	if moments[0].Sign() == 0 {
		return sum
	}
	var f [3]*big.Rat
	for k := range f {
		point := s.Grid.FirstPoint(first) + int64(k*by)*s.Grid.PointsPerCell
		f[k] = loss.GridMeanUp(point, s.Grid.PointsPerCell, step)
	}
	f[2].Sub(f[2], f[1])
	f[1].Sub(f[1], f[0])
	f[2].Sub(f[2], f[1])
	for k := range f {
		sum.Add(sum, f[k].Mul(f[k], new(big.Rat).SetInt(&moments[k])))
	}
	return sum
}
