// SPDX-License-Identifier: Apache-2.0

package release

import (
	"math/big"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/release/internal/ratio"
)

// statistic is an exact number about each group, that noise is added to.
type statistic struct {
	name  string
	of    func(*tally) *big.Rat
	limit *big.Rat // of what a unit changes it by
}

// statisticsOf are those that the plan of a query adds noise to, with the changes it counts on;
// pair bounds what a unit may change the two of a pair of sums by together.
func statisticsOf(t *testing.T, q Query) (list []statistic, pair *big.Rat) {
	t.Helper()
	number := func(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }
	from := func(base *big.Rat) func(*tally) *big.Rat { // Σ(x − base)
		return func(t *tally) *big.Rat {
			x := new(big.Rat).Mul(t.count(), base)
			return x.Sub(t.total(), x)
		}
	}
	count := statistic{"number of rows", (*tally).count, number(q.most())}
	switch {
	case q.Kind == Quantile: // see changesOfCounts
		return nil, nil
	case q.Kind == Count || q.Kind == Histogram || q.chooses():
		return []statistic{count}, nil
	case q.Kind == Distinct:
		return []statistic{{"different values", (*tally).different, count.limit}}, nil
	case q.Kind == Variance:
		return statisticsOfVariance(t, q, count), nil
	case q.Kind == Sum:
		return []statistic{{"sum", (*tally).total, q.sensitivity(new(big.Rat))}}, nil
	case q.fixed(): // a mean that is divided by a public number of rows
		count.limit = new(big.Rat)
		return []statistic{{"sum", (*tally).total, q.sensitivity(new(big.Rat))}, count}, nil
	}
	m, err := newPair(q)
	if err != nil {
		t.Fatal(err)
	}
	_, points, err := ratio.NewPairNoise(m.cost.Epsilon)
	if err != nil {
		t.Fatal(err)
	}
	if m.first.unit.Cmp(m.second.unit) != 0 || m.cost.Times != q.uses() {
		t.Errorf("%s: a pair of units %v and %v, charged %d times", q.Text(), m.first.unit, m.second.unit, m.cost.Times)
	}
	// A bound on one of them is what is left if the other does not change.
	pair = new(big.Rat).Mul(m.first.unit, number(points))
	split, err := newSplit(t.Context(), q, laplaceSource)
	if err != nil {
		t.Fatal(err)
	}
	if split.cost.Times != 2*q.uses() {
		t.Errorf("%s: a sum and a count, charged %d times", q.Text(), split.cost.Times)
	}
	count.limit = wholeOf(split.second)
	return []statistic{
		count,
		{"sum less centers", from(q.center()), wholeOf(split.first)},
		{"distances to lower", from(exact.Rational(q.Lower)), pair},
		{"distances to upper", from(exact.Rational(q.Upper)), pair},
	}, pair
}

// statisticsOfVariance are the sums that a variance is made of, with what their noise is for.
func statisticsOfVariance(t *testing.T, q Query, count statistic) []statistic {
	t.Helper()
	v, err := q.table(t.Context(), laplaceSource, 1, dp.RealQuery, 3*q.uses())
	if err != nil {
		t.Fatal(err)
	}
	m := &variances{query: q}
	m.scale(v)
	if q.fixed() {
		count.limit = new(big.Rat)
	} else {
		count.limit = wholeOf(m.count)
	}
	return []statistic{
		count,
		{"sum less centers", func(t *tally) *big.Rat { s, _ := m.sums(t); return s }, wholeOf(m.sum)},
		{"squares less halves", func(t *tally) *big.Rat { _, r := m.sums(t); return r }, wholeOf(m.square)},
	}
}

// wholeOf is the sensitivity that noise is for.
func wholeOf(s *scaled) *big.Rat {
	g := s.table.Mechanism().Grid()
	return new(big.Rat).Mul(s.unit, new(big.Rat).SetInt64(int64(g.CellsPerSensitivity)*g.PointsPerCell))
}
