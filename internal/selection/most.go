// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"fmt"
	"io"
	"math/big"
	"slices"

	"github.com/noisewright/noisewright/internal/check"
)

// Most asks for candidates of the largest counts.
type Most struct {
	Candidates int
	Choices    int     // how many candidates, from 1 to Candidates
	Epsilon    float64 // of each choice, above 0 and at most 100; it means its exact value
	// Spread is the most that a unit can change one count more than another: 1 if it adds up to 1 to each,
	// 2 if it can add 1 to some and take 1 from others. From 1 to 2^30.
	Spread int
}

// MostSelector answers a Most. It is immutable and safe for concurrent use.
type MostSelector struct {
	coins
	candidates, choices int
}

// NewMost returns the selector of candidates with the largest counts. All bad fields are reported, wrapping
// dp.ErrInvalid.
func NewMost(m Most) (*MostSelector, error) {
	errs := check.In("selection")
	errs.Want(m.Candidates >= 1 && m.Candidates <= maxCandidates, "candidates", m.Candidates, "a number from 1 to %d", maxCandidates)
	errs.Want(m.Choices >= 1 && m.Choices <= max(m.Candidates, 1), "choices", m.Choices, "a number from 1 to that of the candidates")
	errs.Want(m.Epsilon > 0 && m.Epsilon <= maxEpsilon, "epsilon", m.Epsilon, "a number above 0 and at most %d", maxEpsilon)
	errs.Want(m.Spread >= 1 && m.Spread <= maxRecords, "spread", m.Spread, "a number from 1 to %d", maxRecords)
	if err := errs.Err(); err != nil {
		return nil, err
	}
	return &MostSelector{newCoins(m.Epsilon, uint64(m.Spread)), m.Candidates, m.Choices}, nil //nolint:gosec // positive
}

// Select returns the indices of the candidates chosen, the first one first: each is chosen by permute-and-flip among
// those that were not before, the distance of a candidate being what its count is below the largest of these.
//
// Guarantee (docs/proofs/selection.md): if the words read from entropy are independent and uniform, each choice is
// (epsilon, 0)-private, whatever was chosen before it. The time it takes depends on the data.
//
// The error wraps dp.ErrInvalid if counts are not one for each candidate, and sampler.ErrEntropy if there
// is no entropy; nothing drawn is returned then.
func (s *MostSelector) Select(counts []int64, entropy io.Reader) ([]int, error) {
	if len(counts) != s.candidates {
		return nil, check.Field("selection", "counts", len(counts), fmt.Sprintf("one for each of %d candidates", s.candidates))
	}
	if entropy == nil {
		return nil, check.Errorf("selection", check.ErrEntropy, "no entropy reader is given")
	}
	w := newWords(entropy)
	left := make([]int, len(counts)) // not chosen yet
	for i := range left {
		left[i] = i
	}
	chosen := make([]int, s.choices)
	for i := range chosen {
		best := s.choose(below(counts, left), w)
		chosen[i] = left[best]
		left = slices.Delete(left, best, best+1)
	}
	if err := w.close(); err != nil {
		return nil, err
	}
	return chosen, nil
}

// below returns by how much the counts of these candidates are below the largest. Counts beyond maxTotal
// are clipped to it, which moves none of them further.
func below(counts []int64, of []int) []uint64 {
	clipped := func(i int) int64 { return min(max(counts[i], 0), maxTotal) }
	largest := int64(0)
	for _, i := range of {
		largest = max(largest, clipped(i))
	}
	distances := make([]uint64, len(of))
	for at, i := range of {
		distances[at] = uint64(largest - clipped(i)) //nolint:gosec // not negative
	}
	return distances
}

// CountErrorUpper bounds the error of all choices, whatever the data: with at least the probability level, each count
// chosen is less than this below the largest of those that were not chosen before it.
//
// The error of the result wraps dp.ErrInvalid unless 0 < level < 1.
func (s *MostSelector) CountErrorUpper(level float64) (*big.Int, error) {
	return s.errorUpper(s.candidates, s.choices, level)
}
