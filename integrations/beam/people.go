// SPDX-License-Identifier: Apache-2.0

package noisebeam

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"

	"github.com/noisewright/noisewright/integrations/beam/internal/fault"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/powers"
)

// Row is a record of a person: it belongs to a partition and has a value. Counts do not
// use the value. Rows of nobody, Person "", and rows whose value is not a number do not
// count. A Partition is text: what of it is not UTF-8 becomes U+FFFD.
type Row struct {
	Person, Partition string
	Value             float64
}

// Bounds are what of a person counts at most. They are public: they must not be chosen in
// view of the data.
type Bounds struct {
	// Partitions is in how many partitions a person counts, chosen at random among
	// those that the person has rows in.
	Partitions int
	// Values is how many rows of a person count in one partition, chosen at random.
	Values int
	// Lower and Upper are what values are clipped to, finite and in ascending order; both
	// 0 where nothing but counts is released.
	Lower, Upper float64
	// Private, if not 0, is the epsilon with which each Sum and Mean finds, for one partition, powers of two to clip values to, of up
	// to 2^64, where nobody knows Lower and Upper, which are 0 then. Its tables are for bounds of -1 and 1.
	Private float64
}

const maxValues = 1 << 20

func (b Bounds) validate() error {
	bad := check.In("noisebeam")
	checkPartitions(bad, b.Partitions)
	bad.Want(b.Values >= 1 && b.Values <= maxValues, "values", b.Values, "the most that count of a person in one partition, 1 to %d", maxValues)
	if b.Private != 0 {
		bad.Want(check.Positive(b.Private), "private", b.Private, "a finite epsilon above 0, or 0")
		bad.Want(b.Lower == 0 && b.Upper == 0, "lower and upper", number(b.Lower)+", "+number(b.Upper), "none, as they are found")
	} else if b.Lower != 0 || b.Upper != 0 {
		checkRange(bad, b.Lower, b.Upper)
		most := float64(b.Values) * math.Max(math.Abs(b.Lower), math.Abs(b.Upper))
		bad.Want(!math.IsInf(most, 0), "values times the larger of lower and upper", "infinite", "a float64")
		if bad.Err() == nil {
			u := b.units()
			bad.Want(u.Low <= u.High, "lower and upper", number(b.Lower)+", "+number(b.Upper), "farther apart: of values that narrow, no %d could be added up exactly", b.Values)
		}
	}
	return bad.Err()
}

// units are the integers that stand for values while they are added up: multiples of 2^Exponent
// from Low to High. So the sum of all values that count of a person in a partition is below 2^62
// units, and sums are exact in any order: with float64s the order of a sum, which the data and
// the engine decide, could change it by more than the sensitivity.
//
// Where bounds are found, they are the bits of float64s, whose sums mean nothing.
type units struct {
	Exponent  int
	Low, High int64
	Bits      bool
}

func (b Bounds) units() units {
	if b.Private != 0 {
		return units{Bits: true}
	}
	most := math.Max(math.Abs(b.Lower), math.Abs(b.Upper)) * float64(b.Values)
	if most == 0 {
		return units{}
	}
	_, e := math.Frexp(most) // most < 2^e
	u := units{Exponent: e - 61}
	unit := exact.PowerOfTwo(u.Exponent)
	u.Low = exact.Ceil(new(big.Rat).Quo(exact.Rational(b.Lower), unit)).Int64()
	u.High = exact.Floor(new(big.Rat).Quo(exact.Rational(b.Upper), unit)).Int64()
	return u
}

// of returns the clipped value in units.
func (u units) of(x float64) int64 {
	if u.Bits {
		if x = min(max(x, -powers.Largest), powers.Largest); powers.Of(x) == powers.Zero {
			x = 0
		}
		return int64(math.Float64bits(x)) //nolint:gosec // and back again
	}
	x = math.RoundToEven(math.Ldexp(x, -u.Exponent))
	switch { // float64(High) may be above High
	case x <= float64(u.Low):
		return u.Low
	case x >= float64(u.High):
		return u.High
	}
	return int64(x)
}

