// SPDX-License-Identifier: Apache-2.0

// Package plan releases many sums about the same people at once: running totals, all ranges, tables
// of attributes, or any matrix of them. A plan says which sums of disjoint cells are measured with
// which noise, and so how much privacy all of it costs together, which errors the answers have, and
// how they are computed from the measurements. plan/design chooses one; [Decode] reads one.
//
// [Plan.Verify] recomputes in exact or outward-rounded arithmetic the delta of one release of
// everything, that answers are unbiased, and the variance of each of them. docs/plan-format.md has
// the file, docs/proofs/plan.md the argument.
//
// What a plan says of privacy rests on who the cells are of: a person is in at most MaxPerPerson of
// them. Members counted every month are in many; their entries and exits are in two.
package plan
