// SPDX-License-Identifier: Apache-2.0

package ball

import (
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/proof"
)

const drawRule = "u is the next word, and r twice the radius of the first ball with u < the sum of the weights up to it; 0 is no noise; " +
	"else for each coordinate z is h of the next word v with h·2^64 + l = v·2r and l >= 2^64 mod 2r, and a = z - r; " +
	"the cell from a to a+1 in all coordinates is kept if it is within the norm r, and another drawn if it is beyond, where touching r counts as both; " +
	"if neither, v is the next word for each coordinate in turn, r = 2^64·r and a = 2^64·a + v, and so on until one holds; the noise is (a+1)/2 of the first a, rounded down, and the answer the value in steps, halves rounded up, and it"

type export struct {
	Schema       int                       `json:"schema"` // 1
	Dimension    int                       `json:"dimension"`
	Privacy      dp.Privacy                `json:"privacy"`
	DeltaUpper   string                    `json:"delta_upper"`
	Loss         string                    `json:"loss"`
	StepExponent int                       `json:"step_exponent"`
	Total        string                    `json:"total"`
	Radii        []int64                   `json:"radii"`
	Weights      []formfile.ExportedWeight `json:"weights"`
	Golden       golden                    `json:"golden"`
}

type golden struct {
	formfile.Golden
	Value proof.Row   `json:"value"`
	Draws []proof.Row `json:"draws"` // answers to the value
}

// Export implements proof.Exporter: the balls, and n answers to a value whose coordinates are 0, 1, … steps
// and a half.
func (n *Noise) Export(bounds proof.Bounds, g formfile.Golden, stream proof.Stream, draws int) (any, error) {
	g.Draw = drawRule
	s := &n.spec
	e := export{
		Schema: 1, Dimension: s.Dimension, Privacy: s.Privacy, DeltaUpper: exact.StateUp(bounds.Delta), Loss: s.Loss.Name(),
		StepExponent: s.StepExponent, Total: formfile.ExportedTotal, Radii: s.Radii, Weights: formfile.ExportWeights(s.Weights),
		Golden: golden{Golden: g, Draws: []proof.Row{}},
	}
	for i := range s.Dimension {
		e.Golden.Value = append(e.Golden.Value, (float64(i)+0.5)/n.draw.back)
	}
	for range draws {
		y, err := stream.Release(e.Golden.Value)
		if err != nil {
			return nil, err
		}
		e.Golden.Draws = append(e.Golden.Draws, y.(proof.Row))
	}
	return e, nil
}
