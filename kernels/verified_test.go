package kernels

import (
	"errors"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/proof"
)

// TestVerified: a Verified has what Certify finds, whatever was done to copies of it,
// and is there only for a kernel that keeps its word.
func TestVerified(t *testing.T) {
	s := exponentialSpec(t, 1, 0.45, Queries{}, 0, 0.5, 1)
	kernel := newKernel(t, s)
	v, err := kernel.Verify()
	if err != nil {
		t.Fatal(err)
	}
	if v.Mechanism().content != kernel.content {
		t.Error("verified another kernel")
	}
	want := kernel.Certify().Claims()
	for _, c := range []Certificate{v.Certificate(), kernel.Certify()} {
		c.DeltaUpper.SetInt64(0)
		c.ExpectedLoss.SetInt64(0)
		c.MaxLoss.SetInt64(0)
		c.LowerBound.SetInt64(9)
	}
	if got := v.Certificate().Claims(); got != want || kernel.Certify().Claims() != want {
		t.Errorf("%+v, want %+v: the certificate was changed from outside", got, want)
	}
	if again, err := kernel.Verify(); again != v || err != nil {
		t.Error("verified a second time")
	}
	s.Privacy.Epsilon = 0.1
	if v, err := newKernel(t, s).Verify(); v != nil || !errors.Is(err, proof.ErrNotPrivate) {
		t.Errorf("%v, %v, want nothing and proof.ErrNotPrivate", v, err)
	}
}

// TestNothingIsAssigned: Go lets anybody assign to a struct behind a pointer. That
// leaves what was proved as it is.
func TestNothingIsAssigned(t *testing.T) {
	s := exponentialSpec(t, 1, 0.45, Queries{}, 0, 0.5, 1)
	kernel := newKernel(t, s)
	v, err := kernel.Verify()
	if err != nil {
		t.Fatal(err)
	}
	s.Privacy.Epsilon = 0.1
	broken := newKernel(t, s)
	*kernel = *broken
	*v.Mechanism() = *broken
	if got := v.Mechanism().Privacy().Epsilon; got != 1 {
		t.Errorf("the verified kernel promises epsilon = %g, want 1: it was replaced", got)
	}
}

// TestNothingVerified: without Verify there is nothing to draw from.
func TestNothingVerified(t *testing.T) {
	for _, kernel := range []*Kernel{nil, {}} {
		if v, err := kernel.Verify(); v != nil || !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%v, %v, want ErrInvalid", v, err)
		}
	}
	var v Verified
	if c := v.Certificate(); v.Mechanism() != nil || c != (Certificate{}) {
		t.Errorf("the zero value has %v and %+v", v.Mechanism(), c)
	}
}
