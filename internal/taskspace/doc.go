// SPDX-License-Identifier: Apache-2.0

// Package taskspace is the linear algebra behind package latent: coordinates in which
// a task is a sum, encoders of a few of them, decoders, and expected losses.
//
// The setting is that of Cheng, Tang and Chinchali (2022, "Task-aware privacy preservation for
// multi-dimensional data"). Features x (n of them) have mean μ and covariance Σ = LLᵀ ([Moments]);
// the task reads Kx, and a reconstruction x̂ costs E‖K(x − x̂)‖². With P = KL and PᵀP = QΛQᵀ the
// task coordinates are y = Qᵀ L⁻¹(x − μ) ([Coordinates]): uncorrelated, of variance one, and
// dropping y_i costs its price λ_i. What is released are Z unit coordinates u = W(x − μ) + offset
// ([Encoder]), clipped to a body of sensitivity 1.
//
// Noise that is joint to all coordinates has its optimal scales in closed form for second moments
// of unclipped data: [Waterfill] for Laplace noise on a ball (their Theorem 1), [GaussianBox] for
// Gaussian noise on a box. [Encoder.Moments], [NewDecoder] and [ExpectedLoss] give the best affine
// decoder for clipped data and its exact loss, and [Objective] the same for many encoders at once.
//
// All numbers are float64 and say how good a design is; privacy rests on package
// latent/bundle alone. Errors carry the name of package latent.
package taskspace
