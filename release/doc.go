// Package release publishes statistics of data sets in the central model of
// differential privacy: one party holds the data and publishes a number with noise that
// hides what any one row, or any one person, contributes.
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
// What several answers about the same people cost together is a matter of a ledger:
// package release/ledger charges a plan's Costs before the answer exists, and refuses
// those that would exceed a total.
//
// docs/proofs/release.md says why the sensitivities hold, docs/release.md how to use it.
package release
