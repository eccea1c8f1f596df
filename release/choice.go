// SPDX-License-Identifier: Apache-2.0

package release

import (
	"crypto/rand"
	"math"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/selection"
)

// spread is the most that a unit changes the count of one group more than that of another: each
// by up to 1, and with add-remove all in one direction.
func (q Query) spread() int {
	if q.Neighbors == dp.Replace {
		return 2
	}
	return 1
}

// newChoice names the groups of the largest counts, one after another, by permute-and-flip
// (docs/proofs/selection.md).
func newChoice(q Query) (*mechanism, error) {
	epsilon, err := q.pureUse()
	if err != nil {
		return nil, err
	}
	groups := q.groups()
	s, err := selection.NewMost(selection.Most{Candidates: len(groups), Choices: q.K, Epsilon: epsilon, Spread: q.spread()})
	if err != nil {
		return nil, err
	}
	most, err := s.CountErrorUpper(level)
	if err != nil {
		return nil, err
	}
	bound := int64(math.MaxInt64)
	if most.IsInt64() {
		bound = most.Int64()
	}
	return &mechanism{
		cost: account.Cost{Epsilon: epsilon, Times: q.uses()}, name: "permute-and-flip, one choice after another", meanError: math.NaN(),
		answer: func(tallies []tally) ([]Estimate, error) {
			counts := make([]int64, len(tallies))
			for i := range tallies {
				counts[i] = tallies[i].n
			}
			chosen, err := s.Select(counts, rand.Reader)
			if err != nil {
				return nil, err
			}
			out := make([]Estimate, len(chosen))
			for place, i := range chosen {
				out[place] = Estimate{Key: groups[i], Value: float64(place + 1), Lower: 1, Upper: float64(len(groups)), CountError: bound}
			}
			return out, nil
		},
	}, nil
}
