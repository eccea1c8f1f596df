// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"cmp"
	"fmt"
	"math"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp/internal/meet"
	"github.com/noisewright/noisewright/lp/internal/noise/staircase"
)

func designerOf(t *testing.T, p dp.Problem, name string) *designer {
	t.Helper()
	l, err := loss.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	p.Loss = l
	s, _, _ := meet.Options{Gap: 1e-3, MaxCells: 1 << 17}.Begin(t.Context())
	d, err := newDesigner(p, s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestStart: for a large epsilon the tables and multipliers in closed form nearly meet.
func TestStart(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, name := range []string{"l1", "l2", "lp:1.5", "pinball:0.9", "asymmetric:2,1", "huber:0.1", "exceed:0.201", "deadzone:0.1"} {
		for _, epsilon := range []float64{10, 15} {
			for _, delta := range []float64{1e-7, 0.05} {
				for _, points := range []float64{0, 300} {
					p := dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 1}}
					if points > 0 {
						p.Query, p.Step = dp.LatticeQuery, 1/points
					}
					d := designerOf(t, p, name)
					if err := d.begin(); err != nil {
						t.Fatal(err)
					}
					most := 0.02
					if delta > 0.01 && name == "exceed:0.201" {
						most = 0.03 // where the core is wide prices are high
					}
					if gap := d.Gap(); !(gap >= 0 && gap <= most) {
						t.Errorf("%s at (%g, %g), %g points: gap %g, want at most %g", name, epsilon, delta, points, gap, most)
					}
				}
			}
		}
	}
}

// TestMiddleOfMirrored: where a variable stands for two cells the middle one is compared with two neighbors, not four, so that
// monotone noise around 0 stays possible.
func TestMiddleOfMirrored(t *testing.T) {
	p := dp.Problem{Privacy: dp.Privacy{Epsilon: 0.204, Delta: 5.94e-6, Sensitivity: 1}, Query: dp.LatticeQuery, Step: 0.125}
	p.Constraints = dp.Constraints{Monotone: true, Unbiased: true}
	d := designerOf(t, p, "pinball:0.9")
	if err := cmp.Or(d.begin(), d.meet(t.Context())); err != nil || !(d.Gap() <= 1e-3) {
		t.Errorf("gap %g, %v", d.Gap(), err)
	}
}

// TestGapped: where the loss is flat, the table in closed form keeps delta by gaps: of a staircase whose core is of width w,
// in sensitivities, it saves 2w·delta times what the loss is, of that of a sensitivity, at the outer ends of the gaps, but for a delta-th part.
func TestGapped(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, delta := range []float64{0.003, 0.1} {
		for _, free := range []float64{0.06, 0.21} {
			const epsilon = 16
			d := designerOf(t, dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 1}}, fmt.Sprintf("deadzone:%g", free))
			if err := d.begin(); err != nil {
				t.Fatal(err)
			}
			width := 2 * free
			want := 0.5
			for at := 1.0; at > 0; at -= width {
				inner := max(at-delta*width, 0)
				want -= (at*at - inner*inner) / 2
			}
			want *= 2 * math.Exp(-epsilon) / width
			if d.Best < want*(1-1e-4) || d.Best > want*(1+2e-4) {
				t.Errorf("delta %g, free to %g: %g, want %g", delta, free, d.Best, want)
			}
		}
	}
}

// TestClosedAgainstPrograms: on the same nodes, multipliers in closed form prove no more than the best, and nearly that.
func TestClosedAgainstPrograms(t *testing.T) {
	for _, name := range []string{"l1", "l2", "asymmetric:1,3"} {
		for _, delta := range []float64{1e-6, 0.1} {
			for _, k := range []int{40, 61} {
				d := designerOf(t, dp.Problem{Privacy: dp.Privacy{Epsilon: 9, Delta: delta, Sensitivity: 1}}, name)
				d.findCore()
				if d.core == nil {
					t.Fatalf("%s: no core", name)
				}
				d.Best = d.typicalLoss()
				var closed float64
				for _, kind := range []staircase.Kind{{}, {Cheap: true}, {Sparse: true}} {
					made := d.transport(d.lower.bound.cells(k), kind)
					if made == nil {
						t.Fatalf("%s, K = %d: no multipliers", name, k)
					}
					y := made.Multipliers()
					if d.folded {
						y = y.Mirrored(false)
					}
					bound := d.keepDual(shiftsDual(k, y, d.folded))
					if value := made.Value(delta); math.Abs(bound-value) > 1e-9*value {
						t.Errorf("%s, K = %d, %+v: %g certified, want %g", name, k, kind, bound, value)
					}
					closed = max(closed, bound)
				}
				l := d.lower.bound
				best, err := l.solve(t.Context(), d, l.extent(k, 2.5))
				if err != nil {
					t.Fatal(err)
				}
				if closed > best*(1+1e-4) || closed < 0.97*best {
					t.Errorf("%s, K = %d, delta = %g: %g in closed form, the program has %g", name, k, delta, closed, best)
				}
			}
		}
	}
}

