// SPDX-License-Identifier: Apache-2.0

package counts

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/proof"
)

// random returns a strategy whose answers have one of two weights to each category, w and at most e^epsilon·w,
// but for the last answer, which has what is left.
func random(tb testing.TB, r *rand.Rand, k, answers int, epsilon float64, w Workload) *Strategy {
	tb.Helper()
	rows := make([][]uint64, k)
	left := make([]uint64, k)
	e := exact.ExpDown(epsilon, 32)
	for y := range answers {
		low := uint64((0.5 + r.Float64()/2) * 0x1p63 / (float64(answers) * math.Exp(epsilon)))
		high := new(big.Int).SetUint64(low)
		high.Mul(high, e).Rsh(high, 32)
		for j := range rows {
			x := low
			if y == j || y >= k && r.IntN(2) == 0 { // the first answers tell categories apart
				x = high.Uint64()
			}
			rows[j] = append(rows[j], x)
			left[j] -= x
		}
	}
	for j := range rows {
		rows[j] = append(rows[j], left[j])
	}
	s, err := New(Spec{Problem: Problem{Epsilon: epsilon, Count: k, Workload: w}, Rows: rows})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func workloads(k int) []Workload {
	mean := make([]float64, k)
	for j := range mean {
		mean[j] = float64(j) / 10
	}
	list := []Workload{{Kind: Prefix}, {Kind: Ranges}, {Kind: Queries, Names: []string{"mean", "first"}, Queries: [][]float64{mean, append([]float64{-3.5}, make([]float64, k-1)...)}}}
	if k == 6 {
		list = append(list, Workload{Kind: Marginals, Sizes: []int{2, 3}})
	}
	return list
}

// TestCertificate computes by brute force in rationals, for up to 6 categories, the delta of each pair of
// categories over all answers, the unbiased estimate, and its variance for each category.
func TestCertificate(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, k := range []int{2, 3, 6} {
		if testing.Short() && k > 3 {
			continue
		}
		for _, w := range workloads(k) {
			s := random(t, r, k, k+3, 1.5, w)
			c := s.Certify()
			if n := len(w.names(k, s.Label)); n != w.size(k) || len(w.Matrix(k)) != n {
				t.Errorf("%s: %d names of %d queries", w.Kind, n, w.size(k))
			}
			if c.DeltaUpper.Sign() != 0 {
				// Of all pairs, by the definition.
				t.Fatalf("%d categories: delta is %s", k, c.DeltaUpper.FloatString(20))
			}
			spec := s.Spec()
			estimates := unbiased(spec.Rows, w.Matrix(k))
			total, worst := new(big.Rat), new(big.Rat)
			for j, row := range spec.Rows {
				variance := new(big.Rat)
				for i, query := range w.Matrix(k) {
					mean, square := new(big.Rat), new(big.Rat)
					for y, weight := range row {
						p := new(big.Rat).SetFrac(new(big.Int).SetUint64(weight), new(big.Int).Lsh(one, 64))
						x := estimates[i][y]
						mean.Add(mean, new(big.Rat).Mul(p, x))
						square.Add(square, p.Mul(p, new(big.Rat).Mul(x, x)))
					}
					if mean.Cmp(exact.Rational(query[j])) != 0 {
						t.Fatalf("%s: the mean of the estimate of query %d from category %d is %s, want %g", w.Kind, i, j, mean.FloatString(20), query[j])
					}
					variance.Add(variance, square.Sub(square, mean.Mul(mean, mean)))
				}
				total.Add(total, variance)
				if variance.Cmp(worst) > 0 {
					worst = variance
				}
			}
			total.Quo(total, big.NewRat(int64(k), 1))
			for name, pair := range map[string][2]*big.Rat{"total": {c.TotalVariance, total}, "worst": {c.WorstVariance, worst}} {
				off, _ := new(big.Rat).Sub(pair[0], pair[1]).Float64()
				size, _ := pair[1].Float64()
				if !(off >= 0 && off < 1e-25*(1+size)) {
					t.Errorf("%d categories, %s: the %s variance is off by %g of %g, want a bound from above", k, w.Kind, name, off, size)
				}
			}
			// What Estimate counts for each answer is that, to the nearest float64.
			for y := range spec.Rows[0] {
				answers := make([]int64, len(spec.Rows[0]))
				answers[y] = 3
				list, err := s.Estimate(answers, 0.9, true)
				if err != nil {
					t.Fatal(err)
				}
				for i, e := range list {
					if want, _ := estimates[i][y].Float64(); math.Abs(e.Value-want) > 1e-12*(1+math.Abs(want)) {
						t.Errorf("%s: the answer %d counts %g for query %d, want %g", w.Kind, y, e.Value, i, want)
					}
				}
			}
		}
	}
}

// TestQueries: of 2 by 3 categories, and of 3, what each query is called and counts.
func TestQueries(t *testing.T) {
	label := func(j int) string { return string(rune('a' + j)) }
	for _, c := range []struct {
		w      Workload
		k      int
		names  []string
		matrix [][]float64
	}{
		{
			Workload{Kind: Marginals, Sizes: []int{2, 3}},
			6,
			[]string{"0x*", "1x*", "*x0", "*x1", "*x2"},
			[][]float64{{1, 1, 1, 0, 0, 0}, {0, 0, 0, 1, 1, 1}, {1, 0, 0, 1, 0, 0}, {0, 1, 0, 0, 1, 0}, {0, 0, 1, 0, 0, 1}},
		},
		{Workload{Kind: Ranges}, 3, []string{"a", "a to b", "b", "b to c", "c"}, [][]float64{{1, 0, 0}, {1, 1, 0}, {0, 1, 0}, {0, 1, 1}, {0, 0, 1}}},
		{Workload{Kind: Prefix}, 3, []string{"up to a", "up to b"}, [][]float64{{1, 0, 0}, {1, 1, 0}}},
	} {
		if names, matrix := c.w.names(c.k, label), c.w.Matrix(c.k); !slices.Equal(names, c.names) || !reflect.DeepEqual(matrix, c.matrix) {
			t.Errorf("%s: %q count %v, want %q and %v", c.w.Kind, names, matrix, c.names, c.matrix)
		}
	}
}

// TestSampling: of people who are a random sample, a query with the coefficients 1 and 0 of two categories has the variance of a
// fair coin, 1/4, and one with 0 and 3 that of 9 times; both together the sum.
func TestSampling(t *testing.T) {
	s := random(t, rand.New(rand.NewPCG(33, 34)), 2, 3, 1, Workload{Kind: Queries, Names: []string{"one", "three"}, Queries: [][]float64{{1, 0}, {0, 3}}})
	if got := s.Sampling(); got != 2.5 {
		t.Errorf("%g, want 2.5", got)
	}
}

// unbiased returns W·(C·Mᵀ)⁻¹·C in rationals, with the scores of the format.
func unbiased(rows [][]uint64, queries [][]float64) [][]*big.Rat {
	k, m := len(rows), len(rows[0])
	scores := make([][]*big.Rat, k)
	for i := range scores {
		scores[i] = make([]*big.Rat, m)
	}
	for y := range m {
		sum := new(big.Int)
		for i := range k {
			sum.Add(sum, new(big.Int).SetUint64(rows[i][y]))
		}
		for i := range k {
			c := new(big.Int).Lsh(new(big.Int).SetUint64(rows[i][y]), 32)
			scores[i][y] = new(big.Rat).SetInt(c.Div(c, sum))
		}
	}
	// Solve (C·Mᵀ)·X = C by elimination.
	a := make([][]*big.Rat, k)
	for i := range a {
		for j := range k {
			sum := new(big.Rat)
			for y := range m {
				p := new(big.Rat).SetFrac(new(big.Int).SetUint64(rows[j][y]), new(big.Int).Lsh(one, 64))
				sum.Add(sum, p.Mul(p, scores[i][y]))
			}
			a[i] = append(a[i], sum)
		}
		for y := range m {
			a[i] = append(a[i], new(big.Rat).Set(scores[i][y]))
		}
	}
	for i := range a {
		for n := i; a[i][i].Sign() == 0; n++ {
			a[i], a[n] = a[n], a[i]
		}
		pivot := new(big.Rat).Set(a[i][i])
		for _, x := range a[i] {
			x.Quo(x, pivot)
		}
		for n := range a {
			if n != i {
				factor := new(big.Rat).Set(a[n][i])
				for l, x := range a[n] {
					x.Sub(x, new(big.Rat).Mul(factor, a[i][l]))
				}
			}
		}
	}
	out := make([][]*big.Rat, len(queries))
	for q, query := range queries {
		for y := range m {
			sum := new(big.Rat)
			for j, x := range query {
				sum.Add(sum, new(big.Rat).Mul(exact.Rational(x), a[j][k+y]))
			}
			out[q] = append(out[q], sum)
		}
	}
	return out
}

// TestDearest looks at all vectors of entries 1 and E one by one, in rationals.
func TestDearest(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, epsilon := range []float64{0.01, 1, 5} {
		for k := 2; k <= 6; k++ {
			d := Dual{}
			g := (&Workload{Kind: Ranges}).gram(k)
			for range k {
				row := make([]float64, k)
				for j := range row {
					row[j] = math.Ldexp(float64(r.IntN(2000)-1000), -7)
				}
				d.Slopes, d.Prices = append(d.Slopes, row), append(d.Prices, math.Ldexp(float64(r.IntN(1000)), -3))
			}
			e := new(big.Rat).SetFrac(exact.ExpUp(epsilon, exact.RatioBits), new(big.Int).Lsh(one, exact.RatioBits))
			var want *big.Rat
			m := make([][]*big.Rat, k)
			value := new(big.Rat)
			for i := range m {
				m[i] = make([]*big.Rat, k)
				for j := range m[i] {
					sum := new(big.Rat)
					for a := range k {
						for b := range k {
							x := new(big.Rat).Mul(exact.Rational(d.Slopes[i][a]), g[a][b])
							sum.Add(sum, x.Mul(x, exact.Rational(d.Slopes[j][b])))
						}
					}
					m[i][j] = sum
					x := new(big.Rat).Mul(exact.Rational(d.Slopes[i][j]), g[j][i])
					value.Add(value, x.Add(x, x))
				}
				value.Sub(value, exact.Rational(d.Prices[i]))
				value.Sub(value, new(big.Rat).Mul(g[i][i], big.NewRat(1, int64(k))))
			}
			for code := range 1 << k {
				v := make([]*big.Rat, k)
				mean, price, quadratic := new(big.Rat), new(big.Rat), new(big.Rat)
				for j := range v {
					if v[j] = big.NewRat(1, 1); code>>j&1 == 1 {
						v[j] = e
					}
					mean.Add(mean, new(big.Rat).Mul(v[j], big.NewRat(1, int64(k))))
					price.Add(price, new(big.Rat).Mul(v[j], exact.Rational(d.Prices[j])))
				}
				for i := range v {
					for j := range v {
						x := new(big.Rat).Mul(v[i], m[i][j])
						quadratic.Add(quadratic, x.Mul(x, v[j]))
					}
				}
				h := quadratic.Quo(quadratic, new(big.Rat).Mul(mean, mean))
				h.Sub(h, price.Quo(price, mean))
				if want == nil || h.Cmp(want) > 0 {
					want = h
				}
			}
			if got := dearest(epsilon, m, exact.Rationals(d.Prices)); got.Cmp(want) != 0 {
				t.Errorf("%d categories at %g: %s, want %s", k, epsilon, got.FloatString(10), want.FloatString(10))
			}
			if value.Sub(value, want); value.Sign() < 0 {
				value.SetInt64(0)
			}
			if got := d.bound(epsilon, g, nil); got.Cmp(value) != 0 {
				t.Errorf("%d categories at %g: a bound of %s, want %s", k, epsilon, got.FloatString(10), value.FloatString(10))
			}
		}
	}
}

// TestBoundIsBelow: whatever the multipliers are, no strategy is below the bound. The best has 6.52270,
// by a search over mixtures of all answers with two probabilities (to the digits given).
func TestBoundIsBelow(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	s := example(t).Spec()
	g := s.Workload.gram(3)
	least, most := math.Inf(1), 0.0
	for range 200 {
		d := formfile.Clone(*s.Dual)
		for i := range d.Slopes {
			d.Prices[i] += 0.1 * (r.Float64() - 0.5)
			for j := range d.Slopes[i] {
				d.Slopes[i][j] += 0.1 * (r.Float64() - 0.5)
			}
		}
		bound, _ := d.bound(s.Epsilon, g, nil).Float64()
		most = max(most, bound)
		total, _ := random(t, r, 3, 6, s.Epsilon, s.Workload).Certify().TotalVariance.Float64()
		least = min(least, total)
	}
	if most < 6.3 || most > 6.52270 || least < 6.52269 {
		t.Errorf("bounds are up to %g, and strategies have from %g on", most, least)
	}
}

// TestDelta puts a weight at what epsilon allows, and one unit above it.
func TestDelta(t *testing.T) {
	const low = 1 << 60
	top := exact.ExpDown(1, exact.RatioBits)
	high := top.Mul(top, big.NewInt(low)).Rsh(top, exact.RatioBits).Uint64()
	for over, want := range []error{nil, proof.ErrNotPrivate} {
		a := high + uint64(over)
		s, err := New(Spec{Problem: Problem{Epsilon: 1, Count: 2, Workload: Workload{Kind: Prefix}}, Rows: [][]uint64{{a, low, -a - low}, {low, a, -a - low}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Verify(); !errors.Is(err, want) {
			t.Errorf("%d units above: %v, want %v", over, err, want)
		}
	}
}

// TestDeltaOfAllPairs: it is the largest Σ (p − E·q)₊ over all pairs of categories, with the E below e^epsilon, in
// whichever pair that is.
func TestDeltaOfAllPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	e := new(big.Rat).SetFrac(exact.ExpDown(0.5, exact.RatioBits), new(big.Int).Lsh(one, exact.RatioBits))
	where := map[[2]int]int{}
	for range 100 {
		k := 2 + r.IntN(3)
		s := Spec{Problem: Problem{Epsilon: 0.5, Count: k}, Rows: make([][]uint64, k)}
		for j := range s.Rows {
			left := uint64(0)
			for range 4 {
				w := r.Uint64() >> (3 + r.IntN(2))
				s.Rows[j] = append(s.Rows[j], w)
				left -= w
			}
			s.Rows[j] = append(s.Rows[j], left)
		}
		want, at := new(big.Rat), [2]int{}
		for i, p := range s.Rows {
			for j, q := range s.Rows {
				sum := new(big.Rat)
				for y := range p {
					x := new(big.Rat).SetInt(new(big.Int).SetUint64(p[y]))
					x.Sub(x, new(big.Rat).Mul(e, new(big.Rat).SetInt(new(big.Int).SetUint64(q[y]))))
					if x.Sign() > 0 {
						sum.Add(sum, x)
					}
				}
				if sum.Mul(sum, exact.PowerOfTwo(-64)); sum.Cmp(want) > 0 {
					want, at = sum, [2]int{i, j}
				}
			}
		}
		if got := s.delta(nil); got.Cmp(want) != 0 {
			t.Errorf("%v: delta is %s, want %s", s.Rows, got.FloatString(20), want.FloatString(20))
		}
		if where[at]++; pure(s.Rows, exact.RatioDown(0.5)) != (want.Sign() == 0) {
			t.Errorf("%v: not pure, want %s", s.Rows, want.FloatString(20))
		}
	}
	if len(where) < 8 {
		t.Errorf("the worst pairs are %v only", where)
	}
}

// TestEstimateCoverage draws answers of three kinds of people. All intervals of the level 0.9 hold together
// with a probability of at least that, so in fewer than 316 of 400 trials with one below 1e-9.
func TestEstimateCoverage(t *testing.T) {
	const trials, n, k = 400, 300, 4
	r := rand.New(rand.NewPCG(5, 6))
	s := random(t, r, k, 9, 2, Workload{Kind: Ranges})
	rows := s.Spec().Rows
	queries := (&Workload{Kind: Ranges}).Matrix(k)
	estimator, err := s.estimator(n, 0.9, true)
	if err != nil {
		t.Fatal(err)
	}
	for kind, people := range [][]int{{n, 0, 0, 0}, {n / 4, n / 4, n / 4, n / 4}, {10, 190, 0, 100}} {
		held := 0
		means, truth := make([]float64, len(queries)), make([]float64, len(queries))
		for range trials {
			answers := make([]int64, len(rows[0]))
			for j, m := range people {
				for range m {
					y, u := 0, r.Uint64()
					for ; u >= rows[j][y]; y++ {
						u -= rows[j][y]
					}
					answers[y]++
				}
			}
			list := estimator.estimate(answers)
			all := true
			for i, e := range list {
				truth[i] = 0
				for j, m := range people {
					truth[i] += queries[i][j] * float64(m) / n
				}
				means[i] += e.Value / trials
				all = all && e.Lower <= truth[i]+1e-12 && e.Upper >= truth[i]-1e-12
			}
			if all {
				held++
			}
		}
		if held < 316 {
			t.Errorf("people %d: all intervals held in %d of %d trials", kind, held, trials)
		}
		worst, _ := s.Certify().WorstVariance.Float64()
		for i, m := range means {
			// 6.2 standard deviations of a mean, of which the total variance bounds each.
			if slack := 6.2 * math.Sqrt(worst/(n*trials)); math.Abs(m-truth[i]) > slack {
				t.Errorf("people %d: query %d is estimated as %g on average, want %g within %g", kind, i, m, truth[i], slack)
			}
		}
	}
	for _, bad := range []struct {
		answers []int64
		level   float64
	}{{make([]int64, len(rows[0])), 0.9}, {[]int64{1}, 0.9}, {append([]int64{1}, make([]int64, len(rows[0])-1)...), 1}, {append([]int64{-1}, make([]int64, len(rows[0])-1)...), 0.9}} {
		if _, err := s.Estimate(bad.answers, bad.level, true); !errors.Is(err, check.ErrInvalid) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	if m := formfile.Probabilities(rows[0]); len(m) != 10 {
		t.Errorf("%d answers", len(m))
	}
}
