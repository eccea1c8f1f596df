// SPDX-License-Identifier: Apache-2.0

// Package encoder has the noise of learned private encoders: the body that an encoding is
// clipped to, with the gradient through the clipping, and the noise, as a fast draw for
// training and as what a bundle proves. What trains is up to the caller.
//
//	noise, err := encoder.NewNoise(ctx, bundle.Designed, body, promise, design)
//	…                                    // train, with body.Clip and noise.Release in the loop
//	noise.Install(&spec)                 // what the device draws from
//	b, err := bundle.New(spec)
//	proof, err := latent.Verify(ctx, b, proof.Options{}) // exact, from the clipping and the noise alone
//
// The privacy of a trained encoder never depends on training. Whatever the network is, its
// output is clipped to the body at every call, and the noise is that of the body. Training
// is in floating point, seeded, and proves nothing.
package encoder
