// SPDX-License-Identifier: Apache-2.0

package local

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// randomDual has multipliers of the right size without any structure, for every kind of
// bound.
func randomDual(rng *rand.Rand, s *Spec) *Dual {
	d := &Dual{}
	n := 2 + rng.IntN(4)
	switch s.Values.Kind {
	case Category:
		n = len(s.Values.Labels)
	case Integer:
		d.Nodes, n = s.Nodes, len(s.Nodes)
	case Real:
		width := s.Values.Upper - s.Values.Lower
		d.Nodes = append(d.Nodes, s.Values.Lower)
		for i := 1; i < n-1; i++ {
			d.Nodes = append(d.Nodes, s.Values.Lower+width*(float64(i)+rng.Float64()*0.5)/float64(n))
		}
		d.Nodes = append(d.Nodes, s.Values.Upper)
		if s.averaged() && s.Delta > 0 {
			n--
		}
	}
	for range n {
		d.Totals = append(d.Totals, 0.3*rng.Float64()-0.05)
		if s.Objective == Worst {
			d.Weights = append(d.Weights, 0.2+rng.Float64())
		}
		if s.Demands.Unbiased {
			d.Means = append(d.Means, 0.1*rng.Float64()-0.05)
		}
		if s.averaged() && s.Delta == 0 {
			d.PointTotals = append(d.PointTotals, 0.1*rng.Float64()-0.02)
			if s.Demands.Unbiased {
				d.PointMeans = append(d.PointMeans, 0.02*rng.Float64()-0.01)
			}
		}
		if s.Demands.Cap > 0 && s.Objective == Mean {
			d.Caps = append(d.Caps, 0.1*rng.Float64())
		}
	}
	if s.Delta > 0 {
		outputs := len(s.AnswerLabels)
		if s.Values.Kind != Category {
			outputs = 5
			for j := range outputs {
				d.Answers = append(d.Answers, s.Values.Lower-1+float64(j)+0.5*rng.Float64())
			}
		}
		for i := range n {
			for k := range n {
				if i == k || rng.IntN(2) == 0 {
					continue
				}
				p := dualPair{Gain: i, Lose: k, First: rng.IntN(outputs)}
				for range 1 + rng.IntN(outputs-p.First) {
					p.Multipliers = append(p.Multipliers, 0.05*rng.Float64())
				}
				d.Pairs = append(d.Pairs, p)
			}
		}
	}
	return d
}

// oracleBound is the bound of the multipliers in float64s, by the definitions, the answers
// being tried one by one. It may be below 0.
func oracleBound(s *Spec, step float64) float64 {
	d := s.Dual
	phi := func(a float64) float64 { return max(a, 0) + math.Exp(s.Epsilon)*min(a, 0) }
	at := func(list []float64, i int) float64 {
		if len(list) == 0 {
			return 0
		}
		return list[i]
	}
	weight, cost, value := oracleAtoms(s)
	if s.averaged() && s.Delta == 0 {
		return oracleDensity(s, step, phi)
	}
	for i := range weight {
		value -= s.Demands.Cap * at(d.Caps, i)
	}
	argument := func(i int, y float64) float64 {
		return (weight[i]+at(d.Caps, i))*cost(i, y) - d.Totals[i] - at(d.Means, i)*y
	}
	worst := make([]float64, len(weight)+1)
	for y := range oracleAnswers(s, step) {
		sum := 0.0
		for i := range weight {
			sum += phi(argument(i, y))
			a := argument(i, y)
			for _, p := range d.Pairs {
				z := oraclePrice(d, p, y)
				if p.Gain == i {
					a += z
				}
				if p.Lose == i {
					a -= math.Exp(s.Epsilon) * z
				}
			}
			worst[i] = min(worst[i], a)
		}
		worst[len(weight)] = min(worst[len(weight)], sum)
	}
	if s.Delta == 0 {
		return value + worst[len(weight)]
	}
	for i := range weight {
		value += worst[i]
	}
	for _, p := range d.Pairs {
		most := 0.0
		for _, z := range p.Multipliers {
			most = max(most, z)
		}
		value -= s.Delta * most
	}
	return value
}

