// SPDX-License-Identifier: Apache-2.0

package local

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// TestUnbiasedExactly: a mean that is off by a unit of weight, or by an answer's last place, is a
// bias, however small.
func TestUnbiasedExactly(t *testing.T) {
	s := twoAnswers()
	s.Epsilon = 2
	if _, err := newRandomizer(t, s).Verify(); err != nil {
		t.Fatal(err)
	}
	for _, change := range []struct {
		name string
		do   func(*Spec)
		bias *big.Rat
	}{
		{"a unit of weight", func(s *Spec) { s.Rows[0][0]++; s.Rows[0][1]-- }, big.NewRat(1, 1<<62)},
		{"a unit of the other", func(s *Spec) { s.Rows[1][0]++; s.Rows[1][1]-- }, big.NewRat(1, 1<<62)},
		{"an answer's last place", func(s *Spec) { s.Answers[1] = math.Nextafter(2, 3) }, big.NewRat(3, 1<<53)},
		{"the last place below", func(s *Spec) { s.Answers[0] = math.Nextafter(-2, 0) }, big.NewRat(3, 1<<54)},
	} {
		s := formfile.Clone(s)
		change.do(&s)
		r := newRandomizer(t, s)
		if found := r.Certify().Bias; found.Cmp(change.bias) != 0 {
			t.Errorf("%s: a bias of %v, want %v", change.name, found, change.bias)
		}
		if _, err := r.Verify(); !errors.Is(err, proof.ErrFalseClaim) {
			t.Errorf("%s: unbiased: %v", change.name, err)
		}
		s.Demands.Unbiased = false
		if _, err := newRandomizer(t, s).Verify(); err != nil {
			t.Errorf("%s, and nothing demanded: %v", change.name, err)
		}
	}
}

// warner is randomized response with this weight of each other answer.
func warner(k int, epsilon float64, other uint64) Spec {
	s := response(k, epsilon)
	s.Epsilon = epsilon
	for i, row := range s.Rows {
		for j := range row {
			row[j] = other
		}
		row[i] = -(uint64(k-1) * other)
	}
	return s
}

// TestPureToAUnit: of randomized response the least weight of another answer that e^epsilon allows is
// private with delta = 0, and one unit less is not: 2^-64 in the weights decides.
func TestPureToAUnit(t *testing.T) {
	for _, k := range []int{2, 3, 10} {
		for _, epsilon := range []float64{1e-3, 0.1, 1, 3, 20} {
			// The truth has the weight 2^64 − (k−1)·w, at most e^ε·w.
			e := new(big.Rat).SetFrac(exact.ExpDown(epsilon, exact.RatioBits), new(big.Int).Lsh(big.NewInt(1), exact.RatioBits))
			least := exact.Ceil(new(big.Rat).Quo(exact.PowerOfTwo(64), e.Add(e, big.NewRat(int64(k-1), 1)))).Uint64()
			if _, err := newRandomizer(t, warner(k, epsilon, least)).Verify(); err != nil {
				t.Errorf("k = %d, epsilon = %g: %v", k, epsilon, err)
			}
			r := newRandomizer(t, warner(k, epsilon, least-1))
			if _, err := r.Verify(); !errors.Is(err, proof.ErrNotPrivate) {
				t.Errorf("k = %d, epsilon = %g, a unit less: %v", k, epsilon, err)
			}
			found := r.Certify().DeltaUpper
			if found.Sign() <= 0 || found.Cmp(exact.PowerOfTwo(-30)) > 0 {
				t.Errorf("k = %d, epsilon = %g, a unit less: delta %v", k, epsilon, found)
			}
		}
	}
}

