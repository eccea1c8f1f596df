// SPDX-License-Identifier: Apache-2.0

package encoder

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/latent"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/tables"
)

// The gaps of what is designed here, without a solver.
const (
	pureGap = 0.005
	// Unbiased randomizers take 0.5 s with this gap at an epsilon of 6, and 4 s at the most
	// that one is designed for: there the standard deviation is a twelfth of the radius.
	unbiasedGap         = 0.05
	mostUnbiasedEpsilon = 8
)

// pure is the Design for delta 0.
func pure(ctx context.Context, p dp.Problem) (*tables.Verified, error) {
	p.Delta = 0
	return lp.Designer(lp.Options{})(ctx, p, pureGap)
}

// perCoordinate is noise of one table for each coordinate.
type perCoordinate struct {
	base
	composition bundle.Composition
	table       *tables.Table
	law         *law
}

func newPerCoordinate(ctx context.Context, b base, design Design) (Noise, error) {
	p := b.promise
	if b.kind == noise.Staircase || design == nil || p.Delta == 0 {
		design, p.Delta = pure, 0
	}
	t, composition, err := latent.EqualTable(ctx, p, b.body.Coordinates, 2*b.body.Radius, design)
	if err != nil {
		return nil, b.shared(err)
	}
	return &perCoordinate{b, composition, t, newLaw(t)}, nil
}

func (n *perCoordinate) Install(s *bundle.Spec) {
	n.install(s, n.composition)
	s.Tables, s.TableOf = []*tables.Table{n.table}, make([]int, n.body.Coordinates)
}

func (n *perCoordinate) Release(dst, u []float64, r *rand.Rand) {
	for i, x := range u {
		dst[i] = x + n.law.draw(r)
	}
}

// law draws noise of a table: a cell, and a number in it.
type law struct {
	before []float64 // probability of the first so many cells; the rest is the atom's, at 0
	lower  []float64 // ends of the cells
	width  float64
	outer  []float64 // of a cell of a tail: its period, away from 0; else 0
	ratio  float64   // log of that of the periods
}

func newLaw(t *tables.Table) *law {
	g := t.Grid()
	step, _ := g.Step().Float64() // exact: a power of two
	cells, _ := t.PMF()
	l := &law{before: make([]float64, len(cells)), lower: make([]float64, len(cells)), outer: make([]float64, len(cells)), width: float64(g.PointsPerCell) * step}
	l.ratio = math.Log(float64(t.TailRatio()) * 0x1p-64)
	sum := 0.0
	for i, p := range cells {
		sum += p
		l.before[i] = sum
		l.lower[i] = (float64(g.FirstPoint(i)) - 0.5) * step
		if side, ok := t.Block(i); ok {
			l.outer[i] = float64(side) * float64(g.CellsPerSensitivity) * l.width
		}
	}
	if t.Atom() == 0 {
		l.before[len(cells)-1] = 1 // rounding is not the atom
	}
	return l
}

func (l *law) draw(r *rand.Rand) float64 {
	u := r.Float64()
	i := sort.Search(len(l.before), func(i int) bool { return u < l.before[i] })
	if i == len(l.before) {
		return 0
	}
	x := l.lower[i] + l.width*r.Float64()
	if l.outer[i] != 0 {
		// So many periods further out, of which each is as likely again by the ratio.
		x += l.outer[i] * math.Floor(-exponential(r)/l.ratio)
	}
	return x
}

// randomized is noise of a local randomizer for each coordinate.
type randomized struct {
	base
	epsilon     float64 // of a coordinate
	given       bool    // the user's own: there is nothing to fit
	randomizers []*local.Randomizer
	responses   []*response // of the coordinates
}

// uniform is local noise before randomizers are designed, with equal shares of the promise.
func (b base) uniform() *randomized {
	return &randomized{base: b, epsilon: exact.Share(b.promise.Epsilon, b.body.Coordinates)}
}

// shared says in an error that it is about the share of one of several coordinates.
func (b base) shared(err error) error {
	if z := b.body.Coordinates; z > 1 {
		return check.Errorf("encoder", nil, "with the share of one of %d numbers, %w", z, err)
	}
	return check.Errorf("encoder", nil, "%w", err)
}

