// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"context"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/internal/strictjson"
	"github.com/noisewright/noisewright/proof"
)

// form is that of kernels. Its files are described in docs/kernel-format.md, and bounded
// well above limits.KernelCells² weights and a large dual.
var form = proof.Form{Package: "kernels", Noun: "a kernel", File: strictjson.Format{
	Noun: "kernel", Name: "noisewright-kernel", Version: 1, MaxSize: 64 << 20,
	MaxElements: map[string]int{
		"weight": formfile.MaxPieces, "edges": limits.KernelCells + 1, "nodes": limits.KernelCells, "rows": limits.KernelCells,
		"caps": limits.KernelCells, "pairs": limits.KernelCells * limits.KernelCells, "multipliers": formfile.MaxMultipliers,
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
		return check.Errorf("kernels", proof.ErrNotPrivate, "delta = %g is promised but only %s is proved, between the cells %d and %d (excess %s)", p.Delta, exact.StateUp(c.DeltaUpper), c.Worst[0], c.Worst[1], formfile.Excess(c.DeltaUpper, delta))
	}
	if o := s.InstanceCap; o > 0 {
		if limit := exact.Rational(o); c.CapLoss.Cmp(limit) > 0 {
			return check.Errorf("kernels", proof.ErrFalseClaim, "instance_cap = %g is promised but only %s is proved, near the query value %g (excess %s)", o, exact.StateUp(c.CapLoss), c.CapLossAt, formfile.Excess(c.CapLoss, limit))
		}
	}
	return formfile.Check("kernels", &s.Claims, c.stated()...)
}

// Inputs are the query values.
func (k *Kernel) Inputs() proof.Space {
	q := k.spec.Queries
	return proof.Space{Kind: proof.Numbers, Lower: q.Lower, Upper: q.Upper}
}

// Answers are the nodes.
func (k *Kernel) Answers() proof.Space {
	n := k.spec.Nodes
	return proof.Space{Kind: proof.Numbers, Lower: n[0], Upper: n[len(n)-1]}
}

// Rows returns the law of each cell.
func (k *Kernel) Rows() [][]uint64 { return formfile.Clone(k.spec.Rows) }

// Pairs are both orders of ProtectedPairs.
func (k *Kernel) Pairs() (all, own []proof.Pair) {
	for _, c := range k.spec.ProtectedPairs() {
		all = append(all, proof.Pair{Gain: c[0], Lose: c[1]}, proof.Pair{Gain: c[1], Lose: c[0]})
	}
	return all, all
}

// Input returns about the middle of a cell.
func (k *Kernel) Input(row int) proof.Value {
	from, to := k.spec.Edges[row], k.spec.Edges[row+1]
	if middle := from + (to-from)/2; middle < to {
		return proof.Number(middle)
	}
	return proof.Number(from)
}

// Choose returns the cell of a query value.
func (k *Kernel) Choose(input proof.Value) (proof.Choice, error) {
	x, _ := proof.Float(input)
	return k.ChooseNumber(x)
}

// ChooseNumber is Choose of a number, which makes no garbage.
func (k *Kernel) ChooseNumber(x float64) (c proof.Choice, err error) {
	var ok bool
	if c.Row, ok = k.CellOf(x); !ok {
		q := k.spec.Queries
		return c, check.Errorf("", dp.ErrInvalid, "the query value is not a number in the kernel's range, want %g to %g", q.Lower, q.Upper)
	}
	return c, nil
}

// Points implements proof.Channel: answers stand for themselves.
func (*Kernel) Points() int64 { return 0 }

// Answer returns a node.
func (k *Kernel) Answer(_ proof.Choice, answer int, _ int64) proof.Value {
	return proof.Number(k.spec.Nodes[answer])
}

// AnswerNumber is Answer as a number, which makes no garbage.
func (k *Kernel) AnswerNumber(_ proof.Choice, answer int, _ int64) float64 {
	return k.spec.Nodes[answer]
}
