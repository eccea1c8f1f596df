// Package cells designs noise that depends on the cell of the value; see lp.DesignCells.
package cells

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
	"github.com/noisewright/noisewright/lp/internal/engine"
	"github.com/noisewright/noisewright/lp/internal/meet"
	"github.com/noisewright/noisewright/lp/internal/noise"
	"github.com/noisewright/noisewright/lp/solver"
	"github.com/noisewright/noisewright/tables"
)

// cellsDesign finds a kernel and a bound that meet to the requested gap, and the loss of
// noise with one law for all cells.
func Design(ctx context.Context, p Problem, s *meet.Search) (*cells.Verified, float64, meet.Outcome, error) {
	d := &designer{Search: *s, problem: p}
	v, o, err := d.result(d.refine(ctx))
	return v, d.oneLaw, o, err
}

// additiveDesigner is the state of one DesignCells. The two sides work at the same time
// and touch only their own fields.
type designer struct {
	meet.Search
	problem Problem
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
func (d *designer) refine(ctx context.Context) error {
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
		d.Report(k)
		if err := errors.Join(upperErr, lowerErr); err != nil && !errors.Is(err, meet.ErrLimit) {
			return err
		}
		switch {
		case d.infeasible:
			return check.Errorf("lp", meet.ErrInfeasible, "instance-cap = %g is out of reach of all private noise for these cells%s", d.problem.InstanceCap, d.endless())
		case d.Gap() <= d.Options.Gap:
			return nil
		case ctx.Err() != nil, d.problem.Bins > 0, errors.Is(errors.Join(upperErr, lowerErr), meet.ErrLimit):
			return meet.ErrLimit
		}
		k += base * ((k/2 + base - 1) / base)
		if bins := 2*(d.half(k)+k) + 1; bins > d.Options.MaxCells || k > MostBins {
			return check.Errorf("lp", meet.ErrLimit, "%d bins are needed, max-cells = %d", bins, d.Options.MaxCells)
		}
	}
}

// cellsMostBins bounds the bins per sensitivity.
const MostBins = 1 << 10

// firstBins is about how many bins per sensitivity a design begins with.
const firstBins = 4

// half is the number of bins on either side of 0: those of a support on which there is
// private noise, and more.
func (d *designer) half(k int) int {
	p := dp.Problem{Privacy: d.problem.Privacy, Loss: d.problem.Loss}
	reach := noise.SupportBound(p)
	if p.Epsilon > 0 {
		reach = min(2*reach, reach+3/p.Epsilon)
	}
	return max(int(math.Ceil(reach*float64(k))), k+1)
}

// begin finds the kernel to start from: noise that has the same law in every cell, as the
// only cell that holds all values. Its loss is the unit of costs.
func (d *designer) begin(ctx context.Context, k int) error {
	one := d.problem
	one.Edges, one.Weight, one.InstanceCap, one.CapLoss = []float64{math.Inf(-1), math.Inf(1)}, nil, 0, nil
	d.unit = one.Loss.CellMean(0, 4*one.Sensitivity/max(one.Epsilon, 0.1))
	for _, share := range meet.MarginShares {
		laws, err := d.solve(ctx, one, k, share*min(d.Aim(), meet.LargestMargin))
		if err != nil && !errors.Is(err, meet.ErrLimit) {
			return err
		}
		if laws == nil {
			continue
		}
		all := slices.Repeat(laws, len(d.problem.Edges)-1)
		if err = d.keep(k, all); err == nil {
			d.unit, d.oneLaw = max(d.Best, 1e-300), exact.FloatUp(d.kernel.Certify().ExpectedLoss)
			d.upperLaws = binLaws{k, all}
			d.lowerLaws = d.upperLaws
			return nil
		}
		if !meet.NotKept(err) {
			return err
		}
	}
	return nil // it does not keep the cap, or there was no time
}

