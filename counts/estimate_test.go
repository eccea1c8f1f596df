// SPDX-License-Identifier: Apache-2.0

package counts

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/concentration"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/proof"
)

// TestTally: it counts what was added, and refuses what is no answer, which counts nowhere.
func TestTally(t *testing.T) {
	tally := example(t).Tally()
	for _, y := range []int64{2, 0, 2, 2} {
		if err := tally.Add(proof.Code{B: y}); err != nil {
			t.Fatal(err)
		}
	}
	for _, y := range []proof.Value{proof.Code{B: 3}, proof.Code{B: -1}, proof.Code{A: 1, B: 1}, proof.Category("low"), proof.Number(1), nil} {
		if err := tally.Add(y); !errors.Is(err, check.ErrInvalid) {
			t.Errorf("%v is an answer: %v", y, err)
		}
	}
	if got := tally.Counts(); !slices.Equal(got, []int64{1, 0, 3}) || tally.Answers() != 4 {
		t.Errorf("%v of %d answers", got, tally.Answers())
	}
}

// TestLevels: levels are between 0 and 1; and intervals of all together are those of each by itself with what may
// fail shared among the queries.
func TestLevels(t *testing.T) {
	s, answers := example(t), []int64{4000, 3000, 2000}
	for _, level := range []float64{0, 1, -0.1, math.NaN()} {
		if list, err := s.Estimate(answers, level, false); list != nil || !errors.Is(err, check.ErrInvalid) || !strings.HasPrefix(err.Error(), "counts: level = ") {
			t.Errorf("level %g: %v, %v", level, list, err)
		}
	}
	joint, err := s.Estimate(answers, 0.75, true)
	each, other := s.Estimate(answers, 0.875, false) // of two queries
	if err = errors.Join(err, other); err != nil || len(joint) != 2 || !slices.Equal(joint, each) {
		t.Errorf("%v and %v, %v", joint, each, err)
	}
}

// TestRoundings: an interval has what is as far from the estimate in rationals as a mean may be off, and so whatever
// roundings are on the way; and no end of it is beyond the coefficients. The answers are all of one kind, so that either sum of
// roundings is the larger one for some, and some have estimates of a much larger size than others.
func TestRoundings(t *testing.T) {
	r := rand.New(rand.NewPCG(27, 28))
	cut, beyond := 0, 0
	for n := range 16 {
		k := 2 + n%3
		s := random(t, r, k, k+n%12, 0.02+2*r.Float64(), Workload{Kind: Ranges})
		spec := s.Spec()
		queries := spec.Workload.Matrix(k)
		exactly, columns := unbiased(spec.Rows, queries), s.columns()
		rows := make([][]float64, k)
		for j, row := range spec.Rows {
			rows[j] = formfile.Probabilities(row)
		}
		people := int64(1) << (3 * n)
		e, err := s.estimator(people, 0.9, false)
		if err != nil {
			t.Fatal(err)
		}
		for i, query := range queries {
			values := make([]float64, len(spec.Rows[0]))
			for y := range values {
				for j, w := range query {
					values[y] += w * columns[j][y]
				}
			}
			sizes := make([]float64, len(values))
			for y := range sizes {
				for j, w := range query {
					sizes[y] += math.Abs(w * columns[j][y])
				}
			}
			largest := slices.Max(sizes)
			above, below := concentration.New(values, query, rows, false).Within(maxIntervalTerms/len(queries)).Radius(people, 0.05)
			// Each value is a sum of k products of rounded numbers.
			for _, more := range []float64{e.queries[i].above - above, e.queries[i].below - below} {
				if !(more >= float64(k+1)*0x1p-53*largest && more <= 1e-12*largest+1e-15*above) {
					t.Errorf("values of up to %g: %g is added for their roundings", largest, more)
				}
			}
			for y := range values {
				answers := make([]int64, len(values))
				answers[y] = people
				got := e.estimate(answers)[i]
				low := new(big.Rat).Sub(exactly[i][y], exact.Rational(above))
				high := new(big.Rat).Add(exactly[i][y], exact.Rational(below))
				if low.Cmp(big.NewRat(1, 1)) > 0 || high.Sign() < 0 { // which is unlikely, and nothing is said then
					low, high = new(big.Rat), big.NewRat(1, 1)
					beyond++
				}
				if low.Sign() <= 0 || high.Cmp(big.NewRat(1, 1)) >= 0 {
					cut++
				}
				if got.Lower > 0 && got.Upper < 1 && got.Upper-got.Lower > above+below+1e-12*largest {
					t.Errorf("%d people: from %g to %g, want %g and %g around the estimate", people, got.Lower, got.Upper, above, below)
				}
				if low.Sign() > 0 && exact.Rational(got.Lower).Cmp(low) > 0 || high.Cmp(big.NewRat(1, 1)) < 0 && exact.Rational(got.Upper).Cmp(high) < 0 ||
					got.Lower < 0 || got.Upper > 1 || got.Lower > got.Upper {
					t.Errorf("%d people: from %g to %g, want all of 0 to 1 that is from %s to %s", people, got.Lower, got.Upper, low.FloatString(20), high.FloatString(20))
				}
			}
		}
	}
	if cut == 0 || beyond == 0 {
		t.Errorf("%d ends were cut, and %d intervals were beyond all shares", cut, beyond)
	}
}

// TestRoundingOfFew: of a few answers whose estimate is exact nothing is cut off.
func TestRoundingOfFew(t *testing.T) {
	e := estimator{4, []queried{{"", []float64{1, 3}, []float64{1, 3}, 0, 0, -9, 9}}}
	if got := e.estimate([]int64{2, 2})[0]; got.Value != 2 || !(got.Lower <= 2 && got.Lower > 2-1e-13) || !(got.Upper >= 2 && got.Upper < 2+1e-13) {
		t.Errorf("%+v, want hardly more than 2", got)
	}
}

// TestRoundingOfSums: a thousand terms of 0.6 units in the last place of the first, each of which is added as one unit.
func TestRoundingOfSums(t *testing.T) {
	const terms, first = 1000, 1 << 20
	answers, values := []int64{first}, []float64{first}
	exactly := big.NewRat(first*first, 1)
	for range terms {
		answers, values = append(answers, 1), append(values, 0.6*0x1p-12)
		exactly.Add(exactly, exact.Rational(0.6*0x1p-12))
	}
	n := float64(first + terms)
	exactly.Quo(exactly, exact.Rational(n))
	for _, sign := range []float64{1, -1} {
		signed := slices.Clone(values)
		for y := range signed {
			signed[y] *= sign
		}
		want := new(big.Rat).Mul(exactly, exact.Rational(sign))
		e := estimator{n, []queried{{"", signed, values, 0, 0, -2 * first, 2 * first}}}
		if got := e.estimate(answers)[0]; exact.Rational(got.Lower).Cmp(want) > 0 || exact.Rational(got.Upper).Cmp(want) < 0 || got.Value == got.Lower {
			t.Errorf("from %v to %v, want one with %s", got.Lower, got.Upper, want.FloatString(30))
		}
	}
}
