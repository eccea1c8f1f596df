// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"context"
	"fmt"
	"math/big"
	"math/bits"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// Limits of a table. They keep every quantity of the exact checks within the
// fixed-width arithmetic used there, and every grid point a float64.
const (
	// maxShiftWork bounds cells times cells per sensitivity, the cost of the exact privacy test.
	maxShiftWork = 1 << 32
	// maxReach bounds |n| over the grid points n that carry noise.
	maxReach = 1 << 52
	// minUnit and maxUnit bound the step of a lattice, so that every multiple
	// of up to 2^53 of it is a normal float64.
	minUnit = 1e-250
	maxUnit = 1e250
	// maxPointsPerCell bounds S.
	maxPointsPerCell = 1 << 40
	// exponentRange bounds |granularity_exponent|, so that every grid point
	// up to 2^53 is a normal float64.
	exponentRange = 900
)

// Grid lays cells over the integers: cell j holds the odd number S = PointsPerCell of points
// Offset+jS-(S-1)/2 … Offset+jS+(S-1)/2, and the point n stands for the noise
// n·Unit·2^GranularityExponent in the query's units.
type Grid struct {
	GranularityExponent int `json:"granularity_exponent"`
	// Unit is 1 except for lattice queries; 0 means 1.
	Unit          float64 `json:"unit,omitempty"`
	PointsPerCell int64   `json:"points_per_cell"`
	// Offset moves all cells.
	Offset int64 `json:"offset,omitempty"`
	// CellsPerSensitivity is K: a shift by the sensitivity moves at most K·S points.
	CellsPerSensitivity int `json:"cells_per_sensitivity"`
	// FirstCell is the index j of the first weight.
	FirstCell int `json:"first_cell"`
}

// Step returns the distance of neighboring points, Unit·2^GranularityExponent, exactly.
func (g Grid) Step() *big.Rat {
	step := exact.PowerOfTwo(g.GranularityExponent)
	return step.Mul(step, exact.Rational(g.unit()))
}

// unit returns Unit, or the 1 it stands for.
func (g Grid) unit() float64 {
	if g.Unit == 0 {
		return 1
	}
	return g.Unit
}

// FirstPoint returns the least point of the i-th cell, 0 <= i, which is cell FirstCell+i.
func (g Grid) FirstPoint(i int) int64 {
	return g.Offset + (int64(g.FirstCell)+int64(i))*g.PointsPerCell - (g.PointsPerCell-1)/2
}

// Spec is the content of a table.
type Spec struct {
	// Problem is what the table is an answer to: its noise keeps the privacy and the constraints,
	// and the lower bound is about noise that keeps them too. The Step of a lattice is that of the
	// grid; New fills it in and refuses another.
	dp.Problem
	Grid    Grid
	Weights []uint64 // one per cell, from Grid.FirstCell on
	Atom    uint64   // weight of the single point 0, beside its cell's share
	// TailRatio, if not 0, gives the noise a geometric tail on either side of
	// 0. With ρ = TailRatio/2^64, the first and the last CellsPerSensitivity
	// cells repeat outwards for ever, ρ times as likely in each period; the weight W of such a cell
	// is that of the cell and all its repetitions: i periods out it has the probability
	// W/2^64·(1-ρ)·ρ^i. The point 0 lies in a cell between them.
	TailRatio uint64
	Dual      *Dual           // proves the lower bound; nil: none claimed beyond 0
	Claims    formfile.Claims // the zero value: filled in by New from the certificate
	// Total is what the table was made for, if that is several releases; a claim
	// that New and Verify do not check, see ClaimedTotal.
	Total Total
}

// Table is a checked, immutable Spec.
type Table struct{ *content }

// content is shared with the proof. No other package has a pointer to one, so that nothing can
// be assigned to what was proved.
type content struct {
	spec  Spec
	proof proof.Proof[Certificate]
}

