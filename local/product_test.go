// SPDX-License-Identifier: Apache-2.0

package local

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
)

// choices is a problem of k categories that are right or wrong, with the best multipliers of delta = 0: of randomized
// response, whose loss is (k − 1)/(e^ε + k − 1).
func choices(k int, epsilon, delta float64) Spec {
	s := Spec{Epsilon: epsilon, Delta: delta, Values: Values{Kind: Category}, Objective: Mean, Dual: &Dual{Product: true}}
	for i := range k {
		s.Values.Labels = append(s.Values.Labels, string(rune('a'+i)))
		row := make([]float64, k)
		for j := range row {
			if i != j {
				row[j] = 1
			}
		}
		s.Costs = append(s.Costs, row)
		s.Dual.Totals = append(s.Dual.Totals, float64(k-1)/(float64(k)*(math.Exp(epsilon)+float64(k-1))))
	}
	s.AnswerLabels = s.Values.Labels
	return s
}

// TestProductOfResponse: the truth with probability δ, and randomized response otherwise, is the best there is, and the
// products prove it, to the digits of float64s and of the shares, and no more. Multipliers that promise more or less prove less.
func TestProductOfResponse(t *testing.T) {
	for _, k := range []int{2, 3, 7} {
		for _, delta := range []float64{1e-9, 0.01, 0.3} {
			s := choices(k, 1.5, delta)
			want := (1 - delta) * float64(k-1) / (math.Exp(1.5) + float64(k-1))
			got := float(s.lowerBound(nil))
			if got > want*(1+1e-15) || got < want*(1-delta*1e-8-1e-12) {
				t.Errorf("%d categories, delta %g: %.17g, want %.17g", k, delta, got, want)
			}
			for _, factor := range []float64{0.9, 1.1} {
				other := choices(k, 1.5, delta)
				for i := range other.Dual.Totals {
					other.Dual.Totals[i] *= factor
				}
				// Totals that are too high are lowered to the best ones.
				if bound := float(other.lowerBound(nil)); bound > want*(1+1e-15) || bound < want*(0.9-1e-8) || factor < 1 && bound > want*0.95 {
					t.Errorf("%d categories, delta %g, multipliers times %g: %g, of %g", k, delta, factor, bound, want)
				}
			}
		}
	}
}

// oracleProduct is H by the definition in float64s, of the multipliers that a pricing holds, at answers step apart.
func oracleProduct(p *pricing, shortfall, step float64) float64 {
	type value struct{ x, width, weight, total, mean float64 }
	var all []value
	var costs []*place
	scale := math.Exp2(float64(p.reach))
	for i := range p.places {
		q := &p.places[i]
		weight := float(at(new(big.Int).Add(q.weight, q.cap), weightBits))
		if p.spec.Values.Kind == Category {
			all, costs = append(all, value{0, 1, weight, float(at(q.total[0], p.bits)), 0}), append(costs, q)
			continue
		}
		a, b := float(at(q.ends[0], p.grid)), float(at(q.ends[1], p.grid))
		width := float(at(q.width, p.grid)) / scale
		mix := func(ends [2]*big.Int, bits int) float64 {
			return (float(at(ends[0], bits)) + float(at(ends[1], bits))) / 2
		}
		all = append(all, value{(a + b) / 2, width, weight, mix(q.total, p.bits), mix(q.mean, p.bits+p.reach)})
	}
	price := make([][]float64, len(all))
	for i := range price {
		price[i] = make([]float64, len(all)+1)
	}
	for y := range oracleAnswers(p.spec, step) {
		sum := shortfall
		a := make([]float64, len(all))
		for i, v := range all {
			c := 0.0
			if costs != nil {
				c = float(at(costs[i].costs[int(y)], p.bits))
			} else {
				c = p.spec.Loss.At(y - v.x)
			}
			a[i] = (v.weight*c - v.total - v.mean*y) * v.width
			sum += max(a[i], 0)
		}
		for i := range all {
			if a[i] >= 0 {
				continue
			}
			for k := range all {
				price[i][k] = max(price[i][k], -a[i]*max(a[k], 0)/sum)
			}
			price[i][len(all)] = max(price[i][len(all)], -a[i]*shortfall/sum)
		}
	}
	total := 0.0
	for _, row := range price {
		for _, z := range row {
			total += z
		}
	}
	return total
}

