// SPDX-License-Identifier: Apache-2.0

// Package noise holds the classical mechanisms to compare designed noise with, in closed form.
//
// A [Mechanism] is a law of additive noise with a density, possibly masses on
// points, and an expected loss. [New] makes one by its name, (ε, δ)-differentially
// private as asked, or returns a [NotApplicableError] that says why the mechanism cannot
// be used there. [Baselines] lists all of them.
//
// A [LocalMechanism] answers one value of a range, or a category, such that any two are
// (ε, δ)-indistinguishable: what designed local randomizers are compared with. It has an
// expected loss for every value, the mean of them, and the largest. [LocalBaselines]
// lists all of them, noise that is added among them.
//
// The values are float64, correct to the relative error stated with each of them. They are for
// comparison and for tests, not for release: nothing here samples noise, and a continuous law is
// not private on a machine that can only represent some of its values. Package tables/shapes makes
// such noise as tables that are.
package noise
