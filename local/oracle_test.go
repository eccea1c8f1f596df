// SPDX-License-Identifier: Apache-2.0

package local

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
)

// The functions of this file are the definitions, in rationals, and share nothing with the
// package: they are slow and for small randomizers.

// oracleExp bounds e^x by its series.
func oracleExp(x float64) (low, high *big.Rat) {
	sum, term := big.NewRat(1, 1), big.NewRat(1, 1)
	arg := new(big.Rat).SetFloat64(x)
	for n := int64(1); n < 60; n++ {
		term.Mul(term, arg).Mul(term, big.NewRat(1, n))
		sum.Add(sum, term)
	}
	fine := new(big.Int).Lsh(big.NewInt(1), 100)
	sum.Mul(sum, new(big.Rat).SetInt(fine))
	floor := new(big.Int).Div(sum.Num(), sum.Denom())
	return new(big.Rat).SetFrac(floor, fine), new(big.Rat).SetFrac(floor.Add(floor, big.NewInt(2)), fine)
}

// oracleLaw is the law of the answers to a value: that of the two nodes next to it, mixed.
func oracleLaw(s *Spec, x *big.Rat) []*big.Rat {
	law := make([]*big.Rat, len(s.Rows[0]))
	for j := range law {
		law[j] = new(big.Rat)
	}
	add := func(i int, share *big.Rat) {
		for j, w := range s.Rows[i] {
			p := new(big.Rat).SetFrac(new(big.Int).SetUint64(w), new(big.Int).Lsh(big.NewInt(1), 64))
			law[j].Add(law[j], p.Mul(p, share))
		}
	}
	for i := range s.Nodes {
		node := new(big.Rat).SetFloat64(s.Nodes[i])
		if node.Cmp(x) == 0 {
			add(i, big.NewRat(1, 1))
			return law
		}
		if node.Cmp(x) > 0 {
			low := new(big.Rat).SetFloat64(s.Nodes[i-1])
			theta := new(big.Rat).Sub(x, low)
			theta.Quo(theta, node.Sub(node, low))
			add(i, theta)
			add(i-1, new(big.Rat).Sub(big.NewRat(1, 1), theta))
			return law
		}
	}
	panic("outside")
}

// oracleDelta is the largest P(S) − ratio·Q(S) over all sets of answers.
func oracleDelta(p, q []*big.Rat, ratio *big.Rat) *big.Rat {
	most := new(big.Rat)
	for set := range 1 << len(p) {
		sum := new(big.Rat)
		for j := range p {
			if set>>j&1 == 1 {
				d := new(big.Rat).Mul(q[j], ratio)
				sum.Add(sum, d.Sub(p[j], d))
			}
		}
		if sum.Cmp(most) > 0 {
			most = sum
		}
	}
	return most
}

// oracleCost is the loss of an error, l1 or l2.
func oracleCost(l loss.Loss, t *big.Rat) *big.Rat {
	if l.Name() == "l1" {
		return new(big.Rat).Abs(t)
	}
	return new(big.Rat).Mul(t, t)
}

func oracleLoss(s *Spec, x *big.Rat) *big.Rat {
	sum := new(big.Rat)
	for j, p := range oracleLaw(s, x) {
		c := oracleCost(s.Loss, new(big.Rat).Sub(new(big.Rat).SetFloat64(s.Answers[j]), x))
		sum.Add(sum, c.Mul(c, p))
	}
	return sum
}

