// SPDX-License-Identifier: Apache-2.0

//go:build (highs && cgo) || highswasm

package lp_test

import (
	"bytes"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/lp/highs"
	"github.com/noisewright/noisewright/proof"
)

// designKernel runs DesignKernel and fails the test unless the kernel verifies
// from its file.
func designKernel(t *testing.T, p lp.KernelProblem, gap float64) (r *lp.Result[kernels.Verified], loss, bound float64) {
	t.Helper()
	r, err := lp.DesignKernel(t.Context(), p, lp.Options{Gap: gap, NewSolver: highs.New, TimeLimit: 2 * time.Minute})
	if err != nil && !errors.Is(err, lp.ErrLimit) {
		t.Fatalf("%s ε=%g δ=%g: %v", p.Loss.Name(), p.Epsilon, p.Delta, err)
	}
	if r.Optimal != (err == nil) || r.Optimal != (r.Gap <= gap) {
		t.Errorf("ε=%g δ=%g: optimal = %v with gap %g and error %v", p.Epsilon, p.Delta, r.Optimal, r.Gap, err)
	}
	var file bytes.Buffer
	if err := r.Verified.Mechanism().Encode(&file); err != nil {
		t.Fatal(err)
	}
	back, err := kernels.Decode(&file)
	if err != nil {
		t.Fatal(err)
	}
	v, err := back.Verify()
	if err != nil {
		t.Fatalf("%s ε=%g δ=%g: %v", p.Loss.Name(), p.Epsilon, p.Delta, err)
	}
	c := v.Certificate()
	if c.ExpectedLoss.Cmp(r.Verified.Certificate().ExpectedLoss) != 0 || c.LowerBound.Cmp(r.Verified.Certificate().LowerBound) != 0 {
		t.Error("the file's certificate differs from the result's")
	}
	loss, _ = c.ExpectedLoss.Float64()
	bound, _ = c.LowerBound.Float64()
	if bound > loss {
		t.Errorf("ε=%g δ=%g: bound %g above the loss %g", p.Epsilon, p.Delta, bound, loss)
	}
	return r, loss, bound
}

func unitRange(epsilon, delta float64) lp.KernelProblem {
	return lp.KernelProblem{
		Privacy: dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 2}, Loss: loss.L1,
		Queries: kernels.Queries{Lower: 0, Upper: 4},
	}
}

// TestKernelBrackets compares the lower bounds, to three digits, with those of an
// independent program in another language, whose upper bounds were .958, .945 and
// .655 with another, worse mechanism.
func TestKernelBrackets(t *testing.T) {
	for _, c := range []struct {
		epsilon, delta float64
		cells          int
		bound, loss    float64
	}{
		{0.2, 0.05, 8, 0.926, 0.9545},
		{0.2, 0.05, 16, 0.938, 0.9453},
		{1, 0.2, 24, 0.644, 0.6528},
	} {
		p := unitRange(c.epsilon, c.delta)
		p.Cells = c.cells
		r, loss, bound := designKernel(t, p, 1)
		if loss > c.loss || math.Abs(bound-c.bound) > 6e-4 {
			t.Errorf("ε=%g δ=%g, %d cells: [%g, %g], want [%g, %g]", c.epsilon, c.delta, c.cells, bound, loss, c.bound, c.loss)
		}
		if r.Verified.Mechanism().Cells() != c.cells {
			t.Errorf("%d cells, want %d", r.Verified.Mechanism().Cells(), c.cells)
		}
	}
}

// TestKernelRefines: without fixed nodes the requested gap is reached.
func TestKernelRefines(t *testing.T) {
	if r, _, _ := designKernel(t, unitRange(0.2, 0.05), 0.01); !r.Optimal {
		t.Errorf("gap %g", r.Gap)
	}
	p := unitRange(1, 0.1)
	p.Loss = loss.L2
	if r, _, _ := designKernel(t, p, 0.05); !r.Optimal {
		t.Errorf("l2: gap %g", r.Gap)
	}
}

