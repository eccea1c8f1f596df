// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/proof"
)

// drawn is a Sampler of a proof.Drawer, which it gives words.
type drawn struct {
	_      noCopy
	proven proof.Proven
	drawer proof.Drawer // what is proved, of which nobody else has the pointer
	reader wordReader
}

func newDrawn(v proof.Proven, d proof.Drawer, g generator) *drawn {
	return &drawn{proven: v, drawer: d, reader: wordReader{gen: g, pos: blockBytes}}
}

// Fork implements Sampler.
func (s *drawn) Fork() (Sampler, error) {
	g, err := s.reader.gen.fork()
	if err != nil {
		return nil, err
	}
	return newDrawn(s.proven, s.drawer, g), nil
}

// Mechanism implements Sampler.
func (s *drawn) Mechanism() proof.Mechanism { return proof.Of(s.proven) }

// Generator implements Sampler.
func (s *drawn) Generator() string { return s.reader.gen.name() }

// Release implements Sampler.
func (s *drawn) Release(input proof.Value) (proof.Value, error) {
	y, err := s.drawer.Draw(input, s.reader.word)
	if err != nil {
		return nil, check.Errorf("sampler", nil, "%w", err)
	}
	return y, nil
}

// ReleaseNumber implements Sampler. No answer is a number.
func (s *drawn) ReleaseNumber(float64) (float64, error) {
	return 0, check.Errorf("sampler", dp.ErrInvalid, "the value is a number, want %s", s.drawer.Inputs())
}
