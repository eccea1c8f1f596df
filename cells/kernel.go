// SPDX-License-Identifier: Apache-2.0

package cells

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// Limits of a kernel. With them every point that carries noise is below 2^52 steps, and a
// float64 if the value is not too large.
const (
	// maxBins bounds the bins of the laws, and those per sensitivity.
	maxBins = 1 << 14
	// maxWeights bounds the weights, cells times bins.
	maxWeights = 1 << 21

	maxPointsPerBin = 1 << 30
	maxFirstBin     = 1 << 20 // in absolute value
	exponentRange   = 900     // of the granularity, in absolute value
)

// Grid lays bins over the integers: bin j holds the S = PointsPerBin points from jS - ⌊S/2⌋ on. The
// point n stands for the noise n·2^GranularityExponent, in query units.
type Grid struct {
	GranularityExponent int   `json:"granularity_exponent"`
	PointsPerBin        int64 `json:"points_per_bin"`
	// FirstBin is the number of the first weight of every law.
	FirstBin int `json:"first_bin"`
}

// Step returns the distance of neighboring points, 2^GranularityExponent.
func (g Grid) Step() *big.Rat { return exact.PowerOfTwo(g.GranularityExponent) }

// FirstPoint returns the least point of the i-th bin, 0 <= i, which is bin FirstBin+i.
func (g Grid) FirstPoint(i int) int64 {
	return (int64(g.FirstBin)+int64(i))*g.PointsPerBin - g.PointsPerBin/2
}

// round returns the point that the value x is rounded to, ⌊x/step + 1/2⌋.
func (g Grid) round(x float64) *big.Int {
	r := exact.Rational(x)
	r.Quo(r, g.Step())
	return exact.Floor(r.Add(r, big.NewRat(1, 2)))
}

// Spec is the content of a kernel: noise for a query value, with a law for each cell of it.
type Spec struct {
	// Privacy is the promise: answers to two values of the query that differ by at
	// most the sensitivity are (epsilon, delta)-indistinguishable.
	Privacy dp.Privacy
	Loss    loss.Loss
	// Edges ascend, in query units: cell k holds the values from Edges[k] up to
	// Edges[k+1], all rounded to the lattice first, and without the upper one; the last
	// cell has it too. The first edge may be -Inf and the last one +Inf.
	Edges []float64
	// Weight says how much each cell counts in the expected loss: numbers >= 0, up to a factor.
	Weight []float64
	Grid   Grid
	// Rows holds one law per cell: weights of the bins from Grid.FirstBin on, which sum to 2^64.
	Rows [][]uint64
	// InstanceCap, if not 0, promises that noise of no cell has a larger expected
	// CapLoss; nil: Loss. It also restricts what the lower bound is about.
	InstanceCap float64
	CapLoss     loss.Loss
	Dual        *Dual                // proves the lower bound; nil: none claimed beyond 0
	Claims      formfile.InputClaims // the zero value: filled in from the certificate
}

// Kernel is a checked, immutable Spec. It is safe for concurrent use.
type Kernel struct{ *content }

// content is shared with the proof. No other package has a pointer to one, so that nothing can
// be assigned to what was proved.
type content struct {
	spec  Spec
	cells []interval // of points
	step  float64    // of the lattice, a power of two
	proof proof.Proof[Certificate]
}

// New checks the structure of a kernel, ranges, order and sums of 2^64, and not its claims,
// which Verify does. Empty Claims are filled in from the certificate. The slices are copied.
// All bad fields are reported together, wrapping dp.ErrInvalid; but of the dual only the first,
// and only if the rest is well.
func New(s Spec) (*Kernel, error) { return build(context.Background(), s, (*content).certify) }

// build makes the kernel that is certified so.
func build(ctx context.Context, s Spec, certify func(*content, *proof.Meter) Certificate) (*Kernel, error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	c := &content{spec: formfile.Clone(s), cells: s.points()}
	c.step, _ = s.Grid.Step().Float64()
	c.proof = proof.New("cells", func(m *proof.Meter) Certificate { return certify(c, m) }, c.spec.judge)
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
	errs := check.In("cells")
	errs.MaxEpsilon(s.Privacy.Epsilon)
	errs.Add(s.Privacy.Validate())
	errs.If(s.Loss == nil, "loss", "none", "a loss")
	formfile.ValidateCap(s.InstanceCap, s.CapLoss, errs)
	s.validateGrid(errs)
	s.validateCells(errs)
	formfile.Validate(&s.Claims, errs)
	if err := errs.Err(); err != nil {
		return err
	}
	return s.Dual.validate(s)
}

func (s *Spec) validateGrid(errs *check.List) {
	g := s.Grid
	for _, f := range []struct {
		name        string
		value       int64
		least, most int64
	}{
		{"granularity_exponent", int64(g.GranularityExponent), -exponentRange, exponentRange},
		{"points_per_bin", g.PointsPerBin, 1, maxPointsPerBin},
		{"first_bin", int64(g.FirstBin), -maxFirstBin, maxFirstBin},
	} {
		if f.value < f.least || f.value > f.most {
			errs.Badf("grid."+f.name, f.value, "an integer from %d to %d", f.least, f.most)
			return
		}
	}
	errs.If(s.Privacy.Validate() == nil && !within(s.reach(), maxBins*g.PointsPerBin), "sensitivity", s.Privacy.Sensitivity, "at most %d bins of the grid", maxBins)
}

// reach is how many points query values may be apart once rounded, ⌈sensitivity/step⌉.
func (s *Spec) reach() *big.Int {
	r := exact.Rational(s.Privacy.Sensitivity)
	return exact.Ceil(r.Quo(r, s.Grid.Step()))
}

