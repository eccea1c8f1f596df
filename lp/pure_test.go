package lp_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/noise"
)

// noSolver: for delta = 0 none is needed.
func noSolver() (lp.Solver, error) { return nil, errors.New("asked for a solver") }

func designPure(t *testing.T, p lp.Problem) *lp.Result {
	t.Helper()
	r, err := lp.Design(context.Background(), p, lp.Options{NewSolver: noSolver})
	if err != nil {
		t.Fatalf("epsilon = %g, sensitivity = %g, %s: %v", p.Epsilon, p.Sensitivity, p.Loss.Name(), err)
	}
	if r.Certificate.DeltaUpper.Sign() != 0 || r.Table.Claims().Delta != "0" || r.Table.TailRatio() == 0 {
		t.Fatalf("epsilon = %g: delta = %s with a tail of %d, want 0 with a tail", p.Epsilon, r.Table.Claims().Delta, r.Table.TailRatio())
	}
	return r
}

// enclose checks that the certified numbers enclose the optimum, the upper one
// within the given share of it: rounding to the grid may cost a little more than
// rounding costs the closed form.
func enclose(t *testing.T, name string, r *lp.Result, want, above float64) {
	t.Helper()
	loss, _ := r.Certificate.ExpectedLoss.Float64()
	bound, _ := r.Certificate.LowerBound.Float64()
	const rounding = 1e-10 // of the closed form, and of weights at large epsilon
	if !(bound <= want*(1+rounding) && loss >= want*(1-rounding) && loss <= want*(1+above)) {
		t.Errorf("%s: [%.12g, %.12g] around %.12g, want the loss within %g", name, bound, loss, want, above)
	}
}

func TestPureReal(t *testing.T) {
	for _, loss := range []noise.Loss{noise.L1{}, noise.L2{}} {
		for _, epsilon := range []float64{0.01, 0.1, 0.3, 1, 2, 3, 5, 7, 10, 12} {
			for _, sensitivity := range []float64{1, 0.37, 1e6} {
				if sensitivity != 1 && epsilon != 1 {
					continue
				}
				r := designPure(t, lp.Problem{Epsilon: epsilon, Sensitivity: sensitivity, Loss: loss})
				want, _ := noise.StaircaseLoss(noise.Parameters{Epsilon: epsilon, Sensitivity: sensitivity}, loss)
				enclose(t, fmt.Sprintf("%s, epsilon = %g", loss.Name(), epsilon), r, want, 5e-4)
				if !r.Optimal || r.Gap > 1e-3 {
					t.Errorf("%s, epsilon = %g: gap = %g, want at most 0.001", loss.Name(), epsilon, r.Gap)
				}
			}
		}
	}
	r := designPure(t, lp.Problem{Epsilon: 1, Sensitivity: 1, Loss: noise.L1{}})
	enclose(t, "l1", r, 0.959517375667, 5e-4)
	r = designPure(t, lp.Problem{Epsilon: 5, Sensitivity: 1, Loss: noise.L1{}})
	enclose(t, "l1", r, 0.082641834928, 5e-4)
	r = designPure(t, lp.Problem{Epsilon: 1, Sensitivity: 1, Loss: noise.L2{}})
	enclose(t, "l2", r, 1.918103531236, 5e-4)
}

// TestPureInteger: the discrete staircase is optimal, and both sides find it.
func TestPureInteger(t *testing.T) {
	for _, loss := range []noise.Loss{noise.L1{}, noise.L2{}} {
		for _, k := range []int64{1, 2, 3, 10, 57} {
			for _, epsilon := range []float64{0.1, 1, 3, 15} {
				name := fmt.Sprintf("%s, K = %d, epsilon = %g", loss.Name(), k, epsilon)
				r := designPure(t, lp.Problem{Epsilon: epsilon, Sensitivity: float64(k), Loss: loss, Query: noise.IntegerQuery})
				_, want, err := noise.DiscreteStaircase(epsilon, k, loss)
				if err != nil {
					t.Fatal(err)
				}
				enclose(t, name, r, want, 1e-10)
				if r.Gap > 2e-6 {
					t.Errorf("%s: gap = %g, want next to none", name, r.Gap)
				}
			}
		}
	}
	three := lp.Problem{Epsilon: 1, Sensitivity: 3, Loss: noise.L1{}, Query: noise.IntegerQuery}
	enclose(t, "K = 3, l1", designPure(t, three), 2.8608324896, 1e-9)
	three.Loss = noise.L2{}
	r := designPure(t, three)
	enclose(t, "K = 3, l2", r, 17.238791362, 1e-9)
	if n := r.Table.Cells(); n != 9 { // 2·3 + 2r-1, r = 2
		t.Errorf("K = 3, l2: %d cells, want 9", n)
	}
}

