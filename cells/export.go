// SPDX-License-Identifier: Apache-2.0

package cells

import (
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/proof"
)

type export struct {
	Schema  int             `json:"schema"` // 1
	Privacy dp.Privacy      `json:"privacy"`
	Loss    string          `json:"loss"`
	Grid    Grid            `json:"grid"`
	Total   string          `json:"total"` // of the weights of each cell
	Cells   []exportCell    `json:"cells"`
	Golden  formfile.Golden `json:"golden"`
}

// exportCell holds the values from Lower on and below Upper; null: without an end.
type exportCell struct {
	Lower *float64                  `json:"lower"`
	Upper *float64                  `json:"upper"`
	Bins  []formfile.ExportedWeight `json:"bins"` // from Grid.FirstBin on
	// Draws are noise, as grid points.
	Draws []int64 `json:"draws"`
}

const drawRule = "the stream begins anew for each cell; per draw: take a word u; the bin is the first with u < the sum of the weights up to and including it; " +
	"take a word v and let S = points_per_bin and h·2^64 + l = v·S; while l < 2^64 mod S take another v; the draw is j·S - floor(S/2) + h for bin j; " +
	"an answer to x is floor(x/g + 1/2) and the draw of the cell that holds it, edges rounded likewise, in steps of g"

// Export implements proof.Exporter: for each cell the values that it holds, the probability
// of every bin, and n draws of its noise.
func (k *Kernel) Export(_ proof.Bounds, g formfile.Golden, s proof.Stream, n int) (any, error) {
	g.Draw = drawRule
	e := export{
		Schema: 1, Privacy: k.Privacy(), Loss: k.Loss().Name(), Grid: k.Grid(), Total: formfile.ExportedTotal,
		Cells: make([]exportCell, k.Cells()), Golden: g,
	}
	for i := range e.Cells {
		c := exportCell{Lower: finite(k.Edge(i)), Upper: finite(k.Edge(i + 1)), Bins: formfile.ExportWeights(k.spec.Rows[i]), Draws: make([]int64, n)}
		s.Anew()
		for d := range c.Draws {
			bin, point, err := s.Draw(proof.Choice{Row: i})
			if err != nil {
				return nil, err
			}
			c.Draws[d] = k.Grid().FirstPoint(bin) + point
		}
		e.Cells[i] = c
	}
	return e, nil
}
