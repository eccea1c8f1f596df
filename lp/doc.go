// SPDX-License-Identifier: Apache-2.0

// Package lp designs noise: it finds the additive noise of smallest expected loss among all that
// are (epsilon, delta)-differentially private, and proves how far from the best it is.
//
// [Design] discretizes the problem twice, once so that every solution is a noise that can be drawn
// (an upper bound on the optimum) and once so that every noise is a solution (a lower bound),
// refines both grids until the two meet to the requested relative gap, and returns a tables.Table
// that carries its own exact certificate. [Front] does so for weighted sums of two losses,
// [DesignKernel] for noise that may depend on the query value, [DesignCells] for noise that depends
// on the cell of the value, and [DesignLocal] for answers to one bounded value. Tables for real
// queries and symmetric noise need no LP library; for the others it arrives as a solver.Factory,
// see lp/highs.
//
// # Inside
//
// This package states problems and checks them. Each form is designed by a package of its
// own, lp/internal/noise (tables), kernel, cells and local, on what they share, lp/internal/meet.
// lp/internal/engine solves their programs.
package lp
