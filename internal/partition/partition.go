// SPDX-License-Identifier: Apache-2.0

// Package partition decides which partitions of a data set are released, by how many people each has: keys that
// nobody knew before are private themselves.
package partition

import (
	"fmt"
	"math/big"
	"sort"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
)

// Rule releases a partition with a probability that depends on how many people it has, 0 for none. No
// (epsilon, delta)-private rule releases any partition with a larger probability (Desfontaines, Voss, Gipson & Mandayam
// 2022, "Differentially private partition selection", theorem 1), but for rounding of one unit of 2^-128 for
// each person. It is immutable and safe for concurrent use.
type Rule struct {
	keep []*big.Int // keep[n]·2^-128 is the probability for n people; later ones are 1
}

// maxPeople bounds the people of a partition that is not released for sure.
const maxPeople = 1 << 20

const keepBits = 128

// Word is what decides, uniform.
type Word = [keepBits / 8]byte

// New makes the rule that is (epsilon, delta)-private for one person in one partition, epsilon and delta above 0.
//
// With π(0) = 0, probabilities in units of 2^-128 and E <= e^epsilon,
//
//	π(n) = min( E·π(n−1) + δ, 1 − (1 − π(n−1) − δ)/E, 1 ),   rounded down.
//
// The first term keeps P(kept | n) <= e^ε·P(kept | n−1) + δ, the second P(dropped | n−1) <=
// e^ε·P(dropped | n) + δ; π does not decrease, so the other two hold (docs/proofs/beam.md).
//
// The error wraps dp.ErrInvalid, also if epsilon and delta are so small that more than 2^20 people would be needed.
func New(epsilon, delta float64) (*Rule, error) {
	bad := func(want string) error {
		return check.Field("partition", "epsilon and delta of a partition", fmt.Sprintf("%v, %v", epsilon, delta), want)
	}
	if !(epsilon > 0 && epsilon <= exact.MaxExponent && delta > 0) {
		return nil, bad(fmt.Sprintf("above 0, epsilon at most %d", exact.MaxExponent))
	}
	r := &Rule{}
	one := new(big.Int).Lsh(big.NewInt(1), keepBits)
	e := exact.ExpDown(epsilon, exact.RatioBits) // E·2^96
	d := exact.Floor(new(big.Rat).Mul(exact.Rational(delta), new(big.Rat).SetInt(one)))
	p := new(big.Int)
	for p.Cmp(one) < 0 {
		if len(r.keep) > maxPeople || len(r.keep) > 0 && d.Sign() == 0 {
			return nil, bad(fmt.Sprintf("larger ones: with these, no partition of %d people is released for sure", maxPeople))
		}
		r.keep = append(r.keep, p)
		p = next(p, one, e, d)
	}
	return r, nil
}

// next returns π(n) of π(n−1) = p.
func next(p, one, e, d *big.Int) *big.Int {
	rest := new(big.Int).Sub(one, p)
	if rest.Sub(rest, d); rest.Sign() <= 0 {
		return one
	}
	up := new(big.Int).Mul(p, e)
	up.Rsh(up, exact.RatioBits).Add(up, d)
	down := exact.DivUp(new(big.Int), rest.Lsh(rest, exact.RatioBits), e)
	if down.Sub(one, down); down.Cmp(up) < 0 {
		return down
	}
	return up
}

// Median returns the least number of people with which a partition is released with a
// probability of at least 1/2.
func (r *Rule) Median() int {
	return sort.Search(len(r.keep), func(n int) bool { return r.keep[n].Bit(keepBits-1) == 1 })
}

// Probability returns the probability with which a partition of so many people is released.
func (r *Rule) Probability(people int64) *big.Rat {
	if people >= int64(len(r.keep)) {
		return big.NewRat(1, 1)
	}
	one := new(big.Int).Lsh(big.NewInt(1), keepBits)
	return new(big.Rat).SetFrac(r.keep[max(people, 0)], one)
}

// Kept is the decision by a random word.
func (r *Rule) Kept(people int64, word Word) bool {
	return people >= int64(len(r.keep)) || new(big.Int).SetBytes(word[:]).Cmp(r.keep[max(people, 0)]) < 0
}
