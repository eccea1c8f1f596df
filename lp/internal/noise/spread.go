// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"context"
	"math"
	"math/big"
	"strings"
	"time"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp/internal/meet"
	"github.com/noisewright/noisewright/tables"
)

// Noise on many points is nearly real noise, rounded. Whole numbers of points for a cell leave some of the
// sensitivity unused, or protect more than that, and kinks and jumps of the loss off the grid. A
// real query has neither: its multipliers are about noise that is spread over the distance of points
// (docs/proofs/lower-bound.md), and noise that is private stays so when it is rounded.

// meetSpread designs for the real query, and keeps its noise, rounded, and its multipliers. It returns nil
// also if these do not meet.
func (d *designer) meetSpread(ctx context.Context) error {
	const (
		share = 0.9 // of the gap, for the real query
		part  = 0.9 // of the time that is left
	)
	p, least, ok := d.realProblem()
	if !ok {
		return nil
	}
	s := meet.Search{Options: d.Options, Start: d.Start, Best: math.Inf(1)}
	s.Options.Gap = max(share*d.Options.Gap, least, meet.MinGap)
	s.Options.Progress = nil
	if d.Options.TimeLimit > 0 {
		reserve := time.Duration((1 - part) * float64(d.Left()))
		s.Options.TimeLimit -= reserve
		if d.Options.Clock == nil {
			var cancel context.CancelFunc
			ctx, cancel = d.Within(ctx, reserve)
			defer cancel()
		}
	}
	r, err := newDesigner(p, &s)
	if err != nil {
		return nil
	}
	r.spread, r.proves, r.unclosed = d.unit, d.Problem, d.Gap() > farApart
	// Nodes that are next to as close as points are lowered by much.
	if r.finest = int(d.points * 2 / 3); r.begin() != nil {
		return nil
	}
	if r.Gap() > s.Options.Gap {
		_ = r.meet(ctx) // whatever it ended with is as good
	}
	d.rounds += r.rounds
	if r.Bound > d.Bound {
		d.dual, d.Bound = r.dual, r.Bound
	}
	if r.table != nil {
		const little, most = 0.1, 0.6 // of the time that is left
		d.keepRounded(r.table, little)
		// Where only rounding misses the gap, it may take longer.
		if d.Options.TimeLimit > 0 && d.Gap() > d.Options.Gap && meet.RelativeGap(r.Best, d.Bound) <= d.Options.Gap {
			d.keepRounded(r.table, most)
		}
	}
	d.Report(max(r.upper.grid.k, r.lower.grid.k))
	return nil
}

// realProblem returns the real query of which that on points is the rounding, the least gap it is good for, and
// whether it is worth while.
func (d *designer) realProblem() (p dp.Problem, least float64, ok bool) {
	const (
		fewer = 2    // times fewer cells than points, for which that gap is left
		few   = 64   // points, which need no coarser cells
		more  = 2e-4 // gap, for which few points are more than are needed
		fine  = 30   // points, where jumps may be off a coarse grid
		poor  = 1e-2 // gap
	)
	if cells := float64(d.points / fewer); d.firstCells(1) > 0 && len(d.jumps) == 0 {
		least = max(d.curvature, 0) / (cells * cells)
	}
	c := d.Constraints
	// Noise for a loss that is not symmetric, or with masses far out where they cost no more, is hardly monotone by itself.
	monotone := d.folded && (d.Delta <= largeDelta || len(d.jumps) == 0)
	needed := d.points < few && !(least > 0 && least <= more)
	if len(d.jumps) == 0 && needed || len(d.jumps) > 0 && d.points < fine || d.points == 0 || least > poor || c.Monotone && !monotone || c.Support != nil || c.MaxDistinguishing > 0 || c.MaxVariance > 0 || len(c.Quantiles) > 0 || d.Options.Generate {
		return p, 0, false
	}
	p = d.Problem
	p.Query, p.Step = dp.RealQuery, 0
	unit, _ := d.unit.Float64()
	p.Sensitivity = float64(d.points) * unit
	switch {
	case len(d.jumps) > 0 && strings.HasPrefix(d.Loss.Name(), "exceed:"): // where points are rounded to those beyond
		at := exact.Rational(math.Abs(d.jumps[0]))
		point := new(big.Rat).SetInt(exact.Floor(at.Quo(at, d.unit)))
		x, _ := point.Add(point, big.NewRat(1, 2)).Mul(point, d.unit).Float64()
		moved, err := loss.New("exceed", x)
		if _, weight := loss.Of(d.Loss).Unweighted(); err != nil || weight != 1 {
			return p, 0, false
		}
		p.Loss = moved
	case len(d.jumps) > 0:
		return p, 0, false
	}
	return p, least, true
}

