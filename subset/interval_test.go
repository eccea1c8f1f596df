// SPDX-License-Identifier: Apache-2.0

package subset

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/proof"
)

// binomial returns the exact law of the number of n events with the probability.
func binomial(n int64, p *big.Rat) []*big.Rat {
	law := []*big.Rat{big.NewRat(1, 1)}
	not := new(big.Rat).Sub(big.NewRat(1, 1), p)
	for range n {
		next := make([]*big.Rat, len(law)+1)
		for i := range next {
			next[i] = new(big.Rat)
			if i < len(law) {
				next[i].Mul(law[i], not)
			}
			if i > 0 {
				next[i].Add(next[i], new(big.Rat).Mul(law[i-1], p))
			}
		}
		law = next
	}
	return law
}

// tail sums a law from c on.
func tail(law []*big.Rat, c int64) *big.Rat {
	sum := new(big.Rat)
	for _, p := range law[c:] {
		sum.Add(sum, p)
	}
	return sum
}

// above says that a bound is not below the truth, and within a relative 1e-9 of it.
func above(bound float64, truth *big.Rat) bool {
	f, _ := truth.Float64()
	return new(big.Rat).SetFloat64(bound).Cmp(truth) >= 0 && bound <= f*(1+1e-9)+0x1p-80
}

// TestTails: the bounds are above the exact tails, and next to them.
func TestTails(t *testing.T) {
	for _, theta := range []float64{0x1p-20, 0.01, 0.25, 0.7, 1 - 0x1p-20} {
		for _, n := range []int64{1, 5, 40} {
			if testing.Short() && n > 5 {
				continue
			}
			law := binomial(n, new(big.Rat).SetFloat64(theta))
			for c := range n + 1 {
				if got := massUpper(c, n, theta, 1-theta); !above(got, law[c]) {
					t.Errorf("P(Bin(%d, %g) = %d) <= %.17g, want %v", n, theta, c, got, law[c].FloatString(20))
				}
				if got := binomialTail(c, n, theta); float64(c) > float64(n)*theta && !above(got, tail(law, c)) {
					t.Errorf("P(Bin(%d, %g) >= %d) <= %.17g, want %v", n, theta, c, got, tail(law, c).FloatString(20))
				}
			}
		}
	}
	p, q := big.NewRat(3, 4), big.NewRat(1, 16)
	for _, n := range []int64{1, 7, 40} {
		if testing.Short() && n > 7 {
			continue
		}
		for m := range n + 1 {
			law := sum(binomial(m, p), binomial(n-m, q))
			for c := range n + 1 {
				if got := sumTail(c, m, n, [2]float64{0.75, 0.25}, [2]float64{0.0625, 0.9375}); !above(got, tail(law, c)) {
					t.Errorf("%d of %d with the category, at least %d: %.17g, want %v", m, n, c, got, tail(law, c).FloatString(20))
				}
			}
		}
	}
}

// TestRoundingsOfTails: of many terms, sums in 300 bits of what float64s sum are not above the bounds, with the 8 roundoffs for
// each term by which masses may be less than what they stand for.
func TestRoundingsOfTails(t *testing.T) {
	float := func(x float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(x) }
	less := func(of *big.Float, n int) *big.Float { // masses in lists of n
		return new(big.Float).Mul(of, float(1+8*roundoff*float64(n)))
	}
	for i := range int64(8) {
		n, theta := int64(1<<22)+i, 0.5
		c := n/2 + 1000
		term, sum := float(1), float(1)
		terms := 1
		for k := c; term.Cmp(float(0x1p-90)) > 0; k++ {
			term.Mul(term, float(float64(n-k))).Quo(term, float(float64(k+1))) // and the odds are 1
			sum.Add(sum, term)
			terms++
		}
		if got := float(binomialTail(c, n, theta)); got.Quo(got, float(massUpper(c, n, theta, 1-theta))).Cmp(sum) < 0 || terms < 8000 {
			t.Errorf("%d of %d: the sum of %d terms is at most %g, want %g", c, n, terms, got, sum)
		}
		people, m := int64(2000), 200*(i+1)
		fromX, x := masses(m, 0.75, 0.25)
		fromY, y := masses(people-m, 0.25, 0.75)
		need := fromX + fromY + int64(len(x)+len(y))/2
		sum = float(0)
		for i, mass := range x {
			for j, other := range y {
				if fromX+int64(i)+fromY+int64(j) >= need {
					sum.Add(sum, new(big.Float).Mul(float(mass), float(other)))
				}
			}
		}
		sum = less(less(sum, len(x)), len(y))
		if got := sumTail(need, m, people, [2]float64{0.75, 0.25}, [2]float64{0.25, 0.75}); float(got).Cmp(sum) < 0 {
			t.Errorf("%d of %d people: the sum is at most %g, want %g", m, people, got, sum)
		}
	}
}

