// SPDX-License-Identifier: Apache-2.0

package account

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	old "math/rand"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

// TestInnerBracket: r and log r of a loss are between the bounds, and these no further apart than their margins.
func TestInnerBracket(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	negative := 0
	for range 700 {
		s := &subsampled{rate: math.Exp(-20 * r.Float64())}
		if r.IntN(2) == 0 {
			s.rate = 1 - s.rate/2
		}
		var l float64
		switch r.IntN(5) {
		case 0:
			l = 40 + (r.Float64()-0.5)*0.1
		case 1:
			l = 60 * r.Float64()
		case 2:
			l = -math.Ln2 + (r.Float64()-0.5)*0.01
		case 3:
			l = -math.Exp(-12 * r.Float64())
		case 4: // about where r is 0
			l = math.Log1p(-s.rate) * (1 + 0.1*(r.Float64()-0.5))
		}
		truth := over400(sum400(bigExp(l), big400(s.rate), big400(-1)), big400(s.rate))
		log, in := s.inner(l)
		if big400(in.low).Cmp(truth) > 0 && in.low > 0 || big400(in.high).Cmp(truth) < 0 || in.low < 0 || in.high < in.low {
			t.Fatalf("rate %v, loss %v: r from %v to %v, want %s", s.rate, l, in.low, in.high, truth.Text('g', 20))
		}
		if truth.Sign() <= 0 {
			negative++
			if in.low != 0 || !math.IsInf(log.low, -1) || in.high == 0 && !math.IsInf(log.high, -1) {
				t.Fatalf("rate %v, loss %v: r from %v, log r from %v, and r is %s", s.rate, l, in.low, log.low, truth.Text('g', 20))
			}
			continue
		}
		if bigExp(math.Max(log.low, -200)).Cmp(truth) > 0 && log.low > -200 || !math.IsInf(log.high, 1) && bigExp(math.Max(log.high, -600)).Cmp(truth) < 0 {
			t.Fatalf("rate %v, loss %v: log r from %v to %v, want that of %s", s.rate, l, log.low, log.high, truth.Text('g', 20))
		}
		f, _ := truth.Float64()
		// e^loss and rate−1 cancel, and are known to so many roundoffs, over the rate.
		if wide := (64*(f+1) + 32/s.rate*math.Min(1, math.Abs(l)+s.rate)) * roundoff; l < 40 && in.high-in.low > wide {
			t.Fatalf("rate %v, loss %v: r from %v to %v, %g apart", s.rate, l, in.low, in.high, in.high-in.low)
		}
	}
	if negative < 40 {
		t.Errorf("r is negative %d times", negative)
	}
	s := &subsampled{rate: 0.25}
	for _, l := range []float64{700, 1e4, math.Inf(1)} {
		if log, in := s.inner(l); !(log.low <= log.high && in.low <= in.high && log.low >= 690) {
			t.Errorf("loss %v: r from %v to %v, log r from %v to %v", l, in.low, in.high, log.low, log.high)
		}
	}
}

