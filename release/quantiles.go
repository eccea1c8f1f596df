// SPDX-License-Identifier: Apache-2.0

package release

import (
	"crypto/rand"
	"math"
	"math/big"
	"strconv"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/selection"
)

// grid is that of the candidates.
func (q Query) grid() (selection.Grid, error) {
	return selection.NewGrid(q.Lower, q.Upper, q.Candidates)
}

// newQuantiles answers with one of the candidates, chosen by permute-and-flip
// (docs/proofs/selection.md).
func newQuantiles(q Query) (*mechanism, error) {
	grid, err := q.grid()
	if err != nil {
		return nil, err
	}
	epsilon, err := q.pureUse()
	if err != nil {
		return nil, err
	}
	// The decimal that was written, not the float64 next to it.
	probability, _ := new(big.Rat).SetString(strconv.FormatFloat(q.Probability, 'g', -1, 64))
	s, err := selection.New(selection.Query{
		Quantile: probability, Candidates: q.Candidates, Epsilon: epsilon,
		Records: int(q.most()), Replace: q.Neighbors == dp.Replace,
	})
	if err != nil {
		return nil, err
	}
	rank, err := s.RankErrorUpper(level)
	if err != nil {
		return nil, err
	}
	return &mechanism{
		cost: account.Cost{Epsilon: epsilon, Times: q.uses()}, name: "permute-and-flip among the candidates", meanError: math.NaN(),
		radius: func(level float64) (float64, error) {
			rank, err := s.RankErrorUpper(level)
			if err != nil {
				return 0, err
			}
			return exact.FloatUp(rank), nil
		},
		answer: func(tallies []tally) ([]Estimate, error) {
			out := make([]Estimate, len(tallies))
			for i, t := range tallies {
				best, err := s.Select(t.counts, rand.Reader)
				if err != nil {
					return nil, err
				}
				out[i] = Estimate{Value: grid.Value(best), Lower: q.Lower, Upper: q.Upper, RankError: exact.Ceil(rank).Int64()}
			}
			return out, nil
		},
	}, nil
}
