// SPDX-License-Identifier: Apache-2.0

package theorem

import (
	"fmt"

	"github.com/noisewright/noisewright/subset"
)

// selectionClaims are those of a subset selection.
func selectionClaims(c *subset.Selection) []Claim {
	s := c.Spec()
	const forAll = `forall people, Forall (category (the_selection f)) people -> people <> [] ->`
	return []Claim{
		{
			Name: "privacy", Theorem: "certify_selection_privacy", Label: "privacy",
			Comment: "Each category has a law of answers, and no two are further apart than is promised, nor than is claimed: epsilon, delta claimed.",
			Statement: fmt.Sprintf(`((s_epsilon (the_selection f) == %s)%%Q /\ (claimed_s_delta f == %s)%%Q) /\
  (forall x, category (the_selection f) x -> answer_law (answers_to (the_selection f)) (selected (the_selection f) x)) /\
  selection_private (the_selection f) 0 /\ selection_private (the_selection f) (%[2]s)`, rational(s.Epsilon), decimal(s.Claims.Delta)),
		},
		{
			Name: "total variance", Theorem: "certify_selection_total", Label: "total",
			Comment: "For all people the estimates of shares are unbiased, and times their number the sum of the variances is at most what is claimed.",
			Statement: fmt.Sprintf(`%s
  (forall j, category (the_selection f) j -> mean_over (the_selection f) people (estimate (the_selection f) j) = share_among people j) /\
  (total_variance (the_selection f) people <= Q2R (%s))%%R`, forAll, decimal(s.Claims.TotalVariance)),
		},
		{
			Name: "largest variance", Theorem: "certify_selection_largest", Label: "widest",
			Comment: "Nor has the share of a category for any people a larger variance than is claimed.",
			Statement: fmt.Sprintf(`forall people j, Forall (category (the_selection f)) people -> people <> [] -> category (the_selection f) j ->
  (variance (the_selection f) people j <= Q2R (%s))%%R`, decimal(s.Claims.LargestVariance)),
		},
		{
			Name: "formula of the lower bound", Theorem: "certify_selection_formula", Label: "formula",
			Comment: "The lower bound claimed is no more than the least of the formula over all sizes of sets.",
			Statement: fmt.Sprintf(`(0 <= Q2R (s_share f) <= 1)%%R /\
  below_all_sizes (the_selection f) (Q2R (times f)) (Q2R (s_share f)) (Q2R (%s))`, decimal(s.Claims.LowerBound)),
		},
		{
			Name: "lower bound", Why: "that no variance is below the formula is proved in words, in docs/proofs/shares.md",
			Says: "that no unbiased estimate from private answers has a variance below " + s.Claims.LowerBound,
		},
	}
}
