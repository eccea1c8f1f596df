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
// A count, a sum, a mean and a variance of the same rows and Column, within the same bounds, are one query with Also and the parts of all of
// them, where that is no worse for any of them than parts of their own.
//
// Guarantee: all together are within the total, as a Budget with the same adaptive counts. Of equal weights none has more noise
// than with an equal part of the sums.
//
// Errors wrap dp.ErrInvalid for bad fields and for errors that cannot be reached; account.ErrExceeded where the errors take more than
// the total; or they are those of the source.
func Split(ctx context.Context, total dp.Budget, adaptive bool, list []Statistic, source Source) (*Shares, error) {
	if err := total.Validate(); err != nil {
		return nil, err
	}
	s := &split{total: total, adaptive: adaptive, source: source, list: list}
	if err := s.validate(); err != nil {
		return nil, err
	}
	s.least, s.known = make([]float64, len(list)), map[atDelta]float64{}
	s.findOrders()
	alone := make([]unit, len(list))
	for i, x := range list {
		alone[i] = unit{x.Query, []int{i}}
	}
	apart, err := s.best(ctx, alone)
	if err != nil {
		return nil, err
	}
	queries, units, err := s.joined(ctx, alone, apart)
	if err != nil {
		return nil, err
	}
	return s.shares(ctx, queries, units)
}

// best splits the total, by the sums or by exact composition.
func (s *split) best(ctx context.Context, units []unit) ([]Query, error) {
	best, err := s.parts(ctx, units, 1)
	if s.adaptive || s.total.Delta == 0 || err != nil && !errors.Is(err, account.ErrExceeded) {
		return best, err
	}
	composed, other := s.parts(ctx, units, 0.5)
	switch {
	case err != nil:
		return composed, other
	case other != nil:
		return best, ctx.Err() // the sums are a split too
	}
	for i := range best {
		if better, err := s.better(ctx, units[i], composed[i], best[i]); err != nil || !better {
			return best, err
		}
	}
	return composed, nil
}

// better reports whether a part is worth its smaller delta: its noise is less, or, where that depends on the data, its
// epsilon larger by a tenth.
func (s *split) better(ctx context.Context, u unit, a, b Query) (bool, error) {
	if _, weight := s.sums(u); weight.Sign() == 0 || a.Epsilon <= b.Epsilon {
		return weight.Sign() == 0, nil
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
	least    []float64 // the epsilon of each error that is wanted
	known    map[atDelta]float64
	orders   [][]int // quantiles that are to ascend
}

// atDelta is a statistic with its part of delta.
type atDelta struct {
	of    int
	delta float64
}

// wanted is an error and the probability that it is kept; most is 0 for none.
type wanted struct {
	most, level float64
	text, of    string // of is whose it is, among several
}

func parseWanted(text string) (w wanted, ok bool) {
	w.text = text
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
		name := x.Name
		if name == "" {
			name = strconv.Itoa(i + 1)
		}
		of := " of statistic " + check.Shortened(name)
		bad.AddOf(errs.Err(), of)
		if len(s.list) > 1 {
			w.of = of
		}
		s.wanted = append(s.wanted, w)
	}
	return bad.Err()
}

// sums returns the epsilons that the errors of a unit take, and the weights of its others.
func (s *split) sums(u unit) (fixed, weight *big.Rat) {
	fixed, weight = new(big.Rat), new(big.Rat)
	for _, i := range u.of {
		if s.wanted[i].most > 0 {
			fixed.Add(fixed, exact.Rational(s.least[i]))
		} else {
			weight.Add(weight, exact.Rational(s.weight(i)))
		}
	}
	return fixed, weight
}