// TestDeltaToAUnit: the delta that is found is enough, and one a unit in the last place below it not.
func TestDeltaToAUnit(t *testing.T) {
	s := twoAnswers()
	s.Demands = Demands{}
	s.Rows = [][]uint64{{1 << 63, 1 << 63}, {1 << 62, 3 << 62}}
	for _, s.Epsilon = range []float64{0, 0.1, 0.5} {
		s.Delta = 0.9
		found := newRandomizer(t, s).Certify().DeltaUpper
		// (1 − q) − e^ε·(1 − p) or p − e^ε·q, from the definition.
		e := new(big.Rat).SetFrac(exact.ExpDown(s.Epsilon, 300), new(big.Int).Lsh(big.NewInt(1), 300))
		want := new(big.Rat).Sub(big.NewRat(1, 2), new(big.Rat).Mul(e, big.NewRat(1, 4)))
		if off := new(big.Rat).Sub(found, want); off.Abs(off).Cmp(exact.PowerOfTwo(-90)) > 0 {
			t.Errorf("epsilon %g: delta %v, want %v", s.Epsilon, found, want)
		}
		s.Delta = exact.FloatUp(found)
		if _, err := newRandomizer(t, s).Verify(); err != nil {
			t.Errorf("epsilon %g: %v", s.Epsilon, err)
		}
		s.Delta = math.Nextafter(exact.FloatDown(found), 0)
		if _, err := newRandomizer(t, s).Verify(); !errors.Is(err, proof.ErrNotPrivate) {
			t.Errorf("epsilon %g, delta a unit in the last place less: %v", s.Epsilon, err)
		}
	}
}

// TestCapToAUnit: the same for a cap on the worst loss.
func TestCapToAUnit(t *testing.T) {
	s := twoAnswers()
	worst := newRandomizer(t, s).Certify().WorstLoss
	s.Demands.Cap = exact.FloatUp(worst)
	if _, err := newRandomizer(t, s).Verify(); err != nil {
		t.Error(err)
	}
	s.Demands.Cap = math.Nextafter(exact.FloatDown(worst), 0)
	if _, err := newRandomizer(t, s).Verify(); !errors.Is(err, proof.ErrFalseClaim) {
		t.Errorf("a cap a unit in the last place less: %v", err)
	}
}

// TestConcaveBelow: φ(a) = a₊ − e^ε·a₋ and its means over intervals are bounded from below, with e^ε
// itself, to 2^-160: so that no lower bound is above the truth by a rounding of e^ε.
func TestConcaveBelow(t *testing.T) {
	const fine = 400
	for _, epsilon := range []float64{0.1, 0.5, 1, 2, 7.3, 40} {
		s := response(2, 1)
		s.Epsilon = epsilon
		s.Dual = &Dual{Totals: []float64{0.1, 0.1}}
		p := newPricing(&s, nil)
		// e^ε less than this by far less than what rounding to 96 bits takes off.
		e := new(big.Rat).SetFrac(exact.ExpUp(epsilon, fine), new(big.Int).Lsh(big.NewInt(1), fine))
		slack := exact.PowerOfTwo(-fine + 1)
		for _, bits := range []uint{0, 1, 10, 64, 100, 300} {
			a := new(big.Int).Lsh(big.NewInt(1), bits)
			for _, a := range []*big.Int{a, new(big.Int).Neg(a), new(big.Int).Neg(new(big.Int).Sub(a, big.NewInt(1)))} {
				truth := new(big.Rat).SetInt(a)
				if a.Sign() < 0 {
					truth.Mul(truth, new(big.Rat).Sub(e, slack))
				}
				got := new(big.Rat).SetInt(p.concave(new(big.Int).Set(a)))
				off := new(big.Rat).Sub(truth, got)
				room := new(big.Rat).SetInt(new(big.Int).Abs(a))
				room.Mul(room, new(big.Rat).Add(e, big.NewRat(1, 1))).Mul(room, exact.PowerOfTwo(2-exact.RatioBits)).Add(room, big.NewRat(1, 1))
				if off.Sign() < 0 || off.Cmp(room) > 0 {
					t.Errorf("epsilon %g: φ(%v) = %v, want %v or a rounding less", epsilon, a, got.RatString(), truth.FloatString(3))
				}
			}
		}
	}
}

