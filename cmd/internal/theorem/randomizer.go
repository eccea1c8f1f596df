// SPDX-License-Identifier: Apache-2.0

package theorem

import (
	"fmt"

	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/local"
)

// randomizerClaims are those of a local randomizer.
func randomizerClaims(s *local.Spec) []Claim {
	const forAll = `forall x, value_of (the_randomizer f) x ->`
	loss := ""
	if s.Loss != nil {
		loss = powers(s.Loss)
	}
	mean := loss
	if s.Values.Kind == local.Real {
		mean = "averages over real values are not covered"
	}
	list := []Claim{
		{
			Name: "privacy", Theorem: "certify_randomizer_privacy", Label: "privacy",
			Comment: "Each value has a law of answers, and those of any two are apart by no more than is promised, and claimed: epsilon, delta, delta claimed.",
			Statement: fmt.Sprintf(`((r_epsilon (the_randomizer f) == %s)%%Q /\ (r_delta (the_randomizer f) == %s)%%Q /\
   (claimed_r_delta f == %s)%%Q) /\
  (%s answer_law (answers_of (the_randomizer f)) (randomized (the_randomizer f) x)) /\
  locally_private (the_randomizer f) (%[2]s) /\ locally_private (the_randomizer f) (%[3]s)`,
				rational(s.Epsilon), rational(s.Delta), decimal(s.Claims.Delta), forAll),
		},
		{
			Name: "mean loss", Theorem: "certify_randomizer_mean", Why: mean, Says: "that the expected loss is on average at most " + s.Claims.MeanLoss,
			Label: "average", Comment: "All values are nodes, and over their shares the expected loss is on average at most what is claimed.",
			Statement: fmt.Sprintf(`(%s exists i, (i < length (r_nodes (the_randomizer f)))%%nat /\
    x = Q2R (nth i (r_nodes (the_randomizer f)) 0%%Q)) /\
  (averaged_cost (the_randomizer f) <= Q2R (%s))%%R`, forAll, decimal(s.Claims.MeanLoss)),
		},
		{
			Name: "largest loss", Theorem: "certify_randomizer_worst", Why: loss, Says: "that no value has an expected loss above " + s.Claims.WorstLoss,
			Label: "largest", Comment: "No value has an expected loss above what is claimed, nor above the cap, if there is one.",
			Statement: fmt.Sprintf(`%s (expected_cost (the_randomizer f) x <= Q2R (%s))%%R /\
  (forall c, cap f = Some c -> expected_cost (the_randomizer f) x <= Q2R c)%%R`, forAll, decimal(s.Claims.WorstLoss)),
		},
		{Name: "lower bound", Why: "lower bounds of randomizers are not covered", Says: "that no mechanism has a loss below " + s.Claims.LowerBound},
	}
	if s.Values.Kind != local.Category { // whose answers have no mean
		list = append(list, Claim{
			Name: "bias", Theorem: "certify_randomizer_bias", Label: "bias",
			Comment: "The mean answer is as near to each value as is claimed, and is the value if that is promised.",
			Statement: fmt.Sprintf(`%s (Rabs (mean_answer (the_randomizer f) x - x) <= Q2R (%s))%%R /\
  (unbiased f = true -> mean_answer (the_randomizer f) x = x)`, forAll, decimal(s.Claims.Bias)),
		})
	}
	if d := s.Demands; d.Lower != 0 || d.Upper != 0 || d.Step != 0 {
		list = append(list, Claim{Name: "answers", Why: "their range and step are not covered", Says: "that all answers are those demanded"})
	}
	return covered(list)
}

// kernelClaims are those of a kernel.
func kernelClaims(k *kernels.Kernel) []Claim {
	p, c := k.Privacy(), k.Claims()
	return []Claim{
		{
			Name: "privacy", Theorem: "certify_kernel_privacy", Label: "privacy",
			Comment: "Each query value has a law of answers, and it is private as promised and claimed: epsilon, delta, sensitivity, delta claimed.",
			Statement: fmt.Sprintf(`((k_epsilon (the_kernel f) == %s)%%Q /\ (k_delta (the_kernel f) == %s)%%Q /\
   (k_sensitivity (the_kernel f) == %s)%%Q /\ (claimed_k_delta f == %s)%%Q) /\
  (forall x, query_of (the_kernel f) x -> answer_law (length (k_nodes (the_kernel f))) (kernel_law (the_kernel f) x)) /\
  kernel_private (the_kernel f) (%[2]s) /\ kernel_private (the_kernel f) (%[4]s)`,
				rational(p.Epsilon), rational(p.Delta), rational(p.Sensitivity), decimal(c.Delta)),
		},
		{Name: "expected loss", Why: "averages over real values are not covered", Says: "that the expected loss is on average at most " + c.ExpectedLoss},
		{Name: "largest loss", Why: "losses of kernels are not covered", Says: "that no query value has an expected loss above " + c.MaxLoss},
		{Name: "lower bound", Why: "lower bounds of kernels are not covered", Says: "that no mechanism has an expected loss below " + c.LowerBound},
	}
}