// TestSubsampledBounds: profiles and laws of losses are those of the Gaussian at the brackets of r, rounded outwards.
func TestSubsampledBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	above := func(x float64, y *big.Float) bool { return big400(x).Cmp(y) >= 0 }
	below := func(x float64, y *big.Float) bool { return big400(x).Cmp(y) <= 0 }
	decided := 0
	for range 800 {
		s := &subsampled{multiplier: math.Exp(4*r.Float64() - 2), rate: math.Exp(-6 * r.Float64())}
		s.gaussian = gaussian(s.multiplier)
		e := 3 * s.rate * (r.Float64() - 0.5)
		log, in := s.inner(e)
		low, high := s.removed().profile(e)
		none := sum400(big400(1), minus400(bigExp(e)))
		if in.low > 0 {
			least, _ := s.gaussian.profile(log.high)
			_, most := s.gaussian.profile(log.low)
			if !above(high, times400(big400(s.rate), big400(most))) || e >= 0 && !below(low, times400(big400(s.rate), big400(math.Max(0, least)))) {
				t.Fatalf("removed at %v: %v to %v, want %v to %v times %v", e, low, high, least, most, s.rate)
			}
			decided++
		}
		if e < 0 && (!above(high, none) || low > 0 && in.low == 0 && in.high == 0 && !below(low, none)) {
			t.Fatalf("removed at %v: %v to %v, want at least %s", e, low, high, none.Text('g', 20))
		}

		log, in = s.inner(-e)
		low, high = s.added().profile(e)
		if in.low > 0 {
			least, _ := s.gaussian.profile(-log.low)
			_, most := s.gaussian.profile(-log.high)
			factor := times400(bigExp(e), big400(s.rate))
			if least > 0 && !below(low, times400(factor, big400(in.low), big400(least))) || !above(high, times400(factor, big400(in.high), big400(most))) {
				t.Fatalf("added at %v: %v to %v", e, low, high)
			}
		} else if in.high == 0 && (low != 0 || high != 0) {
			t.Fatalf("added at %v: %v to %v, want 0 above the largest loss", e, low, high)
		}

		still, moved := bracket{r.Float64(), 0}, bracket{r.Float64(), 0}
		still.high, moved.high = still.low*(1+0x1p-30), moved.low*(1+0x1p-30)
		rest := sum400(big400(1), big400(-s.rate))
		mix := func(a, b float64) *big.Float {
			return sum400(times400(rest, big400(a)), times400(big400(s.rate), big400(b)))
		}
		if m := s.mixture(still, moved); !below(m.low, mix(still.low, moved.low)) || m.high < 1 && !above(m.high, mix(still.high, moved.high)) || m.high > 1 {
			t.Fatalf("mixture of %v and %v at %v: %v", still, moved, s.rate, m)
		}
	}
	if decided < 400 {
		t.Errorf("%d were decided", decided)
	}
	s := &subsampled{multiplier: 2, rate: 0.125}
	s.gaussian = gaussian(2)
	for _, e := range []float64{-5, -1, -0.2} { // a person who was removed gives no output away there
		low, high := s.removed().profile(e)
		holds(t, fmt.Sprint("removed at ", e), low, high, sum400(big400(1), minus400(bigExp(e))), 1e-13)
	}
	nothing := bracket{math.Inf(-1), math.Inf(-1)}
	for side, want := range map[float64]float64{1: 1, -1: 0} {
		still, moved := s.tails(nothing, side)
		if all := (bracket{want, want}); still != all || moved != all {
			t.Errorf("side %g: %v, %v, want %g", side, still, moved, want)
		}
	}
	if m := s.mixture(bracket{1, 1}, bracket{1, 1}); m.high != 1 || m.low > 1 {
		t.Errorf("all: %v", m)
	}
}