// TestLowerBoundOfResponse: no bound on the loss of randomized response is above its optimum, which is
// known: (k−1)/(e^ε+k−1). Multipliers around the best ones are tried, to the last place.
func TestLowerBoundOfResponse(t *testing.T) {
	const fine = 400
	best := 0
	for _, k := range []int{2, 5} {
		for _, epsilon := range []float64{0.3, 1, 2.5} {
			e := new(big.Rat).SetFrac(exact.ExpUp(epsilon, fine), new(big.Int).Lsh(big.NewInt(1), fine))
			optimum := new(big.Rat).Quo(big.NewRat(int64(k-1), 1), e.Add(e, big.NewRat(int64(k-1), 1)))
			price := float64(k-1) / float64(k) / (math.Exp(epsilon) + float64(k-1))
			for i := -40; i <= 40; i++ {
				total := price
				switch {
				case i < -20 || i > 20:
					total *= 1 + float64(i)*1e-4
				default:
					total *= 1 + float64(i)*0x1p-53
				}
				s := response(k, 1)
				s.Epsilon, s.Dual = epsilon, &Dual{Totals: make([]float64, k)}
				for j := range s.Dual.Totals {
					s.Dual.Totals[j] = total
				}
				found := s.lowerBound(nil)
				off := new(big.Rat).Sub(optimum, found)
				if off.Sign() < 0 {
					t.Errorf("k = %d, epsilon = %g, totals %v: a bound of %s, and the optimum is %s", k, epsilon, total, found.FloatString(40), optimum.FloatString(40))
				}
				if off.Cmp(exact.PowerOfTwo(-48)) < 0 {
					best++
				}
			}
		}
	}
	if best < 100 {
		t.Errorf("%d bounds are close, want 100", best)
	}
}

// TestBiasOfL2: the loss of squared errors is the variance and the square of the bias, exactly: so the
// two numbers cannot both be wrong.
func TestBiasOfL2(t *testing.T) {
	s := twoAnswers()
	s.Demands, s.Epsilon = Demands{}, 5
	s.Rows = [][]uint64{{3*quarter + 12345, quarter - 12345}, {quarter, 3 * quarter}}
	if s.Loss != loss.L2 {
		t.Fatal("want squared errors")
	}
	worst := new(big.Rat)
	for i, x := range s.Nodes {
		mean := new(big.Rat)
		for j, y := range s.Answers {
			p := new(big.Rat).SetFrac(new(big.Int).SetUint64(s.Rows[i][j]), new(big.Int).Lsh(big.NewInt(1), 64))
			mean.Add(mean, p.Mul(p, exact.Rational(y)))
		}
		if mean.Sub(mean, exact.Rational(x)).Abs(mean).Cmp(worst) > 0 {
			worst = mean
		}
	}
	if found := newRandomizer(t, s).Certify().Bias; found.Cmp(worst) != 0 {
		t.Errorf("bias %v, want %v", found, worst)
	}
}

// TestOneAnswer: where there is but one answer, its loss is the least there is, and no multipliers prove
// more than that; good ones prove it.
func TestOneAnswer(t *testing.T) {
	for _, objective := range []Objective{Mean, Worst} {
		s := Spec{
			Epsilon: 1, Values: Values{Kind: Integer, Lower: -1, Upper: 1}, Objective: objective, Loss: loss.L1,
			Demands: Demands{Lower: 0.5, Upper: 0.5}, Answers: []float64{0.5}, Rows: [][]uint64{{0}, {0}, {0}},
		}
		s.Nodes = s.Values.integers()
		want := big.NewRat(5, 6) // (1.5 + 0.5 + 0.5)/3
		if objective == Worst {
			want = big.NewRat(3, 2)
		}
		best := new(big.Rat)
		for i := range 60 {
			share := float64(i) / 40
			s.Dual = &Dual{Nodes: s.Nodes, Totals: []float64{0.5 * share, 0.5 / 3 * share, 0.5 / 3 * share}}
			if objective == Worst {
				s.Dual.Weights, s.Dual.Totals = []float64{1, 0, 0}, []float64{1.5 * share, 0, 0}
			}
			found := s.lowerBound(nil)
			if found.Cmp(want) > 0 {
				t.Errorf("%s: multipliers times %g prove %s, and %v is reached", objective, share, found.FloatString(9), want)
			}
			if found.Cmp(best) > 0 {
				best = found
			}
		}
		if off := new(big.Rat).Sub(want, best); off.Cmp(big.NewRat(1, 100)) > 0 {
			t.Errorf("%s: a bound of %s, want nearly %v", objective, best.FloatString(9), want)
		}
	}
}

