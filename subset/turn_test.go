// SPDX-License-Identifier: Apache-2.0

package subset

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/proof"
)

// TestTurn: it is drawn from HMAC-SHA-256 of what the comment says, all turns come equally often, by a
// chi-square test with a false-alarm rate of 1e-9, and another seed has others.
func TestTurn(t *testing.T) {
	s := made(t, Spec{Epsilon: 1, Count: 12, Modulus: 13, Size: 4, Inside: 1 << 63, Objective: Total})
	key := sha256.Sum256([]byte("poll"))
	got, picks, same := map[int64]int{}, map[int]int{}, 0
	const n = 30_000
	for i := range n {
		person := strconv.Itoa(i)
		a, err := s.Turn("poll", person)
		if err != nil {
			t.Fatal(err)
		}
		mac := hmac.New(sha256.New, key[:])
		for _, text := range []string{"turn", person, "0"} {
			mac.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(text))))
			mac.Write([]byte(text))
		}
		if x, low := bits.Mul64(binary.LittleEndian.Uint64(mac.Sum(nil)), 12); low >= 4 && int64(x)+1 != a { // 2^64 mod 12 = 4
			t.Fatalf("the turn of %s is %d, want %d", person, a, x+1)
		}
		got[a]++
		picks[Pick("poll", person, 3)*13+int(a)]++ // independent of the turn
		if b, _ := s.Turn("another poll", person); a == b {
			same++
		}
	}
	chi := 0.0
	for a := int64(1); a < 13; a++ {
		chi += (float64(got[a]) - n/12.) * (float64(got[a]) - n/12.) / (n / 12.)
	}
	if limit := (distuv.ChiSquared{K: 11}).Quantile(1 - 1e-9); chi > limit || len(got) != 12 {
		t.Errorf("%v: chi-square %g of at most %g", got, chi, limit)
	}
	chi = 0
	for _, c := range picks {
		chi += (float64(c) - n/36.) * (float64(c) - n/36.) / (n / 36.)
	}
	if limit := (distuv.ChiSquared{K: 35}).Quantile(1 - 1e-9); chi > limit || len(picks) != 36 {
		t.Errorf("%v: chi-square %g of at most %g", picks, chi, limit)
	}
	if want := n / 12.; math.Abs(float64(same)-want) > 6.2*math.Sqrt(want) {
		t.Errorf("%d turns are the same with another seed, want about %g", same, want)
	}
	// What other implementations have to find too.
	s = design(t, 200, 1, Total).Mechanism()
	for person, want := range map[string]int64{"ann": 177, "bob": 59, "Zoë": 124} {
		if a, err := s.Turn("shares-2026", person); a != want {
			t.Errorf("the turn of %s is %d, %v", person, a, err)
		}
	}
	for person, want := range map[string]int{"ann": 2, "bob": 1, "Zoë": 1} {
		if got := Pick("shares-2026", person, 3); got != want {
			t.Errorf("the question of %s is %d", person, got)
		}
	}
	if a, err := design(t, 50, 1, Total).Mechanism().Turn("poll", "ann"); a != 0 || err != nil {
		t.Errorf("ranks have the turn %d, %v", a, err)
	}
	if _, err := s.Turn("", ""); !errors.Is(err, check.ErrInvalid) || err.Error() != "subset: seed = none, want a text that all may know, for this question alone\nsubset: person = none, want a name of each person's own" {
		t.Error(err)
	}
}

