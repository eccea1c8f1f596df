// SPDX-License-Identifier: Apache-2.0

package local

import (
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
)

// Problem is lp.LocalProblem.
type Problem struct {
	// Epsilon >= 0 and Delta are the privacy of any two values.
	Epsilon, Delta float64
	Values         local.Values
	// Loss is c(answer − value), convex; nil for categories.
	Loss loss.Loss
	// Costs, for categories, is the loss of each answer for each value: Costs[value][answer] >= 0.
	Costs [][]float64
	// AnswerLabels names the answers of categories; nil: the categories themselves.
	AnswerLabels []string
	Objective    local.Objective
	Demands      local.Demands
	// Cells, if not 0, fixes the number of intervals between the nodes of real values;
	// otherwise there are as many as the gap needs.
	Cells int
	// MaxAnswers, if not 0, bounds the number of answers. The lower bound is that of any number.
	MaxAnswers int
}

// Bounded reports whether the answers have bounds.
func (p Problem) Bounded() bool { return p.Demands.Lower != 0 || p.Demands.Upper != 0 }
