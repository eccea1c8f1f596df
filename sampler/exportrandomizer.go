package sampler

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/local"
)

// WriteRandomizerExport is WriteExport for a local randomizer: the law of every node, and n
// answers to values in turn: the nodes, and of real values the points a third of the way
// from each node to the next, to the nearest float64.
func WriteRandomizerExport(w io.Writer, v *local.Verified, seed [32]byte, n int) error {
	s, err := NewRandomizerDeterministic(v, seed)
	if err != nil {
		return err
	}
	if n < 0 {
		return check.Field("sampler", "draws", n, "a number at least 0")
	}
	e, err := newRandomizerExport(v, s, seed, n)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(w).Encode(e); err != nil {
		return check.Errorf("sampler", nil, "encode: %w", err)
	}
	return nil
}

type randomizerExport struct {
	Schema       int               `json:"schema"` // 1
	Epsilon      float64           `json:"epsilon"`
	Delta        float64           `json:"delta"`
	DeltaUpper   string            `json:"delta_upper"` // certified, rounded up
	Query        local.Kind        `json:"query"`
	Nodes        []float64         `json:"nodes,omitempty"`
	Labels       []string          `json:"labels,omitempty"`
	Answers      []float64         `json:"answers,omitempty"`
	AnswerLabels []string          `json:"answer_labels,omitempty"`
	Total        string            `json:"total"` // of the weights of a row, 2^64
	Rows         [][]exportWeight  `json:"rows"`  // of each node, over the answers
	Golden       randomizerGoldens `json:"golden"`
}

// randomizerGoldens is as golden; each draw is of an answer, by its index.
type randomizerGoldens struct {
	Stream string           `json:"stream"`
	Draw   string           `json:"draw"`
	Seed   string           `json:"seed"`
	Words  []string         `json:"words"`
	Draws  []randomizerDraw `json:"draws"`
}

// randomizerDraw is an answer to a value, or to the category of an index.
type randomizerDraw struct {
	Value  float64 `json:"value"`
	Answer int     `json:"answer"`
}

const randomizerDrawRule = "per draw: for real values take words w1, w2, … until the fraction 0.w1w2… in base 2^64 is known to be below " +
	"(value − node i)/(node i+1 − node i) or not, where node i is the last one at most the value: below it the row is that of node i+1, else of node i; " +
	"for other values the row is that of the value; then take a word u; the answer is the first with u < the sum of the weights up to and including it"

func newRandomizerExport(v *local.Verified, s *RandomizerSampler, seed [32]byte, n int) (*randomizerExport, error) {
	r := v.Randomizer()
	p := r.Spec()
	e := &randomizerExport{
		Schema: 1, Epsilon: p.Epsilon, Delta: p.Delta, DeltaUpper: v.Certificate().Claims().Delta, Query: p.Values.Kind,
		Nodes: p.Nodes, Labels: p.Values.Labels, Answers: p.Answers, AnswerLabels: p.AnswerLabels, Total: "18446744073709551616",
		Golden: randomizerGoldens{Stream: streamRule, Draw: randomizerDrawRule, Seed: hex.EncodeToString(seed[:]), Draws: []randomizerDraw{}},
	}
	for i, row := range p.Rows {
		masses, weights := r.PMF(i), make([]exportWeight, len(row))
		for j, w := range row {
			weights[j] = exportWeight{fmt.Sprint(w), masses[j]}
		}
		e.Rows = append(e.Rows, weights)
	}
	var err error
	if e.Golden.Words, err = firstWords(seed); err != nil {
		return nil, err
	}
	values := goldenValues(&p)
	for i := range n {
		x := values[i%len(values)]
		var j int
		if p.Values.Kind == local.Category {
			j, err = s.draw(int(x))
		} else {
			j, err = s.ReleaseIndex(x)
		}
		if err != nil {
			return nil, err
		}
		e.Golden.Draws = append(e.Golden.Draws, randomizerDraw{x, j})
	}
	return e, nil
}

// goldenValues are those that an export answers.
func goldenValues(p *local.Spec) (values []float64) {
	for i := range p.Rows {
		switch {
		case p.Values.Kind == local.Category:
			values = append(values, float64(i))
		case p.Values.Kind == local.Real && i+1 < len(p.Nodes):
			values = append(values, p.Nodes[i], p.Nodes[i]+(p.Nodes[i+1]-p.Nodes[i])/3)
		default:
			values = append(values, p.Nodes[i])
		}
	}
	return values
}
