// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"fmt"
	"iter"
	"math"
	"math/big"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/internal/strictjson"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// Limits of noise.
const (
	// maxRing bounds the cells from the middle outwards.
	maxRing = 127
	// maxPoints bounds the points of a cell along an axis, and with maxRing keeps noise within 2^48 of them.
	maxPoints = 1 << 40
	// exponentRange bounds the exponent of the step, so that every point is a normal float64.
	exponentRange = 900
)

var form = proof.Form{Package: "plane", Noun: "noise in the plane", File: strictjson.Format{
	Noun: "noise in the plane", Name: "noisewright-plane", Version: 1, MaxSize: 64 << 20,
	MaxElements: map[string]int{
		"weights": (maxRing + 1) * (maxRing + 1), "shifts": 2 * limits.PlaneCells * limits.PlaneCells,
		"rows": 2*maxNode + 1, "multipliers": formfile.MaxMultipliers,
	},
}}

// Norm measures a change of two numbers.
type Norm string

const (
	// LInf is the larger of the two changes.
	LInf Norm = "linf"
	// L1 is their sum.
	L1 Norm = "l1"
	// Span is the largest less the least of 0 and the two changes. If a person who is added or removed changes both
	// numbers in the same direction, that is no more than the larger one.
	Span Norm = "span"
)

// Problem asks for noise for two numbers.
type Problem struct {
	// Privacy is what is promised to all pairs of values that are at most the sensitivity apart.
	dp.Privacy
	// Norm is that of the sensitivity.
	Norm Norm
	// Query is dp.RealQuery, or dp.IntegerQuery for two whole numbers.
	Query dp.Query
	// Loss is that of one coordinate, l1 or l2: what counts is the sum over both. Real values with the norm
	// l1 have the loss l2.
	Loss loss.Loss
}

// Validate reports all bad fields together, wrapping dp.ErrInvalid.
func (p Problem) Validate() error {
	errs := check.In("plane")
	errs.MaxEpsilon(p.Epsilon)
	errs.Add(p.Privacy.Validate())
	errs.OneOf("norm", string(p.Norm), string(LInf), string(L1), string(Span))
	errs.If(p.Norm == Span && p.Query == dp.RealQuery, "norm", p.Norm, "linf or l1 for real values")
	errs.OneOf("query", string(p.Query), string(dp.RealQuery), string(dp.IntegerQuery))
	switch {
	case p.Loss == nil:
		errs.Bad("loss", "none", "l1 or l2")
	case p.Loss != loss.L1 && p.Loss != loss.L2:
		errs.Bad("loss", p.Loss.Name(), "l1 or l2")
	case p.turned() && p.Loss != loss.L2:
		errs.Bad("loss", p.Loss.Name(), "l2 for real values and the norm l1")
	}
	if s := p.Sensitivity; p.Query == dp.IntegerQuery && s != math.Trunc(s) {
		errs.Bad("sensitivity", s, "a whole number for whole numbers")
	}
	return errs.Err()
}

// turned reports whether noise is added to the sum and the difference of the two numbers, which
// both change by at most what the two change by together.
func (p *Problem) turned() bool { return p.Norm == L1 && p.Query == dp.RealQuery }

// square reports whether the shifts that matter are all those in a square. If not, corners of cells may be further
// than what is inside.
func (p *Problem) square() bool { return p.Norm == LInf || p.turned() }

// length returns that of a shift in the plane of the noise, one of Norm.Cells.
func (p *Problem) length(k, l int) int {
	if p.square() {
		return k
	}
	if p.Norm == L1 {
		return k + l
	}
	return k - min(0, l)
}

// Grid lays cells over the points of the plane, pairs of integers that stand for multiples of
// 2^GranularityExponent: the cell (i, j) holds the points that are at most (S−1)/2 from (iS, jS) along
// each axis, S being the odd number PointsPerCell.
type Grid struct {
	GranularityExponent int   `json:"granularity_exponent"`
	PointsPerCell       int64 `json:"points_per_cell"`
	// CellsPerSensitivity is K: a shift by the sensitivity moves at most K·S points.
	CellsPerSensitivity int `json:"cells_per_sensitivity"`
}

func (g Grid) step() float64 { return math.Ldexp(1, g.GranularityExponent) }

// Spec is the content of noise.
type Spec struct {
	Problem
	Grid Grid
	// Weights are those of the cells of Norm.Cells, in this order, and of their images: all that exchanging the axes,
	// and changing the sign of either, or for Span of both, makes of one. All cells together sum to 2^64.
	Weights []uint64
	Claims  formfile.Claims
	Dual    *Dual // nil: no lower bound
}

// Verified is the proof that noise keeps its promise and makes no false claim.
type Verified = proof.Verified[Noise, Certificate]

// Noise is a checked, immutable Spec. It is safe for concurrent use.
type Noise struct{ *content }

