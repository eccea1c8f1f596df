package blocks

import (
	"cmp"
	"math"
	"math/big"
	"slices"

	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

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

// Randomizer returns the best randomizer with this epsilon, at least 2^-30, and delta = 0
// for values within ±radius. What it claims is the mean squared error against the value,
// for the law.
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
	return local.New(s)
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
