// SPDX-License-Identifier: Apache-2.0

// Package latent designs the release of vectors under local differential privacy: an encoder that
// maps a person's n features to a few numbers, the domain they are clipped to, noise, and the
// decoder of the features from the noisy numbers with the smallest expected loss of a task.
//
//	r, err := latent.Design(ctx, problem, latent.Options{})
//	b, err := r.Bundle(r.Best(""))       // for the devices and the server; verified
//	proof, err := latent.Verify(ctx, b, proof.Options{}) // what whoever gets the bundle does
//	p, err := proof.NewPrivatizer(sampler.Options{})
//	e, err := latent.Evaluate(ctx, p, testData, 100)
//
// The setting is that of Cheng, Tang and Chinchali (2022, "Task-aware privacy preservation for
// multi-dimensional data"): features x of mean μ and covariance Σ, a task that reads Kx, and the
// loss E‖K(x − x̂)‖² of a reconstruction x̂. In task coordinates y, uncorrelated and of variance
// one, the loss is a sum: dropping y_i costs its price λ_i. What is released are a few of them,
// scaled, clipped to a body (a ball, a box, or what public bounds of the features make of it) and
// with noise: Laplace, Gaussian or spherical noise or noise on balls that is joint to all, or noise per coordinate, among it
// designed tables, with the best split of the budget.
//
// The guarantee rests on package latent/bundle alone; losses, in float64, say how good a design is.
package latent
