// SPDX-License-Identifier: Apache-2.0

// Package shapes makes classical noise as proven tables: Laplace, truncated
// Laplace, Gaussian, staircase and exponential power noise.
//
// Each function takes a problem and returns a table for its query, sensitivity and
// loss whose privacy was certified from its integer weights, as that of any table.
// So nothing about the law is taken on trust, and its approximation by a grid, cut
// off somewhere and rounded to multiples of 2^-64, is part of what is proved. What
// epsilon and delta the table promises is said with each function.
//
// A grid says how the cells of a table lie; each is flat, so fine cells follow the law closely, and
// a shift by the sensitivity moves CellsPerSensitivity of them. The zero Grid asks for one that
// suits the problem: a cell for every step of an integer or lattice query, some 32 per sensitivity
// of a real one. FirstCell is found by the functions that do not say otherwise.
//
// Errors wrap dp.ErrInvalid for parameters out of range, and for noise that takes too many cells;
// proof.ErrFalseClaim if the noise does not keep the constraints of the problem.
package shapes
