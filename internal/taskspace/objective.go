package taskspace

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/internal/check"
)

// An Objective is the expected task loss as a function of the encoder, for encoders
// that are made of task coordinates, from moments of the coordinates y and their
// clipped values ȳ. As the price of y_i is λ_i and clipping does not depend on how
// coordinates are scaled afterwards, it needs no pass over the data for each encoder:
// none where coordinates are clipped one by one, and for a ball one over the rows
// outside it. The derivation is in docs/proofs/latent-choice.md.
//
// It is immutable and safe for concurrent use.
type Objective struct {
	lambda   []float64
	baseline float64
	second   *mat.SymDense // Cov(y), n×n: I but for a ridge
	// separate has the moments of coordinates that are clipped one by one, the y in
	// place of the features; nil for a ball.
	separate *EncodedMoments
	y        *mat.Dense // N×n, for a ball
}

// NewObjective returns the objective for features with moments m. y (N×n) are the
// coordinates of the training data, and clipped what clipping leaves of them, which is
// overwritten. Without data both are nil, and nothing is clipped; for a ball clipped is
// nil.
func NewObjective(c *Coordinates, m Moments, y, clipped *mat.Dense) *Objective {
	o := &Objective{lambda: c.Lambda, baseline: c.baseline(m.Covariance), second: c.all().UnclippedMoments(m).Unit}
	switch {
	case y == nil:
		o.separate = &EncodedMoments{Unit: o.second, Cross: mat.DenseCopyOf(o.second)}
	case clipped == nil:
		o.y = y
	default:
		o.separate = pairMoments(y, clipped)
	}
	return o
}

// Baseline returns the loss of releasing nothing, tr(KΣKᵀ).
func (o *Objective) Baseline() float64 { return o.baseline }

// Separable reports whether coordinates are clipped one by one, or not at all; then
// Effective may be called.
func (o *Objective) Separable() bool { return o.separate != nil }

// baseline returns tr(KΣKᵀ).
func (c *Coordinates) baseline(covariance mat.Symmetric) float64 {
	var product mat.Dense
	product.Mul(c.Task, covariance)
	trace := 0.
	outputs, _ := c.Task.Dims()
	for o := range outputs {
		trace += dot(product.RawRowView(o), c.Task.RawRowView(o))
	}
	return trace
}

// inBall returns the moments with the given coordinates in a ball: those without
// clipping, and what the rows outside the ball change.
func (o *Objective) inBall(used []int, radius float64) *EncodedMoments {
	n, z := len(o.lambda), len(used)
	m := &EncodedMoments{UnitMean: make([]float64, z), Unit: mat.NewSymDense(z, nil), Cross: mat.NewDense(n, z, nil)}
	for k, i := range used {
		for l, h := range used {
			m.Unit.SetSym(k, l, o.second.At(i, h))
		}
		for i := range n {
			m.Cross.Set(i, k, o.second.At(i, used[k]))
		}
	}
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
			m.UnitMean[k] += change[len(change)-1] / float64(rows)
		}
	}
	if len(outside) == 0 {
		return m
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
			add := (product.At(k, l)+product.At(l, k))/float64(rows) - m.UnitMean[k]*m.UnitMean[l]
			m.Unit.SetSym(k, l, m.Unit.At(k, l)+add)
		}
	}
	m.Unit.SymRankK(m.Unit, 1/float64(rows), d.T())
	return m
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
	m := o.separate
	at := used
	if m == nil {
		m = o.inBall(used, radii[used[0]])
		at = make([]int, len(used))
		for k := range at {
			at[k] = k
		}
	}
	noisy := mat.NewSymDense(len(used), nil)
	for k := range used {
		for l := k; l < len(used); l++ {
			noisy.SetSym(k, l, m.Unit.At(at[k], at[l]))
		}
		noisy.SetSym(k, k, noisy.At(k, k)+noise[k])
	}
	priced := o.priced(m.Cross, at)
	var solved mat.Dense
	if err := solvePositive(&solved, noisy, priced); err != nil {
		return 0, err
	}
	gain := 0.
	for k := range used {
		gain += dot(priced.RawRowView(k), solved.RawRowView(k))
	}
	return o.baseline - gain, nil
}

// priced returns the columns of C_yȳ, as rows, for the y_i of a price, times √λ_i.
func (o *Objective) priced(cross *mat.Dense, columns []int) *mat.Dense {
	count := len(o.lambda)
	for count > 1 && o.lambda[count-1] == 0 {
		count--
	}
	priced := mat.NewDense(len(columns), count, nil)
	for k, column := range columns {
		row := priced.RawRowView(k)
		for i := range row {
			row[i] = math.Sqrt(o.lambda[i]) * cross.At(i, column)
		}
	}
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
		variance, covariance := o.separate.Unit.At(i, i), o.separate.Cross.At(i, i)
		price := o.lambda[i] * (covariance / variance) * covariance
		width := c / math.Sqrt(variance)
		if variance > 0 && check.Finite(price) && width > 0 && check.Finite(width) {
			lambda[i], halfwidths[i] = price, width
		}
	}
	return lambda, halfwidths
}
