// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
)

// Statistic is a query that has its part of a total with others, see Split.
type Statistic struct {
	Name string `json:"name,omitempty"` // public, for readers
	Query
	// Weight is in proportion to the epsilon, 0 means 1; not with Error.
	Weight float64 `json:"weight,omitempty"`
	// Error, such as "2@0.95", wants the least epsilon with which the answer is within 2 of the exact one with
	// a probability of 0.95, in the units of the answer, of a quantile in rows.
	Error string `json:"error,omitempty"`
}

const maxStatistics = 1000

// Split returns the queries of statistics with their parts of a total. Those that want an error get the least epsilon for
// it, to 3 digits, and the others what is left, in proportion to their weights. Delta goes in equal parts to those that take
// one. Where it allows more, unless the total is to be kept by the sums, parts are as large as exact composition allows, half
// of delta being left to it.
//
// Guarantee: all together are within the total, as a Budget with the same adaptive counts. Of equal weights none has more noise
// than with an equal part of the sums.
//
// Errors wrap dp.ErrInvalid for bad fields and for errors that cannot be reached; account.ErrExceeded where the errors take more than
// the total; or they are those of the source.
func Split(ctx context.Context, total dp.Budget, adaptive bool, list []Statistic, source Source) ([]Query, error) {
	if err := total.Validate(); err != nil {
		return nil, err
	}
	s := &split{total: total, adaptive: adaptive, source: source, list: list}
	if err := s.validate(); err != nil {
		return nil, err
	}
	best, err := s.parts(ctx, 1)
	if adaptive || total.Delta == 0 || err != nil && !errors.Is(err, account.ErrExceeded) {
		return best, err
	}
	composed, other := s.parts(ctx, 0.5)
	switch {
	case err != nil:
		return composed, other
	case other != nil:
		return best, ctx.Err() // the sums are a split too
	}
	for i := range best {
		if better, err := s.better(ctx, i, composed[i], best[i]); err != nil || !better {
			return best, err
		}
	}
	return composed, nil
}

// better reports whether a part is worth its smaller delta: its noise is less, or, where that depends on the data, its
// epsilon larger by a tenth.
func (s *split) better(ctx context.Context, i int, a, b Query) (bool, error) {
	if s.wanted[i].most > 0 || a.Epsilon <= b.Epsilon {
		return s.wanted[i].most > 0, nil
	}
	p, err := NewPlan(ctx, a, s.source)
	if err != nil {
		return false, err
	}
	than, err := NewPlan(ctx, b, s.source)
	if err != nil {
		return false, err
	}
	return p.MeanError() <= than.MeanError() || math.IsNaN(p.MeanError()) && a.Epsilon > 1.1*b.Epsilon, nil
}

type split struct {
	total    dp.Budget
	adaptive bool
	source   Source
	list     []Statistic
	wanted   []wanted
}

// wanted is an error and the probability that it is kept; most is 0 for none.
type wanted struct{ most, level float64 }

func parseWanted(text string) (w wanted, ok bool) {
	most, level, _ := strings.Cut(text, "@")
	var err, other error
	w.most, err = strconv.ParseFloat(most, 64)
	w.level, other = strconv.ParseFloat(level, 64)
	return w, err == nil && other == nil && check.Positive(w.most) && w.level > 0 && w.level < 1
}

func (s *split) validate() error {
	bad := check.In("release")
	bad.If(len(s.list) < 1 || len(s.list) > maxStatistics, "statistics", len(s.list), "1 to %d", maxStatistics)
	for i, x := range s.list {
		errs := check.In("release")
		q := x.Query
		if q.Epsilon, q.Delta = 1, 0; q.PrivateKeys {
			q.Delta = min(s.total.Delta, 0.5) // which has to be above 0
		}
		errs.Add(q.Validate())
		errs.If(q.Kind == Value, "kind", q.Kind, "a statistic of the data")
		errs.If(x.Epsilon != 0 || x.Delta != 0, "epsilon", x.Epsilon, "none: it has a part of the total")
		errs.If(x.Weight != 0 && !(check.Positive(x.Weight) && x.Weight <= 1e6 && x.Weight >= 1e-6), "weight", x.Weight, "a number from 1e-6 to 1e6")
		errs.If(x.Weight != 0 && x.Error != "", "weight", x.Weight, "either a weight or an error")
		var w wanted
		if x.Error != "" {
			var ok bool
			if w, ok = parseWanted(x.Error); !ok {
				errs.Bad("error", check.Quoted(check.Shortened(x.Error)), "an error and its probability, such as 2@0.95")
			}
		}
		s.wanted = append(s.wanted, w)
		name := x.Name
		if name == "" {
			name = strconv.Itoa(i + 1)
		}
		bad.AddOf(errs.Err(), " of statistic "+check.Shortened(name))
	}
	return bad.Err()
}