// TestSpreadAgainstPoints: what the real query says of noise on points does not contradict programs about the points.
func TestSpreadAgainstPoints(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, name := range []string{"l1", "lp:4", "exceed:130", "deadzone:130", "asymmetric:1,2"} {
		p := dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.01, Sensitivity: 101}, Query: dp.IntegerQuery}
		a, b := designerOf(t, p, name), designerOf(t, p, name)
		a.Options.Gap, b.Options.Gap = 5e-3, 3e-2
		if _, _, ok := a.realProblem(); !ok {
			t.Fatalf("%s: not by the real query", name)
		}
		for _, err := range []error{a.begin(), a.meetSpread(t.Context()), b.begin(), b.refine(t.Context())} {
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if a.dual == nil || !a.dual.Spread || a.table.Grid().PointsPerCell != 1 {
			t.Errorf("%s: neither multipliers nor noise are those of the real query", name)
		}
		if gap := a.Gap(); gap > 2e-2 || a.Bound > b.Best || b.Bound > a.Best {
			t.Errorf("%s: [%g, %g] by the real query, [%g, %g] by points", name, a.Bound, a.Best, b.Bound, b.Best)
		}
	}
}

// TestJumpCells: the grids of jumps have these next to a node or an edge.
func TestJumpCells(t *testing.T) {
	for _, at := range []float64{0.31, 1.27, 4.19} {
		d := designerOf(t, dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 1e-4, Sensitivity: 1}}, fmt.Sprintf("exceed:%g", at))
		for _, share := range []float64{1e-2, 1e-3} {
			k := d.jumpCells(&d.lower, share)
			if off := math.Ceil(at*float64(k))/float64(k) - at; k == 0 || off*2*-math.Expm1(-1) > share {
				t.Errorf("exceed:%g: node %g off at K = %d", at, off, k)
			}
			k = d.jumpCells(&d.upper, share)
			double := 2 * at * float64(k) // edges and middles
			inside, outside := (double-math.Floor(double))/2/float64(k), (math.Ceil(double)-double)/2/float64(k)
			if k == 0 || inside*max(2, 1/at)*-math.Expm1(-1) > share && outside*math.Expm1(1) > share {
				t.Errorf("exceed:%g: the next edges are %g inside and %g outside at K = %d", at, inside, outside, k)
			}
		}
	}
	// 21/40 as a float64 lies above that fraction, and node 21 is not beyond it.
	d := designerOf(t, dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 1e-4, Sensitivity: 1}}, "exceed:0.525")
	if off := d.beyond(0.525, 40); off != 1 {
		t.Errorf("0.525 is %g cells from the next node outwards, want a whole one", off)
	}
}

// TestReach: of every loss, bounds reach a finite way and, where it jumps, beyond that.
func TestReach(t *testing.T) {
	for _, epsilon := range []float64{0.1, 1, 5, 12} {
		for _, name := range []string{"l1", "lp:4", "huber:3", "deadzone:0.5", "deadzone:1.5", "deadzone:7", "exceed:0.5", "exceed:7", "asymmetric:1,2"} {
			d := designerOf(t, dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Delta: 1e-6, Sensitivity: 1}}, name)
			d.findCore()
			for _, gap := range []float64{1e-1, 1e-3, 1e-6} {
				for _, s := range d.sides() {
					if r := s.bound.reach(gap); !(r > 0 && r < 1e4) {
						t.Errorf("%s, epsilon = %g: a reach of %g", name, epsilon, r)
					}
				}
				if r := d.lower.bound.reach(gap); name == "exceed:7" && r < 7 {
					t.Errorf("%s, epsilon = %g: a reach of %g", name, epsilon, r)
				}
			}
		}
	}
}

// TestStandIn: cells that stand for all further out prove what a program that reaches there does, and with
// multipliers that reach as far.
func TestStandIn(t *testing.T) {
	for _, epsilon := range []float64{0.1, 0.7} {
		d := designerOf(t, dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Delta: 1e-5, Sensitivity: 1}}, "exceed:2.49")
		if err := d.begin(); err != nil {
			t.Fatal(err)
		}
		l := d.lower.bound.(*lower)
		l.kind = betweenNodes
		var values [2]float64
		for i, reach := range []float64{l.reach(1e-3), 10 / epsilon} {
			var err error
			if values[i], err = l.solve(t.Context(), d, l.extent(6, reach)); err != nil {
				t.Fatal(err)
			}
		}
		if short, long := values[0], values[1]; short < 0.999*long || short > long*(1+1e-6) || long > d.Best || long < 0.9*d.Best {
			t.Errorf("epsilon = %g: %g with few cells, %g with many, the loss is %g", epsilon, short, long, d.Best)
		}
		if first := d.dual.Shifts[len(d.dual.Shifts)-1].FirstCell; float64(-first) < 6*10/epsilon {
			t.Errorf("epsilon = %g: multipliers from cell %d on only", epsilon, first)
		}
	}
}
