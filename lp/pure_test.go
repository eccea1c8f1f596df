// SPDX-License-Identifier: Apache-2.0

package lp_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/solver"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

// noSolver: for delta = 0 none is needed.
func noSolver() (solver.Solver, error) { return nil, errors.New("asked for a solver") }

func designPure(t *testing.T, p dp.Problem) *lp.Result[tables.Verified] {
	t.Helper()
	r, err := lp.Design(context.Background(), p, lp.Options{NewSolver: noSolver})
	if err != nil {
		t.Fatalf("epsilon = %g, sensitivity = %g, %s: %v", p.Epsilon, p.Sensitivity, p.Loss.Name(), err)
	}
	if r.Verified.Certificate().DeltaUpper.Sign() != 0 || r.Verified.Certificate().Claims().Delta != "0" || r.Verified.Mechanism().TailRatio() == 0 {
		t.Fatalf("epsilon = %g: delta = %s with a tail of %d, want 0 with a tail", p.Epsilon, r.Verified.Certificate().Claims().Delta, r.Verified.Mechanism().TailRatio())
	}
	return r
}

// enclose checks that the certified numbers enclose the optimum, the upper one
// within the given share of it: rounding to the grid may cost a little more than
// rounding costs the closed form.
func enclose(t *testing.T, name string, r *lp.Result[tables.Verified], want, above float64) {
	t.Helper()
	loss, _ := r.Verified.Certificate().ExpectedLoss.Float64()
	bound, _ := r.Verified.Certificate().LowerBound.Float64()
	const rounding = 1e-10 // of the closed form, and of weights at large epsilon
	if !(bound <= want*(1+rounding) && loss >= want*(1-rounding) && loss <= want*(1+above)) {
		t.Errorf("%s: [%.12g, %.12g] around %.12g, want the loss within %g", name, bound, loss, want, above)
	}
}

// staircaseLoss returns the least loss for delta = 0.
func staircaseLoss(t *testing.T, p dp.Privacy, l loss.Loss) float64 {
	t.Helper()
	m, err := noise.New(noise.Staircase, p, l)
	if err != nil {
		t.Fatal(err)
	}
	v, _, err := m.ExpectedLoss(l)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestPureReal(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, loss := range []loss.Loss{loss.L1, loss.L2} {
		for _, epsilon := range []float64{0.01, 0.1, 0.3, 1, 2, 3, 5, 7, 10, 12} {
			for _, sensitivity := range []float64{1, 0.37, 1e6} {
				if sensitivity != 1 && epsilon != 1 {
					continue
				}
				r := designPure(t, dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Sensitivity: sensitivity}, Loss: loss})
				want := staircaseLoss(t, dp.Privacy{Epsilon: epsilon, Sensitivity: sensitivity}, loss)
				enclose(t, fmt.Sprintf("%s, epsilon = %g", loss.Name(), epsilon), r, want, 5e-4)
				if !r.Optimal || r.Gap > 1e-3 {
					t.Errorf("%s, epsilon = %g: gap = %g, want at most 0.001", loss.Name(), epsilon, r.Gap)
				}
			}
		}
	}
	r := designPure(t, dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Sensitivity: 1}, Loss: loss.L1})
	enclose(t, "l1", r, 0.959517375667, 5e-4)
	r = designPure(t, dp.Problem{Privacy: dp.Privacy{Epsilon: 5, Sensitivity: 1}, Loss: loss.L1})
	enclose(t, "l1", r, 0.082641834928, 5e-4)
	r = designPure(t, dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Sensitivity: 1}, Loss: loss.L2})
	enclose(t, "l2", r, 1.918103531236, 5e-4)
}

