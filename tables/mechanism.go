// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"context"
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/internal/strictjson"
	"github.com/noisewright/noisewright/proof"
)

// form is that of tables. Its files are described in docs/table-format.md, and bounded well
// above limits.TableCells weights and a large dual.
var form = proof.Form{Package: "tables", Noun: "a table", File: strictjson.Format{
	Noun: "table", Name: "noisewright-table", Version: 1, MaxSize: 64 << 20,
	MaxElements: map[string]int{
		"weights": limits.TableCells, "shifts": limits.TableCells, "multipliers": formfile.MaxMultipliers, "quantiles": limits.Quantiles,
	},
}}

// Verified is the proof about a table, see proof.Verified. It is about one release:
// that of several, its ClaimedTotal, is no part of it.
type Verified = proof.Verified[Table, Certificate]

// Verify is proof.Verify with the work that is allowed by default. A false claim is also a stated
// constraint that is not kept. The work is that of cells × cells per sensitivity (a few times that
// without symmetry, or with a tail), and for each cell and each multiplier of the dual a bound of
// the loss, from a thousand operations for l1 to a hundred thousand for lp:1.1.
func (t *Table) Verify() (*Verified, error) {
	return proof.Verify(context.Background(), t, proof.Options{})
}

// Prove implements proof.Mechanism.
func (t *Table) Prove(ctx context.Context, o proof.Options) (proof.Proven, error) {
	return proof.Prove(ctx, t, o)
}

// Proof is for proof.Verify.
func (t *Table) Proof() (p proof.Proof[Certificate]) {
	if t != nil && t.content != nil {
		p = t.proof
	}
	return p
}

// Form implements proof.Mechanism.
func (*Table) Form() proof.Form { return form }

// judge holds what the table promises and claims against the certificate. It says nothing
// if the meter said stop.
func (s *Spec) judge(c Certificate, m *proof.Meter) error {
	p := s.Privacy
	if !c.SensitivityCovered {
		g := s.Grid
		step, _ := g.Step().Float64()
		return check.Errorf("tables", proof.ErrNotPrivate, "sensitivity = %g is longer than %d cells of %d points of %g", p.Sensitivity, g.CellsPerSensitivity, g.PointsPerCell, step)
	}
	if err := s.keeps(m); err != nil {
		return err
	}
	if delta := exact.Rational(p.Delta); c.DeltaUpper.Cmp(delta) > 0 {
		return check.Errorf("tables", proof.ErrNotPrivate, "delta = %g is promised but only %s is proved, at a shift of %d cells (excess %s)", p.Delta, exact.StateUp(c.DeltaUpper), c.WorstShift, formfile.Excess(c.DeltaUpper, delta))
	}
	return formfile.Check("tables", &s.Claims, c.stated()...)
}

// Inputs are query values; numbers are bounded by what is a float64 with noise.
func (t *Table) Inputs() proof.Space {
	step, _ := t.spec.Grid.Step().Float64()
	most := float64(exact.MaxInteger-t.Reach()) * step
	kind := proof.Numbers
	if t.spec.Query == dp.IntegerQuery {
		kind = proof.Integers
	}
	return proof.Space{Kind: kind, Lower: -most, Upper: most}
}

// Answers are query values with noise.
func (t *Table) Answers() proof.Space {
	s := t.Inputs()
	s.Lower, s.Upper = math.Inf(-1), math.Inf(1)
	return s
}