// oracleAtoms returns the weights and costs of nodes or cells, and the value.
func oracleAtoms(s *Spec) (weight []float64, cost func(i int, y float64) float64, value float64) {
	d := s.Dual
	means := d.Means
	if len(means) == 0 {
		means = make([]float64, len(d.Totals))
	}
	total := 0.0
	weight = append(weight, d.Weights...)
	if s.Objective == Mean {
		weight = append(weight, s.Values.Shares...)
		for len(weight) < len(d.Totals) {
			weight = append(weight, 1)
		}
	}
	for _, w := range weight {
		total += w
	}
	for i := range weight {
		weight[i] /= total
		value += d.Totals[i]
	}
	cost = func(i int, y float64) float64 {
		if s.Values.Kind == Category {
			return s.Costs[i][int(y)]
		}
		return s.Loss.At(y - d.Nodes[i])
	}
	if s.averaged() && s.Delta > 0 {
		return oracleCells(s, means, value)
	}
	if s.Values.Kind != Category {
		for i, mu := range means {
			value += mu * d.Nodes[i]
		}
	}
	return weight, cost, value
}

// oracleCells is oracleAtoms for the cells of real values, by the midpoint rule.
func oracleCells(s *Spec, means []float64, value float64) (weight []float64, cost func(i int, y float64) float64, _ float64) {
	d := s.Dual
	const steps = 40000
	total := 0.0
	var center []float64
	for i := range d.Totals {
		var m0, m1, m2 float64
		h := (d.Nodes[i+1] - d.Nodes[i]) / steps
		for k := range steps {
			x := d.Nodes[i] + h*(float64(k)+0.5)
			w := oracleDensityAt(s, x) * h
			m0, m1, m2 = m0+w, m1+w*x, m2+w*x*x
		}
		weight, center = append(weight, m0), append(center, m1/m0)
		total += m0
		value += means[i] * m1 / m0
		if s.Demands.Unbiased && s.Loss == loss.L2 {
			kappa := 0.0
			if len(d.Caps) > 0 {
				kappa = d.Caps[i]
			}
			value -= (m0 + kappa) * (m2/m0 - m1/m0*m1/m0)
		}
	}
	if math.Abs(total-1) > 1e-4 {
		panic("not a law")
	}
	return weight, func(i int, y float64) float64 {
		if s.Demands.Unbiased && s.Loss == loss.L2 {
			return s.Loss.At(y - center[i])
		}
		return s.Loss.At(y - min(max(y, d.Nodes[i]), d.Nodes[i+1]))
	}, value
}

func oracleDensityAt(s *Spec, x float64) float64 {
	weight := s.Values.Weight
	if len(weight) == 0 {
		weight = []proof.Piece{{From: s.Values.Lower, Weight: 1}}
	}
	total, at := 0.0, 0.0
	for i, p := range weight {
		end := s.Values.Upper
		if i+1 < len(weight) {
			end = weight[i+1].From
		}
		total += p.Weight * (end - p.From)
		if p.From <= x {
			at = p.Weight
		}
	}
	return at / total
}

// oraclePrice is the multiplier of a pair at an answer.
func oraclePrice(d *Dual, p dualPair, y float64) float64 {
	all := make([]float64, len(d.Answers))
	if len(all) == 0 { // categories
		if j := int(y) - p.First; j >= 0 && j < len(p.Multipliers) {
			return p.Multipliers[j]
		}
		return 0
	}
	copy(all[p.First:], p.Multipliers)
	if y <= d.Answers[0] {
		return all[0]
	}
	for j := 1; j < len(all); j++ {
		if y <= d.Answers[j] {
			t := (y - d.Answers[j-1]) / (d.Answers[j] - d.Answers[j-1])
			return (1-t)*all[j-1] + t*all[j]
		}
	}
	return all[len(all)-1]
}

