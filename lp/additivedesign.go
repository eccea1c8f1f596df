package lp

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"

	"github.com/noisewright/noisewright/cells"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/lp/internal/cuts"
	"github.com/noisewright/noisewright/lp/solver"
	"github.com/noisewright/noisewright/tables"
)

// DefaultAdditiveBins bounds the bins of the law of a cell if Options.MaxCells is 0.
const DefaultAdditiveBins = 512

// AdditiveResult is a designed and certified additive kernel.
type AdditiveResult struct {
	// Kernel comes with its certificate, which was computed from it in exact
	// arithmetic.
	Kernel *cells.Verified
	// OneLaw is the expected loss, rounded up, of noise on the bins that the design began
	// with, whose law is the same in every cell; 0 if it does not keep the instance cap.
	// The best such noise has a slightly smaller one, see Design.
	OneLaw float64
	Outcome
}

// DesignAdditive finds an additive kernel whose expected loss, averaged over the cells, is
// within the requested gap of the best possible for noise that depends on the value
// through these cells. If a limit stops it first, or the context ends, the best proven
// result is returned beside an error that wraps ErrLimit. Other errors come without a
// result; one wraps ErrInfeasible if no kernel that keeps the instance cap was found.
//
// Both bounds are solved side by side, on two processors if there are. Options.MaxCells
// bounds the bins of a law. Progress reports bins per sensitivity.
//
// Guarantee: the kernel's privacy, losses and bound are those of its exact certificate,
// whatever the solver did.
func DesignAdditive(ctx context.Context, p AdditiveProblem, o Options) (*AdditiveResult, error) {
	if err := errors.Join(p.validate(), o.validateSolver()); err != nil {
		return nil, err
	}
	s, ctx, cancel := o.begin(ctx, DefaultKernelGap, DefaultAdditiveBins, 1)
	defer cancel()
	d := &additiveDesigner{search: s, problem: p}
	return d.result(d.refine(ctx))
}

// additiveDesigner is the state of one DesignAdditive. The two sides work at the same time
// and touch only their own fields.
type additiveDesigner struct {
	search
	problem AdditiveProblem
	unit    float64 // of the costs passed to the solver
	oneLaw  float64 // loss of noise with one law, rounded up

	// The upper side, which has search.loss.
	kernel      *cells.Kernel
	upperLaws   binLaws
	upperRounds int
	// The lower side, which has search.bound.
	dual        *cells.Dual
	infeasible  bool // the lower program has no solution
	lowerLaws   binLaws
	lowerRounds int
}

// refine solves both programs on finer and finer bins until they meet.
func (d *additiveDesigner) refine(ctx context.Context) error {
	base := d.problem.base()
	k := d.problem.Bins
	if k == 0 {
		k = base * ((firstBins + base - 1) / base)
	}
	if err := d.begin(ctx, k); err != nil {
		return err
	}
	for {
		var both sync.WaitGroup
		var upperErr, lowerErr error
		both.Go(func() { upperErr = d.upper(ctx, k) })
		both.Go(func() { lowerErr = d.lower(ctx, k) })
		both.Wait()
		d.report(k)
		if err := errors.Join(upperErr, lowerErr); err != nil && !errors.Is(err, ErrLimit) {
			return err
		}
		switch {
		case d.infeasible:
			return check.Errorf("lp", ErrInfeasible, "instance-cap = %g is out of reach of all private noise for these cells%s", d.problem.InstanceCap, d.endless())
		case d.gap() <= d.options.Gap:
			return nil
		case ctx.Err() != nil, d.problem.Bins > 0, errors.Is(errors.Join(upperErr, lowerErr), ErrLimit):
			return ErrLimit
		}
		k += base * ((k/2 + base - 1) / base)
		if bins := 2*(d.half(k)+k) + 1; bins > d.options.MaxCells || k > MaxAdditiveBins {
			return check.Errorf("lp", ErrLimit, "%d bins are needed, max-cells = %d", bins, d.options.MaxCells)
		}
	}
}

// firstBins is about how many bins per sensitivity a design begins with.
const firstBins = 4

// half is the number of bins on either side of 0: those of a support on which there is
// private noise, and more.
func (d *additiveDesigner) half(k int) int {
	p := dp.Problem{Privacy: d.problem.Privacy, Loss: d.problem.Loss}
	reach := supportBound(p)
	if p.Epsilon > 0 {
		reach = min(2*reach, reach+3/p.Epsilon)
	}
	return max(int(math.Ceil(reach*float64(k))), k+1)
}

// begin finds the kernel to start from: noise that has the same law in every cell, as the
// only cell that holds all values. Its loss is the unit of costs.
func (d *additiveDesigner) begin(ctx context.Context, k int) error {
	one := d.problem
	one.Edges, one.Weight, one.InstanceCap, one.CapLoss = []float64{math.Inf(-1), math.Inf(1)}, nil, 0, nil
	d.unit = one.Loss.CellMean(0, 4*one.Sensitivity/max(one.Epsilon, 0.1))
	for _, share := range marginShares {
		laws, err := d.solve(ctx, one, k, share*min(d.aim(), largestMargin))
		if err != nil && !errors.Is(err, ErrLimit) && !errors.Is(err, cuts.ErrFailed) {
			return err
		}
		if laws == nil {
			continue
		}
		all := slices.Repeat(laws, len(d.problem.Edges)-1)
		if err = d.keep(k, all); err == nil {
			d.unit, d.oneLaw = max(d.loss, 1e-300), exact.FloatUp(d.kernel.Certify().ExpectedLoss)
			d.upperLaws = binLaws{k, all}
			d.lowerLaws = d.upperLaws
			return nil
		}
		if !notKept(err) {
			return err
		}
	}
	return nil // it does not keep the cap, or there was no time
}

