// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/solver"
	"github.com/noisewright/noisewright/lp/internal/engine"
	"github.com/noisewright/noisewright/lp/internal/meet"
)

// conflict names constraints that cannot be kept together: those left after dropping every one
// without which the lower program at K cells per sensitivity stays infeasible.
func (d *designer) conflict(ctx context.Context, k int) error {
	left := d.Problem
	for _, c := range listed(d.Constraints) {
		without := left
		c.drop(&without.Constraints)
		excluded, err := d.excluded(ctx, without, k)
		if err != nil {
			return err
		}
		if excluded {
			left = without
		}
	}
	return check.Errorf("lp", meet.ErrInfeasible, "%s cannot be kept together with epsilon = %g, delta = %g and sensitivity = %g, want looser ones", names(left.Constraints), d.Epsilon, d.Delta, d.Sensitivity)
}

// excluded reports whether the lower program at K cells per sensitivity says that no noise solves a
// problem. Here it has a limit on distinguishing outputs, for which bounds have no multiplier: the
// first K nodes have their mass from noise that is less than the sensitivity above the end of the
// support, so it is at most that limit, and so are the last.
func (d *designer) excluded(ctx context.Context, p dp.Problem, k int) (bool, error) {
	m, err := newModel(p)
	if err != nil {
		return false, err
	}
	side := &lower{model: m}
	g := side.extent(k, d.lower.reach)
	if g.n > d.Options.MaxCells {
		return false, nil
	}
	l := side.layout(g, m.typicalLoss(), 0)
	if limit := p.Constraints.MaxDistinguishing; limit > 0 {
		l.distinguish(m.folded, [2]bool{!g.openBelow, !g.openAbove}, g.k, limit)
	}
	_, status, err := l.solve(ctx, &d.Options, g, engine.Want{Gap: 1, Excess: meet.LowerTolerance})
	switch {
	case errors.Is(err, meet.ErrTooFine):
		return false, nil
	case err != nil:
		return false, err
	case ctx.Err() != nil:
		return false, meet.ErrLimit
	}
	return status == solver.StatusInfeasible, nil
}

func (d *designer) noTable(stopped error) error {
	err := check.Errorf("lp", meet.ErrInfeasible, "no noise with %s was found on grids of up to %d cells per sensitivity; it may not exist, or need more time or cells", names(d.Constraints), d.upper.grid.k)
	if stopped != nil {
		err = fmt.Errorf("%w (%w)", err, stopped)
	}
	return err
}

func names(c dp.Constraints) string {
	var names []string
	for _, one := range listed(c) {
		names = append(names, one.name)
	}
	return strings.Join(names, " and ")
}

// listedConstraint is one constraint of a set, as a flag states it.
type listedConstraint struct {
	name string
	drop func(*dp.Constraints)
}

func listed(c dp.Constraints) (all []listedConstraint) {
	add := func(stated bool, name string, drop func(*dp.Constraints)) {
		if stated {
			all = append(all, listedConstraint{name, drop})
		}
	}
	add(c.Symmetric, "symmetric", func(c *dp.Constraints) { c.Symmetric = false })
	add(c.Monotone, "monotone", func(c *dp.Constraints) { c.Monotone = false })
	add(c.Unbiased, "unbiased", func(c *dp.Constraints) { c.Unbiased = false })
	if s := c.Support; s != nil {
		add(true, fmt.Sprintf("support = %g,%g", s.Lower, s.Upper), func(c *dp.Constraints) { c.Support = nil })
	}
	add(c.MaxVariance != 0, fmt.Sprintf("max-variance = %g", c.MaxVariance), func(c *dp.Constraints) { c.MaxVariance = 0 })
	for _, q := range c.Quantiles {
		add(true, fmt.Sprintf("quantile = %g,%g", q.Probability, q.Magnitude), func(c *dp.Constraints) {
			c.Quantiles = slices.DeleteFunc(slices.Clone(c.Quantiles), func(other dp.Quantile) bool { return other == q })
		})
	}
	add(c.MaxDistinguishing != 0, fmt.Sprintf("max-distinguishing = %g", c.MaxDistinguishing), func(c *dp.Constraints) { c.MaxDistinguishing = 0 })
	return all
}
