// SPDX-License-Identifier: Apache-2.0

package design

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/plan"
	"github.com/noisewright/noisewright/tables"
)

// Problem asks for a plan.
type Problem struct {
	dp.Budget
	Neighbors    string // dp.AddRemove or dp.Replace
	MaxPerPerson int    // cells that a person may be in
	Workload     plan.Workload
	// Series wants each cell measured by itself, so that a series of periods can be released as they end; other
	// candidates then say by their estimates what that costs.
	Series bool
}

// Options tune a design; the zero value is useful.
type Options struct {
	// Noise designs integer noise; nil: geometric noise is all there is.
	Noise account.Designer
	// Gap is the relative one to the dual at which the Gaussian factorization stops; 0: 1e-3.
	Gap float64
	// All makes and proves all candidates, and not only those near the best one.
	All bool
}

// Candidate is a way to answer the workload.
type Candidate struct {
	Name string
	// MeanSquaredError is that of a query, over all: proved of those that were made, and
	// else an estimate.
	MeanSquaredError float64
	// Bound, if not 0, is below the error of every plan with Gaussian noise of one law, whatever was rounded.
	Bound float64
	Made  *plan.Verified // nil: not made, as others are clearly better
}

// Result is what was found.
type Result struct {
	// Plan is the candidate with the least proved error, Strategy its name.
	Plan       *plan.Verified
	Strategy   string
	Candidates []Candidate // the best first
	// NumberByNumber is the mean squared error of releases of one query, or one table, at a time.
	NumberByNumber float64
	// Gaussian says that these have Gaussian noise, which was better there than Laplace noise.
	Gaussian bool
	// Bound, if not 0, is that of the candidate with Gaussian noise. Where there is none it is one of fewer cells, or by
	// eigenvalues in float64, and rounding is not bounded.
	Bound float64
	// Stopped says that the context ended the search: more time may find better.
	Stopped bool
}

// candidate is a Candidate that may be made.
type candidate struct {
	Candidate
	make func(ctx context.Context) ([]plan.Measurement, error)
}

// study is what of a problem does not depend on the budget.
type study struct {
	problem    Problem
	options    Options
	touched    int // cells in which neighbors differ
	gram       [][]float64
	trace      float64     // of the gram
	sums       [][]float64 // of it, above and before each entry
	strategies []*strategy
	bound      float64 // below the squared error of Gaussian noise for an error of 1 in each column
	stopped    bool    // the search for strategies, by its context
}

// Design returns the plan with the least mean squared error. A context that ends stops the search for
// matrices, and the best of what was found is proved all the same.
//
// Errors wrap dp.ErrInvalid for a bad problem.
func Design(ctx context.Context, p Problem, o Options) (*Result, error) {
	s, err := newStudy(ctx, p, o)
	if err != nil {
		return nil, err
	}
	return s.at(ctx, p.Budget)
}

func newStudy(ctx context.Context, p Problem, o Options) (*study, error) {
	errs := check.In("design")
	errs.Add(p.Workload.Validate())
	errs.OneOf("neighbors", p.Neighbors, dp.AddRemove, dp.Replace)
	errs.If(p.MaxPerPerson < 1 || p.MaxPerPerson > limits.PlanCells, "max-per-person", p.MaxPerPerson, "1 to %d cells", limits.PlanCells)
	errs.If(p.Series && (p.Workload.Kind == plan.Marginals || p.Workload.Kind == plan.Matrix), "series", "true", "false of %s: periods are those of prefix, ranges or identity", p.Workload.Kind)
	if err := errs.Err(); err != nil {
		return nil, err
	}
	if o.Gap == 0 {
		o.Gap = 1e-3
	}
	s := &study{problem: p, options: o, touched: p.MaxPerPerson}
	if p.Neighbors == dp.Replace {
		s.touched *= 2
	}
	if p.Workload.Kind == plan.Marginals {
		return s, nil
	}
	s.gram = p.Workload.Gram()
	for i := range s.gram {
		if s.gram[i][i] == 0 {
			return nil, check.Field("design", "workload", fmt.Sprintf("no query of cell %d", i+1), "every cell in a query")
		}
		s.trace += s.gram[i][i]
	}
	s.sums = sumsOf(s.gram)
	if p.Workload.Cells <= limits.PlanCells { // of more only blocks are measured
		half, cancel := halfOf(ctx)
		defer cancel()
		if found := pIdentities(half, s.gram); found != nil {
			s.strategies = append(s.strategies, found)
		}
		s.stopped = half.Err() != nil
	}
	factored := gaussian(ctx, s.gram, o.Gap)
	s.bound, s.stopped = factored.bound, s.stopped || factored.stopped
	if factored.rows != nil {
		s.strategies = append(s.strategies, factored)
	}
	return s, nil
}

