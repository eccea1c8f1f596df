// SPDX-License-Identifier: Apache-2.0

// Package noisebeam releases private statistics of data that live in Apache Beam
// pipelines, on Dataflow, Flink, Spark or one machine, with noise from proven tables.
//
//	budget, err := noisebeam.NewBudget(1, 1e-6)              // of every person, for all of it
//	people, err := noisebeam.Bound(s, rows, bounds, budget)  // what of a person counts
//	groups, err := people.Select(s, selection)               // or people.Public(s, keys)
//	counts, err := groups.Count(s, table)                    // PCollection<KV<string,float64>>
//
// All of it happens while the pipeline is built: what would exceed the budget, and what is
// not bounded, is refused before a row is read. Neighbors differ by one person, who is
// there with all rows or not at all.
//
// Workload releases all answers of a plan, such as tables or running totals, at once, and Period those of a plan of periods when each
// is over.
//
// AddNoise and the Privatize functions are for the local model: they add noise to every
// row by itself.
//
// Workers read a table's text, prove it again in Setup and draw from what they proved.
// Every random choice is a keyed function of a secret, which is drawn when the step is built, of what
// the choice is for and of the exact value: so an engine that repeats work shows the same
// choices and answers. The secret is in the job's description, and whoever knows it takes the noise off:
// it is to be kept like the data. A pipeline, or a template, may be run to its end once: docs/beam.md.
// Errors and logs of this package have no values of rows. The engine's own
// metrics, such as its counts of elements, are exact and not private.
//
// The privacy argument is docs/proofs/beam.md.
package noisebeam
