// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"context"
	"fmt"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
)

// Options are those of [Verify]. The zero value is useful.
type Options struct {
	// Work is the most elementary operations that the check may take, each about the comparison of
	// two weights, some 3 ns; 0: that of Limit. It is counted by what the file says, before each part
	// of the check, and is the same on every machine. What was verified before takes none.
	Work int64
}

// Limit is the Work that is allowed: where none is asked for 2^31 operations, some ten seconds.
func (o Options) Limit() int64 {
	if o.Work <= 0 {
		return defaultWork
	}
	return o.Work
}

// Verified is the proof that a mechanism keeps its privacy promise and makes no false claim:
// the mechanism, of the type *T, and the certificate C that was computed from it. Only
// [Verify] makes one that holds a mechanism. It is immutable and safe for concurrent use.
type Verified[T any, C Certificate] struct {
	proved      bool
	mechanism   T // a copy: anybody may assign to what a pointer points to
	certificate C
	work        int64
}

// Certificate is what the certificates of forms are: structs of which the numbers are
// *big.Rat and []*big.Rat, rounded in the direction that their names say.
type Certificate interface {
	Bounds() Bounds
}

// Mechanism returns the mechanism; nil for a Verified that Verify has not made.
func (v *Verified[T, C]) Mechanism() *T {
	if v == nil || !v.proved {
		return nil
	}
	m := v.mechanism
	return &m
}

// Certificate returns what exact arithmetic found in the mechanism.
func (v *Verified[T, C]) Certificate() C { return formfile.Clone(v.certificate) }

// Bounds returns those of the certificate.
func (v *Verified[T, C]) Bounds() Bounds { return v.Certificate().Bounds() }

// Work returns how many elementary operations the check took, see Options.
func (v *Verified[T, C]) Work() int64 { return v.work }

func (v *Verified[T, C]) holds() Mechanism {
	if m := v.Mechanism(); m != nil {
		return any(m).(Mechanism) // Verify was given one
	}
	return nil
}

// Proven is a *Verified of some form.
type Proven interface {
	Bounds() Bounds
	Work() int64
	holds() Mechanism
}

// Of returns the mechanism that is proved, nil if there is none.
//
// It does not ask v what it holds but the Verified in it: a type of another package may
// embed one and have a method Mechanism of its own.
func Of(v Proven) Mechanism {
	if v == nil {
		return nil
	}
	return v.holds()
}

// Provable is a type *T of a form, with the proof about what it points to. Of a nil pointer
// and of a zero value that is the zero Proof.
type Provable[T any, C Certificate] interface {
	*T
	Mechanism
	Proof() Proof[C]
}

// Verify certifies a mechanism and holds every claim that it makes against the certificate. The
// error wraps ErrNotPrivate if the privacy promise is not kept, ErrFalseClaim if something else
// that is stated does not hold, and dp.ErrInvalid for a mechanism that is not from New or Decode of
// its package; it says which and by how much, and there is no Verified beside it. It wraps ErrWork
// if the limit of work is too small, and the error of the context if that ends: the mechanism is
// then not checked, may be sound or not, and another call may find out.
//
// A mechanism is certified and judged once. What is proved rests on nothing but the methods of *T.
func Verify[T any, C Certificate, P Provable[T, C]](ctx context.Context, p P, o Options) (*Verified[T, C], error) {
	var mechanism T
	if p != nil {
		mechanism = *p
	}
	proof := P(&mechanism).Proof()
	if proof.findings == nil {
		f := p.Form()
		return nil, check.Field(f.Package, f.File.Noun, "none", "one made by New or Decode")
	}
	made, err := proof.judged(newMeter(ctx, o.Limit()), func(c C, work int64) any {
		return &Verified[T, C]{true, mechanism, c, work}
	})
	if err != nil {
		return nil, err
	}
	v, ok := made.(*Verified[T, C])
	if !ok { // of a type that passes on the Proof of another one
		f := p.Form()
		return nil, check.Field(f.Package, f.File.Noun, fmt.Sprintf("the proof of a %T", made), "one with a proof of its own")
	}
	// The bound is on the loss of this mechanism too. Whatever is wrong then, nothing is proved.
	if b := v.certificate.Bounds(); b.LowerBound.Cmp(b.Loss) > 0 {
		return nil, check.Errorf(p.Form().Package, ErrFalseClaim, "a lower bound of %s is computed for a loss of at most %s: one of the two is wrong", exact.StateDown(b.LowerBound), exact.StateUp(b.Loss))
	}
	return v, nil
}

// Prove is Verify for a method Prove, which forgets the form.
func Prove[T any, C Certificate, P Provable[T, C]](ctx context.Context, p P, o Options) (Proven, error) {
	v, err := Verify(ctx, p, o)
	if err != nil {
		return nil, err // v is a nil pointer, which is not a nil Proven
	}
	return v, nil
}
