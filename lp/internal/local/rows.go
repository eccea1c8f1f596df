// SPDX-License-Identifier: Apache-2.0

package local

import (
	"cmp"
	"math"
	"math/big"
	"slices"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/lp/internal/meet"
)

// Unbiased weights. A law is rounded to weights W_j with the sum 2^64; that their mean is
// the value x exactly, Σ W_j·y_j = 2^64·x, is a linear equation in integers once all
// answers are multiples of one unit. What rounding misses is made up by moving weight
// between answers: with the differences d_j of the answers from the heaviest one, moving
// k_j units each adds Σ k_j·d_j, and with integers k_j that is any multiple of the greatest
// common divisor of the d_j. The Euclidean algorithm finds k_j; on many numbers at a time,
// always the largest less the next (Brun 1919), it finds small ones.

// exactRows rounds laws to weights that sum to 2^64, and whose means are the nodes exactly
// if they are to be unbiased.
func exactRows(laws [][]float64, nodes, answers []float64, unbiased bool) ([][]uint64, error) {
	unit := 0 // all answers are multiples of 2^-unit
	for _, y := range answers {
		unit = max(unit, fractionBits(y))
	}
	positions := make([]*big.Int, len(answers))
	for j, y := range answers {
		positions[j] = scaled(y, unit)
	}
	rows := make([][]uint64, len(laws))
	for i, x := range nodes {
		var err error
		if rows[i], err = exactRow(laws[i], x, answers, positions, unit, unbiased); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func exactRow(law []float64, x float64, answers []float64, positions []*big.Int, unit int, unbiased bool) ([]uint64, error) {
	row, left := weights(law)
	heavy := heaviest(law)
	add(row, heavy[0], left)
	if unbiased {
		if fractionBits(x) > unit+64 {
			return nil, check.Errorf("lp", meet.ErrInfeasible, "unbiased = true: the value %g is no multiple of 2^-%d, so weights of 2^-64 give no answers with exactly this mean", x, unit+64)
		}
		miss := scaled(x, unit+64)
		for j, w := range row {
			miss.Sub(miss, new(big.Int).Mul(w, positions[j]))
		}
		if !level(row, positions, heavy, movers(law, heavy), miss) {
			return nil, check.Errorf("lp", meet.ErrInfeasible, "unbiased = true: no weights of 2^-64 give the answers the mean %g exactly", x)
		}
	}
	out := make([]uint64, len(row))
	for j, w := range row {
		if !w.IsUint64() {
			return nil, check.Errorf("lp", meet.ErrInfeasible, "the answer %g to the value %g has a probability that no weight can have", answers[j], x)
		}
		out[j] = w.Uint64()
	}
	return out, nil
}

func fractionBits(x float64) int { return exact.Rational(x).Denom().BitLen() - 1 }

func scaled(x float64, bits int) *big.Int {
	r := exact.Rational(x)
	n := new(big.Int).Lsh(r.Num(), uint(bits)) //nolint:gosec // bits >= 0
	return n.Quo(n, r.Denom())
}

// weights rounds a law to units of 2^-64, and returns what is left of 2^64.
func weights(law []float64) (row []*big.Int, left *big.Int) {
	left = new(big.Int).Lsh(big.NewInt(1), 64)
	for _, p := range law {
		w, _ := new(big.Float).SetMantExp(big.NewFloat(math.Max(p, 0)), 64).Int(nil)
		row = append(row, w)
		left.Sub(left, w)
	}
	return row, left
}

func add(row []*big.Int, j int, w *big.Int) { row[j] = new(big.Int).Add(row[j], w) }

func heaviest(law []float64) []int {
	order := make([]int, len(law))
	for j := range order {
		order[j] = j
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(law[b], law[a]) })
	return order
}

type move struct {
	value *big.Int // above 0
	units []*big.Int
}

// moverShare is the share of the largest probability from which an answer takes part in
// moves at first: those of light ones would change their ratios.
const moverShare = 1.0 / 256

func movers(law []float64, heavy []int) int {
	n := 1
	for n < len(heavy) && (n < 2 || law[heavy[n]] >= moverShare*law[heavy[0]]) {
		n++
	}
	return n
}

// level moves weight between answers, of the first n heavy ones first, until the mean
// misses nothing. The more there are, the fewer units each has to give.
func level(row, positions []*big.Int, heavy []int, n int, miss *big.Int) bool {
	if miss.Sign() == 0 {
		return true
	}
	for ; ; n = min(2*n, len(heavy)) {
		if units, ok := solveMoves(positions, heavy[:n], miss); ok {
			for k, j := range heavy[:n] {
				add(row, j, units[k])
			}
			return true
		}
		if n == len(heavy) {
			return false
		}
	}
}

// solveMoves returns how many units each of the answers is to gain; they sum to 0.
func solveMoves(positions []*big.Int, from []int, miss *big.Int) ([]*big.Int, bool) {
	total := make([]*big.Int, len(from))
	for k := range total {
		total[k] = new(big.Int)
	}
	var moves []move
	for k := 1; k < len(from); k++ {
		v := move{new(big.Int).Sub(positions[from[k]], positions[from[0]]), make([]*big.Int, len(from))}
		for i := range v.units {
			v.units[i] = new(big.Int)
		}
		sign := int64(v.value.Sign())
		v.value.Abs(v.value)
		v.units[k].SetInt64(sign)
		v.units[0].SetInt64(-sign)
		moves = append(moves, v)
	}
	order := func(a, b move) int { return b.value.Cmp(a.value) }
	slices.SortStableFunc(moves, order)
	rest := new(big.Int).Set(miss)
	times := new(big.Int)
	subtract := func(from []*big.Int, units []*big.Int) {
		for i := range from {
			from[i].Sub(from[i], new(big.Int).Mul(times, units[i]))
		}
	}
	for len(moves) > 0 && rest.Sign() != 0 {
		largest := moves[0]
		times.Quo(rest, largest.value)
		rest.Sub(rest, new(big.Int).Mul(times, largest.value))
		times.Neg(times)
		subtract(total, largest.units)
		if len(moves) == 1 {
			break
		}
		times.Quo(largest.value, moves[1].value)
		largest.value.Sub(largest.value, new(big.Int).Mul(times, moves[1].value))
		subtract(largest.units, moves[1].units)
		if moves = moves[1:]; largest.value.Sign() > 0 {
			at, _ := slices.BinarySearchFunc(moves, largest, order)
			moves = slices.Insert(moves, at, largest)
		}
	}
	return total, rest.Sign() == 0
}
