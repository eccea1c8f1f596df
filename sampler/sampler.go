// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"errors"
	"fmt"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

// Sampler answers inputs through a mechanism. It is not safe for concurrent use; give each
// goroutine its own by Fork, which shares the mechanism.
type Sampler interface {
	// Release returns a private answer to an input, one of the mechanism's Answers.
	//
	// The input has to be one of its Inputs; clip a number first. The error wraps
	// dp.ErrInvalid if it is not, which is decided before anything is drawn and says of
	// the input only that; ErrEntropy if there is no randomness; and ErrOverflow if the
	// noise of a tail is too large. There is no answer beside an error.
	Release(input proof.Value) (proof.Value, error)
	// ReleaseNumber is Release of a number where answers are numbers too, without garbage.
	ReleaseNumber(x float64) (float64, error)
	// Fork returns a Sampler of the same mechanism and options for another goroutine. It has a
	// generator of its own, freshly seeded from crypto/rand; or it reads the same Options.Entropy;
	// or, if the Sampler is deterministic, it is too, see Deterministic. It is a use of the
	// Sampler, not to be concurrent with others. The error wraps ErrEntropy.
	Fork() (Sampler, error)
	// Mechanism returns the mechanism.
	Mechanism() proof.Mechanism
	// Generator describes the source of randomness, for logs.
	Generator() string
}

// New returns a Sampler of a mechanism that was proved to keep its promise, of whatever form; there
// is no other way to one that is fit for release. For noise from a table [NewNoise] has more,
// faster. Options.ConstantTime chooses the generator, and for a table how it is drawn from.
//
// The error wraps dp.ErrInvalid if there is no mechanism, and ErrEntropy if none can be seeded.
func New(v proof.Proven, o Options) (Sampler, error) {
	m := proof.Of(v)
	if m == nil {
		return nil, check.Field("sampler", "mechanism", "none", "one that was proved")
	}
	g, err := o.generator()
	if err != nil {
		return nil, err
	}
	if t, ok := m.(*tables.Table); ok {
		return adder{newNoise(t, newLaw(t, o.ConstantTime), g)}, nil
	}
	switch c := m.(type) {
	case proof.Channel:
		return newAnswers(v, c, newRowLaws(c), g), nil
	case proof.Drawer:
		return newDrawn(v, c, g), nil
	}
	return nil, check.Field("sampler", "mechanism", fmt.Sprintf("a %T", m), "a table, a proof.Channel or a proof.Drawer")
}

// adder is Noise as a Sampler.
type adder struct{ *Noise }

// Fork implements Sampler.
func (s adder) Fork() (Sampler, error) {
	n, err := s.Noise.Fork()
	if err != nil {
		return nil, err
	}
	return adder{n}, nil
}

// Mechanism implements Sampler.
func (s adder) Mechanism() proof.Mechanism { return s.Table() }

// Release implements Sampler.
func (s adder) Release(input proof.Value) (proof.Value, error) {
	integers := s.table.Query() == dp.IntegerQuery
	if n, ok := input.(proof.Integer); ok && integers {
		y, err := s.AddNoiseInt(int64(n))
		return valueOr(proof.Integer(y), err)
	}
	x, ok := proof.Float(input)
	if !ok {
		return nil, check.Errorf("sampler", dp.ErrInvalid, "the value is not %s", s.table.Inputs())
	}
	y, err := s.AddNoise(x)
	if integers {
		return valueOr(proof.Integer(y), err)
	}
	return valueOr(proof.Number(y), err)
}

// ReleaseNumber implements Sampler.
func (s adder) ReleaseNumber(x float64) (float64, error) { return s.AddNoise(x) }

func valueOr(v proof.Value, err error) (proof.Value, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}

// Sentinel errors, checked with errors.Is.
var (
	// ErrEntropy marks a failure of the randomness. Nothing drawn by the call was released.
	ErrEntropy = check.ErrEntropy
	// ErrOverflow marks noise, or a sum with it, of more than 2^53 steps: a tail has no end. It has
	// a probability that is practically 0 for tables made by a design, and says nothing of x but
	// what the sum says, which is private.
	ErrOverflow = errors.New("noise too large")
)