// TestMarginsOfMasses: bounds are above the masses, in 300 bits, by three quarters of what the logarithms and Stirling's formula
// may lack.
func TestMarginsOfMasses(t *testing.T) {
	float := func(x float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(x) }
	power := func(x float64, n int64) *big.Float {
		y := float(1)
		for range n {
			y.Mul(y, float(x))
		}
		return y
	}
	for _, c := range []struct {
		c, n        int64
		theta, rest float64
	}{
		{200, 200, 0x1p-5, 1 - 0x1p-5}, {0, 200, 1 - 0x1p-5, 0x1p-5}, {20, 40, 0.5, 0.5}, {9000, 20_000, 0.5, 0.5},
	} {
		law := new(big.Float).SetPrec(300).SetInt(new(big.Int).Binomial(c.n, c.c))
		law.Mul(law, power(c.theta, c.c)).Mul(law, power(c.rest, c.n-c.c))
		over, _ := law.Quo(float(massUpper(c.c, c.n, c.theta, c.rest)), law).Sub(law, float(1)).Float64()
		logs := 0.0
		for _, part := range [][2]float64{{float64(c.c), c.theta}, {float64(c.n - c.c), c.rest}} {
			if part[0] > 0 {
				logs += math.Abs(part[0] * math.Log(part[0]/float64(c.n)/part[1]))
			}
		}
		if margin := 0x1p-50*(float64(c.n)+logs) + 0x1p-40; over < 0.75*margin {
			t.Errorf("%+v: above the mass by %g, want %g", c, over, margin)
		}
	}
}

// TestWhereBinomialsFail: beyond the conditions of Hoeffding's theorem, that alpha is at most 1/4 and the mean from 1 to n−1, the
// bounds of a binomial variable refute numbers of people that the exact sum does not, even where they are about as close; they
// are not taken.
func TestWhereBinomialsFail(t *testing.T) {
	for _, c := range []struct {
		k, size  int64
		p        float64
		n, count int64
		alpha    float64
		above    bool // the upper bound
	}{
		{11, 3, 0.4, 8, 3, 0.48, false},  // alpha, with means of 2.08 and more
		{39, 1, 0.24, 2, 1, 0.25, false}, // a mean of 0.04 and more
		{5, 4, 0.98, 2, 1, 0.25, true},   // and one of n − 0.04 and less
	} {
		s := made(t, Spec{Epsilon: 9, Count: c.k, Size: c.size, Inside: uint64(c.p * 0x1p64), Objective: Total})
		p, q := s.spec.probabilities()
		fp, fq, _, _ := s.floats()
		lower, upper := mapped(c.count, c.n, c.alpha, fp, fq)
		m := int64(math.Ceil(lower*float64(c.n))) - 1 // the last that is refuted
		if c.above {
			m = int64(math.Floor(upper*float64(c.n))) + 1
		}
		law := sum(binomial(m, p), binomial(c.n-m, q))
		odds := tail(law, c.count)
		if c.above {
			odds.Sub(big.NewRat(1, 1), tail(law, c.count+1))
		}
		low, high := s.Uncut(c.count, c.n, c.alpha)
		share := float64(m) / float64(c.n)
		if odds.Cmp(exact.Rational(c.alpha)) <= 0 {
			t.Errorf("%v: the bounds of a binomial variable are right, and nothing is tested", c)
		}
		if low > share || high < share {
			t.Errorf("%v: from %g to %g, but %d of %d people have a count as far off with the probability %s", c, low, high, m, c.n, odds.FloatString(6))
		}
	}
}

// sum returns the law of the sum of two independent numbers.
func sum(x, y []*big.Rat) []*big.Rat {
	law := make([]*big.Rat, len(x)+len(y)-1)
	for i := range law {
		law[i] = new(big.Rat)
	}
	for i, p := range x {
		for j, q := range y {
			law[i+j].Add(law[i+j], new(big.Rat).Mul(p, q))
		}
	}
	return law
}