// oracleAnswers goes through answers: those allowed, step apart, far beyond the range.
func oracleAnswers(s *Spec, step float64) func(yield func(float64) bool) {
	return func(yield func(float64) bool) {
		d := s.Demands
		switch {
		case s.Values.Kind == Category:
			for j := range s.AnswerLabels {
				yield(float64(j))
			}
		case d.Step > 0 && d.bounded():
			for y := d.Lower; y <= d.Upper; y += d.Step {
				yield(y)
			}
		default:
			low, high := s.Values.Lower-8, s.Values.Upper+8
			if d.bounded() {
				low, high = d.Lower, d.Upper
				yield(high)
			}
			for y := low; y <= high; y += step {
				yield(y)
			}
			for _, y := range append(append([]float64{}, s.Dual.Nodes...), s.Dual.Answers...) { // kinks
				if y >= low && y <= high {
					yield(y)
				}
			}
		}
	}
}

// oracleDensity is oracleBound for the mean of real values and delta = 0.
func oracleDensity(s *Spec, step float64, phi func(float64) float64) float64 {
	d := s.Dual
	type point struct{ x, h, w, total, mean, cap float64 }
	var points []point
	value := 0.0
	breaks := append([]float64{}, d.Nodes...)
	for _, p := range s.Values.Weight {
		breaks = append(breaks, p.From)
	}
	breaks = sortedUnique(breaks)
	node := 0
	for i := range len(breaks) - 1 {
		if breaks[i] >= d.Nodes[node+1] {
			node++
		}
		const steps = 300
		h := (breaks[i+1] - breaks[i]) / steps
		for k := range steps {
			x := breaks[i] + h*(float64(k)+0.5)
			t := (x - d.Nodes[node]) / (d.Nodes[node+1] - d.Nodes[node])
			mix := func(list []float64) float64 {
				if len(list) == 0 {
					return 0
				}
				return list[node] + t*(list[node+1]-list[node])
			}
			p := point{x, h, oracleDensityAt(s, x), mix(d.Totals), mix(d.Means), mix(d.Caps)}
			points = append(points, p)
			value += h * (p.total + p.mean*x - s.Demands.Cap*p.cap)
		}
	}
	for i, total := range d.PointTotals { // no weight, and a width of 1
		p := point{x: d.Nodes[i], h: 1, total: total}
		if s.Demands.Unbiased {
			p.mean = d.PointMeans[i]
		}
		points = append(points, p)
		value += p.total + p.mean*p.x
	}
	worst := 0.0
	for y := range oracleAnswers(s, 4*step) {
		sum := 0.0
		for _, p := range points {
			sum += p.h * phi((p.w+p.cap)*s.Loss.At(y-p.x)-p.total-p.mean*y)
		}
		worst = min(worst, sum)
	}
	return value + worst
}

// boundSpec is a randomizer of a kind, with demands, whose laws do not matter.
func boundSpec(rng *rand.Rand, kind Kind, objective Objective, delta float64, unbiased, capped bool, answers int) Spec {
	s := Spec{Epsilon: 0.5 + rng.Float64(), Delta: delta, Objective: objective, Loss: loss.L2, Values: Values{Kind: kind, Lower: -1, Upper: 2}}
	if rng.IntN(2) == 0 {
		s.Loss = loss.L1
	}
	s.Demands.Unbiased = unbiased && kind != Category
	if capped {
		s.Demands.Cap = 3
	}
	switch kind {
	case Category:
		s.Loss, s.Values = nil, Values{Kind: kind, Labels: []string{"a", "b", "c"}}
		s.AnswerLabels = []string{"x", "y", "z", "other"}
		for range 3 {
			row := []float64{rng.Float64(), rng.Float64(), rng.Float64(), 0.5}
			s.Costs = append(s.Costs, row)
		}
	case Integer:
		s.Nodes, s.Values.Shares = []float64{-1, 0, 1, 2}, []float64{1, 2, 0.5, 3}
	case Real:
		s.Nodes = []float64{-1, 2}
		if rng.IntN(2) == 0 {
			s.Values.Weight = []proof.Piece{{From: -1, Weight: 1}, {From: 0.25, Weight: 3}, {From: 1.5, Weight: 0.5}}
		}
	}
	s.Claims = Claims{"1", "100", "100", "100", "0"} // nothing is to be certified but the bound
	s.Answers = []float64{-1, 0, 1, 2}
	if kind == Category {
		s.Answers = nil
	} else {
		switch answers {
		case 1:
			s.Demands.Lower, s.Demands.Upper = -1.5, 2.5
		case 2:
			s.Demands.Lower, s.Demands.Upper, s.Demands.Step = -1.5, 2.5, 0.5
		}
	}
	for range s.nodes() {
		s.Rows = append(s.Rows, []uint64{quarter, quarter, quarter, quarter})
	}
	return s
}

