// SPDX-License-Identifier: Apache-2.0

package subset

import (
	"cmp"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/proof"
)

// words returns independent uniform words.
func words(seed uint64) func() (uint64, error) {
	r := rand.NewPCG(seed, 7)
	return func() (uint64, error) { return r.Uint64(), nil }
}

// draws is how many a test makes: 200,000, or SUBSET_DRAWS of the environment, such as 1e7.
func draws(t *testing.T) int {
	t.Helper()
	if text := os.Getenv("SUBSET_DRAWS"); text != "" {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		return int(n)
	}
	if testing.Short() {
		return 40_000
	}
	return 200_000
}

// TestDraws: of each encoding, answers to a category come as often as its law says, by a chi-square
// test with a false-alarm rate of 1e-9; seeds do not change. Of 200,000 draws it sees a probability
// that is off by a tenth of it.
func TestDraws(t *testing.T) {
	for i, s := range []Spec{
		{Count: 2, Size: 1},
		{Count: 8, Size: 1},
		{Count: 6, Size: 2},
		{Count: 7, Size: 3},
		{Count: 5, Size: 4},
		{Count: 9, Size: 1, Modulus: 11},
		{Count: 6, Size: 3, Modulus: 7},
		{Count: 11, Size: 10, Modulus: 11},
		{Count: 13, Size: 5, Modulus: 13},
	} {
		s.Epsilon, s.Objective = 1.5, Total
		s.Inside = inside(ratio(s.Epsilon), s.points(), s.Size)
		m, all := made(t, s), answers(&s)
		rows, whole := laws(&s)
		for _, x := range []int64{0, s.Count / 2, s.Count - 1} {
			word, n := words(uint64(100*i)+uint64(x)), draws(t)
			got := map[proof.Code]int{}
			for range n {
				a, b, err := m.code(uint64(x), 0, word)
				if err != nil {
					t.Fatal(err)
				}
				got[proof.Code{A: int64(a), B: int64(b)}]++
			}
			chi, seen := 0.0, 0
			for j, y := range all {
				code := y.code
				if s.Size == 1 && s.Modulus == 0 {
					for x := range y.set {
						code.B = x
					}
				}
				p, _ := new(big.Rat).SetFrac(rows[x][j], whole).Float64()
				want := p * float64(n)
				chi += (float64(got[code]) - want) * (float64(got[code]) - want) / want
				seen += got[code]
			}
			limit := distuv.ChiSquared{K: float64(len(all) - 1)}.Quantile(1 - 1e-9)
			if seen != n || chi > limit {
				t.Errorf("%+v, category %d: %d of %d draws are answers, chi-square %g of at most %g", s, x, seen, n, chi, limit)
			}
		}
	}
}

// TestDrawsOfMany: of more answers than can be counted, each set has its category as often as it should,
// and another one too, with a false-alarm rate of 1e-9 each; and is a set of the size.
func TestDrawsOfMany(t *testing.T) {
	n := draws(t) / 10
	for i, v := range []*Verified{
		design(t, 60, 0.5, Total), design(t, 200, 3, Total), design(t, 200, 1, Total), design(t, 1000, 6, Total),
		design(t, 100_000, 5, Total), design(t, limits.SubsetCategories, 8, Largest),
	} {
		s := v.Mechanism()
		p, q, _, _ := s.floats()
		x, other := s.Categories()/3, s.Categories()-1
		word := words(uint64(i))
		var own, others int
		for range n {
			y, err := s.Draw(proof.Category(s.Label(x)), word)
			if err != nil || !s.Answers().Contains(y) {
				t.Fatalf("%v, %v", y, err)
			}
			if s.has(y, x) {
				own++
			}
			if s.has(y, other) {
				others++
			}
		}
		near := func(got int, p float64) bool {
			return math.Abs(float64(got)-p*float64(n)) <= 6.2*math.Sqrt(p*(1-p)*float64(n))+5
		}
		if !near(own, p) || !near(others, q) {
			t.Errorf("%d categories: %d and %d of %d sets have the category and another, want shares of %g and %g", s.Categories(), own, others, n, p, q)
		}
	}
}