// TestAsked: with any turn by itself, answers have the law of its sets, by chi-square tests with a false-alarm
// rate of 1e-9 each, and that law is as private as is promised, and with one unit more of the weight is not.
func TestAsked(t *testing.T) {
	for i, s := range []Spec{{Count: 7, Modulus: 7, Size: 2}, {Count: 6, Modulus: 7, Size: 5}, {Count: 11, Modulus: 13, Size: 4}} {
		if testing.Short() && s.Count > 7 {
			continue
		}
		s.Epsilon, s.Objective = 1.5, Total
		s.Inside = inside(ratio(s.Epsilon), s.points(), s.Size)
		m, n := made(t, s), draws(t)/4
		law := func(inside uint64, turn, x int64) (list []*big.Rat) {
			own := new(big.Rat).SetFrac(new(big.Int).SetUint64(inside), new(big.Int).Lsh(big.NewInt(s.Size), 64))
			other := new(big.Rat).SetFrac(new(big.Int).SetUint64(-inside), new(big.Int).Lsh(big.NewInt(s.Modulus-s.Size), 64))
			for b := range s.Modulus {
				has := false
				for j := range s.Size {
					has = has || (turn*j+b)%s.Modulus == x
				}
				if list = append(list, other); has {
					list[b] = own
				}
			}
			return list
		}
		for turn := int64(1); turn < s.Modulus; turn++ {
			for x := range s.Count {
				for z := range s.Count {
					for more := range uint64(2) {
						private := true
						p, q := law(s.Inside+more, turn, x), law(s.Inside+more, turn, z)
						for b := range p {
							private = private && p[b].Cmp(new(big.Rat).Mul(ratio(s.Epsilon), q[b])) <= 0
						}
						if private != (more == 0) && x != z {
							t.Errorf("%+v, turn %d, %d and %d: private: %v", s, turn, x, z, private)
						}
					}
				}
			}
			x := turn % s.Count
			word, got := words(uint64(1000*i)+uint64(turn)), make([]int, s.Modulus)
			for range n {
				y, err := m.Draw(Asked{proof.Category(m.Label(x)), turn}, word)
				if c, ok := y.(proof.Code); err != nil || !ok || c.A != turn {
					t.Fatal(y, err)
				} else {
					got[c.B]++
				}
			}
			chi := 0.0
			for b, p := range law(s.Inside, turn, x) {
				f, _ := p.Float64()
				chi += (float64(got[b]) - f*float64(n)) * (float64(got[b]) - f*float64(n)) / (f * float64(n))
			}
			if limit := (distuv.ChiSquared{K: float64(s.Modulus - 1)}).Quantile(1 - 1e-9); chi > limit {
				t.Errorf("%+v, turn %d, category %d: chi-square %g of at most %g", s, turn, x, chi, limit)
			}
		}
		for _, bad := range []int64{-1, 0, s.Modulus} {
			if y, err := m.Draw(Asked{"1", bad}, words(1)); y != nil || !errors.Is(err, check.ErrInvalid) {
				t.Errorf("turn %d: %v, %v", bad, y, err)
			}
		}
	}
	if y, err := design(t, 50, 1, Total).Mechanism().Draw(Asked{"1", 1}, words(1)); y != nil || !errors.Is(err, check.ErrInvalid) {
		t.Errorf("ranks have turns: %v, %v", y, err)
	}
}

// TestShortAnswers: for 100,000 categories an answer has at most 34 bits, and 17 with a public turn, the variance is
// within 1e-4 of the bound, and estimates from answers of that length are off by as much as certified: the mean
// square of 100,000 errors, each category being about as uncertain, is within 6 of its deviations, 1/√50,000, or so.
func TestShortAnswers(t *testing.T) {
	const k, people = 100_000, 300
	for _, epsilon := range []float64{1, 5} {
		v := design(t, k, epsilon, Total)
		if gap, ok := v.Bounds().Gap(); !ok || gap > 1e-4 {
			t.Errorf("epsilon %g: gap %g", epsilon, gap)
		}
		s := v.Mechanism()
		tally, word, truth := s.Tally(), words(uint64(epsilon)), make([]float64, k)
		for i := range people {
			a, err := s.Turn("poll", strconv.Itoa(i))
			if err != nil {
				t.Fatal(err)
			}
			x := int64(i*i) % k
			truth[x] += 1. / people
			y, err := s.Draw(Asked{proof.Category(s.Label(x)), a}, word)
			if err != nil {
				t.Fatal(err)
			}
			b := uint64(y.(proof.Code).B)
			if got := bits.Len64(b); got > 17 || bits.Len64(uint64(a))+got > 34 {
				t.Fatalf("an answer of %d bits", got)
			}
			if err := tally.Add(proof.Code{A: a, B: int64(b & (1<<17 - 1))}); err != nil {
				t.Fatal(err)
			}
		}
		squares := 0.0
		for j, x := range s.Shares(tally.Counts(), people) {
			squares += (x - truth[j]) * (x - truth[j])
		}
		want, _ := v.Bounds().Loss.Float64()
		if got := squares * people; math.Abs(got/want-1) > 6/math.Sqrt(k/2) {
			t.Errorf("epsilon %g: squared errors of %g in all, certified are %g", epsilon, got, want)
		}
	}
}