// TestHighestOfAStretch: it is the largest of a quadratic, rounded up and no more, wherever its top is.
func TestHighestOfAStretch(t *testing.T) {
	rng := rand.New(rand.NewPCG(95, 96))
	inside := 0
	for range 3000 {
		p := stretch{halvings: rng.Int64N(worstHalvings + 1)}
		p.k = rng.Int64N(1 << p.halvings)
		for i := range p.lower {
			p.lower[i], p.higher[i] = big.NewInt(rng.Int64N(2000)), big.NewInt(rng.Int64N(2000))
		}
		// The loss times 2^halvings at the share (k+t)/2^halvings of the upper node.
		at := func(t *big.Rat) *big.Rat {
			chord := func(ends [2]*big.Int) *big.Rat {
				x := new(big.Rat).SetInt(new(big.Int).Sub(ends[1], ends[0]))
				return x.Mul(x, t).Add(x, new(big.Rat).SetInt(ends[0]))
			}
			upper := new(big.Rat).Add(t, big.NewRat(p.k, 1))
			lower := new(big.Rat).Sub(big.NewRat(1<<p.halvings, 1), upper)
			return upper.Mul(upper, chord(p.higher)).Add(upper, lower.Mul(lower, chord(p.lower)))
		}
		zero, half, one := at(new(big.Rat)), at(big.NewRat(1, 2)), at(big.NewRat(1, 1))
		most := zero
		if one.Cmp(most) > 0 {
			most = one
		}
		// q0 + q1·t + q2·t² through the three points, with its top at -q1/(2·q2).
		q2 := new(big.Rat).Add(zero, one)
		q2.Sub(q2, half).Sub(q2, half).Mul(q2, big.NewRat(2, 1))
		q1 := new(big.Rat).Sub(one, zero)
		q1.Sub(q1, q2)
		if q2.Sign() < 0 {
			top := new(big.Rat).Quo(q1, q2)
			if top.Mul(top, big.NewRat(-1, 2)); top.Sign() > 0 && top.Cmp(big.NewRat(1, 1)) < 0 {
				most = at(top)
				inside++
			}
		}
		most.Quo(most, big.NewRat(1<<p.halvings, 1))
		off := new(big.Rat).Sub(new(big.Rat).SetInt(p.highest()), most)
		if off.Sign() < 0 || off.Cmp(big.NewRat(2, 1)) >= 0 {
			t.Fatalf("%+v: highest %s, want %s", p, p.highest(), most)
		}
	}
	if inside < 300 {
		t.Errorf("%d tops are inside", inside)
	}
}

// TestWeightIsOfReals: one piece of it for integers or categories is refused, as several are.
func TestWeightIsOfReals(t *testing.T) {
	piece := []proof.Piece{{From: -1, Weight: 1}}
	for _, v := range []Values{{Kind: Integer, Lower: -1, Upper: 1}, {Kind: Category, Labels: []string{"a", "b"}}, {Kind: Real, Lower: -1, Upper: 1}} {
		if err := v.Validate(); err != nil {
			t.Errorf("%+v: %v", v, err)
		}
		v.Weight = piece
		if err := v.Validate(); (err == nil) != (v.Kind == Real) {
			t.Errorf("%+v: %v", v, err)
		}
	}
}

