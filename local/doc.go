// SPDX-License-Identifier: Apache-2.0

// Package local holds local randomizers: mechanisms that answer one bounded value, or one
// of a few categories, such that any two values are (epsilon, delta)-indistinguishable
// (Kasiviswanathan et al. 2011). [Decode] reads one, and [Randomizer.Verify] proves what
// it promises and claims and returns a [Verified]: the only thing a sampler takes.
//
// A Randomizer has nodes in the range of its values and a law of answers for each, as integer
// weights that sum to 2^64. A value between two nodes is first rounded to one of them at random,
// without bias, which keeps the privacy of the nodes, their unbiasedness, and nearly their loss
// (docs/proofs/local-privacy.md). Certify recomputes all that in exact integer and rational
// arithmetic, and a lower bound on the loss of every such mechanism with any answers whatever
// (docs/proofs/local-lower-bound.md). The file format is described in docs/local-format.md.
//
// Noise that is added to a value is in package tables; laws by cell of the value, for a
// sensitivity smaller than the range, are in package kernels.
//
// A Randomizer is immutable and safe for concurrent use.
package local
