// SPDX-License-Identifier: Apache-2.0

// Package limits has the sizes that several packages agree on: what forms, their files and their designers
// take at most. The pages of the formats state them. They bound the work and the memory of a check, and keep its
// integers within the arithmetic of fixed width that it uses.
package limits

// Tables.
const (
	TableCells    = 1 << 18
	TableReleases = 1 << 24 // of a total
	Quantiles     = 16      // of the constraints of a problem
)

// Noise for several numbers together.
const (
	BallMinDimension = 2
	BallMaxDimension = 8
	PlaneCells       = 64 // per sensitivity
)

// Kernels.
const (
	KernelCells   = 1 << 10
	AdditiveCells = 1 << 10 // of the query value
)

// KernelParts is the number of equal parts of each cell of a kernel on which the largest loss of a query value is
// bounded: 2048 in all, but from 4 to 64 per cell.
func KernelParts(cells int) int { return min(max(2048/cells, 4), 64) }

// Local randomizers.
const (
	LocalNodes       = 1 << 10 // and labels of categories
	LocalAnswers     = 1 << 13
	SubsetCategories = 1 << 31
	CountCategories  = 128
	CountWeights     = 1 << 18 // categories times answers
	// CountProved is the most categories for which a lower bound can be proved: all laws of an answer with two
	// probabilities are looked at.
	CountProved = 16
)

// Plans of sums.
const (
	PlanCells   = 1 << 10 // of a matrix, and of all kinds but marginals that rows of numbers are measured of
	PlanQueries = 1 << 22 // and of marginals the cells of a table and of all together
)

// Encoders and classifiers.
const (
	Coordinates = 1 << 12 // that a bundle releases
	// Magnitude bounds every number of a mean, a matrix, an offset or bounds of features; features beyond it are
	// clipped to it. Sums of 2^16 products are then far from overflow.
	Magnitude    = 1e90
	LearnEpsilon = 1000
)
