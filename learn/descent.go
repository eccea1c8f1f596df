// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"context"
	"math"
	"math/rand/v2"
)

// descent minimizes
//
//	(1/n)·Σ_i ln(1 + exp(−y_i·x_i·h)) + λ·Σ_{j>0} |h_j|
//
// over h by proximal coordinate descent (Mangold, Bellet, Salmon & Tommasi 2022, Algorithm 1,
// as Selvi, Liu & Wiesemann 2025 use it). They average the points of every round and go on
// from there; here the points of the second half are averaged in the end, which takes off more
// of the noise. Only sums over rows go through add, and all that is made of them is a function
// of what add returned.
type descent struct {
	blocks   []block   // the first has one coordinate, all 1, which is the intercept's
	signs    []float64 // y, 1 or −1, by row
	rounds   int
	steps    int     // in a round, each on a block
	stepSize float64 // along the mean gradient, at most
	lambda   float64
	// add returns sums in units of gridSteps, with noise of the deviation. Of the sums of a
	// call a row is in one at most.
	add       func(sums []int64) ([]float64, error)
	deviation float64
}

// block is one coordinate or more, of which a row has at most one that is not 0.
type block struct {
	values []float64 // of the one coordinate, from −1 to 1, by row; nil: indicators
	codes  []int32   // by row: which of the indicators is 1, counted from 1, or 0 for none
	size   int       // coordinates
}

// mostNoise is how far one deviation of the noise may move a coordinate in a step: margins of
// some units decide, and a coordinate makes some 25 steps.
const mostNoise = 0.2

// run returns h. It makes 1 + rounds·steps releases by add: the number of rows, and gradients.
// How long steps are follows from what was released.
func (d *descent) run(ctx context.Context) ([]float64, error) {
	count, err := d.add([]int64{int64(len(d.signs)) * gridSteps})
	if err != nil {
		return nil, err
	}
	rows := max(count[0], 1)
	step := d.stepSize
	if d.deviation > 0 {
		step = min(step, mostNoise*rows/d.deviation)
	}
	first, coordinates := make([]int, len(d.blocks)), 0 // where blocks start
	for i, b := range d.blocks {
		first[i] = coordinates
		coordinates += b.size
	}
	h, mean := make([]float64, coordinates), make([]float64, coordinates)
	margins := make([]float64, len(d.signs)) // x_i·h
	// Which block is next depends on no data, and need not be a secret.
	order := rand.New(rand.NewPCG(1, 2)) //nolint:gosec
	var next []int
	averaged := d.rounds / 2 // the first round that is
	for round := range d.rounds {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for range d.steps {
			if len(next) == 0 { // every block as often as any other
				next = order.Perm(len(d.blocks))
			}
			block, at := d.blocks[next[0]], first[next[0]]
			next = next[1:]
			gradient, err := d.add(d.gradient(block, margins))
			if err != nil {
				return nil, err
			}
			by := make([]float64, block.size)
			for k := range by {
				j := at + k
				was := h[j]
				h[j] -= step / rows * gradient[k]
				if j > 0 { // the intercept is free
					h[j] = math.Copysign(max(math.Abs(h[j])-step*d.lambda, 0), h[j])
				}
				by[k] = h[j] - was
			}
			block.shift(margins, by)
		}
		if round >= averaged {
			for j := range h {
				mean[j] += h[j] / float64(d.rounds-averaged)
			}
		}
	}
	return mean, nil
}

// gradient returns, for the coordinates of a block, the sums over rows of the derivatives of
// their losses. A row adds to one sum at most, from −gridSteps to gridSteps, and that depends
// on the row and its margin alone.
func (d *descent) gradient(b block, margins []float64) []int64 {
	sums := make([]int64, b.size)
	for i, x := range b.values {
		sums[0] += onGrid(derivative(d.signs[i], x, margins[i]))
	}
	for i, code := range b.codes {
		if code > 0 {
			sums[code-1] += onGrid(derivative(d.signs[i], 1, margins[i]))
		}
	}
	return sums
}

// derivative is that of the loss of a row by a coordinate: from −1 to 1, and 0 if noise drove
// the margin out of the range of numbers.
func derivative(sign, x, margin float64) float64 {
	if math.IsNaN(margin) {
		return 0
	}
	return -sign * x / (1 + math.Exp(sign*margin))
}

// shift moves the coordinates: the margin of every row by itself.
func (b block) shift(margins, by []float64) {
	for i, x := range b.values {
		margins[i] += by[0] * x
	}
	for i, code := range b.codes {
		if code > 0 {
			margins[i] += by[code-1]
		}
	}
}
