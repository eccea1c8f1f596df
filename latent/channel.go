// SPDX-License-Identifier: Apache-2.0

package latent

import (
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/tables"
)

// channel is what becomes of a clipped unit coordinate when released, as far as decoders need it.
type channel interface {
	// moments returns the mean and the variance of what is released of u.
	moments(u float64) (mean, variance float64)
	// below returns the probability that it is below the edge.
	below(u, edge float64) float64
	// atoms returns what can be released, ascending; nil if that is too much.
	atoms() []float64
}

// channels returns those of the coordinates of a bundle of the content s.
func channels(s *bundle.Spec) []channel {
	var list []channel
	if z := len(s.Axes); s.Noise == bundle.Spherical {
		return slices.Repeat([]channel{newSphericalChannel(s.Tau, z)}, z)
	}
	if s.Noise == bundle.Balls {
		return slices.Repeat([]channel{newBallChannel(s.Ball)}, len(s.Axes))
	}
	for _, k := range s.RandomizerOf {
		list = append(list, newResponse(s.Randomizers[k]))
	}
	known := map[*tables.Table]*additive{}
	for _, k := range s.TableOf {
		t := s.Tables[k]
		if known[t] == nil {
			known[t] = newAdditive(t)
		}
		list = append(list, known[t])
	}
	return list
}

// answer puts mean releases in the place of clipped coordinates (N×Z), and returns mean variances.
//
// Of Y, a release of u, the best affine decoder asks for Cov(x, Y) = Cov(x, E(Y|u)) and
// Cov(Y) = Cov(E(Y|u)) + E Cov(Y|u); the last is diagonal, as draws are independent.
func answer[C channel](list []C, units *mat.Dense) (variances []float64) {
	rows, z := units.Dims()
	variances = make([]float64, z)
	for i := range rows {
		row := units.RawRowView(i)
		for k, c := range list {
			mean, variance := c.moments(row[k])
			row[k] = mean
			variances[k] += variance / float64(rows)
		}
	}
	return variances
}

// response is a randomizer: in place of a value plus noise of one variance there is a mean
// answer, and answers vary around it as the value has it.
type response struct {
	nodes, answers []float64
	means, squares []float64 // E Y and E Y² at the nodes; linear in between, as values are rounded at random
	before         [][]float64
}

func newResponse(r *local.Randomizer) *response {
	s := r.Spec()
	a := &response{nodes: s.Nodes, answers: s.Answers, means: make([]float64, len(s.Nodes)), squares: make([]float64, len(s.Nodes))}
	for i, row := range s.Rows {
		before := make([]float64, len(row)+1) // probability of the first so many answers
		for j, w := range row {
			p, y := float64(w)*0x1p-64, s.Answers[j]
			a.means[i] += p * y
			a.squares[i] += p * y * y
			before[j+1] = before[j] + p
		}
		a.before = append(a.before, before)
	}
	return a
}

// between is the index of the node above x, in the range, and how far x is from the one before it.
func (a *response) between(x float64) (i int, t float64) {
	i = min(max(sort.SearchFloat64s(a.nodes, x), 1), len(a.nodes)-1)
	return i, (x - a.nodes[i-1]) / (a.nodes[i] - a.nodes[i-1])
}

func (a *response) moments(x float64) (mean, variance float64) {
	i, t := a.between(x)
	mean = (1-t)*a.means[i-1] + t*a.means[i]
	return mean, max(0, (1-t)*a.squares[i-1]+t*a.squares[i]-mean*mean)
}

func (a *response) below(x, edge float64) float64 {
	i, t := a.between(x)
	j := sort.SearchFloat64s(a.answers, edge)
	return (1-t)*a.before[i-1][j] + t*a.before[i][j]
}

func (a *response) atoms() []float64 { return a.answers }

// additive is noise of a table on values that are rounded to its grid.
type additive struct {
	*point
	step   float64
	first  int64     // point of the cells
	points int64     // per cell
	before []float64 // probability of the first so many cells, blocks of a tail with their repetitions
	atom   float64   // of the point 0, beside its cell's share
	ratio  float64   // of the periods of a tail; 0: none
	block  int64     // points of a period
}