// TestEndsOfForms: draws at the least modulus, with the most categories of which sets have ranks, and with one more.
func TestEndsOfForms(t *testing.T) {
	for _, p := range []Spec{{Count: 2, Modulus: 2, Size: 1}, {Count: maxRanked, Size: 2}, {Count: maxRanked + 1, Size: 1}} {
		p.Epsilon, p.Inside, p.Objective = 1, math.MaxUint64, Total // whose word is the only one that draws another set
		s := made(t, p)
		for v := range uint64(20) {
			word, first := words(v), true
			x := s.Categories() - 1
			y, err := s.Draw(proof.Category(s.Label(x)), func() (uint64, error) {
				if first {
					first = false
					return v, nil
				}
				return word()
			})
			if err != nil || !s.Answers().Contains(y) || !s.has(y, x) {
				t.Fatalf("%+v: %v, %v", p, y, err)
			}
		}
	}
}

// TestSides: the first word decides whether the set has the category, and it has it or not, whatever the
// words, at the ends of all ranges too.
func TestSides(t *testing.T) {
	for i, v := range []*Verified{
		design(t, 2, 1, Total), design(t, 64, 1, Total), design(t, 65, 1, Total), design(t, 128, 4, Total), design(t, 200, 1, Total),
		design(t, limits.SubsetCategories, 0.01, Total), design(t, limits.SubsetCategories-1, 8, Largest), design(t, limits.SubsetCategories, 20, Total),
	} {
		s, r := v.Mechanism(), rand.New(rand.NewPCG(uint64(i), 9))
		for n := range 4000 {
			x := []int64{0, 1, s.Categories() - 1, r.Int64N(s.Categories())}[n%4]
			first, drawn := uint64(0), 0
			y, err := s.Draw(proof.Category(s.Label(x)), func() (uint64, error) {
				w := r.Uint64()
				switch r.IntN(8) {
				case 0:
					w |= math.MaxUint64 - 1<<20
				case 1:
					w >>= 28
				}
				if drawn++; drawn == 1 {
					first = []uint64{w, s.spec.Inside - 1, s.spec.Inside}[n%3]
					w = first
				}
				return w, nil
			})
			if err != nil || !s.Answers().Contains(y) {
				t.Fatalf("%v, %v", y, err)
			}
			if in := first < s.spec.Inside; s.has(y, x) != in {
				t.Fatalf("%d categories: the set %v has %d: %v, want %v", s.Categories(), y, x, !in, in)
			}
		}
	}
}

// has says whether the set of an answer has a category, from the definition.
func (s *Selection) has(y proof.Value, x int64) bool {
	if label, ok := y.(proof.Category); ok {
		return string(label) == s.Label(x)
	}
	c := y.(proof.Code)
	if c.A == 0 {
		found, size, last := false, int64(0), -1
		s.draw.members([]uint64{uint64(c.B)}, func(j int) {
			found = found || int64(j) == x
			size++
			if last >= 0 && j >= last || j >= int(s.points) {
				panic("members do not descend")
			}
			last = j
		})
		if size != s.spec.Size {
			panic("a set of another size")
		}
		return found
	}
	a, m := big.NewInt(c.A), big.NewInt(s.points)
	t := new(big.Int).ModInverse(a, m)
	t.Mul(t, big.NewInt(x-c.B)).Mod(t, m)
	return t.Int64() < s.spec.Size
}

