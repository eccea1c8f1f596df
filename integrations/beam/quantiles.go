// SPDX-License-Identifier: Apache-2.0

package noisebeam

import (
	"math"
	"math/big"
	"strconv"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/integrations/beam/internal/fault"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	permuteflip "github.com/noisewright/noisewright/internal/selection"
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
// Quantile>>: candidates chosen by permute-and-flip (docs/proofs/selection.md), with a delta of 0. The
// budget is charged Epsilon for every probability and each of Bounds.Partitions partitions.
// A worker holds the values of a partition in memory, 8 bytes each.
func (g *Groups) Quantiles(s beam.Scope, o QuantileOptions) (beam.PCollection, error) {
	none := beam.PCollection{}
	b := g.people.bounds
	bad := check.In("noisebeam")
	checkRange(bad, b.Lower, b.Upper)
	bad.Want(len(o.Probabilities) > 0, "number of probabilities", 0, "1 or more")
	bad.Budget(o.Epsilon, 0)
	if err := bad.Err(); err != nil {
		return none, err
	}
	if o.Candidates == 0 {
		o.Candidates = 1001
	}
	f := &quantilesFn{Unit: g.people.units, Bounds: b, Candidates: o.Candidates, Probabilities: o.Probabilities, Secret: newSecret()}
	// A person's values are that many rows: each gets its part of epsilon, and by group
	// privacy they are epsilon-private together. The rule of permute-and-flip for so
	// many rows is the same one.
	f.Epsilon = exact.FloatDown(new(big.Rat).Quo(exact.Rational(o.Epsilon), big.NewRat(int64(b.Values), 1)))
	if err := f.Setup(); err != nil {
		return none, err
	}
	if err := g.people.budget.Charge(account.Cost{Epsilon: o.Epsilon, Times: b.Partitions * len(o.Probabilities)}); err != nil {
		return none, err
	}
	s = s.Scope("noisebeam.Quantiles")
	answers := beam.ParDo(s, f, beam.CoGroupByKey(s, g.totals, g.people.parts))
	return beam.Reshuffle(s, fault.After(s, "answers", answers)), nil
}

// quantilesFn answers about each partition that is released.
type quantilesFn struct {
	Unit          units
	Bounds        Bounds
	Candidates    int
	Probabilities []float64
	Epsilon       float64 // for one row more or less
	Secret        secret
	grid          permuteflip.Grid
	selectors     []*permuteflip.Selector
}

func (f *quantilesFn) Setup() (err error) {
	if f.grid, err = permuteflip.NewGrid(f.Bounds.Lower, f.Bounds.Upper, f.Candidates); err != nil {
		return err
	}
	f.selectors = nil
	for _, p := range f.Probabilities {
		if !(p > 0 && p < 1 && p == math.Round(p*1e6)/1e6) {
			return check.Field("noisebeam", "probability", p, "a number above 0 and below 1 of at most 6 decimals, 0.5 for the median")
		}
		// The decimal that was written, not the float64 next to it.
		probability, _ := new(big.Rat).SetString(number(p))
		s, err := permuteflip.New(permuteflip.Query{Quantile: probability, Candidates: f.Candidates, Epsilon: f.Epsilon, Records: 1})
		if err != nil {
			return err
		}
		f.selectors = append(f.selectors, s)
	}
	return nil
}

// ProcessElement answers if the partition is released. Its random words are for the
// partition, the number of the quantile and what the answer depends on: how many values there
// are next to each candidate.
func (f *quantilesFn) ProcessElement(partition string, released func(*totals) bool, parts func(*contribution) bool, emit func(string, Quantile)) error {
	var t totals
	if !released(&t) {
		return nil
	}
	counts := make([]uint64, f.Candidates)
	var c contribution
	for parts(&c) {
		for _, v := range c.Values {
			x, _ := f.Unit.value(v>>63, uint64(v)).Float64()
			counts[f.grid.Index(x)]++
		}
		c = contribution{}
	}
	var text []byte
	for _, n := range counts {
		text = append(strconv.AppendUint(text, n, 10), ' ')
	}
	for i, s := range f.selectors {
		best, err := s.Select(counts, f.Secret.key().Stream("quantile", partition, whole(int64(i)), string(text)))
		if err != nil {
			return check.Errorf("noisebeam", nil, "no quantile could be drawn: %w", err)
		}
		emit(partition, Quantile{f.Probabilities[i], f.grid.Value(best)})
	}
	return nil
}
