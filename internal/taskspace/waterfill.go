// SPDX-License-Identifier: Apache-2.0

package taskspace

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/noisewright/noisewright/internal/check"
)

// A Scaling says how strongly each task coordinate is released.
type Scaling struct {
	// Z is the number of coordinates with a positive scale.
	Z int
	// Sigma2[i] = 4·s_i² for each λ, 0 where a coordinate is dropped, with s_i the semi-axis of
	// the body of unit coordinates u_i = (s_i/r_i)·y_i: the paper's σ_i² with M = 1.
	Sigma2 []float64
	// Loss is E‖K(x − x̂)‖² with the best linear decoder, when clipping changes
	// nothing and the y_i have variance one; in units of the task loss.
	Loss float64
}

// SemiAxes returns the semi-axes s_i = ½√Sigma2[i] of the body that the unit coordinates are
// clipped to; its sensitivity is at most 1, also for the rounded numbers.
func (a Scaling) SemiAxes() []float64 {
	axes := make([]float64, len(a.Sigma2))
	for i, t := range a.Sigma2 {
		axes[i] = math.Sqrt(t) / 2
	}
	return axes
}

// Waterfill returns the optimal scales for i.i.d. Laplace noise when the domain
// is a ball of radius r in the task coordinates: Z′ coordinates with
//
//	σ_i² = √λ_i/S·(1 + Z′s) − s,   S = Σ_{i≤Z′} √λ_i,   s = 8r²/ε²,
//	L = s/(1 + Z′s)·S² + Σ_{i>Z′} λ_i,
//
// Z′ the largest z with √λ_z/S_z·(1 + zs) − s > 0. The σ_i² sum to one, which makes the ℓ1
// sensitivity of diag(σ)y over the ball 2r(Σσ_i²)^½ = 2r, and the noise has scale 2r/ε. No linear
// encoder does better (an orthogonal matrix in front of it would only raise the sensitivity).
//
// lambda are the prices of the coordinates, descending. The error wraps ErrInvalid if the ratio
// of noise to signal, s, is no positive float64.
//
// Source: Cheng, Tang and Chinchali (2022), Propositions 1–4, Theorem 1, (13).
func Waterfill(lambda []float64, r, epsilon float64) (Scaling, error) {
	s := 8 * (r / epsilon) * (r / epsilon)
	if !(s > 0) || !check.Finite(s) {
		return Scaling{}, check.Field("latent", "radius and epsilon", fmt.Sprintf("%g and %g", r, epsilon), "a ratio of noise to signal within the range of float64")
	}
	return fill(lambda, slices.Repeat([]float64{s}, len(lambda))), nil
}

// GaussianBox has the optimal scales for i.i.d. Gaussian noise in the box |y_i| ≤ c_i.
//
// Derivation. With unit coordinates u_i = (s_i/c_i)y_i the body is a box of
// half-sides s_i, of ℓ2 diameter 2(Σs_i²)^½. With t_i = 4s_i² the sensitivity is 1
// for Σt_i = 1; a coordinate has noise of variance τ² against s_i²/c_i², so
//
//	L = Σ λ_i·q_i/(t_i + q_i),   q_i = 4c_i²τ²,
//
// which is convex in t. By the Karush–Kuhn–Tucker conditions, with a multiplier ν,
// t_i = (√(λ_i q_i/ν) − q_i)₊: coordinates are used in the order of λ_i/q_i, and for
// the set U of those used 1/√ν = (1 + Σ_U q_i)/Σ_U √(λ_i q_i). U is the longest run with
// all t_i > 0. The Laplace ball of [Waterfill] is the case of equal q_i.
//
// c has one positive entry for each λ, in any order; tau > 0 is the standard deviation
// of noise for ℓ2 sensitivity 1.
func GaussianBox(lambda, c []float64, tau float64) Scaling {
	ratios := make([]float64, len(c))
	for i, r := range c {
		ratios[i] = 4 * (r * tau) * (r * tau)
	}
	return fill(lambda, ratios)
}

// fill minimizes Σ λ_i q_i/(t_i + q_i) over t ≥ 0, Σt_i ≤ 1. See [GaussianBox] for the
// derivation; with R = Σ_U √(λ_i q_i) the loss of the coordinates used is R²/(1 + Σ_U q_i).
func fill(lambda, q []float64) Scaling {
	order := make([]int, len(q))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(lambda[j]/q[j], lambda[i]/q[i]) })
	// gain(i, U) = t_i·R/√q_i for the set U, with differences that vanish exactly between
	// equal coordinates: √λ_i·(1 + Q) − √q_i·R cancels to nothing where q is large.
	gain := func(i int, used []int) float64 {
		rootLambda, rootQ := math.Sqrt(lambda[i]), math.Sqrt(q[i])
		total := rootLambda
		for _, j := range used {
			rootQj := math.Sqrt(q[j])
			total += rootQj * (rootLambda*rootQj - rootQ*math.Sqrt(lambda[j]))
		}
		return total
	}
	z := 0
	for z < len(order) && gain(order[z], order[:z+1]) > 0 {
		z++
	}
	used := order[:z]
	var totalQ, totalRoot float64
	for _, i := range used {
		totalQ += q[i]
		totalRoot += math.Sqrt(lambda[i]) * math.Sqrt(q[i])
	}
	a := Scaling{Z: z, Sigma2: make([]float64, len(lambda))}
	inside := 0.
	for _, i := range used {
		a.Sigma2[i] = math.Sqrt(q[i]) * gain(i, used) / totalRoot
		inside += a.Sigma2[i]
	}
	for _, i := range used {
		// Rounded down so that the exact sum of the rounded 4s_i² is at most one:
		// inside has a relative error of Z units, the division, the product, and
		// the square root with its square add five at most.
		a.Sigma2[i] *= (1 - float64(z+8)*0x1p-52) / inside
	}
	a.Loss = totalRoot * (totalRoot / (1 + totalQ))
	for i, v := range lambda {
		if a.Sigma2[i] == 0 {
			a.Loss += v
		}
	}
	return a
}
