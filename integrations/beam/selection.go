// SPDX-License-Identifier: Apache-2.0

package noisebeam

import (
	"fmt"
	"math/big"
	"sort"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
)

// Selection decides which partitions are released: each with a probability that depends on
// how many people it has, 0 for none. No (epsilon, delta)-private rule releases any
// partition with a larger probability (Desfontaines, Voss, Gipson & Mandayam 2022,
// "Differentially private partition selection", theorem 1), but for rounding of one unit of
// 2^-128 for each person. It is immutable and safe for concurrent use.
type Selection struct {
	epsilon, delta float64 // of one partition
	partitions     int
	keep           []*big.Int // keep[n]·2^-128 is the probability for n people; later ones are 1
}

// Limits of a Selection.
const (
	maxPartitions = 1 << 20
	maxPeople     = 1 << 20 // with a probability below 1
)

const keepBits = 128

// NewSelection returns a Selection that costs a person in up to so many partitions at most
// (epsilon, delta) for all of them together, epsilon > 0, 0 < delta < 1. A part of each is used
// for one partition, the one that needs the fewest people by basic or by exact composition.
//
// The error wraps dp.ErrInvalid, also if epsilon and delta are so small that more than
// 2^20 people would be needed.
func NewSelection(epsilon, delta float64, partitions int) (*Selection, error) {
	bad := check.In("noisebeam")
	bad.Budget(epsilon, delta)
	bad.Want(delta != 0, "delta", delta, "above 0: without, no private rule releases a key that it finds")
	checkPartitions(bad, partitions)
	if err := bad.Err(); err != nil {
		return nil, err
	}
	m := big.NewRat(int64(partitions), 1)
	best, err := selection(exact.FloatDown(new(big.Rat).Quo(exact.Rational(epsilon), m)), exact.FloatDown(new(big.Rat).Quo(exact.Rational(delta), m)), partitions)
	if partitions == 1 {
		return best, err
	}
	// Exact composition pays for a larger epsilon with a part of delta.
	for _, share := range []float64{0.9, 0.75, 0.5} {
		part := delta * share / float64(partitions)
		own, err := largest(epsilon, delta, part, partitions)
		if err != nil {
			return nil, err
		}
		if other, err := selection(own, part, partitions); err == nil && (best == nil || other.median() < best.median()) {
			best = other
		}
	}
	if best == nil {
		return nil, err
	}
	return best, nil
}

func checkPartitions(bad *check.List, partitions int) {
	bad.Want(partitions >= 1 && partitions <= maxPartitions, "partitions", partitions, "the most that a person counts in, 1 to %d", maxPartitions)
}

// largest returns about the largest epsilon of one partition with which so many are
// (epsilon, delta)-private, each with the delta part. It is proved; 0 if there is none.
func largest(epsilon, delta, part float64, partitions int) (float64, error) {
	low, high := epsilon/float64(partitions), epsilon
	found := 0.0
	for range 12 {
		middle := (low + high) / 2
		if middle <= 0 || part <= 0 {
			break
		}
		pld, err := account.Approximate(middle, part)
		if err != nil {
			return 0, err
		}
		c, err := account.Compose([]account.Release{{PLD: pld, Times: partitions}}, account.Options{})
		if err != nil {
			return 0, err
		}
		b, err := c.BestEpsilon(delta)
		if err != nil {
			return 0, err
		}
		if b.Upper <= epsilon {
			found, low = middle, middle
		} else {
			high = middle
		}
	}
	return found, nil
}

// selection makes the rule that is (epsilon, delta)-private for one partition.
//
// With π(0) = 0, probabilities in units of 2^-128 and E <= e^epsilon,
//
//	π(n) = min( E·π(n−1) + δ, 1 − (1 − π(n−1) − δ)/E, 1 ),   rounded down.
//
// The first term keeps P(kept | n) <= e^ε·P(kept | n−1) + δ, the second P(dropped | n−1) <=
// e^ε·P(dropped | n) + δ; π does not decrease, so the other two hold (docs/proofs/beam.md).
func selection(epsilon, delta float64, partitions int) (*Selection, error) {
	if !(epsilon > 0 && epsilon <= exact.MaxExponent && delta > 0) {
		return nil, check.Field("noisebeam", "epsilon and delta of a partition", fmt.Sprintf("%v, %v", epsilon, delta),
			fmt.Sprintf("above 0, epsilon at most %d", exact.MaxExponent))
	}
	s := &Selection{epsilon: epsilon, delta: delta, partitions: partitions}
	one := new(big.Int).Lsh(big.NewInt(1), keepBits)
	e := exact.ExpDown(epsilon, exact.RatioBits) // E·2^96
	d := exact.Floor(new(big.Rat).Mul(exact.Rational(delta), new(big.Rat).SetInt(one)))
	p := new(big.Int)
	for p.Cmp(one) < 0 {
		if len(s.keep) > maxPeople || len(s.keep) > 0 && d.Sign() == 0 {
			return nil, check.Field("noisebeam", "epsilon and delta of a partition", fmt.Sprintf("%v, %v", epsilon, delta),
				fmt.Sprintf("larger ones: with these, no partition of %d people is released for sure", maxPeople))
		}
		s.keep = append(s.keep, p)
		p = next(p, one, e, d)
	}
	return s, nil
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

// median returns the least number of people with which a partition is released with a
// probability of at least 1/2.
func (s *Selection) median() int {
	return sort.Search(len(s.keep), func(n int) bool { return s.keep[n].Bit(keepBits-1) == 1 })
}

// Probability returns the probability with which a partition of so many people is released.
func (s *Selection) Probability(people int64) *big.Rat {
	if people >= int64(len(s.keep)) {
		return big.NewRat(1, 1)
	}
	one := new(big.Int).Lsh(big.NewInt(1), keepBits)
	return new(big.Rat).SetFrac(s.keep[max(people, 0)], one)
}

// Partition returns the privacy of the decision about a single partition.
func (s *Selection) Partition() (epsilon, delta float64) { return s.epsilon, s.delta }

func (s *Selection) cost() account.Cost {
	return account.Cost{Epsilon: s.epsilon, Delta: s.delta, Times: s.partitions}
}

// kept is the decision by a random word.
func (s *Selection) kept(people int64, word [keepBits / 8]byte) bool {
	return people >= int64(len(s.keep)) || new(big.Int).SetBytes(word[:]).Cmp(s.keep[max(people, 0)]) < 0
}

// selectFn keeps partitions, by words that are for the partition and its number of people.
type selectFn struct {
	Epsilon, Delta float64 // of one partition
	Secret         secret
	rule           *Selection
}

func (f *selectFn) Setup() (err error) {
	f.rule, err = selection(f.Epsilon, f.Delta, 1)
	return err
}

func (f *selectFn) ProcessElement(partition string, t totals, emit func(string, totals)) {
	sum := f.Secret.key().Sum("selection", partition, whole(t.People))
	if f.rule.kept(t.People, [keepBits / 8]byte(sum[:])) {
		emit(partition, t)
	}
}
