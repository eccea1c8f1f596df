// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"context"
	"errors"
	"math/big"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/noisewright/noisewright/dp"
)

// numbers4test are the certificate of a thing.
type numbers4test struct {
	Number *big.Rat
	List   []*big.Rat
}

func (f numbers4test) Bounds() Bounds {
	return Bounds{Delta: f.Number, Loss: big.NewRat(1, 1), LowerBound: f.Number}
}

// thing is a mechanism that can be verified and nothing else.
type thing struct {
	Mechanism
	*thingContent
}

type thingContent struct{ proof Proof[numbers4test] }

func (*thing) Form() Form { return pkg }

func (x *thing) Proof() (p Proof[numbers4test]) {
	if x != nil && x.thingContent != nil {
		p = x.proof
	}
	return p
}

// newThing returns a thing that takes so much work to certify and to judge, and how often
// each was done.
func newThing(certify, judge int64, verdict error) (*thing, *atomic.Int32, *atomic.Int32) {
	var certified, judged atomic.Int32
	return &thing{thingContent: &thingContent{New("pkg", func(m *Meter) numbers4test {
		certified.Add(1)
		if !m.Spend(certify) {
			return numbers4test{}
		}
		return numbers4test{big.NewRat(1, 3), []*big.Rat{big.NewRat(1, 5), nil}}
	}, func(c numbers4test, m *Meter) error {
		judged.Add(1)
		if !m.Spend(judge) || c.Number == nil {
			return errors.New("judged something that was not found, or without work")
		}
		return verdict
	})}}, &certified, &judged
}

// TestVerifyOnce: a thing is certified and judged once, whoever asks, and its work is that of
// both, whatever of it was done before.
func TestVerifyOnce(t *testing.T) {
	x, certified, judged := newThing(60, 40, nil)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			v, err := Verify(context.Background(), x, Options{Work: 100})
			if err != nil || v.Work() != 100 || v.Bounds().Delta.Cmp(big.NewRat(1, 3)) != 0 {
				t.Errorf("%v, %v, want the work 100", v, err)
			}
		})
	}
	all.Wait()
	x.Proof().Certificate().Number.SetInt64(9)
	x.Proof().Certificate().List[0].SetInt64(9)
	if c := x.Proof().Certificate(); c.Number.Cmp(big.NewRat(1, 3)) != 0 || c.List[0].Cmp(big.NewRat(1, 5)) != 0 || c.List[1] != nil {
		t.Errorf("%v: the certificate was changed from outside", c)
	}
	if certified.Load() != 1 || judged.Load() != 1 {
		t.Errorf("certified %d times and judged %d times", certified.Load(), judged.Load())
	}
}

// TestVerifyStopped: too little work is no verdict and is not remembered; that which was
// certified is.
func TestVerifyStopped(t *testing.T) {
	x, certified, judged := newThing(60, 40, nil)
	for _, work := range []int64{1, 59, 60, 99} {
		if v, err := Verify(t.Context(), x, Options{Work: work}); v != nil && work < 60 || work < 60 && !errors.Is(err, ErrWork) {
			t.Errorf("with the work %d: %v, %v, want ErrWork", work, v, err)
		}
	}
	v, err := Verify(t.Context(), x, Options{Work: 40}) // the rest
	if err != nil || v.Work() != 100 {
		t.Errorf("%v, %v, want the work 100", v, err)
	}
	if certified.Load() != 3 || judged.Load() != 2 { // at 1, 59 and 60; at 60 and 99
		t.Errorf("certified %d times and judged %d times", certified.Load(), judged.Load())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	y, _, _ := newThing(1, 1, nil)
	if v, err := Prove(ctx, y, Options{}); v != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v, want the error of the context and a Proven that is nil", v, err)
	}
}

// TestVerdict: what is wrong is found once and said to all.
func TestVerdict(t *testing.T) {
	x, _, judged := newThing(1, 1, ErrFalseClaim)
	for range 3 {
		if v, err := Prove(t.Context(), x, Options{}); v != nil || !errors.Is(err, ErrFalseClaim) {
			t.Errorf("%v, %v, want ErrFalseClaim", v, err)
		}
	}
	if judged.Load() != 1 {
		t.Errorf("judged %d times", judged.Load())
	}
	for _, none := range []*thing{nil, {}} {
		if v, err := Verify(t.Context(), none, Options{}); v != nil || !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%v, %v, want ErrInvalid", v, err)
		}
	}
}

// TestAgain: the work of what is found from another certificate counts that one, whether it is
// found now or was before.
func TestAgain(t *testing.T) {
	for _, before := range []bool{true, false} {
		x, certified, _ := newThing(60, 1, nil)
		if before {
			x.Proof().Certificate()
		}
		y := &thing{thingContent: &thingContent{New("pkg", func(m *Meter) numbers4test {
			c := x.Proof().Again(m)
			c.Number.Add(c.Number, big.NewRat(1, 3))
			m.Spend(5)
			return c
		}, func(numbers4test, *Meter) error { return nil })}}
		z := &thing{thingContent: &thingContent{New("pkg", func(m *Meter) numbers4test { return y.Proof().Again(m) }, func(numbers4test, *Meter) error { return nil })}}
		for _, of := range []*thing{y, z} {
			v, err := Verify(t.Context(), of, Options{})
			if err != nil || v.Work() != 65 || v.Certificate().Number.Cmp(big.NewRat(2, 3)) != 0 {
				t.Errorf("found before %v: %+v, %v, want the work 65", before, v, err)
			}
		}
		if c := x.Proof().Certificate(); c.Number.Cmp(big.NewRat(1, 3)) != 0 || certified.Load() != 1 {
			t.Errorf("%v, certified %d times: the first certificate was changed", c.Number, certified.Load())
		}
	}
}

// borrowing passes on the proof of a thing as its own.
type borrowing struct {
	Mechanism
	from *thing
}

func (*borrowing) Form() Form                       { return pkg }
func (b *borrowing) Proof() (p Proof[numbers4test]) { return b.from.Proof() }

// TestBorrowedProof: a type that passes on the Proof of another one is not verified by it.
func TestBorrowedProof(t *testing.T) {
	x, _, _ := newThing(1, 1, nil)
	if _, err := Verify(t.Context(), x, Options{}); err != nil {
		t.Fatal(err)
	}
	if v, err := Verify(t.Context(), &borrowing{from: x}, Options{}); v != nil || !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("%v, %v, want ErrInvalid", v, err)
	}
}

// TestBoundAboveLoss: a lower bound is one on the loss of the mechanism itself, so a larger one
// proves nothing; as large a one may be.
func TestBoundAboveLoss(t *testing.T) {
	above := new(big.Rat).Add(big.NewRat(1, 1), big.NewRat(1, 1<<60))
	for _, c := range []struct {
		bound *big.Rat
		want  error
	}{{big.NewRat(1, 1), nil}, {above, ErrFalseClaim}} {
		x := &thing{thingContent: &thingContent{New("pkg", func(*Meter) numbers4test {
			return numbers4test{c.bound, nil}
		}, func(numbers4test, *Meter) error { return nil })}}
		if _, err := Verify(t.Context(), x, Options{}); !errors.Is(err, c.want) {
			t.Errorf("a bound of %s: %v, want %v", c.bound, err, c.want)
		}
	}
}
