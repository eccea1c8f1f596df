// Package lp designs noise: it finds the additive noise of smallest expected
// loss among all that are (epsilon, delta)-differentially private, and proves
// how far from the best possible the result is.
//
// Design discretises the problem twice, once so that every solution is a noise
// that can be drawn (an upper bound on the optimum) and once so that every
// noise is a solution (a lower bound), refines both grids until the two meet to
// the requested relative gap, and returns a tables.Table that carries its own
// exact certificate. The LP library arrives as a NewSolverFunc; see lp/highs.
package lp