// TestRulesOfValues: each rule refuses what is just beyond it, naming the field, and nothing that is just within.
func TestRulesOfValues(t *testing.T) {
	most := float64(limits.LocalNodes)
	many := make([]string, limits.LocalNodes+1)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for _, c := range []struct {
		values Values
		field  string // none: it is valid
	}{
		{Values{Kind: Integer, Lower: -1, Upper: 1}, ""},
		{Values{Kind: Integer, Lower: -1.5, Upper: 1}, "range"},
		{Values{Kind: Integer, Lower: -1, Upper: 1.5}, "range"},
		{Values{Kind: Integer, Lower: exact.MaxInteger - 1, Upper: exact.MaxInteger}, ""},
		{Values{Kind: Integer, Lower: exact.MaxInteger, Upper: exact.MaxInteger + 2}, "range"},
		{Values{Kind: Integer, Lower: -exact.MaxInteger, Upper: 1 - exact.MaxInteger}, ""},
		{Values{Kind: Integer, Lower: -exact.MaxInteger - 2, Upper: -exact.MaxInteger}, "range"},
		{Values{Kind: Integer, Upper: most - 1}, ""},
		{Values{Kind: Integer, Upper: most}, "range"},
		{Values{Kind: Category, Labels: many[1:]}, ""},
		{Values{Kind: Category, Labels: many}, "labels"},
		{Values{Kind: Category, Labels: []string{"a", "b"}, Lower: 1}, "range"},
		{Values{Kind: Category, Labels: []string{"a", "b"}, Upper: 1}, "range"},
		{Values{Kind: Integer, Upper: 1, Labels: []string{"a", "b"}}, "labels"},
		{Values{Kind: Real, Upper: 1, Labels: []string{"a", "b"}}, "labels"},
		{Values{Kind: "complex", Upper: 1}, "kind"},
		{Values{Kind: Integer, Upper: 2, Shares: []float64{0, 1, 0}}, ""},
		{Values{Kind: Integer, Upper: 2, Shares: []float64{1, 1}}, "shares"},
		{Values{Kind: Integer, Upper: 2, Shares: []float64{0, 0, 0}}, "shares"},
		{Values{Kind: Integer, Upper: 2, Shares: []float64{1, -0.5, 1}}, "shares[1]"},
		{Values{Kind: Integer, Upper: 2, Shares: []float64{1, 1, math.Inf(1)}}, "shares[2]"},
		{Values{Kind: Integer, Upper: 2, Shares: []float64{math.NaN(), 1, 1}}, "shares[0]"},
	} {
		switch err := c.values.Validate(); {
		case c.field == "" && err != nil:
			t.Errorf("%s from %g to %g: %v", c.values.Kind, c.values.Lower, c.values.Upper, err)
		case c.field != "" && (err == nil || !strings.Contains(err.Error(), c.field+" = ")):
			t.Errorf("%s from %g to %g, %d labels, shares %v: %v, want an error of %s", c.values.Kind, c.values.Lower, c.values.Upper, len(c.values.Labels), c.values.Shares, err, c.field)
		}
	}
}