// TestCoverageExactly: for every number of people with the category, the probability that the lower or the upper
// bound fails is at most alpha, summed over all counts; whether binomial bounds are used or exact sums.
func TestCoverageExactly(t *testing.T) {
	both := map[bool]int{}
	for _, c := range []struct {
		k       int64
		epsilon float64
	}{{2, 0.5}, {3, 2}, {5, 1}, {20, 3}, {4, 6}, {200, 1}} {
		s := made(t, Spec{Epsilon: c.epsilon, Count: c.k, Size: 1, Inside: inside(ratio(c.epsilon), c.k, 1), Objective: Total})
		p, q, notP, _ := s.floats()
		for _, n := range []int64{1, 4, 13, 30} {
			alphas := []float64{0.3, 0.25, 0.05, 0.001}
			for m := range min(n, 2) { // what bounds of a binomial variable of the same mean just refute
				b := distuv.Binomial{N: float64(n), P: q + float64(m+1)/float64(n)*(p-q)}
				alphas = append(alphas, b.Survival(0)*(1+1e-6), b.Survival(1)*(1+1e-6), b.CDF(float64(n)-1)*(1+1e-6))
			}
			for _, alpha := range alphas {
				lower, upper := make([]float64, n+1), make([]float64, n+1)
				for count := range n + 1 {
					lower[count], upper[count] = s.Interval(count, n, alpha)
				}
				both[alpha <= 0.25 && float64(n)*min(q, notP) >= 1]++
				for m := range n + 1 {
					x, y := distuv.Binomial{N: float64(m), P: p}, distuv.Binomial{N: float64(n - m), P: q}
					share := float64(m) / float64(n)
					low, high := 0.0, 0.0
					for i := range m + 1 {
						for j := range n - m + 1 {
							switch mass := x.Prob(float64(i)) * y.Prob(float64(j)); {
							case lower[i+j] > share:
								low += mass
							case upper[i+j] < share:
								high += mass
							}
						}
					}
					if max(low, high) > alpha*(1+1e-9) {
						t.Errorf("%+v, %d of %d people, alpha %g: bounds fail with probabilities of %g and %g", c, m, n, alpha, low, high)
					}
				}
			}
		}
	}
	if both[true] < 10 || both[false] < 10 {
		t.Errorf("cases of each kind: %v", both)
	}
}

// TestIntervalEdges: bounds of all and of none are in order and within 0 and 1, and narrow as people grow.
func TestIntervalEdges(t *testing.T) {
	for _, s := range []*Selection{design(t, 2, 0.01, Total).Mechanism(), design(t, 200, 1, Total).Mechanism(), design(t, 1000, 12, Total).Mechanism(), design(t, 2, 100, Total).Mechanism()} {
		for _, n := range []int64{1, 100, 20_000} {
			for _, count := range []int64{0, 1, n / 2, n} {
				lower, upper := s.Interval(count, n, 1e-4)
				from, to := s.Uncut(count, n, 1e-4)
				if !(0 <= lower && lower <= upper && upper <= 1) || lower != min(max(from, 0), 1) || upper != min(max(to, 0), 1) {
					t.Errorf("%d of %d: from %g to %g, before they are cut from %g to %g", count, n, lower, upper, from, to)
				}
				p, q, _, _ := s.floats()
				left, right := mapped(count, n, sampledAlpha(1e-4), p, q)
				if lower, upper = s.Sampled(count, n, 1e-4); lower != min(max(left, 0), 1) || upper != min(max(right, 0), 1) || !(0 <= lower && lower <= upper && upper <= 1) || lower > max(from, 0) && count < n || upper < min(to, 1) && count > 0 {
					t.Errorf("%d of %d, sampled: from %g to %g, of those asked from %g to %g", count, n, lower, upper, from, to)
				}
			}
		}
	}
}