// value returns what so many units are.
func (u units) value(high int64, low uint64) *big.Rat {
	sum := new(big.Int).Lsh(big.NewInt(high), 64)
	sum.Add(sum, new(big.Int).SetUint64(low))
	return new(big.Rat).Mul(new(big.Rat).SetInt(sum), exact.PowerOfTwo(u.Exponent))
}

// totals are exact, and secret, sums of what counts in a partition.
type totals struct {
	People, Rows int64
	SumHigh      int64 // the sum in units is SumHigh·2^64 + SumLow
	SumLow       uint64
}

// plus returns the totals of both.
func (t totals) plus(o totals) totals {
	low, carry := bits.Add64(t.SumLow, o.SumLow, 0)
	return totals{t.People + o.People, t.Rows + o.Rows, t.SumHigh + o.SumHigh + int64(carry), low}
}

// contribution is what counts of a person in a partition, in units.
type contribution struct {
	Partition string
	Values    []int64
}

func (c contribution) totals() totals {
	t := totals{People: 1, Rows: int64(len(c.Values))}
	var sum int64 // below 2^62
	for _, v := range c.Values {
		sum += v
	}
	t.SumLow = uint64(sum)
	t.SumHigh = sum >> 63 // the sign
	return t
}

// People are rows of which only what the bounds allow counts.
type People struct {
	bounds Bounds
	units  units
	budget *Budget
	parts  beam.PCollection // KV<string, contribution>, by partition
}

// Bound chooses what counts: of every person at most Bounds.Values rows in each of at most
// Bounds.Partitions partitions. rows is a PCollection<Row>. The choice is random, and
// uniform, for each person independently of all others; it is the same when an engine makes it
// again of the same rows, in whatever order. The windows and triggers of rows are
// dropped, as a person would count in each of them: all rows are one global window.
//
// The error wraps dp.ErrInvalid.
func Bound(s beam.Scope, rows beam.PCollection, b Bounds, budget *Budget) (*People, error) {
	return bound(s, rows, b, budget, false)
}

// bound is Bound, or chooses the earliest partitions of a person, which are cells of one column.
func bound(s beam.Scope, rows beam.PCollection, b Bounds, budget *Budget, earliest bool) (*People, error) {
	if err := b.validate(); err != nil {
		return nil, err
	}
	if budget == nil {
		return nil, check.Field("noisebeam", "budget", "none", "one from NewBudget")
	}
	if err := once(); err != nil {
		return nil, err
	}
	s = s.Scope("noisebeam.Bound")
	u := b.units()
	rows = beam.WindowInto(s, window.NewGlobalWindows(), rows)
	copies := beam.CombinePerKey(s, &addFn{}, beam.ParDo(s, &clipFn{u}, rows))
	ranked := beam.ParDo(s, &rankFn{b.Values, newSecret(), earliest}, fault.After(s, "copies", copies))
	chosen := beam.CombinePerKey(s, &chooseFn{b.Partitions, b.Values}, ranked)
	parts := beam.ParDo(s, partsOf, fault.After(s, "chosen", chosen))
	return &People{b, u, budget, fault.After(s, "parts", parts)}, nil
}

// clipFn gives each row the key of its person, partition and value, under which equal rows
// are counted: how many there are, and not in what order they come, decides which are chosen.
type clipFn struct{ Units units }

// ProcessElement leaves out what is not a number, and what is nobody's.
func (f *clipFn) ProcessElement(r Row, emit func(string, int64)) {
	if !math.IsNaN(r.Value) && r.Person != "" {
		emit(copiesKey(personKey(r.Person), strings.ToValidUTF8(r.Partition, "\ufffd"), f.Units.of(r.Value)), 1)
	}
}

// addFn adds numbers.
type addFn struct{}

func (f *addFn) MergeAccumulators(a, b int64) int64 { return a + b }

// personKey returns UTF-8 that is of this person alone. An engine that decodes keys as text
// would make one person of those whose names differ in what is not UTF-8.
func personKey(person string) string {
	if utf8.ValidString(person) {
		return "t" + person
	}
	return "h" + hex.EncodeToString([]byte(person))
}

