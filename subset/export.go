// SPDX-License-Identifier: Apache-2.0

package subset

import (
	"fmt"

	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/proof"
)

const drawRule = "u, and each v, is the next word; a number below N is h of the first v with h·2^64 + l = v·N and l >= 2^64 mod N; the set is inside if u < inside; m is the modulus, or the number of categories if that is 0, and x the number of the category; " +
	"of a modulus, or of the size 1: t is below size, t' = size + a number below m - size, and a = 1 + a number below m - 1 (a = 1 without a modulus, and no word), in this order; b = x - a·t mod m if the set is inside, x - a·t' otherwise; " +
	"else numbers below m are drawn until size of them are different from each other and from x, and the set is x and all but the last if it is inside, all otherwise; its rank is the sum of the binomials (j_i over i) of its members j_1 < j_2 < …"

type export struct {
	Schema     int      `json:"schema"` // 1
	Epsilon    float64  `json:"epsilon"`
	DeltaUpper string   `json:"delta_upper"`
	Count      int64    `json:"count,omitempty"`
	Labels     []string `json:"labels,omitempty"`
	Modulus    int64    `json:"modulus"`
	Size       int64    `json:"size"`
	// Total is that of which Inside is the weight of the sets with the category, 2^64.
	Total  string `json:"total"`
	Inside string `json:"inside"`
	Golden golden `json:"golden"`
}

type golden struct {
	formfile.Golden
	Draws []exportDraw `json:"draws"`
}

type exportDraw struct {
	Category string      `json:"category"`
	Answer   proof.Value `json:"answer"`
}

// Export implements proof.Exporter: what answers are drawn from, and n answers to categories, by their
// numbers the squares of 0, 1, … modulo how many there are.
func (s *Selection) Export(bounds proof.Bounds, g formfile.Golden, stream proof.Stream, n int) (any, error) {
	g.Draw = drawRule
	p := &s.spec
	e := export{
		Schema: 1, Epsilon: p.Epsilon, DeltaUpper: exact.StateUp(bounds.Delta), Count: p.Count, Labels: p.Labels, Modulus: p.Modulus, Size: p.Size,
		Total: formfile.ExportedTotal, Inside: fmt.Sprint(p.Inside), Golden: golden{g, []exportDraw{}},
	}
	for i := range int64(n) {
		label := s.Label(i * i % s.Categories())
		y, err := stream.Release(proof.Category(label))
		if err != nil {
			return nil, err
		}
		e.Golden.Draws = append(e.Golden.Draws, exportDraw{label, y})
	}
	return e, nil
}
