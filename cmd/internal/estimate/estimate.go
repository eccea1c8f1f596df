// SPDX-License-Identifier: Apache-2.0

// Package estimate estimates means and shares of values from noisy ones or answers of a local randomizer, with
// intervals that hold with a probability.
package estimate

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/internal/concentration"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/local"
)

// MeanError bounds how far the mean of n unbiased answers may be above and below the mean of
// their values: each but for half of the probability 1 − level, whatever the values are.
func MeanError(s *local.Spec, n int, level float64) (above, below float64) {
	rows := make([][]float64, len(s.Rows))
	for i, row := range s.Rows {
		rows[i] = formfile.Probabilities(row)
	}
	laws := concentration.New(s.Answers, s.Nodes, rows, s.Values.Kind == local.Real)
	return laws.Radius(int64(n), (1-level)/2)
}

// Shares estimates shares from answers: a person who answers y counts weight[i][y] for
// category i. It is unbiased but for what bias bounds.
type Shares struct {
	weight [][]float64
	bias   []float64
	// square[i][k] and most[i] bound the variance of what a person of category k counts for
	// i, and how far it is from its mean.
	square [][]float64
	most   []float64
}

// NewShares inverts the law of the answers: of all weights B with B·Mᵀ = 1, M_ky the
// probability of y for category k, those of weighted least squares, whose variance is the
// least for values of equal shares. ok is false if there are none.
//
// Nothing rests on how well it is inverted. What B·Mᵀ is off by is computed, with a bound on
// the rounding of that, (m+4)·2^-53·Σ|M·B| for m answers.
func NewShares(s *local.Spec) (v Shares, ok bool) {
	k, m := len(s.Rows), len(s.AnswerLabels)
	law, scaled := mat.NewDense(k, m, nil), mat.NewDense(k, m, nil)
	for y := range m {
		mean := 0.0
		for i, row := range s.Rows {
			law.Set(i, y, float64(row[y])*0x1p-64)
			mean += law.At(i, y) / float64(k)
		}
		for i := range k {
			if mean > 0 {
				scaled.Set(i, y, law.At(i, y)/mean)
			}
		}
	}
	var gram, weights mat.Dense
	gram.Mul(scaled, law.T())
	if err := weights.Solve(&gram, scaled); err != nil { // singular, or nearly so
		return v, false
	}
	for i := range k {
		b := weights.RawRowView(i)
		bias, squares := 0.0, make([]float64, k)
		for c := range k {
			sum, size, square := 0.0, 0.0, 0.0
			for y, p := range law.RawRowView(c) {
				sum += p * b[y]
				size += p * math.Abs(b[y])
				square += p * b[y] * b[y]
			}
			rounding := float64(m+4) * 0x1p-53 * size
			want := 0.0
			if c == i {
				want = 1
			}
			bias = math.Max(bias, math.Abs(sum-want)+rounding)
			squares[c] = math.Max(0, square-sum*sum) + float64(m+4)*0x1p-50*square
		}
		v.weight, v.bias, v.square = append(v.weight, b), append(v.bias, bias), append(v.square, squares)
		v.most = append(v.most, slices.Max(b)-slices.Min(b))
		if !(bias < 1e-6) {
			return v, false
		}
	}
	return v, true
}

// Share estimates the share of category i, with an interval that holds it, together with
// those of all others, but for a probability of 1 − level.
//
// The answers are independent given the values, so by Bernstein's inequality the estimate is
// off by at most √(2v·t/n) + 2·most·t/(3n), v the mean variance of a person and t =
// log(2k/(1−level)). v is at most the largest; and as it depends on the share, the interval
// found with that bounds it better, in the same event.
func (v Shares) Share(i int, counts []int, n int, level float64) (estimate, lower, upper float64) {
	sum, size := 0.0, 0.0
	for y, c := range counts {
		sum += float64(c) * v.weight[i][y]
		size += float64(c) * math.Abs(v.weight[i][y])
	}
	people := float64(n)
	estimate, upper = sum/people, 1
	t := math.Log(2*float64(len(v.weight))/(1-level)) * (1 + 1e-9)
	others := 0.0
	for c, square := range v.square[i] {
		if c != i {
			others = math.Max(others, square)
		}
	}
	for range 8 {
		own := upper
		if v.square[i][i] < others {
			own = lower
		}
		variance := own*v.square[i][i] + (1-own)*others
		half := (math.Sqrt(2*variance*t/people)+2*v.most[i]*t/(3*people))*(1+1e-9) + v.bias[i] + float64(len(counts)+8)*0x1p-52*size/people
		lower, upper = math.Max(lower, estimate-half), math.Min(upper, estimate+half)
		if lower > upper { // an event of a probability of at most 1 − level
			return estimate, 0, 1
		}
	}
	return estimate, lower, upper
}