// TestProductAgainstOracle compares what delta takes off with the definition, for all kinds of problems and multipliers
// without structure: it is not below, and not far above.
func TestProductAgainstOracle(t *testing.T) {
	rng := rand.New(rand.NewPCG(81, 82))
	priced := 0
	for _, kind := range []Kind{Category, Integer, Real} {
		for _, objective := range []Objective{Mean, Worst} {
			for flags := range 12 {
				if kind == Real && objective == Mean && flags%3 != 0 || testing.Short() && (kind == Real || flags > 4) {
					continue
				}
				s := boundSpec(rng, kind, objective, 0, flags&1 > 0 && kind != Real, flags&2 > 0, flags/4)
				s.Dual = randomDual(rng, &s)
				s.Delta, s.Dual.Product = 0.25, true
				for i := range s.Dual.Means {
					s.Dual.Means[i] /= 4
				}
				for i := range s.Dual.PointTotals {
					s.Dual.PointTotals[i] = -math.Abs(s.Dual.PointTotals[i])
				}
				if err := s.validateDual(); err != nil {
					t.Fatal(err)
				}
				p := newPricing(&s, nil)
				_, shortfall, ok := p.lowered(p.value())
				if !ok {
					continue
				}
				price, ok := p.productPrice(shortfall)
				if !ok {
					continue
				}
				priced++
				step := 1. / 128
				if s.averaged() {
					step = 1. / 24
				}
				got, want := float(at(price, p.bits)), s.Delta*oracleProduct(p, float(at(shortfall, p.bits)), step)
				if got < want*(1-1e-3) || got > 1.35*want+1e-6 {
					t.Errorf("%s %s %v %+v: delta takes off %.9g, by the definition %.9g", kind, objective, s.Loss, s.Demands, got, want)
				}
			}
		}
	}
	if priced < 8 {
		t.Errorf("%d of the problems have a price, want 8", priced)
	}
}

// TestProductTakesOffItsPrice: the bound is that of delta = 0 less the price, and what lacks far out proves nothing.
func TestProductTakesOffItsPrice(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	s := Spec{
		Epsilon: 1, Values: Values{Kind: Real, Lower: 0, Upper: 1}, Objective: Mean, Loss: loss.L2,
		Demands: Demands{Unbiased: true},
		Dual: &Dual{
			Nodes: []float64{0, 0.5, 1}, Totals: []float64{0.05, 0.05, 0.05}, Means: []float64{0, 0, 0},
			PointTotals: []float64{-0.001, 0, -0.001}, PointMeans: []float64{0, 0, 0},
		},
	}
	pure := s.lowerBound(nil)
	s.Dual.Product = true
	last := float(pure)
	for _, delta := range []float64{1e-12, 1e-3, 0.1} {
		s.Delta = delta
		p := newPricing(&s, nil)
		_, shortfall, _ := p.lowered(p.value())
		price, ok := p.productPrice(shortfall)
		want := new(big.Rat).Sub(pure, at(price, p.bits))
		if got := s.lowerBound(nil); !ok || got.Cmp(want) != 0 || float(got) >= last {
			t.Errorf("delta %g: %g, want %g, below %g", delta, float(got), float(want), last)
		}
		last = float(s.lowerBound(nil))
	}
	for name, change := range map[string]func(d *Dual){
		"a total above 0": func(d *Dual) { d.PointTotals[0] = 1e-9 },
		"a mean":          func(d *Dual) { d.PointMeans[2] = 1e-9 },
	} {
		other := s
		d := *s.Dual
		d.PointTotals, d.PointMeans = []float64{-0.001, 0, -0.001}, []float64{0, 0, 0}
		other.Dual = &d
		if change(&d); other.lowerBound(nil).Sign() != 0 {
			t.Errorf("%s of a point without weight proves %g", name, float(other.lowerBound(nil)))
		}
	}
}

