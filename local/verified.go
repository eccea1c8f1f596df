package local

import (
	"context"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/proof"
)

// Verified is the proof that a randomizer keeps its privacy promise and makes no false
// claim: the randomizer, and the certificate that was computed from it. Only
// [Randomizer.Verify] makes one that holds a randomizer. It is immutable and safe for
// concurrent use.
type Verified struct {
	content     *content
	certificate Certificate
	work        int64
}

// Randomizer returns the randomizer; nil for a Verified that Verify has not made.
func (v *Verified) Randomizer() *Randomizer {
	if v.content == nil {
		return nil
	}
	return &Randomizer{v.content}
}

// Certificate returns what exact arithmetic found in the randomizer, as Certify does.
func (v *Verified) Certificate() Certificate {
	if v.content == nil {
		return Certificate{}
	}
	return v.certificate.clone()
}

// Work returns how many elementary operations the check took, see VerifyOptions.
func (v *Verified) Work() int64 { return v.work }

// Verify certifies the randomizer and checks every claim it makes against the result. The
// error wraps ErrNotPrivate if the privacy promise is not kept, ErrFalseClaim if a stated
// number does not hold, a mean is not the value though unbiasedness is promised, or a cap
// is exceeded, and dp.ErrInvalid for a randomizer that is not from New or Decode; there is
// no Verified beside it. Where that would take more than tables.DefaultWork it wraps
// ErrWork, and says nothing about the randomizer. It takes the time of Certify, once.
func (r *Randomizer) Verify() (*Verified, error) {
	return r.VerifyContext(context.Background(), VerifyOptions{})
}

// VerifyOptions are those of VerifyContext. The zero value is useful.
type VerifyOptions struct {
	// Work is the most elementary operations that the check may take, of some 3 ns each;
	// 0: tables.DefaultWork. It is counted by what the file says, before each part of the
	// check, and is the same on every machine. A randomizer that was verified before takes
	// none.
	Work int64
}

// VerifyContext is Verify with a limit of its own. If the limit is too small, the error
// wraps ErrWork, and if the context ends it wraps the error of the context. The randomizer
// is then not checked: it may be sound or not, and another call may find out.
func (r *Randomizer) VerifyContext(ctx context.Context, o VerifyOptions) (*Verified, error) {
	if r == nil || r.content == nil {
		return nil, check.Field("local", "randomizer", "none", "one made by New or Decode")
	}
	return r.proof.Verified(proof.NewMeter(ctx, o.Work))
}

// judge makes the Verified of a randomizer of which this was found, if it keeps its word.
func (c *content) judge(found Certificate, _ *proof.Meter) (*Verified, error) {
	if err := c.spec.judge(found); err != nil {
		return nil, err
	}
	return &Verified{c, found, found.work}, nil
}

// judge holds what the randomizer promises and claims against the certificate.
func (s *Spec) judge(c Certificate) error {
	if delta := exact.Rational(s.Delta); c.DeltaUpper.Cmp(delta) > 0 {
		return check.Errorf("local", ErrNotPrivate, "delta = %g is promised but only %s is proved, between the nodes %d and %d (excess %s)", s.Delta, proof.Up(c.DeltaUpper), c.WorstPair[0], c.WorstPair[1], proof.Excess(c.DeltaUpper, delta))
	}
	if s.Demands.Unbiased && c.Bias.Sign() != 0 {
		return check.Errorf("local", ErrFalseClaim, "unbiased answers are promised but the mean of those to a node is off by %s", proof.Up(c.Bias))
	}
	if o := s.Demands.Cap; o > 0 {
		if limit := exact.Rational(o); c.WorstLoss.Cmp(limit) > 0 {
			return check.Errorf("local", ErrFalseClaim, "cap = %g is promised but only %s is proved, near the value %g (excess %s)", o, proof.Up(c.WorstLoss), c.WorstAt, proof.Excess(c.WorstLoss, limit))
		}
	}
	return proof.Check("local", s.Claims.list(), c.DeltaUpper, c.MeanLoss, c.WorstLoss, c.Bias, c.LowerBound)
}
