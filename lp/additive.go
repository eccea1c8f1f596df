package lp

import (
	"fmt"
	"math"

	"github.com/noisewright/noisewright/cells"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/loss"
)

// AdditiveProblem asks for noise that is added to a real query value and whose law depends
// on the cell of the value: the additive kernel with the smallest expected loss, averaged
// over the cells, that makes the query (Epsilon, Delta)-differentially private (Selvi, Liu
// & Wiesemann 2025, section 3).
type AdditiveProblem struct {
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
	// InstanceCap, if not 0, bounds the expected CapLoss of every cell's noise, or nil,
	// its Loss.
	InstanceCap float64
	CapLoss     loss.Loss
}

func (p AdditiveProblem) validate() error {
	errs := check.In("lp")
	errs.Add(validate(dp.Problem{Privacy: p.Privacy, Loss: p.Loss}))
	if p.Delta == 0 {
		errs.Badf("delta", "0 (pure differential privacy)", "a number from %g to %g for a kernel", MinDelta, MaxDelta)
	}
	n := len(p.Edges) - 1
	if n < 1 || n > cells.MaxCells {
		errs.Badf("edges", fmt.Sprintf("%d edges", n+1), "2 to %d", cells.MaxCells+1)
	}
	for i, x := range p.Edges {
		infinite := i == 0 && math.IsInf(x, -1) || i == n && math.IsInf(x, 1)
		if !infinite && (!check.Finite(x) || i > 0 && !(x > p.Edges[i-1])) {
			errs.Bad(fmt.Sprintf("edges[%d]", i), x, "numbers in ascending order, finite but for the first and the last")
			break
		}
	}
	some := p.Weight == nil
	for i, w := range p.Weight {
		if !(w >= 0) || !check.Finite(w) {
			errs.Bad(fmt.Sprintf("weight[%d]", i), w, "a finite number >= 0")
		}
		some = some || w > 0
	}
	if m := len(p.Weight); p.Weight != nil && m != n || !some {
		errs.Badf("weight", fmt.Sprintf("%d numbers", m), "%d, one per cell, and one of them above 0", n)
	}
	if p.Bins < 0 || p.Bins > MaxAdditiveBins {
		errs.Badf("bins", p.Bins, "1 to %d", MaxAdditiveBins)
	}
	if c := p.InstanceCap; c != 0 && !(c > 0 && c <= math.MaxFloat64) {
		errs.Bad("instance-cap", c, "0 for none, or a finite number above 0")
	}
	if p.CapLoss != nil && p.InstanceCap == 0 {
		errs.Bad("instance-cap-loss", p.CapLoss.Name(), "none without an instance cap")
	}
	return errs.Err()
}

// MaxAdditiveBins bounds the bins per sensitivity of an additive kernel.
const MaxAdditiveBins = 1 << 10

// capped returns the loss that is capped.
func (p AdditiveProblem) capped() loss.Loss {
	if p.CapLoss != nil {
		return p.CapLoss
	}
	return p.Loss
}

// weight returns how much each cell counts.
func (p AdditiveProblem) weight() []float64 {
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
func (p AdditiveProblem) symmetric() bool {
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
	return p.Loss.Symmetric() && p.capped().Symmetric() && (len(inner) == 0 || check.Finite(inner...) && mirrored(inner))
}

// base returns the least number of bins per sensitivity of which every cell is a whole
// number, 1 if there is none up to maxBase.
func (p AdditiveProblem) base() int {
	const tolerance = 1e-9
	for k := 1; k <= maxBase; k++ {
		fits := true
		for i := 2; i < len(p.Edges) && fits; i++ {
			width := (p.Edges[i-1] - p.Edges[i-2]) * float64(k) / p.Sensitivity
			fits = math.IsInf(width, 0) || math.Abs(width-math.Round(width)) < tolerance
		}
		if n := len(p.Edges) - 1; fits && n > 1 {
			width := (p.Edges[n] - p.Edges[n-1]) * float64(k) / p.Sensitivity
			fits = math.IsInf(width, 0) || math.Abs(width-math.Round(width)) < tolerance
		}
		if fits {
			return k
		}
	}
	return 1
}

const maxBase = 64

// binGrid lays K bins per sensitivity over points: S points a bin, K·S points at least a
// sensitivity. Where a bin is a power of two it is so exactly.
func binGrid(sensitivity float64, k int) cells.Grid {
	_, exp := math.Frexp(sensitivity / float64(k))
	g := cells.Grid{GranularityExponent: exp - 1 - binBits}
	step := g.Step()
	step.Mul(step, ratOf(k))
	g.PointsPerBin = ceilQuo(sensitivity, step).Int64()
	return g
}

// binBits: at least 2^26 points per bin keep what is lost by rounding a bin up to whole
// points below 2^-26 of it, well within the margin in delta.
const binBits = 26
