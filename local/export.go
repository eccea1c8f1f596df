// SPDX-License-Identifier: Apache-2.0

package local

import (
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/proof"
)

type export struct {
	Schema       int                         `json:"schema"` // 1
	Epsilon      float64                     `json:"epsilon"`
	Delta        float64                     `json:"delta"`
	DeltaUpper   string                      `json:"delta_upper"` // certified, rounded up
	Query        Kind                        `json:"query"`
	Nodes        []float64                   `json:"nodes,omitempty"`
	Labels       []string                    `json:"labels,omitempty"`
	Answers      []float64                   `json:"answers,omitempty"`
	AnswerLabels []string                    `json:"answer_labels,omitempty"`
	Total        string                      `json:"total"` // of the weights of a row
	Rows         [][]formfile.ExportedWeight `json:"rows"`  // of each node, over the answers
	Golden       golden                      `json:"golden"`
}

type golden struct {
	formfile.Golden
	Draws []exportDraw `json:"draws"`
}

// exportDraw is the index of an answer to a value, or to the category of an index.
type exportDraw struct {
	Value  float64 `json:"value"`
	Answer int     `json:"answer"`
}

const drawRule = "per draw: for real values take words w1, w2, … until the fraction 0.w1w2… in base 2^64 is known to be below " +
	"(value − node i)/(node i+1 − node i) or not, where node i is the last one at most the value: below it the row is that of node i+1, else of node i; " +
	"for other values the row is that of the value; then take a word u; the answer is the first with u < the sum of the weights up to and including it"

// Export implements proof.Exporter: the law of every node, and n answers to values in turn: the
// nodes, and of real values the points a third from each node to the next, to the nearest float64.
func (r *Randomizer) Export(bounds proof.Bounds, g formfile.Golden, s proof.Stream, n int) (any, error) {
	g.Draw = drawRule
	p := &r.spec
	e := export{
		Schema: 1, Epsilon: p.Epsilon, Delta: p.Delta, DeltaUpper: exact.StateUp(bounds.Delta), Query: p.Values.Kind,
		Nodes: p.Nodes, Labels: p.Values.Labels, Answers: p.Answers, AnswerLabels: p.AnswerLabels, Total: formfile.ExportedTotal,
		Golden: golden{g, []exportDraw{}},
	}
	for _, row := range p.Rows {
		e.Rows = append(e.Rows, formfile.ExportWeights(row))
	}
	values := p.goldenValues()
	for i := range n {
		x := values[i%len(values)]
		c := proof.Choice{Row: int(x)}
		if p.Values.Kind != Category {
			var err error
			if c, err = r.Choose(proof.Number(x)); err != nil {
				return nil, err
			}
		}
		answer, _, err := s.Draw(c)
		if err != nil {
			return nil, err
		}
		e.Golden.Draws = append(e.Golden.Draws, exportDraw{x, answer})
	}
	return e, nil
}

// goldenValues are those that an export answers.
func (s *Spec) goldenValues() (values []float64) {
	for i := range s.Rows {
		switch {
		case s.Values.Kind == Category:
			values = append(values, float64(i))
		case s.Values.Kind == Real && i+1 < len(s.Nodes):
			values = append(values, s.Nodes[i], s.Nodes[i]+(s.Nodes[i+1]-s.Nodes[i])/3)
		default:
			values = append(values, s.Nodes[i])
		}
	}
	return values
}
