// SPDX-License-Identifier: Apache-2.0

package kernels

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// Spec is the content of a kernel: noise that depends on the query value.
//
// The range is split into cells, and each cell has a law of answers: a query value
// is answered by a draw from the law of its cell. Answers are the nodes, as many
// as there are cells, and usually their centers.
type Spec struct {
	// Privacy is the promise: outputs for two values of the query in its range that differ by at
	// most the sensitivity are (epsilon, delta)-indistinguishable.
	Privacy dp.Privacy
	Queries Queries
	Loss    loss.Loss
	// Edges ascend from Queries.Lower to Queries.Upper, in query units. Cell k holds the values
	// from Edges[k] up to, and without, Edges[k+1]; the last one holds Queries.Upper too.
	Edges []float64
	// Nodes are the answers, ascending, in query units.
	Nodes []float64
	// Rows holds one law per cell over the nodes: weights that sum to 2^64.
	Rows [][]uint64
	// InstanceCap, if not 0, promises that no query value has a larger
	// expected loss. It also restricts what the lower bound is about.
	InstanceCap float64
	// CapLoss is the loss that InstanceCap is about; nil: Loss.
	CapLoss loss.Loss
	Dual    *Dual                // proves the lower bound; nil: none claimed beyond 0
	Claims  formfile.InputClaims // the zero value: filled in from the certificate
}

// Kernel is a checked, immutable Spec. It is safe for concurrent use.
type Kernel struct{ *content }

// content is shared with the proof. No other package has a pointer to one, so that nothing can
// be assigned to what was proved.
type content struct {
	spec  Spec
	proof proof.Proof[Certificate]
}

// New checks the structure of a kernel, ranges, order and sums of 2^64, and not its claims,
// which Verify does. Empty Claims are filled in from the certificate. The slices are copied.
// All bad fields are reported together, wrapping dp.ErrInvalid; but of the dual only the first,
// and only if the rest is well. It may also be that of the context, which ends certifying.
func New(ctx context.Context, s Spec) (*Kernel, error) {
	return build(ctx, s, (*Spec).certify)
}

// build makes the kernel that is certified so.
func build(ctx context.Context, s Spec, certify func(*Spec, *proof.Meter) Certificate) (*Kernel, error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	c := &content{spec: formfile.Clone(s)}
	c.proof = proof.New("kernels", func(m *proof.Meter) Certificate { return certify(&c.spec, m) }, c.spec.judge)
	if s.Claims == (formfile.InputClaims{}) {
		certificate, err := c.proof.Find(ctx)
		if err != nil {
			return nil, err
		}
		c.spec.Claims = certificate.Claims()
	}
	return &Kernel{c}, nil
}

func (s *Spec) validate() error {
	errs := check.In("kernels")
	errs.MaxEpsilon(s.Privacy.Epsilon)
	errs.Add(s.Privacy.Validate())
	errs.Add(s.Queries.Validate())
	errs.If(s.Loss == nil, "loss", "none", "a loss")
	for name, l := range map[string]loss.Loss{"loss": s.Loss, "instance_cap_loss": s.CapLoss} {
		if l == nil {
			continue
		}
		if _, ok := loss.Of(l).CeilingUp(new(big.Rat), new(big.Rat)); !ok {
			errs.Bad(name, l.Name(), "one of package loss, or one with a method Unimodal that returns true")
		}
	}
	formfile.ValidateCap(s.InstanceCap, s.CapLoss, errs)
	n := len(s.Nodes)
	errs.If(n < 1 || n > limits.KernelCells, "nodes", fmt.Sprintf("%d nodes", n), "1 to %d", limits.KernelCells)
	formfile.ValidateAscending("edges", s.Edges, errs)
	formfile.ValidateAscending("nodes", s.Nodes, errs)
	if m := len(s.Edges); m != n+1 {
		errs.Bad("edges", fmt.Sprintf("%d edges", m), fmt.Sprintf("%d, one more than nodes", n+1))
	} else if s.Edges[0] != s.Queries.Lower || s.Edges[n] != s.Queries.Upper {
		errs.Bad("edges", fmt.Sprintf("%g to %g", s.Edges[0], s.Edges[n]), fmt.Sprintf("the first and last to be the ends of the range, %g and %g", s.Queries.Lower, s.Queries.Upper))
	}
	errs.If(len(s.Rows) != n, "rows", fmt.Sprintf("%d rows", len(s.Rows)), "%d, one per cell", n)
	formfile.ValidateRows(s.Rows, n, "one per node", errs)
	formfile.Validate(&s.Claims, errs)
	if err := errs.Err(); err != nil {
		return err
	}
	return s.Dual.validate(s.Privacy, s.Queries)
}

