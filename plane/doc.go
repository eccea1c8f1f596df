// SPDX-License-Identifier: Apache-2.0

// Package plane has noise for two numbers together: two counts that one person changes at the same
// time, say. Its law on the plane is uniform on each of finitely many square cells and symmetric under
// the eight symmetries of the square. It is private for all pairs of values within a sensitivity that
// is measured by the larger of the two changes (LInf) or by their sum (L1).
//
// A shift inside a cell compares a mixture of the four shifts by whole cells around it, so finitely
// many divergences, in exact arithmetic, are all there is to check (docs/proofs/plane.md). The loss is
// the sum over both coordinates; a [Dual] proves a lower bound for noise of any law. lp.DesignPlane finds
// weights and multipliers that nearly meet.
//
// The format of its files is in docs/plane-format.md.
package plane
