package lp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/lp/internal/cuts"
	"github.com/noisewright/noisewright/lp/solver"
)

// ErrInfeasible marks constraints that no noise keeps together.
var ErrInfeasible = errors.New("no noise keeps the constraints")

// conflict names constraints that cannot be kept together: those left after
// dropping every one without which the lower program at K cells per sensitivity
// stays infeasible.
func (d *designer) conflict(ctx context.Context, k int) error {
	left := d.Constraints
	for _, c := range listed(d.Constraints) {
		without := c.drop(left)
		p := d.Problem
		p.Constraints = without
		m, err := newModel(p)
		if err != nil {
			return err
		}
		program := &lower{model: m}
		g := program.extent(k, d.lower.reach)
		if g.n > d.options.MaxCells {
			continue
		}
		prog, err := newProgram(program.layout(g, m.typicalLoss(), 0), d.options.NewSolver, 0)
		if err != nil {
			return err
		}
		status, err := prog.run(ctx, g, nil, lowerTolerance, 0)
		if err := errors.Join(err, prog.close()); err != nil && !errors.Is(err, cuts.ErrFailed) {
			return err
		}
		if ctx.Err() != nil {
			return ErrLimit
		}
		if err == nil && status == solver.StatusInfeasible {
			left = without
		}
	}
	var names []string
	for _, c := range listed(left) {
		names = append(names, c.name)
	}
	return check.Errorf("lp", ErrInfeasible, "%s cannot be kept together with epsilon = %g, delta = %g and sensitivity = %g, want looser ones", strings.Join(names, " and "), d.Epsilon, d.Delta, d.Sensitivity)
}

// noTable says why there is no table.
func (d *designer) noTable(stopped error) error {
	var names []string
	for _, c := range listed(d.Constraints) {
		names = append(names, c.name)
	}
	err := check.Errorf("lp", ErrInfeasible, "no noise with %s was found on grids of up to %d cells per sensitivity; it may not exist, or need more time or cells", strings.Join(names, " and "), d.upper.grid.k)
	if stopped != nil {
		err = fmt.Errorf("%w (%w)", err, stopped)
	}
	return err
}

// listedConstraint is one constraint of a set, as a flag states it.
type listedConstraint struct {
	name string
	drop func(dp.Constraints) dp.Constraints
}

// listed lists the constraints of a set that can make it infeasible.
func listed(c dp.Constraints) []listedConstraint {
	var all []listedConstraint
	add := func(name string, drop func(*dp.Constraints)) {
		all = append(all, listedConstraint{name, func(c dp.Constraints) dp.Constraints {
			drop(&c)
			return c
		}})
	}
	if c.Symmetric {
		add("symmetric", func(c *dp.Constraints) { c.Symmetric = false })
	}
	if c.Monotone {
		add("monotone", func(c *dp.Constraints) { c.Monotone = false })
	}
	if c.Unbiased {
		add("unbiased", func(c *dp.Constraints) { c.Unbiased = false })
	}
	if s := c.Support; s != nil {
		add(fmt.Sprintf("support = %g,%g", s.Lower, s.Upper), func(c *dp.Constraints) { c.Support = nil })
	}
	if c.MaxVariance != 0 {
		add(fmt.Sprintf("max-variance = %g", c.MaxVariance), func(c *dp.Constraints) { c.MaxVariance = 0 })
	}
	for _, q := range c.Quantiles {
		add(fmt.Sprintf("quantile = %g,%g", q.Probability, q.Magnitude), func(c *dp.Constraints) {
			var rest []dp.Quantile
			for _, other := range c.Quantiles {
				if other != q {
					rest = append(rest, other)
				}
			}
			c.Quantiles = rest
		})
	}
	if c.MaxDistinguishing != 0 {
		add(fmt.Sprintf("max-distinguishing = %g", c.MaxDistinguishing), func(c *dp.Constraints) { c.MaxDistinguishing = 0 })
	}
	return all
}
