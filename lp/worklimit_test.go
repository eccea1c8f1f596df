// SPDX-License-Identifier: Apache-2.0

//go:build (highs && cgo) || highswasm

package lp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/lp/highs"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/proof/forms"
)

// limited is a problem of any form at a limit of work, and what it may lose at the least.
type limited struct {
	name   string
	design func(ctx context.Context, o lp.Options) (proof.Mechanism, proof.Bounds, error)
	closed float64 // the loss of a mechanism in closed form
	gap    float64 // that the largest limit has to reach, if not 0
}

func limitedBy[P, T any, C proof.Certificate](name string, p P, closed, gap float64, design func(context.Context, P, lp.Options) (*lp.Result[proof.Verified[T, C]], error)) limited {
	return limited{name, func(ctx context.Context, o lp.Options) (proof.Mechanism, proof.Bounds, error) {
		r, err := design(ctx, p, o)
		if r == nil {
			return nil, proof.Bounds{}, err
		}
		m, ok := any(r.Verified.Mechanism()).(proof.Mechanism)
		if !ok {
			panic("no mechanism")
		}
		return m, r.Verified.Bounds(), err
	}, closed, gap}
}

// halfCells are cells of half a sensitivity between -2 and 2, and two without an end.
func halfCells() []float64 {
	edges := []float64{math.Inf(-1)}
	for x := -2.0; x <= 2; x += 0.5 {
		edges = append(edges, x)
	}
	return append(edges, math.Inf(1))
}

// limitedProblems are problems of the forms that share a loop.
func limitedProblems(t *testing.T) (all []limited) {
	t.Helper()
	gaps := map[dp.Privacy]float64{{Epsilon: 0.5, Delta: 0.1, Sensitivity: 1}: 0.3, {Epsilon: 5, Delta: 0.01, Sensitivity: 1}: 0}
	for _, name := range []string{"l1", "lp:1.5", "deadzone:0.3", "pinball:0.9"} {
		l := named(t, name)
		for p, gap := range gaps {
			what := fmt.Sprintf("%s ε=%g δ=%g", name, p.Epsilon, p.Delta)
			table, err := lp.DesignAtWork(t.Context(), dp.Problem{Privacy: p, Loss: l, Constraints: dp.Constraints{Symmetric: true}}, lp.Options{TimeLimit: 1, MaxCells: 67})
			if table == nil {
				t.Fatal(err)
			}
			most, _ := table.Verified.Certificate().ExpectedLoss.Float64()
			_, atom := table.Verified.Mechanism().PMF() // spread over the middle bin
			most += atom * l.CellMean(0, 1/float64(table.Verified.Mechanism().Grid().CellsPerSensitivity))
			all = append(all, limitedBy("cells "+what, lp.CellsProblem{Privacy: p, Loss: l, Edges: halfCells()}, most, gap, lp.DesignCellsAtWork))
			// One answer to all, the middle of a half of the range.
			middle := (l.CellMean(0.5, 1) + l.CellMean(-0.5, 1) + l.CellMean(1.5, 1) + l.CellMean(2.5, 1)) / 4
			middle = max(middle, (l.CellMean(0.5, 1)+l.CellMean(-0.5, 1)+l.CellMean(-1.5, 1)+l.CellMean(-2.5, 1))/4)
			all = append(all, limitedBy("kernel "+what, lp.KernelProblem{Privacy: p, Loss: l, Queries: kernels.Queries{Lower: 0, Upper: 4}}, middle, gap, lp.DesignKernelAtWork))
		}
		for i, p := range localProblems(l) {
			gap := 0.0
			if i == 0 {
				gap = 0.1
			}
			what := fmt.Sprintf("local %s %s %s ε=%g δ=%g %+v", p.Values.Kind, p.Objective, name, p.Epsilon, p.Delta, p.Demands)
			all = append(all, limitedBy(what, p, classical(t, p), gap, lp.DesignLocalAtWork))
		}
	}
	labels := local.Values{Kind: local.Category, Labels: []string{"a", "b", "c", "d"}}
	p := lp.LocalProblem{Epsilon: 1, Values: labels, Objective: local.Mean}
	p.Costs = [][]float64{{0, 1, 1, 1}, {1, 0, 1, 1}, {1, 1, 0, 1}, {1, 1, 1, 0}}
	return append(all, limitedBy("local categories", p, classical(t, p), 0.01, lp.DesignLocalAtWork))
}

