// Package engine is what solves the linear programs of all forms.
package engine

import "github.com/noisewright/noisewright/lp/internal/engine/cuts"

// relaxation is what a program gives once it is solved, see cuts.Program.
type Solution interface {
	Masses() []float64
	Dual(row int) float64
	Price(limit int) float64
	Multiplier(limit, term int) float64
	Rounds() int
	Close() error
}

// Tuning of the constraint generation; any values give correct results.
var LawBatch = cuts.Batch{Least: 4, Share: 2, Worst: 0.05}

const (
	HintSlack = 0.6 // as cuts.TermSlack, for the laws of a coarser program
	// kernelInterior is the number of rows from which interior point is tried first.
	// Simplex needs many degenerate steps on the large ones, where interior point
	// takes some forty iterations whatever the size; and a point inside the optimal
	// face shows more of the terms that matter than a vertex does, which saves rounds.
	LawInterior = 3000
)

// hintFloor is a mass below which nothing is told from 0.
const HintFloor = 1e-9
