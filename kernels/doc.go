// Package kernels holds noise that depends on the query value, and the exact
// certificate of its privacy claim.
//
// A Kernel splits the range of a query into cells and has a law of answers for each,
// as integer weights that sum to 2^64. Certify recomputes, in exact integer and
// rational arithmetic, the delta the kernel achieves at its epsilon, its expected
// loss on average and at most, and a lower bound on the loss of every mechanism that
// answers these queries as privately; it trusts nothing but the weights and the
// multipliers of the bound. Decode and Encode read and write the file format
// described in docs/kernel-format.md. Noise that is added to the value, whatever it
// is, is in package tables.
//
// A Kernel is immutable and safe for concurrent use.
package kernels
