package noisebeam

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
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
}

const maxValues = 1 << 20

func (b Bounds) validate() error {
	bad := check.In("noisebeam")
	checkPartitions(bad, b.Partitions)
	if b.Values < 1 || b.Values > maxValues {
		bad.Bad("values", b.Values, fmt.Sprintf("the most that count of a person in one partition, 1 to %d", maxValues))
	}
	if b.Lower != 0 || b.Upper != 0 {
		checkRange(bad, b.Lower, b.Upper)
		if math.IsInf(float64(b.Values)*math.Max(math.Abs(b.Lower), math.Abs(b.Upper)), 0) {
			bad.Bad("values times the larger of lower and upper", "infinite", "a float64")
		}
		if bad.Err() == nil {
			if u := b.units(); u.Low > u.High {
				bad.Bad("lower and upper", number(b.Lower)+", "+number(b.Upper), fmt.Sprintf("farther apart: of values that narrow, no %d could be added up exactly", b.Values))
			}
		}
	}
	return bad.Err()
}

// units are the integers that stand for values while they are added up: multiples of
// 2^Exponent from Low to High. So the sum of all values that count of a person in a
// partition is below 2^62 units, and sums are exact in any order: with float64s the order
// of a sum, which the data and the engine decide, could change it by more than the
// sensitivity.
type units struct {
	Exponent  int
	Low, High int64
}

func (b Bounds) units() units {
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
// uniform, for each person independently of all others. The windows and triggers of rows are
// dropped, as a person would count in each of them: all rows are one global window.
//
// The error wraps dp.ErrInvalid.
func Bound(s beam.Scope, rows beam.PCollection, b Bounds, budget *Budget) (*People, error) {
	if err := b.validate(); err != nil {
		return nil, err
	}
	if budget == nil {
		return nil, check.Field("noisebeam", "budget", "none", "one from NewBudget")
	}
	s = s.Scope("noisebeam.Bound")
	u := b.units()
	rows = beam.WindowInto(s, window.NewGlobalWindows(), rows)
	values := beam.ParDo(s, &clipFn{u}, rows)
	samples := beam.CombinePerKey(s, &sampleFn{b.Values}, values)
	byPerson := beam.ParDo(s, personOf, samples)
	parts := beam.ParDo(s, &partitionsFn{b.Partitions, newSeed()}, beam.GroupByKey(s, byPerson))
	return &People{b, u, budget, parts}, nil
}

// clipFn gives each row the key of its person and partition.
type clipFn struct{ Units units }

// ProcessElement leaves out what is not a number, and what is nobody's.
func (f *clipFn) ProcessElement(r Row, emit func(string, int64)) {
	if !math.IsNaN(r.Value) && r.Person != "" {
		emit(pairKey(personKey(r.Person), strings.ToValidUTF8(r.Partition, "\ufffd")), f.Units.of(r.Value))
	}
}

// personKey returns UTF-8 that is of this person alone. An engine that decodes keys as text
// would make one person of those whose names differ in what is not UTF-8.
func personKey(person string) string {
	if utf8.ValidString(person) {
		return "t" + person
	}
	return "h" + hex.EncodeToString([]byte(person))
}

// pairKey joins the two so that no other two give the same.
func pairKey(person, partition string) string {
	return strconv.Itoa(len(person)) + ":" + person + partition
}

// personOf takes the key apart again.
func personOf(key string, values []int64) (person string, c contribution) {
	for i := range len(key) {
		if key[i] == ':' {
			n, _ := strconv.Atoi(key[:i]) // pairKey wrote it
			return key[i+1 : i+1+n], contribution{key[i+1+n:], values}
		}
	}
	return "", contribution{Values: values} // unreachable: every key has a colon
}

// sampleFn chooses some of the values of a person in a partition: those with the
// least priorities, which are random.
type sampleFn struct{ Values int }

// sample are chosen values with their priorities.
type sample struct {
	Priorities []uint64
	Values     []int64
}

func (f *sampleFn) CreateAccumulator() sample { return sample{} }

func (f *sampleFn) AddInput(s sample, value int64) sample {
	return f.trimmed(sample{append(s.Priorities, random()), append(s.Values, value)}, 2*f.Values)
}

func (f *sampleFn) MergeAccumulators(a, b sample) sample {
	return f.trimmed(sample{append(a.Priorities, b.Priorities...), append(a.Values, b.Values...)}, 2*f.Values)
}

func (f *sampleFn) ExtractOutput(s sample) []int64 { return f.trimmed(s, f.Values).Values }

// trimmed leaves out the values with the largest priorities, if there are more than some.
func (f *sampleFn) trimmed(s sample, above int) sample {
	if len(s.Values) <= above {
		return s
	}
	order := make([]int, len(s.Values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(s.Priorities[i], s.Priorities[j]) })
	var out sample
	for _, i := range order[:f.Values] {
		out.Priorities, out.Values = append(out.Priorities, s.Priorities[i]), append(out.Values, s.Values[i])
	}
	return out
}

// partitionsFn chooses some of the partitions of a person: those with the least hashes of
// the seed, the person and the partition. An engine that computes part of this again, and
// keeps what it has of the rest, gets the same choice; with fresh random numbers a person
// could count in partitions of two choices.
type partitionsFn struct {
	Partitions int
	Seed       []byte
}

// ranked is a contribution with its hash.
type ranked struct {
	hash [sha256.Size]byte
	contribution
}

// ProcessElement keeps the least ones, of distinct partitions.
func (f *partitionsFn) ProcessElement(person string, all func(*contribution) bool, emit func(string, contribution)) {
	var kept []ranked
	var c contribution
	for all(&c) {
		if kept = append(kept, ranked{f.hash(person, c.Partition), c}); len(kept) >= 2*f.Partitions {
			kept = f.least(kept)
		}
		c = contribution{}
	}
	for _, c := range f.least(kept) {
		emit(c.Partition, contribution{Values: c.Values})
	}
}

func (f *partitionsFn) hash(person, partition string) [sha256.Size]byte {
	return sha256.Sum256(append(slices.Clip(f.Seed), pairKey(person, partition)...))
}

func (f *partitionsFn) least(list []ranked) []ranked {
	slices.SortFunc(list, func(a, b ranked) int { return bytes.Compare(a.hash[:], b.hash[:]) })
	return list[:min(len(list), f.Partitions)]
}
