// SPDX-License-Identifier: Apache-2.0

// Package tables holds the integer sampling table, the form in which noise is stored, verified and
// drawn. [Decode] reads one, [Table.Verify] proves what it promises and claims, and returns a
// [Verified]: the only thing a sampler takes. [Table.Interval] says where the true value behind a
// released one may be. A [Store] keeps verified tables by the problem they are for.
//
// A Table is a law of the noise g·n on a grid of step g = 2^e: runs of S consecutive integers n
// (cells) whose points are equally likely, with integer cell weights and an optional atom at 0 that
// together sum to 2^64. Certify recomputes, in exact integer and rational arithmetic, the delta the
// table achieves at its epsilon, its expected loss, and a lower bound on the loss of every other
// additive noise; it trusts nothing but the weights and the multipliers of the bound. Verify holds
// the promise and the claims of the table against that. The file format is described in
// docs/table-format.md.
//
// A Table is immutable and safe for concurrent use.
package tables
