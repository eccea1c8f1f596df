// SPDX-License-Identifier: Apache-2.0

// Package dpsgd is the private part of a training by gradients: random samples of people, and exact
// normal noise on the sum of their clipped gradients (Abadi et al., Deep learning with differential
// privacy, 2016). What is done with the result, a step of Adam for instance, is no secret any more.
//
// Unlike other software for this it does not rest on normal numbers in floating point: sums are
// rounded to a grid, and the noise is drawn in whole steps of it, exactly. docs/proofs/dpsgd.md
// has the argument.
package dpsgd
