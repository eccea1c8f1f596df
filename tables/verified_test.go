package tables

import (
	"errors"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/proof"
)

// TestVerified: a Verified has what Certify finds, whatever was done to copies of it,
// and is there only for a table that keeps its word.
func TestVerified(t *testing.T) {
	table := geometricTable(t, 1, 0.1, 2)
	v, err := table.Verify()
	if err != nil {
		t.Fatal(err)
	}
	if v.Mechanism().content != table.content {
		t.Error("verified another table")
	}
	want := table.Certify()
	for _, c := range []Certificate{v.Certificate(), table.Certify()} {
		c.DeltaUpper.SetInt64(0)
		c.ExpectedLoss.SetInt64(0)
		c.LowerBound.SetInt64(9)
	}
	for _, c := range []Certificate{v.Certificate(), table.Certify()} {
		if c.DeltaUpper.Cmp(want.DeltaUpper) != 0 || c.ExpectedLoss.Cmp(want.ExpectedLoss) != 0 || c.LowerBound.Cmp(want.LowerBound) != 0 {
			t.Errorf("%+v, want %+v: the certificate was changed from outside", c, want)
		}
	}
	if again, err := table.Verify(); again != v || err != nil {
		t.Error("verified a second time")
	}

	s := table.spec
	s.Privacy.Epsilon = 0.5
	broken, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if v, err := broken.Verify(); v != nil || !errors.Is(err, proof.ErrNotPrivate) {
			t.Errorf("%v, %v, want nothing and proof.ErrNotPrivate", v, err)
		}
	}
	if c := broken.Certify(); c.DeltaUpper.Cmp(want.DeltaUpper) <= 0 {
		t.Error("the certificate of the table that is not private is that of the other")
	}
}

// TestNothingIsAssigned: Go lets anybody assign to a struct behind a pointer. That
// leaves what was proved as it is.
func TestNothingIsAssigned(t *testing.T) {
	table := geometricTable(t, 1, 0.1, 2)
	v, err := table.Verify()
	if err != nil {
		t.Fatal(err)
	}
	s := table.spec
	s.Privacy.Epsilon = 0.5
	broken, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	*table = *broken
	*v.Mechanism() = *broken
	if got := v.Mechanism().Privacy().Epsilon; got != 1 {
		t.Errorf("the verified table promises epsilon = %g, want 1: it was replaced", got)
	}
	if v, err := table.Verify(); v != nil || !errors.Is(err, proof.ErrNotPrivate) {
		t.Errorf("the table that was assigned to: %v, %v, want proof.ErrNotPrivate", v, err)
	}
}

// TestNothingVerified: without Verify there is nothing to draw from.
func TestNothingVerified(t *testing.T) {
	for _, table := range []*Table{nil, {}} {
		if v, err := table.Verify(); v != nil || !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%v, %v, want ErrInvalid", v, err)
		}
	}
	var v Verified
	if c := v.Certificate(); v.Mechanism() != nil || c != (Certificate{}) {
		t.Errorf("the zero value has %v and %+v", v.Mechanism(), c)
	}
}
