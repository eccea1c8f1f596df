// SPDX-License-Identifier: Apache-2.0

// Package minimax learns filters: encodings of features from which the target tasks can be told
// and the private ones cannot (J. Hamm, Minimax Filter: Learning to Preserve Privacy from
// Inference Attacks, JMLR 18(129), 2017). A filter g minimizes
//
//	Φ(g) = ρ·Σ_t w_t·min_h loss_t(h∘g) - Σ_p w_p·min_h loss_p(h∘g)
//
// over target tasks t and private tasks p, where h are linear classifiers or regressions: the
// server's for a target, an attacker's for a private task.
//
// # What it protects from
//
// The privacy of a filter is privacy against the attacker named in its training, and on people like
// those it was trained with. Other attackers find more: with the filters of figure 4 of the paper
// linear classifiers find the private class no more often than by guessing, and radial basis
// functions in up to 3 of 4 cases. Look at a filter with package attack before you rely on it. Only
// added noise is a guarantee: with [Result.AddNoise] the filter's output is clipped to a body, and
// gets noise for that body, of which latent/bundle proves the promise whatever the filter is.
package minimax