// TestRowsRoundUp: the heights of laws on a grid are above the sums of p − e^ε·q, to the last bit, of one output too.
func TestRowsRoundUp(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 26))
	unit := big400(0x1p-64)
	whole := func(w uint64) *big.Float { return new(big.Float).SetPrec(precision).SetInt(new(big.Int).SetUint64(w)) }
	for trial := range 90 {
		g := grid{step: math.Exp(-3 * r.Float64()), first: -r.IntN(20), last: 3 + r.IntN(20)}
		p := []uint64{r.Uint64() >> 1, r.Uint64() >> (1 + r.IntN(20)), 0}
		q := []uint64{r.Uint64() >> 1, r.Uint64() >> (1 + r.IntN(20)), 0}
		p[2], q[2] = -(p[0] + p[1]), -(q[0] + q[1])
		if trial%3 == 0 { // next to a loss of the grid
			at := g.at(g.first + r.IntN(g.len()))
			if w := float64(q[0]) * math.Exp(at); w < 0x1p63 {
				p[0] = uint64(w) + r.Uint64N(3)
				p[1] = min(p[1], 1<<62)
				p[2] = -(p[0] + p[1])
			}
		}
		l := &laws{rows: []law{lawOf(p), lawOf(q)}, pairs: []proof.Pair{{Gain: 0, Lose: 1}}}
		heights := l.upper(g)
		thin := chords(g, 3, l.envelope)
		for i := range heights {
			alpha, truth := bigExp(g.at(g.first+i)), big400(0)
			for j := range p {
				if x := sum400(whole(p[j]), minus400(times400(alpha, whole(q[j])))); x.Sign() > 0 {
					truth = sum400(truth, times400(x, unit))
				}
			}
			for name, h := range map[string]float64{"profile": heights[i], "chord": thin[i]} {
				if big400(h).Cmp(truth) < 0 {
					t.Fatalf("trial %d: a %s of %v at %v, want at least %s", trial, name, h, g.at(g.first+i), truth.Text('g', 20))
				}
			}
			if e := g.at(g.first + i); e >= 0 && big400(l.deltaUpper(e)).Cmp(truth) < 0 {
				t.Fatalf("trial %d: delta(%v) <= %v, want at least %s", trial, e, l.deltaUpper(e), truth.Text('g', 20))
			}
			if f, _ := truth.Float64(); heights[i] > 1 || heights[i] > f+1e-9 {
				t.Fatalf("trial %d: a profile of %v at %v, want %v", trial, heights[i], g.at(g.first+i), f)
			}
		}
	}
	// All is lone: nothing but the rounding of the sum is between the height and the truth, at a chord too.
	l := &laws{rows: []law{lawOf([]uint64{1 << 63, 1<<63 - 12345, 0, 12345}), lawOf([]uint64{0, 0, 1 << 63, 1 << 63})}, pairs: []proof.Pair{{Gain: 0, Lose: 1}}}
	g := grid{step: 0.5, first: 0, last: 8}
	lone := times400(whole(1<<64-1-12344), unit)
	for i, h := range l.upper(g) {
		if i > 0 && (big400(h).Cmp(lone) < 0 || h > 1) {
			t.Errorf("%v at %v, want at least %s", h, g.at(i), lone.Text('g', 25))
		}
	}
}

// TestRefusedTables: what a table says is not taken for granted where its losses rest on it.
func TestRefusedTables(t *testing.T) {
	tail := func(s *tables.Spec, epsilon float64) { // blocks of one cell, e^−1 of each other
		g := geometric(t, 1, 1)
		*s = tables.Spec{Problem: g.Problem(), Grid: g.Grid(), TailRatio: g.TailRatio(), Weights: []uint64{g.Weight(0), g.Weight(1), g.Weight(2)}}
		s.Privacy.Epsilon, s.Privacy.Delta = epsilon, 0.5
	}
	spec := func(change func(*tables.Spec)) *tables.Table {
		t.Helper()
		s := tables.Spec{
			Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.5, Sensitivity: 1}, Query: dp.IntegerQuery, Loss: loss.L1},
			Grid:    tables.Grid{PointsPerCell: 1, CellsPerSensitivity: 2, FirstCell: -1},
			Weights: []uint64{1 << 62, 1 << 63, 1 << 62},
		}
		change(&s)
		tab, err := tables.New(s)
		if err != nil {
			t.Fatal(err)
		}
		return tab
	}
	for name, x := range map[string]struct {
		change func(*tables.Spec)
		ok     bool
	}{
		"as it is":             {func(*tables.Spec) {}, true},
		"a tail":               {func(s *tables.Spec) { tail(s, 1.01) }, true},
		"a tail that is heavy": {func(s *tables.Spec) { tail(s, 0.5) }, false},
		"a sensitivity beyond": {func(s *tables.Spec) { s.Privacy.Sensitivity = 3 }, false},
	} {
		tab := spec(x.change)
		if _, err := LossOf(tab); (err == nil) != x.ok || !x.ok && !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%s: %v, covered: %t", name, err, tab.Certify().SensitivityCovered)
		}
	}
}

