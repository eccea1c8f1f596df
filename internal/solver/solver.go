// SPDX-License-Identifier: Apache-2.0

// Package solver is the contract with an LP library: what lp asks of one, and nothing else.
package solver

import (
	"context"
	"errors"
	"time"
)

// ErrNone marks the error of a Factory of which there is no solver in this build.
var ErrNone = errors.New("no LP solver in this build")

// Solver holds one linear program, minimize cost·x subject to row and column bounds, and re-solves
// it as rows and columns are appended. Nothing a Solver says is trusted beyond steering the search:
// every published number is recomputed exactly.
//
// A Solver is not safe for concurrent use.
type Solver interface {
	// AddColumns appends columns with a cost each; the entries name existing rows.
	AddColumns(cost []float64, columns Vectors) error
	// AddRows appends rows; the entries name existing columns.
	AddRows(rows Vectors) error
	// Solve solves the current program, starting from the last basis where there is one and the
	// method can use it. A time limit or a cancelled context is not an error: it is a Solution with
	// status StatusLimit, soon, after which the Solver may be closed. The slices of the Solution
	// are valid until the next call.
	Solve(context.Context, Options) (Solution, error)
	// Reset forgets the last basis and all solver state but keeps the program.
	Reset() error
	// Close frees the program; it is idempotent, and later calls of other methods are errors.
	Close() error
}

// Factory makes an empty Solver; the caller closes it.
type Factory func() (Solver, error)

// Vectors is a batch of columns or of rows in compressed sparse form: the entries of the i-th are
// Index[Start[i]:Start[i+1]], the last running to the end. Infinite bounds are math.Inf.
type Vectors struct {
	Lower, Upper []float64
	Start, Index []int
	Value        []float64
}

// Add starts a vector.
func (v *Vectors) Add(lower, upper float64) {
	v.Lower, v.Upper = append(v.Lower, lower), append(v.Upper, upper)
	v.Start = append(v.Start, len(v.Index))
}

// Entry adds an entry to the last vector.
func (v *Vectors) Entry(index int, value float64) {
	v.Index, v.Value = append(v.Index, index), append(v.Value, value)
}

// Method is the algorithm a Solver is asked to use; 0 leaves the choice to it.
type Method int

// The methods: dual simplex (warm starts), primal simplex, interior point with crossover to a
// basis, and interior point without: a solution near the optimal face and not at a corner of it.
const (
	MethodDualSimplex Method = iota + 1
	MethodPrimalSimplex
	MethodInteriorPoint
	MethodInteriorOnly
)

// Options tune one Solve. The zero value means the solver's defaults.
type Options struct {
	Method    Method
	Presolve  bool          // simplify the program first; loses the warm start
	Scaling   int           // the solver's own scaling strategy, 0 to 4; negative: off
	Tolerance float64       // primal and dual feasibility tolerance; 0: the solver's default
	TimeLimit time.Duration // of this call; 0: none
	// IterationLimit bounds simplex iterations; 0: none. Reaching it is StatusLimit, as for time.
	IterationLimit int
}

// Status is the outcome of a Solve.
type Status int

// The outcomes. StatusFailed covers solve errors, unknown statuses and optimal claims whose
// unscaled residuals exceed the tolerance; another attempt with other options may succeed.
const (
	StatusFailed Status = iota
	StatusOptimal
	StatusInfeasible
	StatusUnbounded
	StatusLimit
)

// Solution is what a Solver found.
type Solution struct {
	Status     Status
	Objective  float64
	Primal     []float64 // per column
	RowDual    []float64 // per row: derivative of the optimum in the row's bound
	Iterations int       // simplex or interior-point iterations of this call
}
