package release

import (
	"crypto/rand"
	"math"
	"math/big"
	"strconv"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/release/internal/selection"
)

// quantiles answers with one of the candidates, chosen by permute-and-flip
// (docs/proofs/selection.md).
type quantiles struct {
	grid      selection.Grid
	selector  *selection.Selector
	epsilon   float64 // of each of the uses
	uses      int
	rankError int64
	query     Query
}

// grid is that of the candidates.
func (q Query) grid() (selection.Grid, error) {
	return selection.NewGrid(q.Lower, q.Upper, q.Candidates)
}

func newQuantiles(q Query) (mechanism, error) {
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
	rank, err := s.RankErrorUpper(Level)
	if err != nil {
		return nil, err
	}
	return &quantiles{grid, s, epsilon, q.uses(), exact.Ceil(rank).Int64(), q}, nil
}

func (m *quantiles) costs() []account.Cost {
	return []account.Cost{{Epsilon: m.epsilon, Times: m.uses}}
}
func (m *quantiles) name() string       { return "permute-and-flip among the candidates" }
func (m *quantiles) meanError() float64 { return math.NaN() }

func (m *quantiles) answer(tallies []tally) ([]Estimate, error) {
	out := make([]Estimate, len(tallies))
	for i, t := range tallies {
		counts := t.counts
		if counts == nil {
			counts = make([]uint64, m.query.Candidates)
		}
		best, err := m.selector.Select(counts, rand.Reader)
		if err != nil {
			return nil, err
		}
		out[i] = Estimate{Value: m.grid.Value(best), Lower: m.query.Lower, Upper: m.query.Upper, RankError: m.rankError}
	}
	return out, nil
}
