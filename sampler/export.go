package sampler

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/tables"
)

// WriteExport writes a table out, as one line of JSON, for another implementation to
// check itself against: the probability of every entry, the delta of every shift, and
// n draws of the deterministic stream of the seed (see [NewDeterministic]) with the
// rules by which its words become draws. Exact values are strings. It is a view of the
// table; the table file is the record (docs/table-format.md).
//
// The error wraps dp.ErrInvalid if there is no table or n is negative, or is the
// writer's.
func WriteExport(w io.Writer, v *tables.Verified, seed [32]byte, n int) error {
	t, err := tableOf(v)
	if err != nil {
		return err
	}
	if n < 0 {
		return check.Field("sampler", "draws", n, "a number at least 0")
	}
	e, err := newExport(t, seed, n)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(w).Encode(e); err != nil {
		return check.Errorf("sampler", nil, "encode: %w", err)
	}
	return nil
}

type export struct {
	Schema  int         `json:"schema"` // 1
	Privacy dp.Privacy  `json:"privacy"`
	Loss    string      `json:"loss"`
	Grid    tables.Grid `json:"grid"`
	// Total is the sum of all weights, 2^64.
	Total string       `json:"total"`
	Cells []exportCell `json:"cells"`
	Atom  exportWeight `json:"atom"` // the point 0 beside its cell
	// TailRatio, if not empty, is 2^64 times the factor between the periods of
	// a tail. The weights of the first and last CellsPerSensitivity cells are
	// then those of the cells with all their repetitions.
	TailRatio string `json:"tail_ratio,omitempty"`
	// Profile states delta for shifts of 1, 2, … cells; see tables.Table.ShiftDeltas.
	Profile []exportShift `json:"profile"`
	Golden  golden        `json:"golden"`
}

// exportCell is a run of equally likely grid points.
type exportCell struct {
	FirstPoint int64 `json:"first_point"`
	LastPoint  int64 `json:"last_point"`
	exportWeight
}

type exportWeight struct {
	// Weight out of Total, exact.
	Weight string `json:"weight"`
	// Probability is Weight/Total to the nearest float64.
	Probability float64 `json:"probability"`
}

// exportShift is the delta of one shift.
type exportShift struct {
	Cells int `json:"cells"`
	// Delta is the exact fraction.
	Delta string `json:"delta"`
	// DeltaUpper is Delta as a decimal, of 15 significant digits, rounded up.
	DeltaUpper string `json:"delta_upper"`
}

// golden is a deterministic stream and the draws it yields. Stream and Draw state the
// rules, which are those of NewDeterministic.
type golden struct {
	Stream string `json:"stream"`
	Draw   string `json:"draw"`
	// Seed is 32 bytes in hexadecimal.
	Seed string `json:"seed"`
	// Words are the first words of the stream, in decimal.
	Words []string `json:"words"`
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

func newExport(t *tables.Table, seed [32]byte, n int) (e *export, err error) {
	grid := t.Grid()
	cells, atom := t.PMF()
	e = &export{
		Schema:  1,
		Privacy: t.Privacy(),
		Loss:    t.Loss().Name(),
		Grid:    grid,
		Total:   "18446744073709551616",
		Cells:   make([]exportCell, t.Cells()),
		Atom:    exportWeight{fmt.Sprint(t.Atom()), atom},
		Golden:  golden{Stream: streamRule, Draw: drawRule, Seed: hex.EncodeToString(seed[:]), Draws: make([]int64, n)},
	}
	if r := t.TailRatio(); r != 0 {
		e.TailRatio = fmt.Sprint(r)
	}
	for i, p := range cells {
		e.Cells[i] = exportCell{grid.FirstPoint(i), grid.FirstPoint(i+1) - 1, exportWeight{fmt.Sprint(t.Weight(i)), p}}
	}
	for i, d := range t.ShiftDeltas() {
		e.Profile = append(e.Profile, exportShift{Cells: i + 1, Delta: d.String(), DeltaUpper: tables.DecimalUp(d)})
	}
	if e.Golden.Words, err = firstWords(seed); err != nil {
		return nil, err
	}
	return e, newSampler(t, newLaw(t, false), newFixedGenerator(seed)).FillInt(e.Golden.Draws)
}
