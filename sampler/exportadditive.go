package sampler

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/noisewright/noisewright/cells"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
)

// WriteAdditiveExport is WriteExport for an additive kernel: for each cell the values that
// it holds, the probability of every bin, and n draws of its noise from the deterministic
// stream of the seed, begun anew.
func WriteAdditiveExport(w io.Writer, v *cells.Verified, seed [32]byte, n int) error {
	k, err := additiveOf(v)
	if err != nil {
		return err
	}
	if n < 0 {
		return check.Field("sampler", "draws", n, "a number at least 0")
	}
	e := additiveExport{
		Schema: 1, Privacy: k.Privacy(), Loss: k.Loss().Name(), Grid: k.Grid(), Total: "18446744073709551616",
		Cells:  make([]additiveCell, k.Cells()),
		Golden: additiveGolden{Stream: streamRule, Draw: additiveRule, Seed: hex.EncodeToString(seed[:])},
	}
	if e.Golden.Words, err = firstWords(seed); err != nil {
		return err
	}
	laws := newAdditiveLaws(k)
	for i := range e.Cells {
		s := newAdditiveSampler(k, laws, newFixedGenerator(seed))
		c := additiveCell{Lower: finiteOrNil(k.Edge(i)), Upper: finiteOrNil(k.Edge(i + 1)), Draws: make([]int64, n)}
		for j := range k.Bins() {
			c.Bins = append(c.Bins, exportWeight{fmt.Sprint(k.Weight(i, j)), float64(k.Weight(i, j)) * 0x1p-64})
		}
		for d := range c.Draws {
			if c.Draws[d], err = s.draw(&laws[i]); err != nil {
				return err
			}
		}
		e.Cells[i] = c
	}
	if err := json.NewEncoder(w).Encode(e); err != nil {
		return check.Errorf("sampler", nil, "encode: %w", err)
	}
	return nil
}

type additiveExport struct {
	Schema  int        `json:"schema"` // 1
	Privacy dp.Privacy `json:"privacy"`
	Loss    string     `json:"loss"`
	Grid    cells.Grid `json:"grid"`
	// Total is the sum of the weights of each cell, 2^64.
	Total  string         `json:"total"`
	Cells  []additiveCell `json:"cells"`
	Golden additiveGolden `json:"golden"`
}

// additiveCell holds the values from Lower on and below Upper; null: without an end.
type additiveCell struct {
	Lower *float64       `json:"lower"`
	Upper *float64       `json:"upper"`
	Bins  []exportWeight `json:"bins"` // from Grid.FirstBin on
	// Draws are noise, as grid points.
	Draws []int64 `json:"draws"`
}

// additiveGolden is golden without the draws, which each cell has.
type additiveGolden struct {
	Stream string   `json:"stream"`
	Draw   string   `json:"draw"`
	Seed   string   `json:"seed"`
	Words  []string `json:"words"`
}

const additiveRule = "the stream begins anew for each cell; per draw: take a word u; the bin is the first with u < the sum of the weights up to and including it; " +
	"take a word v and let S = points_per_bin and h·2^64 + l = v·S; while l < 2^64 mod S take another v; the draw is j·S - floor(S/2) + h for bin j; " +
	"an answer to x is floor(x/g + 1/2) and the draw of the cell that holds it, edges rounded likewise, in steps of g"

// firstWords returns the first words of the stream of a seed.
func firstWords(seed [32]byte) (words []string, err error) {
	var block [blockBytes]byte
	if err := newFixedGenerator(seed).read(&block); err != nil {
		return nil, err
	}
	for i := range goldenWords {
		words = append(words, fmt.Sprint(binary.LittleEndian.Uint64(block[wordBytes*i:])))
	}
	return words, nil
}

func finiteOrNil(x float64) *float64 {
	if math.IsInf(x, 0) {
		return nil
	}
	return &x
}
