package noise

import (
	"math"

	"github.com/noisewright/noisewright/dp"
)

// The optimal integer noise for sensitivity 1, for every ε and δ at once and every even loss that
// does not decrease in |k|. Its tails T_k = P(X >= k), k >= 1, are
//
//	T_1 = (1-δ)/(e^ε+1),  T_{k+1} = max(0, (T_k-δ)e^-ε),
//
// its masses p(0) = 1-2T_1 = (e^ε-1+2δ)/(e^ε+1) and p(±k) = T_k-T_{k+1}.
//
// Why it is optimal: let X be any private integer noise, made symmetric by averaging with -X, which
// changes neither the loss nor the privacy. The event X >= 0 against the shift by 1 gives 1-T_1 <=
// e^ε T_1 + δ, and X >= k gives T_k <= e^ε T_{k+1} + δ. So no private noise has smaller tails, at
// any k, and E c(X) = c(0) + 2 Σ_k (c(k)-c(k-1)) T_k increases with each of them.
//
// They bound the noise on real queries too. Cut the line into cells of width Δ
// centered on jΔ+u, u uniform. The masses of the cells, averaged over u, are private
// integer noise of sensitivity 1, and x falls into cell j with the weight of linear
// interpolation at node jΔ. So E c(X) is at least the integer optimum for node values
// whose interpolant is below c, |j|Δ for l1 and (j²-1/4)Δ² for l2:
//
//	E|X| >= 2Δ ΣT_k,  E X² >= Δ²(2Σ(2k-1)T_k - 1/4).
//
// Sources: it is the Tulap law of Awan & Slavković 2018, rounded; Awan & Vadhan 2023 call its kind
// canonical noise, Awan & Dong 2022 treat log-concave canonical noise, and Awan & Ramasethu 2024
// prove that the integer one is stochastically smallest.

// maxTails is the largest number of tails AwanDongTails lists: 32 MiB.
const maxTails = 1 << 22

// AwanDongTails returns the tails T_1, T_2, …, T_n > 0 of the optimal integer noise for sensitivity
// 1: element k-1 is P(X >= k). For δ = 0 the list ends where T_k falls below e^-300.
//
// The error wraps [dp.ErrInvalid] for bad parameters, and is a [NotApplicableError] for
// ε = δ = 0, where there is no such noise, and for a list longer than 2^22. The
// cost is O(n), with n about ln(1+(e^ε-1)/(2δ))/ε.
func AwanDongTails(epsilon, delta float64) ([]float64, error) {
	const name = "optimal integer noise"
	if err := (dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 1}).Validate(); err != nil {
		return nil, err
	}
	if epsilon == 0 && delta == 0 {
		return nil, notApplicable(name, "no noise is private with epsilon = 0 and delta = 0")
	}
	b := math.Exp(-epsilon)
	var tails []float64
	for t := (1 - delta) * b / (1 + b); t > math.Exp(-tailCut); t = (t - delta) * b {
		if len(tails) == maxTails {
			return nil, notApplicable(name, "epsilon = %g and delta = %g need more than %d tails", epsilon, delta, maxTails)
		}
		tails = append(tails, t)
	}
	return tails, nil
}
