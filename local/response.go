// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"fmt"
	"math"
	"math/big"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/limits"
)

// minResponse is the least epsilon of randomized response: the laws of below a thousand
// categories then still differ by many units of 2^-64.
const minResponse = 1e-9

// RandomizedResponse returns k-ary randomized response on the labels, k of them (Warner 1965;
// Kairouz, Bonawitz & Ramage 2016): the category itself is answered with probability about
// e^epsilon/(e^epsilon+k−1), each other one with 1/(e^epsilon+k−1). The weight of another
// one is the least integer that keeps the promise, so the probabilities are right to k/2^64.
//
// Guarantee: it is (epsilon, 0)-private, and no mechanism with this promise answers the
// category itself with a larger probability on average, but for a relative 1e-9; both are
// proved by Verify, which has been called. The error wraps dp.ErrInvalid unless 1e-9 <=
// epsilon <= 100 and there are from 2 to limits.LocalNodes labels, all different.
func RandomizedResponse(labels []string, epsilon float64) (*Verified, error) {
	k := len(labels)
	if !(epsilon >= minResponse && epsilon <= 100) {
		return nil, check.Field("local", "epsilon", epsilon, fmt.Sprintf("a number from %g to 100", minResponse))
	}
	if k < 2 || k > limits.LocalNodes {
		return nil, check.Field("local", "categories", fmt.Sprintf("%d", k), fmt.Sprintf("from 2 to %d", limits.LocalNodes))
	}
	// The truth has the weight 2^64 − (k−1)·w, at most E·w: w >= 2^64/(E+k−1).
	ratio := exact.ExpDown(epsilon, exact.RatioBits)
	ratio.Add(ratio, new(big.Int).Lsh(big.NewInt(int64(k-1)), exact.RatioBits))
	other := exact.DivUp(new(big.Int), new(big.Int).Lsh(big.NewInt(1), 64+exact.RatioBits), ratio).Uint64()
	// Multipliers of the bound (k−1)/(e^ε+k−1) on the probability of a wrong answer: with
	// Σ_i φ(c_i/k − λ) = (k−1)(1/k − λ) − e^ε·λ = 0 for every answer.
	price := float64(k-1) / float64(k) / (math.Exp(epsilon) + float64(k-1)) * (1 - 0x1p-40)
	s := Spec{
		Epsilon: epsilon, Values: Values{Kind: Category, Labels: labels}, Objective: Mean,
		AnswerLabels: labels, Dual: &Dual{Totals: make([]float64, k)},
	}
	for i := range labels {
		row, costs := make([]uint64, k), make([]float64, k)
		for j := range row {
			row[j], costs[j] = other, 1
		}
		row[i], costs[i] = -(uint64(k-1) * other), 0 // 2^64 − (k−1)·other
		s.Rows, s.Costs, s.Dual.Totals[i] = append(s.Rows, row), append(s.Costs, costs), price
	}
	r, err := New(context.Background(), s)
	if err != nil {
		return nil, err
	}
	return r.Verify()
}