type content struct {
	spec  Spec
	draw  drawing
	proof proof.Proof[Certificate]
}

// New checks the structure of noise, and not its claims, which Verify does. Empty Claims are filled in
// from the certificate. All bad fields are reported together, wrapping dp.ErrInvalid.
func New(s Spec) (*Noise, error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	c := &content{spec: formfile.Clone(s)}
	c.draw = newDrawing(&c.spec)
	c.proof = proof.New("plane", c.spec.certify, c.spec.judge)
	if s.Claims == (formfile.Claims{}) {
		c.spec.Claims = formfile.State[formfile.Claims](c.proof.Certificate().stated()...)
	}
	return &Noise{c}, nil
}

// Cells are the cells (i, j) in so many rings around the middle of which others are images: with 0 ≤ j ≤ i, and for
// Span with −i ≤ j ≤ i; ring by ring, with ascending j.
func (n Norm) Cells(rings int) iter.Seq2[int, int] {
	return func(yield func(i, j int) bool) {
		for i := range rings + 1 {
			j := 0
			if n == Span {
				j = -i
			}
			for ; j <= i; j++ {
				if !yield(i, j) {
					return
				}
			}
		}
	}
}

// Index returns where among the Cells the one is of which (i, j) is an image.
func (n Norm) Index(i, j int) int {
	if n == Span {
		if i, j = max(i, j), min(i, j); i < -j {
			i, j = -j, -i
		}
		return i*i + i + j
	}
	i, j = max(i, -i), max(j, -j)
	i, j = max(i, j), min(i, j)
	return i*(i+1)/2 + j
}

// Images returns how many images one of the Cells has, itself included.
func (n Norm) Images(i, j int) int64 {
	switch {
	case i == 0:
		return 1
	case n == Span && (i == j || i == -j):
		return 2
	case n == Span || j == 0 || i == j:
		return 4
	}
	return 8
}

// size is how many Cells there are.
func (n Norm) size(rings int) int { return n.Index(rings, rings) + 1 }

// rings is the number of rings of cells around the middle, -1 if the weights are not those of whole rings.
func (s *Spec) rings() int {
	for r := range maxRing + 1 {
		if s.Norm.size(r) == len(s.Weights) {
			return r
		}
	}
	return -1
}

func (s *Spec) validate() error {
	errs := check.In("plane")
	errs.Add(s.Problem.Validate())
	g := s.Grid
	errs.If(g.GranularityExponent < -exponentRange || g.GranularityExponent > exponentRange, "granularity_exponent", g.GranularityExponent, "an integer from %d to %d", -exponentRange, exponentRange)
	errs.If(s.Query == dp.IntegerQuery && g.GranularityExponent != 0, "granularity_exponent", g.GranularityExponent, "0 for whole numbers")
	if g.PointsPerCell < 1 || g.PointsPerCell > maxPoints || g.PointsPerCell%2 == 0 {
		errs.Badf("points_per_cell", g.PointsPerCell, "an odd number from 1 to %d", int64(maxPoints))
	}
	errs.If(!s.square() && g.PointsPerCell > 1, "points_per_cell", g.PointsPerCell, "1 for whole numbers and the norm %s", s.Norm)
	errs.If(g.CellsPerSensitivity < 1 || g.CellsPerSensitivity > limits.PlaneCells, "cells_per_sensitivity", g.CellsPerSensitivity, "1 to %d", limits.PlaneCells)
	if r := s.rings(); r < 0 {
		errs.Badf("weights", fmt.Sprintf("%d", len(s.Weights)), "1, %d, …, of at most %d rings of cells around the middle", s.Norm.size(1), maxRing)
	} else if total := s.total(r); total.Cmp(new(big.Int).Lsh(big.NewInt(1), 64)) != 0 {
		errs.Bad("weights", "a sum of "+total.String()+" over all cells", "exactly 2^64")
	}
	formfile.Validate(&s.Claims, errs)
	errs.Add(s.Dual.validate(&s.Problem))
	if errs.None() {
		needed, most := s.needed(), new(big.Int).SetInt64(g.PointsPerCell*int64(g.CellsPerSensitivity))
		errs.If(needed.Cmp(most) > 0, "sensitivity", s.Sensitivity, "one that the cells cover: it may move rounded values by %s points, and they by %s", needed, most)
	}
	return errs.Err()
}

func (s *Spec) total(rings int) *big.Int {
	total, part := new(big.Int), new(big.Int)
	for i, j := range s.Norm.Cells(rings) {
		part.SetUint64(s.Weights[s.Norm.Index(i, j)])
		total.Add(total, part.Mul(part, big.NewInt(s.Norm.Images(i, j))))
	}
	return total
}