// TestChordsRoundUp: of a profile that is a straight line in e^ε the chords are the line itself, and above it to the
// last bit.
func TestChordsRoundUp(t *testing.T) {
	r := rand.New(rand.NewPCG(27, 28))
	for trial := range 60 {
		every := 2 + r.IntN(6)
		g := grid{step: math.Exp(-4 * r.Float64()), first: -r.IntN(30)}
		g.last = g.first + 1 + r.IntN(20)
		end := every * int(math.Ceil(float64(g.last+1)/float64(every)))
		top := bigExp(float64(end) * g.step)
		line := func(i int) *big.Float { // falls to 0 at the end of the last chord
			if i >= end {
				return big400(0)
			}
			return over400(sum400(top, minus400(bigExp(g.step*float64(i)))), top)
		}
		upper := func(thin grid) []float64 {
			out := make([]float64, thin.len())
			for i := range out {
				at := (thin.first + i) * every
				h, _ := new(big.Float).SetMode(big.ToPositiveInf).SetPrec(53).Set(line(at)).Float64()
				out[i] = math.Max(0, h)
			}
			return out
		}
		for i, h := range chords(g, every, upper) {
			want := line(g.first + i)
			if f, _ := want.Float64(); big400(h).Cmp(want) < 0 || h > f*(1+1e-9)+1e-14 {
				t.Fatalf("trial %d: a chord of %v, want %s", trial, h, want.Text('g', 25))
			}
		}
	}
}

// profileAt is the profile of a table by brute force: the largest over all pairs of neighbors, point by point.
func profileAt(all []pair, alpha float64) (worst float64) {
	for _, x := range all {
		sum := 0.0
		for i, p := range x.p {
			sum += math.Max(0, p-alpha*x.q[i])
		}
		worst = math.Max(worst, sum)
	}
	return worst
}

// TestTableBounds: the bounds of tables with and without atom, symmetry and points beside their sensitivity, on a grid
// and off it, and the laws of losses that lower bounds compose, against all their neighbors.
func TestTableBounds(t *testing.T) {
	r := old.New(old.NewSource(29))
	for trial := range 200 {
		tab := randomTable(t, r)
		all := pairs(tab)
		l := mustTable(t, tab).pair.(*table) //nolint:forcetypeassert // it is
		g := grid{step: 0.05 + 0.2*r.Float64(), first: -12, last: 20}
		heights := l.upper(g)
		for i, h := range heights {
			if truth := profileAt(all, math.Exp(g.at(g.first+i))); h < truth*(1-1e-13) || h > 1 {
				t.Fatalf("trial %d: %v at %v on a grid, want at least %v", trial, h, g.at(g.first+i), truth)
			}
		}
		for _, e := range []float64{0, 0.1, 0.7, 1.9, 5, 30} {
			truth := profileAt(all, math.Exp(e))
			brackets(t, fmt.Sprintf("trial %d at %v", trial, e), Bounds{l.deltaLower(e), l.deltaUpper(e)}, truth)
			if exact.Rational(l.deltaUpper(e)).Cmp(tab.DeltaUpperAt(e)) < 0 {
				t.Fatalf("trial %d at %v: %v is below the certificate", trial, e, l.deltaUpper(e))
			}
		}
		furthest := int64(tab.Privacy().Sensitivity)
		for _, m := range l.attained {
			if m == 0 || m > furthest || m < -furthest {
				t.Fatalf("trial %d: a shift by %d points of at most %d", trial, m, furthest)
			}
			d := l.apart(newLosses(g), g, m)
			for i, mass := range d.mass {
				if mass < 0 {
					t.Fatalf("trial %d: a mass of %v at %d", trial, mass, i)
				}
			}
			for e := g.at(g.first); e < g.at(g.last)+0.3; e += 0.04 {
				h := d.infinityMass
				for i, mass := range d.mass {
					h += mass * math.Max(0, -math.Expm1(e+g.step*slackShare-g.at(g.first+i)))
				}
				if truth := profileAt(all[furthest+m:furthest+m+1], math.Exp(e)); h > truth*(1+1e-12)+1e-16 {
					t.Fatalf("trial %d, shift %d at %v: %v, want at most %v", trial, m, e, h, truth)
				}
			}
		}
	}
}

