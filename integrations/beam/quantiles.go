package noisebeam

import (
	"context"
	"io"
	"math/big"
	"strconv"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/release"
)

// Quantile is a private answer: the quantile of the probability, about.
type Quantile struct {
	Probability, Value float64
}

// QuantileOptions say which quantiles are released.
type QuantileOptions struct {
	// Probabilities are those of the quantiles, above 0 and below 1.
	Probabilities []float64
	// Candidates is the number of answers there are, evenly spaced from Bounds.Lower to
	// Bounds.Upper; 0 means 1001.
	Candidates int
	// Epsilon is that of one quantile of one partition, up to 100.
	Epsilon float64
}

// Quantiles releases quantiles of the values that count, as a PCollection<KV<string,
// Quantile>>: candidates chosen by permute-and-flip (package release), with a delta of 0. The
// budget is charged Epsilon for every probability and each of Bounds.Partitions partitions.
// A worker holds the values of a partition in memory, 8 bytes each.
func (g *Groups) Quantiles(s beam.Scope, o QuantileOptions) (beam.PCollection, error) {
	none := beam.PCollection{}
	b := g.people.bounds
	bad := check.In("noisebeam")
	checkRange(bad, b.Lower, b.Upper)
	if len(o.Probabilities) == 0 {
		bad.Bad("number of probabilities", 0, "1 or more")
	}
	bad.Budget(o.Epsilon, 0)
	if err := bad.Err(); err != nil {
		return none, err
	}
	f := &quantilesFn{Unit: g.people.units}
	for _, p := range o.Probabilities {
		// A person's values are that many rows: each gets its part of epsilon, and by group
		// privacy they are epsilon-private together. The rule of permute-and-flip for so
		// many rows is the same one.
		q := release.Query{
			Kind: release.Quantile, Neighbors: dp.AddRemove, Column: "value", Lower: b.Lower, Upper: b.Upper,
			Probability: p, Candidates: o.Candidates,
			Epsilon: exact.FloatDown(new(big.Rat).Quo(exact.Rational(o.Epsilon), big.NewRat(int64(b.Values), 1))),
		}
		if err := q.Validate(); err != nil {
			return none, err
		}
		f.Queries = append(f.Queries, q)
	}
	if err := g.people.budget.Charge(account.Cost{Epsilon: o.Epsilon, Times: b.Partitions * len(o.Probabilities)}); err != nil {
		return none, err
	}
	s = s.Scope("noisebeam.Quantiles")
	return beam.Reshuffle(s, beam.ParDo(s, f, beam.CoGroupByKey(s, g.totals, g.people.parts))), nil
}

// quantilesFn answers about each partition that is released.
type quantilesFn struct {
	Queries []release.Query
	Unit    units
	plans   []*release.Plan
}

// Setup plans the answers.
func (f *quantilesFn) Setup(ctx context.Context) error {
	for _, q := range f.Queries {
		p, err := release.NewPlan(ctx, q, nil) // no noise is added
		if err != nil {
			return err
		}
		f.plans = append(f.plans, p)
	}
	return nil
}

// ProcessElement answers if the partition is released.
func (f *quantilesFn) ProcessElement(partition string, released func(*totals) bool, parts func(*contribution) bool, emit func(string, Quantile)) error {
	var t totals
	if !released(&t) {
		return nil
	}
	var values []float64
	var c contribution
	for parts(&c) {
		for _, v := range c.Values {
			x, _ := f.Unit.value(v>>63, uint64(v)).Float64()
			values = append(values, x)
		}
		c = contribution{}
	}
	for i, p := range f.plans {
		data, err := release.Read(&valueRows{values: values}, f.Queries[i])
		if err != nil {
			return check.Errorf("noisebeam", nil, "the values of a partition could not be read")
		}
		e, err := p.Answer(data)
		if err != nil {
			return check.Errorf("noisebeam", nil, "no quantile could be drawn: %w", err)
		}
		emit(partition, Quantile{f.Queries[i].Probability, e[0].Value})
	}
	return nil
}

// valueRows are values as rows of one column.
type valueRows struct {
	values []float64
	next   int
	record [1]string
}

// Columns implements release.Rows.
func (r *valueRows) Columns() []string { return []string{"value"} }

// Next implements release.Rows.
func (r *valueRows) Next() ([]string, int, error) {
	if r.next == len(r.values) {
		return nil, 0, io.EOF
	}
	r.record[0] = strconv.FormatFloat(r.values[r.next], 'g', -1, 64)
	r.next++
	return r.record[:], r.next, nil
}
