// SPDX-License-Identifier: Apache-2.0

package noisebeam

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/integrations/beam/internal/fault"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	permuteflip "github.com/noisewright/noisewright/internal/selection"
	"github.com/noisewright/noisewright/tables"
)

// Distinct releases the number of different partitions that somebody counts in, a PCollection<float64> of one element, with
// noise for a sensitivity of Bounds.Partitions: a person brings at most so many. The table is charged to the budget
// once. The error wraps account.ErrExceeded or dp.ErrInvalid.
func (p *People) Distinct(s beam.Scope, table *tables.Verified) (beam.PCollection, error) {
	list, err := chargeTables(p.budget, 1, []*tables.Verified{table}, []*big.Rat{big.NewRat(int64(p.bounds.Partitions), 1)}, []string{"number of partitions"})
	if err != nil {
		return beam.PCollection{}, err
	}
	s = s.Scope("noisebeam.Distinct")
	// One number is there without any rows too, so that something is released.
	numbers := beam.Flatten(s, beam.ParDo(s, onePartition, p.sums(s)), beam.ParDo(s, noEntry, beam.Impulse(s)))
	answers := beam.ParDo(s, &distinctFn{list[0]}, fault.After(s, "counts", beam.CombinePerKey(s, &addFn{}, numbers)))
	return beam.Reshuffle(s, fault.After(s, "answers", answers)), nil
}

func onePartition(string, totals) (place, partitions int64) { return 0, 1 }

type distinctFn struct{ Noise noise }

func (f *distinctFn) Setup() error { return f.Noise.setup() }

func (f *distinctFn) ProcessElement(_, partitions int64) (float64, error) {
	y, err := f.Noise.add("", big.NewRat(partitions, 1))
	return y, noNoise(err)
}

// noNoise is the error of noise that could not be drawn.
func noNoise(err error) error {
	if err == nil {
		return nil
	}
	return check.Errorf("noisebeam", nil, "no noise could be drawn: %w", err)
}

// Variance releases the mean squared distance of the values that count from their mean, from three numbers with noise:
// with c the middle of the range and h half of its width, the sum of x - c, for a sensitivity of Bounds.Values·h; the sum of
// (x - c)² - h²/2, for one of Bounds.Values·h²/2; and the number of values, for one of Bounds.Values
// (docs/proofs/mean.md, "Variances"). It is clipped to 0 and h².
func (g *Groups) Variance(s beam.Scope, sums, squares, counts *tables.Verified) (beam.PCollection, error) {
	s = s.Scope("noisebeam.Variance")
	list, err := g.noises(variance, sums, squares, counts)
	if err != nil {
		return beam.PCollection{}, err
	}
	all := fault.After(s, "squares", beam.CombinePerKey(s, &squaresFn{}, beam.ParDo(s, squaresOf, g.people.parts)))
	f := &varianceFn{Noise: list, Bounds: g.people.bounds, Units: g.people.units}
	answers := beam.ParDo(s, f, beam.CoGroupByKey(s, g.totals, all))
	return beam.Reshuffle(s, fault.After(s, "answers", answers)), nil
}

// squares are an exact, and secret, sum of squares of values in units: (High·2^64 + Middle)·2^64 + Low.
type squares struct{ High, Middle, Low uint64 }

func (a squares) plus(b squares) squares {
	low, carry := bits.Add64(a.Low, b.Low, 0)
	middle, carry := bits.Add64(a.Middle, b.Middle, carry)
	return squares{a.High + b.High + carry, middle, low}
}

func (a squares) value() *big.Int {
	sum := new(big.Int).SetUint64(a.High)
	for _, word := range []uint64{a.Middle, a.Low} {
		sum.Add(sum.Lsh(sum, 64), new(big.Int).SetUint64(word))
	}
	return sum
}

func squaresOf(partition string, c contribution) (string, squares) {
	var sum squares
	for _, v := range c.Values {
		magnitude := uint64(max(v, -v)) // below 2^62
		high, low := bits.Mul64(magnitude, magnitude)
		sum = sum.plus(squares{Middle: high, Low: low})
	}
	return partition, sum
}

type squaresFn struct{}

func (f *squaresFn) MergeAccumulators(a, b squares) squares { return a.plus(b) }

// varianceFn answers about each partition that is released.
type varianceFn struct {
	Noise  []noise
	Bounds Bounds
	Units  units
}

func (f *varianceFn) Setup() error { return setup(f.Noise) }

// ProcessElement has no squares of a partition without rows.
func (f *varianceFn) ProcessElement(partition string, released func(*totals) bool, all func(*squares) bool, emit func(string, float64)) error {
	var t totals
	var q squares
	if !released(&t) {
		return nil
	}
	all(&q)
	var y [3]float64
	for i, x := range f.numbers(t, q) {
		var err error
		if y[i], err = f.Noise[i].add(partition, x); err != nil {
			return noNoise(err)
		}
	}
	h2, _ := f.Bounds.squareHalf().Float64()
	n := math.Max(y[2], 1)
	mean := y[0] / n
	emit(partition, min(max(y[1]/n+h2-mean*mean, 0), 2*h2))
	return nil
}

