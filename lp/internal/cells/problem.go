// SPDX-License-Identifier: Apache-2.0

package cells

import (
	"cmp"
	"math"

	"github.com/noisewright/noisewright/cells"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp/internal/meet"
)

// Problem is lp.CellsProblem.
type Problem struct {
	// Privacy and Loss are as in dp.Problem, but Delta is not 0.
	dp.Privacy
	Loss loss.Loss
	// Edges are those of the cells, ascending, in query units. The first may be -Inf
	// and the last one +Inf.
	Edges []float64
	// Weight says how much each cell counts, up to a factor; nil: its width, but a cell
	// without an end not at all, unless all are.
	Weight []float64
	// Bins, if not 0, fixes the bins per sensitivity, of the laws and of the lower
	// bound; 0: as many as the gap needs.
	Bins int
	// InstanceCap, if not 0, bounds the expected CapLoss of every cell's noise, or nil, its Loss.
	InstanceCap float64
	CapLoss     loss.Loss
}

func (p Problem) capped() loss.Loss { return cmp.Or(p.CapLoss, p.Loss) }

func (p Problem) weight() []float64 {
	if p.Weight != nil {
		return p.Weight
	}
	w := make([]float64, len(p.Edges)-1)
	some := false
	for k := range w {
		if width := p.Edges[k+1] - p.Edges[k]; check.Finite(width) {
			w[k], some = width, true
		}
	}
	for k := range w {
		if !some {
			w[k] = 1
		}
	}
	return w
}

// symmetric reports whether the problem is its own mirror image, so that the law of a cell
// may be taken for the mirror image of that of the opposite one.
func (p Problem) symmetric() bool {
	n := len(p.Edges) - 1
	w := p.weight()
	for i := range w {
		// Differences of neighbors need not be equal as float64s: what is taken for
		// its mirror image and is not one costs loss or time, never privacy.
		if math.Abs(w[i]-w[n-1-i]) > 1e-12*w[i] {
			return false
		}
	}
	inner := p.Edges
	if math.IsInf(inner[0], -1) && math.IsInf(inner[n], 1) {
		inner = inner[1:n]
	}
	return p.Loss.Symmetric() && p.capped().Symmetric() && (len(inner) == 0 || check.Finite(inner...) && meet.Mirrored(inner))
}

// base returns the least number of bins per sensitivity of which every cell is a whole
// number, 1 if there is none up to maxBase.
func (p Problem) base() int {
	const tolerance, maxBase = 1e-9, 64
	for k := 1; k <= maxBase; k++ {
		fits := true
		for i := 1; i < len(p.Edges) && len(p.Edges) > 2 && fits; i++ {
			width := (p.Edges[i] - p.Edges[i-1]) * float64(k) / p.Sensitivity
			fits = math.IsInf(width, 0) || math.Abs(width-math.Round(width)) < tolerance
		}
		if fits {
			return k
		}
	}
	return 1
}

// binGrid lays K bins per sensitivity over points: S points a bin, K·S points at least a
// sensitivity. Where a bin is a power of two it is so exactly.
func binGrid(sensitivity float64, k int) cells.Grid {
	_, exp := math.Frexp(sensitivity / float64(k))
	g := cells.Grid{GranularityExponent: exp - 1 - binBits}
	step := g.Step()
	step.Mul(step, ratOf(k))
	g.PointsPerBin = exact.Ceil(step.Quo(exact.Rational(sensitivity), step)).Int64()
	return g
}

// binBits: at least 2^26 points per bin keep what is lost by rounding a bin up to whole
// points below 2^-26 of it, well within the margin in delta.
const binBits = 26
