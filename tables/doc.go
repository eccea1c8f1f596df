// Package tables holds the integer sampling table, the form in which noise is
// stored, checked and drawn, and the exact certificate of its privacy claim.
//
// A Table is a law of the noise g·n on a grid of step g = 2^e: runs of S
// consecutive integers n (cells) whose points are equally likely, with integer
// cell weights and an optional atom at 0 that together sum to 2^64. Certify
// recomputes, in exact integer and rational arithmetic, the delta the table
// achieves at its epsilon, its expected loss, and a lower bound on the loss of
// every other additive noise; it trusts nothing but the weights and the
// multipliers of the bound. Decode and Encode read and write the file format
// described in docs/table-format.md.
//
// A Table is immutable and safe for concurrent use.
package tables