// TestRanks: ranks and sets belong together, the first and last included.
func TestRanks(t *testing.T) {
	for _, c := range [][2]int64{{2, 1}, {3, 2}, {60, 22}, {66, 33}, {64, 63}, {200, 12}, {4096, 5}} {
		p := &drawing{below: binomials(int(c[0]), int(c[1]))}
		sets := p.below[c[1]-1][c[0]]
		if want := new(big.Int).Binomial(c[0], c[1]); want.Uint64() != sets || !want.IsInt64() {
			t.Fatalf("%d of %d: %d sets, want %d", c[1], c[0], sets, want)
		}
		r := rand.New(rand.NewPCG(1, 1))
		for i := range 300 {
			rank := r.Uint64N(sets)
			if i < 2 {
				rank = uint64(i) * (sets - 1)
			}
			sum, i, last := uint64(0), len(p.below)-1, int(c[0])
			p.members([]uint64{rank}, func(j int) {
				if j >= last {
					t.Fatalf("rank %d of %v: %d after %d", rank, c, j, last)
				}
				sum += new(big.Int).Binomial(int64(j), int64(i+1)).Uint64()
				i, last = i-1, j
			})
			if i != -1 || sum != rank {
				t.Fatalf("rank %d of %v comes back as %d", rank, c, sum)
			}
		}
	}
}

// TestUniform: each number is yielded by ⌊2^64/n⌋ words in a row.
func TestUniform(t *testing.T) {
	whole := new(big.Int).Lsh(big.NewInt(1), 64)
	for _, n := range []int64{1, 2, 3, 210, 211, 1 << 31, 1<<31 - 1, limits.SubsetCategories + 11} {
		u := newUniform(uint64(n))
		yields := func(w *big.Int, x int64) bool {
			if !w.IsUint64() {
				return false
			}
			list := []uint64{w.Uint64(), math.MaxUint64}
			got, err := u.draw(func() (uint64, error) { x := list[0]; list = list[1:]; return x, nil })
			return err == nil && len(list) == 1 && got == uint64(x)
		}
		each := new(big.Int).Div(whole, big.NewInt(n))
		for _, x := range []int64{0, n / 2, n - 1} {
			// Those with x·2^64 + 2^64 mod n <= w·n < (x+1)·2^64.
			first := new(big.Int).Mul(big.NewInt(x), whole)
			first.Add(first, new(big.Int).Mod(whole, big.NewInt(n))).Add(first, big.NewInt(n-1)).Div(first, big.NewInt(n))
			end := new(big.Int).Add(first, each)
			before, last := new(big.Int).Sub(first, big.NewInt(1)), new(big.Int).Sub(end, big.NewInt(1))
			if !yields(first, x) || !yields(last, x) || yields(before, x) || yields(end, x) {
				t.Errorf("%d is not yielded by the %v words from %v on, of %d numbers", x, each, first, n)
			}
		}
	}
}

// TestEntropy: when words fail, there is no answer.
func TestEntropy(t *testing.T) {
	failed := errors.New("failed")
	for _, v := range []*Verified{design(t, 5, 1, Total), design(t, 50, 1, Total), design(t, 200, 1, Total)} {
		for ok := range 4 {
			left := ok
			y, err := v.Mechanism().Draw(proof.Category("1"), func() (uint64, error) {
				if left--; left < 0 {
					return 0, failed
				}
				return 5, nil
			})
			if y != nil && left < 0 || err != nil && !errors.Is(err, failed) || y == nil && err == nil {
				t.Errorf("after %d words: %v, %v", ok, y, err)
			}
		}
	}
}

// TestCounts: counts are those of the definition, of answers that come alone and of many with one a.
func TestCounts(t *testing.T) {
	for i, v := range []*Verified{
		design(t, 3, 1, Total), design(t, 70, 7, Total), design(t, 50, 1, Total), design(t, 200, 1, Total), design(t, 80, 0.5, Largest), design(t, 3000, 3, Total),
	} {
		s := v.Mechanism()
		for _, n := range []int{0, 1, 40, 4000} {
			word, want := words(uint64(i*n)), make([]int64, s.Categories())
			tally := s.Tally()
			for person := range n {
				y, err := s.Draw(proof.Category(s.Label(int64(person*person)%s.Categories())), word)
				if c, ok := y.(proof.Code); ok && c.A > 3 && person%2 == 0 {
					y = proof.Code{A: s.points - 1, B: c.B} // many with one a
				}
				if err := cmp.Or(err, tally.Add(y)); err != nil {
					t.Fatal(err)
				}
				for j := range want {
					if n <= 40 || j%37 == 0 {
						if s.has(y, int64(j)) {
							want[j]++
						}
					}
				}
			}
			got := tally.Counts()
			if n > 40 {
				for j := range got {
					if j%37 != 0 {
						got[j] = 0
					}
				}
			}
			if !slices.Equal(got, want) || tally.Answers() != int64(n) {
				t.Errorf("%d categories, %d answers: %v, want %v", s.Categories(), n, got, want)
			}
		}
	}
}

