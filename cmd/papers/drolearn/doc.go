// SPDX-License-Identifier: Apache-2.0

// Package drolearn has the learners of Selvi, Liu & Wiesemann, "Differential Privacy via
// Distributionally Robust Optimization" (2025), sections 5.2 and 5.3, with noise on every number
// that they learn: naive Bayes and proximal coordinate descent, as in the authors' program.
//
// IT PROMISES NOTHING. Every number has a budget of its own, sensitivities depend on how many
// people a class has, and which values occur is told as it is. It is here to compute the
// paper's tables again; package learn is for people.
//
// A Recipe says how a public data set becomes a Set. A Bayes or a Descent learns from a
// Set, Run learns many times with each Noise.
package drolearn
