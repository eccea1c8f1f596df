// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp/internal/meet"
)

// atWork designs with a clock that the interior point method's multiplications move on.
func atWork(t *testing.T, p dp.Problem, gap float64, limit time.Duration) meet.Outcome {
	t.Helper()
	const perProduct = 1e-10 // seconds, with vectors
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var now time.Duration
	o := meet.Options{Gap: gap, MaxCells: 1 << 17, TimeLimit: limit, Clock: func() time.Duration { return now }}
	o.Step = func(products float64) {
		if now += time.Duration(products * perProduct * float64(time.Second)); now >= limit {
			cancel()
		}
	}
	s, ctx, end := o.Begin(ctx)
	defer end()
	table, outcome, err := Design(ctx, p, s)
	if table == nil || err != nil && !errors.Is(err, meet.ErrLimit) {
		t.Fatalf("%+v: %v", p, err)
	}
	return outcome
}

func lossOf(t *testing.T, name string) loss.Loss {
	t.Helper()
	l, err := loss.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestReached: random problems that once missed the gap, one for each cause.
func TestReached(t *testing.T) {
	monotone := dp.Constraints{Monotone: true}
	for _, c := range []struct {
		cause string
		p     dp.Problem
		loss  string
		slow  bool
	}{
		{"a density that jumps up at 0", dp.Problem{Privacy: dp.Privacy{Epsilon: 0.243, Delta: 1.13e-9, Sensitivity: 1}, Constraints: monotone}, "asymmetric:3,1", false},
		{"the middle of cells of points", dp.Problem{Privacy: dp.Privacy{Epsilon: 0.567, Delta: 1.32e-6, Sensitivity: 55}, Query: dp.IntegerQuery, Constraints: monotone}, "pinball:0.25", false},
		{"monotone noise, rounded", dp.Problem{Privacy: dp.Privacy{Epsilon: 10.7, Delta: 1.13e-5, Sensitivity: 406}, Query: dp.IntegerQuery, Constraints: monotone}, "exceed:706", true},
		{"a jump little more than a sensitivity off", dp.Problem{Privacy: dp.Privacy{Epsilon: 10.6, Delta: 5.79e-9, Sensitivity: 266}}, "exceed:271", true},
		{"cells of which few points are too wide", dp.Problem{Privacy: dp.Privacy{Epsilon: 15.6, Delta: 3.2e-8, Sensitivity: 0.00253}}, "exceed:0.00293", true},
	} {
		if c.slow && testing.Short() {
			continue
		}
		t.Run(c.cause, func(t *testing.T) {
			t.Parallel()
			c.p.Loss = lossOf(t, c.loss)
			if o := atWork(t, c.p, 1e-3, 5*time.Second); !(o.Gap <= 1e-3) {
				t.Errorf("a gap of %g", o.Gap)
			}
		})
	}
}

// TestSidesAlike: a problem and its mirror image are designed alike, whether monotone noise is higher above 0 or below.
func TestSidesAlike(t *testing.T) {
	for _, query := range []dp.Query{dp.RealQuery, dp.IntegerQuery} {
		for _, names := range [][2]string{{"asymmetric:3,1", "asymmetric:1,3"}, {"pinball:0.75", "pinball:0.25"}} {
			var loss [2]float64
			for i, name := range names {
				p := dp.Problem{Privacy: dp.Privacy{Epsilon: 0.7, Delta: 1e-4, Sensitivity: 1}, Query: query, Constraints: dp.Constraints{Monotone: true}}
				if query == dp.IntegerQuery {
					p.Sensitivity = 15
				}
				d := designerOf(t, p, name)
				if err := d.begin(); err != nil {
					t.Fatal(err)
				}
				v, err := d.upper.bound.solve(t.Context(), d, d.extent(&d.upper, 5))
				if err != nil || v == 0 {
					t.Fatalf("%v %s: %g, %v", query, name, v, err)
				}
				loss[i] = v
			}
			if math.Abs(loss[0]/loss[1]-1) > 1e-5 {
				t.Errorf("%v %v: losses %g", query, names, loss)
			}
		}
	}
}

// TestRealWidth holds the estimate against the cells.
func TestRealWidth(t *testing.T) {
	for _, sensitivity := range []float64{0.00253, 1, 266, 3640} {
		for _, k := range []int{1, 3, 64, 133, 266, 997} {
			for _, bits := range []int{16, 36} {
				table := realCells(sensitivity, k, bits)
				want := ratFloat(table.Step()) * float64(table.PointsPerCell)
				if got := realWidth(sensitivity, k, bits); math.Abs(got/want-1) > 0x1p-34 {
					t.Errorf("%g, K = %d, %d bits: %g, want %g", sensitivity, k, bits, got, want)
				}
			}
		}
	}
}

// TestJumpWide: what the best staircase for delta = 0 loses if the jump of exceed:T is moved, for any T.
func TestJumpWide(t *testing.T) {
	staircase := func(epsilon, at float64) float64 { // the share of the mass beyond
		n, inner := math.Floor(at), at-math.Floor(at)
		tail := math.Exp(-epsilon) / -math.Expm1(-epsilon)
		inside := inner * math.Exp(n*epsilon)
		for i := range int(n) {
			inside += math.Exp(float64(i) * epsilon)
		}
		return tail / (inside + tail)
	}
	for _, epsilon := range []float64{0.5, 3, 10.6} {
		for _, at := range []float64{0.23, 1.018797, 1.52, 3.3} {
			p := dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Delta: 1e-9, Sensitivity: 1}}
			d := designerOf(t, p, "exceed:1")
			const k = 17
			beyond := d.beyond(at, k) / k
			const moved = 1e-6
			want := -math.Log(staircase(epsilon, at+moved)/staircase(epsilon, at)) / moved
			want = max(want, -2*math.Expm1(-epsilon), -math.Expm1(-epsilon)/at) // as measured for a large delta
			if got := d.jumpMiss(&d.lower, at, k, 0) / beyond; math.Abs(got/want-1) > 1e-3 {
				t.Errorf("ε = %g, T = %g: %g, want %g", epsilon, at, got, want)
			}
		}
	}
}