// TestKernelLargeEpsilon: steps that are far narrower than the sensitivity are met by
// kernels with delta = 0 that answer with the own cell's node with probability delta. The
// loss and the bound are those of an independent program in another language, which
// solved the programs with delta > 0.
func TestKernelLargeEpsilon(t *testing.T) {
	r, loss, bound := designKernel(t, unitRange(5, 0.25), 0.08)
	if !r.Optimal || loss < 0.0958 || bound > 0.1026 {
		t.Errorf("gap %g: [%g, %g]", r.Gap, bound, loss)
	}
	for _, weight := range []uint64{r.Verified.Mechanism().Weight(0, 0), r.Verified.Mechanism().Weight(5, 5)} {
		if share := math.Ldexp(float64(weight), -64); share < 0.249 {
			t.Errorf("a cell answers with its own node with probability %g, want at least nearly delta", share)
		}
	}
}

// TestKernelBeatsAdditiveNoise: a data independent law, clipped to the range, is
// one of the mechanisms a kernel competes with.
func TestKernelBeatsAdditiveNoise(t *testing.T) {
	p := unitRange(1, 0.2)
	additive := design(t, dp.Problem{Privacy: dp.Privacy{Epsilon: p.Epsilon, Delta: p.Delta, Sensitivity: p.Sensitivity}, Loss: p.Loss}, 1e-3)
	most, _ := losses(additive)
	if _, loss, _ := designKernel(t, p, 0.05); loss > 0.62*most {
		t.Errorf("expected loss %g, of additive noise %g", loss, most)
	}
}

// squared is loss.L2 where a variable is called loss.
var squared = loss.L2

// TestKernelInstanceCap: a cap that binds is kept by every query value, costs
// something on average, and its bound is no lower than the one without a cap.
func TestKernelInstanceCap(t *testing.T) {
	p := unitRange(1, 0.2)
	p.Cells = 12
	free, loss, bound := designKernel(t, p, 1)
	most, _ := free.Verified.Certificate().MaxLoss.Float64()
	p.InstanceCap = 0.85 * most
	capped, cappedLoss, cappedBound := designKernel(t, p, 1)
	if got, _ := capped.Verified.Certificate().MaxLoss.Float64(); got > p.InstanceCap || got < 0.99*p.InstanceCap {
		t.Errorf("largest loss %g with the cap %g", got, p.InstanceCap)
	}
	if cappedLoss < loss+1e-6 || cappedBound < bound+1e-6 {
		t.Errorf("with the cap [%g, %g], without [%g, %g]", cappedBound, cappedLoss, bound, loss)
	}
	// A cap on the squares makes large errors rare, and costs something too.
	p.InstanceCap, p.CapLoss = math.MaxFloat64, squared
	free, loss, bound = designKernel(t, p, 1)
	squares, _ := free.Verified.Certificate().CapLoss.Float64()
	p.InstanceCap = 0.8 * squares
	capped, cappedLoss, cappedBound = designKernel(t, p, 1)
	if got, _ := capped.Verified.Certificate().CapLoss.Float64(); got > p.InstanceCap || got < 0.99*p.InstanceCap {
		t.Errorf("largest square %g with the cap %g", got, p.InstanceCap)
	}
	if cappedLoss < loss+1e-6 || cappedBound < bound+1e-6 {
		t.Errorf("with the cap on squares [%g, %g], without [%g, %g]", cappedBound, cappedLoss, bound, loss)
	}
	p.InstanceCap, p.CapLoss = 0.05, nil
	if _, err := lp.DesignKernel(t.Context(), p, lp.Options{NewSolver: highs.New}); !errors.Is(err, lp.ErrInfeasible) {
		t.Errorf("a cap out of reach: error %v", err)
	}
}

