// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"context"
	"math"
	"slices"
	"strconv"

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
