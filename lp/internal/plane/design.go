// SPDX-License-Identifier: Apache-2.0

// Package plane designs noise for two numbers together; see lp.DesignPlane.
package plane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/internal/solver"
	"github.com/noisewright/noisewright/lp/internal/engine"
	"github.com/noisewright/noisewright/lp/internal/meet"
	"github.com/noisewright/noisewright/plane"
)

// Design finds noise and a bound that meet to the requested gap.
func Design(ctx context.Context, p plane.Problem, s *meet.Search) (*plane.Verified, meet.Outcome, error) {
	d := &designer{Search: *s, problem: p}
	k, err := d.first()
	if err == nil {
		err = d.Meet(ctx, d, k)
	}
	return meet.Finish(&d.Search, d.noise, d.dual, d.rounds, err, func() error {
		return check.Errorf("lp", meet.ErrLimit, "no private noise was found")
	})
}

// designer is the state of one DesignPlane.
type designer struct {
	meet.Search
	problem plane.Problem
	noise   *plane.Noise
	dual    *plane.Dual
	rounds  int
	binding [][2]int // the shifts that matter with before cells per sensitivity
	before  int
}

// A design begins with about so many rings of cells, and of real values at most firstCells cells per sensitivity.
const (
	firstRings        = 21
	firstCells        = 5
	firstIntegerRings = 14
)

// extent is about how far out noise has weights, in sensitivities: beyond it the best has next to none.
func (d *designer) extent() float64 {
	p := d.problem
	e := max(p.Epsilon, 0.05)
	return 1.2/e*math.Log1p(math.Expm1(e)/(2*p.Delta)) + 0.5 + 0.9/e
}

// rings is how many rings of cells there are around the middle; of large cells some more.
func (d *designer) rings(k int) int { return int(math.Ceil(d.extent()*float64(k))) + max(4-k, 0) }

// fits reports whether grids of k cells per sensitivity are allowed.
func (d *designer) fits(k int) bool {
	return k <= limits.PlaneCells && 2*d.rings(k)+1 <= d.Options.MaxCells
}

// first returns the cells per sensitivity to begin with: of whole numbers as many as the sensitivity if
// these are few enough.
func (d *designer) first() (int, error) {
	k := min(max(1, int(firstRings/d.extent())), firstCells)
	if d.problem.Query == dp.IntegerQuery {
		k = max(1, int(firstIntegerRings/d.extent()))
		if s := d.problem.Sensitivity; d.problem.Norm != plane.LInf || s < limits.PlaneCells && d.fits(int(s)) {
			k = int(min(s, limits.PlaneCells+1))
		}
	}
	if !d.fits(k) {
		return 0, check.Field("lp", "epsilon", d.problem.Epsilon, fmt.Sprintf("one, with delta, for which noise of at most %d cells along an axis does: %d are needed", d.Options.MaxCells, 2*d.rings(k)+1))
	}
	return k, nil
}

// Next returns half as many cells again, or as many as are allowed, or of real values fewer if the gap, which falls with the square of their
// number, will be reached with these; of whole numbers that are cells there are no more.
func (d *designer) Next(k int) (int, error) {
	next := k + (k+1)/2
	if s := d.problem.Sensitivity; d.problem.Query == dp.IntegerQuery {
		if float64(k) == s {
			return 0, meet.ErrLimit
		}
		next = int(min(float64(next), s))
	} else {
		enough := 1.05 * float64(k) * math.Sqrt(d.Gap()/d.Options.Gap)
		next = int(min(math.Ceil(enough), float64(next)))
	}
	for next > k+1 && !d.fits(next) {
		next--
	}
	if !d.fits(next) {
		return 0, check.Errorf("lp", meet.ErrLimit, "%d cells along an axis are needed, max-cells = %d", 2*d.rings(next)+1, d.Options.MaxCells)
	}
	return next, nil
}

// Round solves both programs with k cells per sensitivity.
func (d *designer) Round(ctx context.Context, k int) error {
	aim := min(d.Aim(), d.Options.Gap)
	if err := d.upper(ctx, k, aim); err != nil {
		return err
	}
	return d.lower(ctx, d.nodes(k), aim)
}

// nodes is how many nodes per sensitivity a bound has beside noise of k cells: of real values more of them, as bounds
// gain more by finer grids than noise does.
func (d *designer) nodes(k int) int {
	if d.problem.Query == dp.IntegerQuery {
		return k
	}
	return min(k*7/4, limits.PlaneCells)
}

// grid lays k cells per sensitivity over points, with so many of them that what is lost by rounding is
// well within the margin in delta.
func (d *designer) grid(k int) plane.Grid {
	const bits = 26
	p := d.problem
	g := plane.Grid{CellsPerSensitivity: k}
	if p.Query == dp.RealQuery {
		_, exp := math.Frexp(p.Sensitivity / float64(k))
		g.GranularityExponent = exp - 1 - bits
	}
	points := exact.Rational(p.Sensitivity)
	n := exact.Ceil(points.Quo(points, exact.PowerOfTwo(g.GranularityExponent)))
	if p.Query == dp.RealQuery && p.Norm == plane.L1 {
		n.Add(n, big.NewInt(1))
	}
	g.PointsPerCell = (n.Int64()+int64(k)-1)/int64(k) | 1
	return g
}

