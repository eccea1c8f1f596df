// SPDX-License-Identifier: Apache-2.0

package noisebeam

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/integrations/beam/internal/fault"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/tables"
)

// Groups are the partitions that are released, with what counts in them. Each of its
// methods charges the budget, at once and whether or not the pipeline is run, and returns
// a PCollection<KV<string, float64>> of partitions and private answers, or an error that
// wraps account.ErrExceeded or dp.ErrInvalid.
type Groups struct {
	people *People
	totals beam.PCollection // KV<string, totals>
	keys   []string         // if they are public
}

// Public releases exactly the partitions with these keys, which are public, whether or
// not there are rows. It costs nothing. Leave rows of others out before Bound, lest a
// person's partitions are chosen among them.
func (p *People) Public(s beam.Scope, keys []string) (*Groups, error) {
	seen := make(map[string]bool, len(keys))
	for _, k := range keys {
		if seen[k] {
			return nil, check.Field("noisebeam", "keys", check.Quoted(check.Shortened(k))+" twice", "every one once")
		}
		if !utf8.ValidString(k) {
			return nil, check.Field("noisebeam", "keys", check.Quoted(check.Shortened(k)), "UTF-8")
		}
		seen[k] = true
	}
	if len(keys) == 0 || len(keys) > maxPartitions {
		return nil, check.Field("noisebeam", "number of keys", len(keys), fmt.Sprintf("1 to %d", maxPartitions))
	}
	s = s.Scope("noisebeam.Public")
	public := beam.CreateList(s, keys)
	found := beam.ParDo(s, &knownFn{Keys: keys}, p.sums(s))
	all := beam.Flatten(s, found, beam.ParDo(s, empty, public))
	return &Groups{p, beam.CombinePerKey(s, &totalsFn{}, all), slices.Clone(keys)}, nil
}

// Select releases the partitions that the rule selects by their number of people. The rule has to be for as many partitions of a
// person as count. It is charged to the budget.
func (p *People) Select(s beam.Scope, rule *Selection) (*Groups, error) {
	if rule == nil || rule.partitions < p.bounds.Partitions {
		n := 0
		if rule != nil {
			n = rule.partitions
		}
		return nil, check.Field("noisebeam", "partitions of the selection", n, fmt.Sprintf("at least those of the bounds, %d", p.bounds.Partitions))
	}
	cost := rule.cost()
	cost.Times = p.bounds.Partitions
	if err := p.budget.Charge(cost); err != nil {
		return nil, err
	}
	s = s.Scope("noisebeam.Select")
	selected := beam.ParDo(s, &selectFn{Epsilon: rule.epsilon, Delta: rule.delta, Secret: newSecret()}, p.sums(s))
	return &Groups{p, beam.Reshuffle(s, fault.After(s, "selected", selected)), nil}, nil
}

// sums adds up what counts by partition.
func (p *People) sums(s beam.Scope) beam.PCollection {
	sums := beam.CombinePerKey(s, &totalsFn{}, beam.ParDo(s, totalsOf, p.parts))
	return fault.After(s, "totals", sums)
}

func totalsOf(partition string, c contribution) (string, totals) { return partition, c.totals() }

func empty(key string) (string, totals) { return key, totals{} }

type totalsFn struct{}

func (f *totalsFn) MergeAccumulators(a, b totals) totals { return a.plus(b) }

// knownFn drops partitions that are not public.
type knownFn struct {
	Keys  []string
	known map[string]bool
}

func (f *knownFn) Setup() {
	f.known = make(map[string]bool, len(f.Keys))
	for _, k := range f.Keys {
		f.known[k] = true
	}
}

func (f *knownFn) ProcessElement(partition string, t totals, emit func(string, totals)) {
	if f.known[partition] {
		emit(partition, t)
	}
}

// What is counted or summed.
const (
	people   = "people"
	rows     = "rows"
	sum      = "sum"
	mean     = "mean"
	variance = "variance"
)

// CountPeople releases the number of people of every partition, with noise for a sensitivity of 1.
func (g *Groups) CountPeople(s beam.Scope, table *tables.Verified) (beam.PCollection, error) {
	return g.release(s.Scope("noisebeam.CountPeople"), answerFn{What: people}, table)
}

// Count releases the number of rows that count, with noise for a sensitivity of Bounds.Values.
func (g *Groups) Count(s beam.Scope, table *tables.Verified) (beam.PCollection, error) {
	return g.release(s.Scope("noisebeam.Count"), answerFn{What: rows}, table)
}

// Sum releases the sum of the values that count, with noise for a sensitivity of
// Bounds.Values times the larger one of |Lower| and |Upper|, or with Bounds.Private of Bounds.Values.
func (g *Groups) Sum(s beam.Scope, table *tables.Verified) (beam.PCollection, error) {
	return g.release(s.Scope("noisebeam.Sum"), answerFn{What: sum}, table)
}