// TestPureInteger: the discrete staircase is optimal, and both sides find it.
func TestPureInteger(t *testing.T) {
	for _, loss := range []loss.Loss{loss.L1, loss.L2} {
		for _, k := range []int64{1, 2, 3, 10, 57} {
			for _, epsilon := range []float64{0.1, 1, 3, 15} {
				if testing.Short() && k > 3 && epsilon != 1 {
					continue // slow
				}
				name := fmt.Sprintf("%s, K = %d, epsilon = %g", loss.Name(), k, epsilon)
				r := designPure(t, dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Sensitivity: float64(k)}, Loss: loss, Query: dp.IntegerQuery})
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
	three := dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Sensitivity: 3}, Loss: loss.L1, Query: dp.IntegerQuery}
	enclose(t, "K = 3, l1", designPure(t, three), 2.8608324896, 1e-9)
	three.Loss = loss.L2
	r := designPure(t, three)
	enclose(t, "K = 3, l2", r, 17.238791362, 1e-9)
	if n := r.Verified.Mechanism().Cells(); n != 9 { // 2·3 + 2r-1, r = 2
		t.Errorf("K = 3, l2: %d cells, want 9", n)
	}
}

// TestPureStrides: where one node per point would make too large a proof, nodes
// lie some points apart, and cover the sensitivity even if it is prime.
func TestPureStrides(t *testing.T) {
	r := designPure(t, dp.Problem{Privacy: dp.Privacy{Epsilon: 0.005, Sensitivity: 1009}, Loss: loss.L1, Query: dp.IntegerQuery})
	_, want, err := noise.DiscreteStaircase(0.005, 1009, loss.L1)
	if err != nil {
		t.Fatal(err)
	}
	enclose(t, "K = 1009", r, want, 1e-10)
}

// TestPureLattice: noise on a lattice is integer noise times its step.
func TestPureLattice(t *testing.T) {
	r := designPure(t, dp.Problem{Privacy: dp.Privacy{Epsilon: 0.7, Sensitivity: 1}, Step: 0.3, Query: dp.LatticeQuery, Loss: loss.L1})
	_, want, err := noise.DiscreteStaircase(0.7, 4, loss.L1)
	if err != nil {
		t.Fatal(err)
	}
	enclose(t, "lattice", r, 0.3*want, 1e-10)
}

// TestPureLosses: other symmetric losses that do not fall away from 0, against the
// best staircase found by search.
func TestPureLosses(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, name := range []string{"huber:0.5", "huber:3", "deadzone:0.4", "exceed:1", "l1:2 + l2:0.5", "l1:3"} {
		loss := parseLoss(t, name)
		for _, epsilon := range []float64{0.3, 1, 4} {
			r := designPure(t, dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Sensitivity: 2}, Loss: loss, Query: dp.IntegerQuery})
			if !(r.Gap <= 1e-6) {
				t.Errorf("%s, epsilon = %g, integers: gap = %g, want next to none", name, epsilon, r.Gap)
			}
			_, err := lp.Design(context.Background(), dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Sensitivity: 1}, Loss: loss}, lp.Options{NewSolver: noSolver, Gap: 0.02})
			if err != nil {
				t.Errorf("%s, epsilon = %g: %v", name, epsilon, err)
			}
		}
	}
}

