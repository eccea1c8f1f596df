// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/local"
)

const (
	// room is what is taken off epsilon, for rounding to integer weights.
	room = 1e-6
	// mostEpsilon is the largest that programmes are solved for: beyond, the smallest probabilities
	// would be few units of 2^-64, and they are below 1e-8 as it is.
	mostEpsilon = 20
)

// newRandomizer solves the programme for the law and makes a randomizer of its mechanism, whose
// costs are those of its own answers, and whose lower bound is that of the prices.
func newRandomizer(ctx context.Context, p law, epsilon float64) (*local.Verified, error) {
	c, _, err := design(ctx, p, min(epsilon, mostEpsilon)-min(room, epsilon/2))
	if err != nil {
		return nil, err
	}
	integers := c.integers()
	rows := make([][]float64, len(integers))
	for i, row := range integers {
		rows[i] = formfile.Probabilities(row)
	}
	s := local.Spec{
		Epsilon: epsilon, Objective: local.Mean, Values: local.Values{Kind: local.Category},
		Rows: integers, Costs: c.costs(rows), Dual: &local.Dual{},
	}
	for i := range p {
		s.Values.Labels = append(s.Values.Labels, strconv.Itoa(i))
		s.Values.Shares = append(s.Values.Shares, p.share(i))
		s.Dual.Totals = append(s.Dual.Totals, -c.prices[i])
	}
	for j := range rows[0] {
		s.AnswerLabels = append(s.AnswerLabels, strconv.Itoa(j))
	}
	r, err := local.New(ctx, s)
	if err != nil {
		return nil, check.Errorf("decision", nil, "%w", err)
	}
	return r.Verify()
}

// costs returns what is lost in each cell by the reading of each answer, on the average over the
// classes in the cell.
func (c *channel) costs(rows [][]float64) [][]float64 {
	costs := make([][]float64, len(c.law))
	for j := range rows[0] {
		_, reading := worth(masses(c.law, rows, j))
		for i, joint := range c.law {
			costs[i] = append(costs[i], max(0, -floats.Dot(joint, reading)/floats.Sum(joint)))
		}
	}
	return costs
}

// masses returns the probabilities of an answer together with each class.
func masses(p law, rows [][]float64, answer int) []float64 {
	a := make([]float64, p.classes())
	for i, row := range rows {
		floats.AddScaled(a, row[answer], p[i])
	}
	return a
}

// response is randomized response on the classes, as answers to the cells of classes.
func response(classes []string, epsilon float64) (*local.Verified, error) {
	v, err := local.RandomizedResponse(classes, epsilon)
	if err != nil { // names that are no labels
		names := make([]string, len(classes))
		for l := range names {
			names[l] = strconv.Itoa(l)
		}
		v, err = local.RandomizedResponse(names, epsilon)
	}
	return v, err
}

// OwnRandomizer returns a randomizer of one's own for decisions on classes: one of the classes, in any
// order; or of numbered categories, 0 to N-1, as many as the classes or a multiple of them, which are
// the levels of the score of the first class, then those of the next. Errors wrap dp.ErrInvalid for another
// one, or are those of its proof.
func OwnRandomizer(r *local.Randomizer, classes []string) (*local.Verified, error) {
	s := r.Spec()
	labels, numbers := s.Values.Labels, make([]string, len(s.Values.Labels))
	for i := range numbers {
		numbers[i] = strconv.Itoa(i)
	}
	order := make([]int, len(labels))
	for i := range order {
		order[i] = i
		if len(labels) == len(classes) && !slices.Equal(labels, numbers) {
			order[i] = slices.Index(labels, classes[i])
		}
	}
	if named := !slices.Contains(order, -1); s.Values.Kind != local.Category || !named || len(labels) != len(classes) && (!slices.Equal(labels, numbers) || len(labels)%len(classes) != 0) {
		return nil, check.Field("decision", "noise", fmt.Sprintf("a local randomizer of the categories %s", check.Shortened(strings.Join(labels, ", "))),
			fmt.Sprintf("one of the classes %s, or of categories numbered from 0, a multiple of %d of them", check.Shortened(strings.Join(classes, ", ")), len(classes)))
	}
	if slices.IsSorted(order) {
		return r.Verify()
	}
	s.Values.Labels, s.Values.Shares = slices.Clone(classes), picked(s.Values.Shares, order)
	s.Rows, s.Costs = picked(s.Rows, order), picked(s.Costs, order)
	s.Dual, s.Claims = nil, local.Claims{}
	moved, err := local.New(context.Background(), s)
	if err != nil {
		return nil, err
	}
	return moved.Verify()
}

// picked returns the elements of the given numbers; none of none.
func picked[T any](all []T, numbers []int) (out []T) {
	for _, i := range numbers {
		if len(all) > 0 {
			out = append(out, all[i])
		}
	}
	return out
}

// decoder returns the logarithms of the posterior of the classes given each answer, a row for each
// class, and the decision of least cost for each answer; costs are 1 for each wrong one if nil.
func decoder(p law, rows [][]float64, costs [][]float64) (logs [][]float64, decisions []int) {
	k := p.classes()
	logs = make([][]float64, k)
	for j := range rows[0] {
		a := masses(p, rows, j)
		sum := floats.Sum(a)
		loss := make([]float64, k)
		for l, v := range a {
			logs[l] = append(logs[l], math.Log(max(v/sum, 1e-300)))
			for d := range k {
				switch {
				case costs != nil:
					loss[d] += v * costs[l][d]
				case d != l:
					loss[d] += v
				}
			}
		}
		decisions = append(decisions, slices.Index(loss, slices.Min(loss)))
	}
	return logs, decisions
}