// New checks the structure of a table, ranges, parities and the sum 2^64, and not its claims,
// which Verify does. Empty Claims are filled in from the certificate. The slices are copied.
// All bad fields are reported together, but of the dual only the first, wrapping dp.ErrInvalid.
func New(s Spec) (*Table, error) { return build(context.Background(), s, (*Spec).certify) }

// build makes the table that is certified so.
func build(ctx context.Context, s Spec, certify func(*Spec, *proof.Meter) Certificate) (*Table, error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	s = formfile.Clone(s)
	switch s.Query {
	case "":
		s.Query = dp.RealQuery
	case dp.LatticeQuery:
		s.Step = s.Grid.unit()
	case dp.RealQuery, dp.IntegerQuery:
	}
	c := &content{spec: s}
	c.proof = proof.New("tables", func(m *proof.Meter) Certificate { return certify(&c.spec, m) }, c.spec.judge)
	if s.Claims == (formfile.Claims{}) {
		certificate, err := c.proof.Find(ctx)
		if err != nil {
			return nil, err
		}
		c.spec.Claims = certificate.Claims()
	}
	return &Table{c}, nil
}

func (s *Spec) validate() error {
	g := s.Grid
	errs := check.In("tables")
	errs.MaxEpsilon(s.Epsilon)
	p := s.Problem
	if p.Query == dp.LatticeQuery && p.Step == 0 {
		p.Step = 1 // until New fills it in
	}
	errs.Add(p.Validate())
	s.validateQuery(errs)
	errs.If(g.GranularityExponent < -exponentRange || g.GranularityExponent > exponentRange, "granularity_exponent", g.GranularityExponent, "an integer from %d to %d", -exponentRange, exponentRange)
	if g.PointsPerCell < 1 || g.PointsPerCell > maxPointsPerCell || g.PointsPerCell%2 == 0 {
		errs.Bad("points_per_cell", g.PointsPerCell, fmt.Sprintf("an odd number from 1 to %d", int64(maxPointsPerCell)))
	}
	n := len(s.Weights)
	errs.If(n < 1 || n > limits.TableCells, "weights", fmt.Sprintf("%d cells", n), "1 to %d cells", limits.TableCells)
	if k := g.CellsPerSensitivity; k < 1 || k > limits.TableCells || int64(k)*int64(n) > maxShiftWork {
		errs.Bad("cells_per_sensitivity", k, fmt.Sprintf("1 to %d, and at most %d times the number of cells", limits.TableCells, int64(maxShiftWork)))
	}
	errs.If(g.FirstCell < -limits.TableCells || g.FirstCell > limits.TableCells, "first_cell", g.FirstCell, "an integer from %d to %d", -limits.TableCells, limits.TableCells)
	if errs.None() {
		reach := max(abs(int64(g.FirstCell)), abs(int64(g.FirstCell)+int64(n)-1)) + 1 + abs(g.Offset)/g.PointsPerCell + 1
		if hi, lo := bits.Mul64(uint64(reach), uint64(g.PointsPerCell)); hi != 0 || lo > maxReach {
			errs.Bad("points_per_cell", g.PointsPerCell, fmt.Sprintf("noise within %d grid points of 0", int64(maxReach)))
		}
		s.validateTail(errs)
		errs.If(s.total() != (exact.Uint128{Hi: 1}), "weights", fmt.Sprintf("a sum of %s with the atom", s.total().Big()), "exactly 2^64")
	}
	formfile.Validate(&s.Claims, errs)
	errs.Add(s.Dual.validate())
	s.Total.validate(errs)
	return errs.Err()
}

