// SPDX-License-Identifier: Apache-2.0

package noisebeam

import (
	"math/big"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/partition"
)

// Selection decides which partitions are released: each with a probability that depends on
// how many people it has, 0 for none. No (epsilon, delta)-private rule releases any
// partition with a larger probability (Desfontaines, Voss, Gipson & Mandayam 2022,
// "Differentially private partition selection", theorem 1), but for rounding of one unit of
// 2^-128 for each person. It is immutable and safe for concurrent use.
type Selection struct {
	epsilon, delta float64 // of one partition
	partitions     int
	rule           *partition.Rule
}

// maxPartitions is the limit of a Selection.
const maxPartitions = 1 << 20

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
func selection(epsilon, delta float64, partitions int) (*Selection, error) {
	rule, err := partition.New(epsilon, delta)
	if err != nil {
		return nil, err
	}
	return &Selection{epsilon, delta, partitions, rule}, nil
}

func (s *Selection) median() int { return s.rule.Median() }

// Probability returns the probability with which a partition of so many people is released.
func (s *Selection) Probability(people int64) *big.Rat { return s.rule.Probability(people) }

// Partition returns the privacy of the decision about a single partition.
func (s *Selection) Partition() (epsilon, delta float64) { return s.epsilon, s.delta }

func (s *Selection) cost() account.Cost {
	return account.Cost{Epsilon: s.epsilon, Delta: s.delta, Times: s.partitions}
}

// selectFn keeps partitions, by words that are for the partition and its number of people.
type selectFn struct {
	Epsilon, Delta float64 // of one partition
	Secret         secret
	rule           *partition.Rule
}

func (f *selectFn) Setup() (err error) {
	f.rule, err = partition.New(f.Epsilon, f.Delta)
	return err
}

func (f *selectFn) ProcessElement(name string, t totals, emit func(string, totals)) {
	sum := f.Secret.key().Sum("selection", name, whole(t.People))
	if f.rule.Kept(t.People, partition.Word(sum[:])) {
		emit(name, t)
	}
}
