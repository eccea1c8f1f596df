// SPDX-License-Identifier: Apache-2.0

// Package ledger is a durable record of what was released about a set of people, which
// refuses to spend more than its total.
//
// A ledger is one file, an SQLite database, for any number of processes. It is made with
// the [account.Terms] of its total. [Ledger.Release] charges a query durably before its answer
// exists, and stores the answer durably before it returns it: a crash can cost budget, but
// never privacy. An equal query about the same data is answered from the ledger at no cost.
//
// docs/proofs/ledger.md has the argument: of one charge only one answer ever leaves any
// process, and what the charges cost together is within the total.
//
// The ledger is an internal document. Answers are meant to be published. The digests of
// data, by which a guess of all of it can be tried, which queries were asked and when, and whether
// data changed between two equal queries are not protected.
package ledger
