// SPDX-License-Identifier: Apache-2.0

package subset

import (
	"math/big"
	"math/bits"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/proof"
)

// Certificate is what exact arithmetic finds in a selection. Variances are times the number of
// people, of the unbiased estimate of shares from their answers (docs/proofs/shares.md).
type Certificate struct {
	// DeltaUpper is the delta between any two categories, with e^epsilon rounded down.
	DeltaUpper *big.Rat
	// TotalVariance is the sum of the variances of all shares, exactly: the same for all data.
	TotalVariance *big.Rat
	// LargestVariance is the largest variance of a share for any data, exactly.
	LargestVariance *big.Rat
	// LowerBound bounds the variance of the objective from below, for the worst data: of every
	// estimate that is unbiased for all data, from answers with the promise, whatever they are. For
	// Largest the mechanism of a person does not depend on earlier answers; for Total it may.
	LowerBound *big.Rat

	objective Objective
}

// Bounds implements proof.Certificate.
func (c Certificate) Bounds() proof.Bounds {
	v := c.TotalVariance
	if c.objective == Largest {
		v = c.LargestVariance
	}
	return proof.Bounds{Delta: c.DeltaUpper, Loss: v, LowerBound: c.LowerBound}
}

// stated returns what Claims are about.
func (c Certificate) stated() []*big.Rat {
	return []*big.Rat{c.DeltaUpper, c.TotalVariance, c.LargestVariance, c.LowerBound}
}

// operations is above the number of rational operations of certify: 16 for each of two values at
// each of 32 steps of a search, and some more.
const operations = 1100

// certify computes the certificate. It does not count if the meter said stop.
func (s *Spec) certify(m *proof.Meter) Certificate {
	if !m.Spend(operations * exact.RationalWork(2048)) {
		return Certificate{objective: s.Objective}
	}
	in, out := s.variances()
	k := s.categories()
	share, times := big.NewRat(1, k), big.NewRat(k, 1)
	total := new(big.Rat).Sub(in, out)
	total.Add(total.Mul(total, share), out).Mul(total, times)
	if out.Cmp(in) > 0 {
		in = out
	}
	e := new(big.Rat).SetFrac(exact.ExpUp(s.Epsilon, exact.RatioBits), new(big.Int).Lsh(big.NewInt(1), exact.RatioBits))
	if s.Objective == Largest {
		times.SetInt64(1)
	}
	if s.Dual != nil {
		share = exact.Rational(s.Dual.Share)
	}
	low := least(k, e, share)
	return Certificate{s.delta(), total, in, low.Mul(low, times), s.Objective}
}

// probabilities returns those that the set has the own category, and that it has another one.
func (s *Spec) probabilities() (p, q *big.Rat) {
	p = new(big.Rat).SetFrac(new(big.Int).SetUint64(s.Inside), new(big.Int).Lsh(big.NewInt(1), 64))
	q = new(big.Rat).Sub(big.NewRat(s.Size, 1), p)
	return p, q.Quo(q, big.NewRat(s.points()-1, 1))
}

// variances returns those of a share times the number of people, if all of them have the category
// and if none has: p(1−p)/(p−q)² and q(1−q)/(p−q)².
func (s *Spec) variances() (in, out *big.Rat) {
	p, q := s.probabilities()
	apart := new(big.Rat).Sub(p, q)
	apart.Mul(apart, apart)
	of := func(x *big.Rat) *big.Rat {
		v := new(big.Rat).Sub(big.NewRat(1, 1), x)
		return v.Quo(v.Mul(v, x), apart)
	}
	return of(p), of(q)
}

// delta returns the delta between any two categories: the sets that have the one and not the other
// have together the probability w(m−d)/(2^64(m−1)) to the one, and (2^64−w)d/(2^64(m−1)) to the other.
func (s *Spec) delta() *big.Rat {
	m := s.points()
	hi, lo := bits.Mul64(s.Inside, uint64(m-s.Size))
	a := exact.Uint128{Hi: hi, Lo: lo}.Big()
	hi, lo = bits.Mul64(-s.Inside, uint64(s.Size))
	b := exact.Uint128{Hi: hi, Lo: lo}.Big()
	r := exact.RatioDown(s.Epsilon)
	excess := r.Excess(a, b)
	if other := r.Excess(b, a); other.Cmp(excess) > 0 {
		excess = other
	}
	if excess.Sign() <= 0 {
		return new(big.Rat)
	}
	return new(big.Rat).Quo(exact.Probability(excess), big.NewRat(m-1, 1))
}

// mean returns share·in + (1−share)·out of the variances with sets of d of m points where each set
// with the own point is e times as likely as each other one: with c = e − 1,
//
//	((m−1) + c(d−1) + share·c(m−d)) · ((m−1) + (1−share)·cd) / (c²d(m−d)) − share(1−share).
//
// In d from 1 to m−1 it falls, and then rises (docs/proofs/shares.md).
func mean(m int64, e, share *big.Rat, d int64) *big.Rat {
	c := new(big.Rat).Sub(e, big.NewRat(1, 1))
	rest := new(big.Rat).Sub(big.NewRat(1, 1), share)
	x := new(big.Rat).Mul(share, big.NewRat(m-d, 1))
	x.Add(x, big.NewRat(d-1, 1)).Mul(x, c).Add(x, big.NewRat(m-1, 1))
	y := new(big.Rat).Mul(rest, big.NewRat(d, 1))
	y.Mul(y, c).Add(y, big.NewRat(m-1, 1))
	x.Mul(x, y)
	y.Mul(c, c).Mul(y, big.NewRat(d, 1)).Mul(y, big.NewRat(m-d, 1))
	x.Quo(x, y)
	return x.Sub(x, rest.Mul(rest, share))
}

// least returns the least mean over all sizes.
func least(m int64, e, share *big.Rat) *big.Rat {
	value := func(d int64) *big.Rat { return mean(m, e, share, d) }
	return value(first(m, value))
}

// first returns the first size from 1 to m−1 with the least value, if values fall and then rise.
func first(m int64, value func(d int64) *big.Rat) int64 {
	low, high := int64(1), m-1
	for low < high {
		d := (low + high) / 2
		if value(d+1).Cmp(value(d)) < 0 {
			low = d + 1
		} else {
			high = d
		}
	}
	return low
}

// judge holds what is promised and claimed against the certificate.
func (s *Spec) judge(c Certificate, _ *proof.Meter) error {
	if c.DeltaUpper.Sign() > 0 {
		return check.Errorf("subset", proof.ErrNotPrivate, "delta = 0 is promised but only %s is proved", exact.StateUp(c.DeltaUpper))
	}
	return formfile.Check("subset", &s.Claims, c.stated()...)
}
