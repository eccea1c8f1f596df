// SPDX-License-Identifier: Apache-2.0

//go:build (highs && cgo) || highswasm

package highs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/solver"
)

const (
	// HiGHS takes a bound or a cost of this magnitude as infinite (its options infinite_bound and
	// infinite_cost) and refuses a matrix entry above its option large_matrix_value.
	highsInfinity = 1e20
	maxEntry      = 1e15

	// The least values HiGHS allows for its options small_matrix_value and the two feasibility
	// tolerances. The former is used as it stands: the default of 1e-9 drops entries a design
	// program needs, such as e^ε − 1 for a small ε.
	minEntry     = 1e-12
	minTolerance = 1e-10

	usualTolerance = 1e-7 // HiGHS' default

	// The limit, in seconds, of a solve without one. It is finite because a clock
	// that jumps beyond it stops HiGHS as WebAssembly.
	noLimit = 1e9

	// An optimal claim stands if the unscaled residuals are at most this many tolerances. HiGHS
	// meets the tolerance on the scaled program; the unscaled one misses it by up to two orders
	// of magnitude on honest solves of programs whose entries span many, and by far more on
	// broken ones.
	residualSlack = 1000

	usualScaling = 2 // HiGHS' default of 1.15: equilibration
	maxScaling   = 4 // the last of its scaling strategies
)

// New returns an empty program. The caller closes it; nothing is freed otherwise.
func New() (solver.Solver, error) {
	m, err := newModel()
	if err != nil {
		return nil, check.Errorf("highs", errSolver, "new model: %w", err)
	}
	s := &instance{model: m, open: true, grace: grace}
	// One thread: simplex has nothing to share out, and results do not depend on the cores.
	if !m.setInt("threads", 1) || !m.setString("parallel", "off") || !m.setDouble("small_matrix_value", minEntry) {
		m.free()
		return nil, check.Errorf("highs", errSolver, "options of a new model")
	}
	// "ipm" lets newer versions pick an interior point method that needs a
	// BLAS; "ipx" is the one all versions have, which older ones call "ipm".
	s.interiorPoint = "ipm"
	if m.setString("solver", "ipx") {
		s.interiorPoint = "ipx"
	}
	return s, nil
}

type instance struct {
	model
	open          bool
	grace         time.Duration
	damaged       bool // HiGHS refused a call half way
	columns, rows int
	// rowsExcludeZero is set once some row's bounds exclude 0; it decides a
	// program that has no columns, which HiGHS does not look at.
	rowsExcludeZero bool
	interiorPoint   string // HiGHS' name of the method

	// Buffers kept between calls.
	start, index                          []int32
	seen                                  []int32 // seen[i] is 1 + the last vector with an entry at i
	primal, columnDual, rowValue, rowDual []float64
}

func (s *instance) ready() error {
	switch {
	case !s.open:
		return errClosed
	case s.damaged:
		return check.Errorf("highs", errSolver, "an earlier call failed half way, want a new solver")
	}
	return nil
}

// AddColumns appends columns. A batch against the rules of [solver.Vectors] changes nothing.
func (s *instance) AddColumns(cost []float64, c solver.Vectors) error {
	var bad error
	if j := slices.IndexFunc(cost, func(v float64) bool { return !(math.Abs(v) < highsInfinity) }); j >= 0 {
		bad = invalid("Cost[%d] = %g, want a magnitude below %g", j, cost[j], highsInfinity)
	}
	return s.add("columns", len(cost), &s.columns, s.rows, c, bad, func() bool { return s.addColumns(cost, c, s.start, s.index) })
}

// AddRows appends rows, as AddColumns does columns.
func (s *instance) AddRows(r solver.Vectors) error {
	err := s.add("rows", len(r.Lower), &s.rows, s.columns, r, nil, func() bool { return s.addRows(r, s.start, s.index) })
	for i := 0; i < len(r.Lower) && err == nil; i++ {
		s.rowsExcludeZero = s.rowsExcludeZero || r.Lower[i] > 0 || r.Upper[i] < 0
	}
	return err
}