// oracleMean is the mean loss by Simpson's rule between all nodes, answers and starts of
// pieces, where the loss is a cubic: it is exact.
func oracleMean(s *Spec) *big.Rat {
	var breaks []float64
	for _, x := range append(append([]float64{}, s.Nodes...), s.Answers...) {
		if x >= s.Values.Lower && x <= s.Values.Upper {
			breaks = append(breaks, x)
		}
	}
	weight := s.Values.Weight
	if len(weight) == 0 {
		weight = []proof.Piece{{From: s.Values.Lower, Weight: 1}}
	}
	for _, p := range weight {
		breaks = append(breaks, p.From)
	}
	breaks = sortedUnique(breaks)
	sum, mass := new(big.Rat), new(big.Rat)
	for i := range len(breaks) - 1 {
		a, b := new(big.Rat).SetFloat64(breaks[i]), new(big.Rat).SetFloat64(breaks[i+1])
		width := new(big.Rat).Sub(b, a)
		for _, p := range weight {
			if p.From <= breaks[i] {
				width.Sub(b, a)
				width.Mul(width, new(big.Rat).SetFloat64(p.Weight))
			}
		}
		mass.Add(mass, width)
		middle := new(big.Rat).Add(a, b)
		middle.Mul(middle, big.NewRat(1, 2))
		f := new(big.Rat).Mul(oracleLoss(s, middle), big.NewRat(4, 1))
		f.Add(f, oracleLoss(s, a)).Add(f, oracleLoss(s, b))
		sum.Add(sum, f.Mul(f, width.Mul(width, big.NewRat(1, 6))))
	}
	return sum.Quo(sum, mass)
}

func sortedUnique(x []float64) []float64 {
	seen := make(map[float64]bool)
	var out []float64
	for len(out) < len(x) {
		least := math.Inf(1)
		for _, v := range x {
			if !seen[v] && v < least {
				least = v
			}
		}
		if math.IsInf(least, 1) {
			break
		}
		seen[least] = true
		out = append(out, least)
	}
	return out
}

// randomSpec has nodes, answers, weights and rows without any structure; the laws of
// all nodes are a mixture with a common one, so that delta is not 1.
func randomSpec(rng *rand.Rand) Spec {
	n, m := 2+rng.IntN(4), 2+rng.IntN(5)
	s := Spec{Epsilon: 0.2 + 2*rng.Float64(), Delta: 0.5 * float64(rng.IntN(2)), Objective: Worst, Loss: loss.L2}
	if rng.IntN(2) == 0 {
		s.Loss = loss.L1
	}
	if rng.IntN(2) == 0 {
		s.Objective = Mean
	}
	x := 3*rng.Float64() - 2
	for range n {
		s.Nodes = append(s.Nodes, x)
		x += 0.1 + rng.Float64()
	}
	s.Values = Values{Kind: Real, Lower: s.Nodes[0], Upper: s.Nodes[n-1]}
	if rng.IntN(2) == 0 {
		x := s.Values.Lower
		for x < s.Values.Upper {
			s.Values.Weight = append(s.Values.Weight, proof.Piece{From: x, Weight: float64(1 + rng.IntN(5))})
			x += 0.1 + rng.Float64()
		}
	}
	y := s.Values.Lower - rng.Float64()
	for range m {
		s.Answers = append(s.Answers, y)
		y += 0.1 + rng.Float64()
	}
	common := make([]float64, m)
	for j := range common {
		common[j] = rng.Float64()
	}
	for range n {
		row, shares := make([]uint64, m), make([]float64, m)
		total := 0.0
		for j := range shares {
			// Within e^ε of each other when they sum to 1, but for delta > 0.
			shares[j] = common[j] * math.Exp(s.Epsilon/2*rng.Float64()*(1+4*s.Delta))
			total += shares[j]
		}
		var rest uint64
		for j := range row {
			row[j] = uint64(0x1p64 * 0.999999999 * shares[j] / total)
			rest += row[j]
		}
		row[0] += -rest
		s.Rows = append(s.Rows, row)
	}
	if s.Delta == 0 {
		s.Epsilon += 1e-3 // for the rounding of the shares
	}
	return s
}

// between returns a random value of the randomizer, mostly one between nodes.
func between(rng *rand.Rand, s *Spec) *big.Rat {
	if rng.IntN(4) == 0 {
		return new(big.Rat).SetFloat64(s.Nodes[rng.IntN(len(s.Nodes))])
	}
	i := rng.IntN(len(s.Nodes) - 1)
	a, b := new(big.Rat).SetFloat64(s.Nodes[i]), new(big.Rat).SetFloat64(s.Nodes[i+1])
	t := big.NewRat(rng.Int64N(1000), 1000)
	return a.Add(a, t.Mul(t, b.Sub(b, a)))
}

