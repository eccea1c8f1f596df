// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"fmt"
	"io"
	"math"
	"math/big"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
)

const (
	// maxCandidates bounds time and memory: 12 bytes and some 100 ns for each candidate.
	maxCandidates = 1 << 24
	// maxDenominator, maxRecords and maxTotal keep every distance, in units of 1/denominator, and
	// every sensitivity a uint64, and epsilon times a distance below 2^63.
	maxDenominator = 1 << 20
	maxRecords     = 1 << 30
	maxTotal       = 1 << 35
	maxEpsilon     = 100
)

// Query asks for a quantile of numbers that were rounded to Candidates values.
type Query struct {
	// Quantile is q, from 0, the least number, to 1, the largest; its denominator is at most 2^20.
	Quantile   *big.Rat
	Candidates int
	Epsilon    float64 // above 0 and at most 100; it means its exact value
	Records    int     // the most of one person, from 1 to 2^30
	// Replace says which data sets are neighbors: those where the records of a person are
	// replaced by others, at most Records, or else where they are added or removed.
	Replace bool
}

// Selector answers a Query. It is immutable and safe for concurrent use.
type Selector struct {
	numerator, denominator uint64 // of q
	candidates             int
	coins                  // of distances in units of 1/denominator ranks
}

// coins are those of permute-and-flip: a candidate's shows heads with probability e^(-rate·distance).
type coins struct {
	// rate is epsilon by the most that the distances of two candidates can change apart.
	rate *big.Rat
	// unit is the least distance with rate·distance >= 1.
	unit uint64
}

func newCoins(epsilon float64, spread uint64) coins {
	c := coins{rate: exact.Rational(epsilon), unit: math.MaxUint64}
	c.rate.Quo(c.rate, new(big.Rat).SetInt(new(big.Int).SetUint64(spread)))
	if u := exact.Ceil(new(big.Rat).Inv(c.rate)); u.IsUint64() {
		c.unit = u.Uint64()
	}
	return c
}

// New returns the Selector of a query. All bad fields are reported, wrapping dp.ErrInvalid.
func New(q Query) (*Selector, error) {
	errs := check.In("selection")
	if q.Quantile == nil {
		errs.Bad("quantile", "none", "a number from 0 to 1")
	} else if text := q.Quantile.RatString(); q.Quantile.Sign() < 0 || q.Quantile.Cmp(big.NewRat(1, 1)) > 0 {
		errs.Bad("quantile", text, "a number from 0 to 1")
	} else {
		errs.Want(q.Quantile.Denom().Cmp(big.NewInt(maxDenominator)) <= 0, "quantile", text, "a fraction whose denominator is at most %d", maxDenominator)
	}
	errs.Want(q.Candidates >= 1 && q.Candidates <= maxCandidates, "candidates", q.Candidates, "a number from 1 to %d", maxCandidates)
	errs.Want(q.Epsilon > 0 && q.Epsilon <= maxEpsilon, "epsilon", q.Epsilon, "a number above 0 and at most %d", maxEpsilon)
	errs.Want(q.Records >= 1 && q.Records <= maxRecords, "records", q.Records, "a number from 1 to %d", maxRecords)
	if err := errs.Err(); err != nil {
		return nil, err
	}
	s := &Selector{numerator: q.Quantile.Num().Uint64(), denominator: q.Quantile.Denom().Uint64(), candidates: q.Candidates}
	// docs/proofs/selection.md derives both.
	perRecord := max(s.numerator, s.denominator-s.numerator)
	if q.Replace {
		perRecord = s.denominator
	}
	s.coins = newCoins(q.Epsilon, 2*perRecord*uint64(q.Records)) //nolint:gosec // positive
	return s, nil
}

// Select returns the index of a candidate, where counts[i] is the number of records that were
// rounded to candidate i, in ascending order of their values.
//
// Guarantee (docs/proofs/selection.md): if the words read from entropy are independent and
// uniform, the answer is (epsilon, 0)-private. The time it takes depends on the data.
//
// The error wraps dp.ErrInvalid if counts are not one for each candidate or exceed 2^35 records
// in all, and sampler.ErrEntropy if there is no entropy; nothing drawn is returned then.
func (s *Selector) Select(counts []uint64, entropy io.Reader) (int, error) {
	distances, err := s.distances(counts)
	if err != nil {
		return 0, err
	}
	if entropy == nil {
		return 0, check.Errorf("selection", check.ErrEntropy, "no entropy reader is given")
	}
	w := newWords(entropy)
	index := s.choose(distances, w)
	if err := w.close(); err != nil {
		return 0, err
	}
	return index, nil
}

// distances returns by how many ranks the target, q times the number of records, is
// below or above those of each candidate, in units of 1/denominator. One is 0: the
// ranks of the candidates join up from 0 to the number of records.
func (s *Selector) distances(counts []uint64) ([]uint64, error) {
	if len(counts) != s.candidates {
		return nil, check.Field("selection", "counts", len(counts), fmt.Sprintf("one for each of %d candidates", s.candidates))
	}
	var total uint64
	for _, c := range counts {
		if c > maxTotal || total+c > maxTotal {
			return nil, check.Field("selection", "counts", fmt.Sprintf("more than %d", total), fmt.Sprintf("at most %d records", uint64(maxTotal)))
		}
		total += c
	}
	target := s.numerator * total
	distances := make([]uint64, len(counts))
	below := uint64(0)
	for i, c := range counts {
		low := below * s.denominator
		below += c
		high := below * s.denominator
		if target < low {
			distances[i] = low - target
		} else if target > high {
			distances[i] = target - high
		}
	}
	return distances, nil
}