// add appends n vectors to the present ones by a call, unless there is something bad
// about them. Their entries are to lie in [0, dim).
func (s *instance) add(what string, n int, present *int, dim int, v solver.Vectors, bad error, call func() bool) error {
	if err := s.ready(); err != nil {
		return err
	}
	if err := errors.Join(bad, checkBounds(n, v.Lower, v.Upper), s.checkMatrix(n, dim, *present, v)); err != nil {
		return check.Errorf("highs", nil, "add %d %s: %w", n, what, err)
	}
	if n > 0 && !call() {
		s.damaged = true
		return check.Errorf("highs", errSolver, "add %d %s", n, what)
	}
	*present += n
	return nil
}

// checkBounds reports the first pair of bounds HiGHS would refuse or take for
// another. Crossed bounds are allowed: they make the program infeasible.
func checkBounds(n int, lower, upper []float64) error {
	if len(lower) != n || len(upper) != n {
		return invalid("len(Lower), len(Upper) = %d, %d, want %d", len(lower), len(upper), n)
	}
	for i := range n {
		if l := lower[i]; !(l < highsInfinity) || l <= -highsInfinity && !math.IsInf(l, -1) {
			return invalid("Lower[%d] = %g, want a magnitude below %g or -Inf", i, l, highsInfinity)
		}
		if u := upper[i]; !(u > -highsInfinity) || u >= highsInfinity && !math.IsInf(u, 1) {
			return invalid("Upper[%d] = %g, want a magnitude below %g or +Inf", i, u, highsInfinity)
		}
	}
	return nil
}

// checkMatrix reports the first fault of n compressed sparse vectors whose entries lie in [0, dim),
// to be appended to the present ones, and leaves start and index in HiGHS' type in the buffers.
func (s *instance) checkMatrix(n, dim, present int, v solver.Vectors) error {
	start, index, value := v.Start, v.Index, v.Value
	switch {
	case len(start) != n:
		return invalid("len(Start) = %d, want %d", len(start), n)
	case len(index) != len(value):
		return invalid("len(Value) = %d, want %d as len(Index)", len(value), len(index))
	case len(index) > math.MaxInt32 || n > math.MaxInt32-present:
		return invalid("%d vectors with %d entries, want below 2^31", n, len(index))
	case n == 0 && len(index) > 0, n > 0 && start[0] != 0:
		return invalid("the first entries belong to no vector, want Start[0] = 0")
	}
	s.start, s.index = s.start[:0], s.index[:0]
	s.seen = append(s.seen, make([]int32, max(0, dim-len(s.seen)))...)
	clear(s.seen)
	for i, from := range start {
		to := len(index)
		if i+1 < n {
			to = start[i+1]
		}
		if from > to || to > len(index) {
			return invalid("vector %d has entries %d to %d, want a range in 0 to %d", i, from, to, len(index))
		}
		s.start = append(s.start, int32(from))
		for k := from; k < to; k++ {
			at, v := index[k], value[k]
			switch {
			case at < 0 || at >= dim:
				return invalid("Index[%d] = %d, want 0 to %d", k, at, dim-1)
			case s.seen[at] == int32(i)+1:
				return invalid("Index[%d] = %d is in vector %d twice", k, at, i)
			case !(math.Abs(v) <= maxEntry):
				return invalid("Value[%d] = %g, want a magnitude of at most %g", k, v, maxEntry)
			}
			s.seen[at] = int32(i) + 1
			s.index = append(s.index, int32(at))
		}
	}
	return nil
}

