// SPDX-License-Identifier: Apache-2.0

// Package ball is noise of a vector of two to eight coordinates: a mixture of uniform laws on balls
// around 0, which is (ε, δ)-private for all values up to a sensitivity apart in the Euclidean norm.
//
// The density of such a mixture falls with the norm, so that of all shifts only the longest has to be
// looked at (docs/proofs/ball.md): a [Certificate] has its divergence, in exact arithmetic, and
// the expected power of the norm. lp.DesignBall finds the best mixture.
//
//	v, err := noise.Verify()
//	s, err := sampler.New(v, sampler.Options{})
//	y, err := s.Release(proof.Row{3.5, -1.25})
//
// The format of its files is in docs/ball-format.md.
package ball
