// SPDX-License-Identifier: Apache-2.0

package release

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/internal/check"
)

// Shares are the queries that answer statistics, with their parts of a total.
type Shares struct {
	// Queries are to be released once each.
	Queries []Query
	// Of has the statistics that each of them answers, by their places in the list.
	Of     [][]int
	kinds  []Kind  // of the statistics
	orders []order // of quantiles
}

// order is of quantiles of the same rows, of which one of a larger probability is no less.
type order struct {
	of        []int // by probability
	rankError int64 // of all of them together, at the level
}

// Answers returns the answers of the statistics, from those of the Queries in their order. Of a query that answers several each has its
// own, with the epsilon that all of them cost together. Quantiles of the same rows, with equal parts, are put in their order: their
// RankError is that of all of them together. All of it is computed from what was released, so it costs nothing.
//
// The error wraps dp.ErrInvalid for other answers than those of the Queries.
func (s *Shares) Answers(released []*Answer) ([]*Answer, error) {
	bad := check.In("release")
	bad.If(len(released) != len(s.Queries), "answers", len(released), "one for each of %d queries", len(s.Queries))
	for i, a := range released {
		bad.If(a == nil || i < len(s.Queries) && a.Kind != s.Queries[i].Kind, "answers", i+1, "that of query %d", i+1)
	}
	if err := bad.Err(); err != nil {
		return nil, err
	}
	n := 0
	for _, of := range s.Of {
		n += len(of)
	}
	out := make([]*Answer, n)
	for i, a := range released {
		of := s.Of[i]
		for _, j := range of {
			if out[j] = a; len(of) > 1 {
				out[j] = a.part(s.kinds[j])
			}
		}
	}
	for _, o := range s.orders {
		o.arrange(out)
	}
	return out, nil
}

// part is the answer of a kind that is among those of the answer.
func (a *Answer) part(k Kind) *Answer {
	own := *a
	own.Kind, own.MeanError, own.MeanErrors = k, nil, nil
	if e, ok := a.MeanErrors[k]; ok {
		own.MeanError = &e
	}
	own.Answers = slices.Clone(a.Answers)
	for i := range own.Answers {
		e := &own.Answers[i]
		if p := *e.Also.of(k); k != a.Kind && p != nil {
			e.Value, e.Lower, e.Upper = p.Value, p.Lower, p.Upper
		}
		e.Also = nil
		switch c := e.Clipped; {
		case c == nil:
		case k == Count:
			e.Clipped = nil
		case k == Sum && k != a.Kind && c.Bias != nil: // of the mean
			own, bias := *c, *c.Bias*float64(a.Query.Rows)
			own.Bias = &bias
			e.Clipped = &own
		}
	}
	return &own
}

// arrange puts answers in their order: the rank errors of all together hold for sorted answers too (docs/proofs/selection.md).
func (o order) arrange(answers []*Answer) {
	for _, i := range o.of {
		own := *answers[i]
		own.Answers = slices.Clone(own.Answers)
		answers[i] = &own
	}
	for group := range answers[o.of[0]].Answers {
		var values []float64
		for _, i := range o.of {
			values = append(values, answers[i].Answers[group].Value)
		}
		slices.Sort(values)
		for place, i := range o.of {
			answers[i].Answers[group].Value, answers[i].Answers[group].RankError = values[place], o.rankError
		}
	}
}

// unit is a query, and the statistics that it answers.
type unit struct {
	query Query
	of    []int
}

// sameRows is the query but for what may differ among statistics that belong together; ok is false if it belongs to none.
func (q Query) sameRows() (rows Query, ok bool) {
	q = q.normal()
	ok = (q.Kind == Count || q.Kind == Sum || q.Kind == Mean || q.Kind == Variance) && q.Column != "" && len(q.Also) == 0 && !(q.PrivateKeys && q.Kind == Variance)
	q.Kind, q.Epsilon, q.Delta, q.Lower, q.Upper = "", 0, 0, 0, 0
	return q, ok
}

// families are units of several statistics of the same rows.
func (s *split) families() (out []unit) {
	taken := make([]bool, len(s.list))
	for i, x := range s.list {
		rows, ok := x.sameRows()
		if !ok || x.Kind == Count || taken[i] {
			continue
		}
		members := map[Kind]int{x.Kind: i}
		for j, y := range s.list {
			other, ok := y.sameRows()
			_, known := members[y.Kind]
			if y.Kind == Count { // which has no bounds
				other.Bounds, other.Rows = rows.Bounds, rows.Rows
			}
			if ok && !known && !taken[j] && other.Text() == rows.Text() && (y.Kind == Count || y.Lower == x.Lower && y.Upper == x.Upper) {
				members[y.Kind] = j
			}
		}
		if len(members) < 2 {
			continue
		}
		u := unit{query: x.Query}
		u.query.Kind, u.query.Also = Mean, nil
		if _, ok := members[Variance]; ok {
			u.query.Kind = Variance
		}
		for _, k := range []Kind{Count, Mean, Sum, Variance} {
			j, ok := members[k]
			if !ok {
				continue
			}
			taken[j] = true
			u.of = append(u.of, j)
			if k != u.query.Kind {
				u.query.Also = append(u.query.Also, k)
			}
		}
		slices.Sort(u.of)
		out = append(out, u)
	}
	return out
}

