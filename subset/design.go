// SPDX-License-Identifier: Apache-2.0

package subset

import (
	"math"
	"math/big"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
)

// Design returns the selection with the least variance of the objective, of those with all sets of
// a size (up to maxRanked categories, or size 1) or sets modulo the least prime that is at least the
// number of categories. Of the Spec it takes Epsilon, Count or Labels, and Objective, "" being Total.
//
// For all sets of the best size the total variance is the lower bound, but for the rounding of
// weights to 2^-64. The error wraps dp.ErrInvalid.
func Design(s Spec) (*Verified, error) {
	if s.Objective == "" {
		s.Objective = Total
	}
	s = Spec{Epsilon: s.Epsilon, Count: s.Count, Labels: s.Labels, Objective: s.Objective}
	errs := check.In("subset")
	errs.MaxEpsilon(s.Epsilon)
	errs.Want(check.Positive(s.Epsilon), "epsilon", s.Epsilon, "a finite number above 0")
	s.validateCategories(errs)
	errs.OneOf("objective", string(s.Objective), string(Total), string(Largest))
	if err := errs.Err(); err != nil {
		return nil, err
	}
	e := new(big.Rat).SetFrac(exact.ExpDown(s.Epsilon, exact.RatioBits), new(big.Int).Lsh(big.NewInt(1), exact.RatioBits))
	if e.Cmp(big.NewRat(1, 1)) > 0 {
		s = s.best(e)
	}
	if !s.tells() {
		return nil, check.Field("subset", "epsilon", s.Epsilon, "one for which probabilities differ by more than 2^-64")
	}
	if s.Objective == Largest {
		s.Dual = &dual{worstShare(s.categories(), math.Expm1(s.Epsilon))}
	}
	made, err := New(s)
	if err != nil {
		return nil, err
	}
	return made.Verify()
}

// best returns the Spec with size, modulus and weight: of all sets of a size, as large as ranks allow,
// and affine sets, those of less variance.
func (s Spec) best(e *big.Rat) Spec {
	k := s.categories()
	best := s.sized(e, k)
	if most := mostRanked(k); best.Size > most {
		best.Size = most
		affine := s.sized(e, nextPrime(k))
		affine.Modulus = nextPrime(k)
		if affine.variance(e, affine.Modulus, affine.Size).Cmp(best.variance(e, k, most)) < 0 {
			best = affine
		}
	}
	best.Inside = inside(e, best.points(), best.Size)
	return best
}

// sized returns the Spec with the best size of sets of so many points.
func (s Spec) sized(e *big.Rat, points int64) Spec {
	s.Size = first(points, func(d int64) *big.Rat { return s.variance(e, points, d) })
	return s
}

// variance returns that of the objective with sets of d of m points and weights of any precision.
func (s *Spec) variance(e *big.Rat, m, d int64) *big.Rat {
	k := s.categories()
	if s.Objective == Total {
		v := mean(m, e, big.NewRat(1, k), d)
		return v.Mul(v, big.NewRat(k, 1))
	}
	in, out := mean(m, e, big.NewRat(1, 1), d), mean(m, e, new(big.Rat), d)
	if in.Cmp(out) > 0 {
		return in
	}
	return out
}

// inside returns the largest weight w with w·(m−d) <= e·d·(2^64−w).
func inside(e *big.Rat, m, d int64) uint64 {
	x := new(big.Rat).Mul(e, big.NewRat(d, 1))
	y := new(big.Rat).Add(x, big.NewRat(m-d, 1))
	return exact.Floor(x.Quo(x.Mul(x, exact.PowerOfTwo(64)), y)).Uint64()
}

// nextPrime returns the least prime that is at least n.
func nextPrime(n int64) int64 {
	for !big.NewInt(n).ProbablyPrime(0) { // proved to be right below 2^64
		n++
	}
	return n
}

// worstShare returns about the share for which the bound on the largest variance is largest: the
// least of many linear functions of it. Any share is good for a bound.
func worstShare(k int64, c float64) float64 {
	m := float64(k)
	bound := func(share float64) float64 {
		at := func(d float64) float64 {
			return ((m-1)+c*(d-1)+share*c*(m-d))*((m-1)+(1-share)*c*d)/(c*c*d*(m-d)) - share*(1-share)
		}
		low, high := 1.0, m-1
		for low < high {
			if d := math.Floor((low + high) / 2); at(d+1) < at(d) {
				low = d + 1
			} else {
				high = d
			}
		}
		return at(low)
	}
	const ratio = 0.6180339887498949
	low, high := 0.0, 1.0
	x, y := 1-ratio, ratio
	atX, atY := bound(x), bound(y)
	for range 100 {
		if atX < atY {
			low, x, atX = x, y, atY
			y = low + ratio*(high-low)
			atY = bound(y)
		} else {
			high, y, atY = y, x, atX
			x = high - ratio*(high-low)
			atX = bound(x)
		}
	}
	return (low + high) / 2
}
