// SPDX-License-Identifier: Apache-2.0

// Package subset answers one of k categories by a set of them, more likely one that has the
// category than one that has not (subset selection, Ye & Barg 2018), under pure local
// differential privacy. With the best size of sets no unbiased estimate of the shares of all
// categories has less variance, from whatever private answers: a [Certificate] has the
// variance and that bound, both in exact arithmetic (docs/proofs/shares.md).
//
// Sets are encoded in one of three ways. Of size 1 they are labels, which is randomized response.
// If there are less than 2^63 sets of the size, all are answers, by their rank. Otherwise they are
// a·t + b modulo a prime, for t below the size: the answer is a:b.
//
//	v, err := subset.Design(subset.Spec{Epsilon: 1, Count: 200})
//	s, err := sampler.New(v, sampler.Options{})
//	y, err := s.Release(proof.Category("17"))
//	t := v.Mechanism().Tally() // Add answers, then Shares and Interval
//
// The format of its files is in docs/subset-format.md.
package subset
