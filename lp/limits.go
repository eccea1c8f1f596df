// SPDX-License-Identifier: Apache-2.0

package lp

import (
	"fmt"

	"github.com/noisewright/noisewright/internal/limits"
	designcells "github.com/noisewright/noisewright/lp/internal/cells"
	"github.com/noisewright/noisewright/lp/internal/meet"
)

// Range is what a number may be that a design is asked for.
type Range[T int | float64] struct {
	Min, Max T
	Default  T // in the place of 0, if there is one
}

// Has reports whether the range has x.
func (r Range[T]) Has(x T) bool { return x >= r.Min && x <= r.Max }

// String completes "want …".
func (r Range[T]) String() string {
	kind := "a number"
	if _, ok := any(r.Min).(int); ok {
		kind = "an integer"
	}
	return fmt.Sprintf("%s from %v to %v", kind, r.Min, r.Max)
}

// Limits are the ranges that designs keep to. It is not to be assigned to.
var Limits = struct {
	// Epsilon and Delta may be 0 too, but not both. Below the least epsilon noise has more cells than a table may have.
	Epsilon, Delta Range[float64]
	// Sensitivity is in the units of the query. That of a lattice query is at most Max in steps, too.
	Sensitivity Range[float64]
	// Gap and MaxCells are those of Options; KernelGap is the Gap of kernels and of noise by cells, and PlaneGap that of
	// noise in the plane, which take longer.
	Gap, KernelGap, PlaneGap Range[float64]
	MaxCells                 Range[int]
	// Points is that of FrontOptions.
	Points Range[int]
	// Bins is that of a CellsProblem.
	Bins Range[int]
}{
	Epsilon:     Range[float64]{Min: 1e-3, Max: 20},
	Delta:       Range[float64]{Min: 1e-12, Max: 0.9},
	Sensitivity: Range[float64]{Min: 1e-6, Max: 1e9},
	Gap:         Range[float64]{Min: meet.MinGap, Max: 1, Default: 1e-3},
	KernelGap:   Range[float64]{Min: meet.MinGap, Max: 1, Default: 0.01},
	PlaneGap:    Range[float64]{Min: meet.MinGap, Max: 1, Default: 0.02},
	MaxCells:    Range[int]{Min: 3, Max: limits.TableCells, Default: 1 << 17},
	Points:      Range[int]{Min: 2, Max: 200, Default: 20},
	Bins:        Range[int]{Min: 1, Max: designcells.MostBins},
}
