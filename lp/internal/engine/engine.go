// SPDX-License-Identifier: Apache-2.0

// Package engine solves the linear programs of all forms: complete, by the interior point
// method of package interior, or by the constraint generation of package cuts, which asks an
// LP solver. What it finds is not trusted, but certified.
package engine

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/solver"
	"github.com/noisewright/noisewright/lp/internal/engine/cuts"
	"github.com/noisewright/noisewright/lp/internal/engine/interior"
	"github.com/noisewright/noisewright/lp/internal/meet"
)

// Program is a linear program and what is expected of its solution. No expectation changes
// its optimum.
type Program struct {
	cuts.Problem
	// Complete says that the interior point method, which takes all limits and terms at
	// once, is expected to be faster than constraint generation.
	Complete bool
	// Total are weights of the first Rows, 1 of the very first: their weighted sum is an
	// equation with a positive coefficient of every variable. nil: the first row is one.
	Total []float64
	// Most, if not 0, is known to be no less than the last variable is at an optimum, which
	// then is in no row of Total.
	Most float64
	// Start, Skip, Root and Fall are those of interior.Options. Ties are given up if that fails.
	Start      []float64
	Root, Fall []int
	Skip       func(limit, term int) bool
	// Generation says how to generate constraints, but for the solver.
	Generation cuts.Options
}

// Want says when a program is solved.
type Want struct {
	// Gap is the relative gap between the masses and the multipliers of a complete program.
	Gap float64
	// Excess is the relative excess over Delta that masses may have in a limit.
	Excess float64
	// Stall ends generation when a round raises the optimum by a smaller share; 0: never.
	Stall float64
	// Bound says that the masses of a complete program do not matter, only the multipliers.
	Bound bool
}

// Solution is what is known of a program that was solved. If it was stopped, its multipliers
// prove a bound all the same.
type Solution struct {
	method
	// Complete says that it is the interior point method's: all masses are above 0.
	Complete bool
	total    []float64
}

// method is what either method finds; see cuts.Program.
type method interface {
	Masses() []float64
	Dual(row int) float64
	Price(limit int) float64
	Multiplier(limit, term int) float64
	Rounds() int
}

// Dual returns the derivative of the optimum in the bound of one of the Rows.
func (s *Solution) Dual(row int) float64 {
	if row == 0 || row >= len(s.total) || s.total[row] == 0 {
		return s.method.Dual(row)
	}
	return s.method.Dual(row) + s.total[row]*s.method.Dual(0)
}

// Limits of programs for the interior point method: the possible terms, of which each takes
// some 150 bytes, and the masses, of which each two take 8 bytes.
const (
	MostTerms  = 1 << 22
	MostMasses = 1 << 13
)

// Fits reports whether a program of so many masses and terms is for the interior point
// method at all.
func Fits(masses int, terms int64) bool { return masses <= MostMasses && terms <= MostTerms }

// Solve solves a program: complete if that is expected to be faster or there is no solver,
// and by constraint generation otherwise or if that fails. The status is StatusFailed if both
// methods fail, and StatusLimit if the context ends first. Of a program that is too large for
// the methods there are, the error wraps meet.ErrTooFine.
func Solve(ctx context.Context, o *meet.Options, p *Program, want Want) (*Solution, solver.Status, error) {
	fits := !o.Generate && p.fits()
	if p.Root != nil {
		if solved, status := p.complete(ctx, o, want); status == solver.StatusOptimal || status == solver.StatusLimit {
			return solved, status, nil
		}
		p.Root, p.Fall = nil, nil
	}
	var solved *Solution
	if fits && (p.Complete || o.NewSolver == nil) {
		const few = 500 // masses, up to which generation takes little time
		var status solver.Status
		solved, status = p.complete(ctx, o, want)
		// What is done of a program for a bound proves one.
		if status != solver.StatusFailed || o.NewSolver == nil || want.Bound && solved != nil && p.masses() > few {
			return solved, status, nil
		}
	}
	generation, err := p.generation(o.NewSolver)
	switch {
	case err != nil && solved != nil:
		return solved, solver.StatusFailed, nil
	case errors.Is(err, solver.ErrNone) && fits:
		solved, status := p.complete(ctx, o, want)
		return solved, status, nil
	case errors.Is(err, solver.ErrNone):
		return nil, solver.StatusFailed, check.Errorf("lp", meet.ErrLimit, "a linear program of %d masses needs an LP solver, see lp/highs: %w", p.masses(), meet.ErrTooFine)
	case err != nil:
		return nil, solver.StatusFailed, err
	}
	status, err := generation.Solve(ctx, want.Excess, want.Stall)
	if errors.Is(err, cuts.ErrFailed) {
		status, err = solver.StatusFailed, nil
	}
	return &Solution{method: generation}, status, errors.Join(err, generation.Close())
}

