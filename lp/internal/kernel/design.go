// SPDX-License-Identifier: Apache-2.0

// Package kernel designs noise that depends on the query value; see lp.DesignKernel.
package kernel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/internal/solver"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/lp/internal/engine"
	"github.com/noisewright/noisewright/lp/internal/meet"
	"github.com/noisewright/noisewright/lp/internal/noise"
	"github.com/noisewright/noisewright/tables"
)

// Design finds a kernel and a bound that meet to the requested gap.
func Design(ctx context.Context, p Problem, s *meet.Search) (*kernels.Verified, meet.Outcome, error) {
	d := &designer{Search: *s, problem: p}
	d.Options.MaxCells = min(d.Options.MaxCells, limits.KernelCells)
	stopped := d.refine(ctx)
	return meet.Finish(&d.Search, d.kernel, d.dual, d.upperRounds+d.lowerRounds, stopped, func() error {
		return check.Errorf("lp", meet.ErrInfeasible, "instance-cap = %g: no kernel found that keeps it, with the cells allowed%s", d.problem.InstanceCap, d.alternative())
	})
}

// designer is the state of one DesignKernel. The two sides work at the same
// time and touch only their own fields.
type designer struct {
	meet.Search
	problem Problem
	unit    float64  // of the costs passed to the solver
	rounded struct { // noise that does not depend on the query value, on these cells
		cells int
		loss  float64 // the largest of a query value, rounded up
		laws  [][]float64
	}

	pure bool // the programs with delta = 0 were tried
	last bool // the next grid is expected to be the last
	// programs is what kernels and bounds of the programs alone reach, see refinePure, and
	// the last grid and its gap.
	programs struct {
		loss, bound float64
		cells       int
		gap         float64
	}
	// The upper side, which has Best and programs.loss.
	kernel      *kernels.Kernel
	upperLaws   [][]float64
	upperRounds int
	certify     time.Duration // what the last kernel took
	// The lower side, which has Bound and programs.bound.
	dual        *kernels.Dual
	infeasible  bool // the lower program has no solution
	lowerLaws   [][]float64
	lowerRounds int
	prove       time.Duration // what the last bound took
}

// refine solves both programs on finer and finer grids until they meet.
func (d *designer) refine(ctx context.Context) error {
	cells := d.first()
	least := cells
	if p := d.problem; p.Nodes == nil && p.Cells == 0 && p.InstanceCap == 0 {
		least, cells = leastCells, fewCells
	}
	if err := d.begin(ctx, least); err != nil {
		return err
	}
	d.programs.loss = d.Best
	return d.Meet(ctx, d, cells)
}

// Without a cap a design begins with one answer on leastCells, and with programs on fewCells, before
// those that may bring the gap down to what is asked for: these take next to no time.
const leastCells, fewCells = 2, 4

// soonCells is how many cells noise with one law is rounded to, and certified, whatever the time, and
// fixedCells where no fewer are allowed: certifying them takes a second or two.
const soonCells, fixedCells = 16, 256

// Round solves both programs on a grid, and before the first large one those with delta = 0 on
// finer grids.
func (d *designer) Round(ctx context.Context, cells int) error {
	if cells > pureFrom && cells >= d.first() && !d.pure && !(d.last && cells <= pureAfter) {
		d.pure = true
		if err := d.refinePure(ctx, cells); err != nil || d.Gap() <= d.Options.Gap {
			return err
		}
	}
	split, aim := d.split(cells), d.FineAim()
	// The next kernel and bound take somewhat longer than the last ones.
	err := d.Both(ctx, 3*(d.certify+d.prove),
		func(inner context.Context) error { return d.upper(inner, ctx, split, aim) },
		func(ctx context.Context) error { return d.lower(ctx, cells, meet.StallShare*aim) })
	if err != nil && !errors.Is(err, meet.ErrLimit) {
		return err
	}
	if raised, err := d.raiseCap(ctx); err != nil {
		return err
	} else if raised {
		return d.Round(ctx, cells)
	}
	if d.infeasible {
		return check.Errorf("lp", meet.ErrInfeasible, "instance-cap = %g is out of reach of every private mechanism", d.problem.InstanceCap)
	}
	return err
}

