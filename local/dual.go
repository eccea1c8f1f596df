package local

// Dual proves a lower bound on the loss of every mechanism for these values that keeps
// the demands, of any shape and with any answers.
//
// Any multipliers give a true bound; good ones give a good bound. Numbers are float64s
// meant exactly.
type Dual struct {
	// Nodes ascend, from Values.Lower to Values.Upper. For the mean of real values the
	// multipliers are densities that are linear between nodes; in all other cases they
	// stand for the nodes themselves.
	Nodes []float64 `json:"nodes"`
	// Weights (Worst only) are the weights of the nodes in the worst case, at least 0.
	Weights []float64 `json:"weights,omitempty"`
	// Totals are the prices of the total probability of the law of each node.
	Totals []float64 `json:"totals"`
	// Means (unbiased only) are the prices of the mean of the law of each node.
	Means []float64 `json:"means,omitempty"`
	// Caps (with a cap, and Mean only) are the prices of the cap at each node, at least 0.
	Caps []float64 `json:"caps,omitempty"`
	// Pairs (delta > 0 only) are the prices of each pair's hockey-stick terms at Answers,
	// linear in between and constant beyond.
	Answers []float64  `json:"answers,omitempty"`
	Pairs   []DualPair `json:"pairs,omitempty"`
}

// DualPair holds the multipliers of one ordered pair of nodes for the answers from First on.
type DualPair struct {
	Gain        int       `json:"gain"`
	Lose        int       `json:"lose"`
	First       int       `json:"first"`
	Multipliers []float64 `json:"multipliers"`
}
