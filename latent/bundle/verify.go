// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"context"
	"errors"
	"math"
	"math/big"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

// VerifiedElsewhere is an accountant that proves nothing: it takes the delta promised for
// true. It is for devices that cannot afford the composition, where the bundle came, unaltered,
// from someone who ran Verify with a real one.
func VerifiedElsewhere(_ []*tables.Table, promise Promise) (deltaUpper float64, err error) {
	return promise.Delta, nil
}

// Verified is the proof that a bundle keeps its promise. Only Verify makes one. It
// is immutable and safe for concurrent use.
type Verified struct {
	bundle         *Bundle
	laws           []proof.Proven // the tables or randomizers
	epsilon, delta *big.Rat
	// distance bounds that of any two clipped encodings for joint noise, in units of the
	// encoding: the ℓ1 distance for L1, the square of the ℓ2 distance for L2, Norm and Balls.
	distance *big.Rat
}

// Bundle returns the bundle it is about; nil for a Verified that Verify has not made.
func (v *Verified) Bundle() *Bundle {
	if v.bundle == nil {
		return nil
	}
	return &Bundle{v.bundle.content}
}

// EpsilonUpper and DeltaUpper are what is proved: a release is (EpsilonUpper, DeltaUpper)-private,
// and neither is above the promise. (With VerifiedElsewhere they are the promise, unproved.)
func (v *Verified) EpsilonUpper() *big.Rat { return new(big.Rat).Set(v.epsilon) }

// DeltaUpper is as EpsilonUpper.
func (v *Verified) DeltaUpper() *big.Rat { return new(big.Rat).Set(v.delta) }

// Verify proves the promise, in exact or outward-rounded arithmetic, from nothing but the clipping
// and the tables or randomizers, and for Bounds the Encoder (docs/proofs/latent-privacy.md):
//
//   - every table or randomizer keeps its own promise (tables.Table.Verify,
//     local.Randomizer.Verify), and for LocalUnbiased promises unbiased answers;
//   - per coordinate, 2·s_i is at most the sensitivity of coordinate i's table, or ±s_i
//     within the range of its randomizer, and their promises sum to at most the bundle's
//     (Basic) or compose bounds their composition by it (Exact);
//   - for L1, N·ε′ <= Epsilon, with ε′ the table's epsilon per step of its grid and
//     N a bound on the ℓ1 distance of two clipped encodings, in steps;
//   - for L2, the formula of Balle & Wang (2018, Theorem 8) for the ℓ2 distance, and
//     what the table differs from a rounded Gaussian law, sum to at most Delta;
//   - for Norm, the ℓ2 distance is at most Epsilon·Tau;
//   - for Balls, the ℓ2 distance is at most the sensitivity of the noise, whose promise is that of the bundle.
//
// The accountant is for Exact; where it is nil, the sums of Basic may prove the promise. Given the
// table of every coordinate, in order and with repetitions, each verified by itself before, it
// returns an upper bound on the δ at the promised epsilon of all their noise together. Predicted losses, the decoder
// and Layers, which are clipped after, have no part in privacy. For a bundle of the kind None
// the error wraps ErrNoPromise.
//
// The error wraps proof.ErrNotPrivate if anything is not proved, and also the error of the
// table, the randomizer or the accountant. Where that is proof.ErrWork, or the tables would
// take more than proof.Options.Limit together, it wraps proof.ErrWork, and says nothing about the
// bundle. It takes the time of verifying the tables, and for L2 some 20 µs per cell.
func (b *Bundle) Verify(accountant func(coordinates []*tables.Table, promise Promise) (deltaUpper float64, err error)) (*Verified, error) {
	return b.VerifyContext(context.Background(), accountant, proof.Options{})
}

