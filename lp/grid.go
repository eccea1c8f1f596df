package lp

import (
	"math"
	"math/big"

	"github.com/noisewright/noisewright/noise"
)

// bound says which side of the optimum a program computes.
type bound int

const (
	upper bound = iota
	lower
)

// grid describes the cells of one program in units of the sensitivity: cell j
// is [(j−½)/K, (j+½)/K), for |j| ≤ half.
type grid struct {
	k    int // K, cells per sensitivity
	half int // H
}

// centred lays out the program of one bound (docs/how-it-works.md):
//
//   - upper: the masses are those of a noise that is uniform inside each cell,
//     costs are cell averages of the loss, and there is an atom at 0;
//   - lower: the masses are the averages of cell probabilities over random
//     translations of the grid, for any noise whatever; costs are the nodes of
//     a piecewise linear function below the loss. Events are restricted to
//     |j| ≤ H, so cells up to H+K take part.
//
// costs are divided by unit. A symmetric loss has a symmetric optimum (average
// a noise with its mirror image), so cells j and −j then share a variable.
func centred(b bound, g grid, p Problem, epsilon, delta, unit float64) layout {
	reach := g.half
	if b == lower {
		reach += g.k
	}
	n := 2*reach + 1
	l := layout{
		variable: make([]int, n),
		eventLo:  reach - g.half, eventHi: reach + g.half + 1,
		atom:  b == upper,
		ratio: math.Exp(epsilon),
		delta: delta,
	}
	symmetric := p.Loss.Symmetric()
	add := func(j int) int {
		l.cost = append(l.cost, cellCost(b, g.k, p, j)/unit)
		// The expected fall: e^(−ε) per sensitivity, down to the order of δ.
		l.scale = append(l.scale, max(math.Exp(-epsilon*math.Abs(float64(j))/float64(g.k)), delta/10))
		return len(l.cost) - 1
	}
	for j := 0; j <= reach; j++ {
		v := add(j)
		l.variable[reach+j] = v
		if j > 0 && !symmetric {
			v = add(-j)
		}
		l.variable[reach-j] = v
	}
	for k := 1; k <= g.k; k++ {
		l.shifts = append(l.shifts, k)
		if !symmetric {
			l.shifts = append(l.shifts, -k)
		}
	}
	return l
}

func cellCost(b bound, k int, p Problem, j int) float64 {
	if b == upper {
		width := p.Sensitivity / float64(k)
		return p.Loss.CellMean(float64(j)*width, width)
	}
	return nodeCost(p.Loss, p.Sensitivity, k, j)
}

func nodeCost(loss noise.Loss, sensitivity float64, k, j int) float64 {
	step := new(big.Rat).SetFloat64(sensitivity)
	step.Quo(step, new(big.Rat).SetInt64(int64(k)))
	c, _ := loss.LowerNode(int64(j), step).Float64()
	return c
}