// Solve solves the program on one thread. What the status says of the rest of the solution:
//
//   - StatusOptimal: everything is set.
//   - StatusInfeasible, StatusUnbounded: Objective is +Inf, −Inf.
//   - StatusLimit, StatusFailed: Objective is NaN.
//
// A cancelled context stops simplex and interior point when they next look, which is about once in
// an iteration; presolve stops by time only, that of the context's deadline included. What does not
// stop soon is left to itself, and the solver is closed. An option outside its range is an error.
func (s *instance) Solve(ctx context.Context, o solver.Options) (solver.Solution, error) {
	if err := s.ready(); err != nil {
		return without(solver.StatusFailed), err
	}
	if err := checkOptions(o); err != nil {
		return without(solver.StatusFailed), check.Errorf("highs", nil, "solve: %w", err)
	}
	if ctx.Err() != nil {
		return without(solver.StatusLimit), nil
	}
	if s.columns == 0 {
		return s.solveEmpty(), nil
	}
	if deadline, has := ctx.Deadline(); has {
		// Not below a nanosecond: zero would mean no limit.
		left := max(time.Until(deadline), 1)
		if o.TimeLimit == 0 || left < o.TimeLimit {
			o.TimeLimit = left
		}
	}
	if !s.setOptions(o) {
		return without(solver.StatusFailed), check.Errorf("highs", errSolver, "solve: options")
	}
	// With a basis at hand HiGHS skips presolve.
	if o.Presolve && !s.clearSolver() || !s.zeroClocks() {
		return without(solver.StatusFailed), check.Errorf("highs", errSolver, "solve")
	}
	good, ended := s.runUntil(ctx)
	if !ended {
		return without(solver.StatusLimit), nil
	}
	return s.read(good, o), nil
}

// grace is how long HiGHS has to notice that it is to stop. Simplex and interior point
// look about once in an iteration, a factorization or presolve may take seconds.
const grace = 250 * time.Millisecond

// runUntil runs HiGHS until it is done or ctx is cancelled. If it does not notice that, it
// is left alone with the model, which is freed when it ends, and the instance is closed.
func (s *instance) runUntil(ctx context.Context) (good, ended bool) {
	m := s.model
	m.setCancel(false)
	done := make(chan bool, 1)
	go func() { done <- m.run() }()
	select {
	case good = <-done:
		return good, true
	case <-ctx.Done():
		m.setCancel(true)
	}
	select {
	case good = <-done:
		return good, true
	case <-time.After(s.grace):
	}
	s.open, s.model = false, model{}
	go func() {
		<-done
		m.free()
	}()
	return false, false
}

func checkOptions(o solver.Options) error {
	var errs []error
	want := func(good bool, format string, args ...any) {
		if !good {
			errs = append(errs, invalid(format, args...))
		}
	}
	t := o.Tolerance
	want(o.Method >= 0 && o.Method <= solver.MethodInteriorOnly, "Method = %d, want one of lp's constants", o.Method)
	want(o.Scaling <= maxScaling, "Scaling = %d, want at most %d", o.Scaling, maxScaling)
	want(t == 0 || t >= minTolerance && t < 1, "Tolerance = %g, want 0 or in [%g, 1)", t, minTolerance)
	want(o.TimeLimit >= 0, "TimeLimit = %v, want 0 or more", o.TimeLimit)
	want(o.IterationLimit >= 0, "IterationLimit = %d, want 0 or more", o.IterationLimit)
	return errors.Join(errs...)
}

// setOptions sets every option a solve can change, so that none is left over from the solve before.
func (s *instance) setOptions(o solver.Options) bool {
	method, strategy := "choose", 0 // HiGHS chooses
	crossover := "on"
	switch o.Method {
	case solver.MethodDualSimplex:
		method, strategy = "simplex", 1
	case solver.MethodPrimalSimplex:
		method, strategy = "simplex", 4
	case solver.MethodInteriorPoint:
		method = s.interiorPoint
	case solver.MethodInteriorOnly:
		method, crossover = s.interiorPoint, "off"
	}
	presolve := "off"
	if o.Presolve {
		presolve = "on"
	}
	scaling := max(cmp.Or(o.Scaling, usualScaling), 0)
	limit := noLimit
	if o.TimeLimit > 0 {
		limit = o.TimeLimit.Seconds()
	}
	iterations := math.MaxInt32 // HiGHS' own default
	if o.IterationLimit > 0 {
		iterations = min(o.IterationLimit, math.MaxInt32)
	}
	return s.setString("solver", method) &&
		s.setString("run_crossover", crossover) &&
		s.setInt("simplex_iteration_limit", iterations) &&
		s.setInt("simplex_strategy", strategy) &&
		s.setString("presolve", presolve) &&
		s.setInt("simplex_scale_strategy", scaling) &&
		s.setDouble("primal_feasibility_tolerance", cmp.Or(o.Tolerance, usualTolerance)) &&
		s.setDouble("dual_feasibility_tolerance", cmp.Or(o.Tolerance, usualTolerance)) &&
		s.setDouble("time_limit", limit)
}

