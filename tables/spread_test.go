// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
)

var spreadLosses = []string{"l1", "l2", "lp:1.5", "lp:4", "pinball:0.3", "huber:2.5", "deadzone:3", "exceed:3", "exceed:2.5", "pwl:-inf,-2;-4,2;0,-2;4,2"}

func parsed(t *testing.T, name string) loss.Loss {
	t.Helper()
	l, err := loss.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestSpreadNodes: the mean of what is linear between the nodes, over the distance of points around any
// of them, is no more than the loss there; between edges the least loss of a cell is no more than that of its points.
func TestSpreadNodes(t *testing.T) {
	for _, name := range spreadLosses {
		l := parsed(t, name)
		for _, points := range []int{7, 12, 40} {
			if testing.Short() && points > 7 {
				continue
			}
			for k := 1; k < points; k += 1 + k/3 {
				p := dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: float64(points)}, Query: dp.IntegerQuery, Loss: l}
				n := newNodes(&Dual{CellsPerSensitivity: k, Spread: true}, &p)
				step := big.NewRat(int64(points), int64(k))
				at := func(x *big.Rat) *big.Rat { // the interpolant
					q := new(big.Rat).Quo(x, step)
					j := new(big.Int).Div(q.Num(), q.Denom())
					part := q.Sub(q, new(big.Rat).SetInt(j))
					v, next := n.at(j.Int64()), n.at(j.Int64()+1)
					return v.Add(v, part.Mul(part, next.Sub(next, v)))
				}
				for m := -2 * points; m <= 2*points; m++ {
					low, high := big.NewRat(int64(2*m-1), 2), big.NewRat(int64(2*m+1), 2)
					ends := []*big.Rat{low, high}
					q := new(big.Rat).Quo(high, step)
					node := new(big.Rat).SetInt(new(big.Int).Div(q.Num(), q.Denom()))
					if node.Mul(node, step).Cmp(low) > 0 {
						ends = []*big.Rat{low, node, high}
					}
					mean := new(big.Rat)
					for i := range len(ends) - 1 {
						part := at(ends[i])
						part.Add(part, at(ends[i+1])).Mul(part, new(big.Rat).Sub(ends[i+1], ends[i])).Mul(part, big.NewRat(1, 2))
						mean.Add(mean, part)
					}
					if c := l.AtDown(new(big.Rat).SetInt64(int64(m))); mean.Cmp(c) > 0 {
						t.Fatalf("%s, %d points, K = %d: mean %s around %d, the loss is %s", name, points, k, mean.FloatString(9), m, c.FloatString(9))
					}
				}
				if !loss.Of(l).Unimodal() {
					continue
				}
				n = newNodes(&Dual{CellsPerSensitivity: k, Spread: true, Edges: true}, &p)
				for i := -40 * points; i <= 40*points; i++ { // places between, and their points
					x := big.NewRat(int64(2*i+1), 40)
					q := new(big.Rat).Quo(x, step)
					j := new(big.Int).Div(q.Num(), q.Denom())
					near := new(big.Rat).Add(x, big.NewRat(1, 2))
					point := new(big.Int).Div(near.Num(), near.Denom())
					if v, c := n.at(j.Int64()), l.AtDown(new(big.Rat).SetInt(point)); v.Cmp(c) > 0 {
						t.Fatalf("%s, %d points, K = %d: %s in cell %s, the loss at %s is %s", name, points, k, v.FloatString(9), j, point, c.FloatString(9))
					}
				}
			}
		}
	}
}

// randomSpread returns multipliers that rise away from the middle, as good ones do.
func randomSpread(rng *rand.Rand, points int, edges bool) Dual {
	d := Dual{CellsPerSensitivity: 1 + rng.IntN(points-1), Exponent: -40, Mirrored: true, Spread: true, Edges: edges}
	for _, k := range rng.Perm(d.CellsPerSensitivity)[:1+rng.IntN(d.CellsPerSensitivity)] {
		m := make([]int64, 1+rng.IntN(12))
		scale := rng.Float64() * 0x1p39
		for i := range m {
			m[i] = int64(scale * rng.Float64() * float64(i+1) / float64(len(m)))
		}
		d.Shifts = append(d.Shifts, dualShift{Shift: k + 1, FirstCell: rng.IntN(9) - 4, Multipliers: m})
	}
	return d
}