// WithDual returns the kernel with other multipliers for its lower bound, and claims of the
// certificate, whose other parts stay. The error wraps dp.ErrInvalid, or is that of the context.
func (k *Kernel) WithDual(ctx context.Context, d *Dual) (*Kernel, error) {
	s := k.spec
	s.Dual, s.Claims = d, formfile.InputClaims{}
	return build(ctx, s, func(s *Spec, m *proof.Meter) Certificate {
		c := k.proof.Again(m)
		c.LowerBound = s.lowerBound(m)
		return c
	})
}

// Privacy returns the promise.
func (k *Kernel) Privacy() dp.Privacy { return k.spec.Privacy }

// Queries returns the range of query values and their weight.
func (k *Kernel) Queries() Queries { return formfile.Clone(k.spec.Queries) }

// Loss returns the loss the kernel was designed for.
func (k *Kernel) Loss() loss.Loss { return k.spec.Loss }

// Claims are what the kernel states of itself.
func (k *Kernel) Claims() formfile.InputClaims { return k.spec.Claims }

// InstanceCap returns the promised cap on every query value's loss; 0: none.
func (k *Kernel) InstanceCap() float64 { return k.spec.InstanceCap }

// CapLoss returns the loss that the instance cap is about.
func (k *Kernel) CapLoss() loss.Loss { return k.spec.capLoss() }

func (s *Spec) capLoss() loss.Loss {
	if s.CapLoss == nil {
		return s.Loss
	}
	return s.CapLoss
}

// Cells returns the number of cells, which is the number of nodes.
func (k *Kernel) Cells() int { return len(k.spec.Nodes) }

// Node returns the answer number j, in query units.
func (k *Kernel) Node(j int) float64 { return k.spec.Nodes[j] }

// Edge returns the lower end of cell i, for i = Cells the upper end of the range.
func (k *Kernel) Edge(i int) float64 { return k.spec.Edges[i] }

// Weight returns the weight of node j in the law of cell i. A weight w is a probability of w/2^64.
func (k *Kernel) Weight(i, j int) uint64 { return k.spec.Rows[i][j] }

// CellOf returns the cell of the query value x, and false if x is outside the range or NaN.
func (k *Kernel) CellOf(x float64) (i int, ok bool) {
	n := k.Cells()
	if !(x >= k.spec.Edges[0] && x <= k.spec.Edges[n]) {
		return 0, false
	}
	i, found := slices.BinarySearch(k.spec.Edges, x)
	if !found {
		i--
	}
	return min(i, n-1), true
}

// PMF has the probabilities of the nodes for the values in cell i as float64s, for plots.
func (k *Kernel) PMF(i int) []float64 { return formfile.Probabilities(k.spec.Rows[i]) }

// LossAt is the loss of the query value x as a float64, for plots; NaN if x is outside the range.
func (k *Kernel) LossAt(x float64) float64 {
	i, ok := k.CellOf(x)
	if !ok {
		return math.NaN()
	}
	var sum float64
	for j, m := range k.PMF(i) {
		sum += m * k.spec.Loss.At(k.spec.Nodes[j]-x)
	}
	return sum
}