// upper designs noise and keeps it if it is the best.
func (d *designer) upper(ctx context.Context, k int, aim float64) error {
	g := d.grid(k)
	width := float64(g.PointsPerCell) * math.Ldexp(1, g.GranularityExponent)
	n := d.rings(k)
	l := layout{norm: d.problem.Norm, rings: n, decay: d.problem.Epsilon / float64(k), shifts: d.likely(k)}
	for i := range n + 1 {
		l.cost = append(l.cost, d.problem.Loss.CellMean(float64(i)*width, width*(1-1/float64(g.PointsPerCell))))
	}
	return meet.Margins(aim, func(margin float64) error {
		l.epsilon, l.delta = meet.Inside(d.problem.Privacy, margin, float64((2*n+1)*(2*n+1))*0x1p-62)
		mass, err := d.keeping(ctx, &l, k, engine.Want{Gap: margin, Excess: meet.ResidualShare * margin})
		if err != nil {
			return err
		}
		v, err := meet.Verified(plane.New(plane.Spec{Problem: d.problem, Grid: g, Weights: l.weights(mass)}))
		if err != nil {
			return err
		}
		meet.Keep(&d.Search, &d.noise, v)
		return nil
	})
}

// likely returns the shifts that probably matter with k cells per sensitivity: those by a whole
// sensitivity, and those that mattered on the grid before.
func (d *designer) likely(k int) (list [][2]int) {
	near := func(x, y int) bool {
		for _, s := range d.binding {
			scale := float64(k) / float64(d.before)
			if math.Abs(float64(s[0])*scale-float64(x)) < 0.75 && math.Abs(float64(s[1])*scale-float64(y)) < 0.75 {
				return true
			}
		}
		return false
	}
	d.problem.Shifts(k, func(x, y, length int) {
		if length == k || near(x, y) {
			list = append(list, [2]int{x, y})
		}
	})
	return list
}

// keeping solves the program with more and more shifts until the masses keep the limits of all.
func (d *designer) keeping(ctx context.Context, l *layout, k int, want engine.Want) ([]float64, error) {
	for {
		s, status, err := l.solve(ctx, &d.Options, want)
		if err != nil {
			return nil, err
		}
		d.rounds += s.Rounds()
		if status != solver.StatusOptimal {
			return nil, errors.Join(meet.Stopped(status), meet.ErrLimit)
		}
		mass := s.Masses()
		known := make(map[[2]int]bool)
		d.binding, d.before = nil, k
		total := 0.0
		for i := range l.shifts {
			total += s.Price(i)
		}
		for i, x := range l.shifts {
			known[x] = true
			if s.Price(i) > 1e-4*total {
				d.binding = append(d.binding, x)
			}
		}
		var broken []violation
		d.problem.Shifts(k, func(x, y, _ int) {
			shift := [2]int{x, y}
			if known[shift] {
				return
			}
			if excess := l.divergence(mass, shift) - l.delta*(1+want.Excess); excess > 0 {
				broken = append(broken, violation{excess, shift})
			}
		})
		if len(broken) == 0 {
			return mass, nil
		}
		slices.SortFunc(broken, func(a, b violation) int { return cmp.Compare(b.excess, a.excess) })
		for _, b := range broken[:min(len(broken), max(4, k))] {
			l.shifts = append(l.shifts, b.shift)
		}
	}
}

// violation is a shift whose limit masses break.
type violation struct {
	excess float64
	shift  [2]int
}

// lower proves a bound with k nodes per sensitivity and keeps it if it is the best.
func (d *designer) lower(ctx context.Context, k int, aim float64) error {
	beyond := k
	if d.problem.Query == dp.RealQuery {
		beyond = int(math.Ceil(float64(k) * min(1, 2/d.problem.Epsilon))) // multipliers fall with epsilon
	}
	l := layout{
		norm: d.problem.Norm, rings: d.rings(k) + max(beyond, 4), lower: true, decay: d.problem.Epsilon / float64(k), shifts: d.binding,
		epsilon: d.problem.Epsilon, delta: d.problem.Delta,
	}
	if k != d.before {
		l.shifts = d.likely(k)
	}
	spec := plane.Spec{Problem: d.problem, Dual: &plane.Dual{CellsPerSensitivity: k}}
	for _, c := range spec.Nodes(l.rings) {
		f, _ := c.Float64()
		l.cost = append(l.cost, f)
	}
	s, status, err := l.solve(ctx, &d.Options, engine.Want{Gap: 0.02 * aim, Excess: meet.LowerTolerance, Bound: true})
	if err != nil || s == nil {
		return err
	}
	d.rounds += s.Rounds()
	spec.Dual = l.dual(s, k)
	if bound, _ := spec.LowerBound(nil).Float64(); bound > d.Bound {
		d.dual, d.Bound = spec.Dual, bound
	}
	return meet.Stopped(status)
}
