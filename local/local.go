package local

import (
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// Kind says what values a randomizer takes.
type Kind string

const (
	// Real values are those of a range; between nodes they are rounded at random.
	Real Kind = "real"
	// Integer values are the integers of a range; each is a node.
	Integer Kind = "integer"
	// Category values are labels without an order; each is a node.
	Category Kind = "category"
)

// Objective says which loss a randomizer makes small, and its lower bound is about.
type Objective string

const (
	// Mean is the expected loss averaged over the weight of the values.
	Mean Objective = "mean"
	// Worst is the largest expected loss of a value.
	Worst Objective = "worst"
)

// Values says which values a randomizer takes, and how much each counts.
type Values struct {
	Kind Kind `json:"kind"`
	// Lower < Upper bound the values of kind Real and Integer, in their units.
	Lower float64 `json:"lower"`
	Upper float64 `json:"upper"`
	// Weight is the density of real values up to a factor, in pieces as those of
	// kernels.Queries; empty: uniform.
	Weight proof.Pieces `json:"weight,omitempty"`
	// Shares weigh integer values and categories, one each, up to a factor; empty: uniform.
	Shares []float64 `json:"shares,omitempty"`
	// Labels are the categories.
	Labels []string `json:"labels,omitempty"`
}

// Demands restrict the mechanisms to choose from, and with them what the lower bound is about.
type Demands struct {
	// Unbiased: the mean of the answers to a value is the value, exactly.
	Unbiased bool
	// Lower <= Upper bound the answers, both 0: unbounded.
	Lower, Upper float64
	// Step, if not 0, asks for answers that are multiples of it (from Lower on, if bounded).
	Step float64
	// Cap, if not 0, bounds the expected loss of every value.
	Cap float64
}

// Spec is the content of a randomizer.
type Spec struct {
	Epsilon, Delta float64
	Values         Values
	Objective      Objective
	Demands        Demands
	// Loss is c(answer − value), convex, for kinds Real and Integer; nil for Category.
	Loss loss.Loss
	// Costs, for Category, is the loss of each answer for each value: Costs[value][answer] >= 0.
	Costs [][]float64
	// Nodes ascend from Values.Lower to Values.Upper (Integer: all integers; Category: nil).
	Nodes []float64
	// Answers ascend, in units of the values (Category: nil, there AnswerLabels).
	Answers      []float64
	AnswerLabels []string
	// Rows holds one law per node (or label) over the answers: weights that sum to 2^64.
	Rows   [][]uint64
	Dual   *Dual  // proves the lower bound; nil: none claimed beyond 0
	Claims Claims // the zero value: filled in from the certificate
}

// Claims are the numbers a randomizer states about itself, as plain decimals rounded so
// that they stay true.
type Claims struct {
	Delta      string `json:"delta" bound:"upper"`
	MeanLoss   string `json:"mean_loss" bound:"upper"`   // averaged over the weight of the values
	WorstLoss  string `json:"worst_loss" bound:"upper"`  // the largest of a value
	Bias       string `json:"bias" bound:"upper"`        // the largest |mean answer − value|; for Category 0
	LowerBound string `json:"lower_bound" bound:"lower"` // on the loss of the objective
}
