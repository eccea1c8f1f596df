package latent

import (
	"cmp"
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/latent/bundle"
)

// judge computes losses of encoders made of task coordinates, from moments of the
// coordinates y and their clipped values ȳ. As the price of y_i is λ_i and clipping does
// not depend on how coordinates are scaled afterwards, it needs no pass over the data
// for each encoder: none for bounds and the box, where coordinates are clipped one by
// one, and for a ball one over the rows outside it.
type judge struct {
	lambda  []float64
	nothing float64       // the loss of releasing nothing
	second  *mat.SymDense // Cov(y), n×n: I but for a ridge
	// box has the moments of all coordinates in the box or between bounds, the
	// y in place of the features; nil for a ball.
	box *EncodedMoments
	y   *mat.Dense // N×n, for a ball; nil if there is no data
	// outside is about how many rows lie outside a ball.
	outside float64
}

// newJudge takes the coordinates of the training data, nil if there is none.
func (r *Result) newJudge(y *mat.Dense) (*judge, error) {
	n := r.coordinates.Len()
	analysis := r.coordinates.Analysis()
	all := &LinearEncoder{Rows: analysis, Mean: r.coordinates.Mean()}
	unclipped, err := all.UnclippedMoments(r.moments)
	if err != nil {
		return nil, err
	}
	j := &judge{lambda: r.Lambda, nothing: r.Nothing, second: unclipped.Unit}
	switch {
	case y == nil:
		j.box = &EncodedMoments{UnitMean: make([]float64, n), Unit: j.second, Cross: mat.DenseCopyOf(j.second)}
	case r.problem.Domain == bundle.Ball:
		j.y = y
		rows, _ := y.Dims()
		j.outside = float64(rows)
		if r.problem.Radius == 0 {
			j.outside *= 1 - r.problem.Clip
		}
	default:
		clipped, err := r.clippedInBox(y)
		if err != nil {
			return nil, err
		}
		j.box = pairMoments(y, clipped)
	}
	return j, nil
}

// clippedInBox returns the coordinates of the training data as they are clipped to
// the box, or made of features that are clipped to bounds.
func (r *Result) clippedInBox(y *mat.Dense) (*mat.Dense, error) {
	if r.problem.Domain == bundle.Bounds {
		e := &LinearEncoder{Rows: r.coordinates.Analysis(), Mean: r.coordinates.Mean(), Low: r.problem.Low, High: r.problem.High}
		return e.Encode(r.problem.Data)
	}
	clipped := mat.DenseCopyOf(y)
	rows, _ := y.Dims()
	for i := range rows {
		row := clipped.RawRowView(i)
		for k, c := range r.Radii {
			row[k] = min(max(row[k], -c), c)
		}
	}
	return clipped, nil
}

// pairMoments returns the moments of rows x (N×n) of mean 0 and u (N×Z). It
// overwrites u.
func pairMoments(x, u *mat.Dense) *EncodedMoments {
	rows, n := x.Dims()
	_, z := u.Dims()
	m := &EncodedMoments{
		FeatureMean: make([]float64, n), UnitMean: make([]float64, z),
		Unit: mat.NewSymDense(z, nil), Cross: new(mat.Dense),
	}
	addColumnSums(m.UnitMean, u)
	for k := range m.UnitMean {
		m.UnitMean[k] /= float64(rows)
	}
	subtractRow(u, m.UnitMean)
	m.Unit.SymRankK(m.Unit, 1/float64(rows), u.T())
	m.Cross.Mul(x.T(), u)
	m.Cross.Scale(1/float64(rows), m.Cross)
	return m
}