// keepRounded keeps real noise, rounded in a share of the time that is left, if it is the best.
func (d *designer) keepRounded(t *tables.Table, share float64) {
	if v, err := d.rounded(t, share); err == nil {
		d.keepTable(v)
	}
}

// rounded rounds real noise to the points: with cells of s points each that make up P or more, noise of that
// sensitivity to cells, and a uniform point of the cell. It takes a share of the time that is left.
func (d *designer) rounded(t *tables.Table, share float64) (*tables.Verified, error) {
	const (
		each   = 4 * time.Nanosecond // cells times cells per sensitivity, as certifying takes
		little = 1 << 22             // work that noise is worth even if none is left
		perRun = 80                  // cells that take as long as the points of a cell that are equally heavy
	)
	work, cells := float64(1<<27), float64(d.Options.MaxCells)
	single := cells // if they are points
	if d.Options.TimeLimit > 0 {
		work = min(work, max(share*float64(d.Left())/float64(each), little))
		cells = min(cells, max(fewCells, share*float64(d.Left())/float64(d.perCell())))
		single = min(single, max(fewCells, share*float64(d.Left())/float64(d.perPoint())))
	}
	_, _, quick := loss.Of(d.Loss).PolynomialBeyond()
	masses, atom := t.PMF()
	g := t.Grid()
	reach := float64(t.Reach()) / float64(int64(g.CellsPerSensitivity)*g.PointsPerCell) // sensitivities
	unit, _ := d.unit.Float64()
	size, waste := int64(0), math.Inf(1)
	for s := int64(1); s <= d.points && size == 0 || s < 3*size; s += 2 {
		k := (d.points + s - 1) / s
		n := 2 * (reach + 1) * float64(k)
		if s == 1 && n > single || s > 1 && n > cells {
			continue
		}
		if quick {
			n = min(n, perRun*float64(len(masses)))
		}
		if n*float64(k) > work {
			continue
		}
		missed := 0.0
		for _, x := range d.jumps { // that cells hold: they lie between points
			at := (math.Floor(math.Abs(x)/unit)+0.5)/float64(s) - 0.5
			missed = max(missed, math.Abs(at-math.Round(at))/float64(k)*math.Expm1(d.Epsilon))
		}
		if w := float64(k*s)/float64(d.points) - 1 + missed; w < waste {
			size, waste = s, w
		}
	}
	if size == 0 {
		return nil, tooManyCells(d.Options.MaxCells)
	}
	k := int((d.points + size - 1) / size)
	out := grid{k: k, table: d.pointCells(size)}
	out.table.CellsPerSensitivity = k
	wide := float64(k) / float64(g.CellsPerSensitivity) // of a cell, in cells of points
	edge := func(i int) float64 {
		return (float64(g.FirstCell+i)-0.5+float64(g.Offset)/float64(g.PointsPerCell))*wide + 0.5
	}
	out.first = int(math.Floor(edge(0)))
	fine := make([]float64, int(math.Floor(edge(len(masses))))-out.first+1)
	for i, m := range masses {
		a, b := edge(i), edge(i+1)
		for c := math.Floor(a); c < b; c++ {
			if part := min(b, c+1) - max(a, c); part > 0 {
				fine[int(c)-out.first] += m * part / (b - a)
			}
		}
	}
	if at := -out.first; size == 1 && at >= 0 && at < len(fine) {
		fine[at], atom = fine[at]+atom, 0
	}
	if d.folded {
		half := min(-out.first, len(fine)-1+out.first)
		fine = fine[-out.first-half : -out.first+half+1]
		out.first = -half
		for i, j := 0, len(fine)-1; i < j; i, j = i+1, j-1 {
			fine[i] = (fine[i] + fine[j]) / 2
			fine[j] = fine[i]
		}
	}
	out.n = len(fine)
	return d.makeTable(out, fine, atom)
}