// halfOf returns a context with half of the time that is left.
func halfOf(ctx context.Context) (context.Context, context.CancelFunc) {
	end, limited := ctx.Deadline()
	if !limited {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(end)/2)
}

// margin is how much worse than the best an estimate may be, for the candidate to be made.
const margin = 1.05

// at returns the best plan for a budget.
func (s *study) at(ctx context.Context, b dp.Budget) (*Result, error) {
	s.problem.Budget = b
	if err := b.Validate(); err != nil {
		return nil, err
	}
	list, err := s.candidates(ctx)
	if err != nil {
		return nil, err
	}
	best := slices.MinFunc(list, func(a, b candidate) int { return cmp.Compare(a.MeanSquaredError, b.MeanSquaredError) }).MeanSquaredError
	r := &Result{Bound: s.gaussianBound(), Stopped: s.stopped || ctx.Err() != nil}
	r.NumberByNumber, r.Gaussian = s.oneByOne()
	var failed error
	for _, c := range list {
		fits := !s.problem.Series || c.Name == identity
		if s.options.All || fits && (s.problem.Series || c.MeanSquaredError <= best*margin) {
			made, err := s.prove(context.WithoutCancel(ctx), &c)
			if err != nil {
				failed = err
				continue
			}
			c.Made = made
			c.MeanSquaredError, _ = made.Certificate().MeanSquaredError.Float64()
			if fits && (r.Plan == nil || made.Certificate().MeanSquaredError.Cmp(r.Plan.Certificate().MeanSquaredError) < 0) {
				r.Plan, r.Strategy = made, c.Name
			}
		}
		r.Candidates = append(r.Candidates, c.Candidate)
		r.Bound = max(r.Bound, c.Bound)
	}
	if r.Plan == nil {
		return nil, failed
	}
	slices.SortStableFunc(r.Candidates, func(a, b Candidate) int { return cmp.Compare(a.MeanSquaredError, b.MeanSquaredError) })
	return r, nil
}

func (s *study) prove(ctx context.Context, c *candidate) (*plan.Verified, error) {
	measurements, err := c.make(ctx)
	if err != nil {
		return nil, err
	}
	p, err := plan.New(*s.spec(measurements))
	if err != nil {
		return nil, err
	}
	return p.Verify()
}

// spec returns that of a plan for the problem.
func (s *study) spec(measurements []plan.Measurement) *plan.Spec {
	p := &s.problem
	return &plan.Spec{Budget: p.Budget, Neighbors: p.Neighbors, MaxPerPerson: p.MaxPerPerson, Workload: p.Workload, Measurements: measurements}
}

// candidates returns all, with estimates of their errors.
func (s *study) candidates(ctx context.Context) ([]candidate, error) {
	cell, err := s.cellNoise(ctx)
	if err != nil {
		return nil, err
	}
	if s.problem.Workload.Kind == plan.Marginals {
		return s.tables(cell), nil
	}
	list := append([]candidate{s.blocks(1, cell)}, s.hierarchies()...)
	for _, m := range s.strategies {
		if m.name == "gaussian" && s.problem.Delta > 0 {
			list = append(list, s.gaussianCandidate(m))
		} else if m.name != "gaussian" {
			list = append(list, s.laplaceCandidate(m))
		}
	}
	return list, nil
}

// queries is the number of queries.
func (s *study) queries() float64 { return float64(s.problem.Workload.Queries()) }

// cellNoise returns the law of noise on every cell, for the whole budget.
func (s *study) cellNoise(ctx context.Context) (plan.Law, error) {
	b, uses := s.problem.Budget, s.touched
	if s.problem.Workload.Kind != plan.Marginals {
		uses = min(uses, s.problem.Workload.Cells)
	}
	return s.law(ctx, b.Epsilon, b.Delta, uses)
}

// law returns noise of which so many uses cost the budget.
func (s *study) law(ctx context.Context, epsilon, delta float64, uses int) (plan.Law, error) {
	if delta > 0 && s.options.Noise != nil {
		p := dp.Problem{
			Privacy: dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 1},
			Query:   dp.IntegerQuery, Loss: loss.L2, Constraints: dp.Constraints{Symmetric: true},
		}
		v, err := s.designed(ctx, p, uses)
		if v != nil {
			if l, ok := lawOf(v.Mechanism()); ok {
				return l, nil
			}
		} else if errors.Is(err, context.Canceled) {
			return plan.Law{}, err
		}
	}
	return plan.Geometric(part(epsilon, uses))
}