// choose returns the first candidate, in an order that is uniform among all, whose coin shows heads.
// One has a distance of 0, so the loop ends.
func (c coins) choose(distances []uint64, w *words) int {
	return permuteAndFlip(len(distances), w.below, func(i int) bool { return c.heads(distances[i], w) })
}

// permuteAndFlip returns the first of so many candidates that shows heads, in an order that numbers
// below the one given, uniform ones, decide.
func permuteAndFlip(candidates int, below func(n uint64) uint64, heads func(i int) bool) int {
	order := make([]uint32, candidates)
	for i := range order {
		order[i] = uint32(i) //nolint:gosec // at most maxCandidates
	}
	for i := range order {
		j := i + int(below(uint64(len(order)-i))) //nolint:gosec // less than the length
		order[i], order[j] = order[j], order[i]
		if heads(int(order[i])) {
			return int(order[i])
		}
	}
	return 0 // there was no entropy
}

// heads is true with probability e^(-rate·distance): that of as many coins of e^-1 as
// the exponent has units, and of one for its fraction.
func (c coins) heads(distance uint64, w *words) bool {
	if w.err != nil {
		return false
	}
	if distance == 0 {
		return true
	}
	// Most candidates are far off, and their first coin mostly shows tails.
	if distance >= c.unit && !w.expMinusOne() {
		return false
	}
	num := new(big.Int).SetUint64(distance)
	units, rest := num.QuoRem(num.Mul(num, c.rate.Num()), c.rate.Denom(), new(big.Int))
	for n := units.Uint64(); n > 1; n-- { // the first was above
		if !w.expMinusOne() {
			return false
		}
	}
	return w.expFraction(rest, c.rate.Denom())
}

// RankErrorUpper bounds the error of the answer, whatever the data: with at least the
// probability level, the distance in ranks of q times the number of records from the
// ranks of the answer, #(x < answer) to #(x <= answer) of the rounded records, is below it.
//
// The error is at or above t with a probability of at most
// (candidates-1)/2·e^(-epsilon·t/(2·sensitivity)); this is the least t in units of
// 1/denominator for which that is proved to be at most 1-level, and 0 for a single candidate.
// The error of the result wraps dp.ErrInvalid unless 0 < level < 1.
func (s *Selector) RankErrorUpper(level float64) (*big.Rat, error) {
	t, err := s.errorUpper(s.candidates, 1, level)
	if err != nil {
		return nil, err
	}
	return new(big.Rat).SetFrac(t, new(big.Int).SetUint64(s.denominator)), nil
}

// errorUpper returns the least t for which it is proved that so many choices among so many candidates
// all have a distance below t, with at least the probability level.
func (c coins) errorUpper(candidates, choices int, level float64) (*big.Int, error) {
	if !(level > 0 && level < 1) {
		return nil, check.Field("selection", "level", level, "a number above 0 and below 1")
	}
	if candidates == 1 {
		return new(big.Int), nil
	}
	miss := exact.Rational(level)
	miss.Sub(big.NewRat(1, 1), miss)
	// enough reports whether choices·(candidates-1)/2·e^-(rate·t) <= miss.
	const places = 128
	want := new(big.Rat).Quo(miss, big.NewRat(int64(candidates-1)*int64(choices), 2))
	want.Mul(want, exact.PowerOfTwo(places))
	enough := func(t *big.Int) bool {
		exponent := new(big.Rat).Mul(c.rate, new(big.Rat).SetInt(t))
		x := min(exact.FloatDown(exponent), exact.MaxExponent)
		return new(big.Rat).SetInt(exact.ExpUp(-x, places)).Cmp(want) <= 0
	}
	// rate·t >= 85 is enough: 2^24·2^24·e^-85 < 2^-74 < 1-level.
	high := exact.Ceil(new(big.Rat).Quo(big.NewRat(85, 1), c.rate))
	low := new(big.Int)
	one := big.NewInt(1)
	for low.Cmp(high) < 0 {
		middle := new(big.Int).Add(low, high)
		if middle.Rsh(middle, 1); enough(middle) {
			high = middle
		} else {
			low = middle.Add(middle, one)
		}
	}
	return low, nil
}

// Grid is a set of candidates: so many values from lower to upper, evenly spaced.
type Grid struct {
	lower, upper float64
	last         float64 // index of upper
}

// NewGrid returns a grid of 2 to 2^24 candidates from lower to upper, both finite and
// lower < upper. The error wraps dp.ErrInvalid.
func NewGrid(lower, upper float64, candidates int) (Grid, error) {
	errs := check.In("selection")
	ascend := check.Finite(lower, upper) && lower < upper
	errs.Want(ascend, "upper", upper, "a finite number above the lower bound, which is finite too")
	errs.Want(!ascend || upper/2-lower/2 > 0, "upper", upper, "a bound further from the lower one")
	errs.Want(candidates >= 2 && candidates <= maxCandidates, "candidates", candidates, "a number from 2 to %d", maxCandidates)
	return Grid{lower, upper, float64(candidates - 1)}, errs.Err()
}

// Index returns the index of the candidate next to x, which is not NaN: the first one
// for x below lower, the last one for x above upper. It does not decrease in x.
func (g Grid) Index(x float64) int {
	x = min(max(x, g.lower), g.upper)
	// In halves, as upper-lower may be infinite.
	return int(math.Round((x/2 - g.lower/2) / (g.upper/2 - g.lower/2) * g.last))
}

// Value returns the candidate of an index, to a rounding of the float64.
func (g Grid) Value(i int) float64 {
	lower, upper := exact.Rational(g.lower), exact.Rational(g.upper)
	x := upper.Sub(upper, lower)
	x.Mul(x, big.NewRat(int64(i), int64(g.last)))
	v, _ := x.Add(x, lower).Float64()
	return v
}