func (p *Program) fits() bool {
	var terms int64
	for _, l := range p.Limits {
		terms += int64(len(l.Gain))
	}
	return Fits(p.masses(), terms)
}

// masses is the number of variables but for those that count in every limit.
func (p *Program) masses() int { return len(p.Cost) - len(p.Common) }

// mostBreaks bounds how often a complete program is solved with further rows.
const mostBreaks = 30

// complete solves a program by the interior point method, again as long as its masses break
// further rows.
func (p *Program) complete(ctx context.Context, o *meet.Options, want Want) (*Solution, solver.Status) {
	excess := want.Excess
	if want.Bound {
		excess = math.Inf(1)
	}
	problem, start := p.Problem, p.Start
	if p.Total != nil {
		problem.Rows = slices.Clone(p.Rows)
		problem.Rows[0] = p.total()
	}
	if p.Most > 0 {
		// With what it is less than that, the last variable is part of the total as well.
		last := len(p.Cost)
		problem.Cost, start = append(slices.Clip(p.Cost), 0), append(slices.Clone(p.Start), p.Most/2)
		start[last-1] = p.Most
		bound := cuts.Row{Lower: 1.5 * p.Most, Upper: 1.5 * p.Most, Index: []int{last - 1, last}, Value: []float64{1, 1}}
		problem.Rows = append(problem.Rows, bound)
		all := &problem.Rows[0]
		all.Lower, all.Upper = all.Lower+bound.Lower, all.Upper+bound.Upper
		all.Index, all.Value = append(all.Index, bound.Index...), append(all.Value, bound.Value...)
	}
	for again := mostBreaks; ; again-- {
		solved := interior.New(problem, interior.Options{Start: start, Skip: p.Skip, Root: p.Root, Fall: p.Fall, Step: o.Step})
		s := &Solution{solved, true, p.Total}
		status, err := solved.Solve(ctx, want.Gap, excess)
		if err != nil || again == 0 {
			return s, solver.StatusFailed
		}
		if status != solver.StatusOptimal || p.Generation.Broken == nil {
			return s, status
		}
		broken := p.Generation.Broken(solved.Masses())
		if len(broken) == 0 {
			return s, status
		}
		problem.Rows = append(slices.Clip(problem.Rows), broken...)
	}
}

// total returns the weighted sum of rows, which takes the place of the first: that follows
// from it and the others.
func (p *Program) total() cuts.Row {
	var sum cuts.Row
	for i, w := range p.Total {
		r := p.Rows[i]
		if w == 0 {
			continue
		}
		sum.Lower, sum.Upper = sum.Lower+w*r.Lower, sum.Upper+w*r.Upper
		sum.Index = append(sum.Index, r.Index...)
		for _, v := range r.Value {
			sum.Value = append(sum.Value, w*v)
		}
	}
	return sum
}

// generation passes a program to a new solver.
func (p *Program) generation(newSolver solver.Factory) (*cuts.Program, error) {
	if newSolver == nil {
		return nil, solver.ErrNone
	}
	options := p.Generation
	options.NewSolver = newSolver
	return cuts.New(p.Problem, options)
}