// lawOf returns the law of a table, and whether it is one: symmetric noise on the integers, for a sensitivity of 1.
func lawOf(m *tables.Table) (l plan.Law, ok bool) {
	g, n := m.Grid(), m.Cells()
	half := n / 2
	var all []uint64
	for i := range n {
		all = append(all, m.Weight(i))
	}
	p := m.Privacy()
	l = plan.Law{Epsilon: p.Epsilon, Delta: p.Delta, TailRatio: m.TailRatio(), Weights: slices.Clone(all[half:])}
	slices.Reverse(all)
	ok = m.Query() == dp.IntegerQuery && p.Sensitivity == 1 && g.CellsPerSensitivity == 1 && g.PointsPerCell == 1 && g.Offset == 0 &&
		n%2 == 1 && g.FirstCell == -half && slices.Equal(l.Weights, all[half:])
	l.Weights[0] += m.Atom()
	return l, ok
}

// designed returns noise for so many uses, by exact composition if there are several.
func (s *study) designed(ctx context.Context, p dp.Problem, uses int) (*tables.Verified, error) {
	const gap = 1e-3
	if uses == 1 {
		return s.options.Noise(ctx, p, gap)
	}
	c, err := account.Calibrate(ctx, account.Target{Problem: p, Releases: uses}, s.options.Noise, account.CalibrateOptions{Gap: gap, Exponents: []float64{}})
	if err != nil {
		return nil, err
	}
	return c.Table, c.Limit
}

// part returns a share of which so many are at most epsilon.
func part(epsilon float64, uses int) float64 {
	if uses == 1 {
		return epsilon
	}
	return epsilon / float64(uses) * (1 - 0x1p-50)
}

// varianceOf returns about that of a law.
func varianceOf(l plan.Law) float64 {
	v, scale := 0.0, 0x1p-63
	last := len(l.Weights) - 1
	for i, w := range l.Weights[1:] {
		square := float64(i+1) * float64(i+1)
		if i+1 == last && l.TailRatio > 0 { // last+J, J geometric
			q := float64(l.TailRatio) * 0x1p-64
			mean := q / (1 - q)
			square += 2*float64(last)*mean + mean*(1+2*mean)
		}
		v += float64(w) * scale * square
	}
	return v
}

// geometricVariance is that of plan.Geometric: 2q/(1−q)², q = e^-epsilon.
func geometricVariance(epsilon float64) float64 {
	x := math.Expm1(-epsilon)
	return 2 * (1 + x) / (x * x)
}

// identity is the candidate that measures the cells.
const identity = "identity"

// blocks is a candidate of one partition.
func (s *study) blocks(size int, l plan.Law) candidate {
	c := candidate{make: func(context.Context) ([]plan.Measurement, error) {
		return []plan.Measurement{{Kind: plan.Partition, Block: size, Weight: 1, Noise: &l}}, nil
	}}
	c.Name, c.MeanSquaredError = identity, varianceOf(l)*s.trace/s.queries()
	return c
}

// levels makes partitions of the budget's shares. Shares of delta are equal, but where a person may change a
// block by more than 1, of which noise is to be pure.
func (s *study) levels(ctx context.Context, sizes []int, shares []float64) (out []plan.Measurement, err error) {
	for i, size := range sizes {
		delta := s.problem.Delta / float64(len(sizes)) * (1 - 0x1p-40)
		if min(size, s.problem.MaxPerPerson) > 1 {
			delta = 0
		}
		l, err := s.law(ctx, s.problem.Epsilon*shares[i]*(1-0x1p-40), delta, s.touched)
		if err != nil {
			return nil, err
		}
		out = append(out, plan.Measurement{Kind: plan.Partition, Block: size, Noise: &l})
	}
	weigh(out)
	return out, nil
}

// weigh gives measurements weights in inverse proportion to their variances.
func weigh(list []plan.Measurement) {
	least := math.Inf(1)
	for _, m := range list {
		least = min(least, varianceOf(*m.Noise))
	}
	for i := range list {
		list[i].Weight = max(1, int64(0x1p24*least/varianceOf(*list[i].Noise)))
	}
}

// steps is the norm of columns, in steps of the noise.
const steps = 1 << 12