// Mean releases the mean of the values that count: the middle c of the range plus the sum
// of the values less c over their number, both with noise, clipped to the range. The
// noise of the sum is for a sensitivity of Bounds.Values·(Upper − Lower)/2, that of the
// number for one of Bounds.Values. With Bounds.Private both are for one of Bounds.Values.
func (g *Groups) Mean(s beam.Scope, sums, counts *tables.Verified) (beam.PCollection, error) {
	return g.release(s.Scope("noisebeam.Mean"), answerFn{What: mean}, sums, counts)
}

// sensitivities returns how far a person can move the numbers of an answer in one partition.
func (b Bounds) sensitivities(what string) []*big.Rat {
	most := big.NewRat(int64(b.Values), 1)
	if b.Private != 0 && (what == sum || what == mean) {
		return []*big.Rat{most, most}
	}
	low, high := exact.Rational(b.Lower), exact.Rational(b.Upper)
	switch what {
	case people:
		return []*big.Rat{big.NewRat(1, 1)}
	case rows:
		return []*big.Rat{most}
	case mean:
		h := b.half()
		return []*big.Rat{h.Mul(h, most), most}
	case variance:
		h, square := b.half(), b.squareHalf()
		return []*big.Rat{h.Mul(h, most), square.Mul(square, most), most}
	}
	if low.Abs(low).Cmp(high.Abs(high)) > 0 {
		high = low
	}
	return []*big.Rat{high.Mul(high, most)}
}

// release charges the tables, and answers with noise from them.
func (g *Groups) release(s beam.Scope, f answerFn, list ...*tables.Verified) (answers beam.PCollection, err error) {
	if g.people.bounds.Private != 0 && (f.What == sum || f.What == mean) {
		return g.found(s, f.What, list)
	}
	if f.Noise, err = g.noises(f.What, list...); err != nil {
		return answers, err
	}
	f.Bounds, f.Units = g.people.bounds, g.people.units
	return beam.Reshuffle(s, fault.After(s, "answers", beam.ParDo(s, &f, g.totals))), nil
}

// noises charges the tables of an answer, and returns their noise.
func (g *Groups) noises(what string, list ...*tables.Verified) ([]noise, error) {
	b := g.people.bounds
	if what != people && what != rows && b.Lower == b.Upper {
		return nil, check.Field("noisebeam", "lower and upper", "none", "finite numbers in ascending order, what values are clipped to: unbounded values have no sensitivity")
	}
	return chargeTables(g.people.budget, b.Partitions, list, b.sensitivities(what), names[what])
}

// chargeTables charges each table so many times, beside other costs, and returns its noise, which is for numbers that a person can
// move so far.
func chargeTables(budget *Budget, times int, list []*tables.Verified, needs []*big.Rat, names []string, costs ...account.Cost) (out []noise, err error) {
	for i, table := range list {
		n, err := newNoise(table)
		if err != nil {
			return nil, err
		}
		t := table.Mechanism()
		if t.Query() == dp.LatticeQuery {
			return nil, check.Field("noisebeam", "query of the table", t.Query(), "real or integer")
		}
		if own := t.Privacy().Sensitivity; exact.Rational(own).Cmp(needs[i]) < 0 {
			return nil, check.Field("noisebeam", "sensitivity of the table", own,
				fmt.Sprintf("at least %s, which is how far a person can move the %s", number(exact.FloatUp(needs[i])), names[i]))
		}
		out = append(out, n)
		costs = append(costs, account.Cost{Table: table, Times: times})
	}
	return out, budget.Charge(costs...)
}

// names are those of the numbers of an answer.
var names = map[string][]string{
	people: {"number of people"}, rows: {"number of rows"}, sum: {"sum"},
	mean:     {"sum of values less the middle of their range", "number of rows"},
	variance: {"sum of values less the middle of their range", "sum of their squares less half of the largest", "number of rows"},
}

// answerFn releases an answer about each partition.
type answerFn struct {
	What   string
	Noise  []noise
	Bounds Bounds
	Units  units
}

func (f *answerFn) Setup() error { return setup(f.Noise) }

func (f *answerFn) ProcessElement(partition string, t totals) (string, float64, error) {
	var y float64
	var err error
	switch f.What {
	case people:
		y, err = f.Noise[0].add(partition, big.NewRat(t.People, 1))
	case rows:
		y, err = f.Noise[0].add(partition, big.NewRat(t.Rows, 1))
	case sum:
		y, err = f.Noise[0].add(partition, f.Units.value(t.SumHigh, t.SumLow))
	case mean:
		y, err = f.mean(partition, t)
	}
	return partition, y, noNoise(err)
}

func (f *answerFn) mean(partition string, t totals) (float64, error) {
	center := f.Bounds.middle()
	x := f.Units.value(t.SumHigh, t.SumLow)
	s, err := f.Noise[0].add(partition, x.Sub(x, new(big.Rat).Mul(center, big.NewRat(t.Rows, 1))))
	if err != nil {
		return 0, err
	}
	n, err := f.Noise[1].add(partition, big.NewRat(t.Rows, 1))
	if err != nil {
		return 0, err
	}
	c, _ := center.Float64()
	return min(max(c+s/math.Max(n, 1), f.Bounds.Lower), f.Bounds.Upper), nil
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
