// SPDX-License-Identifier: Apache-2.0

package lp

import (
	"context"
	"fmt"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/lp/internal/kernel"
)

// KernelProblem asks for noise that depends on the query value: the kernel with the smallest
// expected loss, averaged over a law of the query values, that makes a query with values in a known
// range (Epsilon, Delta)-differentially private (Selvi, Liu & Wiesemann 2025, section 3).
type KernelProblem = kernel.Problem

func validateKernel(p KernelProblem) error {
	errs := check.In("lp")
	wantDependent(errs, p.Privacy, p.Loss)
	if err := p.Queries.Validate(); err != nil {
		errs.Add(check.Errorf("lp", nil, "%w", err))
	}
	wantCap(errs, p.InstanceCap, p.CapLoss)
	errs.Want(p.CapSlack >= 0 && p.CapSlack <= 1, "cap-slack", p.CapSlack, "a number from 0 to 1")
	errs.Want(p.Cells >= 0 && p.Cells <= limits.KernelCells, "cells", p.Cells, "1 to %d", limits.KernelCells)
	errs.Want(len(p.Nodes) <= limits.KernelCells, "nodes", fmt.Sprintf("%d nodes", len(p.Nodes)), "1 to %d", limits.KernelCells)
	for i, x := range p.Nodes {
		if !(x >= p.Queries.Lower && x <= p.Queries.Upper) || i > 0 && !(x > p.Nodes[i-1]) {
			errs.Bad(fmt.Sprintf("nodes[%d]", i), x, "numbers of the range in ascending order")
			break
		}
	}
	return errs.Err()
}

// DesignKernel finds a kernel whose expected loss is within the requested gap of the best possible
// for any mechanism that may look at the query value. Limits end it as they end Design. The error
// wraps ErrInfeasible if no kernel that keeps the instance cap was found.
//
// Both bounds are solved side by side, on two processors if there are.
// Options.MaxCells, 512 if it is 0, bounds the cells of the range, of the kernel and of the
// lower bound. Progress reports them in place of cells per sensitivity.
//
// Guarantee: the kernel's privacy, losses and bound are those of its exact
// certificate, whatever the solver did.
func DesignKernel(ctx context.Context, p KernelProblem, o Options) (*Result[kernels.Verified], error) {
	return designed(ctx, p, validateKernel(p), o, Limits.KernelGap.Default, 512, kernel.Design)
}
