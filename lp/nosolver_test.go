// SPDX-License-Identifier: Apache-2.0

package lp_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/solver"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/tables"
)

// TestNoSolver: real queries with symmetric noise need no LP solver.
func TestNoSolver(t *testing.T) {
	huber, err := loss.New("huber", 0.5)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		epsilon, delta float64
		loss           loss.Loss
		constraints    dp.Constraints
	}{
		{0.1, 1e-3, loss.L1, dp.Constraints{}},
		{1, 1e-6, loss.L1, dp.Constraints{}},
		{1, 0.5, loss.L2, dp.Constraints{}},
		{2, 0.05, huber, dp.Constraints{}},
		{3, 1e-3, loss.L1, dp.Constraints{}},
		{3, 0.3, loss.L1, dp.Constraints{}},
		{3, 0.5, loss.L1, dp.Constraints{}},
		{3, 0.1, loss.L2, dp.Constraints{}},
		{5, 0.01, loss.L2, dp.Constraints{}},
		{10, 1e-9, loss.L1, dp.Constraints{}},
		{10, 1e-9, loss.L2, dp.Constraints{}},
		{1, 0.05, loss.L1, dp.Constraints{Monotone: true}},
		{1, 0.05, loss.L1, dp.Constraints{Monotone: true, MaxVariance: 1.5}},
		{1, 0.1, loss.L2, dp.Constraints{Support: &dp.Interval{Lower: -2.5, Upper: 2.5}}},
	} {
		if testing.Short() && i%4 > 0 {
			continue
		}
		p := dp.Problem{Privacy: dp.Privacy{Epsilon: c.epsilon, Delta: c.delta, Sensitivity: 1}, Loss: c.loss, Constraints: c.constraints}
		name := fmt.Sprintf("%g, %g, %s", c.epsilon, c.delta, c.loss.Name())
		r, err := lp.Design(t.Context(), p, lp.Options{Gap: 2e-3})
		if err != nil {
			t.Errorf("%s, %+v: %v", name, c.constraints, err)
			continue
		}
		if err := fromFile(r.Verified); err != nil || !r.Optimal || r.Gap > 2e-3 {
			t.Errorf("%s, %+v: gap %g, %v", name, c.constraints, r.Gap, err)
		}
	}
	p := dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 1e-6, Sensitivity: 1}, Loss: loss.L1, Constraints: dp.Constraints{MaxVariance: 0.1}}
	if r, err := lp.Design(t.Context(), p, lp.Options{}); r != nil || !errors.Is(err, lp.ErrInfeasible) {
		t.Errorf("too small a variance: result %v, error %v", r, err)
	}
}

// TestNoSolverOfOtherKinds: nor do queries on points, losses that are not symmetric or that
// jump, noise on one side, and noise that costs nothing.
func TestNoSolverOfOtherKinds(t *testing.T) {
	none := func() (solver.Solver, error) { return nil, fmt.Errorf("none here: %w", solver.ErrNone) }
	named := func(name string) loss.Loss {
		l, err := loss.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	for _, p := range []dp.Problem{
		{Query: dp.IntegerQuery, Privacy: dp.Privacy{Epsilon: 1, Delta: 1e-6, Sensitivity: 1}, Loss: loss.L1},
		{Query: dp.IntegerQuery, Privacy: dp.Privacy{Epsilon: 1, Delta: 0.05, Sensitivity: 50}, Loss: loss.L2},
		{Query: dp.IntegerQuery, Privacy: dp.Privacy{Epsilon: 5, Delta: 0.1, Sensitivity: 30}, Loss: loss.L2},
		{Query: dp.LatticeQuery, Step: 0.5, Privacy: dp.Privacy{Epsilon: 2, Delta: 1e-3, Sensitivity: 10}, Loss: loss.L1},
		{Query: dp.LatticeQuery, Step: 7.69, Privacy: dp.Privacy{Epsilon: 1, Delta: 0.5, Sensitivity: 10}, Loss: named("deadzone:17")},
		{
			Query: dp.IntegerQuery, Privacy: dp.Privacy{Epsilon: 15, Delta: 0.9, Sensitivity: 7}, Loss: named("exceed:7"),
			Constraints: dp.Constraints{Monotone: true, MaxVariance: 172},
		},
		{Privacy: dp.Privacy{Epsilon: 1, Delta: 1e-6, Sensitivity: 1}, Loss: named("pinball:0.9")},
		{Privacy: dp.Privacy{Epsilon: 1, Delta: 1e-3, Sensitivity: 1}, Loss: named("exceed:3")},
		{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 1}, Loss: named("l1:0.7 + exceed:3:0.3")},
		{
			Privacy: dp.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 1}, Loss: named("pinball:0.7"),
			Constraints: dp.Constraints{Unbiased: true},
		},
		{
			Query: dp.IntegerQuery, Privacy: dp.Privacy{Epsilon: 1, Delta: 1e-3, Sensitivity: 1}, Loss: loss.L1,
			Constraints: dp.Constraints{Support: &dp.Interval{Lower: 0, Upper: math.Inf(1)}},
		},
	} {
		for _, newSolver := range []solver.Factory{nil, none} {
			r, err := lp.Design(t.Context(), p, lp.Options{Gap: 5e-3, NewSolver: newSolver})
			if err != nil {
				t.Errorf("%+v: %v", p, err)
				continue
			}
			if err := fromFile(r.Verified); err != nil || !r.Optimal || r.Gap > 5e-3 {
				t.Errorf("%+v: gap %g, %v", p, r.Gap, err)
			}
		}
	}
}