// TestProductBelowLosses is weak duality: no bound is above the loss of a randomizer that keeps the promise.
func TestProductBelowLosses(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	rng := rand.New(rand.NewPCG(83, 84))
	best := 0.0
	for range 5 {
		s := randomSpec(rng)
		c := newRandomizer(t, s).Certify()
		s.Delta = 0
		s.Dual = randomDual(rng, &s)
		s.Delta, s.Dual.Product = exact.FloatUp(c.DeltaUpper), true
		for i := range s.Dual.PointTotals {
			s.Dual.PointTotals[i] = -math.Abs(s.Dual.PointTotals[i]) / 10
		}
		clear(s.Dual.PointMeans)
		for _, scale := range []float64{0.3, 1, 3} {
			o := s
			d := *s.Dual
			o.Dual, d.Totals = &d, nil
			for _, x := range s.Dual.Totals {
				d.Totals = append(d.Totals, scale*x)
			}
			bound := o.lowerBound(nil)
			if bound.Cmp(c.Loss()) > 0 {
				t.Fatalf("bound %g above the loss %g of %+v", float(bound), float(c.Loss()), o)
			}
			best = max(best, float(bound)/float(c.Loss()))
		}
	}
	if best < 0.02 {
		t.Errorf("the best bound is %g of the loss: the test says nothing", best)
	}
}

// TestProductRounding: every part of a price is rounded up, by one unit of the last place, and to nothing less.
func TestProductRounding(t *testing.T) {
	big1 := func(x int64) *big.Int { return big.NewInt(x) }
	for _, c := range []struct {
		x, y int64
		want uint64
		ok   bool
	}{
		{0, 0, 0, true},
		{1, 0, 1 << 32, false},
		{1, 1, 1 << 31, true},
		{1, 1 << 31, 1, true},
		{1, 1<<31 + 1, 1, true},
		{1, 1<<31 - 1, 2, true},
		{1<<32 - 1, 1 << 31, 1<<32 - 1, true},
		{2, 1, 1 << 32, false},
		{1<<33 - 1, 1 << 32, 1 << 32, false},
	} {
		if got, ok := quotient(big1(c.x), big1(c.y)); got != c.want || ok != c.ok {
			t.Errorf("%d/%d: %d, %v, want %d, %v", c.x, c.y, got, ok, c.want, c.ok)
		}
	}
	for _, c := range []struct {
		x    int64
		bits int
		want int64
	}{{5, 0, 5}, {5, 1, 10}, {5, -1, 3}, {4, -1, 2}, {1, -9, 1}, {0, -9, 0}, {-5, -1, -2}} {
		if got := upTo(big1(c.x), c.bits).Int64(); got != c.want {
			t.Errorf("%d·2^%d: %d, want %d", c.x, c.bits, got, c.want)
		}
	}
	at0 := big1(0)
	point := place{ends: [2]*big.Int{at0, at0}}
	interval := place{ends: [2]*big.Int{big1(0), big1(1)}}
	p := &pricing{spec: &Spec{}, places: []place{point, interval}}
	lack := [][]uint64{{3, 1 << 31}, {5, 7}}
	share := [][]uint64{{11, 1<<32 - 1}, {13, 1<<32 - 1}, {1<<32 - 1, 17}}
	// A point with itself is left out, an interval with itself is not.
	want := new(big.Int)
	for _, x := range []uint64{1 << 31 * (1<<32 - 1), max(3*(1<<32-1), 1<<31*17), 7 * (1<<32 - 1), 7 * (1<<32 - 1), 5 * (1<<32 - 1)} {
		want.Add(want, new(big.Int).SetUint64(x))
	}
	if got := p.largest(lack, share); got.Cmp(want) != 0 {
		t.Errorf("the sum of the largest products is %s, want %s", got, want)
	}
	many := make([][]uint64, 3)
	for i := range many {
		many[i] = []uint64{1 << 31}
	}
	shares := make([][]uint64, 4)
	for i := range shares {
		shares[i] = []uint64{1<<32 - 1}
	}
	p.places = []place{interval, interval, interval}
	want.SetUint64(1 << 31 * (1<<32 - 1))
	if got := p.largest(many, shares); got.Cmp(want.Mul(want, big1(12))) != 0 {
		t.Errorf("a sum above 2^64 is %s, want %s", got, want)
	}
	part := productPart{supply: []*big.Int{big1(3), big1(3)}, least: big1(2)}
	for i, want := range []uint64{1 << 31, 3 << 30} {
		if got, ok := p.share(&part, i, big1(0)); i == 0 && p.isPoint(0) && got != want || i == 1 && (got != want || !ok) {
			t.Errorf("share of place %d: %d, want %d", i, got, want)
		}
	}
}

