// SPDX-License-Identifier: Apache-2.0

package taskspace

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/internal/check"
)

// An Objective is the expected task loss as a function of the encoder, for encoders that are made
// of task coordinates, from moments of the coordinates y and their clipped values ȳ. As the price
// of y_i is λ_i and clipping does not depend on how coordinates are scaled afterwards, it needs no
// pass over the data for each encoder: none where coordinates are clipped one by one, and for a
// ball one over the rows outside it. The derivation is in docs/proofs/latent-choice.md.
//
// It is immutable and safe for concurrent use.
type Objective struct {
	lambda   []float64
	baseline float64
	// moments are those of all ȳ, the y in place of the features, and for a ball those
	// without clipping: I but for a ridge.
	moments *EncodedMoments
	y       *mat.Dense // N×n, for a ball
}

// NewObjective returns the objective for features with moments m. y (N×n) are the coordinates of
// the training data, and clipped what clipping leaves of them, which is overwritten. Without data
// both are nil, and nothing is clipped; for a ball clipped is nil.
func NewObjective(c *Coordinates, m Moments, y, clipped *mat.Dense) *Objective {
	var product mat.Dense
	product.Mul(c.Task, m.Covariance)
	o := &Objective{lambda: c.Lambda, baseline: inner(&product, c.Task)}
	if clipped != nil {
		o.moments = pairMoments(y, clipped)
		return o
	}
	second := c.all().UnclippedMoments(m).Unit
	o.moments, o.y = &EncodedMoments{Unit: second, Cross: mat.DenseCopyOf(second)}, y
	return o
}

// Baseline returns the loss of releasing nothing, tr(KΣKᵀ).
func (o *Objective) Baseline() float64 { return o.baseline }

// Separable says if coordinates are clipped one by one, or not; then Effective may be called.
func (o *Objective) Separable() bool { return o.y == nil }

// inBall changes moments of coordinates without clipping to those in a ball, by the rows outside.
func (o *Objective) inBall(m *EncodedMoments, used []int, radius float64) {
	n, z := len(o.lambda), len(used)
	mean := make([]float64, z)
	rows, _ := o.y.Dims()
	var outside, before, change []float64 // y, its used part, and ȳ less that part
	for i := range rows {
		row := o.y.RawRowView(i)
		norm := 0.
		for _, k := range used {
			norm = math.Hypot(norm, row[k])
		}
		if norm <= radius {
			continue
		}
		outside = append(outside, row...)
		for k, h := range used {
			before = append(before, row[h])
			change = append(change, row[h]*(radius/norm-1))
			mean[k] += change[len(change)-1] / float64(rows)
		}
	}
	if len(outside) == 0 {
		return
	}
	count := len(outside) / n
	y, u, d := mat.NewDense(count, n, outside), mat.NewDense(count, z, before), mat.NewDense(count, z, change)
	var product mat.Dense
	product.Mul(y.T(), d)
	product.Scale(1/float64(rows), &product)
	m.Cross.Add(m.Cross, &product)
	// E ȳȳᵀ - E yyᵀ = E (y+d)(y+d)ᵀ - E yyᵀ = E yd' + dy' + dd'.
	product.Reset()
	product.Mul(u.T(), d)
	for k := range z {
		for l := k; l < z; l++ {
			add := (product.At(k, l)+product.At(l, k))/float64(rows) - mean[k]*mean[l]
			m.Unit.SetSym(k, l, m.Unit.At(k, l)+add)
		}
	}
	m.Unit.SymRankK(m.Unit, 1/float64(rows), d.T())
}

// Loss returns the loss, with the best decoder, of the encoder that releases
// (s_i/r_i)·y_i for the semi-axes s_i > 0 and the radii r_i, with noise of the given
// variances, one for each of these. All radii of a ball are equal. Errors wrap
// ErrInvalid: noise that is 0 on coordinates that depend on each other.
func (o *Objective) Loss(axes, radii, variances []float64) (float64, error) {
	var used []int
	var noise []float64 // in units of the coordinates
	for i, s := range axes {
		if s > 0 {
			scale := radii[i] / s
			noise = append(noise, variances[len(used)]*scale*scale)
			used = append(used, i)
		}
	}
	m := o.moments.of(used)
	if o.y != nil {
		o.inBall(m, used, radii[used[0]])
	}
	priced := o.priced(m.Cross)
	var solved mat.Dense
	if err := solvePositive(&solved, addDiagonal(m.Unit, noise), priced); err != nil {
		return 0, err
	}
	return o.baseline - inner(priced, &solved), nil
}

// priced returns the columns of C_yȳ, as rows, for the y_i of a price, times √λ_i.
func (o *Objective) priced(cross *mat.Dense) *mat.Dense {
	count := len(o.lambda)
	for count > 1 && o.lambda[count-1] == 0 {
		count--
	}
	_, z := cross.Dims()
	priced := mat.NewDense(z, count, nil)
	priced.Apply(func(k, i int, _ float64) float64 { return math.Sqrt(o.lambda[i]) * cross.At(i, k) }, priced)
	return priced
}

// Effective returns prices and half-widths that make the closed forms, which are for
// coordinates of variance one that are not clipped, right for a box whose coordinates
// are clipped, and for a ridge: with one coordinate ȳ and noise of variance v the
// decoder gains λ·Cov(y, ȳ)²/(Var ȳ + v). A coordinate that does not vary has price 0.
func (o *Objective) Effective(radii []float64) (lambda, halfwidths []float64) {
	lambda, halfwidths = make([]float64, len(radii)), make([]float64, len(radii))
	for i, c := range radii {
		halfwidths[i] = 1
		variance, covariance := o.moments.Unit.At(i, i), o.moments.Cross.At(i, i)
		price := o.lambda[i] * (covariance / variance) * covariance
		width := c / math.Sqrt(variance)
		if variance > 0 && check.Finite(price) && width > 0 && check.Finite(width) {
			lambda[i], halfwidths[i] = price, width
		}
	}
	return lambda, halfwidths
}
