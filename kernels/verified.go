package kernels

import (
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/claims"
	"github.com/noisewright/noisewright/internal/exact"
)

// Verified is the proof that a kernel keeps its privacy promise and makes no false
// claim: the kernel, and the certificate that was computed from it. Only
// [Kernel.Verify] makes one that holds a kernel. It is immutable and safe for
// concurrent use.
type Verified struct {
	content     *content
	certificate Certificate
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

// Verify certifies the kernel and checks every claim it makes against the
// result. The error wraps ErrNotPrivate if the privacy promise is not kept,
// ErrFalseClaim if a stated number, or the instance cap, does not hold, and
// dp.ErrInvalid for a kernel that is not from New or Decode; there is no Verified
// beside it. It takes the time of Certify, once.
func (k *Kernel) Verify() (*Verified, error) {
	if k == nil || k.content == nil {
		return nil, check.Field("kernels", "kernel", "none", "one made by New or Decode")
	}
	return k.verified()
}

func (c *content) verify() (*Verified, error) {
	found := c.certificate()
	if err := c.spec.judge(found); err != nil {
		return nil, err
	}
	return &Verified{c, found}, nil
}

// judge holds what the kernel promises and claims against the certificate.
func (s *Spec) judge(c Certificate) error {
	p := s.Privacy
	if delta := exact.Rational(p.Delta); c.DeltaUpper.Cmp(delta) > 0 {
		return check.Errorf("kernels", ErrNotPrivate, "delta = %g is promised but only %s is proved, between the cells %d and %d (excess %s)", p.Delta, claims.Up(c.DeltaUpper), c.Worst[0], c.Worst[1], claims.Excess(c.DeltaUpper, delta))
	}
	if o := s.InstanceCap; o > 0 {
		if limit := exact.Rational(o); c.MaxLoss.Cmp(limit) > 0 {
			return check.Errorf("kernels", ErrFalseClaim, "instance_cap = %g is promised but only %s is proved, near the query value %g (excess %s)", o, claims.Up(c.MaxLoss), c.MaxLossAt, claims.Excess(c.MaxLoss, limit))
		}
	}
	return claims.Check("kernels", s.Claims.list(), c.DeltaUpper, c.ExpectedLoss, c.MaxLoss, c.LowerBound)
}
