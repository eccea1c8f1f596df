// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"math/big"
	"slices"
	"sort"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/tables"
)

// maxWeights bounds those of a law.
const maxWeights = 1 << 14

// Law is symmetric noise on the integers, private at a shift by one as it says. Its mean is 0.
type Law struct {
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
	// Weights are those of 0, 1, 2, …, times 2^-64 probabilities, and −1, −2, … weigh as much: the
	// first and twice the others sum to 2^64.
	Weights []uint64 `json:"weights,string"`
	// TailRatio, if not 0, is 2^64·ρ: the last weight is that of all beyond together, and each is ρ
	// times as likely as the one before.
	TailRatio uint64 `json:"tail_ratio,string,omitempty"`
}

// table returns the law as a table, which proves it.
func (l *Law) table() (*tables.Table, error) {
	if n := len(l.Weights); n < 2 || n > maxWeights || l.Weights[n-1] == 0 {
		return nil, check.Field("plan", "noise.weights", fmt.Sprintf("%d weights", n), fmt.Sprintf("2 to %d, the last of them above 0", maxWeights))
	}
	all := slices.Clone(l.Weights[1:])
	slices.Reverse(all)
	all = append(all, l.Weights...)
	t, err := tables.New(tables.Spec{
		Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: l.Epsilon, Delta: l.Delta, Sensitivity: 1}, Query: dp.IntegerQuery, Loss: loss.L2},
		Grid:    tables.Grid{PointsPerCell: 1, CellsPerSensitivity: 1, FirstCell: 1 - len(l.Weights)},
		Weights: all, TailRatio: l.TailRatio,
	})
	if err != nil {
		return nil, check.Errorf("plan", nil, "noise: %w", err)
	}
	return t, nil
}

// Geometric returns two-sided geometric noise, which is optimal for delta = 0: it is
// (epsilon, 0)-private at a shift by one. epsilon is to be from 2^-18 to 40.
func Geometric(epsilon float64) (Law, error) {
	if !(epsilon >= 0x1p-18 && epsilon <= 40) {
		return Law{}, check.Field("plan", "epsilon", epsilon, "a number from 2^-18 to 40 for geometric noise")
	}
	ratio := exact.ExpUp(-epsilon, 64)
	// Of 2^64 either side takes the least w with which 0 is at most e^epsilon times as likely as 1:
	// 2^64 − 2w <= e^epsilon·w·(1−ρ).
	one := new(big.Int).Lsh(big.NewInt(1), 64)
	per := new(big.Int).Sub(one, ratio)
	per.Mul(per, exact.ExpDown(epsilon, exact.RatioBits)).Add(per, new(big.Int).Lsh(big.NewInt(2), 64+exact.RatioBits))
	w := exact.Ceil(new(big.Rat).SetFrac(new(big.Int).Lsh(one, 64+exact.RatioBits), per)).Uint64()
	return Law{Epsilon: epsilon, Weights: []uint64{-(2 * w), w}, TailRatio: ratio.Uint64()}, nil
}

// drawer draws from a law.
type drawer struct {
	upTo  []uint64 // the weights of 0, ±1, … up to each, but for the last, which is what is left
	ratio uint64
}

func newDrawer(l *Law) drawer {
	d := drawer{make([]uint64, len(l.Weights)-1), l.TailRatio}
	sum := l.Weights[0]
	for i := range d.upTo {
		d.upTo[i] = sum
		sum += 2 * l.Weights[i+1]
	}
	return d
}

// draw returns a number with exactly the law, if words are independent and uniform.
func (d *drawer) draw(word func() (uint64, error)) (int64, error) {
	u, err := word()
	if err != nil {
		return 0, err
	}
	i := sort.Search(len(d.upTo), func(i int) bool { return u < d.upTo[i] })
	if i == 0 {
		return 0, nil
	}
	// Which side: u above the first upTo is one of an even number of words, each half a sign.
	n, sign := int64(i), int64(1)
	if (u-d.upTo[i-1])&1 == 1 {
		sign = -1
	}
	for d.ratio > 0 && i == len(d.upTo) {
		w, err := word()
		if err != nil {
			return 0, err
		}
		if w >= d.ratio {
			break
		}
		n++
	}
	return sign * n, nil
}
