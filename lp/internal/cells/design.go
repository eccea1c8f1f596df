// SPDX-License-Identifier: Apache-2.0

// Package cells designs noise that depends on the cell of the value; see lp.DesignCells.
package cells

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/noisewright/noisewright/cells"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/solver"
	"github.com/noisewright/noisewright/lp/internal/engine"
	"github.com/noisewright/noisewright/lp/internal/meet"
	"github.com/noisewright/noisewright/lp/internal/noise"
	"github.com/noisewright/noisewright/proof"
)

// Design finds a kernel and a bound that meet to the requested gap.
func Design(ctx context.Context, p Problem, s *meet.Search) (*cells.Verified, meet.Outcome, error) {
	d := &designer{Search: *s, problem: p}
	stopped := d.refine(ctx)
	v, o, err := meet.Finish(&d.Search, d.kernel, d.dual, d.upperRounds+d.lowerRounds, stopped, func() error {
		return check.Errorf("lp", meet.ErrInfeasible, "instance-cap = %g: no kernel found that keeps it, with the bins allowed%s", d.problem.InstanceCap, d.endless())
	})
	o.OneLaw = d.oneLaw
	return v, o, err
}

// designer is the state of one DesignCells. The two sides work at the same time
// and touch only their own fields.
type designer struct {
	meet.Search
	problem Problem
	unit    float64 // of the costs passed to the solver
	oneLaw  float64 // loss of noise with one law, rounded up

	// The upper side, which has Best.
	kernel      *cells.Kernel
	upperLaws   binLaws
	upperRounds int
	certify     time.Duration // what the last kernel took
	// The lower side, which has Bound.
	dual        *cells.Dual
	infeasible  bool // the lower program has no solution
	lowerLaws   binLaws
	lowerRounds int
	prove       time.Duration // what the last bound took
}

// refine solves both programs on finer and finer bins until they meet.
func (d *designer) refine(ctx context.Context) error {
	k := d.first(fewBins)
	if err := d.begin(ctx, d.first(firstBins), k); err != nil {
		return err
	}
	return d.Meet(ctx, d, k)
}

// first returns the bins per sensitivity to begin with, about as many as wanted.
func (d *designer) first(want int) int {
	if d.problem.Bins > 0 {
		return d.problem.Bins
	}
	base := d.problem.base()
	return base * ((want + base - 1) / base)
}

// Round solves both programs with k bins per sensitivity.
func (d *designer) Round(ctx context.Context, k int) error {
	aim := d.FineAim()
	err := d.Both(ctx, 2*d.certify+3*d.prove,
		func(ctx context.Context) error { return d.upper(ctx, k, aim) },
		func(ctx context.Context) error { return d.lower(ctx, k, meet.StallShare*aim) })
	if d.infeasible && (err == nil || errors.Is(err, meet.ErrLimit)) {
		return check.Errorf("lp", meet.ErrInfeasible, "instance-cap = %g is out of reach of all private noise for these cells%s", d.problem.InstanceCap, d.endless())
	}
	return err
}

// Next returns half as many bins again, of which every cell is a whole number.
func (d *designer) Next(k int) (int, error) {
	if d.problem.Bins > 0 {
		return 0, meet.ErrLimit
	}
	base, first := d.problem.base(), d.first(firstBins)
	if k < first {
		return first, nil
	}
	k += base * ((k/2 + base - 1) / base)
	if bins := 2*(d.half(k)+k) + 1; bins > d.Options.MaxCells || k > MostBins {
		return 0, check.Errorf("lp", meet.ErrLimit, "%d bins are needed, max-cells = %d", bins, d.Options.MaxCells)
	}
	return k, nil
}

// MostBins bounds the bins per sensitivity.
const MostBins = 1 << 10

// A design begins with noise of one law on about firstBins bins per sensitivity, and, as that
// takes little time, with laws of every cell on about fewBins.
const firstBins, fewBins = 4, 2

// half is the number of bins on either side of 0: those of a support on which there is private
// noise, and more.
func (d *designer) half(k int) int {
	p := dp.Problem{Privacy: d.problem.Privacy, Loss: d.problem.Loss}
	reach := noise.SupportBound(p)
	if p.Epsilon > 0 {
		reach = min(2*reach, reach+3/p.Epsilon)
	}
	return max(int(math.Ceil(reach*float64(k))), k+1)
}

// begin finds the kernel to start from: noise that has the same law in every cell, as the
// only cell that holds all values, on k bins per sensitivity. Its loss is the unit of costs. That
// there is none, or no time, is no error. Before fewer than k bins it proves a bound with one.
func (d *designer) begin(ctx context.Context, k, few int) error {
	one := d.problem
	one.Edges, one.Weight, one.InstanceCap, one.CapLoss = []float64{math.Inf(-1), math.Inf(1)}, nil, 0, nil
	d.unit = one.Loss.CellMean(0, 4*one.Sensitivity/max(one.Epsilon, 0.1))
	d.beginClosed(ctx)
	if few > 1 && few < k && ctx.Err() == nil {
		if err := d.lower(ctx, 1, meet.StallShare*d.FineAim()); err != nil && !errors.Is(err, meet.ErrLimit) {
			return err
		}
	}
	err := meet.Margins(d.FineAim(), func(margin float64) error {
		if ctx.Err() != nil {
			return meet.ErrLimit
		}
		laws, err := d.solve(ctx, one, k, margin)
		switch {
		case err != nil:
			return err
		case laws == nil: // another margin may do
			return proof.ErrNotPrivate
		}
		return d.keepOne(k, laws[0])
	})
	if errors.Is(err, meet.ErrLimit) || meet.NotKept(err) {
		return nil
	}
	return err
}