// evenly returns encodings that are spread evenly over the range of each coordinate, which
// stand for the uniform law until Fit has seen others.
func (b base) evenly() Matrix {
	const points = 1 << 10
	u := Matrix{Rows: points, Cols: b.body.Coordinates, Stride: b.body.Coordinates}
	for k := range points {
		x := b.body.Radius * (2*(float64(k)+0.5)/points - 1)
		u.Data = append(u.Data, slices.Repeat([]float64{x}, u.Cols)...)
	}
	return u
}

// Fit returns the noise for encodings that have the law of the rows of u (N×Z), which are in
// the body: local randomizers of least mean squared error, whose answers are the means of
// the encodings given them. Noise of any other kind is returned as it is.
//
// The randomizers tell about u, as an encoder about its training data. Errors wrap dp.ErrInvalid.
func Fit(n Noise, u Matrix) (Noise, error) {
	m, ok := n.(*randomized)
	if !ok || m.kind != bundle.Local || m.given {
		return n, nil
	}
	if u.Cols != m.body.Coordinates {
		return nil, check.Errorf("encoder", dp.ErrInvalid, "encodings = %d columns, want %d", u.Cols, m.body.Coordinates)
	}
	fitted := &randomized{base: m.base, epsilon: m.epsilon}
	values := make([]float64, u.Rows)
	for i := range u.Cols {
		for k := range values {
			values[k] = u.Data[k*u.Stride+i]
		}
		one, err := latent.FitRandomizer(values, m.body.Radius, m.epsilon)
		if err != nil {
			return nil, m.shared(err)
		}
		fitted.randomizers = append(fitted.randomizers, one)
		fitted.responses = append(fitted.responses, newResponse(one))
	}
	return fitted, nil
}

func newUnbiased(ctx context.Context, b base) (Noise, error) {
	m := b.uniform()
	r, err := lp.DesignLocal(ctx, lp.LocalProblem{
		Epsilon: min(m.epsilon, mostUnbiasedEpsilon), Values: local.Values{Kind: local.Real, Lower: -b.body.Radius, Upper: b.body.Radius},
		Loss: loss.L2, Objective: local.Worst, Demands: local.Demands{Unbiased: true},
	}, lp.Options{Gap: unbiasedGap})
	if err != nil {
		return nil, b.shared(err)
	}
	m.randomizers = []*local.Randomizer{r.Verified.Mechanism()}
	m.responses = slices.Repeat([]*response{newResponse(m.randomizers[0])}, b.body.Coordinates)
	return m, nil
}

func (m *randomized) Install(s *bundle.Spec) {
	m.install(s, m.kind.Composition())
	s.Randomizers, s.RandomizerOf = slices.Clone(m.randomizers), make([]int, m.body.Coordinates)
	for i := range s.RandomizerOf {
		s.RandomizerOf[i] = min(i, len(m.randomizers)-1)
	}
}

func (m *randomized) Release(dst, u []float64, r *rand.Rand) {
	for i, x := range u {
		dst[i] = m.responses[i%len(m.responses)].draw(x, r)
	}
}

// response draws answers of a randomizer.
type response struct {
	nodes, answers []float64
	before         [][]float64 // probability of the first answers, for each node
}

func newResponse(m *local.Randomizer) *response {
	s := m.Spec()
	a := &response{nodes: s.Nodes, answers: s.Answers}
	for _, row := range s.Rows {
		before, sum := make([]float64, len(row)), 0.0
		for j, w := range row {
			sum += float64(w) * 0x1p-64
			before[j] = sum
		}
		a.before = append(a.before, before)
	}
	return a
}

// draw answers as one of the nodes on either side of x does, at random by how near they are.
func (a *response) draw(x float64, r *rand.Rand) float64 {
	i := min(max(sort.SearchFloat64s(a.nodes, x), 1), len(a.nodes)-1)
	if t := (x - a.nodes[i-1]) / (a.nodes[i] - a.nodes[i-1]); r.Float64() >= t {
		i--
	}
	u, before := r.Float64(), a.before[i]
	j := sort.Search(len(before)-1, func(j int) bool { return u < before[j] })
	return a.answers[j]
}
