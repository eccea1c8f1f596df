// SPDX-License-Identifier: Apache-2.0

package counts

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/concentration"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/proof"
)

// Estimate is what is known of a query: the mean over all people of a coefficient of their category.
type Estimate struct {
	Query        string
	Value        float64 // unbiased
	Lower, Upper float64 // of an interval
}

// Tally counts answers, one for each person.
type Tally struct {
	space  proof.Space
	counts []int64
	n      int64
}

// Tally returns a Tally of no answers.
func (s *Strategy) Tally() *Tally {
	return &Tally{s.Answers(), make([]int64, len(s.spec.Rows[0])), 0}
}

// Add adds an answer. The error wraps dp.ErrInvalid for what is none of the Answers.
func (t *Tally) Add(answer proof.Value) error {
	c, ok := answer.(proof.Code)
	if !ok || !t.space.Contains(c) {
		return check.Field("counts", "answer", check.Shortened(fmt.Sprint(answer)), t.space.String())
	}
	t.counts[c.B]++
	t.n++
	return nil
}

// Answers returns how many were added.
func (t *Tally) Answers() int64 { return t.n }

// Counts returns how many people gave each answer.
func (t *Tally) Counts() []int64 { return slices.Clone(t.counts) }

// maxIntervalTerms bounds the work of the intervals of all queries.
const maxIntervalTerms = 1 << 28

// Estimate returns unbiased estimates of all queries from how many people gave each answer, at
// least one, with intervals that contain the truth with the probability level at least: all of them together
// if joint, or else each. They hold for any data (docs/proofs/concentration.md). The error wraps dp.ErrInvalid.
func (s *Strategy) Estimate(answers []int64, level float64, joint bool) ([]Estimate, error) {
	m, n := len(s.spec.Rows[0]), int64(0)
	for y, c := range answers {
		if c < 0 {
			return nil, check.Field("counts", fmt.Sprintf("answers[%d]", y), c, "a number of people")
		}
		n += c
	}
	switch {
	case len(answers) != m:
		return nil, check.Field("counts", "answers", fmt.Sprintf("%d numbers", len(answers)), fmt.Sprintf("%d, one for each answer", m))
	case n == 0:
		return nil, check.Field("counts", "answers", "0 people", "one or more")
	case !(level > 0 && level < 1):
		return nil, check.Field("counts", "level", level, "a number between 0 and 1")
	}
	e, err := s.estimator(n, level, joint)
	if err != nil {
		return nil, err
	}
	return e.estimate(answers), nil
}

// estimator has what answers of so many people count, and how far the means may be off.
type estimator struct {
	n       float64
	queries []queried
}

type queried struct {
	name           string
	values, sizes  []float64 // of each answer, and the sum of the magnitudes that it is a sum of
	above, below   float64   // how far the mean may be off
	least, largest float64   // of the coefficients
}

func (s *Strategy) estimator(n int64, level float64, joint bool) (*estimator, error) {
	columns := s.columns()
	if columns == nil {
		return nil, check.Field("counts", "rows", "such", noEstimate)
	}
	k, m := s.Categories(), len(s.spec.Rows[0])
	matrix, names := s.spec.Workload.Matrix(k), s.spec.Workload.names(k, s.Label)
	rows := make([][]float64, k)
	for j, row := range s.spec.Rows {
		rows[j] = formfile.Probabilities(row)
	}
	alpha := (1 - level) / 2
	if joint {
		alpha /= float64(len(matrix))
	}
	out := &estimator{float64(n), make([]queried, len(matrix))}
	for i, query := range matrix {
		q := queried{name: names[i], values: make([]float64, m), sizes: make([]float64, m), least: slices.Min(query), largest: slices.Max(query)}
		for y := range m {
			for j, w := range query {
				q.values[y] += w * columns[j][y]
				q.sizes[y] += math.Abs(w * columns[j][y])
			}
		}
		q.above, q.below = concentration.New(q.values, query, rows, false).Within(maxIntervalTerms/len(matrix)).Radius(n, alpha)
		// Values are sums of k products of rounded numbers, and so are their means.
		rounding := float64(k+8) * 0x1p-51 * slices.Max(q.sizes)
		q.above, q.below = q.above+rounding, q.below+rounding
		out.queries[i] = q
	}
	return out, nil
}

func (e *estimator) estimate(answers []int64) []Estimate {
	out := make([]Estimate, len(e.queries))
	for i, q := range e.queries {
		sum, size := 0.0, 0.0
		for y, c := range answers {
			sum += float64(c) * q.values[y]
			size += float64(c) * q.sizes[y]
		}
		value, rounding := sum/e.n, float64(len(answers)+8)*0x1p-51*size/e.n
		x := Estimate{q.name, value, max(value-q.above-rounding, q.least), min(value+q.below+rounding, q.largest)}
		if x.Lower > x.Upper { // an event of a probability of at most 1 − level
			x.Lower, x.Upper = q.least, q.largest
		}
		out[i] = x
	}
	return out
}

// columns returns B⁻¹·c_y/2^32 of the decoder for each category and answer, to the nearest float64;
// nil if there is none.
func (s *Strategy) columns() [][]float64 {
	d := newDecoder(s.spec.Rows, nil)
	if d == nil {
		return nil
	}
	k, m := len(d.scores), len(d.scores[0])
	columns := make([][]float64, k)
	sum, term := new(big.Int), new(big.Int)
	for j := range columns {
		columns[j] = make([]float64, m)
		for y := range m {
			sum.SetInt64(0)
			for i := range k {
				sum.Add(sum, term.Mul(d.inverse[j][i], d.scores[i][y]))
			}
			x, _ := new(big.Float).SetInt(sum).Float64()
			columns[j][y] = math.Ldexp(x, -fixedBits-scoreBits)
		}
	}
	return columns
}

// Sampling returns what the total variance is more by, times the number of people, if these are a
// random sample of equally likely categories and what is estimated is about where they come from.
func (s *Strategy) Sampling() float64 {
	k := s.Categories()
	sum := 0.0
	for _, query := range s.spec.Workload.Matrix(k) {
		mean, square := 0.0, 0.0
		for _, x := range query {
			mean += x / float64(k)
			square += x * x / float64(k)
		}
		sum += square - mean*mean
	}
	return sum
}