// raiseCap raises the cap to what rounded noise keeps, within the slack, if no kernel that
// keeps it was found. What was proven is about the smaller cap and is given up.
func (d *designer) raiseCap(ctx context.Context) (bool, error) {
	if d.kernel != nil || !d.roundedSuits() || d.rounded.loss <= d.problem.InstanceCap {
		return false, nil
	}
	d.problem.InstanceCap = d.rounded.loss
	d.dual, d.Bound, d.programs.bound, d.infeasible = nil, 0, 0, false
	_, err := d.roundMasses(context.WithoutCancel(ctx), d.split(d.rounded.cells), d.rounded.laws)
	return true, err
}

func (d *designer) roundedSuits() bool {
	return d.rounded.cells > 0 && d.rounded.loss <= d.problem.InstanceCap*(1+d.problem.CapSlack)
}

func (d *designer) split(cells int) partition {
	if d.problem.Nodes != nil {
		return nearest(d.problem.Queries, d.problem.Nodes)
	}
	return evenly(d.problem, cells)
}

func (d *designer) first() int {
	p := d.problem
	switch {
	case p.Nodes != nil:
		return len(p.Nodes)
	case p.Cells > 0:
		return p.Cells
	}
	return d.whole(max(8, int(math.Ceil((p.Queries.Upper-p.Queries.Lower)/p.Sensitivity))))
}

// Next returns the number of cells expected to close the gap of the programs, if it goes on
// to fall as from the grid before, at first with their square; but not too many more than
// before: only a last grid may be as large as it takes.
func (d *designer) Next(cells int) (int, error) {
	if d.problem.Nodes != nil || d.problem.Cells > 0 {
		return 0, meet.ErrLimit
	}
	if first := d.first(); cells < first {
		return min(first, d.whole(2*cells)), nil
	}
	const leastRate, mostRate, mostGrowth = 1, 2, 1.75
	gap, rate := meet.RelativeGap(d.programs.loss, d.programs.bound), float64(mostRate)
	if before := d.programs; before.cells > 0 && cells > before.cells {
		rate = math.Log(before.gap/gap) / math.Log(float64(cells)/float64(before.cells))
		rate = min(max(rate, leastRate), mostRate) // NaN, if there was no bound, stays
	}
	d.programs.cells, d.programs.gap = cells, gap
	growth := math.Pow(gap/(0.95*max(d.Aim(), d.Options.Gap)), 1/rate)
	if d.last = growth <= mostGrowth; !d.last {
		growth = 1.5
	}
	cells = d.whole(int(math.Ceil(float64(cells) * max(growth, 1.12))))
	if cells > d.Options.MaxCells {
		return 0, check.Errorf("lp", meet.ErrLimit, "%d cells are needed, max-cells = %d", cells, d.Options.MaxCells)
	}
	return cells, nil
}

// whole returns a number of cells, at least want and not much more, of which the
// sensitivity is nearly a whole number. The lower bound, whose cells are equal,
// loses what is beyond a whole number.
func (d *designer) whole(want int) int {
	per := d.problem.Sensitivity / (d.problem.Queries.Upper - d.problem.Queries.Lower)
	if per >= 1 {
		return want
	}
	best, least := want, math.Inf(1)
	for n := want; n <= want+max(1, want/4); n++ {
		k := per * float64(n)
		if miss := (k-math.Floor(k+1e-9))/k + 1e-3*float64(n-want); miss < least {
			best, least = n, miss
		}
	}
	return best
}