func TestPureConstraints(t *testing.T) {
	p := dp.Problem{
		Privacy: dp.Privacy{Epsilon: 1, Sensitivity: 1}, Loss: loss.L1,
		Constraints: dp.Constraints{Symmetric: true, Monotone: true, Unbiased: true, MaxDistinguishing: 0.1, MaxVariance: 3},
	}
	designPure(t, p)
	for name, c := range map[string]struct {
		change func(*dp.Problem)
		want   error
	}{
		"support":  {func(p *dp.Problem) { p.Constraints.Support = &dp.Interval{Lower: 0, Upper: math.Inf(1)} }, lp.ErrInfeasible},
		"variance": {func(p *dp.Problem) { p.Constraints.MaxVariance = 1.5 }, dp.ErrInvalid},
		"asymmetric": {func(p *dp.Problem) {
			p.Loss, _ = loss.Parse("pwl:-inf,-1;0,1;2,5")
			p.Constraints.Symmetric = false
		}, dp.ErrInvalid},
		"unknown tail": {func(p *dp.Problem) { p.Loss = struct{ loss.Loss }{loss.L1} }, dp.ErrInvalid},
		"epsilon":      {func(p *dp.Problem) { p.Epsilon = 0 }, dp.ErrInvalid},
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

// TestUnbiasedIsSymmetrized: what a loss has beside its symmetric part, if that is linear, costs unbiased noise
// nothing, so that the optimum is that of l1.
func TestUnbiasedIsSymmetrized(t *testing.T) {
	for i, c := range []struct {
		epsilon, delta float64
		query          dp.Query
		sensitivity    float64
	}{{1, 0, dp.RealQuery, 1}, {12, 0, dp.RealQuery, 0.3}, {12, 1e-3, dp.RealQuery, 1}, {1, 1e-2, dp.RealQuery, 1}, {9, 1e-5, dp.IntegerQuery, 40}} {
		if testing.Short() && i%2 > 0 {
			continue
		}
		p := dp.Problem{Privacy: dp.Privacy{Epsilon: c.epsilon, Delta: c.delta, Sensitivity: c.sensitivity}, Query: c.query, Loss: loss.L1}
		symmetric, err := lp.Design(t.Context(), p, lp.Options{})
		if err != nil {
			t.Fatal(err)
		}
		p.Loss, p.Constraints.Unbiased = parseLoss(t, "asymmetric:3,1"), true // 2|x| - x
		r, err := lp.Design(t.Context(), p, lp.Options{})
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		above, below := bounds(r)
		most, least := bounds(symmetric)
		if above < 2*least*(1-1e-12) || below > 2*most*(1+1e-12) {
			t.Errorf("%+v: [%g, %g], twice that of l1 is in [%g, %g]", c, below, above, 2*least, 2*most)
		}
		if err := fromFile(r.Verified); err != nil {
			t.Error(err)
		}
	}
}

func parseLoss(t *testing.T, name string) loss.Loss {
	t.Helper()
	l, err := loss.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// bounds returns the certified numbers as float64s.
func bounds(r *lp.Result[tables.Verified]) (loss, bound float64) {
	loss, _ = r.Verified.Certificate().ExpectedLoss.Float64()
	bound, _ = r.Verified.Certificate().LowerBound.Float64()
	return loss, bound
}

// bestLevels returns the least expected loss of integer noise with a core a … b and e^ε
// less in each sensitivity further out, over all cores within reach, summed term by
// term.
func bestLevels(loss loss.Loss, epsilon float64, k, reach int) float64 {
	best := math.Inf(1)
	for a := -reach; a <= reach; a++ {
		for b := a; b <= min(reach, a+2*k); b++ {
			var sum, mass float64
			for x := a - 60*k; x <= b+60*k; x++ {
				out := max(a-x, x-b, 0)
				w := math.Exp(-epsilon * float64((out+k-1)/k))
				sum += w * loss.At(float64(x))
				mass += w
			}
			best = min(best, sum/mass)
		}
	}
	return best
}

// TestPureAsymmetric: losses that are not symmetric, with the valley at 0 or elsewhere;
// on integers both bounds are the least over all staircases.
func TestPureAsymmetric(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, name := range []string{"pinball:0.9", "pinball:0.99", "asymmetric:1,5", "pwl:-inf,-1;2,3", "pwl:-inf,-1;2,3 + l2", "l2 + pinball:0.7:2", "pwl:-inf,-1;-2,1;0,-1;1,3"} {
		loss := parseLoss(t, name)
		for _, epsilon := range []float64{0.5, 1, 3, 5} {
			for _, k := range []int{1, 3} {
				what := fmt.Sprintf("%s, epsilon = %g, K = %d", name, epsilon, k)
				r := designPure(t, dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Sensitivity: float64(k)}, Loss: loss, Query: dp.IntegerQuery})
				enclose(t, what, r, bestLevels(loss, epsilon, k, 12*k), 1e-9)
				if r.Gap > 1e-9 {
					t.Errorf("%s: gap = %g, want next to none", what, r.Gap)
				}
			}
			r := designPure(t, dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Sensitivity: 1}, Loss: loss})
			if !r.Optimal || r.Gap > 1e-3 {
				t.Errorf("%s, epsilon = %g: gap = %g, want at most 0.001", name, epsilon, r.Gap)
			}
		}
	}
}