// inBall returns the moments with the given coordinates in a ball: those without
// clipping, and what the rows outside the ball change.
func (j *judge) inBall(used []int, radius float64) *EncodedMoments {
	n, z := len(j.lambda), len(used)
	m := &EncodedMoments{UnitMean: make([]float64, z), Unit: mat.NewSymDense(z, nil), Cross: mat.NewDense(n, z, nil)}
	for k, i := range used {
		for l, h := range used {
			m.Unit.SetSym(k, l, j.second.At(i, h))
		}
		for i := range n {
			m.Cross.Set(i, k, j.second.At(i, used[k]))
		}
	}
	rows, _ := j.y.Dims()
	var outside, before, change []float64 // y, its used part, and ȳ less that part
	for i := range rows {
		row := j.y.RawRowView(i)
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

// loss returns that of a candidate of task coordinates, with the best decoder.
func (j *judge) loss(c *Candidate) (float64, error) {
	var used []int
	var noise []float64 // in units of the coordinates
	for i, s := range c.axes {
		if s > 0 {
			scale := c.radii[i] / s
			noise = append(noise, c.variances[len(used)]*scale*scale)
			used = append(used, i)
		}
	}
	m := j.box
	at := used
	if m == nil {
		m = j.inBall(used, c.radii[used[0]])
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
	priced := j.priced(m.Cross, at)
	var solved mat.Dense
	if err := solvePositive(&solved, noisy, priced); err != nil {
		return 0, err
	}
	gain := 0.
	for k := range used {
		gain += dot(priced.RawRowView(k), solved.RawRowView(k))
	}
	return j.nothing - gain, nil
}

// priced returns the columns of C_yȳ, as rows, for the y_i of a price, times √λ_i.
func (j *judge) priced(cross *mat.Dense, columns []int) *mat.Dense {
	count := len(j.lambda)
	for count > 1 && j.lambda[count-1] == 0 {
		count--
	}
	priced := mat.NewDense(len(columns), count, nil)
	for k, column := range columns {
		row := priced.RawRowView(k)
		for i := range row {
			row[i] = math.Sqrt(j.lambda[i]) * cross.At(i, column)
		}
	}
	return priced
}

// effective returns prices and half-widths that make the closed forms, which are for
// coordinates of variance one that are not clipped, right for a box whose coordinates
// are clipped, and for a ridge: with one coordinate ȳ and noise of variance v the
// decoder gains λ·Cov(y, ȳ)²/(Var ȳ + v). A coordinate that does not vary has price 0.
func (j *judge) effective(radii []float64) (lambda, halfwidths []float64) {
	lambda, halfwidths = make([]float64, len(radii)), make([]float64, len(radii))
	for i, c := range radii {
		halfwidths[i] = 1
		variance, covariance := j.box.Unit.At(i, i), j.box.Cross.At(i, i)
		price := j.lambda[i] * (covariance / variance) * covariance
		width := c / math.Sqrt(variance)
		if variance > 0 && finite(price) && width > 0 && finite(width) {
			lambda[i], halfwidths[i] = price, width
		}
	}
	return lambda, halfwidths
}

const (
	// maxJudged bounds how many of the candidates that theory ranks have their real
	// loss computed, and judgingWork the floating-point operations for it; the
	// first leastJudged are judged anyway.
	maxJudged   = 48
	leastJudged = 3
	judgingWork = 1 << 31
)

// judgeBest computes the real loss of the candidates of the least theoretical one, and
// returns the best; nil if there are none.
func (r *Result) judgeBest(ctx context.Context, cs []*Candidate) (*Candidate, error) {
	slices.SortStableFunc(cs, func(a, b *Candidate) int { return cmp.Compare(a.Theory, b.Theory) })
	cs = slices.DeleteFunc(cs, func(c *Candidate) bool { return c.Z == 0 })
	var best *Candidate
	work := 0.
	for k, c := range cs {
		if k >= maxJudged || k >= leastJudged && work > judgingWork {
			break
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var err error
		if c.Loss, err = r.judge.loss(c); err != nil {
			return nil, err
		}
		if best == nil || c.Loss < best.Loss {
			best = c
		}
		work += float64(c.Z) * float64(len(r.Lambda)) * (float64(c.Z) + r.judge.outside)
	}
	return best, nil
}
