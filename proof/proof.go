package proof

import "context"

// Proof is what is found out about something that does not change: a certificate C, which is
// found once, and what is verified of it, V, or why it is not, which is judged once. It is
// safe for concurrent use.
type Proof[C, V any] struct {
	pkg         string
	find        func(*Meter) C
	judge       func(C, *Meter) (*V, error)
	certificate *Once[C]
	verdict     *Once[verdict[V]]
}

type verdict[V any] struct {
	verified *V
	err      error
}

// NewProof returns a proof of which nothing is found yet. What find and judge return is
// nothing that counts if the meter said stop. Errors come from the package.
func NewProof[C, V any](pkg string, find func(*Meter) C, judge func(C, *Meter) (*V, error)) *Proof[C, V] {
	return &Proof[C, V]{pkg, find, judge, NewOnce[C](), NewOnce[verdict[V]]()}
}

// Certificate finds the certificate, however long it takes.
func (p *Proof[C, V]) Certificate() C {
	found, err := p.Certified(NewMeter(context.Background(), NoLimit))
	if err != nil {
		panic(err) // nothing stops it
	}
	return found
}

// Certified finds the certificate, unless the meter says stop.
func (p *Proof[C, V]) Certified(m *Meter) (C, error) {
	return p.certificate.Get(p.pkg, m, func() C { return p.find(m) })
}

// Verified finds the certificate and judges it, unless the meter says stop.
func (p *Proof[C, V]) Verified(m *Meter) (*V, error) {
	v, err := p.verdict.Get(p.pkg, m, func() verdict[V] {
		found, err := p.Certified(m)
		if err != nil {
			return verdict[V]{} // the meter has said stop
		}
		verified, err := p.judge(found, m)
		return verdict[V]{verified, err}
	})
	if err != nil {
		return nil, err
	}
	return v.verified, v.err
}