// within reports whether |x| <= limit.
func within(x *big.Int, limit int64) bool { return x.CmpAbs(big.NewInt(limit)) <= 0 }

func (s *Spec) validateCells(errs *check.List) {
	n := len(s.Edges) - 1
	if n < 1 || n > limits.AdditiveCells {
		errs.Badf("edges", fmt.Sprintf("%d edges", n+1), "2 to %d, for 1 to %d cells", limits.AdditiveCells+1, limits.AdditiveCells)
		return
	}
	s.validateEdges(errs)
	some := false
	for k, w := range s.Weight {
		if !(w >= 0) || !check.Finite(w) {
			errs.Bad(fmt.Sprintf("weight[%d]", k), w, "a finite number >= 0")
			return
		}
		some = some || w > 0
	}
	errs.If(len(s.Weight) != n || !some, "weight", fmt.Sprintf("%d numbers", len(s.Weight)), "%d, one per cell, and one of them above 0", n)
	if len(s.Rows) != n {
		errs.Badf("rows", fmt.Sprintf("%d rows", len(s.Rows)), "%d, one per cell", n)
		return
	}
	bins := len(s.Rows[0])
	if most := min(maxBins, maxWeights/n); bins < 1 || bins > most {
		errs.Badf("rows[0]", fmt.Sprintf("%d weights", bins), "1 to %d", most)
		return
	}
	formfile.ValidateRows(s.Rows, bins, "as the first", errs)
}

// validateEdges wants edges that ascend, and still do when they are rounded.
func (s *Spec) validateEdges(errs *check.List) {
	n := len(s.Edges) - 1
	if e := s.Grid.GranularityExponent; e < -exponentRange || e > exponentRange {
		return // reported
	}
	var last *big.Int
	for i, x := range s.Edges {
		field := fmt.Sprintf("edges[%d]", i)
		if i == 0 && math.IsInf(x, -1) || i == n && math.IsInf(x, 1) {
			continue
		}
		if !check.Finite(x) || i > 0 && !(x > s.Edges[i-1]) {
			errs.Bad(field, x, "numbers in ascending order, finite but for the first and the last")
			return
		}
		at := s.Grid.round(x)
		if !within(at, exact.MaxInteger) {
			errs.Bad(field, x, "at most 2^53 steps of the grid")
			return
		}
		if last != nil && at.Cmp(last) <= 0 {
			errs.Bad(field, x, "edges at least a step of the grid apart")
			return
		}
		last = at
	}
}

// WithDual returns the kernel with other multipliers for its lower bound, and claims of the
// certificate, whose other parts stay. The error wraps dp.ErrInvalid, or is that of the context.
func (k *Kernel) WithDual(ctx context.Context, d *Dual) (*Kernel, error) {
	s := k.spec
	s.Dual, s.Claims = d, formfile.InputClaims{}
	return build(ctx, s, func(c *content, m *proof.Meter) Certificate {
		out := k.proof.Again(m)
		out.LowerBound = c.spec.lowerBound(m)
		return out
	})
}

// Privacy returns the promise.
func (k *Kernel) Privacy() dp.Privacy { return k.spec.Privacy }

// Loss returns the loss the kernel was designed for.
func (k *Kernel) Loss() loss.Loss { return k.spec.Loss }

// InstanceCap returns the promised cap on the loss of every cell, and what loss that is; 0: none.
func (k *Kernel) InstanceCap() (float64, loss.Loss) { return k.spec.InstanceCap, k.spec.capped() }

// capped returns the loss that is capped.
func (s *Spec) capped() loss.Loss {
	if s.CapLoss != nil {
		return s.CapLoss
	}
	return s.Loss
}

// Grid returns how the bins lie.
func (k *Kernel) Grid() Grid { return k.spec.Grid }

// Cells returns the number of cells.
func (k *Kernel) Cells() int { return len(k.spec.Rows) }

// Bins returns the number of bins of every law.
func (k *Kernel) Bins() int { return len(k.spec.Rows[0]) }

// Edge returns the lower end of cell i, for i = Cells the upper end of the last one. The
// first may be -Inf and the last +Inf.
func (k *Kernel) Edge(i int) float64 { return k.spec.Edges[i] }

// Weight is that of bin j, counted from 0, in the law of cell i: w is a probability of w/2^64.
func (k *Kernel) Weight(i, j int) uint64 { return k.spec.Rows[i][j] }

// Reach returns the largest |n| over all points n of bins.
func (k *Kernel) Reach() int64 {
	g := k.spec.Grid
	return max(-g.FirstPoint(0), g.FirstPoint(k.Bins())-1)
}

// CellOf returns the cell of a query value rounded to the point n, and false if it is in none.
func (k *Kernel) CellOf(n int64) (i int, ok bool) {
	i, _ = slices.BinarySearchFunc(k.cells, n, func(c interval, n int64) int {
		if c.last < n {
			return -1
		}
		return 1 // the first that does not end before n
	})
	return i, i < len(k.cells) && k.cells[i].first <= n
}

// CellAt returns the cell of the query value x, and false if it is in none, not finite, or
// so large that its noise is not on the grid.
func (k *Kernel) CellAt(x float64) (i int, ok bool) {
	if !check.Finite(x) {
		return 0, false
	}
	at := k.spec.Grid.round(x)
	if !within(at, exact.MaxInteger-k.Reach()) {
		return 0, false
	}
	return k.CellOf(at.Int64())
}