// validateQuery checks what depends on the kind of query: real queries are rounded to a fine grid,
// integers are their own grid, and the unit of a lattice is any number.
func (s *Spec) validateQuery(errs *check.List) {
	g := s.Grid
	errs.If(abs(g.Offset) > maxReach, "offset", g.Offset, "at most %d in absolute value", int64(maxReach))
	switch s.Query {
	case "", dp.RealQuery:
		errs.If(g.Unit != 0 && g.Unit != 1, "unit", g.Unit, "1, as the query is not rounded to a lattice")
	case dp.IntegerQuery:
		errs.If((g.Unit != 0 && g.Unit != 1) || g.GranularityExponent != 0, "granularity_exponent", g.GranularityExponent, "0, and a unit of 1, for an integer query")
	case dp.LatticeQuery:
		errs.If(g.GranularityExponent != 0, "granularity_exponent", g.GranularityExponent, "0 for a lattice query")
		errs.If(g.Unit != 0 && !(g.Unit >= minUnit && g.Unit <= maxUnit), "unit", g.Unit, "a number from %g to %g (query units)", minUnit, maxUnit)
		errs.If(s.Step != 0 && s.Step != g.unit(), "step", s.Step, "%g, as the grid has it", g.unit())
	}
}

func (s *Spec) total() exact.Uint128 {
	total := exact.Uint128{Lo: s.Atom}
	for _, w := range s.Weights {
		total.Add64(w)
	}
	return total
}

// Spec returns a copy of what the table holds.
func (t *Table) Spec() Spec { return formfile.Clone(t.spec) }

// Problem returns what the table is an answer to.
func (t *Table) Problem() dp.Problem { return formfile.Clone(t.spec.Problem) }

// Privacy returns the promise.
func (t *Table) Privacy() dp.Privacy { return t.spec.Privacy }

// WithDual returns the table with other multipliers for its lower bound, and claims that follow
// from the certificate, whose other parts are not computed again. The error wraps dp.ErrInvalid,
// or is that of the context.
func (t *Table) WithDual(ctx context.Context, d *Dual) (*Table, error) {
	s := t.spec
	s.Dual, s.Claims = d, formfile.Claims{}
	return build(ctx, s, func(s *Spec, m *proof.Meter) Certificate {
		c := t.proof.Again(m)
		c.LowerBound = s.Dual.lowerBound(s.Problem, m)
		return c
	})
}

// Query returns what the noise is for.
func (t *Table) Query() dp.Query { return t.spec.Query }

// Loss returns the loss the table was designed for; nil for a table that is not from
// New or Decode, of which nothing else may be asked but Verify.
func (t *Table) Loss() loss.Loss {
	if t.content == nil {
		return nil
	}
	return t.spec.Loss
}

// Grid returns the layout.
func (t *Table) Grid() Grid { return t.spec.Grid }

// Dual returns the multipliers behind the lower bound, or nil.
func (t *Table) Dual() *Dual { return formfile.Clone(t.spec.Dual) }

// Cells returns the number of cells.
func (t *Table) Cells() int { return len(t.spec.Weights) }

// Weight returns the weight of the i-th cell, 0 <= i < Cells, which is cell
// Grid.FirstCell+i. A weight w is a probability of w/2^64.
func (t *Table) Weight(i int) uint64 { return t.spec.Weights[i] }

// Atom returns the weight of the single point 0 beside its cell's share.
func (t *Table) Atom() uint64 { return t.spec.Atom }

// TailRatio returns 2^64·ρ, ρ the factor between the periods of the table's
// tail, or 0 if it has none; see Spec.
func (t *Table) TailRatio() uint64 { return t.spec.TailRatio }

// Block reports whether the weight of the i-th cell, 0 <= i < Cells, is that of a
// tail, on the side of the sign.
func (t *Table) Block(i int) (side int, ok bool) {
	s, ok := t.spec.isBlock(i)
	return int(s), ok
}

// PMF returns the cell probabilities and the atom's as float64s, for plots and statistics; proofs
// use the weights. That of a block of a tail includes all its repetitions.
func (t *Table) PMF() (cells []float64, atom float64) {
	return formfile.Probabilities(t.spec.Weights), float64(t.spec.Atom) * 0x1p-64
}

// Reach returns the largest |n| over the grid points of the cells; with a tail noise goes beyond.
func (t *Table) Reach() int64 {
	g := t.spec.Grid
	n := len(t.spec.Weights)
	return max(abs(g.FirstPoint(0)), abs(g.FirstPoint(n)-1))
}

func abs(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}
