// SPDX-License-Identifier: Apache-2.0

// Package cells holds noise that is added to a query value and whose law depends on
// the cell that the value is in. Cells may be of any width, and the outer two without an
// end. [Decode] reads such a kernel, and [Kernel.Verify] proves what it promises and claims
// and returns a [Verified]: the only thing a sampler takes.
//
// A value is rounded to a lattice, and a multiple of the lattice's step drawn from the law of its
// cell is added. A law has integer weights over bins, all of the same number of points, which are
// equally likely. Certify recomputes, in exact integer and rational arithmetic, the delta that the
// kernel achieves at its epsilon, for every shift that values of two cells can have, its expected
// losses, and a lower bound on the loss of all noise that depends on the value through these cells.
// The file format is described in docs/additive-format.md.
//
// Package kernels is about answers that need not be the value with something added, and
// tables about noise that has one law.
//
// A Kernel is immutable and safe for concurrent use.
package cells