// TestKernelNodesAndWeights: nodes that are not equally spaced, a sensitivity that
// is no whole number of intervals, nodes that float64 rounds, and a weight that is
// not uniform, with a start between nodes.
func TestKernelNodesAndWeights(t *testing.T) {
	weight := []proof.Piece{{From: 0, Weight: 1}, {From: 0.43, Weight: 4}, {From: 0.8, Weight: 0}}
	for name, change := range map[string]func(*lp.KernelProblem){
		"whole":    func(p *lp.KernelProblem) { p.Cells = 10 },
		"part":     func(p *lp.KernelProblem) { p.Cells = 7 },
		"unequal":  func(p *lp.KernelProblem) { p.Nodes = []float64{0, 0.03, 0.2, 0.35, 0.41, 0.6, 0.77, 0.9, 1} },
		"weighted": func(p *lp.KernelProblem) { p.Cells = 10; p.Queries.Weight = weight },
		"wide":     func(p *lp.KernelProblem) { p.Cells = 5; p.Sensitivity = 3 },
		"tiny δ":   func(p *lp.KernelProblem) { p.Cells = 10; p.Delta = 1e-9 },
		"ε = 0":    func(p *lp.KernelProblem) { p.Cells = 10; p.Epsilon = 0 },
	} {
		p := lp.KernelProblem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 0.3}, Loss: loss.L1, Queries: kernels.Queries{Upper: 1}}
		change(&p)
		r, loss, bound := designKernel(t, p, 1)
		t.Logf("%s: [%.4g, %.4g], delta %s", name, bound, loss, r.Verified.Certificate().Claims().Delta)
		// The best answer that depends on nothing is the median, which costs at
		// most 1/4 here; and a bound is there.
		if loss > 0.25 || bound < 0.1*loss {
			t.Errorf("%s: [%g, %g]", name, bound, loss)
		}
		// The constraint is used up but for the margin.
		if got, _ := r.Verified.Certificate().DeltaUpper.Float64(); got < 0.9*p.Delta && p.Delta > 1e-6 {
			t.Errorf("%s: delta %g of %g", name, got, p.Delta)
		}
	}
}

// TestKernelLosses: losses that are not symmetric, jump, or have slopes that differ
// by a factor of 1000, as clipping to a range of steps does.
func TestKernelLosses(t *testing.T) {
	for _, name := range []string{
		"pwl:-inf,-1000;-2.5,-1;0,1;2.5,1000", "pinball:0.2", "exceed:0.5", "huber:1", "lp:1.5", "l1:2 + l2",
		"pwl:-inf,-2;-1,1;0,-1;1,2",
	} {
		l, err := loss.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		p := unitRange(1, 0.2)
		p.Loss, p.Cells = l, 16
		r, loss, bound := designKernel(t, p, 1)
		t.Logf("%s: [%.4g, %.4g], largest %s", name, bound, loss, r.Verified.Certificate().Claims().MaxLoss)
		if bound < 0.45*loss {
			t.Errorf("%s: [%g, %g]", name, bound, loss)
		}
	}
}

// TestKernelScales: with everything in other units the losses scale along.
func TestKernelScales(t *testing.T) {
	p := unitRange(1, 0.2)
	p.Cells = 8
	_, loss, bound := designKernel(t, p, 1)
	p.Sensitivity *= 1024
	p.Queries = kernels.Queries{Lower: -2048, Upper: 2048}
	_, far, farBound := designKernel(t, p, 1)
	if math.Abs(far/1024-loss) > 1e-6 || math.Abs(farBound/1024-bound) > 1e-6 {
		t.Errorf("[%g, %g] and, 1024 times as large, [%g, %g]", bound, loss, farBound, far)
	}
}

func TestDesignKernelRefuses(t *testing.T) {
	for name, change := range map[string]func(*lp.KernelProblem, *lp.Options){
		"delta":        func(p *lp.KernelProblem, _ *lp.Options) { p.Delta = 0 },
		"epsilon":      func(p *lp.KernelProblem, _ *lp.Options) { p.Epsilon = -1 },
		"loss":         func(p *lp.KernelProblem, _ *lp.Options) { p.Loss = nil },
		"cap-slack":    func(p *lp.KernelProblem, _ *lp.Options) { p.CapSlack = 2 },
		"instance-cap": func(p *lp.KernelProblem, _ *lp.Options) { p.InstanceCap = -1 },
		"cells":        func(p *lp.KernelProblem, _ *lp.Options) { p.Cells = -1 },
		"nodes[1]":     func(p *lp.KernelProblem, _ *lp.Options) { p.Nodes = []float64{0, 5} },
		"nodes[2]":     func(p *lp.KernelProblem, _ *lp.Options) { p.Nodes = []float64{0, 3, 2, 4} },
		"gap":          func(_ *lp.KernelProblem, o *lp.Options) { o.Gap = 2 },
	} {
		p, o := unitRange(1, 0.2), lp.Options{NewSolver: highs.New}
		change(&p, &o)
		if _, err := lp.DesignKernel(t.Context(), p, o); !errors.Is(err, dp.ErrInvalid) || !bytes.Contains([]byte(err.Error()), []byte(name)) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	p := unitRange(1, 0.2)
	p.Queries.Upper = -1
	if _, err := lp.DesignKernel(t.Context(), p, lp.Options{NewSolver: highs.New}); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("range: error %v", err)
	}
}