// begin finds the kernel to start from: one answer for all, which is private and,
// without a cap, always there. Its loss is the unit of costs. With a cap, and on cells that are fixed, it is
// noise that does not depend on the query value.
func (d *designer) begin(ctx context.Context, cells int) error {
	split := d.split(cells)
	best, least := 0, math.Inf(1)
	costs := d.problem.Queries.AnswerCosts(split.edges, split.nodes, d.problem.Loss)
	for j := range split.nodes {
		var sum float64
		for k := range costs {
			c, _ := costs[k][j].Float64()
			sum += c
		}
		if sum < least {
			best, least = j, sum
		}
	}
	d.unit = max(least, 1e-300)
	if d.problem.InstanceCap > 0 {
		return d.beginRounded(ctx, cells)
	}
	answer := make([]float64, len(costs))
	answer[best] = 1
	if _, err := d.roundMasses(context.WithoutCancel(ctx), split, slices.Repeat([][]float64{answer}, len(costs))); err != nil || d.problem.Cells == 0 {
		return err
	}
	return d.beginRounded(ctx, cells) // there are no coarser programs before the one of these cells
}

// beginRounded looks for noise that does not depend on the query value and keeps the cap, if there
// is one, rounded to finer and finer cells: an answer is off by up to half a cell beside its
// noise. That there is none, or no time, is no error.
func (d *designer) beginRounded(ctx context.Context, cells int) error {
	p := d.problem
	if p.Nodes != nil {
		return nil
	}
	additive, o := dp.Problem{Privacy: p.Privacy, Loss: p.capLoss()}, d.Part(1.0/4)
	additive.Delta *= 1 - 1e-9 // which rounding may use up
	o.Gap, o.MaxCells, o.Progress = 2e-3, 1<<17, nil
	s, start, cancel := o.Begin(ctx)
	defer cancel()
	table, _, err := noise.Design(start, additive, s)
	if table == nil {
		if errors.Is(err, meet.ErrLimit) {
			err = nil
		}
		return err
	}
	// Certifying takes time like the cube of the cells: of the next ones four times as
	// long, and twice.
	for cells <= d.Options.MaxCells {
		within := ctx
		if cells <= soonCells || p.Cells > 0 && cells <= fixedCells {
			within = context.WithoutCancel(ctx)
		} else if ctx.Err() != nil || 16*d.certify > d.Left() {
			return nil
		}
		split := d.split(cells)
		apart := 0 // cells that values within the sensitivity are apart, at most
		for _, pair := range p.protected(split.edges) {
			apart = max(apart, pair[1]-pair[0])
		}
		laws := clamped(table.Mechanism(), p.Sensitivity/float64(max(apart, 1)), len(split.nodes))
		v, err := d.certified(within, split, laws, math.MaxFloat64) // the certificate says which cap it keeps
		if err != nil {
			return nil // a kernel of so many cells has no weights for it
		}
		if most := exact.FloatUp(v.Certificate().CapLoss); d.rounded.cells == 0 || most < d.rounded.loss {
			d.rounded.cells, d.rounded.loss, d.rounded.laws = cells, most, laws
		}
		if _, err := d.roundMasses(within, split, laws); !meet.NotKept(err) || p.Cells > 0 || d.roundedSuits() {
			return nil
		}
		cells = d.whole(cells + cells/2)
	}
	return nil
}

// clamped returns the laws of the sum of a cell's number and noise, rounded to cells of
// a width, clamped to n cells.
func clamped(noise *tables.Table, width float64, n int) [][]float64 {
	masses, atom := noise.PMF()
	g := noise.Grid()
	step, _ := g.Step().Float64()
	half := float64(g.PointsPerCell) / 2
	rounded := make(map[int]float64) // mass of the noise by number of the cell
	rounded[0] = atom
	for i, m := range masses {
		center := float64(g.FirstPoint(i)) + half - 0.5
		from, to := (center-half)*step/width+0.5, (center+half)*step/width+0.5
		for j := math.Floor(from); j < to; j++ {
			rounded[int(j)] += m * (min(to, j+1) - max(from, j)) / (to - from)
		}
	}
	laws := meet.Matrix(n, n)
	for k := range laws {
		for j, m := range rounded {
			laws[k][min(max(k+j, 0), n-1)] += m
		}
	}
	return laws
}