// read collects the outcome of a run; good is false if the run was an error.
func (s *instance) read(good bool, o solver.Options) solver.Solution {
	result := without(solver.StatusFailed)
	// The counts are of this run: HiGHS zeroes them at its start.
	simplex, ok1 := s.intInfo("simplex_iteration_count")
	interior, ok2 := s.intInfo("ipm_iteration_count")
	if ok1 && ok2 {
		result.Iterations = max(simplex, 0) + max(interior, 0)
	}
	if !good {
		return result
	}
	result.Status = s.status()
	switch result.Status {
	case solver.StatusInfeasible:
		result.Objective = math.Inf(1)
	case solver.StatusUnbounded:
		result.Objective = math.Inf(-1)
	case solver.StatusOptimal:
		if !s.residualsWithin(o) || !s.readSolution(&result) {
			result.Status = solver.StatusFailed
		}
	case solver.StatusFailed, solver.StatusLimit:
	}
	return result
}

func (s *instance) residualsWithin(o solver.Options) bool {
	most := residualSlack * cmp.Or(o.Tolerance, usualTolerance)
	primal, ok1 := s.doubleInfo("max_primal_infeasibility")
	dual, ok2 := s.doubleInfo("max_dual_infeasibility")
	return ok1 && ok2 && primal <= most && dual <= most
}

// readSolution completes the result and reports whether HiGHS had all of it and it is finite.
func (s *instance) readSolution(result *solver.Solution) bool {
	s.primal, s.columnDual = resize(s.primal, s.columns), resize(s.columnDual, s.columns)
	s.rowValue, s.rowDual = resize(s.rowValue, s.rows), resize(s.rowDual, s.rows)
	objective, good := s.doubleInfo("objective_function_value")
	if !good || !s.solution(s.primal, s.columnDual, s.rowValue, s.rowDual) ||
		!check.Finite(objective) || !check.Finite(s.primal...) || !check.Finite(s.rowDual...) {
		return false
	}
	result.Objective, result.Primal, result.RowDual = objective, s.primal, s.rowDual
	return true
}

// solveEmpty decides a program without columns, where every row is 0.
func (s *instance) solveEmpty() solver.Solution {
	if s.rowsExcludeZero {
		return solver.Solution{Status: solver.StatusInfeasible, Objective: math.Inf(1)}
	}
	s.rowDual = resize(s.rowDual, s.rows)
	clear(s.rowDual)
	return solver.Solution{Status: solver.StatusOptimal, Primal: []float64{}, RowDual: s.rowDual}
}

// Reset forgets the basis and the solution.
func (s *instance) Reset() error {
	if err := s.ready(); err != nil {
		return err
	}
	if !s.clearSolver() {
		return check.Errorf("highs", errSolver, "reset")
	}
	return nil
}

// Close frees the program. It never fails.
func (s *instance) Close() error {
	if s.open {
		s.open = false
		s.free()
		s.model = model{}
	}
	return nil
}

func without(status solver.Status) solver.Solution {
	return solver.Solution{Status: status, Objective: math.NaN()}
}

func invalid(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, errInvalid)...)
}

func resize(s []float64, n int) []float64 { return slices.Grow(s[:0], n)[:n] }