// TestMapped: bounds on a share are not within those that exact probabilities give of the same bounds on the mean, and
// next to them, however little the probabilities differ.
func TestMapped(t *testing.T) {
	for _, c := range [][2]float64{{2, 1e-6}, {2, 1}, {200, 0.01}, {200, 3}, {1000, 12}} {
		s := design(t, int64(c[0]), c[1], Total).Mechanism()
		p, q, _, _ := s.floats()
		exactP, exactQ := s.spec.probabilities()
		apart := new(big.Rat).Sub(exactP, exactQ)
		share := func(mean *big.Rat) *big.Rat {
			x := new(big.Rat).Sub(mean, exactQ)
			return x.Quo(x, apart)
		}
		for _, n := range []int64{1, 7, 100, 54_321} {
			for _, count := range []int64{0, 1, n / 3, n - 1, n} {
				lower, upper := mapped(count, n, 0.01, p, q)
				wantLower := share(new(big.Rat).SetFloat64(binomialLower(count, n, 0.01)))
				wantUpper := new(big.Rat).SetFloat64(binomialLower(n-count, n, 0.01))
				wantUpper = share(wantUpper.Sub(big.NewRat(1, 1), wantUpper))
				below, _ := new(big.Rat).Sub(wantLower, new(big.Rat).SetFloat64(lower)).Float64()
				above, _ := new(big.Rat).Sub(new(big.Rat).SetFloat64(upper), wantUpper).Float64()
				for x, over := range map[float64]float64{lower: below, upper: above} {
					if over < 0 || over > 40*roundoff*(1+math.Abs(x))/(p-q) {
						t.Errorf("%v, %d of %d: from %g to %g, %g and %g beyond exact ones", c, count, n, lower, upper, below, above)
					}
				}
			}
		}
	}
}

// TestSampledAlpha: it is not above 1 − e^−alpha nor 1/4, and next to the lesser of them.
func TestSampledAlpha(t *testing.T) {
	whole, one := new(big.Int).Lsh(big.NewInt(1), 300), big.NewRat(1, 1)
	for alpha := 1e-12; alpha < 9; alpha *= 1.03 {
		of := func(e *big.Int) *big.Rat { // 1 − 2^300/e
			x := new(big.Rat).SetFrac(whole, e)
			if x.Sub(one, x); x.Cmp(big.NewRat(1, 4)) > 0 {
				return big.NewRat(1, 4)
			}
			return x
		}
		got := new(big.Rat).SetFloat64(sampledAlpha(alpha))
		high := of(exact.ExpUp(alpha, 300))
		if high.Mul(high, big.NewRat(1<<48-1, 1<<48)); got.Cmp(of(exact.ExpDown(alpha, 300))) > 0 || got.Cmp(high) < 0 {
			t.Errorf("alpha %g becomes %g", alpha, sampledAlpha(alpha))
		}
	}
}

// people returns how many of n have each of k categories, for one of three laws.
func people(law string, k, n int64, r *rand.Rand) []int64 {
	weights, total := make([]float64, k), 0.0
	for j := range weights {
		switch law {
		case "zipf":
			weights[j] = 1 / float64(j+1)
		case "uniform":
			weights[j] = 1
		case "heavy":
			weights[j] = 1
			if j == 0 {
				weights[j] = 1e4
			}
		}
		total += weights[j]
		weights[j] = total
	}
	counts := make([]int64, k)
	for range n {
		j, _ := slices.BinarySearch(weights, r.Float64()*total)
		counts[j]++
	}
	return counts
}

