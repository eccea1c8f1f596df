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
	columns  [][]float64 // by coordinate, then row: from −1 to 1; the first, all 1, is the intercept's
	signs    []float64   // y, 1 or −1, by row
	blocks   [][]int     // coordinates of which a row has at most one that is not 0
	rounds   int
	steps    int     // in a round, each on a block
	stepSize float64 // along the mean gradient, at most
	lambda   float64
	// add returns sums in units of gridSteps, with noise of the deviation. Of the sums of a
	// call a row is in one at most.
	add       func(sums []int64) ([]float64, error)
	deviation float64
}

// mostNoise is how far a step may move a coordinate by one deviation of the noise: margins of
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
	h, mean := make([]float64, len(d.columns)), make([]float64, len(d.columns))
	margins := make([]float64, len(d.signs)) // x_i·h
	// Which block is next depends on no data, and need not be a secret.
	order := rand.New(rand.NewPCG(1, 2)) //nolint:gosec
	var next []int
	first := d.rounds / 2 // round that is averaged
	for round := range d.rounds {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for range d.steps {
			if len(next) == 0 { // every block as often as any other
				next = order.Perm(len(d.blocks))
			}
			block := d.blocks[next[0]]
			next = next[1:]
			gradient, err := d.add(d.gradient(block, margins))
			if err != nil {
				return nil, err
			}
			for k, j := range block {
				was := h[j]
				h[j] -= step / rows * gradient[k]
				if j > 0 { // the intercept is free
					h[j] = math.Copysign(max(math.Abs(h[j])-step*d.lambda, 0), h[j])
				}
				d.shift(margins, j, h[j]-was)
			}
		}
		if round >= first {
			for j := range h {
				mean[j] += h[j] / float64(d.rounds-first)
			}
		}
	}
	return mean, nil
}

// gradient returns, for the coordinates of a block, the sums over rows of the derivatives of
// their losses. A row adds to one sum at most, from −gridSteps to gridSteps, and that depends
// on the row and its margin alone.
func (d *descent) gradient(block []int, margins []float64) []int64 {
	sums := make([]int64, len(block))
	for k, j := range block {
		for i, x := range d.columns[j] {
			if x != 0 {
				sums[k] += onGrid(derivative(d.signs[i], x, margins[i]))
			}
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

// shift moves a coordinate: the margin of every row by itself.
func (d *descent) shift(margins []float64, j int, by float64) {
	for i, x := range d.columns[j] {
		margins[i] += by * x
	}
}