// TestProductParts: over a part, what a place lacks and has at the corners is bounded, cost and paid to the unit of the last place,
// and a place whose argument falls is not enough, however high it is.
func TestProductParts(t *testing.T) {
	s := Spec{
		Epsilon: 1, Delta: 0x1p-200, Values: Values{Kind: Real, Lower: 0, Upper: 1}, Objective: Mean, Loss: loss.L1, Demands: Demands{Unbiased: true},
		Dual: &Dual{Product: true, Nodes: []float64{0, 0.3, 1}, Totals: []float64{0.1, 0.3, -0.2}, Means: []float64{0.1, -0.25, 0.3}},
	}
	for _, l := range []loss.Loss{loss.L1, loss.L2} {
		s.Loss = l
		p := newPricing(&s, nil)
		for _, ends := range [][2]float64{{0.25, 0.5}, {-2, -1.5}, {0.9, 3}, {-3, 0.5}} {
			grid := onGrid(ends[:], p.grid)
			part, _ := p.part(grid[0], grid[1])
			p.supply(&part)
			for _, i := range []int{0, 3, 100, len(p.places) - 1} {
				q := &p.places[i]
				var high, low, cost, paid *big.Rat
				keep := func(to **big.Rat, x *big.Rat, sign int) {
					if *to == nil || x.Cmp(*to) == sign {
						*to = x
					}
				}
				for _, y := range ends {
					for e, x := range q.ends {
						z := new(big.Rat).Sub(exact.Rational(y), at(x, p.grid))
						c := l.RampMeanUp(z, z)
						m := at(q.mean[e], p.bits+p.reach)
						m.Mul(m, exact.Rational(y)).Add(m, at(q.total[e], p.bits))
						w := at(new(big.Int).Add(q.weight, q.cap), weightBits)
						a := w.Mul(w, c)
						a.Sub(a, m)
						keep(&high, a, 1)
						keep(&low, a, -1)
						keep(&cost, c, 1)
						keep(&paid, m, -1)
					}
				}
				if got, want := p.mostCost(q, &part), ceilAt(cost, p.bits); got.Cmp(want) != 0 {
					t.Errorf("%v on %v, place %d: cost %s, want %s", l, ends, i, got, want)
				}
				short := new(big.Int).Sub(floorAt(paid, p.bits), p.leastPaid(q, &part))
				if short.Sign() < 0 || short.Cmp(big.NewInt(1)) > 0 {
					t.Errorf("%v on %v, place %d: paid is %s units off", l, ends, i, short)
				}
				width := at(q.width, p.grid+p.reach)
				if have := new(big.Rat).Mul(high, width); at(part.supply[i], p.bits).Cmp(have) < 0 {
					t.Errorf("%v on %v, place %d: supply below %s", l, ends, i, have.FloatString(20))
				}
				if lack := new(big.Rat).Neg(low.Mul(low, width)); at(part.lack[i], p.bits).Cmp(lack) < 0 {
					t.Errorf("%v on %v, place %d: lack below %s", l, ends, i, lack.FloatString(20))
				}
			}
		}
	}
	s.Loss, s.Dual.Totals, s.Dual.Means = loss.L1, []float64{-9, -9, -9}, []float64{2, 2, 2}
	p := newPricing(&s, nil)
	if y := onGrid([]float64{3, -3}, p.grid); p.enough(y[0], 1) || !p.enough(y[1], -1) {
		t.Error("a line that falls is enough, or one that rises is not")
	}
	c := choices(2, 1, 0x1p-200)
	p = newPricing(&c, nil)
	if price, ok := p.productPrice(new(big.Int)); !ok || price.Cmp(big.NewInt(1)) != 0 {
		t.Errorf("a price of less than a unit is %s, want 1", price)
	}
	if got := p.mostCost(&p.places[0], &productPart{label: 1}); got.Cmp(new(big.Int).Add(p.places[0].costs[1], big.NewInt(1))) != 0 {
		t.Errorf("the cost of a label is %s, want one unit above %s", got, p.places[0].costs[1])
	}
}
