// SPDX-License-Identifier: Apache-2.0

package lp

import (
	"context"
	"fmt"
	"math"

	"github.com/noisewright/noisewright/cells"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/limits"
	designcells "github.com/noisewright/noisewright/lp/internal/cells"
)

// CellsProblem asks for noise that is added to a real query value and whose law depends on the cell
// of the value: the additive kernel with the smallest expected loss, averaged over the cells, that
// makes the query (Epsilon, Delta)-differentially private (Selvi, Liu & Wiesemann 2025, section 3).
type CellsProblem = designcells.Problem

func validateCells(p CellsProblem) error {
	errs := check.In("lp")
	wantDependent(errs, p.Privacy, p.Loss)
	n := len(p.Edges) - 1
	errs.Want(n >= 1 && n <= limits.AdditiveCells, "edges", fmt.Sprintf("%d edges", n+1), "2 to %d", limits.AdditiveCells+1)
	for i, x := range p.Edges {
		infinite := i == 0 && math.IsInf(x, -1) || i == n && math.IsInf(x, 1)
		if !infinite && (!check.Finite(x) || i > 0 && !(x > p.Edges[i-1])) {
			errs.Bad(fmt.Sprintf("edges[%d]", i), x, "numbers in ascending order, finite but for the first and the last")
			break
		}
	}
	some := p.Weight == nil
	for i, w := range p.Weight {
		errs.Want(w >= 0 && check.Finite(w), fmt.Sprintf("weight[%d]", i), w, "a finite number >= 0")
		some = some || w > 0
	}
	m := len(p.Weight)
	errs.Want((p.Weight == nil || m == n) && some, "weight", fmt.Sprintf("%d numbers", m), "%d, one per cell, and one of them above 0", n)
	errs.Want(p.Bins == 0 || Limits.Bins.Has(p.Bins), "bins", p.Bins, "%v", Limits.Bins)
	wantCap(errs, p.InstanceCap, p.CapLoss)
	return errs.Err()
}

// DesignCells finds an additive kernel whose expected loss, averaged over the cells, is
// within the requested gap of the best possible for noise that depends on the value
// through these cells, as DesignKernel does. Options.MaxCells bounds the bins of a law, and
// Progress reports bins per sensitivity.
func DesignCells(ctx context.Context, p CellsProblem, o Options) (*Result[cells.Verified], error) {
	return designed(ctx, p, validateCells(p), o, Limits.KernelGap.Default, 512, designcells.Design)
}
