// SPDX-License-Identifier: Apache-2.0

package subset

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"slices"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/proof"
)

// Tally collects answers, one for each person. It takes 8 bytes for each.
type Tally struct {
	s       *Selection
	space   proof.Space
	answers []uint64 // a·2^32 + b, or the rank or number
}

// Tally returns a Tally of no answers.
func (s *Selection) Tally() *Tally { return &Tally{s: s, space: s.Answers()} }

// Add adds an answer. The error wraps dp.ErrInvalid for what is none of the Answers.
func (t *Tally) Add(answer proof.Value) error {
	if label, ok := answer.(proof.Category); ok && t.s.spec.Modulus == 0 && t.s.spec.Size == 1 {
		if x, known := t.s.number(label); known {
			t.answers = append(t.answers, uint64(x))
			return nil
		}
	}
	if c, ok := answer.(proof.Code); ok && t.space.Contains(c) {
		t.answers = append(t.answers, uint64(c.A)<<32|uint64(c.B))
		return nil
	}
	return check.Field("subset", "answer", check.Shortened(fmt.Sprint(answer)), t.space.String())
}

// Answers returns how many were added.
func (t *Tally) Answers() int64 { return int64(len(t.answers)) }

// Counts is Count without a progress, and without an end before the end.
func (t *Tally) Counts() []int64 {
	counts, _ := t.Count(context.Background(), nil)
	return counts
}

// Count returns for each category how many answers have it, and calls progress, if it is not nil, now and
// then with how many answers are counted. It changes the order of answers, and takes about one addition for
// each answer and member of its set, or for each a of affine sets and residue, whatever is less; and 8 bytes of
// memory for each category or residue. The error is that of the context.
func (t *Tally) Count(ctx context.Context, progress func(done int)) ([]int64, error) {
	s := &t.s.spec
	counts := make([]int64, t.s.points)
	affine := affineCounts{counts: counts, size: s.Size}
	if s.Modulus > 0 {
		slices.Sort(t.answers)
	}
	var ranks [64]uint64 // a block at a time, whose memory is near
	work, steps := int64(0), max(s.Size, 1)
	for from, to := 0, 0; from < len(t.answers); from = to {
		to = min(from+len(ranks), len(t.answers))
		switch {
		case s.ranked():
			t.s.draw.members(ranks[:copy(ranks[:], t.answers[from:to])], func(j int) { counts[j]++ })
		case s.Modulus == 0:
			for _, x := range t.answers[from:to] {
				counts[x]++
			}
		default:
			a := t.answers[from] >> 32
			to = from + 1
			for to < len(t.answers) && t.answers[to]>>32 == a && int64(to-from)*steps < workStep {
				to++
			}
			affine.add(t.answers[from:to], int64(a)) //nolint:gosec // below the modulus
		}
		if work += int64(to-from) * steps; work >= workStep {
			work = 0
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if progress != nil {
				progress(to)
			}
		}
	}
	return counts[:t.s.Categories()], nil
}

// workStep is how many members of sets are counted between two looks at the context, about.
const workStep = 1 << 24

// affineCounts counts answers a:b.
type affineCounts struct {
	counts []int64
	having []int32 // how many answers have b, of those with one a; made when wanted
	size   int64
}

// add counts the answers with one a.
func (c *affineCounts) add(run []uint64, a int64) {
	m := int64(len(c.counts))
	if int64(len(run))*c.size > 3*m {
		if c.having == nil {
			c.having = make([]int32, m)
		}
		window(c.counts, c.having, run, a, c.size)
		return
	}
	for _, y := range run {
		j := int64(uint32(y)) //nolint:gosec // its lower half
		for range c.size {
			c.counts[j]++
			j = after(j, a, m)
		}
	}
}

// after returns j + a modulo m, of residues.
func after(j, a, m int64) int64 {
	if j += a; j >= m {
		j -= m
	}
	return j
}

// window counts the answers with one a: j is in the sets of b = j, j − a, …, j − (d−1)a, whose
// number is a sum over a window that moves along the multiples of a.
func window(counts []int64, having []int32, run []uint64, a, d int64) {
	m := int64(len(counts))
	for _, y := range run {
		having[uint32(y)]++
	}
	// Up to the multiple 0 the window has -(d−1)a, …, −a, 0.
	sum, last := int64(0), int64(0)
	for i := range d {
		sum += int64(having[last])
		if i+1 < d {
			last = after(last, m-a, m)
		}
	}
	j := int64(0)
	for range m {
		counts[j] += sum
		j = after(j, a, m)
		sum += int64(having[j]) - int64(having[last])
		last = after(last, a, m)
	}
	for _, y := range run {
		having[uint32(y)] = 0
	}
}

// Shares returns the unbiased estimates of the shares from the counts of n answers: numbers that
// may be below 0 or above 1.
func (s *Selection) Shares(counts []int64, n int64) []float64 {
	p, q, _, _ := s.floats()
	shares := make([]float64, len(counts))
	for j, c := range counts {
		shares[j] = (float64(c)/float64(n) - q) / (p - q)
	}
	return shares
}

// floats returns the probabilities that the set has the own category, and another one, and that it has
// not, each to the nearest float64.
func (s *Selection) floats() (p, q, notP, notQ float64) {
	float := func(r *big.Rat) (in, out float64) {
		in, _ = r.Float64()
		out, _ = new(big.Rat).Sub(big.NewRat(1, 1), r).Float64()
		return in, out
	}
	exactP, exactQ := s.spec.probabilities()
	p, notP = float(exactP)
	q, notQ = float(exactQ)
	return p, q, notP, notQ
}

// Simplex returns the shares, at least 0 with the sum 1, that are nearest to estimates by least
// squares. Their error is often less, and they are biased: towards equal shares where people are few.
func Simplex(estimates []float64) []float64 {
	sorted := slices.Clone(estimates)
	slices.SortFunc(sorted, func(a, b float64) int { return cmp.Compare(b, a) })
	sum, off := -1.0, 0.0
	for i, x := range sorted {
		sum += x
		if mean := sum / float64(i+1); x > mean {
			off = mean
		}
	}
	shares := make([]float64, len(estimates))
	for j, x := range estimates {
		shares[j] = max(0, x-off)
	}
	return shares
}
