package meet

import (
	"errors"

	"github.com/noisewright/noisewright/proof"
)

// The program is solved a little inside the privacy constraint, with
// epsilon·(1 − m) (epsilon − m from 1 on) and delta·(1 − m) less a unit of
// 2^-63 per cell, m a small share of the requested gap. The solver's residuals
// and the rounding to integer weights use it up; the exact certificate, not the
// margin, decides. When one is too small the next is tried.
var MarginShares = []float64{1.0 / 300, 1.0 / 30, 1.0 / 3, 3}

// residualShare is the part of the margin in delta the constraint generation
// may leave violated.
const ResidualShare = 0.3

// The constraint generation ends early, since every relaxation proves a bound: at a
// small relative violation, or when a round raised the bound by less than this share
// of the requested gap.
const (
	LowerTolerance = 1e-5
	StallShare     = 0.01
)

// largestMargin is the gap that margins and stalls are a share of where a larger
// one is asked for, as it is with fixed nodes.
const LargestMargin = 1e-3

// notKept reports whether a table was refused because it does not keep the privacy or
// the constraints, exactly.
func NotKept(err error) bool {
	return errors.Is(err, proof.ErrNotPrivate) || errors.Is(err, proof.ErrFalseClaim)
}
