package local

import (
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
)

// Problem is lp.LocalProblem, which says what its fields are.
type Problem struct {
	Epsilon, Delta float64
	Values         local.Values
	Loss           loss.Loss
	Costs          [][]float64
	AnswerLabels   []string
	Objective      local.Objective
	Demands        local.Demands
	Cells          int
	MaxAnswers     int
}

// Bounded reports whether the answers have bounds.
func (p Problem) Bounded() bool { return p.Demands.Lower != 0 || p.Demands.Upper != 0 }
