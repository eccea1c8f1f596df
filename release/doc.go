// SPDX-License-Identifier: Apache-2.0

// Package release publishes statistics of data sets in the central model of
// differential privacy: one party holds the data and publishes a number with noise that
// hides what any one row, or any one person, contributes.
//
// [Release] does all of it: it reads the data, charges a ledger before the answer exists,
// and gives an equal query the same answer again. Its parts are for other uses.
//
// A [Query] says what is asked and what is public: bounds, keys, conditions. [NewPlan]
// decides, from the query alone, how much one unit of privacy can change the answer,
// which noise hides that and what it costs. [Read] computes the exact answer from the
// rows, within the bounds. [Plan.Answer] adds the noise:
//
//	plan, err := release.NewPlan(ctx, query, source) // looks at no data
//	data, err := release.Read(rows, query)           // exact, and secret
//	answer, err := plan.Answer(data)                 // private
//
// What several answers about the same people cost together is a matter of a ledger, an
// account.Ledger, which refuses what would exceed its total. Package release/ledger keeps one
// in a file; this package links no database.
//
// docs/proofs/release.md says why the sensitivities hold, docs/release.md how to use it.
package release