// joined returns the parts where families are one query each, for those where that is no worse than the parts alone.
func (s *split) joined(ctx context.Context, alone []unit, apart []Query) ([]Query, []unit, error) {
	families := s.families()
	for len(families) > 0 {
		units := slices.Clone(families)
		for _, u := range alone {
			if !slices.ContainsFunc(families, func(f unit) bool { return slices.Contains(f.of, u.of[0]) }) {
				units = append(units, u)
			}
		}
		slices.SortFunc(units, func(a, b unit) int { return cmp.Compare(slices.Min(a.of), slices.Min(b.of)) })
		queries, err := s.best(ctx, units)
		if errors.Is(err, account.ErrExceeded) {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		var kept []unit
		for i, u := range units {
			if len(u.of) == 1 {
				continue
			}
			ok, err := s.noWorse(ctx, u, queries[i], apart)
			if err != nil {
				return nil, nil, err
			}
			if ok {
				kept = append(kept, u)
			}
		}
		if len(kept) == len(families) {
			return queries, units, nil
		}
		families = kept
	}
	return apart, alone, nil
}

// noWorse reports whether each answer of a family has no larger an error than with its part alone, and keeps what is wanted.
func (s *split) noWorse(ctx context.Context, u unit, q Query, apart []Query) (bool, error) {
	p, err := NewPlan(ctx, q, s.source)
	if err != nil {
		return false, ctx.Err() // of too small an epsilon
	}
	for _, i := range u.of {
		own := p.mechanism.forecast(s.list[i].Kind)
		than, err := NewPlan(ctx, apart[i], s.source)
		if err != nil {
			return false, err
		}
		if !(own.error <= than.mechanism.forecast(s.list[i].Kind).error) {
			return false, nil
		}
		if w := s.wanted[i]; w.most > 0 {
			if r, err := own.radius(w.level); err != nil || r > w.most {
				return false, err
			}
		}
	}
	return true, nil
}

// findOrders finds quantiles of the same rows with equal parts. An error that is wanted of one is then to hold for all together.
func (s *split) findOrders() {
	same := func(i int) string {
		x := s.list[i]
		x.Probability = 0.5
		return fmt.Sprint(x.Text(), s.weight(i), x.Error)
	}
	known := map[string][]int{}
	for i, x := range s.list {
		if x.Kind == Quantile {
			known[same(i)] = append(known[same(i)], i)
		}
	}
	for i, x := range s.list {
		of := known[same(i)]
		delete(known, same(i))
		if !slices.ContainsFunc(of, func(j int) bool { return s.list[j].Probability != x.Probability }) {
			continue
		}
		slices.SortStableFunc(of, func(a, b int) int { return cmp.Compare(s.list[a].Probability, s.list[b].Probability) })
		s.orders = append(s.orders, of)
		for _, j := range of {
			if w := &s.wanted[j]; w.most > 0 {
				w.level = ofEach(w.level, len(of))
			}
		}
	}
}

// ofEach is the level of each of n intervals that hold together at a level.
func ofEach(level float64, n int) float64 {
	return math.Nextafter(1-(1-level)/float64(n), 1)
}

// shares returns what was split.
func (s *split) shares(ctx context.Context, queries []Query, units []unit) (*Shares, error) {
	out := &Shares{Queries: queries}
	for _, u := range units {
		out.Of = append(out.Of, u.of)
	}
	for _, x := range s.list {
		out.kinds = append(out.kinds, x.Kind)
	}
	for _, of := range s.orders {
		o := order{of: of}
		for _, i := range of {
			at := slices.IndexFunc(units, func(u unit) bool { return u.of[0] == i })
			p, err := NewPlan(ctx, queries[at], s.source)
			if err != nil {
				return nil, err
			}
			r, err := p.mechanism.radius(ofEach(level, len(of)))
			if err != nil {
				return nil, err
			}
			o.rankError = max(o.rankError, int64(math.Ceil(r)))
		}
		out.orders = append(out.orders, o)
	}
	return out, nil
}
