// SPDX-License-Identifier: Apache-2.0

//go:build !(highs && cgo) && !highswasm

package highs

import (
	"github.com/noisewright/noisewright/internal/solver"
)

// New returns an error that wraps [solver.ErrNone]: this build has no HiGHS.
func New() (solver.Solver, error) { return nil, errUnavailable }

// Version returns the empty string: this build has no HiGHS.
func Version() string { return "" }
