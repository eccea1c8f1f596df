// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// costly are tables within the limits of the format whose checks would take from minutes to
// days, each by another loop.
func costly(t testing.TB) map[string]Spec {
	t.Helper()
	parse := func(name string) loss.Loss {
		l, err := loss.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	powers := make([]string, 32)
	for i := range powers {
		powers[i] = fmt.Sprintf("lp:%.1f", 2.1+1.9*float64(i))
	}
	sum := strings.Join(powers, " + ")
	knots := []string{"-inf,-1"} // a saw, which falls in places as far out as there are knots
	for i := range 9998 {
		knots = append(knots, fmt.Sprintf("%d,%g", 1<<20+i, 1-1.9*float64(i%2)))
	}
	saw := "pwl:" + strings.Join(append(knots, "2000000,1"), ";")

	flat := func(cells, perSensitivity int, l loss.Loss) Spec {
		s := Spec{
			Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.5, Sensitivity: float64(perSensitivity)}, Loss: l},
			Grid:    Grid{PointsPerCell: 1, CellsPerSensitivity: perSensitivity, FirstCell: -cells / 2},
			Weights: make([]uint64, cells),
			Claims:  formfile.Claims{Delta: "0.5", ExpectedLoss: "1", LowerBound: "0"},
		}
		share := math.MaxUint64 / uint64(cells)
		rest := uint64(0)
		for i := range s.Weights {
			s.Weights[i] = share - uint64(i%2) // no runs, which would be tested at once
			rest -= s.Weights[i]
		}
		s.Weights[cells/2] += rest
		return s
	}
	dual := func(s Spec, multipliers int) Spec {
		ones := make([]int64, multipliers)
		for i := range ones {
			ones[i] = 1
		}
		s.Dual = &Dual{CellsPerSensitivity: 1, Exponent: -80, Shifts: []dualShift{{Shift: 1, FirstCell: 1000, Multipliers: ones}}}
		return s
	}
	tail := func(s Spec) Spec {
		s.TailRatio = maxTailRatio
		return s
	}
	small := flat(5, 1, parse("lp:64 + lp:63"))
	small.Sensitivity, small.Grid.GranularityExponent = 1.2345e-270, -896
	return map[string]Spec{
		"many shifts":                 flat(limits.TableCells, 1<<14-1, loss.L1),
		"many shifts of a tail":       tail(flat(1<<17+1, 1<<14, loss.L1)),
		"powers":                      flat(limits.TableCells, 1, parse(sum)),
		"powers of wide cells":        func() Spec { s := flat(limits.TableCells, 1, parse(sum)); s.Grid.PointsPerCell = 1001; return s }(),
		"powers of a tail":            tail(flat(4097, 500, parse(sum))),
		"powers of small numbers":     dual(small, 1<<20),
		"multipliers of powers":       dual(flat(5, 1, parse(sum)), 1<<20),
		"multipliers of many knots":   dual(flat(5, 1, parse(saw)), 1<<20),
		"growth of many knots":        dual(flat(5, 1, parse(saw)), 1),
		"a tail before the last knot": tail(flat(4097, 2000, parse("pwl:-inf,-1;0,1;60000,2"))),
	}
}

// A check that costs too much ends at the limit of work, and its verdict is neither of the two.
func TestWorkIsLimited(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for name, s := range costly(t) {
		t.Run(name, func(t *testing.T) {
			table, err := New(s)
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			// A 64th of the default, nominally a fifth of a second.
			v, err := proof.Verify(context.Background(), table, proof.Options{Work: proof.Options{}.Limit() / 64})
			elapsed := time.Since(start)
			if v != nil || !errors.Is(err, proof.ErrWork) || errors.Is(err, proof.ErrNotPrivate) || errors.Is(err, proof.ErrFalseClaim) || !strings.Contains(err.Error(), "it is not checked") {
				t.Errorf("%v, %v, want proof.ErrWork alone", v, err)
			}
			if elapsed > 20*time.Second {
				t.Errorf("ended after %v", elapsed)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
			defer cancel()
			start = time.Now()
			v, err = proof.Verify(ctx, table, proof.Options{Work: math.MaxInt64})
			if v != nil || !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, proof.ErrNotPrivate) || errors.Is(err, proof.ErrFalseClaim) {
				t.Errorf("%v, %v, want the error of the context", v, err)
			}
			elapsed = time.Since(start)
			if elapsed > 20*time.Second {
				t.Errorf("ended %v after the context", elapsed)
			}
		})
	}
}

// The work of a check is a number of the table: a limit of that much is enough, one less is
// not, and who is refused can ask again.
func TestWorkIsCounted(t *testing.T) {
	constrained := geometricSpec(t, 1, 0.1, 3)
	constrained.Constraints = dp.Constraints{
		Symmetric: true, Unbiased: true, MaxVariance: 1e6, MaxDistinguishing: 0.5,
		Quantiles: []dp.Quantile{{Probability: 0.5, Magnitude: 1e6}},
	}
	proving := geometricSpec(t, 1, 0.1, 3)
	proving.Dual = &Dual{CellsPerSensitivity: 1, Exponent: -80, Shifts: []dualShift{{Shift: 1, Multipliers: []int64{1, 2, 3}}}}
	for name, s := range map[string]Spec{"plain": geometricSpec(t, 1, 0.1, 3), "constrained": constrained, "with a dual": proving, "with a tail": twoSided(t, 1)} {
		s.Claims = mustTable(t, s).spec.Claims
		v, err := mustTable(t, s).Verify()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		work := v.Work()
		if n := int64(len(s.Weights)); work < n*int64(s.Grid.CellsPerSensitivity)/2 || work > (proof.Options{}).Limit()/64 {
			t.Errorf("%s: the work is %d for %d cells", name, work, n)
		}
		fresh := mustTable(t, s)
		if v, err := proof.Verify(t.Context(), fresh, proof.Options{Work: work - 1}); v != nil || !errors.Is(err, proof.ErrWork) {
			t.Errorf("%s: with less work than it takes: %v, %v", name, v, err)
		}
		stopped, cancel := context.WithCancel(t.Context())
		cancel()
		if v, err := proof.Verify(stopped, fresh, proof.Options{}); v != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: with a context that has ended: %v, %v", name, v, err)
		}
		v, err = proof.Verify(t.Context(), fresh, proof.Options{Work: work})
		if err != nil || v.Work() != work {
			t.Errorf("%s: with as much work as it takes: %v, %v", name, v, err)
		}
	}
}

// Of two that check a table one waits for the other, and no longer than its context.
func TestWaitingForACheckEnds(t *testing.T) {
	s := costly(t)["many shifts"]
	table := mustTable(t, s)
	first, end := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := proof.Verify(first, table, proof.Options{Work: math.MaxInt64})
		done <- err
	}()
	time.Sleep(10 * time.Millisecond) // either may be first
	second, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := proof.Verify(second, table, proof.Options{Work: math.MaxInt64}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the second: %v", err)
	}
	end()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the first: %v", err)
	}
}