// TestBoundAgainstOracle compares the bound of random multipliers with that of the
// definitions, for all kinds of bounds: it is not above it, and hardly below.
func TestBoundAgainstOracle(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 72))
	for _, kind := range []Kind{Real, Integer, Category} {
		for _, objective := range []Objective{Mean, Worst} {
			for flags := range 24 {
				if testing.Short() && flags%11 != 0 {
					continue // one of each is left
				}
				delta := []float64{0, 0.1}[flags&1]
				s := boundSpec(rng, kind, objective, delta, flags&2 > 0, flags&4 > 0, flags/8)
				s.Dual = randomDual(rng, &s)
				if _, err := New(t.Context(), s); err != nil {
					t.Fatal(err)
				}
				p := newPricing(&s, nil)
				shortfall, ok := p.shortfall()
				if delta > 0 {
					shortfall, ok = p.pairShortfall()
				}
				if !ok {
					t.Errorf("no bound for %+v", s)
					continue
				}
				bound := at(new(big.Int).Sub(p.value(), shortfall), p.bits)
				got, want := float(bound.Sub(bound, p.prices())), oracleBound(&s, 1./512)
				name := fmt.Sprintf("%s %s %T delta %g %+v", kind, objective, s.Loss, delta, s.Demands)
				// The oracle's integrals are off by some 1e-5, and its answers are 1/512 apart.
				if got > want+2e-5 || got < want-3e-4*(1+math.Abs(want))-float(at(shortfall, p.bits))/256 {
					t.Errorf("%s: bound %.9g, by the definitions %.9g", name, got, want)
				}
				if s.averaged() || delta > 0 && flags%8 > 1 {
					continue
				}
				// With delta = 0 lower totals may prove more.
				best := want
				for k := range 100 {
					lower := s
					d := *s.Dual
					d.Totals = nil
					for _, x := range s.Dual.Totals {
						d.Totals = append(d.Totals, x-float64(k)/100*(want-got+float(at(shortfall, p.bits)))/float64(len(s.Dual.Totals)))
					}
					if lower.Dual = &d; delta == 0 && s.Values.Kind == Category {
						best = max(best, oracleBound(&lower, 1))
					}
				}
				if clipped := float(s.lowerBound(nil)); clipped < got-1e-12 || delta > 0 && clipped > max(got, 0)+1e-12 ||
					s.Values.Kind == Category && clipped > max(best, 0)+1e-3 {
					t.Errorf("%s: bound %g is returned as %g, at best %g", name, got, clipped, best)
				}
			}
		}
	}
}

// TestCentroids: what cells count for their means, and what is subtracted, is in rationals the multipliers times the centroids,
// which are on no grid; for squared errors less the weights times the variances of the values about where the answers are priced.
func TestCentroids(t *testing.T) {
	rng := rand.New(rand.NewPCG(73, 74))
	off := 0
	for n := range 60 {
		s := boundSpec(rng, Real, Mean, 0.1, true, n&1 > 0, n%3)
		s.Dual = randomDual(rng, &s)
		p := newPricing(&s, nil)
		pieces := s.Values.Weight
		if pieces == nil {
			pieces = []proof.Piece{{From: s.Values.Lower, Weight: 1}}
		}
		got, want := new(big.Rat).Neg(p.subtract), new(big.Rat)
		for i, q := range p.places {
			var moments [3]*big.Rat
			for m := range moments {
				moments[m] = new(big.Rat)
			}
			for k, piece := range pieces {
				low, high := max(piece.From, s.Dual.Nodes[i]), s.Dual.Nodes[i+1]
				if k+1 < len(pieces) {
					high = min(high, pieces[k+1].From)
				}
				if low < high {
					addMoments(&moments, exact.Rational(low), exact.Rational(high), exact.Rational(piece.Weight))
				}
			}
			centroid := moments[1].Quo(moments[1], moments[0])
			mean, x := at(q.mean[0], p.bits+p.reach), at(q.ends[0], p.grid)
			got.Add(got, new(big.Rat).Mul(mean, x))
			want.Add(want, new(big.Rat).Mul(mean, centroid))
			if centroid.Cmp(x) != 0 {
				off++
			}
			if s.Loss == loss.L2 { // about x: the mean square, less 2x of the centroid, and x²
				spread := moments[2].Quo(moments[2], moments[0])
				spread.Sub(spread, new(big.Rat).Mul(x, centroid)).Sub(spread, x.Mul(x, centroid.Sub(centroid, x)))
				want.Sub(want, spread.Mul(spread, at(new(big.Int).Add(q.weight, q.cap), weightBits)))
			}
		}
		if got.Cmp(want) != 0 {
			t.Errorf("case %d, weight %v: off by %s", n, s.Values.Weight, got.Sub(got, want).FloatString(40))
		}
	}
	if off < 10 {
		t.Errorf("%d centroids are on no grid", off)
	}
}