// laplaceCandidate measures rows with geometric noise.
func (s *study) laplaceCandidate(m *strategy) candidate {
	steps := steps
	for steps > 16 && s.problem.Epsilon < 0x1p-17*float64(s.touched*steps) { // as geometric noise wants it
		steps /= 2
	}
	rows := wholeColumns(m.rows, steps)
	epsilon := part(s.problem.Epsilon, int(s.spec(nil).DistanceL1(rows)))
	c := candidate{make: func(context.Context) ([]plan.Measurement, error) {
		l, err := plan.Geometric(epsilon)
		if err != nil {
			return nil, err
		}
		return []plan.Measurement{{Kind: plan.L1, Weight: 1, Rows: rows, Noise: &l}}, nil
	}}
	c.Name, c.MeanSquaredError = m.name, m.total/s.queries()*geometricVariance(epsilon)/float64(steps*steps)
	return c
}

// wholeColumns rounds columns that sum to 1 to whole numbers that sum to steps: the diagonal takes what
// rounding leaves.
func wholeColumns(rows *mat.Dense, steps int) [][]int64 {
	k, n := rows.Dims()
	out := make([][]int64, k)
	for i := range out {
		out[i] = make([]int64, n)
	}
	for j := range n {
		rest := int64(steps)
		for i := n; i < k; i++ {
			out[i][j] = int64(math.Round(float64(steps) * rows.At(i, j)))
			rest -= out[i][j]
		}
		out[j][j] = max(1, rest)
	}
	return slices.DeleteFunc(out, func(row []int64) bool { return !slices.ContainsFunc(row, func(a int64) bool { return a != 0 }) })
}

// gaussianCandidate measures rows with rounded normal noise.
func (s *study) gaussianCandidate(m *strategy) candidate {
	rows := whole(m.rows)
	// Where more than a cell differs, the norms are those of the worst cells.
	distance := math.Sqrt(s.spec(nil).Distance(rows))
	sigma, err := noise.GaussianSigma(dp.Privacy{Epsilon: s.problem.Epsilon, Delta: s.problem.Delta, Sensitivity: distance})
	sigma *= 1 + 1e-9
	c := candidate{make: func(context.Context) ([]plan.Measurement, error) {
		return []plan.Measurement{{Kind: plan.L2, Weight: 1, Rows: rows, Deviation: sigma}}, err
	}}
	each := sigma * sigma / (steps * steps) / s.queries()
	c.Name, c.MeanSquaredError, c.Bound = m.name, m.total*each, s.gaussianBound()
	return c
}

// gaussianBound is below the mean squared error of every plan with Gaussian noise of one law; 0 if none is known.
func (s *study) gaussianBound() float64 {
	if s.problem.Delta == 0 || s.bound == 0 {
		return 0
	}
	unit, err := noise.GaussianSigma(dp.Privacy{Epsilon: s.problem.Epsilon, Delta: s.problem.Delta, Sensitivity: 1})
	if err != nil {
		return 0
	}
	return s.bound * unit * unit / s.queries() * roundedDown
}

// roundedDown is less than what GaussianSigma, and sums and products of a few thousand terms above 0, may be too large.
const roundedDown = 1 - 1e-11

func whole(rows *mat.Dense) [][]int64 {
	k, n := rows.Dims()
	out := make([][]int64, k)
	for i := range out {
		out[i] = make([]int64, n)
		for j := range n {
			out[i][j] = int64(math.Round(steps * rows.At(i, j)))
		}
	}
	return out
}

// oneByOne returns the mean squared error of queries, or tables, that are released one at a time with the
// same noise each, Gaussian or Laplace, whichever is better.
func (s *study) oneByOne() (variance float64, gaussian bool) {
	squares, sums := 0.0, 0.0 // largest ℓ2² and ℓ1 norms of a column of all queries
	w := &s.problem.Workload
	if w.Kind == plan.Marginals {
		squares, sums = float64(len(w.Sets)), float64(len(w.Sets))
	} else {
		columns := make([]float64, len(s.gram))
		for i := range s.gram {
			squares = max(squares, s.gram[i][i])
			columns[i] = s.gram[i][i] // of zeros and ones the same
		}
		if w.Kind == plan.Matrix {
			clear(columns)
			for _, row := range w.Rows {
				for j, a := range row {
					columns[j] += math.Abs(float64(a))
				}
			}
		}
		sums = slices.Max(columns)
	}
	k := float64(s.touched)
	scale := k * sums / s.problem.Epsilon
	variance = 2 * scale * scale
	if s.problem.Delta > 0 {
		if s.problem.Neighbors == dp.AddRemove || s.touched > 2 {
			squares *= k * k
		} else {
			squares *= k
		}
		sigma, err := noise.GaussianSigma(dp.Privacy{Epsilon: s.problem.Epsilon, Delta: s.problem.Delta, Sensitivity: math.Sqrt(squares)})
		if err == nil && sigma*sigma < variance {
			return sigma * sigma, true
		}
	}
	return variance, false
}
