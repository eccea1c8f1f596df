// SPDX-License-Identifier: Apache-2.0

//go:build (highs && cgo) || highswasm

package highs

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/noisewright/noisewright/internal/solver"
)

// slow is a program that takes every method well over stopAfter.
func slow(t *testing.T, newSolver solver.Factory) solver.Solver {
	t.Helper()
	s := open(t, newSolver)
	large(rand.New(rand.NewPCG(4, 1)), 1800, 1800).load(t, s)
	return s
}

// stopAfter leaves time to set up the program, so that methods are stopped at
// work; stopWithin is how long a limit may take to stop a solve of slow: simplex
// looks at each iteration, but a factorization is not broken off.
const (
	stopAfter  = 300 * time.Millisecond
	stopWithin = 20 * time.Second
)

func wantLimit(t *testing.T, name string, got solver.Solution, began time.Time) {
	t.Helper()
	if took := time.Since(began); got.Status != solver.StatusLimit || took > stopWithin {
		t.Errorf("%s: status %d after %v, want a limit within %v", name, got.Status, took, stopWithin)
	}
}

// slowMethods are the methods whose limits are tested.
var slowMethods = []struct {
	name   string
	method solver.Method
}{{"dual", solver.MethodDualSimplex}, {"primal", solver.MethodPrimalSimplex}, {"interior", solver.MethodInteriorPoint}}

func testTimeLimit(t *testing.T, newSolver solver.Factory) {
	for _, m := range slowMethods {
		s := slow(t, newSolver)
		began := time.Now()
		got := solve(t, s, solver.Options{Method: m.method, TimeLimit: stopAfter})
		wantLimit(t, m.name, got, began)
		t.Logf("%s: %v, %d iterations", m.name, time.Since(began), got.Iterations)
	}
}

// testClockPerCall solves under a limit often enough to exceed it in sum.
func testClockPerCall(t *testing.T, newSolver solver.Factory) {
	p := large(rand.New(rand.NewPCG(5, 1)), 150, 150)
	s := open(t, newSolver)
	p.load(t, s)
	const limit = time.Second
	o := solver.Options{Method: solver.MethodDualSimplex, TimeLimit: limit}
	for began := time.Now(); time.Since(began) < 2*limit; {
		if got := solve(t, s, o); got.Status != solver.StatusOptimal {
			t.Fatalf("status %d after %v of many short solves, want optimal", got.Status, time.Since(began))
		}
		if err := s.Reset(); err != nil {
			t.Fatal(err)
		}
	}
}

func testCancelled(t *testing.T, newSolver solver.Factory) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := small(rand.New(rand.NewPCG(1, 1)))
	s := open(t, newSolver)
	p.load(t, s)
	got, err := s.Solve(ctx, solver.Options{})
	if err != nil || got.Status != solver.StatusLimit || got.Primal != nil || got.RowDual != nil {
		t.Errorf("%+v, %v, want a limit and no solution", got, err)
	}
	p.check(t, solve(t, s, solver.Options{}))
}

func testCancelMidway(t *testing.T, newSolver solver.Factory) {
	for _, m := range slowMethods {
		s := slow(t, newSolver)
		// The second round shows that nothing of a cancellation is left over.
		for round := range 2 {
			ctx, cancel := context.WithCancel(t.Context())
			began := time.Now()
			timer := time.AfterFunc(stopAfter, cancel)
			got, err := s.Solve(ctx, solver.Options{Method: m.method})
			timer.Stop()
			cancel()
			if round > 0 && errors.Is(err, errClosed) {
				t.Logf("%s: on a busy machine it was left to itself", m.name)
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			wantLimit(t, m.name, got, began)
			t.Logf("%s, round %d: %v, %d iterations", m.name, round, time.Since(began), got.Iterations)
			if took := time.Since(began); took < stopAfter {
				t.Errorf("%s, round %d: stopped after %v, before it was cancelled", m.name, round, took)
			}
		}
	}
}

// testImpatient: what does not stop is left to itself, and the solver is closed.
func testImpatient(t *testing.T, newSolver solver.Factory) {
	s := slow(t, func() (solver.Solver, error) {
		s, err := newSolver()
		if err == nil {
			s.(*instance).grace = -1
		}
		return s, err
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer time.AfterFunc(stopAfter, cancel).Stop()
	began := time.Now()
	got, err := s.Solve(ctx, solver.Options{Method: solver.MethodInteriorOnly})
	if err != nil {
		t.Fatal(err)
	}
	wantLimit(t, "impatient", got, began)
	if _, err := s.Solve(t.Context(), solver.Options{}); !errors.Is(err, errClosed) {
		t.Errorf("error %v, want that it is closed", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// testDeadline relies on a deadline to stop presolve too.
func testDeadline(t *testing.T, newSolver solver.Factory) {
	s := slow(t, newSolver)
	ctx, cancel := context.WithTimeout(t.Context(), stopAfter)
	defer cancel()
	began := time.Now()
	got, err := s.Solve(ctx, solver.Options{Presolve: true, TimeLimit: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	wantLimit(t, "deadline", got, began)
}
