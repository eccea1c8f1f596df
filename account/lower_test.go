// SPDX-License-Identifier: Apache-2.0

package account

import (
	"fmt"
	"math"
	"math/rand"
	"testing"

	"github.com/noisewright/noisewright/proof"
)

// below checks that the laws of losses that lower bounds compose are about no more than the profile they are made of,
// once they give back the share of a step that they added.
func below(t *testing.T, what string, g grid, laws []*pmf, profile func(epsilon float64) float64) (best float64) {
	t.Helper()
	for _, d := range laws {
		if sum := d.total(); sum > 1+1e-12 || d.infinityMass < 0 || d.step != g.step || d.first != g.first || len(d.mass) != g.len() {
			t.Fatalf("%s: a mass of %v, %v of it at infinity", what, sum, d.infinityMass)
		}
		for _, m := range d.mass {
			if !(m >= 0) {
				t.Fatalf("%s: a mass of %v", what, m)
			}
		}
		for e := g.at(g.first) - 1.3*g.step; e < g.at(g.last)+3*g.step; e += 0.37 * g.step {
			h := d.infinityMass
			for i, m := range d.mass {
				h += m * math.Max(0, -math.Expm1(e+g.step*slackShare-g.at(g.first+i)))
			}
			if truth := profile(e); h > truth*(1+1e-11)+1e-15 {
				t.Fatalf("%s, steps of %v: delta(%v) >= %v, and it is at most %v", what, g.step, e, h, truth)
			}
			best = math.Max(best, h)
		}
	}
	return best
}

// TestLowerLaws: of all mechanisms, on grids finer and coarser than their losses, which reach beyond these or less far.
func TestLowerLaws(t *testing.T) {
	r := rand.New(rand.NewSource(51))
	grids := func(least, most float64) (all []grid) {
		for _, parts := range []float64{3, 17.5, 64} {
			step := (most - least) / parts
			for _, ends := range [][2]float64{{least, most}, {least / 2, most / 2}, {least - 3*step, most + 2*step}, {0.1 * most, 0.8 * most}} {
				g := grid{step: step, first: int(math.Floor(ends[0] / step)), last: int(math.Ceil(ends[1] / step))}
				all = append(all, g)
			}
		}
		return all
	}
	for _, text := range []string{
		"laplace:epsilon=0.7", "laplace:epsilon=3", "truncated-laplace:epsilon=1,delta=0.01", "gaussian:sigma=0.8", "gaussian:sigma=5",
		"discrete-laplace:epsilon=1.5,sensitivity=40", "discrete-laplace:epsilon=0.7,sensitivity=3", "staircase:epsilon=1",
		"discrete-gaussian:sigma=1,sensitivity=1", "discrete-gaussian:sigma=30,sensitivity=20", "randomized-response:epsilon=1,categories=4",
		"dp:epsilon=0.5,delta=0.01", "subsampled-gaussian:sigma=1,rate=0.2", "subsampled-gaussian:sigma=0.7,rate=0.01",
	} {
		m := must(t)(parse(text))
		for order, l := range []dominatingPair{m.pair, m.added} {
			if l == nil {
				continue
			}
			least, most := l.extent(1e-9)
			some := 0.0
			for _, g := range grids(least, most) {
				some = math.Max(some, below(t, fmt.Sprint(text, ", order ", order), g, l.lower(g, 2), func(e float64) float64 {
					return l.deltaUpper(e)
				}))
			}
			if some == 0 {
				t.Errorf("%s: the laws are about nothing", text)
			}
		}
	}
	for trial := range 6 {
		rows := [][]uint64{randomRow(r, 3), randomRow(r, 3), randomRow(r, 3)}
		l := must(t)(LossOf(kernelOf(t, rows, 1, 2))).pair.(*laws) //nolint:forcetypeassert // it is
		least, most := l.extent(1e-9)
		for _, g := range grids(math.Min(least, -1), math.Max(most, 1)) {
			d := l.lower(g, 2)
			for i, pair := range []proof.Pair{{Gain: 0, Lose: 1}, {Gain: 2, Lose: 0}} {
				one := &pmf{}
				*one = *l.onGrid(g, pair)
				truth := func(e float64) float64 {
					sum := 0.0
					for j, w := range rows[pair.Gain] {
						sum += math.Max(0, float64(w)-math.Exp(e)*float64(rows[pair.Lose][j]))
					}
					return sum * 0x1p-64
				}
				below(t, fmt.Sprint("kernel ", trial, ", pair ", i), g, []*pmf{one}, truth)
			}
			for _, law := range d {
				best := math.Inf(-1)
				for _, pair := range l.own { // of one pair of neighbors, the same at all epsilons
					over := math.Inf(1)
					for e := g.at(g.first); e < g.at(g.last); e += g.step / 2 {
						h, truth := law.infinityMass, 0.0
						for i, m := range law.mass {
							h += m * math.Max(0, -math.Expm1(e+g.step*slackShare-g.at(g.first+i)))
						}
						for j, w := range rows[pair.Gain] {
							truth += math.Max(0, float64(w)*0x1p-64-math.Exp(e)*float64(rows[pair.Lose][j])*0x1p-64)
						}
						over = math.Min(over, truth*(1+1e-11)+1e-15-h)
					}
					best = math.Max(best, over)
				}
				if best < 0 {
					t.Fatalf("kernel %d: a law that is below that of no pair", trial)
				}
			}
		}
		for _, e := range []float64{0, 0.4, 1.1, 2.5, 30} {
			truth := 0.0
			for _, pair := range l.own {
				sum := 0.0
				for j, w := range rows[pair.Gain] {
					sum += math.Max(0, float64(w)*0x1p-64-math.Exp(e)*float64(rows[pair.Lose][j])*0x1p-64)
				}
				truth = math.Max(truth, sum)
			}
			if low := l.deltaLower(e); low > truth*(1+1e-13) || low < truth*(1-1e-9)-1e-15 {
				t.Fatalf("kernel %d: delta(%v) >= %v, and it is %v", trial, e, low, truth)
			}
		}
	}
}
