// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

// WriteExport writes a mechanism out, as one line of JSON, for another implementation to
// check itself against: of a table the probability of every entry, the delta of every shift,
// and n draws of the deterministic stream of the seed (see [Deterministic]) with the
// rules by which its words become draws; of other forms what their Export says. Exact values
// are strings. It is a view of the mechanism; its file is the record.
//
// The error wraps dp.ErrInvalid if there is no mechanism, its form is not written out, or n is
// negative, or is the writer's.
func WriteExport(w io.Writer, v proof.Proven, seed [32]byte, n int) error {
	s, err := New(v, Options{Entropy: Deterministic(seed)})
	if err != nil {
		return err
	}
	if n < 0 {
		return check.Field("sampler", "draws", n, "a number at least 0")
	}
	g, err := newGolden(seed)
	if err != nil {
		return err
	}
	from, ok := s.(exporter) // the sampler of a table, which has the rules of its words
	if !ok {
		from, ok = s.Mechanism().(proof.Exporter)
	}
	if !ok {
		return check.Field("sampler", "mechanism", s.Mechanism().Form().Noun, "one of a form that is written out")
	}
	e, err := from.Export(v.Bounds(), g, &stream{s, seed}, n)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(w).Encode(e); err != nil {
		return check.Errorf("sampler", nil, "encode: %w", err)
	}
	return nil
}

// exporter is what of a proof.Exporter writes.
type exporter interface {
	Export(bounds proof.Bounds, g formfile.Golden, s proof.Stream, n int) (any, error)
}

// stream implements proof.Stream.
type stream struct {
	Sampler
	seed [32]byte
}

// Anew implements proof.Stream.
func (s *stream) Anew() {
	s.Sampler = s.Sampler.(replayed).replay(newFixedGenerator(s.seed))
}

// Draw implements proof.Stream.
func (s *stream) Draw(c proof.Choice) (answer int, point int64, err error) {
	return s.Sampler.(*answers).draw(c)
}

// newGolden states the stream of a seed.
func newGolden(seed [32]byte) (g formfile.Golden, err error) {
	var block [blockBytes]byte
	if err := newFixedGenerator(seed).read(&block); err != nil {
		return g, err
	}
	g = formfile.Golden{Stream: streamRule, Seed: hex.EncodeToString(seed[:])}
	for i := range goldenWords {
		g.Words = append(g.Words, fmt.Sprint(binary.LittleEndian.Uint64(block[wordBytes*i:])))
	}
	return g, nil
}

type export struct {
	Schema  int         `json:"schema"` // 1
	Privacy dp.Privacy  `json:"privacy"`
	Loss    string      `json:"loss"`
	Grid    tables.Grid `json:"grid"`
	// Total is the sum of all weights, 2^64.
	Total string                  `json:"total"`
	Cells []exportCell            `json:"cells"`
	Atom  formfile.ExportedWeight `json:"atom"` // the point 0 beside its cell
	// TailRatio, if not empty, is 2^64 times the factor between the periods of a tail. The weights
	// of the first and last CellsPerSensitivity cells then have all their repetitions.
	TailRatio string `json:"tail_ratio,omitempty"`
	// Profile states delta for shifts of 1, 2, … cells; see tables.Table.ShiftDeltas.
	Profile []exportShift `json:"profile"`
	Golden  golden        `json:"golden"`
}

// exportCell is a run of equally likely grid points.
type exportCell struct {
	FirstPoint int64 `json:"first_point"`
	LastPoint  int64 `json:"last_point"`
	formfile.ExportedWeight
}

// exportShift is the delta of one shift.
type exportShift struct {
	Cells int `json:"cells"`
	// Delta is the exact fraction.
	Delta string `json:"delta"`
	// DeltaUpper is Delta as a decimal, of 15 significant digits, rounded up.
	DeltaUpper string `json:"delta_upper"`
}

// golden is a deterministic stream and its draws, by the rules of Deterministic.
type golden struct {
	formfile.Golden
	// Draws are the first draws, as grid points.
	Draws []int64 `json:"draws"`
}

const (
	streamRule = "words are the keystream of AES-256 in counter mode, key = seed, IV = 16 zero bytes, read as little-endian unsigned 64-bit integers"
	drawRule   = "per draw: take a word u; the entry is the first, in the order cells ascending then atom, with u < the sum of the weights up to and including it; " +
		"take a word v and let S = points_per_cell and h·2^64 + l = v·S; while l < 2^64 mod S take another v; " +
		"the draw is 0 for the atom and offset + j·S - (S-1)/2 + h for cell j, offset being 0 unless stated; " +
		"if tail_ratio is stated and the cell is one of the first or last cells_per_sensitivity ones, take words until one is at least tail_ratio, " +
		"and for each word below it move the draw cells_per_sensitivity·S points away from 0"

	// goldenWords is the number of words stated.
	goldenWords = 8
)

// Export implements exporter, by the next draws of the sampler.
func (s adder) Export(_ proof.Bounds, g formfile.Golden, _ proof.Stream, n int) (any, error) {
	t, grid := s.table, s.table.Grid()
	g.Draw = drawRule
	e := &export{
		Schema:  1,
		Privacy: t.Privacy(),
		Loss:    t.Loss().Name(),
		Grid:    grid,
		Total:   formfile.ExportedTotal,
		Cells:   make([]exportCell, t.Cells()),
		Atom:    formfile.ExportWeight(t.Atom()),
		Golden:  golden{g, make([]int64, n)},
	}
	if r := t.TailRatio(); r != 0 {
		e.TailRatio = fmt.Sprint(r)
	}
	for i := range e.Cells {
		e.Cells[i] = exportCell{grid.FirstPoint(i), grid.FirstPoint(i+1) - 1, formfile.ExportWeight(t.Weight(i))}
	}
	for i, d := range t.ShiftDeltas() {
		e.Profile = append(e.Profile, exportShift{Cells: i + 1, Delta: d.String(), DeltaUpper: exact.StateUp(d)})
	}
	return e, s.FillInt(e.Golden.Draws)
}
