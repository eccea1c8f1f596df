// SPDX-License-Identifier: Apache-2.0

package meet

import (
	"errors"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/proof"
)

// The upper program is solved a little inside the privacy constraint, by a margin that is a
// share of the gap. The solver's residuals and the rounding to integer weights use it up; the
// exact certificate, not the margin, decides. When one is too small the next is tried.
var marginShares = []float64{1.0 / 300, 1.0 / 30, 1.0 / 3, 3}

// ResidualShare is the part of the margin in delta that the masses of the program may exceed.
const ResidualShare = 0.3

// Margins tries larger and larger margins for a gap until what an attempt gives is kept.
func Margins(gap float64, try func(margin float64) error) error {
	for _, share := range marginShares {
		if err := try(share * gap); !NotKept(err) {
			return err
		}
	}
	return nil
}

// NotKept reports whether a mechanism was refused because it does not keep the privacy or
// the constraints, exactly.
func NotKept(err error) bool {
	return errors.Is(err, proof.ErrNotPrivate) || errors.Is(err, proof.ErrFalseClaim)
}

// Inside returns the epsilon and delta of a program with a margin m: epsilon·(1 − m), but
// epsilon − m from 1 on, and delta·(1 − m) less what rounding to weights takes.
func Inside(p dp.Privacy, m, rounding float64) (epsilon, delta float64) {
	return p.Epsilon - m*min(p.Epsilon, 1), p.Delta*(1-m) - rounding
}

// Constraint generation for a lower program ends early, since every relaxation proves a bound: at a
// small relative violation, or when a round raised the bound by less than a share of the gap.
const (
	LowerTolerance = 1e-5
	StallShare     = 0.01
)

// FineAim is Aim, or a smaller gap of which margins and stalls are a share where a large one
// is asked for, as it is with fixed nodes.
func (s *Search) FineAim() float64 { return min(s.Aim(), LargestMargin) }

// LargestMargin bounds the gap that margins are a share of.
const LargestMargin = 1e-3
