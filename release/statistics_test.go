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
	case len(q.Also) > 0:
		return statisticsOfTogether(t, q)
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

// waysOf are all ways to measure sums that several statistics are made of.
func waysOf(t *testing.T, q Query, source Source) (out []*together) {
	t.Helper()
	add := func(m *together, err error) {
		if err != nil {
			t.Fatalf("%s: %v", q.Text(), err)
		}
		out = append(out, m)
	}
	if q.fixed() {
		add(newPublicSums(t.Context(), q, source))
		return out
	}
	add(newPairOf(t.Context(), q, source))
	add(newApart(t.Context(), q, source, q.center()))
	add(newApart(t.Context(), q, source, new(big.Rat)))
	return out
}

// statisticsOfTogether are the sums of all ways, with what their noise is for.
func statisticsOfTogether(t *testing.T, q Query) (list []statistic, pair *big.Rat) {
	t.Helper()
	for _, m := range waysOf(t, q, laplaceSource) {
		first, second := func(t *tally) *big.Rat { a, _ := m.sums(t); return a }, func(t *tally) *big.Rat { _, b := m.sums(t); return b }
		switch {
		case m.pair:
			c := m.cost
			if m.square != nil {
				c = m.before
			}
			_, points, err := ratio.NewPairNoise(c.Epsilon)
			if err != nil {
				t.Fatal(err)
			}
			if m.a.unit.Cmp(m.b.unit) != 0 {
				t.Errorf("%s: a pair of units %v and %v", q.Text(), m.a.unit, m.b.unit)
			}
			pair = new(big.Rat).Mul(m.a.unit, new(big.Rat).SetInt64(points))
			list = append(list, statistic{"distances to lower", first, pair}, statistic{"distances to upper", second, pair})
		case m.b == nil:
			list = append(list, statistic{"sum", first, wholeOf(m.a)}, statistic{"public rows", second, new(big.Rat)})
		default:
			list = append(list, statistic{"sum from " + m.center.RatString(), first, wholeOf(m.a)}, statistic{"rows", second, wholeOf(m.b)})
		}
		if m.square != nil {
			of := &variances{query: q}
			of.scale(m.square.table)
			list = append(list, statistic{"squares less halves", func(t *tally) *big.Rat { _, r := of.sums(t); return r }, wholeOf(m.square)})
		}
	}
	return list, pair
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
