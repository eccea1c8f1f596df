// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/noisewright/noisewright/cmd/internal/encoders/internal/dense"
	"github.com/noisewright/noisewright/latent/bundle"
)

// people are scores that a classifier gave to people it was not fitted to, and their classes.
type people struct {
	scores dense.Matrix // a column for each class
	labels []int
	shifts []float64 // of the scores that choose a class, for costs
}

// shifted returns scores with shifts, a new slice.
func shifted(scores, shifts []float64) []float64 {
	scores = slices.Clone(scores)
	floats.Add(scores, shifts)
	return scores
}

func (p people) pick(rows []int) people {
	return people{dense.Pick(p.scores, rows), dense.Chosen(p.labels, rows), p.shifts}
}

// posterior returns the softmax of scores times a factor.
func posterior(scores []float64, factor float64) []float64 {
	p := make([]float64, len(scores))
	for l, s := range scores {
		p[l] = factor * s
	}
	sum := floats.LogSumExp(p)
	for l, v := range p {
		p[l] = math.Exp(v - sum)
	}
	return p
}

// temperature returns the factor of scores, from 1/16 to 4, of the least cross entropy: a classifier
// may be too sure of people that it was not fitted to. The cross entropy is convex in it.
func (p people) temperature() float64 {
	at := func(x float64) float64 {
		loss := 0.0
		for i, label := range p.labels {
			loss -= math.Log(max(posterior(dense.Row(p.scores, i), math.Exp(x))[label], 1e-300))
		}
		return loss
	}
	low, high := math.Log(1.0/16), math.Log(4)
	for range 24 {
		a, b := (2*low+high)/3, (low+2*high)/3
		if at(a) < at(b) {
			high = b
		} else {
			low = a
		}
	}
	return math.Exp((low + high) / 2)
}

// finest is how many parts the people of a class are divided into before levels are chosen.
const finest = 48

// newCells divides each class into so many levels of the margin. The first begins at 0, so that the
// boundary between classes is an edge; the others are those which tell most of whether the class is
// right, the probability of which is that of the calibrated scores: an edge chosen by the labels
// themselves would follow few people too closely.
func newCells(p people, levels int, factor float64) *bundle.Category {
	k := p.scores.Cols
	c := &bundle.Category{Edges: bundle.Matrix{Rows: k, Cols: levels - 1}}
	if levels == 1 {
		return c
	}
	type member struct{ margin, right float64 }
	of := make([][]member, k)
	for i := range p.labels {
		scores := dense.Row(p.scores, i)
		class, margin := bundle.Top(shifted(scores, p.shifts))
		of[class] = append(of[class], member{margin, posterior(scores, factor)[class]})
	}
	for _, members := range of {
		slices.SortFunc(members, func(a, b member) int {
			if a.margin < b.margin {
				return -1
			}
			return 1
		})
		parts := min(finest, len(members))
		edges, mass, right := make([]float64, parts), make([]float64, parts), make([]float64, parts)
		for i, m := range members {
			part := i * parts / len(members)
			if mass[part] == 0 {
				edges[part] = m.margin
			}
			mass[part]++
			right[part] += m.right
		}
		row := make([]float64, 0, levels-1)
		for _, first := range divide(mass, right, levels)[1:] {
			row = append(row, max(edges[first], 0))
		}
		for len(row) < levels-1 { // of few people: empty cells beyond
			row = append(row, slices.Max(append(row, 0))+1)
		}
		c.Edges.Data = append(c.Edges.Data, row...)
	}
	return c
}

// divide returns the first parts of at most so many runs, the first of which is part 0, of which
// the sum of mass·entropy of the share that is right is least.
func divide(mass, right []float64, runs int) []int {
	n := len(mass)
	runs = min(runs, n)
	if n == 0 {
		return []int{0}
	}
	entropy := func(from, to int) float64 {
		m, r := floats.Sum(mass[from:to]), floats.Sum(right[from:to])
		s := 0.0
		for _, x := range []float64{r, m - r} {
			if x > 0 {
				s -= x * math.Log(x/m)
			}
		}
		return s
	}
	least, before := make([][]float64, runs+1), make([][]int, runs+1)
	for k := range least {
		least[k], before[k] = slices.Repeat([]float64{math.Inf(1)}, n+1), make([]int, n+1)
	}
	least[0][0] = 0
	for k := 1; k <= runs; k++ {
		for to := k; to <= n; to++ {
			for from := k - 1; from < to; from++ {
				if s := least[k-1][from] + entropy(from, to); s < least[k][to] {
					least[k][to], before[k][to] = s, from
				}
			}
		}
	}
	firsts := make([]int, runs)
	for k, to := runs, n; k > 0; k-- {
		to = before[k][to]
		firsts[k-1] = to
	}
	return firsts
}

// newLaw returns the joint law of cell and class: half of it people counted, half what the calibrated
// scores say of them, and half a person more in each cell, of the law of all.
func newLaw(p people, c *bundle.Category, factor float64) law {
	k := p.scores.Cols
	all, m := make([]float64, k), k*(c.Edges.Cols+1)
	for _, l := range p.labels {
		all[l]++
	}
	floats.AddConst(0.5, all)
	joint := make(law, m)
	for i := range joint {
		joint[i] = slices.Clone(all)
		floats.Scale(0.5/floats.Sum(all), joint[i])
	}
	for i, label := range p.labels {
		scores := dense.Row(p.scores, i)
		row := joint[c.Cell(shifted(scores, p.shifts))]
		row[label] += 0.5
		floats.AddScaled(row, 0.5, posterior(scores, factor))
	}
	sum := 0.0
	for _, row := range joint {
		sum += floats.Sum(row)
	}
	for _, row := range joint {
		floats.Scale(1/sum, row)
	}
	return joint
}
