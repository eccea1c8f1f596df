// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"context"
	"errors"

	"github.com/noisewright/noisewright/internal/formfile"
)

// Proof is what is found out about something that does not change: a certificate, which is
// found once, and whether what is claimed holds, which is judged once. It is safe for
// concurrent use. The zero value is about nothing.
type Proof[C any] struct{ *findings[C] } // behind a pointer that nobody else has

type findings[C any] struct {
	pkg         string
	find        func(*Meter) C
	judge       func(C, *Meter) error
	certificate *once[found[C]]
	verdict     *once[verdict]
}

// found is a certificate and the work of finding it.
type found[C any] struct {
	certificate C
	work        int64
}

// verdict is a *Verified, or why there is none.
type verdict struct {
	verified any
	err      error
}

// New returns a proof of which nothing is found yet. What find and judge return does not
// count if the meter said stop. Errors come from the package.
func New[C any](pkg string, find func(*Meter) C, judge func(C, *Meter) error) Proof[C] {
	return Proof[C]{&findings[C]{pkg, find, judge, newOnce[found[C]](), newOnce[verdict]()}}
}

// Certificate finds the certificate, however long it takes. It is a copy.
func (p Proof[C]) Certificate() C {
	c, err := p.Find(context.Background())
	if err != nil {
		panic(err) // nothing stops it
	}
	return c
}

// Find is Certificate, unless the context ends first: then the error is of that.
func (p Proof[C]) Find(ctx context.Context) (C, error) {
	f, err := p.certified(newMeter(ctx, noLimit))
	return formfile.Clone(f.certificate), err
}

// Again copies the certificate for whoever finds another that differs in parts, whose work counts
// that of finding this one, whoever has done it. The result does not count if the meter says stop.
func (p Proof[C]) Again(m *Meter) C {
	before := m.Used()
	f, err := p.certified(m)
	if err != nil {
		var none C
		return none
	}
	m.spared += f.work - (m.Used() - before)
	return formfile.Clone(f.certificate)
}

func (p Proof[C]) certified(m *Meter) (found[C], error) {
	return p.certificate.Get(p.pkg, m, func() found[C] {
		before := m.total()
		c := p.find(m)
		return found[C]{c, m.total() - before}
	})
}

// judged returns what verified makes of a certificate with which all that is claimed holds,
// and of the work of finding that out. Of several calls the first one's is made.
func (p Proof[C]) judged(m *Meter, verified func(c C, work int64) any) (any, error) {
	v, err := p.verdict.Get(p.pkg, m, func() verdict {
		f, err := p.certified(m)
		if err != nil {
			return verdict{} // the meter said stop
		}
		before := m.total()
		if err := p.judge(f.certificate, m); err != nil {
			return verdict{err: err}
		}
		return verdict{verified: verified(f.certificate, f.work+m.total()-before)}
	})
	if err != nil {
		return nil, err
	}
	return v.verified, v.err
}

// Sentinel errors of every form of mechanism, checked with errors.Is.
var (
	// ErrFormat marks a file that is not of the form it is read as.
	ErrFormat = errors.New("malformed file")
	// ErrNotPrivate marks a mechanism that does not keep its privacy promise.
	ErrNotPrivate = errors.New("not private as claimed")
	// ErrFalseClaim marks a mechanism that states something else that does not hold.
	ErrFalseClaim = formfile.ErrFalseClaim
	// ErrWork marks a mechanism that was not checked, because that takes more work than was
	// allowed. It says nothing about whether it is sound.
	ErrWork = errors.New("not checked")
)