// TestKernelStops: a time limit leaves a proven kernel.
func TestKernelStops(t *testing.T) {
	r, err := lp.DesignKernel(t.Context(), unitRange(1, 0.2), lp.Options{Gap: 1e-5, TimeLimit: 300 * time.Millisecond, NewSolver: highs.New})
	if !errors.Is(err, lp.ErrLimit) || r == nil || r.Verified == nil {
		t.Fatalf("error %v", err)
	}
}

func BenchmarkDesignKernel(b *testing.B) {
	p := unitRange(1, 0.2)
	p.Cells = 16
	var gap float64
	for b.Loop() {
		r, err := lp.DesignKernel(b.Context(), p, lp.Options{Gap: 1, NewSolver: highs.New})
		if err != nil {
			b.Fatal(err)
		}
		gap = r.Gap
	}
	b.ReportMetric(gap, "gap")
}

// TestKernelCapSlack: a cap that only kernels of fine cells keep is raised, within the
// slack, to what rounded noise keeps; one that kernels of few cells keep, or without slack,
// is not.
func TestKernelCapSlack(t *testing.T) {
	p := unitRange(1, 0.2)
	additive, err := lp.Design(t.Context(), dp.Problem{Privacy: p.Privacy, Loss: p.Loss}, lp.Options{NewSolver: highs.New})
	if err != nil {
		t.Fatal(err)
	}
	least, _ := additive.Verified.Certificate().ExpectedLoss.Float64()
	o := lp.Options{NewSolver: highs.New, Gap: 1, MaxCells: 80}
	p.InstanceCap, p.CapSlack = least, 0.05
	for _, c := range []struct {
		sensitivities float64 // in the range
		raised        bool
	}{{4, true}, {1, false}} {
		p.Queries.Upper = c.sensitivities * p.Sensitivity
		r, err := lp.DesignKernel(t.Context(), p, o)
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		kept := r.Verified.Mechanism().InstanceCap()
		if (kept > p.InstanceCap) != c.raised || kept > p.InstanceCap*(1+p.CapSlack) {
			t.Errorf("%+v: the cap is %g, %g was asked for", c, kept, p.InstanceCap)
		}
		most, _ := r.Verified.Certificate().MaxLoss.Float64()
		loss, _ := r.Verified.Certificate().ExpectedLoss.Float64()
		bound, _ := r.Verified.Certificate().LowerBound.Float64()
		if most > kept || bound <= 0 || bound > loss {
			t.Errorf("%+v: largest loss %g with the cap %g, expected loss in [%g, %g]", c, most, kept, bound, loss)
		}
	}
	p.Queries.Upper, p.CapSlack = 4*p.Sensitivity, 0
	if r, err := lp.DesignKernel(t.Context(), p, o); err != nil || r.Verified.Mechanism().InstanceCap() != least {
		t.Errorf("without slack: %v, %v", r, err)
	}
}

// TestKernelStartsAdditive: where noise that does not depend on the query value keeps the
// cap on fine cells, a kernel is there before the first linear program.
func TestKernelStartsAdditive(t *testing.T) {
	p := unitRange(3, 0.1)
	p.Queries.Upper, p.InstanceCap = 4*p.Sensitivity, 0.24*p.Sensitivity
	r, err := lp.DesignKernel(t.Context(), p, lp.Options{NewSolver: highs.New, Gap: 1, MaxCells: 80})
	if r == nil {
		t.Fatal(err)
	}
	if most, _ := r.Verified.Certificate().MaxLoss.Float64(); most > p.InstanceCap {
		t.Errorf("the largest loss is %g, the cap %g", most, p.InstanceCap)
	}
}
