// Package sampler draws noise from an integer table, exactly: every grid point
// is drawn with the probability that the table's certificate is about.
//
//	v, err := table.Verify()                    // the proof, or why there is none
//	s, err := sampler.New(v, sampler.Options{}) // draws from what is proved only
//	y, err := s.AddNoise(x)                     // x rounded to the grid, plus noise
//
// One 64-bit word of randomness chooses the cell, by comparison with integer
// cumulative weights, and one the point in it, by a multiplication with
// rejection; no floating-point number takes part until the result, a multiple
// of a power of two, is returned. Randomness is cryptographic unless a
// constructor's name says otherwise, and an entropy failure is an error that
// releases nothing.
//
// Noise subtracts a secret from what an observer of the result knows, and an
// observer of the time it took may get it back. Options.ConstantTime closes that
// channel; docs/proofs/sampling.md says what is assumed in either mode.
//
// NewKernel draws from a kernel, and NewRandomizer from a local randomizer, whose values
// it rounds between nodes at random, exactly and without bias.
//
// WriteExport writes what another implementation needs to check itself against this
// one.
package sampler
