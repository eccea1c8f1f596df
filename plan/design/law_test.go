// SPDX-License-Identifier: Apache-2.0

package design

import (
	"slices"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/plan"
	"github.com/noisewright/noisewright/tables"
)

// TestLawOf: the law of a table is its weights, and a table that is not for changes by 1 on the integers has none.
func TestLawOf(t *testing.T) {
	half := uint64(1) << 63
	spec := func(change func(s *tables.Spec)) tables.Spec {
		s := tables.Spec{
			Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.9, Sensitivity: 1}, Query: dp.IntegerQuery, Loss: loss.L2},
			Grid:    tables.Grid{PointsPerCell: 1, CellsPerSensitivity: 1, FirstCell: -1},
			Weights: []uint64{half / 2, half - 3, half / 2}, Atom: 3,
		}
		change(&s)
		return s
	}
	law := func(s tables.Spec) (plan.Law, bool) {
		made, err := tables.New(s)
		if err != nil {
			t.Fatal(err)
		}
		return lawOf(made)
	}
	l, ok := law(spec(func(*tables.Spec) {}))
	if !ok || l.Epsilon != 1 || l.Delta != 0.9 || l.TailRatio != 0 || !slices.Equal(l.Weights, []uint64{half, half / 2}) {
		t.Errorf("%+v, %v", l, ok)
	}
	five := spec(func(s *tables.Spec) {
		s.Grid.FirstCell, s.Weights = -2, []uint64{1 << 60, 1 << 62, 6<<60 - 3, 1 << 62, 1 << 60}
	})
	if l, ok := law(five); !ok || !slices.Equal(l.Weights, []uint64{6 << 60, 1 << 62, 1 << 60}) {
		t.Errorf("%+v, %v", l, ok)
	}
	geometric, err := plan.Geometric(1)
	if err != nil {
		t.Fatal(err)
	}
	w := geometric.Weights
	tail := spec(func(s *tables.Spec) {
		s.Privacy.Delta, s.Weights, s.Atom, s.TailRatio = 0, []uint64{w[1], w[0], w[1]}, 0, geometric.TailRatio
	})
	if l, ok := law(tail); !ok || l.TailRatio != geometric.TailRatio || !slices.Equal(l.Weights, w) {
		t.Errorf("%+v, %v", l, ok)
	}
	for name, change := range map[string]func(s *tables.Spec){
		"not symmetric": func(s *tables.Spec) { s.Weights = []uint64{half/2 + 1, half - 3, half/2 - 1} },
		"moved":         func(s *tables.Spec) { s.Grid.FirstCell = -2 },
		"wider cells":   func(s *tables.Spec) { s.Grid.PointsPerCell = 3 },
		"more cells":    func(s *tables.Spec) { s.Grid.CellsPerSensitivity = 2 },
		"larger shifts": func(s *tables.Spec) { s.Grid.CellsPerSensitivity, s.Privacy.Sensitivity = 2, 2 },
		"offset":        func(s *tables.Spec) { s.Grid.Offset = 1 },
		"even":          func(s *tables.Spec) { s.Weights = []uint64{half / 2, half - 3, half / 4, half / 4} },
		"about -1/2": func(s *tables.Spec) {
			s.Weights, s.Grid.FirstCell, s.Atom = []uint64{half / 2, half / 2, half / 2, half / 2}, -2, 0
		},
		"real": func(s *tables.Spec) { s.Query = dp.RealQuery },
	} {
		if l, ok := law(spec(change)); ok {
			t.Errorf("%s: %+v", name, l)
		}
	}
}
