package sampler

import (
	"encoding/json"
	"io"
	"strconv"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/tables"
)

// Export is a table written out for another implementation to check itself
// against: the probability of every entry, the delta of every shift, and draws.
// Exact values are strings. It is a view of the table; the table file is the
// record (docs/table-format.md).
type Export struct {
	Schema  int         `json:"schema"` // 1
	Privacy dp.Privacy  `json:"privacy"`
	Loss    string      `json:"loss"`
	Grid    tables.Grid `json:"grid"`
	// Total is the sum of all weights, 2^64.
	Total string       `json:"total"`
	Cells []ExportCell `json:"cells"`
	Atom  ExportAtom   `json:"atom"`
	// TailRatio, if not empty, is 2^64 times the factor between the periods of
	// a tail. The weights of the first and last CellsPerSensitivity cells are
	// then those of the cells with all their repetitions.
	TailRatio string `json:"tail_ratio,omitempty"`
	// Profile states delta for shifts of 1, 2, … cells; see tables.Table.ShiftDeltas.
	Profile []ExportShift `json:"profile"`
	Golden  *Golden       `json:"golden"`
}

// ExportCell is a run of equally likely grid points.
type ExportCell struct {
	FirstPoint int64 `json:"first_point"`
	LastPoint  int64 `json:"last_point"`
	// Weight out of Total, exact.
	Weight string `json:"weight"`
	// Probability is Weight/Total to the nearest float64.
	Probability float64 `json:"probability"`
}

// ExportAtom is the point 0 beside its cell.
type ExportAtom struct {
	Weight      string  `json:"weight"`
	Probability float64 `json:"probability"`
}

// ExportShift is the delta of one shift.
type ExportShift struct {
	Cells int `json:"cells"`
	// Delta is the exact fraction.
	Delta string `json:"delta"`
	// DeltaUpper is Delta as a decimal, of 15 significant digits, rounded up.
	DeltaUpper string `json:"delta_upper"`
}

// NewExport writes out the table, with n draws for the seed. Errors are those of
// NewGolden.
func NewExport(v *tables.Verified, seed [32]byte, n int) (*Export, error) {
	t, err := tableOf(v)
	if err != nil {
		return nil, err
	}
	return newExport(t, seed, n)
}

func newExport(t *tables.Table, seed [32]byte, n int) (*Export, error) {
	golden, err := newGolden(t, seed, n)
	if err != nil {
		return nil, err
	}
	grid := t.Grid()
	cells, atom := t.PMF()
	e := &Export{
		Schema:  1,
		Privacy: t.Privacy(),
		Loss:    t.Loss().Name(),
		Grid:    grid,
		Total:   "18446744073709551616",
		Cells:   make([]ExportCell, t.Cells()),
		Atom:    ExportAtom{Weight: strconv.FormatUint(t.Atom(), 10), Probability: atom},
		Golden:  golden,
	}
	if r := t.TailRatio(); r != 0 {
		e.TailRatio = strconv.FormatUint(r, 10)
	}
	for i, p := range cells {
		e.Cells[i] = ExportCell{
			FirstPoint:  grid.FirstPoint(i),
			LastPoint:   grid.FirstPoint(i+1) - 1,
			Weight:      strconv.FormatUint(t.Weight(i), 10),
			Probability: p,
		}
	}
	for i, d := range t.ShiftDeltas() {
		e.Profile = append(e.Profile, ExportShift{Cells: i + 1, Delta: d.String(), DeltaUpper: tables.DecimalUp(d)})
	}
	return e, nil
}

// Encode writes the document as JSON on one line.
func (e *Export) Encode(w io.Writer) error {
	if err := json.NewEncoder(w).Encode(e); err != nil {
		return check.Errorf("sampler", nil, "encode: %w", err)
	}
	return nil
}