// TestLowered: totals that promise too much are lowered, and what is proved then is what
// the definitions give for the lower ones, and nearly all of it.
func TestLowered(t *testing.T) {
	for _, objective := range []Objective{Worst, Mean} {
		s := twoAnswers()
		s.Epsilon, s.Objective, s.Demands.Unbiased = 4, objective, false
		n := 9
		s.Dual = &Dual{}
		for i := range n {
			s.Dual.Nodes = append(s.Dual.Nodes, -1+float64(i)/4)
			s.Dual.Totals = append(s.Dual.Totals, 0.008)
			if objective == Worst {
				s.Dual.Weights = append(s.Dual.Weights, 1)
			}
		}
		p := newPricing(&s, nil)
		shortfall, ok := p.shortfall()
		got := float(s.lowerBound(nil))
		once := float(at(new(big.Int).Sub(p.value(), shortfall), p.bits))
		best := 0.0
		for k := range 50 {
			lower := s
			d := *s.Dual
			d.Totals = make([]float64, n)
			for i := range d.Totals {
				d.Totals[i] = 0.008 - 0.008*float64(k)/50
			}
			lower.Dual = &d
			best = max(best, oracleBound(&lower, 1./16))
		}
		if !ok || got > best*(1+1./20) || got < once || got < 0.5*best || best < 0.005 {
			t.Errorf("%s: %g is proved, %g without lowering, want at most %g", objective, got, once, best)
		}
		// Wherever the work that is allowed ends, so does the check.
		var file bytes.Buffer
		v, err := newRandomizer(t, s).Verify()
		if err == nil {
			err = v.Mechanism().Encode(&file)
		}
		if err != nil {
			t.Fatal(err)
		}
		for work := v.Work() / 2; work < v.Work(); work += 1 + v.Work()/20 {
			back, err := Decode(bytes.NewReader(file.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := back.Prove(t.Context(), proof.Options{Work: work}); !errors.Is(err, proof.ErrWork) {
				t.Fatalf("%s, with the work %d of %d: %v, want ErrWork", objective, work, v.Work(), err)
			}
		}
	}
}

// TestBoundBelowLosses is weak duality: whatever multipliers are written down, the bound
// stays below the loss of a randomizer that keeps the promise.
func TestBoundBelowLosses(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	rng := rand.New(rand.NewPCG(73, 74))
	best := 0.0
	for range 5 {
		s := randomSpec(rng)
		r := newRandomizer(t, s)
		c := r.Certify()
		s.Delta = exact.FloatUp(c.DeltaUpper)
		for range 2 {
			s.Dual = randomDual(rng, &s)
			scale := 4 * rng.Float64()
			for i := range s.Dual.Totals {
				s.Dual.Totals[i] *= scale
			}
			bound := s.lowerBound(nil)
			if bound.Cmp(c.Loss()) > 0 {
				t.Fatalf("bound %g above the loss %g of %+v", float(bound), float(c.Loss()), s)
			}
			best = max(best, float(bound)/float(c.Loss()))
		}
	}
	if best < 0.05 {
		t.Errorf("the best bound is %g of the loss: the test says nothing", best)
	}
}