// parts splits the total, with so much of delta for the statistics.
func (s *split) parts(ctx context.Context, share float64) ([]Query, error) {
	out := make([]Query, len(s.list))
	takers, weights := 0, new(big.Rat)
	for i, x := range s.list {
		out[i] = x.Query
		if !x.pure() {
			takers++
		}
	}
	fixed := []account.Cost{}
	for i := range out {
		q := &out[i]
		if !q.pure() {
			q.Delta = exact.FloatDown(new(big.Rat).Mul(exact.Rational(s.total.Delta*share), big.NewRat(1, int64(takers))))
		}
		if w := s.wanted[i]; w.most > 0 {
			epsilon, err := s.least(ctx, *q, w)
			if err != nil {
				return nil, err
			}
			q.Epsilon = epsilon
			fixed = append(fixed, account.Cost{Epsilon: epsilon, Delta: q.Delta, Times: 1})
		} else {
			weights.Add(weights, exact.Rational(s.weight(i)))
		}
	}
	budget, err := account.NewBudget(s.total, s.adaptive)
	if err != nil {
		return nil, err
	}
	budget = budget.With(fixed...)
	spent, err := budget.Epsilon(ctx, s.total.Epsilon)
	switch {
	case err != nil:
		return nil, err
	case spent > s.total.Epsilon:
		missing := new(big.Rat).Sub(exact.Rational(spent), exact.Rational(s.total.Epsilon))
		return nil, check.Errorf("release", account.ErrExceeded, "the errors that are wanted take epsilon %.4g together, and the total is %v: %.4g is missing, and what the others take", spent, s.total.Epsilon, exact.FloatUp(missing))
	}
	if weights.Sign() == 0 {
		return out, nil
	}
	scale, err := s.scale(ctx, budget, weights, out)
	if err != nil {
		return nil, err
	}
	for i := range out {
		if s.wanted[i].most == 0 {
			out[i].Epsilon = s.part(scale, i)
		}
	}
	return out, nil
}

// scale returns the epsilon of a weight of 1, as large as the total allows beside what the budget has.
func (s *split) scale(ctx context.Context, budget *account.Budget, weights *big.Rat, queries []Query) (*big.Rat, error) {
	fits := func(scale *big.Rat) (bool, error) {
		var costs []account.Cost
		for i, q := range queries {
			if s.wanted[i].most == 0 {
				costs = append(costs, account.Cost{Epsilon: s.part(scale, i), Delta: q.Delta, Times: 1})
			}
		}
		return budget.With(costs...).Fits(ctx)
	}
	sum, _ := budget.Sums()
	all := exact.Rational(s.total.Epsilon)
	low := new(big.Rat).Sub(all, sum)
	if low.Sign() < 0 { // what the budget has fits by exact composition alone
		low.SetInt64(0)
	}
	low.Quo(low, weights)
	high := new(big.Rat).Mul(low, big.NewRat(int64(math.Ceil(2*math.Sqrt(float64(len(queries))))), 1))
	if all.Quo(all, weights); high.Cmp(all) < 0 {
		high = all
	}
	for range 8 {
		if s.adaptive || s.total.Delta == 0 {
			break
		}
		middle := new(big.Rat).Add(low, high)
		middle.Quo(middle, big.NewRat(2, 1))
		middle.SetFloat64(exact.FloatDown(middle))
		ok, err := fits(middle)
		if err != nil {
			return nil, err
		}
		if ok {
			low = middle
		} else {
			high = middle
		}
	}
	if low.Sign() == 0 {
		return nil, check.Errorf("release", account.ErrExceeded, "the errors that are wanted leave nothing of epsilon = %v to the others", s.total.Epsilon)
	}
	return low, nil
}

func (s *split) weight(i int) float64 {
	if w := s.list[i].Weight; w != 0 {
		return w
	}
	return 1
}

func (s *split) part(scale *big.Rat, i int) float64 {
	return exact.FloatDown(new(big.Rat).Mul(scale, exact.Rational(s.weight(i))))
}

// bounds of an epsilon that is looked for.
const (
	leastEpsilon = 1e-3
	mostEpsilon  = 20
)

// least returns the least epsilon, of 3 digits, that keeps an error.
func (s *split) least(ctx context.Context, q Query, w wanted) (float64, error) {
	keeps := func(epsilon float64) (bool, error) {
		q.Epsilon = epsilon
		p, err := NewPlan(ctx, q, s.source)
		if err != nil {
			return false, err
		}
		if p.mechanism.radius == nil {
			return false, check.Field("release", "error", fmt.Sprintf("%v@%v", w.most, w.level), fmt.Sprintf("none of a %s, whose interval depends on the data", q.Kind))
		}
		r, err := p.mechanism.radius(w.level)
		return r <= w.most, err
	}
	at := func(i int) float64 { // of 3 digits each
		x, _ := strconv.ParseFloat(fmt.Sprintf("%de%d", 100+i%900, i/900-5), 64)
		return x
	}
	low, high := -1, 0
	for at(high) < mostEpsilon {
		high += 100
	}
	if ok, err := keeps(mostEpsilon); err != nil || !ok {
		if err == nil {
			err = check.Field("release", "error", fmt.Sprintf("%v@%v", w.most, w.level), fmt.Sprintf("one that an epsilon up to %d keeps", mostEpsilon))
		}
		return 0, err
	}
	for high-low > 1 {
		middle := (low + high) / 2
		ok, err := keeps(min(at(middle), mostEpsilon))
		if err != nil {
			return 0, err
		}
		if ok {
			high = middle
		} else {
			low = middle
		}
	}
	return min(at(high), mostEpsilon), nil
}
