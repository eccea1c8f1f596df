// SPDX-License-Identifier: Apache-2.0

package cells

import (
	"context"
	"math"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/internal/strictjson"
	"github.com/noisewright/noisewright/proof"
)

// form is that of additive kernels. Its files are described in docs/additive-format.md, and
// bounded well above maxWeights and a large dual.
var form = proof.Form{Package: "cells", Noun: "an additive kernel", File: strictjson.Format{
	Noun: "additive kernel", Name: "noisewright-additive-kernel", Version: 1, MaxSize: 128 << 20,
	MaxElements: map[string]int{
		"edges": limits.AdditiveCells, "weight": limits.AdditiveCells, "rows": maxWeights, "caps": limits.AdditiveCells,
		"shifts": maxShifts, "multipliers": formfile.MaxMultipliers,
	},
}}

// Verified is the proof about a kernel, see proof.Verified.
type Verified = proof.Verified[Kernel, Certificate]

// Verify is proof.Verify with the default work. An instance cap that is exceeded is a false claim.
func (k *Kernel) Verify() (*Verified, error) {
	return proof.Verify(context.Background(), k, proof.Options{})
}

// Prove implements proof.Mechanism.
func (k *Kernel) Prove(ctx context.Context, o proof.Options) (proof.Proven, error) {
	return proof.Prove(ctx, k, o)
}

// Proof is for proof.Verify.
func (k *Kernel) Proof() (p proof.Proof[Certificate]) {
	if k != nil && k.content != nil {
		p = k.proof
	}
	return p
}

// Form implements proof.Mechanism.
func (*Kernel) Form() proof.Form { return form }

// judge holds what the kernel promises and claims against the certificate.
func (s *Spec) judge(c Certificate, _ *proof.Meter) error {
	p := s.Privacy
	if delta := exact.Rational(p.Delta); c.DeltaUpper.Cmp(delta) > 0 {
		return check.Errorf("cells", proof.ErrNotPrivate, "delta = %g is promised but only %s is proved, between the cells %d and %d (excess %s)", p.Delta, exact.StateUp(c.DeltaUpper), c.Worst.Gain, c.Worst.Lose, formfile.Excess(c.DeltaUpper, delta))
	}
	if o := s.InstanceCap; o > 0 {
		if limit := exact.Rational(o); c.CapLoss.Cmp(limit) > 0 {
			return check.Errorf("cells", proof.ErrFalseClaim, "instance_cap = %g is promised but only %s is proved, for %s (excess %s)", o, exact.StateUp(c.CapLoss), s.capped().Name(), formfile.Excess(c.CapLoss, limit))
		}
	}
	return formfile.Check("cells", &s.Claims, c.stated()...)
}

// Inputs are the query values.
func (k *Kernel) Inputs() proof.Space {
	return proof.Space{Kind: proof.Numbers, Lower: k.Edge(0), Upper: k.Edge(k.Cells())}
}

// Answers are query values with noise.
func (*Kernel) Answers() proof.Space {
	return proof.Space{Kind: proof.Numbers, Lower: math.Inf(-1), Upper: math.Inf(1)}
}

// Rows returns the law of each cell.
func (k *Kernel) Rows() [][]uint64 { return formfile.Clone(k.spec.Rows) }

// Pairs are those by whole bins: shifts by parts of a bin lie between these.
func (k *Kernel) Pairs() (all, own []proof.Pair) {
	points := k.spec.Grid.PointsPerBin
	for gain := range k.cells {
		for lose := range k.cells {
			first, last, ok := k.Shifts(gain, lose)
			if !ok {
				continue
			}
			for m := exact.FloorDiv(first, points); m < exact.FloorDiv(last+points-1, points)+1; m++ {
				c := proof.Pair{Gain: gain, Lose: lose, Shift: -int(m)}
				if all = append(all, c); m*points >= first && m*points <= last {
					own = append(own, c)
				}
			}
		}
	}
	return all, own
}

// Input returns about the middle of a cell, or the end of one that has no other.
func (k *Kernel) Input(row int) proof.Value {
	c := k.cells[row]
	point := c.first + (c.last-c.first)/2
	switch {
	case c.first == -beyond && c.last == beyond:
		point = 0
	case c.first == -beyond:
		point = c.last
	case c.last == beyond:
		point = c.first
	}
	step, _ := k.spec.Grid.Step().Float64()
	return proof.Number(float64(point) * step)
}

// Choose returns the cell of a query value that is rounded to the lattice.
func (k *Kernel) Choose(input proof.Value) (proof.Choice, error) {
	x, _ := proof.Float(input)
	return k.ChooseNumber(x)
}

// ChooseNumber is Choose of a number, which makes no garbage.
func (k *Kernel) ChooseNumber(x float64) (c proof.Choice, err error) {
	limit := exact.MaxInteger - k.Reach()
	var ok bool
	if c.Base, ok = exact.RoundToGrid(x, 1/k.step, limit); !ok {
		return c, check.Errorf("", dp.ErrInvalid, "x is not a number or too large, want a magnitude of at most %g (%d steps of %g)", float64(limit)*k.step, limit, k.step)
	}
	if c.Row, ok = k.CellOf(c.Base); !ok {
		return c, check.Errorf("", dp.ErrInvalid, "the query value is in no cell of the kernel, want %g to %g", k.Edge(0), k.Edge(k.Cells()))
	}
	return c, nil
}

// Points returns those of a bin.
func (k *Kernel) Points() int64 { return k.spec.Grid.PointsPerBin }

// Answer returns the rounded query value with a point of a bin as noise.
func (k *Kernel) Answer(c proof.Choice, bin int, point int64) proof.Value {
	return proof.Number(k.AnswerNumber(c, bin, point))
}

// AnswerNumber is Answer as a number, which makes no garbage.
func (k *Kernel) AnswerNumber(c proof.Choice, bin int, point int64) float64 {
	return float64(c.Base+k.spec.Grid.FirstPoint(bin)+point) * k.step
}
