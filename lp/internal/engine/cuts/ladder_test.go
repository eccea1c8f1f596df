// SPDX-License-Identifier: Apache-2.0

package cuts

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/noisewright/noisewright/internal/solver"
)

// scripted answers one Solve after another from a list, and takes note of them.
type scripted struct {
	answers []solver.Solution
	asked   []solver.Options
	resets  int
}

func (s *scripted) AddColumns([]float64, solver.Vectors) error { return nil }
func (s *scripted) AddRows(solver.Vectors) error               { return nil }
func (s *scripted) Reset() error                               { s.resets++; return nil }
func (s *scripted) Close() error                               { return nil }

func (s *scripted) Solve(_ context.Context, o solver.Options) (solver.Solution, error) {
	a := s.answers[min(len(s.asked), len(s.answers)-1)]
	s.asked = append(s.asked, o)
	return a, nil
}

func TestLadder(t *testing.T) {
	optimal := solver.Solution{Status: solver.StatusOptimal, Primal: []float64{1}, RowDual: []float64{0}}
	noNumber := solver.Solution{Status: solver.StatusOptimal, Primal: []float64{math.NaN()}}
	failed, infeasible := solver.Solution{}, solver.Solution{Status: solver.StatusInfeasible}
	stalled := solver.Solution{Status: solver.StatusLimit}
	for name, c := range map[string]struct {
		answers  []solver.Solution
		interior bool
		status   solver.Status
		err      error
		asked    int
	}{
		"first attempt":              {[]solver.Solution{optimal}, false, solver.StatusOptimal, nil, 1},
		"interior point first":       {[]solver.Solution{failed, optimal}, true, solver.StatusOptimal, nil, 2},
		"no numbers are no solution": {[]solver.Solution{noNumber, optimal}, false, solver.StatusOptimal, nil, 2},
		"one infeasible is no proof": {[]solver.Solution{infeasible, optimal}, false, solver.StatusOptimal, nil, 2},
		"two are":                    {[]solver.Solution{infeasible, infeasible, failed}, false, solver.StatusInfeasible, nil, len(ladder)},
		"a stall is not repaired":    {[]solver.Solution{stalled}, false, solver.StatusFailed, ErrFailed, len(ladder) - 1},
		"nothing works":              {[]solver.Solution{failed}, false, solver.StatusFailed, ErrFailed, len(ladder)},
	} {
		s := &scripted{answers: c.answers}
		p := &Program{rows: 3}
		if c.interior {
			p.options.Interior = 3
		}
		sol, err := climb(t.Context(), s, p.attempts(), 3, 4)
		if sol.Status != c.status || !errors.Is(err, c.err) || len(s.asked) != c.asked {
			t.Errorf("%s: status %d, error %v after %d attempts; want %d, %v, %d", name, sol.Status, err, len(s.asked), c.status, c.err, c.asked)
		}
		if c.interior && s.asked[0].Method != solver.MethodInteriorOnly {
			t.Errorf("%s: began with method %d", name, s.asked[0].Method)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if sol, err := climb(ctx, &scripted{answers: []solver.Solution{stalled}}, ladder, 3, 4); sol.Status != solver.StatusLimit || err != nil {
		t.Errorf("cancelled: status %d, error %v; want the limit", sol.Status, err)
	}
}