// TestPureValleys: where the loss has several valleys the best one is found, which need not
// be the lowest, and the gap tells what a single core may miss.
func TestPureValleys(t *testing.T) {
	for _, name := range []string{"pwl:-inf,-2;-4,2;0,-2;4,2", "pwl:-inf,-1;-6,1;-5,0;0,4;0.25,-8;0.5,4", "pwl:-inf,-1;-1,1;0,-1;1,1", "pwl:-inf,-1;-3,1;-2,0;1,-2;2,3"} {
		loss := parseLoss(t, name)
		for _, epsilon := range []float64{0.5, 2, 4} {
			what := fmt.Sprintf("%s, epsilon = %g", name, epsilon)
			r, err := lp.Design(context.Background(), dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Sensitivity: 2}, Loss: loss, Query: dp.IntegerQuery}, lp.Options{NewSolver: noSolver})
			if r == nil {
				t.Errorf("%s: %v", what, err)
				continue
			}
			got, bound := bounds(r)
			want := bestLevels(loss, epsilon, 2, 16)
			if !(math.Abs(got/want-1) < 1e-9 && bound <= want*(1+1e-9)) {
				t.Errorf("%s: [%.12g, %.12g] around %.12g", what, bound, got, want)
			}
			t.Logf("%s: %.6g, gap %.2g, %v", what, got, r.Gap, err)
		}
	}
}

// TestPureAway: the peak may be many sensitivities from 0, with levels between it and
// the tail; and the loss scales with the sensitivity.
func TestPureAway(t *testing.T) {
	r := designPure(t, dp.Problem{Privacy: dp.Privacy{Epsilon: 0.05, Sensitivity: 1}, Loss: parseLoss(t, "pinball:0.99")})
	g := r.Verified.Mechanism().Grid()
	if n := r.Verified.Mechanism().Cells(); r.Gap > 1e-3 || n < 60*g.CellsPerSensitivity {
		t.Errorf("gap = %g, %d cells of %d per sensitivity, want a wide table", r.Gap, n, g.CellsPerSensitivity)
	}
	far := designPure(t, dp.Problem{Privacy: dp.Privacy{Epsilon: 0.05, Sensitivity: 1000}, Loss: parseLoss(t, "pinball:0.99")})
	loss, _ := bounds(r)
	if other, bound := bounds(far); !(other <= 1000*loss*1.001 && bound <= 1000*loss) {
		t.Errorf("sensitivity = 1000: [%g, %g], want 1000 times %g", bound, other, loss)
	}
}

// TestPureMirror: mirrored losses have the same optimum, and pinball:0.5 is half of l1.
func TestPureMirror(t *testing.T) {
	for _, pair := range [][2]string{{"pinball:0.8", "pinball:0.2"}, {"asymmetric:2,3", "asymmetric:3,2"}, {"pinball:0.5", "l1:0.5"}, {"pwl:-inf,-1;2,3", "pwl:-inf,-3;-2,1"}} {
		for _, epsilon := range []float64{0.5, 2} {
			for _, query := range []dp.Query{dp.RealQuery, dp.IntegerQuery} {
				p := dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Sensitivity: 2}, Loss: parseLoss(t, pair[0]), Query: query}
				a, aBelow := bounds(designPure(t, p))
				p.Loss = parseLoss(t, pair[1])
				b, bBelow := bounds(designPure(t, p))
				if !(aBelow <= b && bBelow <= a && math.Abs(a/b-1) < 1e-3) || query == dp.IntegerQuery && math.Abs(a/b-1) > 1e-12 {
					t.Errorf("%s, epsilon = %g, %s: [%.12g, %.12g] and mirrored [%.12g, %.12g]", pair[0], epsilon, query, aBelow, a, bBelow, b)
				}
			}
		}
	}
	// Symmetric noise pays both sides alike.
	p := dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Sensitivity: 1}, Loss: parseLoss(t, "pinball:0.9"), Constraints: dp.Constraints{Symmetric: true}}
	enclose(t, "symmetric", designPure(t, p), 0.959517375667/2, 5e-4)
}