// TestPureStrides: where one node per point would make too large a proof, nodes
// lie some points apart, and cover the sensitivity even if it is prime.
func TestPureStrides(t *testing.T) {
	r := designPure(t, lp.Problem{Epsilon: 0.005, Sensitivity: 1009, Loss: noise.L1{}, Query: noise.IntegerQuery})
	_, want, err := noise.DiscreteStaircase(0.005, 1009, noise.L1{})
	if err != nil {
		t.Fatal(err)
	}
	enclose(t, "K = 1009", r, want, 1e-10)
}

// TestPureLattice: noise on a lattice is integer noise times its step.
func TestPureLattice(t *testing.T) {
	r := designPure(t, lp.Problem{Epsilon: 0.7, Sensitivity: 1, Step: 0.3, Query: noise.LatticeQuery, Loss: noise.L1{}})
	_, want, err := noise.DiscreteStaircase(0.7, 4, noise.L1{})
	if err != nil {
		t.Fatal(err)
	}
	enclose(t, "lattice", r, 0.3*want, 1e-10)
}

// TestPureLosses: other symmetric losses that do not fall away from 0, against the
// best staircase found by search.
func TestPureLosses(t *testing.T) {
	for _, name := range []string{"huber:0.5", "huber:3", "deadzone:0.4", "exceed:1", "l1:2 + l2:0.5", "l1:3"} {
		loss, err := noise.ParseLoss(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, epsilon := range []float64{0.3, 1, 4} {
			r := designPure(t, lp.Problem{Epsilon: epsilon, Sensitivity: 2, Loss: loss, Query: noise.IntegerQuery})
			if !(r.Gap <= 1e-6) {
				t.Errorf("%s, epsilon = %g, integers: gap = %g, want next to none", name, epsilon, r.Gap)
			}
			r, err := lp.Design(context.Background(), lp.Problem{Epsilon: epsilon, Sensitivity: 1, Loss: loss}, lp.Options{NewSolver: noSolver, Gap: 0.02})
			if err != nil {
				t.Errorf("%s, epsilon = %g: %v (gap %g)", name, epsilon, err, r.Gap)
			}
		}
	}
}

func TestPureConstraints(t *testing.T) {
	p := lp.Problem{
		Epsilon: 1, Sensitivity: 1, Loss: noise.L1{},
		Constraints: noise.Constraints{Symmetric: true, Monotone: true, Unbiased: true, MaxDistinguishing: 0.1, MaxVariance: 3},
	}
	designPure(t, p)
	for name, c := range map[string]struct {
		change func(*lp.Problem)
		want   error
	}{
		"support":    {func(p *lp.Problem) { p.Constraints.Support = &noise.Interval{Lower: 0, Upper: math.Inf(1)} }, lp.ErrInfeasible},
		"variance":   {func(p *lp.Problem) { p.Constraints.MaxVariance = 1.5 }, lp.ErrInvalid},
		"asymmetric": {func(p *lp.Problem) { p.Loss, _ = noise.ParseLoss("pinball:0.3") }, lp.ErrInvalid},
		"power":      {func(p *lp.Problem) { p.Loss, _ = noise.ParseLoss("lp:1.5") }, lp.ErrInvalid},
		"epsilon":    {func(p *lp.Problem) { p.Epsilon = 0 }, lp.ErrInvalid},
	} {
		bad := p
		c.change(&bad)
		if r, err := lp.Design(context.Background(), bad, lp.Options{NewSolver: noSolver}); r != nil || !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if _, err := lp.Design(context.Background(), p, lp.Options{NewSolver: noSolver, MaxCells: 5}); !errors.Is(err, lp.ErrLimit) {
		t.Errorf("five cells: %v, want ErrLimit", err)
	}
}
