// SPDX-License-Identifier: Apache-2.0

package noisebeam

import (
	"cmp"
	"math"
	"math/big"
	"math/bits"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/integrations/beam/internal/fault"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/powers"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/tables"
	"github.com/noisewright/noisewright/tables/shapes"
)

// bin is what of a partition is between two powers of two: an exact, and secret, number of rows and the sum of their
// distances from 0, in units of 2^-53 of the bin's outer end. That is exact: float64s have no more digits.
type bin struct {
	At, Rows  int64
	High, Low uint64
}

// bins are those that have rows, in ascending order.
type bins struct{ List []bin }

func binsOf(partition string, c contribution) (string, bins) {
	var out bins
	for _, v := range c.Values {
		x := math.Float64frombits(uint64(v)) //nolint:gosec // units made it of these
		b := bin{At: int64(powers.Of(x)), Rows: 1}
		if away := max(b.At-powers.Zero, powers.Zero-b.At); away > 0 {
			b.Low = uint64(math.Ldexp(math.Abs(x)/powers.Power(int(away)), 53))
		}
		out.List = append(out.List, b)
	}
	return partition, out.plus(bins{})
}

// plus returns the bins of both.
func (b bins) plus(other bins) bins {
	list := slices.Concat(b.List, other.List)
	slices.SortFunc(list, func(a, b bin) int { return cmp.Compare(a.At, b.At) })
	var out []bin
	for _, b := range list {
		last := len(out) - 1
		if last < 0 || out[last].At != b.At {
			out = append(out, b)
			continue
		}
		low, carry := bits.Add64(out[last].Low, b.Low, 0)
		out[last] = bin{b.At, out[last].Rows + b.Rows, out[last].High + b.High + carry, low}
	}
	return bins{out}
}

// clipped returns the number of rows and their sum, with values clipped to the outer ends of two bins.
func (b bins) clipped(lower, upper int) (rows int64, sum *big.Rat) {
	sum = new(big.Rat)
	for _, x := range b.List {
		at, n := int(x.At), big.NewRat(x.Rows, 1)
		rows += x.Rows
		switch {
		case at < lower:
			n.Mul(n, exact.Rational(-powers.Power(powers.Zero-lower)))
		case at > upper:
			n.Mul(n, exact.Rational(powers.Power(upper-powers.Zero)))
		default:
			whole := new(big.Int).SetUint64(x.High)
			whole.Add(whole.Lsh(whole, 64), new(big.Int).SetUint64(x.Low))
			n.SetInt(whole)
			n.Mul(n, exact.PowerOfTwo(-53))
			if at < powers.Zero {
				n.Neg(n)
			}
			n.Mul(n, exact.Rational(powers.Power(max(at-powers.Zero, powers.Zero-at))))
		}
		sum.Add(sum, n)
	}
	return rows, sum
}

type binsFn struct{}

func (f *binsFn) MergeAccumulators(a, b bins) bins { return a.plus(b) }

// binTable returns noise for the numbers of rows in the bins of a partition, and what it costs: of all rows of a person, one
// after another, at most Private. They are not independent uses: together they are private by their sum, and no better.
func (b Bounds) binTable() (*tables.Verified, account.Cost, error) {
	rows := big.NewRat(int64(b.Values), 1)
	rate := exact.FloatDown(new(big.Rat).Quo(exact.Rational(b.Private), rows))
	v, err := shapes.Laplace(dp.Problem{Privacy: dp.Privacy{Epsilon: rate, Sensitivity: 1}, Query: dp.IntegerQuery, Loss: loss.L1}, tables.Grid{})
	if err != nil {
		return nil, account.Cost{}, check.Field("noisebeam", "private", b.Private, "an epsilon that is neither too small nor too large to find bounds with: "+err.Error())
	}
	all := rows.Mul(rows, exact.Rational(v.Mechanism().Privacy().Epsilon))
	return v, account.Cost{Epsilon: exact.FloatUp(all), Times: b.Partitions}, nil
}