// beginClosed keeps noise that needs no solver, of an atom that is spread over the middle bin.
func (d *designer) beginClosed(ctx context.Context) {
	p, o := dp.Problem{Privacy: d.problem.Privacy, Loss: d.problem.Loss}, d.Part(1)
	p.Delta *= 1 - 1e-9            // which rounding may use up
	p.Constraints.Symmetric = true // as bins are
	o.MaxCells = max(closedBins, 2*int(noise.SupportBound(p))+5)
	s, _, cancel := o.Begin(ctx)
	defer cancel()
	table, err := noise.Simple(p, s)
	if err != nil {
		return
	}
	law, atom := table.Mechanism().PMF()
	law[len(law)/2] += atom
	_ = d.keepOne(table.Mechanism().Grid().CellsPerSensitivity, law) // one that is not kept is not there
}

// closedBins is how many bins noise that needs no solver may have, and more where it needs them.
const closedBins = 64

// keepOne keeps noise with one law, if it is the best.
func (d *designer) keepOne(k int, law []float64) error {
	laws := slices.Repeat([][]float64{law}, len(d.problem.Edges)-1)
	if err := d.roundMasses(k, laws); err != nil {
		return err
	}
	d.unit, d.oneLaw = max(d.Best, 1e-300), exact.FloatUp(d.kernel.Certify().ExpectedLoss)
	d.upperLaws = binLaws{k, laws}
	d.lowerLaws = d.upperLaws
	return nil
}

// solve returns the laws of the upper program, nil if there are none.
func (d *designer) solve(ctx context.Context, p Problem, k int, margin float64) ([][]float64, error) {
	half := d.half(k)
	epsilon, delta := meet.Inside(p.Privacy, margin, float64(2*half+1)*0x1p-62)
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
func (d *designer) upper(ctx context.Context, k int, aim float64) error {
	return meet.Margins(aim, func(margin float64) error {
		laws, err := d.solve(ctx, d.problem, k, margin)
		if err != nil || laws == nil {
			return err
		}
		d.upperLaws = binLaws{k, laws}
		return d.roundMasses(k, laws)
	})
}

// roundMasses makes the kernel with the given laws and keeps it if it is the best. The error wraps
// proof.ErrNotPrivate or proof.ErrFalseClaim if the exact test of privacy or of the cap fails.
func (d *designer) roundMasses(k int, laws [][]float64) error {
	p := d.problem
	g := binGrid(p.Sensitivity, k)
	g.FirstBin = -(len(laws[0]) / 2)
	rows, err := meet.Rows(laws, 0)
	if err != nil {
		return err
	}
	start := d.Elapsed()
	defer func() { d.certify = d.Elapsed() - start }()
	v, err := meet.Verified(cells.New(cells.Spec{
		Privacy: p.Privacy, Loss: p.Loss, Edges: p.Edges, Weight: p.weight(), Grid: g, Rows: rows,
		InstanceCap: p.InstanceCap, CapLoss: p.CapLoss,
	}))
	if err != nil {
		return err
	}
	meet.Keep(&d.Search, &d.kernel, v)
	return nil
}

// lower proves a bound with K nodes per sensitivity and keeps it if it is the best.
func (d *designer) lower(ctx context.Context, k int, stall float64) error {
	p := d.problem
	l := lowerLayout(p, k, d.half(k), d.unit)
	prog, status, err := l.solve(ctx, &d.Options, k, d.lowerLaws, engine.Want{Gap: stall, Excess: meet.LowerTolerance, Stall: stall})
	if err != nil {
		return err
	}
	d.lowerRounds += prog.Rounds()
	d.infeasible = d.infeasible || status == solver.StatusInfeasible
	if prog.Rounds() > 0 {
		d.lowerLaws = binLaws{k, prog.laws()}
		start := d.Elapsed()
		dual := prog.dual(k, d.unit, p.InstanceCap)
		proved := cells.Spec{
			Privacy: p.Privacy, Loss: p.Loss, Edges: p.Edges, Weight: p.weight(),
			InstanceCap: p.InstanceCap, CapLoss: p.CapLoss, Dual: dual,
		}
		if bound, _ := proved.LowerBound().Float64(); bound > d.Bound {
			d.dual, d.Bound = dual, bound
		}
		d.prove = d.Elapsed() - start
	}
	return meet.Stopped(status)
}

// endless says what a cell without an end means for a cap, if there is one.
func (d *designer) endless() string {
	e := d.problem.Edges
	if !math.IsInf(e[0], 0) && !math.IsInf(e[len(e)-1], 0) {
		return ""
	}
	return "; the noise of a cell without an end is private by itself and loses no less than noise that does not depend on the value"
}
