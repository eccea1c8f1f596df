// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"math"

	"github.com/noisewright/noisewright/lp/internal/engine/cuts"
	"github.com/noisewright/noisewright/lp/internal/meet"
)

// OfLaws states a program of many laws. It is solved complete up to some 1,500 masses, as the
// time of the interior point method goes with their cube.
func OfLaws(p cuts.Problem) *Program {
	const mostComplete = 1500
	return &Program{
		Problem: p, Complete: len(p.Cost) <= mostComplete, Start: p.Scale,
		Generation: cuts.Options{
			Batch: cuts.Batch{Least: 4, Share: 2, Worst: 0.05},
			// Simplex needs many degenerate steps on the large ones, where interior point
			// takes some forty iterations whatever the size; and a point inside the optimal
			// face shows more of the terms that matter than a vertex does, which saves rounds.
			Interior: 3000,
		},
	}
}

const (
	// HintSlack is as cuts.TermSlack, for the laws of a coarser program.
	HintSlack = 0.6
	// HintFloor is a mass below which nothing is told from 0.
	HintFloor = 1e-9
)

// Laws numbers the variables of a program with a law over some answers for each of some inputs,
// input by input. If the program is its own mirror image (average a solution with its image),
// the mass of an answer to an input shares a variable with that of their images, as counted
// from the other ends.
type Laws struct {
	Inputs, Answers int
	Mirrored        bool
}

// Own returns the number of inputs, from the first on, whose laws are not images of those before.
func (l Laws) Own() int {
	if l.Mirrored {
		return (l.Inputs + 1) / 2
	}
	return l.Inputs
}

// Share is the share of a variable, or of the price of a row, that each of its images has.
func (l Laws) Share() float64 {
	if l.Mirrored {
		return 0.5
	}
	return 1
}

// Count returns the number of variables.
func (l Laws) Count() int {
	if l.Mirrored {
		return (l.Inputs*l.Answers + 1) / 2
	}
	return l.Inputs * l.Answers
}

// Variables returns those of every input.
func (l Laws) Variables() [][]int {
	rows := make([][]int, l.Inputs)
	for k := range rows {
		rows[k] = make([]int, l.Answers)
		for j := range rows[k] {
			at := k*l.Answers + j
			if image := l.Inputs*l.Answers - 1 - at; l.Mirrored {
				at = min(at, image)
			}
			rows[k][j] = at
		}
	}
	return rows
}

// Of returns the laws of all inputs that the masses of variables make.
func (l Laws) Of(mass []float64) [][]float64 {
	laws := make([][]float64, l.Inputs)
	for k, row := range l.Variables() {
		for _, v := range row {
			laws[k] = append(laws[k], mass[v])
		}
	}
	return laws
}

// Caps returns the exponent of the unit of multipliers, in which the prices of all limits and
// caps sum to less than 2^meet.DualBits, and in it the prices of the caps of all inputs, nil if
// limit, what their costs were divided by, is 0. Other costs were divided by unit. Those of the
// Own inputs are the rows after their totals. It reports whether there are prices at all.
func (l Laws) Caps(s *Solution, limits int, unit, limit float64) (exponent int, prices []int64, some bool) {
	var total float64
	for i := range limits {
		total += s.Price(i) * unit
	}
	var caps []float64
	if limit > 0 {
		caps = make([]float64, l.Inputs)
		for k := range l.Own() {
			price := max(0, -s.Dual(l.Own()+k)) * unit / limit
			total += price
			caps[k] += price * l.Share()
			if l.Mirrored {
				caps[l.Inputs-1-k] += price * l.Share()
			}
		}
	}
	if total <= 0 {
		return 0, nil, false
	}
	_, exponent = math.Frexp(total)
	exponent -= meet.DualBits
	for _, price := range caps {
		prices = append(prices, int64(math.Ldexp(price, -exponent)))
	}
	return exponent, prices, true
}