// TestNoSolverOfOtherForms: nor do kernels, noise that depends on cells, and answers to one
// value.
func TestNoSolverOfOtherForms(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	none := func() (solver.Solver, error) { return nil, fmt.Errorf("none here: %w", solver.ErrNone) }
	privacy := dp.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 2}
	inf := math.Inf(1)
	for _, newSolver := range []solver.Factory{nil, none} {
		o := lp.Options{Gap: 0.05, NewSolver: newSolver}
		for _, p := range []lp.KernelProblem{
			{Cells: 12},
			{},
			{InstanceCap: 1.9, CapSlack: 0.05},
		} {
			p.Privacy, p.Loss, p.Queries = privacy, loss.L1, kernels.Queries{Upper: 4}
			if r, err := lp.DesignKernel(t.Context(), p, o); err != nil || !r.Optimal {
				t.Errorf("kernel %+v: %v", p, err)
			}
		}
		for _, p := range []lp.CellsProblem{
			{Edges: []float64{-inf, 0, inf}},
			{Edges: []float64{-inf, -1, 0, 1, inf}},
			{Edges: []float64{0, 1, 4}, InstanceCap: 1.7},
		} {
			p.Privacy, p.Loss = privacy, loss.L1
			if r, err := lp.DesignCells(t.Context(), p, o); err != nil || !r.Optimal {
				t.Errorf("cells %+v: %v", p, err)
			}
		}
		for _, p := range []lp.LocalProblem{
			{Objective: local.Mean},
			{Objective: local.Worst, Demands: local.Demands{Unbiased: true}},
		} {
			p.Epsilon, p.Delta, p.Loss, p.Values = 1, 0.01, loss.L2, local.Values{Kind: local.Real, Upper: 1}
			// The bound of one of few nodes is weak, but there is one.
			r, err := lp.DesignLocal(t.Context(), p, o)
			if r == nil || err != nil && !errors.Is(err, lp.ErrLimit) || !(r.Gap < 0.5) {
				t.Errorf("answers to one value %+v: %+v, %v", p, r, err)
			}
		}
	}
}

// fromFile verifies a table once more, from its file, that is, from nothing but its
// bytes.
func fromFile(v *tables.Verified) error {
	var file bytes.Buffer
	if err := v.Mechanism().Encode(&file); err != nil {
		return err
	}
	back, err := tables.Decode(&file)
	if err != nil {
		return err
	}
	again, err := back.Verify()
	if err != nil {
		return err
	}
	if c, d := again.Certificate(), v.Certificate(); c.ExpectedLoss.Cmp(d.ExpectedLoss) != 0 || c.LowerBound.Cmp(d.LowerBound) != 0 {
		return errors.New("the file's certificate differs from the result's")
	}
	return nil
}