// TestSameGrid: a program is not solved again where a wider support is no other.
func TestSameGrid(t *testing.T) {
	d := designerOf(t, dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.01, Sensitivity: 1}}, "l1")
	if err := d.begin(); err != nil {
		t.Fatal(err)
	}
	s := &d.upper
	s.grid.k = 6
	for i := range 2 {
		before := d.rounds
		if err := d.advance(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if again := d.rounds > before; again != (i == 0) || (s.closed != nil) != (i == 1) {
			t.Errorf("attempt %d: solved %v, closed %v", i, again, s.closed)
		}
	}
	s.closed, s.grid = nil, d.extent(s, 12)
	if err := d.advance(t.Context(), s); err != nil || s.closed != nil {
		t.Errorf("a finer grid that looks the same: %v, %v", err, s.closed)
	}
	s.reach *= 1.5
	d.ends = nil
	if err := d.advance(t.Context(), s); err != nil || s.closed != nil {
		t.Errorf("a wider support: %v, %v", err, s.closed)
	}
}

// TestAnytimeTies: where programs tie masses, and ties may prove wrong, neither more work nor a smaller gap is ever worse.
func TestAnytimeTies(t *testing.T) {
	const usual, small, slack = 1e-3, 1e-5, 1.1
	works := []time.Duration{30 * time.Millisecond, 100 * time.Millisecond, 400 * time.Millisecond, 1500 * time.Millisecond}
	if testing.Short() {
		works = works[:2]
	}
	for _, c := range []struct {
		loss           string
		epsilon, delta float64
		query          dp.Query
		sensitivity    float64
	}{
		{"pinball:0.5", 1.1, 0.296, dp.RealQuery, 33.8}, // where ties prove wrong
		{"l2", 2, 0.02, dp.RealQuery, 1},
		{"asymmetric:1,3", 0.5, 0.05, dp.RealQuery, 1},
		{"l1", 0.3, 1e-6, dp.IntegerQuery, 30},
	} {
		t.Run(c.loss, func(t *testing.T) {
			t.Parallel()
			p := dp.Problem{Privacy: dp.Privacy{Epsilon: c.epsilon, Delta: c.delta, Sensitivity: c.sensitivity}, Query: c.query, Loss: lossOf(t, c.loss)}
			least := map[float64]float64{usual: math.Inf(1), small: math.Inf(1)}
			for _, work := range works {
				var reached [2]float64
				for i, gap := range []float64{usual, small} {
					reached[i] = atWork(t, p, gap, work).Gap
					if reached[i] > slack*max(least[gap], gap) {
						t.Errorf("work %v, gap %g asked for: %.3g reached, and %.3g with less", work, gap, reached[i], least[gap])
					}
					least[gap] = min(least[gap], reached[i])
				}
				if reached[1] > slack*max(reached[0], usual) {
					t.Errorf("work %v: %.3g reached, and %.3g where less is asked for", work, reached[1], reached[0])
				}
				t.Logf("work %v: %.3g and %.3g", work, reached[0], reached[1])
			}
		})
	}
}

// TestMayRepeat: ties are not for programs that there is time for without them, but not for both.
func TestMayRepeat(t *testing.T) {
	for _, c := range []struct {
		limit      time.Duration
		tied, free float64 // seconds
		want       bool
	}{{0, 1, 5, true}, {time.Second, 0.2, 0.5, true}, {time.Second, 0.2, 0.9, false}, {time.Second, 0.2, 1.1, true}} {
		d := designerOf(t, dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.01, Sensitivity: 1}}, "l1")
		d.Options.TimeLimit, d.Options.Clock = c.limit, func() time.Duration { return 0 }
		if got := d.mayRepeat(c.tied/perProduct, c.free/perProduct); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestCoarseBound: where there is no time for the first grid, a coarser one tells something.
func TestCoarseBound(t *testing.T) {
	p := dp.Problem{Privacy: dp.Privacy{Epsilon: 0.156, Delta: 0.012, Sensitivity: 0.177}, Loss: lossOf(t, "exceed:0.00952")}
	if o := atWork(t, p, 1e-3, 100*time.Millisecond); !(o.Gap < 0.03) {
		t.Errorf("a gap of %g", o.Gap)
	}
}