// TestPurePowers: powers, whose tails are bounded and not summed, against a search over
// the staircase mechanism, and in sums.
func TestPurePowers(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, name := range []string{"lp:1.1", "lp:1.5", "lp:3", "lp:10", "lp:2.5:0.3"} {
		loss := parseLoss(t, name)
		for _, epsilon := range []float64{0.5, 1, 3} {
			m, err := noise.New(noise.Staircase, dp.Privacy{Epsilon: epsilon, Sensitivity: 1}, loss)
			if err != nil {
				t.Fatal(err)
			}
			want, _, err := m.ExpectedLoss(loss)
			if err != nil {
				t.Fatal(err)
			}
			enclose(t, fmt.Sprintf("%s, epsilon = %g", name, epsilon), designPure(t, dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Sensitivity: 1}, Loss: loss}), want, 1e-3)
		}
	}
	loss := parseLoss(t, "lp:1.5 + pinball:0.9:3")
	r := designPure(t, dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Sensitivity: 3}, Loss: loss, Query: dp.IntegerQuery})
	enclose(t, loss.Name(), r, bestLevels(loss, 1, 3, 20), 1e-6)
}

// TestPureTampered: a tail that falls too fast, or a core too high, is not private.
func TestPureTampered(t *testing.T) {
	for _, name := range []string{"pinball:0.99", "lp:1.5"} {
		r := designPure(t, dp.Problem{Privacy: dp.Privacy{Epsilon: 0.5, Sensitivity: 3}, Loss: parseLoss(t, name), Query: dp.IntegerQuery})
		spec := func() tables.Spec {
			s := tables.Spec{
				Problem: dp.Problem{Privacy: r.Verified.Mechanism().Privacy(), Query: r.Verified.Mechanism().Query(), Loss: r.Verified.Mechanism().Loss()}, Grid: r.Verified.Mechanism().Grid(),
				TailRatio: r.Verified.Mechanism().TailRatio(), Claims: r.Verified.Certificate().Claims(),
			}
			for i := range r.Verified.Mechanism().Cells() {
				s.Weights = append(s.Weights, r.Verified.Mechanism().Weight(i))
			}
			return s
		}
		verify := func(s tables.Spec) error {
			s.Claims.LowerBound = "0"
			tab, err := tables.New(s)
			if err != nil {
				t.Fatal(err)
			}
			_, err = tab.Verify()
			return err
		}
		if err := verify(spec()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		s := spec()
		s.TailRatio--
		if err := verify(s); !errors.Is(err, proof.ErrNotPrivate) {
			t.Errorf("%s, steeper tail: %v, want ErrNotPrivate", name, err)
		}
		s = spec()
		top := len(s.Weights) - 1
		for i := range s.Weights {
			if _, block := r.Verified.Mechanism().Block(i); block {
				continue
			}
			if _, block := r.Verified.Mechanism().Block(top); block || s.Weights[i] > s.Weights[top] {
				top = i
			}
		}
		s.Weights[top] += 1 << 20
		s.Weights[0] -= 1 << 20
		if err := verify(s); !errors.Is(err, proof.ErrNotPrivate) {
			t.Errorf("%s, higher core: %v, want ErrNotPrivate", name, err)
		}
		s = spec()
		s.TailRatio += 1 << 56
		if err := verify(s); err == nil {
			t.Errorf("%s: a longer tail keeps its claims", name)
		}
	}
}
