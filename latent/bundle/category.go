// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/proof"
)

const (
	// Decision is the kind in which a category is released, that of the scores which the encoder
	// gives to the classes, by a local randomizer of categories. Its domain is Cells.
	Decision Kind = "category"
	// Cells is the domain of Decision: scores are not clipped, they choose a cell.
	Cells Domain = "cells"
)

// maxLevels bounds the cells of a class.
const maxLevels = 1 << 8

// Category is what a bundle of the kind Decision has for k classes, m cells and a answers.
//
// The cell of scores is by the class l of the largest, the first of equals, and by the level:
// how many of the class's edges are at most the margin, the largest score less the largest other
// one. Cells of a class are together, those of small margins first.
type Category struct {
	// Edges, k×(levels − 1), are margins, at least 0, that do not descend. A class alone has none.
	Edges Matrix
	// Shares, m×k, is the joint law of cell and class that the decoder rests on: at least 0, of
	// the sum 1 up to 1e-9. It says what the answers mean, and nothing of privacy.
	Shares Matrix
	// Decisions has the class that each of the a answers stands for, an index of Outputs.
	Decisions []int
}

func (c *Category) clone() *Category {
	if c == nil {
		return nil
	}
	return &Category{c.Edges.clone(), c.Shares.clone(), slices.Clone(c.Decisions)}
}

// levels returns how many cells each class has.
func (c *Category) levels() int { return c.Edges.Cols + 1 }

// Cell returns that of the scores, one for each class. It takes any: NaN counts as the smallest.
func (c *Category) Cell(scores []float64) int {
	class, margin := Top(scores)
	edges := c.Edges.Row(class)
	return class*c.levels() + sort.Search(len(edges), func(i int) bool { return edges[i] > margin })
}

// Top returns the first class of the largest score, and by how much that exceeds all others.
func Top(scores []float64) (class int, margin float64) {
	best, next := math.Inf(-1), math.Inf(-1)
	for l, s := range scores {
		switch s = clamp(s, limits.Magnitude); {
		case s > best:
			class, best, next = l, s, best
		case s > next:
			next = s
		}
	}
	return class, best - next
}

// answers returns how many answers there are.
func (c *Category) answers() int { return len(c.Decisions) }

// Decide returns the class that decoded probabilities of classes, or what was released, stand for:
// an index of Outputs, and for other outputs -1. For the kind Decision it is that of the answer,
// which costs may have chosen, and for others the most probable one.
func (b *Bundle) Decide(u, decoded []float64) int {
	switch {
	case b.spec.Output != Classes || len(decoded) == 0:
		return -1
	case b.spec.Category != nil && b.spec.Category.checkAnswer(u) == nil:
		return b.spec.Category.Decisions[int(u[0])]
	}
	return slices.Index(decoded, slices.Max(decoded))
}

// Laws returns the probabilities of the answers to each cell, m×a, for expectations without
// draws; the zero value for other kinds.
func (b *Bundle) Laws() (m Matrix) {
	if b.spec.Category == nil {
		return m
	}
	r := b.spec.Randomizers[0]
	m.Rows, m.Cols = len(r.Spec().Values.Labels), b.spec.Category.answers()
	for i := range m.Rows {
		m.Data = append(m.Data, r.PMF(i)...)
	}
	return m
}

// checkAnswer refuses what is no answer.
func (c *Category) checkAnswer(u []float64) error {
	if j := u[0]; !(j >= 0 && j < float64(c.answers())) || j != math.Trunc(j) {
		return check.Errorf("bundle", dp.ErrInvalid, "released = %v, want the number of an answer, from 0 to %d", j, c.answers()-1)
	}
	return nil
}

// validateCategory checks a bundle of the kind Decision, or that it is none.
func (s *Spec) validateCategory(c checker) {
	g := s.Category
	kind := s.Noise == Decision
	c.Want((g != nil) == kind && (s.Domain == Cells) == kind, "noise.kind", s.Noise, "category with the domain cells and a category, or none of the three")
	if g == nil || !kind {
		return
	}
	k := len(s.Outputs)
	c.Want(s.Output == Classes, "output", fmt.Sprintf("%.40q", s.Output), "classes for the kind category")
	c.Want(s.Lookup == nil && len(s.Head) == 0, "head", counted(s.Head), "none, and no lookup, for the kind category")
	c.Want(len(s.Axes) == 0, "axes", fmt.Sprintf("%d axes", len(s.Axes)), "none for the domain cells")
	levels := g.levels()
	c.count("cells", levels, "levels", 1, maxLevels)
	c.matrix("cell_edges", g.Edges, k, levels-1)
	c.matrix("shares", g.Shares, k*levels, k)
	for j, d := range g.Decisions {
		if d < 0 || d >= k {
			c.Badf(fmt.Sprintf("decisions[%d]", j), d, "the index of a class, 0 to %d", k-1)
			break
		}
	}
	if !c.None() {
		return
	}
	for l := range k {
		row, least := g.Edges.Row(l), 0.0
		for i, e := range row {
			if !(e >= least) {
				c.Badf(fmt.Sprintf("cell_edges[%d][%d]", l, i), e, "at least %g, the edge before or 0", least)
				return
			}
			least = e
		}
	}
	sum := 0.0
	for i, v := range g.Shares.Data {
		if !(v >= 0) {
			c.Bad(fmt.Sprintf("shares[%d]", i), v, "a number at least 0")
			return
		}
		sum += v
	}
	c.Want(math.Abs(sum-1) <= 1e-9, "shares", fmt.Sprintf("the sum %v", sum), "the sum 1")
	s.validateChoice(c)
}

// validateChoice checks that there is one randomizer, which takes the cells and has the answers.
func (s *Spec) validateChoice(c checker) {
	c.Want(len(s.Tables) == 0 && len(s.TableOf) == 0, "tables", fmt.Sprintf("%d tables", len(s.Tables)), "none beside a randomizer")
	g := s.Category
	cells, answers := len(s.Outputs)*g.levels(), g.answers()
	c.laws("randomizer", "1 for the kind category", len(s.Randomizers), 1, s.RandomizerOf, 1, func(i int) (is, want string) {
		m := s.Randomizers[i]
		if m == nil || *m == (local.Randomizer{}) {
			return "none", "a randomizer made by package local"
		}
		switch r := m.Spec(); {
		case r.Values.Kind != local.Category:
			return fmt.Sprintf("one for values of kind %s", r.Values.Kind), "one for categories"
		case len(r.Values.Labels) != cells || len(r.AnswerLabels) != answers:
			return fmt.Sprintf("one of %d categories and %d answers", len(r.Values.Labels), len(r.AnswerLabels)), fmt.Sprintf("%d cells and %d answers", cells, answers)
		}
		return "", ""
	})
}

// categoryLabels are those that a privatizer tells a randomizer, and hears.
type categoryLabels struct {
	cells   []proof.Value
	answers map[proof.Value]float64
}

func newCategoryLabels(r *local.Randomizer) *categoryLabels {
	s, l := r.Spec(), &categoryLabels{answers: map[proof.Value]float64{}}
	for _, text := range s.Values.Labels {
		l.cells = append(l.cells, proof.Category(text))
	}
	for j, text := range s.AnswerLabels {
		l.answers[proof.Category(text)] = float64(j)
	}
	return l
}