// TestCoverage simulates answers: all intervals hold together as often as they should, the error is
// that of the certificate, and they are as wide as is stated. SUBSET_RUNS of the environment makes so
// many runs each, of more cases.
//
// Without it the false-alarm rate is 1e-9 each; 12 runs of three laws see a coverage of .6 at level .95 more
// often than not.
func TestCoverage(t *testing.T) {
	runs, cases := 12, [][2]float64{{200, 1}, {200, 3}, {50, 1}}
	levels, sizes := []float64{0.95}, []int64{20_000}
	full := os.Getenv("SUBSET_RUNS") != ""
	switch {
	case full:
		if _, err := fmt.Sscan(os.Getenv("SUBSET_RUNS"), &runs); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, [2]float64{3, 1}, [2]float64{50, 3}, [2]float64{3, 3})
		levels, sizes = []float64{0.5, 0.9, 0.95, 0.99}, []int64{300, 20_000}
	case testing.Short():
		runs, cases = 1, cases[:1]
	}
	for i, c := range cases {
		k := int64(c[0])
		v := design(t, k, c[1], Total)
		s := v.Mechanism()
		variance, _ := v.Bounds().Loss.Float64()
		for _, n := range sizes {
			holds, width, cut, squares, simplex := map[float64]int{}, map[float64]float64{}, map[float64]float64{}, 0.0, 0.0
			for l, law := range []string{"zipf", "uniform", "heavy"} {
				r := rand.New(rand.NewPCG(uint64(i), uint64(l)))
				for run := range runs {
					truth := people(law, k, n, r)
					word, tally := words(uint64(1000*run+10*i+l)), s.Tally()
					for x, m := range truth {
						for range m {
							y, err := s.Draw(proof.Category(s.Label(int64(x))), word)
							if err != nil || tally.Add(y) != nil {
								t.Fatal(y, err)
							}
						}
					}
					counts := tally.Counts()
					shares := s.Shares(counts, n)
					for j, x := range Simplex(shares) {
						d := x - float64(truth[j])/float64(n)
						simplex += d * d
						d = shares[j] - float64(truth[j])/float64(n)
						squares += d * d
					}
					for _, level := range levels {
						all := 1
						for j, count := range counts {
							lower, upper := s.Interval(count, n, (1-level)/float64(2*k))
							if share := float64(truth[j]) / float64(n); share < lower || share > upper {
								all = 0
							}
							from, to := s.Uncut(count, n, (1-level)/float64(2*k))
							width[level] += (to - from) / float64(3*runs*int(k))
							cut[level] += (upper - lower) / float64(3*runs*int(k))
						}
						holds[level] += all
					}
				}
			}
			rmse, want := math.Sqrt(squares/float64(3*runs*int(k))), math.Sqrt(variance/float64(n*k))
			for _, level := range levels {
				t.Logf("%d categories, epsilon %g, %d people, level %g: %d of %d hold, width %.4f (%.4f cut), error %.5f (%.5f certified, %.5f on the simplex)",
					k, c[1], n, level, holds[level], 3*runs, width[level], cut[level], rmse, want, math.Sqrt(simplex/float64(3*runs*int(k))))
				least := math.Ceil(float64(3*runs)*level - 3*math.Sqrt(level*(1-level)*float64(3*runs)))
				for !full && least > 0 && (distuv.Binomial{N: float64(3 * runs), P: level}).CDF(least-1) > 1e-9 {
					least--
				}
				if float64(holds[level]) < least {
					t.Errorf("%d categories, epsilon %g, %d people, level %g: %d of %d hold", k, c[1], n, level, holds[level], 3*runs)
				}
			}
			// The mean of 3·runs·k squares: the relative error of the root is below .5/√(runs·k).
			if math.Abs(rmse/want-1) > 6*0.5/math.Sqrt(float64(runs)*float64(k)) {
				t.Errorf("%d categories, epsilon %g, %d people: error %g, certified %g", k, c[1], n, rmse, want)
			}
			if limit := map[[2]float64]float64{{200, 1}: 0.100, {200, 3}: 0.025}[c]; n == 20_000 && limit > 0 && width[0.95] > limit {
				t.Errorf("%d categories, epsilon %g: intervals are %g wide, want at most %g", k, c[1], width[0.95], limit)
			}
		}
	}
}

// TestStirling: what Stirling's formula lacks falls from n to n + 1 by (n + 1/2)·log(1 + 1/n) − 1, and to 0.
func TestStirling(t *testing.T) {
	for n := int64(1); n < 300; n++ {
		x := float64(n)
		if got, want := stirling(n)-stirling(n+1), (x+0.5)*math.Log1p(1/x)-1; math.Abs(got-want) > 0x1p-42 {
			t.Errorf("from %d to %d by %g, want %g", n, n+1, got, want)
		}
	}
	if got := stirling(1e6); math.Abs(got-1/12e6) > 1e-15 {
		t.Errorf("%g, want hardly less than 1/12e6", got)
	}
}

// TestNegligibleIsAdded: a bound on what is less likely than all that is looked at is above it.
func TestNegligibleIsAdded(t *testing.T) {
	if got, want := sumTail(40, 40, 40, [2]float64{0.01, 0.99}, [2]float64{0.001, 0.999}), math.Pow(0.01, 40); !(got >= want && got < 1e-24) {
		t.Errorf("%g, want at least %g", got, want)
	}
}

// TestNegligibleOfMany: the tail whose largest mass is the first that is left out of the sum is below the bound.
func TestNegligibleOfMany(t *testing.T) {
	n, c, p := int64(200), int64(0), big.NewRat(1, 4)
	law := binomial(n, p)
	for law[c].Cmp(exact.PowerOfTwo(-90)) >= 0 || c < n/4 {
		c++
	}
	if got, want := sumTail(c, n, n, [2]float64{0.25, 0.75}, [2]float64{0.125, 0.875}), tail(law, c); new(big.Rat).SetFloat64(got).Cmp(want) < 0 {
		t.Errorf("at least %d of %d: %g, want %v", c, n, got, want.FloatString(40))
	}
}