// found releases sums or means within bounds that are found for each partition.
func (g *Groups) found(s beam.Scope, what string, list []*tables.Verified) (none beam.PCollection, err error) {
	b := g.people.bounds
	table, cost, err := b.binTable()
	if err != nil {
		return none, err
	}
	counts, err := newNoise(table)
	if err != nil {
		return none, err
	}
	f := &foundFn{What: what, Counts: counts, Rate: table.Mechanism().Privacy().Epsilon}
	if f.Noise, err = chargeTables(g.people.budget, b.Partitions, list, b.sensitivities(what), names[what], cost); err != nil {
		return none, err
	}
	f.Deviation = math.Sqrt2 * float64(b.Values) / list[0].Mechanism().Privacy().Epsilon // by the bound on that of the noise
	all := fault.After(s, "bins", beam.CombinePerKey(s, &binsFn{}, beam.ParDo(s, binsOf, g.people.parts)))
	return beam.Reshuffle(s, fault.After(s, "answers", beam.ParDo(s, f, beam.CoGroupByKey(s, g.totals, all)))), nil
}

// foundFn finds bounds for each partition that is released, and answers within them (docs/proofs/bounds.md). Its noise is for bounds
// of -1 and 1, and scaled to those that are found.
type foundFn struct {
	What            string
	Noise           []noise
	Counts          noise // of rows in bins
	Rate, Deviation float64
}

func (f *foundFn) Setup() error {
	if err := f.Counts.setup(); err != nil {
		return err
	}
	return setup(f.Noise)
}

// ProcessElement has no bins of a partition without rows.
func (f *foundFn) ProcessElement(partition string, released func(*totals) bool, all func(*bins) bool, emit func(string, float64)) error {
	var t totals
	var b bins
	if !released(&t) {
		return nil
	}
	all(&b)
	noisy, err := f.counts(partition, b)
	if err != nil {
		return noNoise(err)
	}
	lower, upper := powers.Choose(noisy, f.Rate, f.Deviation)
	y, err := f.answer(partition, b, lower, upper)
	if err == nil {
		emit(partition, y)
	}
	return noNoise(err)
}

// counts returns the numbers of rows in all bins, each with noise of its own.
func (f *foundFn) counts(partition string, b bins) (noisy []float64, err error) {
	rows := make([]int64, powers.Bins)
	for _, x := range b.List {
		rows[x.At] = x.Rows
	}
	noisy = make([]float64, len(rows))
	for i, n := range rows {
		if noisy[i], err = f.Counts.add(partition, big.NewRat(n, 1), whole(int64(i))); err != nil {
			return nil, err
		}
	}
	return noisy, nil
}

func (f *foundFn) answer(partition string, b bins, lower, upper int) (float64, error) {
	low, high := 0-powers.Power(powers.Zero-lower), powers.Power(upper-powers.Zero)
	scale, numbers := f.numbers(b, lower, upper)
	s, err := f.Noise[0].add(partition, numbers[0])
	if err != nil || f.What == sum {
		return s * scale, err
	}
	n, err := f.Noise[1].add(partition, numbers[1])
	return min(max(low/2+high/2+scale*s/math.Max(n, 1), low), high), err
}

// numbers are those that get noise, and by how much the first of them was divided: a sum by the larger bound, and
// for a mean the distances from the middle by half of the width. That is exact: a float64 of it may be less, of bounds whose ratio is
// above 2^53, and one row move more than the noise hides.
func (f *foundFn) numbers(b bins, lower, upper int) (scale float64, numbers [2]*big.Rat) {
	within := Bounds{Lower: 0 - powers.Power(powers.Zero-lower), Upper: powers.Power(upper - powers.Zero)}
	rows, total := b.clipped(lower, upper)
	n := big.NewRat(rows, 1)
	by := exact.Rational(max(-within.Lower, within.Upper))
	if f.What == mean {
		by = within.half()
		middle := within.middle()
		total.Sub(total, middle.Mul(middle, n))
	}
	scale, _ = by.Float64()
	return scale, [2]*big.Rat{total.Quo(total, by), n}
}