// TestArgumentToAUnit: the arguments of φ, of places near and far from an answer, and their slopes are
// not above those by the line itself, in rationals, and below them by a few units and the rounding of the slope.
func TestArgumentToAUnit(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 72))
	c, err := loss.Parse("pinball:0.3")
	if err != nil {
		t.Fatal(err)
	}
	p := &pricing{spec: &Spec{Loss: c}, bits: 40, grid: 8, reach: 1}
	random := func(bits int) *big.Int {
		n := new(big.Int).SetUint64(rng.Uint64())
		n.Add(n.Lsh(n, 64), new(big.Int).SetUint64(rng.Uint64())).Rsh(n, uint(128-bits)) //nolint:gosec // few
		if rng.IntN(2) == 0 {
			n.Neg(n)
		}
		return n
	}
	for range 4000 {
		x := random(9)
		q := &place{
			ends: [2]*big.Int{x, new(big.Int).Add(x, big.NewInt(rng.Int64N(40)))}, weight: random(weightBits), cap: random(weightBits),
			total: [2]*big.Int{random(40), random(40)}, mean: [2]*big.Int{random(42), random(42)},
		}
		q.weight.Abs(q.weight)
		q.cap.Abs(q.cap)
		if rng.IntN(4) == 0 {
			q.mean[0].SetInt64(0)
		}
		twice := random(12)
		if new(big.Int).Sub(twice, new(big.Int).Add(q.ends[0], q.ends[1])).Sign() == 0 {
			continue // at the kink
		}
		// The slope on the side of 0 that the line touches.
		slope := exact.Rational(0.3)
		if twice.Cmp(new(big.Int).Add(q.ends[0], q.ends[1])) < 0 {
			slope.Sub(slope, big.NewRat(1, 1))
		}
		weight := at(new(big.Int).Add(q.weight, q.cap), weightBits)
		l := p.tangent(q, twice)
		for end := range q.ends {
			y := random(4 + rng.IntN(17))
			want := at(new(big.Int).Sub(y, q.ends[end]), p.grid-p.bits)
			want.Mul(want, slope).Mul(want, weight).Sub(want, new(big.Rat).SetInt(q.total[end]))
			want.Sub(want, at(new(big.Int).Mul(q.mean[end], y), p.grid+p.reach))
			off := want.Sub(want, new(big.Rat).SetInt(p.argument(q, l, end, y)))
			// The slope is rounded by a unit of 2^-41 at most, for as far as y is away, twice.
			room := at(new(big.Int).Abs(new(big.Int).Sub(new(big.Int).Lsh(y, 1), twice)), p.grid+p.reach)
			room.Add(room, big.NewRat(5, 1)).Mul(room, weight).Add(room, big.NewRat(5, 1))
			if off.Sign() < 0 || off.Cmp(room) > 0 {
				t.Fatalf("%+v, line %v, end %d, y %v: the argument is %s below, want 0 to %s", q, l, end, y, off.FloatString(3), room.FloatString(3))
			}
			for _, side := range []int64{-1, 1} {
				want := new(big.Rat).Mul(slope, weight)
				want.Mul(want, exact.PowerOfTwo(p.bits+p.reach)).Sub(want, new(big.Rat).SetInt(q.mean[end])).Mul(want, big.NewRat(side, 1))
				off := want.Sub(want, new(big.Rat).SetInt(p.slope(q, l, side, end)))
				room := new(big.Rat).Add(weight, big.NewRat(2, 1))
				if off.Sign() < 0 || off.Cmp(room.Add(room, weight)) > 0 {
					t.Fatalf("%+v, line %v, end %d, side %d: the slope is %s below, want 0 to %s", q, l, end, side, off.FloatString(3), room.FloatString(3))
				}
			}
		}
	}
}

// TestGridHoldsAll: the grid of the prices has every number that a bound is about, so that none is moved inwards.
func TestGridHoldsAll(t *testing.T) {
	s := twoAnswers()
	s.Epsilon, s.Demands.Unbiased = 2, false
	s.Dual = &Dual{Nodes: []float64{-1, 1}, Totals: []float64{0.1, 0.1}, Weights: []float64{1, 1}}
	const fine = 1 + 0x1p-52
	for name, change := range map[string]func(*Spec){
		"lower demand": func(s *Spec) { s.Demands.Lower, s.Demands.Upper = -fine, 2 },
		"upper demand": func(s *Spec) { s.Demands.Lower, s.Demands.Upper = -2, fine },
		"node":         func(s *Spec) { s.Dual.Nodes = []float64{-1, fine / 2, 1} },
		"lower value":  func(s *Spec) { s.Values.Lower = -fine },
		"upper value":  func(s *Spec) { s.Values.Upper = fine },
	} {
		changed := s
		dual := *s.Dual
		changed.Dual = &dual
		change(&changed)
		dual.Totals, dual.Weights = make([]float64, len(dual.Nodes)), slices.Repeat([]float64{1}, len(dual.Nodes))
		if p := newPricing(&changed, nil); p.grid < 52+halvingBits {
			t.Errorf("%s: a grid of 2^-%d", name, p.grid)
		}
	}
}

// TestDemandsAreFinite: the width of the answers' range is finite, too.
func TestDemandsAreFinite(t *testing.T) {
	for _, d := range []Demands{{Lower: -1e308, Upper: 1e308}, {Lower: 1, Upper: 0}, {Lower: math.Inf(-1), Upper: 1}, {Lower: 0, Upper: math.NaN()}} {
		errs := check.In("local")
		if d.validate(Real, errs); errs.Err() == nil {
			t.Errorf("%+v is taken", d)
		}
	}
	errs := check.In("local")
	if (Demands{Lower: 2, Upper: 2}).validate(Real, errs); errs.Err() != nil {
		t.Error(errs.Err())
	}
}
