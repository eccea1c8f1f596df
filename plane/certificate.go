// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"math/big"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// Certificate is what exact arithmetic finds: rigorous bounds in the direction of their names.
type Certificate struct {
	// DeltaUpper bounds the delta between any two values within the sensitivity from above.
	DeltaUpper *big.Rat
	// Worst is the shift, in cells, where it is attained.
	Worst [2]int
	// ExpectedLoss is that of the noise, summed over both coordinates, exactly.
	ExpectedLoss *big.Rat
	// LowerBound bounds from below the loss of all noise that keeps the promise, of any law.
	LowerBound *big.Rat
}

// Bounds implements proof.Certificate.
func (c Certificate) Bounds() proof.Bounds {
	return proof.Bounds{Delta: c.DeltaUpper, Loss: c.ExpectedLoss, LowerBound: c.LowerBound}
}

// stated returns what Claims are about.
func (c Certificate) stated() []*big.Rat {
	return []*big.Rat{c.DeltaUpper, c.ExpectedLoss, c.LowerBound}
}

// certify computes the certificate (docs/proofs/plane.md). It does not count if the meter said stop.
func (s *Spec) certify(m *proof.Meter) (c Certificate) {
	row, ratio, worst := s.row(), exact.RatioDown(s.Epsilon), new(big.Int)
	s.Shifts(s.Grid.CellsPerSensitivity, func(k, l int) {
		if !m.Spend(int64(len(row)) + 64) {
			return
		}
		if d := ratio.ShiftedDivergence(row, row, k*s.line()+l); d.Cmp(worst) > 0 {
			worst, c.Worst = d, [2]int{k, l}
		}
	})
	c.DeltaUpper = exact.Probability(worst)
	c.ExpectedLoss = s.expected(m)
	c.LowerBound = s.LowerBound(m)
	return c
}

// expected returns the expected loss. It does not count if the meter says stop.
func (s *Spec) expected(m *proof.Meter) *big.Rat {
	// The sums over all cells of the weight times |i|, or i², and the weight of those with i = 0.
	moment, middle, part := new(big.Int), new(big.Int), new(big.Int)
	power := func(i int) int64 {
		if s.Loss == loss.L1 {
			return int64(i)
		}
		return int64(i) * int64(i)
	}
	rings := s.rings()
	if !m.Spend(int64(20 * len(s.Weights))) {
		return new(big.Rat)
	}
	for i := range rings + 1 {
		for j := range i + 1 {

			w := new(big.Int).SetUint64(s.Weights[At(i, j)])
			moment.Add(moment, part.Mul(w, big.NewInt(Images(i, j)*(power(i)+power(j)))))
			switch {
			case i == 0:
				middle.Add(middle, part.Lsh(w, 1))
			case j == 0:
				middle.Add(middle, part.Lsh(w, 2))
			}
		}
	}
	points := new(big.Rat).SetInt64(s.Grid.PointsPerCell)
	square := new(big.Rat).Mul(points, points)
	inside := new(big.Rat).Sub(square, big.NewRat(1, 1)) // S² − 1
	step := exact.PowerOfTwo(s.Grid.GranularityExponent)
	sum := new(big.Rat).SetInt(moment)
	if s.Loss == loss.L1 { // the mean of |r| over a cell in the middle is (S²−1)/4S
		sum.Mul(sum, points)
		inside.Quo(inside, points.Mul(points, big.NewRat(4, 1)))
		sum.Add(sum, inside.Mul(inside, new(big.Rat).SetInt(middle)))
	} else { // that of r² over any cell is (S²−1)/12, and there are two coordinates
		sum.Mul(sum, square)
		sum.Add(sum, inside.Mul(inside, new(big.Rat).SetFrac(part.Lsh(big.NewInt(1), 64), big.NewInt(6))))
		step.Mul(step, step)
	}
	sum.Mul(sum, step)
	sum.Mul(sum, exact.PowerOfTwo(-64))
	return s.halved(sum)
}

// halved turns a loss of the plane of the noise into that of the values.
func (p *Problem) halved(x *big.Rat) *big.Rat {
	if p.turned() {
		x.Mul(x, big.NewRat(1, 2))
	}
	return x
}

// judge holds what is promised and claimed against the certificate.
func (s *Spec) judge(c Certificate, _ *proof.Meter) error {
	if delta := exact.Rational(s.Delta); c.DeltaUpper.Cmp(delta) > 0 {
		return check.Errorf("plane", proof.ErrNotPrivate, "delta = %g is promised but only %s is proved, at a shift of (%d, %d) cells (excess %s)", s.Delta, exact.StateUp(c.DeltaUpper), c.Worst[0], c.Worst[1], formfile.Excess(c.DeltaUpper, delta))
	}
	return formfile.Check("plane", &s.Claims, c.stated()...)
}
