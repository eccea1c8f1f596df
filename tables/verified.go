package tables

import (
	"context"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/proof"
)

// Verified is the proof that a table keeps its privacy promise and makes no false
// claim about one release: the table, and the certificate that was computed from it.
// That of several, its ClaimedTotal, is no part of the proof. Only
// [Table.Verify] makes one that holds a table. It is immutable and safe for
// concurrent use.
type Verified struct {
	content     *content
	certificate Certificate
	work        int64
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

// Work returns how many elementary operations the check took, see VerifyOptions.
func (v *Verified) Work() int64 { return v.work }

// Verify certifies the table and checks every claim it makes against the
// result. The error wraps ErrNotPrivate if the privacy promise is not kept,
// ErrFalseClaim if a stated constraint or number does not hold, and dp.ErrInvalid
// for a table that is not from New or Decode; it says which and by how much, and
// there is no Verified beside it. Where that would take more than DefaultWork it wraps
// ErrWork, and says nothing about the table. It takes the time of Certify, once.
func (t *Table) Verify() (*Verified, error) {
	return t.VerifyContext(context.Background(), VerifyOptions{})
}

// DefaultWork is the work of a check unless another is asked for, some ten seconds of it.
const DefaultWork = proof.DefaultWork

// VerifyOptions are those of VerifyContext. The zero value is useful.
type VerifyOptions struct {
	// Work is the most elementary operations that the check may take, each about the
	// comparison of two weights, some 3 ns; 0: DefaultWork. It is
	// counted by what the file says, before each part of the check: cells × cells per
	// sensitivity (a few times that without symmetry, or with a tail), and for
	// each cell and each multiplier of the dual a bound of the loss, from a thousand
	// operations for l1 to a hundred thousand for lp:1.1. It is the same on every machine.
	// A table that was verified before takes none.
	Work int64
}

// VerifyContext is Verify with a limit of its own. If the limit is too small, the error wraps
// ErrWork, and if the context ends it wraps the error of the context. The table is then not
// checked: it may be sound or not, and another call may find out.
func (t *Table) VerifyContext(ctx context.Context, o VerifyOptions) (*Verified, error) {
	if t == nil || t.content == nil {
		return nil, check.Field("tables", "table", "none", "one made by New or Decode")
	}
	return t.proof.Verified(proof.NewMeter(ctx, o.Work))
}

// judge makes the Verified of a table of which this was found, if it keeps its word.
func (c *content) judge(found Certificate, m *proof.Meter) (*Verified, error) {
	before := m.Used()
	if err := c.spec.judge(found, m); err != nil {
		return nil, err
	}
	return &Verified{c, found, found.work + m.Used() - before}, nil
}

// judge holds what the table promises and claims against the certificate. It says nothing
// if the meter said stop.
func (s *Spec) judge(c Certificate, m *proof.Meter) error {
	p := s.Privacy
	if !c.SensitivityCovered {
		g := s.Grid
		step, _ := g.Step().Float64()
		return check.Errorf("tables", ErrNotPrivate, "sensitivity = %g is longer than %d cells of %d points of %g", p.Sensitivity, g.CellsPerSensitivity, g.PointsPerCell, step)
	}
	if err := s.keeps(m); err != nil {
		return err
	}
	if delta := exact.Rational(p.Delta); c.DeltaUpper.Cmp(delta) > 0 {
		return check.Errorf("tables", ErrNotPrivate, "delta = %g is promised but only %s is proved, at a shift of %d cells (excess %s)", p.Delta, proof.Up(c.DeltaUpper), c.WorstShift, proof.Excess(c.DeltaUpper, delta))
	}
	return proof.Check("tables", s.Claims.list(), c.DeltaUpper, c.ExpectedLoss, c.LowerBound)
}
