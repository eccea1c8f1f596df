// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/proof"
)

const drawRule = "u is the next word and v the one after it; the cells (i, j) with 0 <= j <= i, in the order of their weights, have as many words each, in a row from 0 on, as the weight times the number of their images (1 for (0, 0), 4 if j = 0 or i = j, 8 otherwise), and (x, y) is the cell of u; " +
	"the lowest bit of v exchanges x and y, the next one negates x, the one after that y; with S = points_per_cell above 1, x becomes x·S - (S-1)/2 + r with a number r below S, and then y likewise, a number below S being h of the first word w with h·2^64 + l = w·S and l >= 2^64 mod S; " +
	"a value is rounded to the nearest multiple of step, halves up, and the noise is (x·step, y·step); if turned, ((x+y)·step/2, (x-y)·step/2)"

type export struct {
	Schema        int      `json:"schema"` // 1
	Epsilon       float64  `json:"epsilon"`
	DeltaUpper    string   `json:"delta_upper"`
	Sensitivity   float64  `json:"sensitivity"`
	Norm          Norm     `json:"norm"`
	Query         dp.Query `json:"query"`
	Step          float64  `json:"step"`
	PointsPerCell int64    `json:"points_per_cell"`
	Turned        bool     `json:"turned"`
	// Total is what the weights of all cells sum to, 2^64.
	Total   string                    `json:"total"`
	Weights []formfile.ExportedWeight `json:"weights"`
	Golden  golden                    `json:"golden"`
}

type golden struct {
	formfile.Golden
	Draws []proof.Value `json:"draws"` // answers to (0, 0)
}

// Export implements proof.Exporter: the weights, and n answers to zero and zero.
func (n *Noise) Export(bounds proof.Bounds, g formfile.Golden, stream proof.Stream, draws int) (any, error) {
	g.Draw = drawRule
	s := &n.spec
	e := export{
		Schema: 1, Epsilon: s.Epsilon, DeltaUpper: exact.StateUp(bounds.Delta), Sensitivity: s.Sensitivity, Norm: s.Norm, Query: s.Query,
		Step: s.Grid.step(), PointsPerCell: s.Grid.PointsPerCell, Turned: s.turned(),
		Total: formfile.ExportedTotal, Weights: formfile.ExportWeights(s.Weights), Golden: golden{g, []proof.Value{}},
	}
	for range draws {
		y, err := stream.Release(proof.Row{0, 0})
		if err != nil {
			return nil, err
		}
		e.Golden.Draws = append(e.Golden.Draws, y)
	}
	return e, nil
}