// TestExcess: sums of more than 64 bits, and the difference of equal ones.
func TestExcess(t *testing.T) {
	most := ^uint64(0)
	for _, x := range []struct {
		weights, others []uint64
		want            exact.Uint128
	}{
		{[]uint64{5}, []uint64{3}, exact.Uint128{Lo: 2}},
		{[]uint64{most, most, 3}, []uint64{most, 7, 3}, exact.Uint128{Lo: most - 7}},
		{[]uint64{most, most, most, 9}, []uint64{0, most, 1, 9}, exact.Uint128{Hi: 1, Lo: most - 2}},
		{[]uint64{most, 2}, []uint64{most, 2}, exact.Uint128{}},
		{[]uint64{most, 2}, []uint64{0, 2}, exact.Uint128{Lo: most}},
		{[]uint64{most, 2}, []uint64{2, 1}, exact.Uint128{Lo: most - 1}},
	} {
		if got := excessOf(x.weights, x.others); got != x.want {
			t.Errorf("%v less %v is %v, want %v", x.weights, x.others, got, x.want)
		}
	}
}

// TestLoneRoundUp: what one of two neighbors alone has is counted in full, rounded up.
func TestLoneRoundUp(t *testing.T) {
	for _, w := range []uint64{1<<63 + 12345, 1<<62 + 1, 1<<60 - 1, 1<<63 - 1} {
		tab, err := tables.New(tables.Spec{
			Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.9, Sensitivity: 1}, Query: dp.IntegerQuery, Loss: loss.L1},
			Grid:    tables.Grid{PointsPerCell: 1, CellsPerSensitivity: 1, FirstCell: -1},
			Weights: []uint64{w, -w},
		})
		if err != nil {
			t.Fatal(err)
		}
		l := mustTable(t, tab).pair.(*table) //nolint:forcetypeassert // it is
		truth := new(big.Rat).SetFrac(new(big.Int).SetUint64(max(w, -w)), new(big.Int).Lsh(big.NewInt(1), 64))
		for i, h := range l.upper(grid{step: 50, first: 1, last: 3}) {
			if exact.Rational(h).Cmp(truth) < 0 || exact.Rational(h*(1-1e-14)).Cmp(truth) > 0 {
				t.Errorf("weight %d, height %d: %v, want %s rounded up", w, i, h, truth.FloatString(25))
			}
		}
	}
}

// TestUnrolledEnvelope: where only bounds of the weights are known, as of a tail, P has the larger and Q the smaller
// ones, and what is not laid out, and the atom, are in every height.
func TestUnrolledEnvelope(t *testing.T) {
	r := old.New(old.NewSource(33))
	for trial := range 60 {
		l := mustTable(t, randomTable(t, r)).pair.(*table) //nolint:forcetypeassert // it is
		l.down = append([]uint64(nil), l.up...)
		for i := range l.down {
			l.down[i] >>= r.Intn(4)
		}
		l.logDown, l.symmetric = logs(l.down), false
		l.rest, l.atom = uint64(r.Intn(2))<<58, uint64(r.Intn(2))<<57
		g := grid{step: 0.07, first: -30, last: 40}
		for i, h := range l.envelope(g).heights {
			alpha, worst := math.Exp(g.at(g.first+i)), 0.0
			for k := -l.t.Grid().CellsPerSensitivity; k <= l.t.Grid().CellsPerSensitivity; k++ {
				sum := float64(l.rest) + float64(l.atom)
				for j, w := range l.up {
					sum += math.Max(0, float64(w)-alpha*float64(at(l.down, j-k)))
				}
				if k != 0 {
					worst = math.Max(worst, sum)
				}
			}
			if h < worst*(1-1e-13) {
				t.Fatalf("trial %d: %v at %v, want at least %v", trial, h, g.at(g.first+i), worst)
			}
		}
	}
}

// TestRatioUp: what lower bounds divide by is no less than e^epsilon.
func TestRatioUp(t *testing.T) {
	for _, epsilon := range []float64{0, 1e-9, 0.3, 1, 7, 40} {
		got := new(big.Float).SetPrec(precision).SetInt(ratioUp(epsilon))
		got.SetMantExp(got, -exact.RatioBits)
		if e := bigExp(epsilon); got.Cmp(e) < 0 || got.Cmp(times400(e, big400(1+0x1p-50))) > 0 {
			t.Errorf("e^%v is taken for %s", epsilon, got.Text('g', 30))
		}
	}
}