// numbers are those of a partition that get noise.
func (f *varianceFn) numbers(t totals, q squares) [3]*big.Rat {
	n, c := big.NewRat(t.Rows, 1), f.Bounds.middle()
	sum := f.Units.value(t.SumHigh, t.SumLow)
	unit := exact.PowerOfTwo(f.Units.Exponent)
	square := new(big.Rat).SetInt(q.value())
	square.Mul(square, unit.Mul(unit, unit))
	// Σ(x - c)² = Σx² - 2c·Σ(x - c) - n·c²
	nc := new(big.Rat).Mul(n, c)
	sum.Sub(sum, nc)
	twice := new(big.Rat).Mul(c, sum)
	square.Sub(square, twice.Add(twice, twice))
	square.Sub(square, nc.Mul(nc, c))
	return [3]*big.Rat{sum, square.Sub(square, new(big.Rat).Mul(n, f.Bounds.squareHalf())), n}
}

// middle is that of the range.
func (b Bounds) middle() *big.Rat {
	c := new(big.Rat).Add(exact.Rational(b.Lower), exact.Rational(b.Upper))
	return c.Mul(c, big.NewRat(1, 2))
}

// half is that of the width of the range, and squareHalf half of its square.
func (b Bounds) half() *big.Rat {
	h := new(big.Rat).Sub(exact.Rational(b.Upper), exact.Rational(b.Lower))
	return h.Mul(h, big.NewRat(1, 2))
}

func (b Bounds) squareHalf() *big.Rat {
	h := b.half()
	return h.Mul(h.Mul(h, h), big.NewRat(1, 2))
}

// Place is what Top names in the place of this number, from 1.
type Place struct {
	Place     int
	Partition string
}

// Top names the k partitions with the most people, the first one first and without their numbers, as a
// PCollection<Place>: each by permute-and-flip among those that are left, for a k-th of epsilon (docs/proofs/selection.md). A
// person adds to all numbers in one direction, so in how many partitions a person counts costs nothing.
// The partitions have to be public: those that were selected are as many as the data decide. One worker holds all their numbers.
func (g *Groups) Top(s beam.Scope, k int, epsilon float64) (beam.PCollection, error) {
	none := beam.PCollection{}
	bad := check.In("noisebeam")
	bad.Want(len(g.keys) > 0, "partitions", "selected", "those of Public: what to name is chosen among partitions that are known")
	bad.Want(k >= 1 && k <= max(len(g.keys), 1), "k", k, "1 to %d, the number of partitions", max(len(g.keys), 1))
	bad.Budget(epsilon, 0)
	if err := bad.Err(); err != nil {
		return none, err
	}
	part := exact.FloatDown(new(big.Rat).Quo(exact.Rational(epsilon), big.NewRat(int64(k), 1)))
	f := &topFn{Keys: g.keys, K: k, Epsilon: part, Secret: newSecret()}
	if err := f.Setup(); err != nil {
		return none, err
	}
	if err := g.people.budget.Charge(account.Cost{Epsilon: part, Times: k}); err != nil {
		return none, err
	}
	s = s.Scope("noisebeam.Top")
	numbers := beam.GroupByKey(s, beam.AddFixedKey(s, beam.ParDo(s, &indexFn{Keys: g.keys}, g.totals)))
	return beam.Reshuffle(s, fault.After(s, "answers", beam.ParDo(s, f, numbers))), nil
}

// indexFn numbers partitions.
type indexFn struct {
	Keys  []string
	index map[string]int64
}

func (f *indexFn) Setup() {
	f.index = make(map[string]int64, len(f.Keys))
	for i, k := range f.Keys {
		f.index[k] = int64(i)
	}
}

func (f *indexFn) ProcessElement(partition string, t totals) count {
	return count{f.index[partition], t.People}
}

// topFn names partitions.
type topFn struct {
	Keys    []string
	K       int
	Epsilon float64 // of one choice
	Secret  secret
	s       *permuteflip.MostSelector
}

func (f *topFn) Setup() (err error) {
	f.s, err = permuteflip.NewMost(permuteflip.Most{Candidates: len(f.Keys), Choices: f.K, Epsilon: f.Epsilon, Spread: 1})
	return err
}

// ProcessElement draws with words that are for all numbers.
func (f *topFn) ProcessElement(_ int, counts func(*count) bool, emit func(Place)) error {
	people := make([]int64, len(f.Keys))
	for c := (count{}); counts(&c); {
		people[c.Place] = c.People
	}
	text := sha256.New()
	for _, n := range people {
		_, _ = text.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
	}
	chosen, err := f.s.Select(people, f.Secret.key().Stream("top", string(text.Sum(nil))))
	if err != nil {
		return check.Errorf("noisebeam", nil, "no partition could be chosen: %w", err)
	}
	for place, i := range slices.All(chosen) {
		emit(Place{place + 1, f.Keys[i]})
	}
	return nil
}
