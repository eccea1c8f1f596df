// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"math"
	"slices"

	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/lp/internal/meet"
)

// flows are multipliers of the lower bound of kernels (docs/proofs/kernel-lower-bound.md)
// made from the prices λ of a pureProgram, without a program for delta > 0.
//
// At an answer j a cell k lacks λ_k − cost[k][j], if that is above 0, and otherwise has
// room, a ratio-th of what it is below 0. A multiplier y_{k,m,j} serves what k lacks from
// the room of m. So for each answer the multipliers are a flow from the cells that lack
// something to those with room, along the pairs that are protected. With delta = 0 any
// such flow would do. With delta > 0 the largest multiplier of each pair has a price, and
// the flows of all answers should use a pair alike: each is made close to one common flow,
// and that one in turn close to the largest multipliers.
type flows struct {
	pureProgram
	delta   float64
	prices  []float64
	common  [][]float64 // by k and m
	answers []answerFlow
	bound   float64
}

// answerFlow is the flow of one answer.
type answerFlow struct {
	from, to, far    []int // cells that lack something, with room, and with room out of reach
	lack, room, more []float64
	damp             []float64   // of each cell in to, at most 1
	direct           [][]float64 // by from and to
	// relayed frees room in the cells of to by using that of far ones.
	relayed [][]float64 // by to and far
}

// Tuning of the flows; any values give correct results.
const (
	flowRounds   = 40
	flowBalances = 50
	flowStall    = 2e-5 // the relative gain of a round that is not worth another
	// mostMultipliers keeps certificates to some ten megabytes. Twice as many are refused.
	mostMultipliers = 1 << 20
)

func newFlows(p pureProgram, prices []float64, delta float64) *flows {
	f := &flows{pureProgram: p, delta: delta, prices: prices}
	for j := range p.cost {
		f.answers = append(f.answers, f.answer(j))
	}
	f.common = meet.Matrix(len(f.cost), len(f.cost))
	for k := range f.common {
		from, to := f.first[k], f.last[k]+1
		copy(f.common[k][from:to], f.cost[k][from:to])
		f.common[k][k] = 0
	}
	f.normalize(f.common)
	for range flowRounds {
		before := f.bound
		largest := f.round()
		if f.bound <= before*(1+flowStall) {
			break
		}
		f.common = largest
		f.normalize(f.common)
	}
	return f
}

// normalize lets what leaves each cell sum to its price, which is what it lacks where
// its cost is 0.
func (f *flows) normalize(y [][]float64) {
	for k, row := range y {
		sum := meet.Total(row)
		for m := range row {
			if sum != 0 {
				row[m] *= max(f.prices[k], 0) / sum
			}
		}
	}
}

func (f *flows) answer(j int) answerFlow {
	var a answerFlow
	reached := make([]bool, len(f.prices))
	for k, price := range f.prices {
		if lack := price - f.cost[k][j]; lack > 0 {
			a.from, a.lack = append(a.from, k), append(a.lack, lack)
			for m := f.first[k]; m <= f.last[k]; m++ {
				reached[m] = true
			}
		}
	}
	for m, price := range f.prices {
		room := (f.cost[m][j] - price) / f.ratio
		switch {
		case room <= 0:
		case reached[m]:
			a.to, a.room, a.damp = append(a.to, m), append(a.room, room), append(a.damp, 1)
		default:
			a.far, a.more = append(a.far, m), append(a.more, room)
		}
	}
	return a
}

// relay uses the room of far cells, in proportion to the common flow, and returns the
// room that this leaves in the cells of to.
func (a *answerFlow) relay(common [][]float64, ratio float64) (room []float64) {
	room = append(room, a.room...)
	a.relayed = block(common, a.to, a.far)
	for i := range a.far {
		var sum float64
		for _, row := range a.relayed {
			sum += row[i]
		}
		for t, row := range a.relayed {
			if sum > 0 {
				row[i] *= a.more[i] / sum
			}
			room[t] += row[i] / ratio
		}
	}
	return room
}