// parts splits the total, with so much of delta for the statistics.
func (s *split) parts(ctx context.Context, units []unit, share float64) ([]Query, error) {
	takers := 0
	for i := range s.list {
		if !s.list[i].pure() {
			takers++
		}
	}
	delta := func(n int) float64 {
		return exact.FloatDown(new(big.Rat).Mul(exact.Rational(s.total.Delta*share), big.NewRat(int64(n), int64(max(takers, 1)))))
	}
	out := make([]Query, len(units))
	weights := new(big.Rat)
	var fixed, closed []account.Cost // closed are those of units without a weight
	for i, u := range units {
		q := &out[i]
		*q = u.query
		if !q.pure() {
			q.Delta = delta(len(u.of))
		}
		if err := s.leastOf(ctx, u, delta(1)); err != nil {
			return nil, err
		}
		own, weight := s.sums(u)
		if weights.Add(weights, weight); own.Sign() > 0 {
			c := account.Cost{Epsilon: exact.FloatUp(own), Delta: q.Delta, Times: 1}
			if fixed = append(fixed, c); weight.Sign() == 0 {
				closed = append(closed, c)
			}
		}
	}
	budget, err := account.NewBudget(s.total, s.adaptive)
	if err != nil {
		return nil, err
	}
	spent, err := budget.With(fixed...).Epsilon(ctx, s.total.Epsilon)
	switch {
	case err != nil:
		return nil, err
	case spent > s.total.Epsilon:
		missing := new(big.Rat).Sub(exact.Rational(spent), exact.Rational(s.total.Epsilon))
		return nil, check.Errorf("release", account.ErrExceeded, "the errors that are wanted take epsilon %.4g together, and the total is %v: %.4g is missing, and what the others take", spent, s.total.Epsilon, exact.FloatUp(missing))
	}
	scale := new(big.Rat)
	if weights.Sign() > 0 {
		if scale, err = s.scale(ctx, budget.With(closed...), weights, units, out); err != nil {
			return nil, err
		}
	}
	for i, u := range units {
		out[i].Epsilon = s.part(scale, u)
	}
	return out, nil
}

// leastOf finds the epsilons of the errors that a unit wants.
func (s *split) leastOf(ctx context.Context, u unit, delta float64) error {
	for _, i := range u.of {
		w, q := s.wanted[i], s.list[i].Query
		if w.most == 0 {
			continue
		}
		if q.Delta = delta; q.pure() {
			q.Delta = 0
		}
		at := atDelta{i, q.Delta}
		if _, found := s.known[at]; !found {
			epsilon, err := s.leastEpsilon(ctx, q, w)
			if err != nil {
				return err
			}
			s.known[at] = epsilon
		}
		s.least[i] = s.known[at]
	}
	return nil
}

// scale returns the epsilon of a weight of 1, as large as the total allows beside what the budget has.
func (s *split) scale(ctx context.Context, budget *account.Budget, weights *big.Rat, units []unit, queries []Query) (*big.Rat, error) {
	sum, _ := budget.Sums()
	all := exact.Rational(s.total.Epsilon)
	low := new(big.Rat).Sub(all, sum)
	var open []int // units with a weight
	for i, u := range units {
		if fixed, weight := s.sums(u); weight.Sign() > 0 {
			open = append(open, i)
			low.Sub(low, fixed)
		}
	}
	fits := func(scale *big.Rat) (bool, error) {
		var costs []account.Cost
		for _, i := range open {
			costs = append(costs, account.Cost{Epsilon: s.part(scale, units[i]), Delta: queries[i].Delta, Times: 1})
		}
		return budget.With(costs...).Fits(ctx)
	}
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

func (s *split) part(scale *big.Rat, u unit) float64 {
	fixed, weight := s.sums(u)
	if weight.Sign() == 0 && len(u.of) == 1 {
		return s.least[u.of[0]]
	}
	return exact.FloatDown(fixed.Add(fixed, weight.Mul(weight, scale)))
}

// bounds of an epsilon that is looked for.
const (
	leastEpsilon = 1e-3
	mostEpsilon  = 20
)

// leastEpsilon returns the least epsilon, of 3 digits, that keeps an error.
func (s *split) leastEpsilon(ctx context.Context, q Query, w wanted) (float64, error) {
	keeps := func(epsilon float64) (bool, error) {
		q.Epsilon = epsilon
		p, err := NewPlan(ctx, q, s.source)
		if err != nil {
			return false, err
		}
		if p.mechanism.radius == nil {
			return false, check.Field("release", "error"+w.of, w.text, fmt.Sprintf("a weight in its place: of a %s the error depends on the data, and of a count, a sum, a histogram or a quantile it does not", q.Kind))
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
			err = check.Field("release", "error"+w.of, w.text, fmt.Sprintf("one that an epsilon up to %d keeps", mostEpsilon))
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