// TestSampledExactly: for samples of all sizes of people of whom any number has the category, the probability that
// the lower or the upper bound on the share of all people fails is at most alpha, summed over all counts.
func TestSampledExactly(t *testing.T) {
	hypergeometric := func(all, with, n, h int) float64 {
		if h > with || n-h > all-with {
			return 0
		}
		return math.Exp(combin.LogGeneralizedBinomial(float64(with), float64(h)) + combin.LogGeneralizedBinomial(float64(all-with), float64(n-h)) - combin.LogGeneralizedBinomial(float64(all), float64(n)))
	}
	for _, c := range []struct {
		k       int64
		epsilon float64
	}{{2, 0.5}, {3, 2}, {20, 3}, {4, 6}, {100, 9}} {
		s := made(t, Spec{Epsilon: c.epsilon, Count: c.k, Size: 1, Inside: inside(ratio(c.epsilon), c.k, 1), Objective: Total})
		p, q, _, _ := s.floats()
		for _, size := range [][2]int{{1, 1}, {8, 4}, {24, 12}, {60, 3}, {20, 19}} {
			all, n := size[0], size[1]
			if testing.Short() && all > 8 {
				continue
			}
			laws := make([][]float64, n+1) // of counts, by how many of the sample have the category
			for h := range laws {
				laws[h] = make([]float64, n+1)
				x, y := distuv.Binomial{N: float64(h), P: p}, distuv.Binomial{N: float64(n - h), P: q}
				for i := range h + 1 {
					for j := range n - h + 1 {
						laws[h][i+j] += x.Prob(float64(i)) * y.Prob(float64(j))
					}
				}
			}
			alphas := []float64{0.5, 0.25, 0.05, 0.001}
			for with := range min(all, 3) { // what a binomial variable of the same mean just refutes
				b := distuv.Binomial{N: float64(n), P: q + float64(with)/float64(all)*(p-q)}
				alphas = append(alphas, b.Survival(0)*(1+1e-6), b.Survival(1)*(1+1e-6), b.CDF(float64(n)-1)*(1+1e-6))
			}
			for _, alpha := range alphas {
				for with := range all + 1 {
					share, low, high := float64(with)/float64(all), 0.0, 0.0
					for count := range n + 1 {
						mass := 0.0
						for h := range n + 1 {
							mass += hypergeometric(all, with, n, h) * laws[h][count]
						}
						switch lower, upper := s.Sampled(int64(count), int64(n), alpha); {
						case lower > share:
							low += mass
						case upper < share:
							high += mass
						}
					}
					if max(low, high) > alpha*(1+1e-9) {
						t.Errorf("%+v, %d of %d people, %d asked, alpha %g: bounds fail with probabilities of %g and %g", c, with, all, n, alpha, low, high)
					}
				}
			}
		}
	}
}

// TestCountsOfMany: counting says how far it is, ends when asked to, and finds what it finds without.
func TestCountsOfMany(t *testing.T) {
	v := design(t, 2_000_003, 1, Total)
	s := v.Mechanism()
	tally, word := s.Tally(), words(1)
	for range 60 {
		y, err := s.Draw(proof.Category("5"), word)
		if err != nil || tally.Add(y) != nil {
			t.Fatal(y, err)
		}
	}
	var done []int
	counts, err := tally.Count(t.Context(), func(n int) { done = append(done, n) })
	sum := int64(0)
	for _, c := range counts {
		sum += c
	}
	if err != nil || sum > 60*s.Spec().Size || sum < 60*(s.Spec().Size-s.points+s.Categories()) {
		t.Errorf("%d in all sets, %v", sum, err)
	}
	if len(done) < 1 || done[0] < 1 || done[0] >= 60 {
		t.Errorf("progress: %v", done)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if counts, err = tally.Count(ctx, nil); counts != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%d counts, %v", len(counts), err)
	}
}
