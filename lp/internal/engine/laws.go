package engine

import "github.com/noisewright/noisewright/lp/internal/engine/cuts"

// Laws is how constraints are generated of programs with many laws; any tuning gives correct
// results.
var Laws = cuts.Options{
	Batch: cuts.Batch{Least: 4, Share: 2, Worst: 0.05},
	// Simplex needs many degenerate steps on the large ones, where interior point
	// takes some forty iterations whatever the size; and a point inside the optimal
	// face shows more of the terms that matter than a vertex does, which saves rounds.
	Interior: 3000,
}

const (
	// HintSlack is as cuts.TermSlack, for the laws of a coarser program.
	HintSlack = 0.6
	// HintFloor is a mass below which nothing is told from 0.
	HintFloor = 1e-9
)
