package taskspace

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/internal/check"
)

// LossBounds returns bounds on the least loss L* of a linear encoder with Laplace
// noise when the domain of the task coordinates lies between two balls centred
// at the origin: lower ≤ L* ≤ upper if the convex hull of the domain contains
// the ball of radius rMin and the domain lies in that of radius rMax.
//
// The caller knows the domain: the smallest norm in a sample is no rMin. For a
// box see [BoxRadii].
//
// Source: Cheng, Tang and Chinchali (2022), the bounds after Theorem 1.
func LossBounds(lambda []float64, rMin, rMax, epsilon float64) (lower, upper float64, err error) {
	if !(rMin <= rMax) {
		return 0, 0, check.Field("latent", "inner radius", rMin, fmt.Sprintf("at most the outer one, %g", rMax))
	}
	low, err := Waterfill(lambda, rMin, epsilon)
	if err != nil {
		return 0, 0, err
	}
	high, err := Waterfill(lambda, rMax, epsilon)
	return low.Loss, high.Loss, err
}

// BoxRadii returns the radii of the largest ball inside and the smallest around
// the box |y_i| ≤ c_i: min c_i and √Σc_i².
func BoxRadii(c []float64) (rMin, rMax float64) {
	if len(c) == 0 {
		return 0, 0
	}
	return slices.Min(c), mat.Norm(mat.NewVecDense(len(c), c), 2)
}

// PrivacyAgnosticLoss returns the loss of releasing the first z task coordinates
// with equal scales, the best z-dimensional encoder for no noise, under Laplace
// noise on a ball of radius r. Its sensitivity is 2r√z, so
//
//	L = zs/(1 + zs)·Σ_{i≤z} λ_i + Σ_{i>z} λ_i,   s = 8r²/ε².
//
// Arguments and errors as for [WaterfillAt]. Source: Cheng, Tang and Chinchali
// (2022), (55).
func PrivacyAgnosticLoss(lambda []float64, r, epsilon float64, z int) (float64, error) {
	s, err := laplaceNoise(lambda, r, epsilon)
	if err != nil {
		return 0, err
	}
	if err := checkZ(z, len(lambda)); err != nil {
		return 0, err
	}
	zs := float64(z) * s
	return zs/(1+zs)*sum(lambda[:z]) + sum(lambda[z:]), nil
}

// TaskAgnosticLoss returns the loss of adding Laplace noise to the features
// themselves (the encoder x − μ) and decoding them optimally, for the ball of
// radius r > 0 in the task coordinates and epsilon > 0. With the sensitivity
// Δ₁ = 2r·max_{‖h‖₂≤1} ‖Lh‖₁ the noise has variance v = 2Δ₁²/ε², and
//
//	L = tr(K (Σ⁻¹ + I/v)⁻¹ Kᵀ) = v·tr(K (Σ + vI)⁻¹ Σ Kᵀ).
//
// Δ₁ = 2r√n for L = I. In general it is max ‖Lᵀs‖₂ over signs s, which exact says
// was computed over all of them (n up to about 24); else it is an upper bound,
// and so is the loss.
//
// Errors wrap ErrInvalid. Source: Cheng, Tang and Chinchali (2022), (54).
func (c *Coordinates) TaskAgnosticLoss(r, epsilon float64) (loss float64, exact bool, err error) {
	if _, err := laplaceNoise(c.lambda, r, epsilon); err != nil {
		return 0, false, err
	}
	n := c.Len()
	signs := make([]float64, n)
	for i := range signs {
		signs[i] = 1
	}
	// A⁻¹ = LQ has the same row norms as L: max ‖(LQ)ᵀs‖₂ = max ‖Lᵀs‖₂. The signs
	// are a box of width 1.
	norm, err := SensitivityL2(c.synthesis.T(), signs)
	if err != nil {
		return 0, false, err
	}
	scale := 2 * r / epsilon * norm.Value
	v := 2 * scale * scale
	covariance := mat.NewSymDense(n, nil)
	covariance.SymOuterK(1, c.synthesis)
	var read, solved mat.Dense // ΣKᵀ and (Σ + vI)⁻¹ΣKᵀ
	read.Mul(covariance, c.task.T())
	for i := range n {
		covariance.SetSym(i, i, covariance.At(i, i)+v)
	}
	if err := solvePositive(&solved, covariance, &read); err != nil {
		return 0, false, err
	}
	for i := range n {
		for j, k := range solved.RawRowView(i) {
			loss += c.task.At(j, i) * k
		}
	}
	return v * loss, norm.Exact, nil
}
