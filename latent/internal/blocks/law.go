// SPDX-License-Identifier: Apache-2.0

package blocks

import (
	"cmp"
	"context"
	"math"
	"math/big"
	"slices"
	"sort"

	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

const (
	// shares is the number of equal parts of the rows between which blocks may end, and
	// parts that of equal parts of the range.
	shares = 96
	parts  = 32
	// maxBins bounds the bins that these make; their numbers are bytes.
	maxBins = shares + parts
	// seam is how much of the radius two nodes are apart where blocks meet: values in between are
	// answered as a value of either block. Ends of bins are 16 times as far apart, at least.
	seam = 0x1p-24
	// uniform is the share of the uniform law that is mixed in, so that few rows do not
	// decide about values that none of them has.
	uniform = 0.02
	// patience is for how many further numbers of blocks the gain may fall before the search ends.
	patience = 3
)

// Law is the law of a coordinate within ±radius and of what is to be estimated from it. It
// is immutable and safe for concurrent use.
type Law struct {
	edges []float64 // of the bins, from -radius to radius
	// mass and sum are P(value in the first k bins), and the part of E target there, less
	// mass times the mean of the target.
	mass, sum []float64
	mean      float64 // of the target
}

// NewLaw returns the law of values within ±radius > 0 and, row by row, of their targets:
// the same coordinate before it was clipped, or the values themselves. Neither is kept.
func NewLaw(values, targets []float64, radius float64) *Law {
	l := &Law{edges: edges(values, radius)}
	bins := len(l.edges) - 1
	l.mass, l.sum = make([]float64, bins+1), make([]float64, bins+1)
	row := (1 - uniform) / float64(len(values))
	for i, v := range values {
		k := min(max(sort.Search(len(l.edges), func(k int) bool { return l.edges[k] > v }), 1), bins)
		l.mass[k] += row
		l.sum[k] += row * targets[i]
	}
	for k := 1; k <= bins; k++ {
		lower, upper := l.edges[k-1], l.edges[k]
		share := uniform * ((upper - lower) / (2 * radius))
		l.mass[k] += share + l.mass[k-1]
		l.sum[k] += share*((lower+upper)/2) + l.sum[k-1]
	}
	l.mean = l.sum[bins]
	for k := range l.sum {
		l.sum[k] -= l.mean * l.mass[k]
	}
	return l
}

// edges returns the ends of the bins: where rows are dense, between rows, and some others.
func edges(values []float64, radius float64) []float64 {
	sorted := slices.Sorted(slices.Values(values))
	var inner []float64
	for q := 1; 2*q <= shares; q++ { // alike from both ends, so that a mirror image is one
		if k := q * len(sorted) / shares; k > 0 {
			m := len(sorted) - k
			inner = append(inner, (sorted[k-1]+sorted[k])/2, (sorted[m-1]+sorted[m])/2)
		}
	}
	for q := 1; q < parts; q++ {
		inner = append(inner, radius*(2*float64(q)/parts-1))
	}
	slices.Sort(inner)
	all := []float64{-radius}
	for _, edge := range inner {
		if apart := 16 * seam * radius; edge-all[len(all)-1] >= apart && radius-edge >= apart {
			all = append(all, edge)
		}
	}
	return append(all, radius)
}

// gain returns how much an answer that is e^ε = 1+a times as likely on the bins from i to
// j takes off the variance of the target, but for a factor of all answers.
//
// With m the probability elsewhere, the answer has probability m(1+a·P), P that of the
// bins, and as the target has mean 0, its expectation given the answer is a·S/(1+a·P),
// with S the part of its mean in the bins: together m·(a·S)²/(1+a·P).
func (l *Law) gain(i, j int, a float64) float64 {
	s := a * (l.sum[j] - l.sum[i])
	return s / (1 + a*(l.mass[j]-l.mass[i])) * s
}

// best returns what the best blocks gain and, if cuts is not nil, appends the bins after which
// all but the last end, in falling order. For d blocks the likelihoods add up to e^ε + d − 1
// times m, which is the factor.
//
// The best d blocks are the best d−1 up to some bin, and one more (dynamic programming).
func (l *Law) best(epsilon float64, cuts *[]int) (gain float64) {
	a, bins := math.Expm1(epsilon), len(l.edges)-1
	gains := make([]float64, (bins+1)*(bins+1))
	for i := range bins {
		for j := i + 1; j <= bins; j++ {
			gains[i*(bins+1)+j] = l.gain(i, j, a)
		}
	}
	most := make([]float64, bins+1) // of d blocks up to a bin
	copy(most, gains[:bins+1])      // of one block
	var before [][]uint8            // for d = 2, 3, …: the bin after which the last block begins
	blocks, worse := 1, 0
	for d := 2; d <= bins && worse < patience; d++ {
		from := make([]uint8, bins+1)
		before = append(before, from)
		for j := bins; j >= d; j-- {
			top, at := math.Inf(-1), 0
			for i := d - 1; i < j; i++ {
				if g := most[i] + gains[i*(bins+1)+j]; g > top {
					top, at = g, i
				}
			}
			most[j], from[j] = top, uint8(at) //nolint:gosec // at most maxBins
		}
		worse++
		if g := most[bins] / (a + float64(d)); g > gain {
			gain, blocks, worse = g, d, 0
		}
	}
	if cuts == nil {
		return gain
	}
	for d, j := blocks, bins; d > 1; d-- {
		j = int(before[d-2][j])
		*cuts = append(*cuts, j)
	}
	return gain
}

// Gain returns by how much the best randomizer with this epsilon takes off the variance of
// the target. It rises with epsilon. It takes some 0.2 ms.
func (l *Law) Gain(epsilon float64) float64 { return l.best(epsilon, nil) }

// block is the bins after from, up to to, and the answer that is likelier there.
type block struct {
	from, to int
	answer   float64
}

// blocks returns the best ones, in ascending order, with different answers.
func (l *Law) blocks(epsilon float64) []block {
	cuts := []int{len(l.edges) - 1}
	l.best(epsilon, &cuts)
	slices.Sort(cuts)
	a, from := math.Expm1(epsilon), 0
	all := make([]block, len(cuts))
	for b, to := range cuts {
		answer := l.mean + a*(l.sum[to]-l.sum[from])/(1+a*(l.mass[to]-l.mass[from]))
		all[b] = block{from, to, answer}
		from = to
	}
	return all
}

// Randomizer returns the best randomizer with this epsilon, at least 2^-30, and delta = 0 for
// values within ±radius. What it claims is the mean squared error against the value, for the law.
func (l *Law) Randomizer(epsilon float64) (*local.Randomizer, error) {
	blocks, radius := l.blocks(epsilon), l.edges[len(l.edges)-1]
	low, high := weights(epsilon, len(blocks))
	// Answers ascend in a file. They nearly always do so by themselves.
	order := make([]int, len(blocks))
	for b := range order {
		order[b] = b
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(blocks[a].answer, blocks[b].answer) })
	s := local.Spec{
		Epsilon:   epsilon,
		Values:    local.Values{Kind: local.Real, Lower: -radius, Upper: radius},
		Objective: local.Mean,
		Loss:      loss.L2,
	}
	for k, end := range l.edges[1:] {
		s.Values.Weight = append(s.Values.Weight, proof.Piece{From: l.edges[k], Weight: (l.mass[k+1] - l.mass[k]) / (end - l.edges[k])})
	}
	for b, block := range blocks {
		row := slices.Repeat([]uint64{low}, len(blocks))
		row[slices.Index(order, b)] = high
		start, end := l.edges[block.from], l.edges[block.to]
		if b < len(blocks)-1 {
			end -= seam * radius
		}
		s.Nodes = append(s.Nodes, start, end)
		s.Rows = append(s.Rows, row, row)
	}
	for _, b := range order {
		answer := blocks[b].answer
		if n := len(s.Answers); n > 0 && answer <= s.Answers[n-1] {
			answer = math.Nextafter(s.Answers[n-1], math.Inf(1))
		}
		s.Answers = append(s.Answers, answer)
	}
	return local.New(context.Background(), s)
}

// weights returns those of randomized response among d: high for the answer of the block
// of a value, low for each other one. With E just below e^ε and low at least
// 2^64/(E+d−1), high = 2^64 − (d−1)·low is at most E·low.
func weights(epsilon float64, d int) (low, high uint64) {
	const frac = 56 // places of E; fewer than a proof keeps
	e := exact.ExpDown(epsilon, frac)
	others := big.NewInt(int64(d - 1))
	e.Add(e, new(big.Int).Lsh(others, frac))
	one := new(big.Int).Lsh(big.NewInt(1), 64)
	w := new(big.Int).Lsh(one, frac)
	w.Add(w, e).Sub(w, big.NewInt(1)).Quo(w, e)
	low = w.Uint64()
	return low, one.Sub(one, others.Mul(others, w)).Uint64()
}