func newAdditive(t *tables.Table) *additive {
	g := t.Grid()
	step, _ := g.Step().Float64() // exact: a power of two
	cells, atom := t.PMF()
	a := &additive{
		point: measure(t), step: step, first: g.FirstPoint(0), points: g.PointsPerCell, before: []float64{0}, atom: atom,
		ratio: float64(t.TailRatio()) * 0x1p-64, block: int64(g.CellsPerSensitivity) * g.PointsPerCell,
	}
	for i, p := range cells {
		a.before = append(a.before, a.before[i]+p)
	}
	return a
}

func (a *additive) moments(u float64) (mean, variance float64) { return u + a.mean, a.variance }

func (a *additive) atoms() []float64 { return nil }

// below is exact but for rounding: noise and rounded values are multiples of the step.
func (a *additive) below(u, edge float64) float64 {
	n := math.Ceil(edge/a.step) - math.Floor(u/a.step+0.5)
	if !(math.Abs(n) < 1<<53) {
		return (1 + math.Copysign(1, n)) / 2
	}
	return a.under(int64(n))
}

// under returns the probability of noise of less than n steps. In a tail a period i further
// out than a block has its probability times (1−ρ)·ρ^i.
func (a *additive) under(n int64) float64 {
	all := int64(len(a.before)-1) * a.points
	if a.ratio > 0 {
		if depth := a.first + a.block - n; depth > 0 {
			return a.tail(depth, a.share(a.block-depth%a.block), a.share(a.block))
		}
		if depth := n - (a.first + all - a.block); depth >= 0 {
			block := a.share(all) - a.share(all-a.block)
			return 1 - a.tail(depth, a.share(all)-a.share(all-a.block+depth%a.block), block)
		}
	}
	p := a.share(min(max(n-a.first, 0), all))
	if n > 0 {
		p += a.atom
	}
	return p
}

// tail returns the probability of part of a block, so many points out, or further out.
func (a *additive) tail(depth int64, part, block float64) float64 {
	return math.Pow(a.ratio, float64(depth/a.block)) * ((1-a.ratio)*part + a.ratio*block)
}

// share returns the probability of the first so many points of the cells.
func (a *additive) share(points int64) float64 {
	cell, rest := points/a.points, points%a.points
	if rest == 0 {
		return a.before[cell]
	}
	t := float64(rest) / float64(a.points)
	return (1-t)*a.before[cell] + t*a.before[cell+1]
}

// sphericalChannel is a coordinate of spherical noise: normal noise of the variance
// tau²·V, V of the χ² law with z+1 degrees of freedom (docs/proofs/spherical.md).
// Rounding to its grid, of 2^32 steps in tau, adds less than can be told.
type sphericalChannel struct {
	variance           float64
	deviations, shares []float64 // tau·√V and probabilities of a quadrature for V
}

func newSphericalChannel(tau float64, z int) *sphericalChannel {
	c := &sphericalChannel{variance: float64(z+1) * tau * tau}
	// The trapezoidal rule for ln V, of the density exp(s·(z+1)/2 - e^s/2) up to a factor:
	// smooth with tails that fall exponentially, so that the rule is as good as exact.
	half := float64(z+1) / 2
	peak := math.Log(2 * half)
	total := 0.0
	step := 0.1 / math.Sqrt(half)
	for _, direction := range []float64{-1, 1} {
		for k := (1 - direction) / 2; ; k++ { // the peak once
			s := peak + direction*k*step
			share := math.Exp(half*(s-peak) - (math.Exp(s)-math.Exp(peak))/2)
			if share < 1e-18 {
				break
			}
			total += share
			c.deviations, c.shares = append(c.deviations, tau*math.Exp(s/2)), append(c.shares, share)
		}
	}
	for k := range c.shares {
		c.shares[k] /= total
	}
	return c
}

func (c *sphericalChannel) moments(u float64) (mean, variance float64) { return u, c.variance }

func (c *sphericalChannel) atoms() []float64 { return nil }

func (c *sphericalChannel) below(u, edge float64) float64 {
	p := 0.0
	for k, d := range c.deviations {
		p += c.shares[k] * math.Erfc((u-edge)/d/math.Sqrt2) / 2
	}
	return p
}
