// SPDX-License-Identifier: Apache-2.0

// Package account bounds the privacy loss of several releases: the total (epsilon, delta) of tables
// and classical mechanisms under composition. [LossOf], [Gaussian] and others give the
// [PrivacyLossDistribution] of one release, [Compose] puts releases together, and
// [Composition.Epsilon] and [Composition.Delta] bound their total from both sides. The other way
// round, [Calibrate] finds the noise of a single release for so many releases and a total.
//
// Every [PrivacyLossDistribution] is known by its privacy profile
//
//	h(ε) = sup over neighbors of Σ_x (P(x) − e^ε·Q(x))₊,
//
// the hockey-stick divergence as a function of ε. A pair of laws with a profile of at least h for
// every ε dominates the mechanism, and products of dominating pairs dominate compositions, adaptive
// ones included (Zhu, Dong & Wang 2022, Theorem 10). [Compose] finds such pairs on a grid of
// privacy losses by connecting the dots (Doroshenko, Ghazi, Kamath, Kumar & Manurangsi 2022),
// convolves them by a fast Fourier transform of tilted masses, and adds to the result a bound of
// everything that was cut off, wrapped around or rounded. So the upper bounds it returns are claims
// that hold, and never estimates. The lower bounds say how far off they can be.
//
// docs/proofs/composition.md has the argument.
package account
