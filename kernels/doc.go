// SPDX-License-Identifier: Apache-2.0

// Package kernels holds noise that depends on the query value. [Decode] reads a kernel, and
// [Kernel.Verify] proves it and returns a [Verified]: the only thing a sampler takes.
//
// A Kernel splits the range of a query into cells and has a law of answers for each, as integer
// weights that sum to 2^64. Certify recomputes, in exact integer and rational arithmetic, the delta
// the kernel achieves at its epsilon, its expected loss on average and at most, and a lower bound
// on the loss of every mechanism that answers these queries as privately; it trusts nothing but the
// weights and the multipliers of the bound. The file format is described in docs/kernel-format.md.
// Noise that is added to the value, whatever it is, is in package tables.
//
// A Kernel is immutable and safe for concurrent use.
package kernels