// copiesKey joins the three so that no others give the same.
func copiesKey(person, partition string, value int64) string {
	return whole(int64(len(person))) + ":" + person + whole(value) + ":" + partition
}

// apart takes the key apart again.
func apart(key string) (person, partition string, value int64) {
	length, rest, _ := strings.Cut(key, ":")
	n, _ := strconv.Atoi(length) // copiesKey wrote it
	person = rest[:n]
	number, partition, _ := strings.Cut(rest[n:], ":")
	value, _ = strconv.ParseInt(number, 10, 64)
	return person, partition, value
}

// pick is a row of a person that may be chosen: those of the partitions with the least
// ranks are, and in each of these the rows with the least priorities.
type pick struct {
	Partition      string
	Rank, Priority uint64
	Value          int64
}

// rankFn gives rows their ranks and priorities: random words that are for the person and the
// partition, and for the person, the partition, the value and the number of the copy.
// So they are independent, and the same ones if an engine asks again.
// The ranks of a series are the numbers of the cells.
type rankFn struct {
	Values   int
	Secret   secret
	Earliest bool
}

// ProcessElement emits no more copies than could be chosen, those with the least priorities.
func (f *rankFn) ProcessElement(key string, copies int64, emit func(string, pick)) {
	person, partition, value := apart(key)
	sum := f.Secret.key().Sum("rank", person, partition)
	rank := binary.LittleEndian.Uint64(sum[:])
	if f.Earliest {
		rank, _ = cellOf(partition) // placeFn wrote it
	}
	words := f.Secret.key().Stream("priority", person, partition, whole(value))
	var least []uint64
	for range copies {
		if least = append(least, words.Uint64()); len(least) >= 2*f.Values+16 {
			slices.Sort(least)
			least = least[:f.Values]
		}
	}
	slices.Sort(least)
	for _, priority := range least[:min(len(least), f.Values)] {
		emit(person, pick{partition, rank, priority, value})
	}
}

// chooseFn chooses what counts of a person.
type chooseFn struct{ Partitions, Values int }

// choice are picks of a person, those that are out perhaps among them.
type choice struct {
	Picks []pick
	Full  int // number of picks at which some are left out
}

func (f *chooseFn) CreateAccumulator() choice { return choice{} }

func (f *chooseFn) AddInput(c choice, p pick) choice {
	return f.trimmed(choice{append(c.Picks, p), c.Full})
}

func (f *chooseFn) MergeAccumulators(a, b choice) choice {
	return f.trimmed(choice{append(a.Picks, b.Picks...), max(a.Full, b.Full)})
}

// trimmed leaves out what others are before, if it is time to.
func (f *chooseFn) trimmed(c choice) choice {
	if len(c.Picks) < c.Full {
		return c
	}
	c.Picks = f.least(c.Picks)
	c.Full = 2*len(c.Picks) + 16
	return c
}

// least returns the picks that are chosen among these, in order. Picks that are not told apart
// have the same partition and value.
func (f *chooseFn) least(picks []pick) []pick {
	slices.SortFunc(picks, func(a, b pick) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Partition, b.Partition),
			cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Value, b.Value))
	})
	var out []pick
	partitions, rows := 0, 0
	for _, p := range picks {
		if len(out) == 0 || p.Partition != out[len(out)-1].Partition {
			partitions, rows = partitions+1, 0
		}
		if partitions > f.Partitions {
			break
		}
		if rows++; rows <= f.Values {
			out = append(out, p)
		}
	}
	return out
}

// chosen is what counts of a person.
type chosen struct{ Parts []contribution }

func (f *chooseFn) ExtractOutput(c choice) chosen {
	var out chosen
	for _, p := range f.least(c.Picks) {
		last := len(out.Parts) - 1
		if last < 0 || out.Parts[last].Partition != p.Partition {
			out.Parts = append(out.Parts, contribution{Partition: p.Partition})
			last++
		}
		out.Parts[last].Values = append(out.Parts[last].Values, p.Value)
	}
	return out
}

// partsOf gives what counts the key of its partition.
func partsOf(_ string, c chosen, emit func(string, contribution)) {
	for _, part := range c.Parts {
		emit(part.Partition, contribution{Values: part.Values})
	}
}