// TestLabels: a selection of labels takes these and answers by these.
func TestLabels(t *testing.T) {
	v, err := Design(Spec{Epsilon: 4, Labels: []string{"no", "yes", "perhaps"}})
	if err != nil {
		t.Fatal(err)
	}
	s, word := v.Mechanism(), words(1)
	tally := s.Tally()
	for range 1000 {
		y, err := s.Draw(proof.Category("perhaps"), word)
		if err := cmp.Or(err, tally.Add(y)); err != nil || !s.Answers().Contains(y) {
			t.Fatal(y, err)
		}
	}
	if shares := s.Shares(tally.Counts(), tally.Answers()); math.Abs(shares[2]-1) > 0.1 || math.Abs(shares[0]) > 0.1 {
		t.Errorf("shares %v, want about 0, 0 and 1", shares)
	}
	if _, err := s.Draw(proof.Category("2"), word); !errors.Is(err, check.ErrInvalid) {
		t.Errorf("a number is answered: %v", err)
	}
	if err := tally.Add(proof.Category("2")); !errors.Is(err, check.ErrInvalid) {
		t.Errorf("a number is an answer: %v", err)
	}
}

// TestSimplex: it is the projection: what is positive was moved by one number, what is 0 was not above it.
func TestSimplex(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		estimates := make([]float64, 1+r.IntN(20))
		for j := range estimates {
			estimates[j] = r.NormFloat64() * math.Exp(3*r.NormFloat64())
		}
		shares, sum, off := Simplex(estimates), 0.0, math.NaN()
		for j, x := range shares {
			sum += x
			if x > 0 {
				off = estimates[j] - x
			}
		}
		size := 1e-12 * (1 + math.Abs(slices.MaxFunc(estimates, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })))
		for j, x := range shares {
			if x < 0 || x > 0 && math.Abs(estimates[j]-x-off) > size || x == 0 && estimates[j] > off+size {
				t.Errorf("%v becomes %v", estimates, shares)
			}
		}
		if math.Abs(sum-1) > size {
			t.Errorf("%v becomes %v, with the sum %g", estimates, shares, sum)
		}
	}
}

func BenchmarkDraw(b *testing.B) {
	for name, v := range map[string]*Verified{"200,1": design(b, 200, 1, Total), "200,3": design(b, 200, 3, Total), "50,1": design(b, 50, 1, Total), "60,0.5": design(b, 60, 0.5, Total), "50,5": design(b, 50, 5, Total)} {
		b.Run(name, func(b *testing.B) {
			s, word := v.Mechanism(), words(1)
			for i := range b.N {
				if _, _, err := s.code(uint64(i)%50, 0, word); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCounts(b *testing.B) {
	for name, v := range map[string]*Verified{"200,1": design(b, 200, 1, Total), "200,3": design(b, 200, 3, Total)} {
		s, word := v.Mechanism(), words(1)
		list := make([]proof.Value, 20_000)
		for i := range list {
			list[i], _ = s.Draw(proof.Category(s.Label(int64(i*i)%200)), word)
		}
		b.Run(name, func(b *testing.B) {
			for range b.N {
				t := s.Tally()
				for _, y := range list {
					if err := t.Add(y); err != nil {
						b.Fatal(err)
					}
				}
				t.Counts()
			}
		})
	}
}
