// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"math"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/sampler/internal/rank"
	"github.com/noisewright/noisewright/tables"
)

// laplaceTable is a truncated Laplace with the given number of cells (odd),
// epsilon 1 and sensitivity 1: private, with the delta its ends make necessary.
func laplaceTable(tb testing.TB, cells, k int, atom float64) *tables.Table {
	tb.Helper()
	t, err := tables.New(laplaceSpec(tb, cells, k, atom))
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

func laplaceSpec(tb testing.TB, cells, k int, atom float64) tables.Spec {
	tb.Helper()
	// The masses fall a hair more slowly than e^-ε per sensitivity, so that
	// rounding to integers does not cost delta.
	fall := (1 - 1e-9) / float64(k)
	half := (cells - 1) / 2
	pmf := make([]float64, cells)
	sum := 0.0
	for i := range pmf {
		pmf[i] = math.Exp(-fall * math.Abs(float64(i-half)))
		sum += pmf[i]
	}
	delta := atom + 1e-9
	for i := range pmf {
		pmf[i] *= (1 - atom) / sum
		if i < k {
			delta += pmf[i] // a shift by K cells moves these beyond the end
		}
	}
	weights, atomWeight, err := tables.Quantize(pmf, atom)
	if err != nil {
		tb.Fatal(err)
	}
	points := int64((1024+k-1)/k) | 1
	return tables.Spec{
		Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: delta, Sensitivity: 1}, Loss: loss.L1},
		Grid:    tables.Grid{GranularityExponent: -10, PointsPerCell: points, CellsPerSensitivity: k, FirstCell: -half},
		Weights: weights,
		Atom:    atomWeight,
	}
}

// weightsTable is a table of any weights, private or not.
func weightsTable(tb testing.TB, points int64, firstCell int, atom uint64, weights ...uint64) *tables.Table {
	tb.Helper()
	t, err := tables.New(tables.Spec{
		Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.5, Sensitivity: 1}, Loss: loss.L1},
		Grid:    tables.Grid{GranularityExponent: 0, PointsPerCell: points, CellsPerSensitivity: 1, FirstCell: firstCell},
		Weights: weights,
		Atom:    atom,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// sampling returns a sampler of any table, private or not.
func sampling(tb testing.TB, t *tables.Table, o Options) *Noise {
	tb.Helper()
	g, err := o.generator()
	if err != nil {
		tb.Fatal(err)
	}
	return newNoise(t, newLaw(t, o.ConstantTime), g)
}

// deterministic returns a deterministic sampler of any table, seed number i.
func deterministic(_ testing.TB, t *tables.Table, i byte, o Options) *Noise {
	return newNoise(t, newLaw(t, o.ConstantTime), newFixedGenerator([32]byte{i}))
}

// modes prepare a new sampler for fast mode, and for constant time by every method that the
// processor has.
func modes() map[string]func(*Noise) {
	all := map[string]func(*Noise){"fast": func(*Noise) {}}
	for _, m := range rank.Methods() {
		all["constant, "+m.String()] = func(s *Noise) {
			s.law.ranks = rank.NewWith(s.last[:len(s.last)-1], m)
		}
	}
	return all
}

// verified returns the proof of a table that is private.
func verified(tb testing.TB, t *tables.Table) *tables.Verified {
	tb.Helper()
	v, err := t.Verify()
	if err != nil {
		tb.Fatal(err)
	}
	return v
}
