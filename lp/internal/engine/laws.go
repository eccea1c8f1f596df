package engine

import "github.com/noisewright/noisewright/lp/internal/engine/cuts"

// OfLaws states a program of many laws. It is solved complete up to some 1,500 masses, as the
// time of the interior point method goes with their cube.
func OfLaws(p cuts.Problem) *Program {
	const mostComplete = 1500
	return &Program{
		Problem: p, Complete: len(p.Cost) <= mostComplete, Start: p.Scale,
		Generation: cuts.Options{
			Batch: cuts.Batch{Least: 4, Share: 2, Worst: 0.05},
			// Simplex needs many degenerate steps on the large ones, where interior point
			// takes some forty iterations whatever the size; and a point inside the optimal
			// face shows more of the terms that matter than a vertex does, which saves rounds.
			Interior: 3000,
		},
	}
}

const (
	// HintSlack is as cuts.TermSlack, for the laws of a coarser program.
	HintSlack = 0.6
	// HintFloor is a mass below which nothing is told from 0.
	HintFloor = 1e-9
)
