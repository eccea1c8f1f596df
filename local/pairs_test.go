// SPDX-License-Identifier: Apache-2.0

package local

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/internal/exact"
)

// TestPriceOfNodes: between answers of the dual a price is interpolated and rounded down, and beyond them it is
// that of the nearest; without answers it is 0.
func TestPriceOfNodes(t *testing.T) {
	r := rand.New(rand.NewPCG(81, 82))
	for count := range 5 {
		n := &nodeSearch{}
		at := int64(-9)
		for range count {
			at += 1 + r.Int64N(5)
			n.answers, n.prices = append(n.answers, big.NewInt(at)), append(n.prices, big.NewInt(r.Int64N(200)-100))
		}
		for y := int64(-12); y < at+5; y++ {
			want := new(big.Int)
			for k := range n.answers {
				a := n.answers[k].Int64()
				switch {
				case k == 0 && y <= a || k == count-1 && y >= a:
					want.Set(n.prices[k])
				case k > 0 && n.answers[k-1].Int64() <= y && y <= a:
					b := n.answers[k-1].Int64()
					x := big.NewRat(y-b, a-b)
					x.Mul(x, new(big.Rat).SetInt(new(big.Int).Sub(n.prices[k], n.prices[k-1]))).Add(x, new(big.Rat).SetInt(n.prices[k-1]))
					want.Sub(exact.Ceil(x), big.NewInt(map[bool]int64{true: 0, false: 1}[x.IsInt()]))
				}
			}
			if got := n.price(big.NewInt(y)); got.Cmp(want) != 0 {
				t.Errorf("%v at %v: the price of %d is %s, want %s", n.prices, n.answers, y, got, want)
			}
		}
	}
}

// TestPricesOfPairs: the prices of nodes are at most the sums of multipliers, and hardly below; and what delta costs is
// rounded up, to the next whole number.
func TestPricesOfPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(83, 84))
	for trial := range 20 {
		s := boundSpec(rng, Category, Worst, 0.1, false, false, 0)
		s.Dual = randomDual(rng, &s)
		for k := range s.Dual.Pairs {
			for i := range s.Dual.Pairs[k].Multipliers {
				if trial%2 == 0 { // so small that they end below the places there are
					s.Dual.Pairs[k].Multipliers[i] *= 0x1p-90
				}
			}
		}
		p := newPricing(&s, nil)
		prices, cost := p.pairPrices()
		unit := exact.PowerOfTwo(p.bits)
		sums := make([][]*big.Rat, len(prices))
		for i := range sums {
			for range prices[i] {
				sums[i] = append(sums[i], new(big.Rat))
			}
		}
		most, all := new(big.Rat), new(big.Rat)
		ratio := new(big.Rat).SetFrac(exact.ExpUp(s.Epsilon, 300), new(big.Int).Lsh(big.NewInt(1), 300))
		for _, pair := range s.Dual.Pairs {
			top := new(big.Int)
			for n, y := range pair.Multipliers {
				x := exact.Rational(y)
				x.Mul(x, unit)
				z := new(big.Int).Quo(x.Num(), x.Denom()) // y >= 0: rounded down
				if z.Cmp(top) > 0 {
					top = z
				}
				whole := new(big.Rat).SetInt(z)
				all.Add(all, whole)
				j := pair.First + n
				sums[pair.Gain][j].Add(sums[pair.Gain][j], whole)
				sums[pair.Lose][j].Sub(sums[pair.Lose][j], whole.Mul(whole, ratio))
			}
			most.Add(most, new(big.Rat).SetInt(top))
		}
		most.Mul(most, exact.Rational(s.Delta))
		if d := new(big.Rat).Sub(new(big.Rat).SetInt(cost), most); d.Sign() < 0 || d.Cmp(big.NewRat(1, 1)) >= 0 {
			t.Errorf("delta costs %s of %s", cost, most.FloatString(9))
		}
		slack := all.Mul(all, exact.PowerOfTwo(3-exact.RatioBits)) // of e^ε, which is rounded up
		slack.Add(slack, big.NewRat(int64(len(s.Dual.Pairs)+1), 1))
		for i := range prices {
			for j, x := range prices[i] {
				d := new(big.Rat).Sub(sums[i][j], new(big.Rat).SetInt(x))
				if d.Cmp(big.NewRat(-1, 1<<40)) < 0 || d.Cmp(slack) > 0 {
					t.Errorf("node %d, answer %d: the price %s, want %s", i, j, x, sums[i][j].FloatString(9))
				}
			}
		}
	}
}
