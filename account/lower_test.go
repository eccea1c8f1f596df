// SPDX-License-Identifier: Apache-2.0

package account

import (
	"fmt"
	"math"
	"math/big"
	"math/rand"
	"slices"
	"testing"

	"github.com/noisewright/noisewright/internal/exact"
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

// TestSlack: what is added to a loss is less than slackShare of a step by 2^-10 of itself and 2^-41, for every step.
func TestSlack(t *testing.T) {
	for step := 0x1p-24; step <= 4; step *= 1.7 {
		slack := grid{step: step, first: -3, last: 9}.slack()
		if most := slackShare * step * (1 - 0x1p-10); !(slack+0x1p-41 <= most*(1+0x1p-50)) || slack+0x1p-41 < most*(1-0x1p-50) {
			t.Errorf("steps of %g: a slack of %g, want %g less 2^-41", step, slack, most)
		}
	}
}

// TestAddDown: a mass comes to the last loss of the grid that is no more than its own by the slack, one beyond the
// grid to the last, and one before it nowhere.
func TestAddDown(t *testing.T) {
	g := grid{step: 0.25, first: -3, last: 5}
	for i := g.first - 2; i <= g.last+2; i++ {
		for _, c := range []struct {
			off float64 // of a loss of the grid
			at  int
		}{
			{0, i},
			{g.slack() / 2, i},
			{-g.slack() * (1 - 1e-6), i},
			{-g.slack() * (1 + 1e-6), i - 1},
			{0.99 * (g.step - g.slack()), i},
			{g.step - g.slack()*1.001, i},
			{g.step - g.slack()*0.999, i + 1},
		} {
			d := &pmf{step: g.step, first: g.first, mass: make([]float64, g.len())}
			d.mass[0], d.mass[g.len()-1] = 0.5, 0.25
			d.addDown(g, g.at(i)+c.off, 0.125)
			want := make([]float64, g.len())
			want[0], want[g.len()-1] = 0.5, 0.25
			if c.at >= g.first {
				want[min(c.at-g.first, g.len()-1)] += 0.125
			}
			if !slices.Equal(d.mass, want) {
				t.Errorf("a loss %g off the loss %d of the grid: %v, want %v", c.off, i, d.mass, want)
			}
		}
	}
	d := &pmf{step: g.step, first: g.first, mass: make([]float64, g.len())}
	for _, loss := range []float64{math.NaN(), math.Inf(-1)} {
		if d.addDown(g, loss, 1); d.total() != 0 {
			t.Errorf("a loss of %g has the mass %g", loss, d.total())
		}
	}
	if d.addDown(g, math.Inf(1), 1); d.mass[g.len()-1] != 1 {
		t.Errorf("an infinite loss: %v", d.mass)
	}
}

// TestAtomsBelow: atoms that are on no lattice of half a step come to the grid one by one, with a little less mass.
func TestAtomsBelow(t *testing.T) {
	r := rand.New(rand.NewSource(61))
	for range 40 {
		g := grid{step: 0.5, first: -5, last: 7}
		a := &atoms{infinityMassDown: r.Float64(), lattice: []float64{0, 0.25, 0.5, 3}[r.Intn(4)]} // the atoms of none
		want := &pmf{step: g.step, first: g.first, mass: make([]float64, g.len())}
		for range 9 {
			loss, mass := 8*r.Float64()-3.5, r.Float64()
			a.loss, a.mass = append(a.loss, loss), append(a.mass, mass)
			if i := int(math.Floor((loss + g.slack()) / g.step)); i >= g.first {
				want.mass[min(i, g.last)-g.first] += mass * (1 - 2*atomError)
			}
		}
		got := a.lower(g, 0)
		if len(got) != 1 || got[0].infinityMass != a.infinityMassDown || got[0].first != g.first || got[0].step != g.step || !slices.Equal(got[0].mass, want.mass) {
			t.Errorf("on a lattice of %g: %v, want %v", a.lattice, got, want.mass)
		}
	}
	// On a finer lattice they are regrouped: no easier to tell apart, and no mass is lost but at the ends.
	g := grid{step: 0.8, first: -4, last: 6} // the least atom is in the first cell
	fine := &atoms{lattice: 0.375}
	for i := -8; i <= 8; i++ {
		fine.loss, fine.mass = append(fine.loss, 0.375*float64(i)), append(fine.mass, 1.0/17)
	}
	if sum := fine.lower(g, 0)[0].total(); math.Abs(sum-1) > 1e-9 {
		t.Errorf("regrouped atoms have the mass %v", sum)
	}
	rounded := 0.0
	for i, x := range fine.loss {
		rounded += fine.mass[i] * math.Min(g.at(g.last), g.step*math.Floor(x/g.step))
	}
	mean := 0.0
	for i, m := range fine.lower(g, 0)[0].mass {
		mean += m * g.at(g.first+i)
	}
	if mean < rounded+0.2 {
		t.Errorf("regrouped atoms have the mean loss %v, not above that of rounded ones, %v", mean, rounded)
	}
}

// TestRegroupedMass: what is put together has no more mass than there was, exactly, at all losses and at those up to any
// of the grid; and where the last group takes masses of larger losses, it is no easier to tell apart than before, close to where
// its loss is rounded to too.
func TestRegroupedMass(t *testing.T) {
	r := rand.New(rand.NewSource(53))
	sum := func(list []float64) *big.Rat {
		x := new(big.Rat)
		for _, m := range list {
			x.Add(x, exact.Rational(m))
		}
		return x
	}
	taken := 0
	for trial := range 400 {
		g := grid{step: 0.25 + r.Float64(), first: -3, last: 6}
		slack := g.step * slackShare
		gain, price := make([]float64, g.len()), make([]float64, g.len())
		for i := range gain {
			if trial%3 > 0 || r.Intn(2) == 0 {
				gain[i] = r.Float64() / 16
				price[i] = gain[i] * math.Exp(-g.at(g.first+i)-g.step*r.Float64())
			}
		}
		d := &pmf{step: g.step, first: g.first, mass: make([]float64, g.len())}
		d.regroup(g, gain, price)
		if got, most := sum(d.mass), sum(gain); got.Cmp(most) > 0 {
			t.Fatalf("a mass of %s of %s", got.FloatString(30), most.FloatString(30))
		}
		// A group whose loss is up to a fifth of a step below the grid, or halfway, below masses on the grid.
		before := &pmf{step: g.step, first: g.first, mass: make([]float64, g.len())}
		for i := range before.mass {
			if before.mass[i] = r.Float64() / 64; trial%2 == 0 && i > 6 {
				before.mass[i] = 0
			}
		}
		at := r.Intn(4)
		p := 0.1 + r.Float64()/2
		q := p * math.Exp(-g.at(g.first+at)-g.step*(1-[]float64{0.01, 0.2, 0.5}[r.Intn(3)]*r.Float64()))
		after := &pmf{step: g.step, first: g.first, mass: slices.Clone(before.mass)}
		after.lift(g, p, q)
		if got, most := sum(after.mass), sum(append(slices.Clone(before.mass), p)); got.Cmp(most) > 0 {
			t.Fatalf("lifted to a mass of %s of %s", got.FloatString(30), most.FloatString(30))
		}
		for i, m := range before.mass {
			if after.mass[i] < m {
				taken++
				break
			}
		}
		for i := range before.mass {
			for _, off := range []float64{1e-2, 1e-3, 1e-4, 1e-6, 1e-8} {
				e := g.at(g.first+i) - slack - off*slack
				truth, low := math.Max(0, p-math.Exp(e)*q), 0.0
				for j := range before.mass {
					stick := math.Max(0, -math.Expm1(e-(g.at(g.first+j)-slack)))
					truth, low = truth+before.mass[j]*stick, low+after.mass[j]*stick
				}
				if low > truth+1e-14 {
					t.Fatalf("delta(%v) >= %v, and it is %v", e, low, truth)
				}
			}
		}
	}
	if taken < 20 {
		t.Errorf("the last group took masses of larger losses %d times", taken)
	}
}

// TestLoneMass: the mass at infinity of a law from below is at most that of the outputs that the other law never has, exactly.
func TestLoneMass(t *testing.T) {
	for _, w := range []uint64{1, 3, 1<<62 + 1, 1<<63 - 1} {
		rows := [][]uint64{{w, -w, 0}, {1 << 63, 0, 1 << 63}, {1 << 62, 1 << 62, 1 << 63}}
		l := must(t)(LossOf(kernelOf(t, rows, 1, 2))).pair.(*laws) //nolint:forcetypeassert // it is
		truth := new(big.Rat).SetFrac(new(big.Int).SetUint64(-w), new(big.Int).Lsh(big.NewInt(1), 64))
		got := exact.Rational(l.onGrid(grid{step: 0.5, first: -4, last: 4}, proof.Pair{Gain: 0, Lose: 1}).infinityMass)
		if least := new(big.Rat).Mul(truth, big.NewRat(1<<49-1, 1<<49)); got.Cmp(truth) > 0 || got.Cmp(least) < 0 {
			t.Errorf("%s at infinity, want %s", got.FloatString(25), truth.FloatString(25))
		}
	}
}
