//go:build !(highs && cgo) && !highswasm

package highs

import (
	"github.com/noisewright/noisewright/lp/solver"
)

// New returns [ErrUnavailable]: this build has no HiGHS.
func New() (solver.Solver, error) { return nil, ErrUnavailable }

// Version returns the empty string: this build has no HiGHS.
func Version() string { return "" }
