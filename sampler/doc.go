// SPDX-License-Identifier: Apache-2.0

// Package sampler draws from mechanisms that were proved, exactly: every answer is drawn with the
// probability that the certificate is about. [New] is for a mechanism of any form, and answers an
// input by a value; [NewNoise] for an integer table, whose noise it adds to numbers, fast:
//
//	v, err := table.Verify()                         // the proof, or why there is none
//	s, err := sampler.NewNoise(v, sampler.Options{}) // draws from what is proved only
//	y, err := s.AddNoise(x)                          // x rounded to the grid, plus noise
//
// One 64-bit word of randomness chooses the cell, by comparison with integer cumulative weights,
// and one the point in it, by a multiplication with rejection; no floating-point number takes part
// until the result, a multiple of a power of two, is returned. Randomness is cryptographic unless a
// constructor's name says otherwise, and an entropy failure is an error that releases nothing.
//
// Noise subtracts a secret from what an observer of the result knows, and an
// observer of the time it took may get it back. Options.ConstantTime closes that
// channel; docs/proofs/sampling.md says what is assumed in either mode.
//
// Where a mechanism has a law of answers by the input, as kernels and local randomizers have,
// New reads one row of integer weights. Inputs between two rows are rounded to one of them at
// random, exactly and without bias.
//
// WriteExport writes what another implementation needs to check itself against this one.
package sampler
