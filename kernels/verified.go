package kernels

import (
	"context"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/proof"
)

// Verified is the proof that a kernel keeps its privacy promise and makes no false
// claim: the kernel, and the certificate that was computed from it. Only
// [Kernel.Verify] makes one that holds a kernel. It is immutable and safe for
// concurrent use.
type Verified struct {
	content     *content
	certificate Certificate
	work        int64
}

// Kernel returns the kernel; nil for a Verified that Verify has not made.
func (v *Verified) Kernel() *Kernel {
	if v.content == nil {
		return nil
	}
	return &Kernel{v.content}
}

// Certificate returns what exact arithmetic found in the kernel, as Certify does.
func (v *Verified) Certificate() Certificate {
	if v.content == nil {
		return Certificate{}
	}
	return v.certificate.clone()
}

// Work returns how many elementary operations the check took, see VerifyOptions.
func (v *Verified) Work() int64 { return v.work }

// Verify certifies the kernel and checks every claim it makes against the
// result. The error wraps ErrNotPrivate if the privacy promise is not kept,
// ErrFalseClaim if a stated number, or the instance cap, does not hold, and
// dp.ErrInvalid for a kernel that is not from New or Decode; there is no Verified
// beside it. Where that would take more than tables.DefaultWork it wraps ErrWork, and says
// nothing about the kernel. It takes the time of Certify, once.
func (k *Kernel) Verify() (*Verified, error) {
	return k.VerifyContext(context.Background(), VerifyOptions{})
}

// VerifyOptions are those of VerifyContext. The zero value is useful.
type VerifyOptions struct {
	// Work is the most elementary operations that the check may take, of some 3 ns each;
	// 0: tables.DefaultWork. It is counted by what the file says, before each part of the
	// check: cells³, and for each pair of a cell and a node a few bounds of the loss. It
	// is the same on every machine. A kernel that was verified before takes none.
	Work int64
}

// VerifyContext is Verify with a limit of its own. If the limit is too small, the error wraps
// ErrWork, and if the context ends it wraps the error of the context. The kernel is then not
// checked: it may be sound or not, and another call may find out.
func (k *Kernel) VerifyContext(ctx context.Context, o VerifyOptions) (*Verified, error) {
	if k == nil || k.content == nil {
		return nil, check.Field("kernels", "kernel", "none", "one made by New or Decode")
	}
	return k.proof.Verified(proof.NewMeter(ctx, o.Work))
}

// judge makes the Verified of a kernel of which this was found, if it keeps its word.
func (c *content) judge(found Certificate, _ *proof.Meter) (*Verified, error) {
	if err := c.spec.judge(found); err != nil {
		return nil, err
	}
	return &Verified{c, found, found.work}, nil
}

// judge holds what the kernel promises and claims against the certificate.
func (s *Spec) judge(c Certificate) error {
	p := s.Privacy
	if delta := exact.Rational(p.Delta); c.DeltaUpper.Cmp(delta) > 0 {
		return check.Errorf("kernels", ErrNotPrivate, "delta = %g is promised but only %s is proved, between the cells %d and %d (excess %s)", p.Delta, proof.Up(c.DeltaUpper), c.Worst[0], c.Worst[1], proof.Excess(c.DeltaUpper, delta))
	}
	if o := s.InstanceCap; o > 0 {
		if limit := exact.Rational(o); c.CapLoss.Cmp(limit) > 0 {
			return check.Errorf("kernels", ErrFalseClaim, "instance_cap = %g is promised but only %s is proved, near the query value %g (excess %s)", o, proof.Up(c.CapLoss), c.CapLossAt, proof.Excess(c.CapLoss, limit))
		}
	}
	return proof.Check("kernels", s.Claims.list(), c.DeltaUpper, c.ExpectedLoss, c.MaxLoss, c.LowerBound)
}