// roundMasses makes the kernel with the given laws and keeps it if it is the best. It returns
// the expected loss. The error wraps proof.ErrNotPrivate or proof.ErrFalseClaim if the
// exact test of privacy or of the cap fails.
func (d *designer) roundMasses(ctx context.Context, split partition, laws [][]float64) (loss float64, err error) {
	v, err := d.certified(ctx, split, laws, d.problem.InstanceCap)
	if err != nil {
		return 0, err
	}
	return meet.Keep(&d.Search, &d.kernel, v), nil
}

func (d *designer) certified(ctx context.Context, split partition, laws [][]float64, instanceCap float64) (*kernels.Verified, error) {
	rows, err := meet.Rows(laws, 0x1p-40)
	if err != nil {
		return nil, err
	}
	start := d.Elapsed()
	defer func() { d.certify = d.Elapsed() - start }()
	return meet.Verified(kernels.New(ctx, kernels.Spec{
		Privacy: d.problem.Privacy, Queries: d.problem.Queries, Loss: d.problem.Loss,
		Edges: split.edges, Nodes: split.nodes, Rows: rows, InstanceCap: instanceCap, CapLoss: d.problem.CapLoss,
	}))
}

// upper designs a kernel on the cells and keeps it if it is the best, in all the time there is.
func (d *designer) upper(ctx, whole context.Context, split partition, aim float64) error {
	return meet.Margins(aim, func(margin float64) error {
		p := d.problem
		epsilon, delta := meet.Inside(p.Privacy, margin, float64(len(split.nodes))*0x1p-62)
		l := upperLayout(p, split, epsilon, delta, d.unit)
		if p.InstanceCap > 0 {
			l.broken = peaks(p, split, p.InstanceCap*(1-margin))
		}
		prog, status, err := l.solve(ctx, &d.Options, d.upperLaws, engine.Want{Gap: margin, Excess: meet.ResidualShare * margin})
		if err != nil {
			return err
		}
		d.upperRounds += prog.Rounds()
		if status != solver.StatusOptimal { // the cap is out of reach on these cells
			return meet.Stopped(status)
		}
		d.upperLaws = prog.Of(prog.Masses())
		loss, err := d.roundMasses(whole, split, d.upperLaws)
		if err == nil {
			d.programs.loss = min(d.programs.loss, loss)
		}
		return err
	})
}

// lower proves a bound on equal cells and keeps it if it is the best.
func (d *designer) lower(ctx context.Context, cells int, stall float64) error {
	p := d.problem
	l, ok := lowerLayout(p, cells, d.unit)
	if !ok {
		return nil
	}
	prog, status, err := l.solve(ctx, &d.Options, d.lowerLaws, engine.Want{Gap: stall, Excess: meet.LowerTolerance, Stall: stall})
	if err != nil {
		return err
	}
	d.lowerRounds += prog.Rounds()
	d.infeasible = d.infeasible || status == solver.StatusInfeasible
	if prog.Rounds() > 0 {
		bound := d.keepDual(func() *kernels.Dual { return prog.dual(d.unit, p.InstanceCap) })
		d.programs.bound = max(d.programs.bound, bound)
		d.lowerLaws = prog.Of(prog.Masses())
	}
	return meet.Stopped(status)
}

// keepDual makes multipliers, keeps them if they are the best, and returns what they prove.
func (d *designer) keepDual(multipliers func() *kernels.Dual) float64 {
	p, start := d.problem, d.Elapsed()
	dual := multipliers()
	proved := kernels.Spec{Privacy: p.Privacy, Queries: p.Queries, Loss: p.Loss, InstanceCap: p.InstanceCap, CapLoss: p.CapLoss, Dual: dual}
	bound, _ := proved.LowerBound().Float64()
	if bound > d.Bound {
		d.dual, d.Bound = dual, bound
	}
	d.prove = d.Elapsed() - start
	return bound
}

// alternative says which cap noise that does not depend on the query value would keep.
func (d *designer) alternative() string {
	if d.rounded.cells == 0 {
		return ""
	}
	return fmt.Sprintf("; noise that does not depend on the query value, rounded to %d cells, keeps %.4g", d.rounded.cells, d.rounded.loss*(1+1e-3))
}
