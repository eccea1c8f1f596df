// SPDX-License-Identifier: Apache-2.0

// Package bundle is the device side of a latent design: it turns a person's
// features into a few private numbers, and those into a reconstruction, from one
// directory of files that can be checked before it is trusted.
//
//	b, err := bundle.Read(dir)
//	proof, err := b.Verify(nil)                       // exact, refuses on any doubt
//	p, err := proof.NewPrivatizer(sampler.Options{})
//	u, err := p.Privatize(nil, features)              // private, may leave the device
//	x, err := b.Decode(nil, u)                        // anywhere, by anyone
//
// A bundle encodes n features as u = Encoder·(x - Mean) + Offset, Z numbers, with dense
// layers before the Encoder if there are any, clips u to a body around 0, adds noise or
// answers by local randomizers, and decodes by an affine map, dense layers and one, or a
// lookup: to the features, to values or to classes. What leaves the device is private for
// every pair of inputs, because the sensitivity is that of the body and not of a sample:
// local differential privacy, per person and release, however an encoder was trained.
//
// A bundle of the kind None is a filter and PROMISES NOTHING: it has no noise, proof or Privatizer.
//
// Randomizers of package local answer for one coordinate each, and their budgets add up. Noise
// is drawn by package sampler, per coordinate, from tables whose budgets add up or are composed
// by a function that the caller brings (Exact), or jointly: the clipped vector is rounded to a
// grid, in the body, and gets Laplace noise for the ℓ1 distance, or Gaussian or spherical noise
// for the ℓ2 distance; Spec.Calibrate makes them. docs/proofs/latent-privacy.md has the proofs,
// docs/bundle-format.md the files.
//
// The package needs no cgo and nothing but the standard library and the packages below it.
package bundle
