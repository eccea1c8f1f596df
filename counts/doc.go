// SPDX-License-Identifier: Apache-2.0

// Package counts holds strategies: answers to one of a few categories, private between any two of
// them, for a workload of counts, such as how many people are up to each category of an order,
// or in each range of it. A [Certificate] has the variance of the unbiased estimates of
// all its queries, and for up to [limits.CountProved] categories a lower bound on that of every such
// estimate from private answers, whatever they are: both in exact or outward-rounded arithmetic
// (docs/proofs/counts.md).
//
// For the shares of single categories subset selection is best, which is package subset. Strategies
// are designed by [github.com/noisewright/noisewright/lp.DesignCounts].
//
//	v, err := lp.DesignCounts(ctx, counts.Problem{Epsilon: 1, Count: 14, Workload: counts.Workload{Kind: counts.Prefix}})
//	s, err := sampler.New(v, sampler.Options{})
//	y, err := s.Release(proof.Category("3"))
//	v.Mechanism().Estimate(answers, 0.95, true) // of how many people gave each answer
//
// The format of its files is in docs/counts-format.md.
package counts
