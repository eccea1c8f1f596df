// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"math"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/tables"
)

// made is a table of the weights, in cells of one point.
func made(t *testing.T, query dp.Query, first int, weights []uint64, atom, ratio uint64) *tables.Table {
	t.Helper()
	p := dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.5, Sensitivity: 1}, Query: query, Loss: loss.L1}
	grid := tables.Grid{PointsPerCell: 1, CellsPerSensitivity: 1, FirstCell: first}
	switch query {
	case dp.RealQuery:
		grid.GranularityExponent, grid.PointsPerCell = -2, 5
	case dp.LatticeQuery:
		p.Step, grid.Unit = 1, 1
	case dp.IntegerQuery:
	}
	out, err := tables.New(tables.Spec{Problem: p, Grid: grid, Weights: weights, Atom: atom, TailRatio: ratio})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const quarter = 1 << 62

// law is the noise of a table as the draws have it, point by point, tails to 400 periods.
func law(t *tables.Table) map[int64]float64 {
	g, ratio := t.Grid(), float64(t.TailRatio())*0x1p-64
	out := map[int64]float64{0: float64(t.Atom()) * 0x1p-64}
	for i := range t.Cells() {
		side, tail := t.Block(i)
		for j := range g.PointsPerCell {
			n, p := g.FirstPoint(i)+j, float64(t.Weight(i))*0x1p-64/float64(g.PointsPerCell)
			if !tail {
				out[n] += p
				continue
			}
			p *= 1 - ratio
			for range 400 {
				out[n] += p
				n, p = n+int64(side)*int64(g.CellsPerSensitivity)*g.PointsPerCell, p*ratio
			}
		}
	}
	return out
}

// TestLogMoment holds E exp(λX) against the sum over the points.
func TestLogMoment(t *testing.T) {
	for name, table := range tablesForTest(t) {
		m, points := newMoments(table), law(table)
		for _, rate := range []float64{-0.3, -1e-3, 1e-6, 0.02, 0.4} {
			sum := 0.0
			for n, p := range points {
				sum += p * math.Exp(rate*m.step*float64(n))
			}
			want := math.Log(sum) + rate*rate*m.random*m.random/8
			if got := m.logMoment(rate); got < want || got > want+3e-9 {
				t.Errorf("%s: the logarithm of the moment at %g is %v, want %v and a billionth", name, rate, got, want)
			}
		}
		if m.TailRatio() > 0 && !math.IsInf(m.logMoment(0.7), 1) {
			t.Errorf("%s: the moment is finite beyond the tail's", name)
		}
	}
}

func tablesForTest(t *testing.T) map[string]*tables.Table {
	t.Helper()
	return map[string]*tables.Table{
		"integers":  made(t, dp.IntegerQuery, -1, []uint64{quarter, 2 * quarter, quarter}, 0, 0),
		"one-sided": made(t, dp.IntegerQuery, 0, []uint64{2 * quarter, quarter, quarter}, 0, 0),
		"tail":      made(t, dp.IntegerQuery, -1, []uint64{quarter, quarter, quarter}, quarter, 2*quarter),
		"lattice":   made(t, dp.LatticeQuery, -1, []uint64{quarter, 2 * quarter, quarter}, 0, 0),
		"real":      made(t, dp.RealQuery, -1, []uint64{quarter, quarter, quarter}, quarter, 0),
	}
}

// TestNoiseErrorCoverage holds the bound against the exact law of the mean of n draws: either side
// is missed with a probability of at most half of 1 − level; and it is no further than so many
// standard deviations as Chernoff's bound of a Gaussian is, 2.72 at 0.95, and a tenth for few draws.
func TestNoiseErrorCoverage(t *testing.T) {
	for name, table := range tablesForTest(t) {
		m, points := newMoments(table), law(table)
		if m.random > 0 { // a value half way between: as likely up as down
			rounded := map[int64]float64{}
			for n, p := range points {
				rounded[2*n-1] += p / 2
				rounded[2*n+1] += p / 2
			}
			points, m.step = rounded, m.step/2
		}
		mean, variance := 0.0, 0.0
		for n, p := range points {
			mean += p * float64(n) * m.step
			variance += p * float64(n) * float64(n) * m.step * m.step
		}
		variance -= mean * mean
		sum := map[int64]float64{0: 1}
		for n := 1; n <= 64; n++ {
			next := map[int64]float64{}
			for a, p := range sum {
				if p < 1e-30 {
					continue
				}
				for b, q := range points {
					if q > 1e-30 {
						next[a+b] += p * q
					}
				}
			}
			sum = next
			if n&(n-1) != 0 {
				continue
			}
			for _, level := range []float64{0.5, 0.95, 0.9999} {
				below, above := NoiseError(table, n, level)
				under, over := 0.0, 0.0
				for a, p := range sum {
					switch x := float64(a) * m.step / float64(n); {
					case x < -below+m.slack:
						under += p
					case x > above-m.slack:
						over += p
					}
				}
				if most := (1 - level) / 2; under > most || over > most {
					t.Errorf("%s, %d draws, level %g: missed with probabilities of %g and %g, want at most %g", name, n, level, under, over, most)
				}
				gaussian := math.Sqrt(2*math.Log(2/(1-level))*variance/float64(n)) + m.slack
				if n == 64 && (above-mean > 1.2*gaussian || below+mean > 1.2*gaussian) {
					t.Errorf("%s, level %g: from %g to %g about %g, want about %g", name, level, below, above, mean, gaussian)
				}
			}
		}
	}
}

// TestNoiseErrorShrinks: a million draws are within a hundredth of Gaussian bounds. What rounding to the
// nearest point moves stays, here half of a quarter.
func TestNoiseErrorShrinks(t *testing.T) {
	table := tablesForTest(t)["integers"]
	below, above := NoiseError(table, 1_000_000, 0.95)
	want := math.Sqrt(2 * math.Log(2/0.05) * 0.5 / 1e6)
	if math.Abs(below/want-1) > 0.01 || math.Abs(above/want-1) > 0.01 {
		t.Errorf("%g and %g, want %g", below, above, want)
	}
	below, above = NoiseError(tablesForTest(t)["real"], 1_000_000_000_000, 0.95)
	if min(below, above) < 0.125 || max(below, above) > 0.126 {
		t.Errorf("%g and %g, want 0.125 and little more", below, above)
	}
}