// needed returns how many points rounded values at most a sensitivity apart are apart, along an axis of
// the plane of the noise or, in the diamond, along both together.
func (s *Spec) needed() *big.Int {
	points := exact.Rational(s.Sensitivity)
	n := exact.Ceil(points.Quo(points, exact.PowerOfTwo(s.Grid.GranularityExponent)))
	if s.turned() { // both numbers are rounded before they are added
		n.Add(n, big.NewInt(1))
	}
	return n
}

// Shifts calls a function with the shifts (k, l) in cells, of Norm.Cells, whose images are all that matter, and
// their lengths.
func (p Problem) Shifts(cells int, do func(k, l, length int)) {
	for k, l := range p.Norm.Cells(cells) {
		if n := p.length(k, l); n > 0 && n <= cells {
			do(k, l, n)
		}
	}
}

// Covers says why the noise is not for two numbers that neighboring data sets change by at most a sensitivity in a norm, nil if
// it is. Of two changes the larger is at most the span, which is at most the sum, and that is at most twice the larger.
func (n *Noise) Covers(norm Norm, sensitivity float64) error {
	s := &n.spec
	most := s.Sensitivity
	if norm == LInf && s.Norm != LInf || norm == Span && s.Norm == L1 {
		most /= 2
	}
	errs := check.In("plane")
	errs.OneOf("norm", string(norm), string(LInf), string(L1), string(Span))
	if errs.None() && !(sensitivity > 0 && sensitivity <= most) {
		errs.Badf("sensitivity", fmt.Sprintf("%s:%g", norm, sensitivity), "at most %s:%g, as the noise is for %s:%g", norm, most, s.Norm, s.Sensitivity)
	}
	return errs.Err()
}

// Verify certifies the noise and holds every claim that it makes against the certificate.
func (n *Noise) Verify() (*Verified, error) {
	return proof.Verify(context.Background(), n, proof.Options{})
}

// Certify recomputes everything that can be claimed, in exact arithmetic, once.
func (n *Noise) Certify() Certificate { return n.proof.Certificate() }

// Prove implements proof.Mechanism.
func (n *Noise) Prove(ctx context.Context, o proof.Options) (proof.Proven, error) {
	return proof.Prove(ctx, n, o)
}

// Proof is for proof.Verify.
func (n *Noise) Proof() (p proof.Proof[Certificate]) {
	if n != nil && n.content != nil {
		p = n.proof
	}
	return p
}

// Form implements proof.Mechanism.
func (*Noise) Form() proof.Form { return form }

// Spec returns a copy of what the noise holds.
func (n *Noise) Spec() Spec { return formfile.Clone(n.spec) }

// WithDual returns the noise with another dual, and claims that state what it proves.
func (n *Noise) WithDual(_ context.Context, d *Dual) (*Noise, error) {
	s := n.Spec()
	s.Dual, s.Claims = d, formfile.Claims{}
	return New(s)
}

// Problem returns what the noise is for.
func (n *Noise) Problem() Problem { return n.spec.Problem }

// Privacy returns the promise.
func (n *Noise) Privacy() dp.Privacy { return n.spec.Privacy }

// Loss returns that of one coordinate; losses are sums over both.
func (n *Noise) Loss() loss.Loss { return n.spec.Loss }

// Inputs implements proof.Mechanism.
func (*Noise) Inputs() proof.Space {
	return proof.Space{Kind: proof.Rows, Lower: math.Inf(-1), Upper: math.Inf(1), Size: 2}
}

// Answers implements proof.Mechanism.
func (n *Noise) Answers() proof.Space { return n.Inputs() }

// Rows implements proof.Lossy: the weights of all cells, line after line, with so many empty ones after
// each that a shift in the plane is one of the row.
func (n *Noise) Rows() [][]uint64 { return [][]uint64{n.spec.row()} }

func (s *Spec) row() []uint64 {
	rings := s.rings()
	row := make([]uint64, s.line()*(2*rings+1))
	for i := -rings; i <= rings; i++ {
		for j := -rings; j <= rings; j++ {
			row[s.line()*(i+rings)+j+rings] = s.Weights[s.Norm.Index(i, j)]
		}
	}
	return row
}

// line is the length of a line of the row.
func (s *Spec) line() int { return 2*s.rings() + 1 + s.Grid.CellsPerSensitivity }

// Pairs implements proof.Lossy: all shifts but for those that have the divergences of one of these.
func (n *Noise) Pairs() (all, own []proof.Pair) {
	s := &n.spec
	points := exact.Floor(new(big.Rat).Quo(exact.Rational(s.Sensitivity), exact.PowerOfTwo(s.Grid.GranularityExponent)))
	s.Shifts(s.Grid.CellsPerSensitivity, func(k, l, length int) {
		shift := k*s.line() + l
		both := []proof.Pair{{Shift: shift}, {Shift: -shift}}
		all = append(all, both...)
		if big.NewInt(int64(length)*s.Grid.PointsPerCell).Cmp(points) <= 0 {
			own = append(own, both...)
		}
	})
	return all, own
}