func localProblems(l loss.Loss) []lp.LocalProblem {
	reals := local.Values{Kind: local.Real, Lower: -1, Upper: 1}
	return []lp.LocalProblem{
		{Epsilon: 1, Values: reals, Loss: l, Objective: local.Mean},
		{Epsilon: 5, Values: reals, Loss: l, Objective: local.Worst, Demands: local.Demands{Unbiased: true}},
		{Epsilon: 2, Values: reals, Loss: l, Objective: local.Worst, Demands: local.Demands{Unbiased: true, Lower: -5, Upper: 10, Step: 0.5}},
		{Epsilon: 3, Delta: 0.01, Values: reals, Loss: l, Objective: local.Worst},
		{Epsilon: 2, Values: local.Values{Kind: local.Integer, Lower: 0, Upper: 20}, Loss: l, Objective: local.Mean},
	}
}

// classical returns the loss of the classical mechanism in closed form for a problem: that of
// Duchi et al. for unbiased answers, on a lattice somewhat further out, and otherwise randomized
// response, or the middle for all.
func classical(t *testing.T, p lp.LocalProblem) float64 {
	t.Helper()
	name := "randomized-response"
	switch {
	case p.Demands.Step > 0:
		a := -1.5 // and 1.5: (e² + 1)/(e² − 1) is 1.313
		return max(p.Loss.At(a+1), p.Loss.At(1-a), p.Loss.At(-a-1), p.Loss.At(-1+a), p.Loss.At(a), p.Loss.At(-a))
	case p.Demands.Unbiased:
		name = "duchi"
	case p.Values.Kind == local.Real && p.Objective == local.Worst:
		return max(p.Loss.At(1), p.Loss.At(-1))
	case p.Values.Kind == local.Real:
		return p.Loss.CellMean(0, 2)
	}
	for _, b := range noise.LocalBaselines() {
		if b.Name != name {
			continue
		}
		m, err := b.New(noise.LocalProblem{Epsilon: p.Epsilon, Delta: p.Delta, Values: p.Values, Objective: p.Objective, Loss: p.Loss, Costs: p.Costs})
		if err != nil {
			t.Fatal(err)
		}
		if worst, _, _ := m.WorstLoss(); p.Objective == local.Worst {
			return worst
		}
		mean, _ := m.MeanLoss()
		return mean
	}
	t.Fatalf("no baseline %s", name)
	return 0
}

// TestWorkLimits: at every limit of work, however small, there is a proven result, no worse than
// in closed form, and none is worse than with less work, neither its loss nor its lower bound.
func TestWorkLimits(t *testing.T) {
	works := []time.Duration{1, 30 * time.Microsecond, 300 * time.Microsecond, 3 * time.Millisecond, 30 * time.Millisecond}
	if testing.Short() {
		works = works[:4]
	}
	for _, c := range limitedProblems(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			// Closed forms keep a distance of the limits of privacy, for rounding.
			least, most := c.closed*(1+1e-3), 0.0
			for _, work := range works {
				m, b, err := c.design(t.Context(), lp.Options{Gap: 1e-3, TimeLimit: work, NewSolver: highs.New})
				if m == nil || err != nil && !errors.Is(err, lp.ErrLimit) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("work %s: %v", work, err)
				}
				if err := again(t, m); err != nil {
					t.Fatalf("work %s: %v", work, err)
				}
				above, _ := b.Loss.Float64()
				below, _ := b.LowerBound.Float64()
				if strings.HasPrefix(c.name, "local") && !(below > 0) {
					t.Errorf("work %s: no lower bound", work)
				}
				if above > least || below < most || below > above {
					t.Errorf("work %s: [%g, %g], and [%g, %g] with less", work, below, above, most, least)
				}
				least, most = above, below
			}
			if !testing.Short() && c.gap > 0 && !(least-most <= c.gap*most) {
				t.Errorf("[%g, %g] with %s, want a gap of %g", most, least, works[len(works)-1], c.gap)
			}
		})
	}
}

// again verifies a mechanism from its file.
func again(t *testing.T, m proof.Mechanism) error {
	t.Helper()
	var file bytes.Buffer
	if err := m.Encode(&file); err != nil {
		return err
	}
	back, err := forms.Decode(&file)
	if err != nil {
		return err
	}
	_, err = back.Prove(t.Context(), proof.Options{})
	return err
}

