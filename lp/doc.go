// Package lp designs noise: it finds the additive noise of smallest expected
// loss among all that are (epsilon, delta)-differentially private, and proves
// how far from the best possible the result is.
//
// [Design] discretizes the problem twice, once so that every solution is a noise
// that can be drawn (an upper bound on the optimum) and once so that every
// noise is a solution (a lower bound), refines both grids until the two meet to
// the requested relative gap, and returns a tables.Table that carries its own
// exact certificate. [Sweep] does so for several deltas at once, [Front] for
// weighted sums of two losses, [DesignKernel] for noise that may depend on
// the query value, and [DesignLocal] for answers to one bounded value. Tables for real
// queries and symmetric noise need no LP library; for the others it arrives as a
// solver.Factory, see lp/highs.
//
// # Inside
//
// The upper and the lower program are two types with one interface: upper.go,
// lower.go, and in bound.go what is asked of both. model.go is the problem as they
// see it, program.go hands a layout to lp/internal/interior, which solves it
// complete, or to lp/internal/cuts, which does so by constraint generation. Solutions become tables in table.go, duals become proofs in
// dual.go. The loop over finer and finer grids is in design.go, and the tables and
// bounds it starts from, which need no solver, in start.go. With delta = 0 none of
// these is needed: pure.go.
package lp