func block(x [][]float64, rows, columns []int) [][]float64 {
	out := meet.Matrix(len(rows), len(columns))
	for i, k := range rows {
		for t, m := range columns {
			out[i][t] = x[k][m]
		}
	}
	return out
}

// balance scales the common flow, its rows to what is lacking and its columns, where
// they exceed it, to the room (Sinkhorn & Knopp 1967).
func (a *answerFlow) balance(common [][]float64, ratio float64) {
	room := a.relay(common, ratio)
	y := block(common, a.from, a.to)
	raise, used := make([]float64, len(a.from)), make([]float64, len(a.to))
	for range flowBalances {
		clear(used)
		for i, row := range y {
			var sum float64
			for t, x := range row {
				sum += x * a.damp[t]
			}
			raise[i] = 0
			if sum > 0 {
				raise[i] = a.lack[i] / sum
			}
			for t, x := range row {
				used[t] += x * raise[i]
			}
		}
		for t := range used {
			if a.damp[t] = 1; used[t] > room[t] {
				a.damp[t] = room[t] / used[t]
			}
		}
	}
	for i, row := range y {
		for t := range row {
			row[t] *= raise[i] * a.damp[t]
		}
	}
	a.direct = y
}

// round finds the flows of all answers, the bound that they prove, up to rounding, and
// the largest multiplier of each pair.
func (f *flows) round() (largest [][]float64) {
	largest = meet.Matrix(len(f.cost), len(f.cost))
	least := slices.Repeat([]float64{math.Inf(1)}, len(f.cost))
	for j := range f.answers {
		a := &f.answers[j]
		a.balance(f.common, f.ratio)
		bracket := make([]float64, len(f.cost))
		for k := range bracket {
			bracket[k] = f.cost[k][j]
		}
		a.each(func(k, m int, y float64) {
			bracket[k] += y
			bracket[m] -= f.ratio * y
			largest[k][m] = max(largest[k][m], y)
		})
		for k, x := range bracket {
			least[k] = min(least[k], x)
		}
	}
	f.bound = 0
	for k := range least {
		f.bound += least[k]
		for _, y := range largest[k] {
			f.bound -= f.delta * y
		}
	}
	return largest
}

func (a *answerFlow) each(visit func(k, m int, y float64)) {
	all := func(flow [][]float64, from, to []int) {
		for i, row := range flow {
			for t, y := range row {
				if y > 0 {
					visit(from[i], to[t], y)
				}
			}
		}
	}
	all(a.direct, a.from, a.to)
	all(a.relayed, a.to, a.far)
}

// dual states the flows, times unit, as the multipliers of a certificate: nil if they are too many.
func (f *flows) dual(unit float64) *kernels.Dual {
	n := len(f.cost)
	d := &kernels.Dual{Cells: n, Mirrored: f.Mirrored}
	multipliers := make(map[nodePair][]float64) // from answer 0 on
	var total float64
	top := make(map[nodePair]float64)
	for j := range f.answers {
		f.answers[j].each(func(k, m int, y float64) {
			if f.Mirrored && (n-1-k < k || n-1-k == k && n-1-m < m) {
				return // its mirror image stands for it
			}
			pair := nodePair{k, m}
			for len(multipliers[pair]) < j {
				multipliers[pair] = append(multipliers[pair], 0)
			}
			multipliers[pair] = append(multipliers[pair], y)
			total += max(0, y-top[pair]) * unit
			top[pair] = max(top[pair], y)
		})
	}
	if total <= 0 {
		return d
	}
	_, exp := math.Frexp(total)
	d.Exponent = exp - meet.DualBits
	count := 0
	for k := range n {
		for m := f.first[k]; m <= f.last[k]; m++ {
			if first, y := meet.Integers(multipliers[nodePair{k, m}], math.Ldexp(unit, -d.Exponent)); y != nil {
				d.Add(k, m, first, meet.Trimmed(y))
				count += len(y)
			}
		}
	}
	if count > mostMultipliers {
		return nil
	}
	return d
}