// TestCertificateAgainstOracle: the certified delta is the largest over all pairs of nodes
// and all sets of answers, no two values between nodes have a larger one, the mean loss is
// the integral, the worst is above that of every value and hardly above the largest, and
// the bias is that of a node.
func TestCertificateAgainstOracle(t *testing.T) {
	trials := 40
	if testing.Short() {
		trials = 4
	}
	rng := rand.New(rand.NewPCG(61, 62))
	pure := 0
	for range trials {
		s := randomSpec(rng)
		c := newRandomizer(t, s).Certify()
		low, high := oracleExp(s.Epsilon)
		most, certain := new(big.Rat), new(big.Rat)
		for i := range s.Nodes {
			for k := range s.Nodes {
				p, q := oracleLaw(&s, exact.Rational(s.Nodes[i])), oracleLaw(&s, exact.Rational(s.Nodes[k]))
				if i == k {
					continue
				}
				if d := oracleDelta(p, q, low); d.Cmp(most) > 0 {
					most = d
				}
				if d := oracleDelta(p, q, high); d.Cmp(certain) > 0 {
					certain = d
				}
			}
		}
		if c.DeltaUpper.Cmp(certain) < 0 || float(new(big.Rat).Sub(c.DeltaUpper, most)) > 1e-25 {
			t.Errorf("delta %g, want between %g and %g", float(c.DeltaUpper), float(certain), float(most))
		}
		if s.Delta == 0 {
			pure++
			if c.DeltaUpper.Sign() != 0 {
				t.Errorf("delta %g for laws within the ratio, want 0 exactly", float(c.DeltaUpper))
			}
		}
		found := new(big.Rat)
		for range 40 {
			x, y := between(rng, &s), between(rng, &s)
			if d := oracleDelta(oracleLaw(&s, x), oracleLaw(&s, y), high); d.Cmp(c.DeltaUpper) > 0 {
				t.Fatalf("delta %g between %v and %v, certified %g", float(d), x, y, float(c.DeltaUpper))
			}
			if l := oracleLoss(&s, x); l.Cmp(found) > 0 {
				found = l
			}
		}
		for i := range len(s.Nodes) - 1 {
			for k := range int64(32) {
				x := new(big.Rat).Sub(exact.Rational(s.Nodes[i+1]), exact.Rational(s.Nodes[i]))
				x.Mul(x, big.NewRat(k, 31)).Add(x, exact.Rational(s.Nodes[i]))
				if l := oracleLoss(&s, x); l.Cmp(found) > 0 {
					found = l
				}
			}
		}
		if c.WorstLoss.Cmp(found) < 0 || float(c.WorstLoss) > 1.003*float(found) {
			t.Errorf("worst loss %g, found %g", float(c.WorstLoss), float(found))
		}
		if want := oracleMean(&s); c.MeanLoss.Cmp(want) < 0 || float(new(big.Rat).Sub(c.MeanLoss, want)) > 1e-25*float(want) {
			t.Errorf("mean loss %g, want %g", float(c.MeanLoss), float(want))
		}
		bias := new(big.Rat)
		for _, node := range s.Nodes {
			x := exact.Rational(node)
			mean := new(big.Rat).Neg(x)
			for j, p := range oracleLaw(&s, x) {
				mean.Add(mean, p.Mul(p, exact.Rational(s.Answers[j])))
			}
			if mean.Abs(mean).Cmp(bias) > 0 {
				bias = mean
			}
		}
		if c.Bias.Cmp(bias) != 0 {
			t.Errorf("bias %g, want %g", float(c.Bias), float(bias))
		}
	}
	if pure == 0 || pure == trials {
		t.Errorf("%d of %d have delta = 0, want some", pure, trials)
	}
}