// VerifyContext is Verify with a limit of its own, for all tables together. If it is too small,
// the error wraps proof.ErrWork, and if the context ends, which does not stop an accountant,
// that of the context: then the bundle is not checked.
func (b *Bundle) VerifyContext(ctx context.Context, accountant func([]*tables.Table, Promise) (float64, error), o proof.Options) (*Verified, error) {
	if b == nil || b.content == nil {
		return nil, check.Field("bundle", "bundle", "zero value", "one made by New or Read")
	}
	if b.spec.Noise == None {
		return nil, check.Errorf("bundle", ErrNoPromise, "noise.kind = none: it adds no noise and promises nothing")
	}
	v := &Verified{bundle: &Bundle{b.content}}
	if err := v.proveLaws(ctx, o); err != nil {
		return nil, err
	}
	var err error
	switch c := b.spec.Composition; c {
	case jointL1:
		err = v.proveL1()
	case jointL2:
		err = v.proveL2()
	case jointNorm:
		v.proveNorm()
	case jointBalls:
		err = v.proveBalls()
	default:
		err = v.provePerCoordinate(accountant)
	}
	if err == nil {
		err = v.checkPromise()
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

// distanceWork is what GaussianDistance does for a cell, some 20 µs.
const distanceWork = 1 << 13

// proveLaws verifies tables or randomizers in turn, each with the work that those before left.
func (v *Verified) proveLaws(ctx context.Context, o proof.Options) error {
	s := &v.bundle.spec
	left := o.Limit()
	if s.Composition == jointL2 {
		left -= distanceWork * int64(s.Tables[0].Cells())
	}
	laws, _, field := s.laws()
	for k, m := range laws {
		proved, err := m.Prove(ctx, proof.Options{Work: max(left, 1)}) // any work above 1 begins
		switch {
		case ctx.Err() != nil:
			return check.Errorf("bundle", nil, "it is not checked: %w", ctx.Err())
		case errors.Is(err, proof.ErrWork):
			return check.Errorf("bundle", proof.ErrWork, "checking it takes more elementary operations than were allowed: it is not checked")
		case err != nil:
			return check.Errorf("bundle", proof.ErrNotPrivate, "%s[%d]: %w", field, k, err)
		}
		if r, ok := m.(*local.Randomizer); ok && s.Noise == LocalUnbiased && !r.Spec().Demands.Unbiased {
			return check.Errorf("bundle", proof.ErrNotPrivate, "%s[%d] may be biased, want one that promises unbiased answers, for noise.kind = %s", field, k, s.Noise)
		}
		left -= proved.Work()
		v.laws = append(v.laws, proved)
	}
	return nil
}

// checkPromise holds what is proved against the promise.
func (v *Verified) checkPromise() error {
	bad, s := check.In("bundle"), &v.bundle.spec
	hold := func(field string, promise float64, proved *big.Rat) {
		if proved.Cmp(exact.Rational(promise)) > 0 {
			bad.Add(check.Errorf("bundle", proof.ErrNotPrivate, "%s = %g is promised but only %s is proved for the composition %s", field, promise, exact.StateUp(proved), s.Composition))
		}
	}
	hold("epsilon", s.Promise.Epsilon, v.epsilon)
	hold("delta", s.Promise.Delta, v.delta)
	return bad.Err()
}

// provePerCoordinate composes the coordinates. Clipped values of coordinate i lie
// within ±s_i, exactly, and so at most 2·s_i apart, which is a float64.
func (v *Verified) provePerCoordinate(accountant func([]*tables.Table, Promise) (float64, error)) error {
	s := &v.bundle.spec
	_, of, field := s.laws()
	bad := check.In("bundle")
	v.epsilon, v.delta = new(big.Rat), new(big.Rat)
	if s.Noise == Decision { // the randomizer takes every cell, which New checks
		p := proof.Of(v.laws[0]).Privacy()
		v.epsilon, v.delta = exact.Rational(p.Epsilon), exact.Rational(p.Delta)
		return nil
	}
	for i, axis := range s.Axes {
		m := proof.Of(v.laws[of[i]])
		p, in := m.Privacy(), m.Inputs()
		switch randomized := s.Noise.randomized(); {
		case randomized && !(in.Lower <= -axis && axis <= in.Upper):
			bad.Add(check.Errorf("bundle", proof.ErrNotPrivate, "axes[%d] = %g, want a range of %s[%d], %g to %g, that holds it on both sides", i, axis, field, of[i], in.Lower, in.Upper))
		case !randomized && 2*axis > p.Sensitivity:
			bad.Add(check.Errorf("bundle", proof.ErrNotPrivate, "axes[%d] = %g, want at most half of %g, the sensitivity of %s[%d]", i, axis, p.Sensitivity, field, of[i]))
		}
		v.epsilon.Add(v.epsilon, exact.Rational(p.Epsilon))
		v.delta.Add(v.delta, exact.Rational(p.Delta))
	}
	if s.Composition != Exact || !bad.None() {
		return bad.Err()
	}
	if accountant == nil && v.checkPromise() == nil {
		return nil // the sums bound every composition of the coordinates
	}
	if accountant == nil {
		return check.Errorf("bundle", proof.ErrNotPrivate, "composition = exact without an accountant, want one, or the composition basic")
	}
	all := make([]*tables.Table, len(of))
	for i, k := range of {
		all[i], _ = proof.Of(v.laws[k]).(*tables.Table) // New refuses randomizers that are composed exactly
	}
	delta, err := accountant(all, s.Promise)
	switch {
	case errors.Is(err, proof.ErrWork):
		return check.Errorf("bundle", nil, "composition = exact: %w", err)
	case err != nil:
		return check.Errorf("bundle", proof.ErrNotPrivate, "composition = exact: %w", err)
	case !(delta >= 0 && delta <= math.MaxFloat64):
		return check.Errorf("bundle", proof.ErrNotPrivate, "composition = exact has delta = %g, want a number at least 0", delta)
	}
	v.epsilon, v.delta = exact.Rational(s.Promise.Epsilon), exact.Rational(delta)
	return nil
}

func square(x *big.Rat) *big.Rat { return new(big.Rat).Mul(x, x) }

// boxSide is the largest distance of two clipped coordinates of joint noise in a box: 2⌊s/g⌋·g.
func boxSide(axis, step float64) *big.Rat {
	return exact.Rational(2 * math.Floor(axis/step) * step) // exact: at most 2^41 steps
}