// solve returns the laws of the upper program, nil if there are none.
func (d *designer) solve(ctx context.Context, p Problem, k int, margin float64) ([][]float64, error) {
	half := d.half(k)
	epsilon := p.Epsilon - margin*min(p.Epsilon, 1)
	delta := p.Delta*(1-margin) - float64(2*half+1)*0x1p-62
	l := upperLayout(p, binGrid(p.Sensitivity, k), k, half, epsilon, delta, d.unit, p.InstanceCap*(1-margin))
	prog, status, err := l.solve(ctx, &d.Options, k, d.upperLaws, engine.Want{Gap: margin, Excess: meet.ResidualShare * margin})
	if err != nil {
		return nil, err
	}
	d.upperRounds += prog.Rounds()
	if status != solver.StatusOptimal { // the cap is out of reach on these bins
		return nil, meet.Stopped(status)
	}
	return prog.laws(), nil
}

// upper designs a kernel on the bins and keeps it if it is the best.
func (d *designer) upper(ctx context.Context, k int) error {
	for _, share := range meet.MarginShares {
		laws, err := d.solve(ctx, d.problem, k, share*min(d.Aim(), meet.LargestMargin))
		if err != nil || laws == nil {
			return err
		}
		d.upperLaws = binLaws{k, laws}
		if err = d.keep(k, laws); !meet.NotKept(err) {
			return err
		}
	}
	return nil
}

// keep certifies the kernel with the given laws and keeps it if it is the best. The error
// wraps proof.ErrNotPrivate or proof.ErrFalseClaim if the exact test of privacy or of
// the cap fails.
func (d *designer) keep(k int, laws [][]float64) error {
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
	v, err := meet.Verified(cells.New(cells.Spec{
		Privacy: p.Privacy, Loss: p.Loss, Edges: p.Edges, Weight: p.weight(), Grid: g, Rows: rows,
		InstanceCap: p.InstanceCap, CapLoss: p.CapLoss,
	}))
	if err != nil {
		return err
	}
	if loss, _ := v.Certificate().ExpectedLoss.Float64(); loss < d.Best {
		d.kernel, d.Best = v.Mechanism(), loss
	}
	return nil
}

// lower proves a bound with K nodes per sensitivity and keeps it if it is the best.
func (d *designer) lower(ctx context.Context, k int) error {
	p := d.problem
	l := lowerLayout(p, k, d.half(k), d.unit)
	stall := meet.StallShare * min(d.Aim(), meet.LargestMargin)
	prog, status, err := l.solve(ctx, &d.Options, k, d.lowerLaws, engine.Want{Gap: stall, Excess: meet.LowerTolerance, Stall: stall})
	if err != nil {
		return err
	}
	d.lowerRounds += prog.Rounds()
	d.infeasible = d.infeasible || status == solver.StatusInfeasible
	if prog.Rounds() > 0 {
		d.lowerLaws = binLaws{k, prog.laws()}
		dual := prog.dual(k, d.unit, p.InstanceCap)
		proved := cells.Spec{
			Privacy: p.Privacy, Loss: p.Loss, Edges: p.Edges, Weight: p.weight(),
			InstanceCap: p.InstanceCap, CapLoss: p.CapLoss, Dual: dual,
		}
		if bound, _ := proved.LowerBound().Float64(); bound > d.Bound {
			d.dual, d.Bound = dual, bound
		}
	}
	return meet.Stopped(status)
}

// result puts the best kernel and the best bound together and certifies both.
func (d *designer) result(stopped error) (*cells.Verified, meet.Outcome, error) {
	if stopped != nil && !errors.Is(stopped, meet.ErrLimit) {
		return nil, meet.Outcome{}, stopped
	}
	if d.kernel == nil {
		return nil, meet.Outcome{}, check.Errorf("lp", meet.ErrInfeasible, "instance-cap = %g: no kernel found that keeps it, with the bins and in the time allowed%s", d.problem.InstanceCap, d.endless())
	}
	v, err := meet.Verified(d.kernel.WithDual(d.dual))
	if err != nil {
		return nil, meet.Outcome{}, err
	}
	gap, finite := v.Certificate().Gap()
	o, err := d.Outcome(d.upperRounds+d.lowerRounds, gap, finite, stopped)
	return v, o, err
}

// endless says what a cell without an end means for a cap, if there is one.
func (d *designer) endless() string {
	e := d.problem.Edges
	if !math.IsInf(e[0], 0) && !math.IsInf(e[len(e)-1], 0) {
		return ""
	}
	return "; the noise of a cell without an end is private by itself and loses no less than noise that does not depend on the value"
}
