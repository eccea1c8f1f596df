// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"testing"

	"github.com/noisewright/noisewright/dp"
)

// script of choices that an enumeration makes: each is one of so many, with its probability.
type branch struct {
	taken int
	of    []*big.Rat
}

// enumerate calls f with every path of choices, and returns the probabilities of its results.
func enumerate(f func(choose func(of []*big.Rat) int) int) map[int]*big.Rat {
	out := map[int]*big.Rat{}
	var path []branch
	for {
		at, p := 0, big.NewRat(1, 1)
		result := f(func(of []*big.Rat) int {
			if at == len(path) {
				path = append(path, branch{0, of})
			}
			b := path[at]
			at++
			p.Mul(p, b.of[b.taken])
			return b.taken
		})
		if out[result] == nil {
			out[result] = new(big.Rat)
		}
		out[result].Add(out[result], p)
		for len(path) > 0 && path[len(path)-1].taken == len(path[len(path)-1].of)-1 {
			path = path[:len(path)-1]
		}
		if len(path) == 0 {
			return out
		}
		path[len(path)-1].taken++
	}
}

// TestPermuteAndFlipLaw enumerates all orders of five candidates and all results of their coins, with rational
// probabilities of heads in the place of e^-x: the law of the code is exactly the closed form
// p_i·Σ_S (-1)^|S|·Π_S p_j/(|S|+1), over the sets S of other candidates.
func TestPermuteAndFlipLaw(t *testing.T) {
	for _, coins := range [][]*big.Rat{
		{big.NewRat(1, 1), big.NewRat(1, 2), big.NewRat(1, 3), big.NewRat(3, 7), big.NewRat(1, 11)},
		{big.NewRat(2, 5), big.NewRat(1, 1), big.NewRat(1, 1), big.NewRat(5, 6), big.NewRat(1, 1000)},
		{big.NewRat(1, 1), big.NewRat(1, 1), big.NewRat(1, 1), big.NewRat(1, 1), big.NewRat(1, 1)},
	} {
		got := enumerate(func(choose func([]*big.Rat) int) int {
			return permuteAndFlip(len(coins), func(n uint64) uint64 {
				of := make([]*big.Rat, n)
				for i := range of {
					of[i] = big.NewRat(1, int64(n)) //nolint:gosec // five
				}
				return uint64(choose(of)) //nolint:gosec // not negative
			}, func(i int) bool {
				return choose([]*big.Rat{coins[i], new(big.Rat).Sub(big.NewRat(1, 1), coins[i])}) == 0
			})
		})
		for i := range coins {
			want := new(big.Rat)
			for set := range uint(1 << len(coins)) {
				if set>>i&1 == 1 {
					continue
				}
				n := bits.OnesCount(set)
				term := big.NewRat(1, int64(n+1))
				if n%2 == 1 {
					term.Neg(term)
				}
				for j, c := range coins {
					if set>>j&1 == 1 {
						term.Mul(term, c)
					}
				}
				want.Add(want, term.Mul(term, coins[i]))
			}
			if got[i] == nil || got[i].Cmp(want) != 0 {
				t.Errorf("coins %v: candidate %d has the probability %v, want %v", coins, i, got[i], want)
			}
		}
	}
}