// TestNothingInTime: where no mechanism in closed form keeps what is asked for, the error is one
// sentence that names the limit.
func TestNothingInTime(t *testing.T) {
	privacy := dp.Privacy{Epsilon: 5, Delta: 0.01, Sensitivity: 1}
	reals := local.Values{Kind: local.Real, Lower: -1, Upper: 1}
	for _, c := range []limited{
		limitedBy("kernel", lp.KernelProblem{Privacy: privacy, Loss: loss.L1, Queries: kernels.Queries{Lower: 0, Upper: 4}, Nodes: []float64{0.5, 1.5, 2.5, 3.5}, InstanceCap: 2.6}, 0, 0, lp.DesignKernelAtWork),
		limitedBy("cells", lp.CellsProblem{Privacy: privacy, Loss: named(t, "pinball:0.9"), Edges: []float64{0, 1, 2}, InstanceCap: 0.038}, 0, 0, lp.DesignCellsAtWork),
		limitedBy("local", lp.LocalProblem{Epsilon: 1, Values: reals, Loss: loss.L1, Objective: local.Mean, Demands: local.Demands{Cap: 0.66}}, 0, 0, lp.DesignLocalAtWork),
	} {
		m, _, err := c.design(t.Context(), lp.Options{TimeLimit: 1, NewSolver: highs.New})
		if m != nil || !errors.Is(err, lp.ErrLimit) || !strings.Contains(err.Error(), "time-limit = 1ns") || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "context") {
			t.Errorf("%s: %v, error %v, want one that names the limit", c.name, m, err)
		}
		if m, _, err = c.design(t.Context(), lp.Options{Gap: 0.01, TimeLimit: time.Second, NewSolver: highs.New}); m == nil {
			t.Errorf("%s: nothing in a second: %v", c.name, err)
		}
	}
}

// TestFixedCellsUnderACap: where only so many cells are allowed, noise rounded to them keeps a cap whatever the time.
func TestFixedCellsUnderACap(t *testing.T) {
	p := lp.KernelProblem{
		Privacy: dp.Privacy{Epsilon: 1, Delta: 0.05, Sensitivity: 2}, Loss: loss.L1,
		Queries: kernels.Queries{Lower: 0, Upper: 4}, Cells: 40, InstanceCap: 3,
	}
	r, err := lp.DesignKernelAtWork(t.Context(), p, lp.Options{TimeLimit: 1, NewSolver: highs.New})
	if r == nil || !errors.Is(err, lp.ErrLimit) {
		t.Fatalf("%v, %v, want a kernel and ErrLimit", r, err)
	}
	m := r.Verified.Mechanism()
	if most, _ := r.Verified.Certificate().MaxLoss.Float64(); m.Cells() != 40 || most > 3 || again(t, m) != nil {
		t.Errorf("%d cells with a largest loss of %g", m.Cells(), most)
	}
}

// TestFixedCells: where only so many cells are allowed, a kernel is no worse than noise rounded to them, whatever the time.
func TestFixedCells(t *testing.T) {
	p := lp.KernelProblem{
		Privacy: dp.Privacy{Epsilon: 5, Delta: 0.25, Sensitivity: 2}, Loss: loss.L1,
		Queries: kernels.Queries{Lower: 0, Upper: 4}, Cells: 64,
	}
	r, err := lp.DesignKernelAtWork(t.Context(), p, lp.Options{TimeLimit: time.Millisecond, NewSolver: highs.New})
	if r == nil || !errors.Is(err, lp.ErrLimit) {
		t.Fatalf("%v, %v, want a kernel and ErrLimit", r, err)
	}
	// 0.124 of the best noise, and half a cell; one answer for all has 1.
	m := r.Verified.Mechanism()
	if mean, _ := r.Verified.Bounds().Loss.Float64(); m.Cells() != 64 || mean > 0.124+0.5*4/64 || again(t, m) != nil {
		t.Errorf("%d cells with a mean loss of %g", m.Cells(), mean)
	}
}

// TestEndedContext: a context that has ended before the design begins leaves a proven result.
func TestEndedContext(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	privacy := dp.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 1}
	for _, c := range []limited{
		limitedBy("kernel", lp.KernelProblem{Privacy: privacy, Loss: loss.L2, Queries: kernels.Queries{Lower: 0, Upper: 4}}, 0, 0, lp.DesignKernel),
		limitedBy("cells", lp.CellsProblem{Privacy: privacy, Loss: loss.L2, Edges: halfCells()}, 0, 0, lp.DesignCells),
		limitedBy("local", unbiased(1, local.Worst), 0, 0, lp.DesignLocal),
	} {
		if m, _, err := c.design(ended, lp.Options{NewSolver: highs.New}); m == nil || !errors.Is(err, lp.ErrLimit) || again(t, m) != nil {
			t.Errorf("%s: %v, %v, want a result and ErrLimit", c.name, m, err)
		}
	}
}