// solve returns the laws of the upper program, nil if there are none.
func (d *additiveDesigner) solve(ctx context.Context, p AdditiveProblem, k int, margin float64) (laws [][]float64, err error) {
	half := d.half(k)
	epsilon := p.Epsilon - margin*min(p.Epsilon, 1)
	delta := p.Delta*(1-margin) - float64(2*half+1)*0x1p-62
	l := upperAdditive(p, binGrid(p.Sensitivity, k), k, half, epsilon, delta, d.unit, p.InstanceCap*(1-margin))
	prog, err := newAdditiveProgram(l, d.options.NewSolver)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, prog.relaxation.Close()) }()
	if err := prog.expect(d.upperLaws, k); err != nil {
		return nil, err
	}
	status, err := prog.relaxation.Solve(ctx, residualShare*margin, 0)
	d.upperRounds += prog.relaxation.Rounds()
	switch {
	case err != nil:
		return nil, err
	case status == solver.StatusLimit:
		return nil, ErrLimit
	case status != solver.StatusOptimal:
		return nil, nil // the cap is out of reach on these bins
	}
	return prog.laws(), nil
}

// upper designs a kernel on the bins and keeps it if it is the best.
func (d *additiveDesigner) upper(ctx context.Context, k int) error {
	for _, share := range marginShares {
		laws, err := d.solve(ctx, d.problem, k, share*min(d.aim(), largestMargin))
		switch {
		case errors.Is(err, cuts.ErrFailed):
			return nil
		case err != nil || laws == nil:
			return err
		}
		d.upperLaws = binLaws{k, laws}
		if err = d.keep(k, laws); !notKept(err) {
			return err
		}
	}
	return nil
}

// keep certifies the kernel with the given laws and keeps it if it is the best. The error
// wraps proof.ErrNotPrivate or proof.ErrFalseClaim if the exact test of privacy or of
// the cap fails.
func (d *additiveDesigner) keep(k int, laws [][]float64) error {
	p := d.problem
	g := binGrid(p.Sensitivity, k)
	g.FirstBin = -(len(laws[0]) / 2)
	rows := make([][]uint64, len(laws))
	for i, law := range laws {
		var sum float64
		for _, m := range law {
			sum += m
		}
		scaled := make([]float64, len(law))
		for j, m := range law {
			scaled[j] = m / sum
		}
		var err error
		if rows[i], _, err = tables.Quantize(scaled, 0); err != nil {
			return check.Errorf("lp", nil, "%w", err)
		}
	}
	v, err := verified(cells.New(cells.Spec{
		Privacy: p.Privacy, Loss: p.Loss, Edges: p.Edges, Weight: p.weight(), Grid: g, Rows: rows,
		InstanceCap: p.InstanceCap, CapLoss: p.CapLoss,
	}))
	if err != nil {
		return err
	}
	if loss, _ := v.Certificate().ExpectedLoss.Float64(); loss < d.loss {
		d.kernel, d.loss = v.Mechanism(), loss
	}
	return nil
}

// lower proves a bound with K nodes per sensitivity and keeps it if it is the best.
func (d *additiveDesigner) lower(ctx context.Context, k int) (err error) {
	p := d.problem
	prog, err := newAdditiveProgram(lowerAdditive(p, k, d.half(k), d.unit), d.options.NewSolver)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, prog.relaxation.Close()) }()
	if err := prog.expect(d.lowerLaws, k); err != nil {
		return err
	}
	status, err := prog.relaxation.Solve(ctx, lowerTolerance, stallShare*min(d.aim(), largestMargin))
	d.lowerRounds += prog.relaxation.Rounds()
	d.infeasible = d.infeasible || err == nil && status == solver.StatusInfeasible
	if prog.relaxation.Rounds() > 0 {
		d.lowerLaws = binLaws{k, prog.laws()}
		dual := prog.dual(k, d.unit, p.InstanceCap)
		proved := cells.Spec{
			Privacy: p.Privacy, Loss: p.Loss, Edges: p.Edges, Weight: p.weight(),
			InstanceCap: p.InstanceCap, CapLoss: p.CapLoss, Dual: dual,
		}
		if bound, _ := proved.LowerBound().Float64(); bound > d.bound {
			d.dual, d.bound = dual, bound
		}
	}
	switch {
	case errors.Is(err, cuts.ErrFailed):
		return nil
	case err == nil && status == solver.StatusLimit:
		return ErrLimit
	default:
		return err
	}
}

// result puts the best kernel and the best bound together and certifies both.
func (d *additiveDesigner) result(stopped error) (*AdditiveResult, error) {
	if stopped != nil && !errors.Is(stopped, ErrLimit) {
		return nil, stopped
	}
	if d.kernel == nil {
		return nil, check.Errorf("lp", ErrInfeasible, "instance-cap = %g: no kernel found that keeps it, with the bins and in the time allowed%s", d.problem.InstanceCap, d.endless())
	}
	v, err := verified(d.kernel.WithDual(d.dual))
	if err != nil {
		return nil, err
	}
	gap, finite := v.Certificate().Gap()
	o, err := d.outcome(d.upperRounds+d.lowerRounds, gap, finite, stopped)
	return &AdditiveResult{v, d.oneLaw, o}, err
}

// endless says what a cell without an end means for a cap, if there is one.
func (d *additiveDesigner) endless() string {
	e := d.problem.Edges
	if !math.IsInf(e[0], 0) && !math.IsInf(e[len(e)-1], 0) {
		return ""
	}
	return "; the noise of a cell without an end is private by itself and loses no less than noise that does not depend on the value"
}