func most(t testing.TB, m Most) *MostSelector {
	t.Helper()
	s, err := NewMost(m)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// lawOf returns the probabilities of all lists of choices.
func (s *MostSelector) lawOf(counts []int64) map[string]float64 {
	law := map[string]float64{}
	var choose func(left, chosen []int, p float64)
	choose = func(left, chosen []int, p float64) {
		if len(chosen) == s.choices {
			law[fmt.Sprint(chosen)] += p
			return
		}
		for at, q := range (&Selector{coins: s.coins}).law(below(counts, left)) {
			choose(slices.Delete(slices.Clone(left), at, at+1), append(chosen[:len(chosen):len(chosen)], left[at]), p*q)
		}
	}
	all := make([]int, len(counts))
	for i := range all {
		all[i] = i
	}
	choose(all, nil, 1)
	return law
}

// TestMostLaw compares draws with the exact law of lists of choices: 100,000 tell probabilities of 1/4 apart that
// differ by 0.01.
func TestMostLaw(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	const draws = 100_000
	for i, test := range []struct {
		m      Most
		counts []int64
	}{
		{Most{5, 1, 0.7, 1}, []int64{3, 1, 0, 2, 3}},
		{Most{4, 2, 1.25, 2}, []int64{0, 4, 5, 1}},
		{Most{3, 3, 0.5, 1}, []int64{9, 7, 2}},
		{Most{3, 1, 1, 1}, []int64{1 << 40, 1 << 41, 1<<35 - 1}}, // clipped
	} {
		s := most(t, test.m)
		law := s.lawOf(test.counts)
		var names []string
		var want []float64
		for name, p := range law {
			names, want = append(names, name), append(want, p)
		}
		got := make([]int, len(names))
		entropy := fixed(byte(100 + i))
		for range draws {
			chosen, err := s.Select(test.counts, entropy)
			if err != nil {
				t.Fatal(err)
			}
			got[slices.Index(names, fmt.Sprint(chosen))]++
		}
		chiSquare(t, got, want, draws)
	}
}

// TestMostPrivacy enumerates neighbors of small counts: no list of choices is more than e^(choices·epsilon) times as
// likely on one as on the other, and one choice comes near that.
func TestMostPrivacy(t *testing.T) {
	const candidates, largest, epsilon = 4, 2, 1.0
	for _, test := range []struct{ choices, spread int }{{1, 1}, {1, 2}, {2, 1}, {2, 2}} {
		s := most(t, Most{candidates, test.choices, epsilon, test.spread})
		laws := map[[candidates]int64]map[string]float64{}
		var counts [candidates]int64
		var fill func(i int)
		fill = func(i int) {
			if i == candidates {
				laws[counts] = s.lawOf(counts[:])
				return
			}
			for counts[i] = 0; counts[i] <= largest; counts[i]++ {
				fill(i + 1)
			}
			counts[i] = 0
		}
		fill(0)
		worst := 0.0
		for a, p := range laws {
			for b, q := range laws {
				low, high := int64(0), int64(0)
				for i := range a {
					low, high = min(low, b[i]-a[i]), max(high, b[i]-a[i])
				}
				if test.spread == 1 && (low < 0 || high > 1) || test.spread == 2 && (low < -1 || high > 1) {
					continue
				}
				for name := range p {
					worst = max(worst, math.Abs(math.Log(p[name]/q[name])))
				}
			}
		}
		limit := epsilon * float64(test.choices)
		if worst > limit+1e-9 {
			t.Errorf("%+v: a loss of %g, want at most %g", test, worst, limit)
		}
		if test.choices == 1 && worst < 0.7*limit {
			t.Errorf("%+v: a loss of %g, want near %g", test, worst, limit)
		}
	}
}

// TestCountErrorUpper: of the worst counts, all others so far below, the bound holds in the exact law, and the largest
// t for which it would not is not far below.
func TestCountErrorUpper(t *testing.T) {
	const candidates, level = 5, 0.95
	for _, choices := range []int{1, 3} {
		s := most(t, Most{candidates, choices, 0.5, 1})
		bound, err := s.CountErrorUpper(level)
		if err != nil {
			t.Fatal(err)
		}
		missed := func(d int64) (p float64) {
			counts := make([]int64, candidates) // so many are d above the rest
			for i := range choices {
				counts[i] = d
			}
			for name, q := range s.lawOf(counts) {
				for i := choices; i < candidates; i++ {
					if slices.Contains([]byte(name), byte('0'+i)) {
						p += q
						break
					}
				}
			}
			return p
		}
		if p := missed(bound.Int64()); p > 1-level {
			t.Errorf("%d choices: an error of %v with a probability of %g", choices, bound, p)
		}
		if p := missed(bound.Int64() * 2 / 3); p <= 1-level {
			t.Errorf("%d choices: a bound of %v, where two thirds would do", choices, bound)
		}
	}
	if b, err := most(t, Most{1, 1, 1, 1}).CountErrorUpper(level); err != nil || b.Sign() != 0 {
		t.Errorf("one candidate: %v, %v", b, err)
	}
}

func TestBadMost(t *testing.T) {
	good := Most{3, 2, 1, 1}
	for name, change := range map[string]func(*Most){
		"candidates": func(m *Most) { m.Candidates, m.Choices = 0, 1 },
		"choices":    func(m *Most) { m.Choices = 4 },
		"none":       func(m *Most) { m.Choices = 0 },
		"epsilon":    func(m *Most) { m.Epsilon = math.NaN() },
		"large":      func(m *Most) { m.Epsilon = 101 },
		"spread":     func(m *Most) { m.Spread = 0 },
	} {
		m := good
		change(&m)
		if _, err := NewMost(m); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := most(t, good)
	if _, err := s.Select([]int64{1, 2}, fixed(1)); !errors.Is(err, dp.ErrInvalid) {
		t.Error(err)
	}
	for _, entropy := range []*failing{nil, {}} {
		var err error
		if entropy == nil {
			_, err = s.Select([]int64{1, 2, 3}, nil)
		} else {
			_, err = s.Select([]int64{1, 2, 3}, entropy)
		}
		if err == nil {
			t.Error("an answer without entropy")
		}
	}
}

type failing struct{}

func (*failing) Read([]byte) (int, error) { return 0, errors.New("none") }
