package tables

import (
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/claims"
	"github.com/noisewright/noisewright/internal/exact"
)

// Verified is the proof that a table keeps its privacy promise and makes no false
// claim about one release: the table, and the certificate that was computed from it.
// That of several, its ClaimedTotal, is no part of the proof. Only
// [Table.Verify] makes one that holds a table. It is immutable and safe for
// concurrent use.
type Verified struct {
	content     *content
	certificate Certificate
}

// Table returns the table; nil for a Verified that Verify has not made.
func (v *Verified) Table() *Table {
	if v.content == nil {
		return nil
	}
	return &Table{v.content}
}

// Certificate returns what exact arithmetic found in the table, as Certify does.
func (v *Verified) Certificate() Certificate {
	if v.content == nil {
		return Certificate{}
	}
	return v.certificate.clone()
}

// Verify certifies the table and checks every claim it makes against the
// result. The error wraps ErrNotPrivate if the privacy promise is not kept,
// ErrFalseClaim if a stated constraint or number does not hold, and dp.ErrInvalid
// for a table that is not from New or Decode; it says which and by how much, and
// there is no Verified beside it. It takes the time of Certify, once.
func (t *Table) Verify() (*Verified, error) {
	if t == nil || t.content == nil {
		return nil, check.Field("tables", "table", "none", "one made by New or Decode")
	}
	return t.verified()
}

func (c *content) verify() (*Verified, error) {
	found := c.certificate()
	if err := c.spec.judge(found); err != nil {
		return nil, err
	}
	return &Verified{c, found}, nil
}

// judge holds what the table promises and claims against the certificate.
func (s *Spec) judge(c Certificate) error {
	p := s.Privacy
	if !c.SensitivityCovered {
		g := s.Grid
		step, _ := g.Step().Float64()
		return check.Errorf("tables", ErrNotPrivate, "sensitivity = %g is longer than %d cells of %d points of %g", p.Sensitivity, g.CellsPerSensitivity, g.PointsPerCell, step)
	}
	if err := s.keeps(); err != nil {
		return err
	}
	if delta := exact.Rational(p.Delta); c.DeltaUpper.Cmp(delta) > 0 {
		return check.Errorf("tables", ErrNotPrivate, "delta = %g is promised but only %s is proved, at a shift of %d cells (excess %s)", p.Delta, claims.Up(c.DeltaUpper), c.WorstShift, claims.Excess(c.DeltaUpper, delta))
	}
	return claims.Check("tables", s.Claims.list(), c.DeltaUpper, c.ExpectedLoss, c.LowerBound)
}