// TestSpreadDualNeverExceedsAnAchievedLoss: whatever spread multipliers are written down, the bound stays below
// the loss of private noise on integers.
func TestSpreadDualNeverExceedsAnAchievedLoss(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	const points = 7
	duals := 300
	if testing.Short() {
		duals = 100
	}
	for _, name := range spreadLosses {
		s := geometricSpec(t, 1, 0.05, points)
		s.Loss, s.Query, s.Privacy.Sensitivity = parsed(t, name), dp.IntegerQuery, points
		s.Grid = Grid{PointsPerCell: 1, CellsPerSensitivity: points, FirstCell: s.Grid.FirstCell - points}
		tab, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		best := 0.0
		for range duals {
			d := randomSpread(rng, points, rng.IntN(2) == 0)
			bound := d.LowerBound(s.Problem)
			if achieved := tab.Certify().ExpectedLoss; bound.Cmp(achieved) > 0 {
				t.Fatalf("%s: bound %s above the achieved %s: %+v", name, bound.FloatString(10), achieved.FloatString(10), d)
			}
			f, _ := bound.Float64()
			best = max(best, f)
		}
		if best == 0 && loss.Of(s.Loss).Unimodal() {
			t.Errorf("%s: every random bound was 0", name)
		}
	}
}

// TestSpreadIsForPoints: elsewhere such multipliers prove nothing.
func TestSpreadIsForPoints(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	good := dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 1e-3, Sensitivity: 7}, Query: dp.IntegerQuery, Loss: loss.L1}
	d := randomSpread(rng, 7, false)
	for d.LowerBound(good).Sign() == 0 {
		d = randomSpread(rng, 7, false)
	}
	for name, change := range map[string]func(p *dp.Problem, d *Dual){
		"":                   func(*dp.Problem, *Dual) {},
		"real":               func(p *dp.Problem, _ *Dual) { p.Query = dp.RealQuery },
		"support":            func(p *dp.Problem, _ *Dual) { p.Constraints.Support = &dp.Interval{Lower: -30, Upper: 30} },
		"too many nodes":     func(_ *dp.Problem, d *Dual) { d.CellsPerSensitivity = 7 },
		"edges, two valleys": func(p *dp.Problem, d *Dual) { p.Loss, d.Edges = parsed(t, "pwl:-inf,-2;-4,2;0,-2;4,2"), true },
	} {
		p, c := good, d
		change(&p, &c)
		if bound := c.LowerBound(p); (bound.Sign() > 0) != (name == "") {
			t.Errorf("%q: bound %s", name, bound.FloatString(9))
		}
	}
	d.MonotoneRight = &DualRun{FirstCell: 1, Multipliers: []int64{1}}
	if d.validate() == nil {
		t.Error("multipliers of monotony are no error")
	}
}

// TestSpreadLeastBeforeTheLastMultiplier: lowered nodes may fall where the loss does not, so all cells up to the last
// one with a multiplier are looked at.
func TestSpreadLeastBeforeTheLastMultiplier(t *testing.T) {
	const last = 60
	for _, name := range append(spreadLosses, "deadzone:28") {
		for k := 1; k < 7; k++ {
			p := dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 7}, Query: dp.IntegerQuery, Loss: parsed(t, name)}
			d := Dual{CellsPerSensitivity: k, Exponent: -40, Spread: true}
			m := minimum{nodes: newNodes(&d, &p), exponent: d.Exponent, up: new(big.Int)}
			if !m.over([]coefficient{{cell: -last}, {cell: last}}, []int64{1, -1}) {
				t.Fatalf("%s, K = %d: no end", name, k)
			}
			want := m.at(0)
			for j := int64(-last); j <= last; j++ {
				if v := m.at(j); v.Cmp(want) < 0 {
					want = v
				}
			}
			found := new(big.Rat).SetInt(m.least)
			if found.Mul(found, exact.PowerOfTwo(d.Exponent-exact.RatioBits)); found.Cmp(want) > 0 {
				t.Errorf("%s, K = %d: least %s, want %s", name, k, found.FloatString(9), want.FloatString(9))
			}
		}
	}
}
