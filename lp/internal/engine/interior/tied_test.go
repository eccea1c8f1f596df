// SPDX-License-Identifier: Apache-2.0

//go:build (highs && cgo) || highswasm

package interior

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/noisewright/noisewright/internal/solver"
	"github.com/noisewright/noisewright/lp/internal/engine/cuts"
)

// TestTiedAgainstSimplex compares optima of programs with tied variables with those of the simplex method, of the
// same programs with an equation for each tie.
func TestTiedAgainstSimplex(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 18))
	solved := 0
	for k := range 600 {
		p := random(r)
		root, fall := make([]int, len(p.Cost)), make([]int, len(p.Cost))
		for v := range root {
			if root[v] = v; v > 1 && r.IntN(2) == 0 {
				root[v], fall[v] = root[1+r.IntN(v-1)], 1+r.IntN(3)
			}
		}
		tied := p
		tied.Rows = slices.Clone(p.Rows)
		for v, u := range root {
			if u != v {
				tied.Rows = append(tied.Rows, cuts.Row{Index: []int{v, u}, Value: []float64{1, -math.Pow(p.Ratio, -float64(fall[v]))}})
			}
		}
		status, want := events(t, tied)
		if status != solver.StatusOptimal {
			continue
		}
		prog := New(p, Options{Start: ones(p), Root: root, Fall: fall})
		if got, err := prog.Solve(t.Context(), 1e-8, 1e-9); err != nil || got != solver.StatusOptimal {
			if !errors.Is(err, ErrFailed) {
				t.Errorf("program %d: status %d, error %v", k, got, err)
			}
			continue
		}
		solved++
		if math.Abs(prog.Value()-want) > 1e-6 {
			t.Errorf("program %d: optimum %.9g, want %.9g", k, prog.Value(), want)
		}
		mass := prog.Masses()
		for i := range p.Limits {
			if sum := p.Divergence(i, mass); sum > p.Delta+1e-7 {
				t.Errorf("program %d: limit %d has %g of %g", k, i, sum, p.Delta)
			}
		}
		for _, row := range tied.Rows {
			sum := 0.0
			for j, v := range row.Index {
				sum += row.Value[j] * mass[v]
			}
			if sum < row.Lower-1e-8 || sum > row.Upper+1e-8 {
				t.Errorf("program %d: a row has %g, want %g to %g", k, sum, row.Lower, row.Upper)
			}
		}
	}
	if solved < 250 {
		t.Errorf("%d programs solved", solved)
	}
}
