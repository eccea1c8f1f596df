// SPDX-License-Identifier: Apache-2.0

// Package vlm is the variational Laplace mechanism of A. Mansbridge, G. Barbour, D. Piras,
// M. Murray, C. Frye, I. Feige and D. Barber, "Learning to Noise" (2020, arXiv 2010.12464;
// later "Representation Learning for High-Dimensional Data Collection under Local
// Differential Privacy"): an encoder that is trained, without a task in mind, so that
// what it says of a person survives Laplace noise.
//
// A variational autoencoder has a Laplace prior and a Laplace posterior, of which the mean is
// clipped to an l1 ball of radius l. Two means differ by at most 2l in the l1 norm, so noise of
// scale 2l/ε on each coordinate makes what a person sends ε-private, whatever the network is.
//
// People may send a class too, flipped with the probability [FlipProbability]. A [Classifier]
// of the noisy encodings takes the flips into account (equation 8).
//
// The people whose data trained the network are not protected by the noise on other
// people's encodings. [Scenario.Private] says which part of the network is seen by whom they
// do not trust, and [Options].Central trains it again with differential privacy for them.
//
// Everything is in floating point and seeded, for studies; what is released is drawn by a bundle.
package vlm
