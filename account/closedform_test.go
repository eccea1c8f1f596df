// SPDX-License-Identifier: Apache-2.0

package account

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
	"github.com/noisewright/noisewright/tables/shapes"
)

func must(t testing.TB) func(*PrivacyLossDistribution, error) *PrivacyLossDistribution {
	return func(m *PrivacyLossDistribution, err error) *PrivacyLossDistribution {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
}

// close checks bounds for being tight, at a relative distance from the truth.
func tight(t testing.TB, what string, b Bounds, exact, share float64) {
	t.Helper()
	brackets(t, what, b, exact)
	if b.Upper > exact*(1+share)+1e-29 || b.Lower < exact*(1-share)-1e-29 {
		t.Errorf("%s: [%.15g, %.15g], want within %g of %.15g", what, b.Lower, b.Upper, share, exact)
	}
}

const precision = 400

func bigExp(x float64) *big.Float {
	if x < 0 {
		one := new(big.Float).SetPrec(precision).SetInt64(1)
		return one.Quo(one, bigExp(-x))
	}
	f := new(big.Float).SetPrec(precision).SetInt(exact.ExpDown(x, precision))
	return f.SetMantExp(f, -precision)
}

// sumOfCoins returns the δ of so many randomized responses that fail with
// probability d, in 400 bits: Σ_j C(n, j)·p^(n−j)·q^j·(1 − e^(ε'−(n−2j)ε))₊ and
// the failures (Kairouz, Oh & Viswanath 2017, Theorem 3.3).
func sumOfCoins(n int, epsilon, d, at float64) float64 {
	number := func(x float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(x) }
	e := bigExp(epsilon)
	works := new(big.Float).Sub(number(1), number(d))
	q := new(big.Float).Quo(works, new(big.Float).Add(number(1), e))
	sum, all := number(0), number(1)
	qs := number(1) // q^n·e^(ε(n−j))·C(n,j)
	for range n {
		qs.Mul(qs, q)
		all.Mul(all, works)
	}
	up := number(1)
	for range n {
		up.Mul(up, e)
	}
	inverse := new(big.Float).Quo(number(1), e)
	binomial, loss := number(1), up // e^(ε(n−2j))
	power := new(big.Float).Copy(up)
	loss = new(big.Float).Copy(up)
	target := bigExp(at)
	for j := 0; j <= n && loss.Cmp(target) > 0; j++ {
		term := new(big.Float).Quo(target, loss)
		term.Sub(number(1), term).Mul(term, qs).Mul(term, power).Mul(term, binomial)
		sum.Add(sum, term)
		power.Mul(power, inverse)
		loss.Mul(loss, inverse).Mul(loss, inverse)
		binomial.Mul(binomial, number(float64(n-j))).Quo(binomial, number(float64(j+1)))
	}
	sum.Add(sum, all.Sub(number(1), all))
	f, _ := sum.Float64()
	return f
}

func TestRandomizedResponseExactly(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, n := range []int{1, 2, 3, 7, 100, 1000} {
		for _, epsilon := range []float64{0.01, 0.5, 3} {
			for _, d := range []float64{0, 1e-8, 0.01} {
				if epsilon*float64(n) > 400 { // bigExp ends at 700
					continue
				}
				c := compose(t, Release{must(t)(Approximate(epsilon, d)), n})
				for _, share := range []float64{0, 0.02, 0.3, 0.7, 0.99, 1, 1.5} {
					at := share * epsilon * float64(n)
					what := fmt.Sprintf("%d times (%g, %g) at %g", n, epsilon, d, at)
					want := sumOfCoins(n, epsilon, d, at)
					b := delta(t, c, at)
					brackets(t, what, b, want)
					if want > 1e-20 && share < 0.9 {
						tight(t, what, b, want, 0.02)
					}
				}
			}
		}
	}
	// Two categories are the same thing.
	c := compose(t, Release{must(t)(RandomizedResponse(0.5, 2)), 50})
	tight(t, "randomized response", delta(t, c, 5), sumOfCoins(50, 0.5, 0, 5), 0.02)
}

// Compositions of Gaussians are one Gaussian of a multiplier smaller by √n.
func TestGaussiansExactly(t *testing.T) {
	for _, x := range []struct {
		sigma float64
		n     int
	}{{1, 2}, {3, 10}, {0.5, 4}, {20, 400}, {30, 1000}, {1e4, 25}, {0.1, 3}, {300, 100000}} {
		one := must(t)(Gaussian(x.sigma / math.Sqrt(float64(x.n)))).pair
		c := compose(t, Release{must(t)(Gaussian(x.sigma)), x.n})
		for _, d := range []float64{0.01, 1e-6, 1e-12, 1e-20} {
			what := fmt.Sprintf("%d Gaussians of %g at delta %g", x.n, x.sigma, d)
			e, err := c.Epsilon(d)
			if err != nil {
				t.Fatal(what, err)
			}
			if one.deltaLower(e.Upper*(1+1e-9)) > d {
				t.Errorf("%s: epsilon <= %.12g is stated, where delta is %g", what, e.Upper, one.deltaLower(e.Upper))
			}
			if e.Lower > 0 && one.deltaUpper(e.Lower*(1-1e-9)) < d {
				t.Errorf("%s: epsilon >= %.12g is stated, where delta is %g", what, e.Lower, one.deltaUpper(e.Lower))
			}
			if e.Upper-e.Lower > 1e-9*e.Upper {
				t.Errorf("%s: [%.15g, %.15g] is wide", what, e.Lower, e.Upper)
			}
			b := delta(t, c, e.Upper)
			if b.Upper < one.deltaLower(e.Upper*(1+1e-12)) || b.Lower > one.deltaUpper(e.Upper*(1-1e-12)) || b.Upper > 1.02*d {
				t.Errorf("%s: delta %v, want %g", what, b, one.deltaUpper(e.Upper))
			}
		}
	}
}

// Gaussians of several multipliers are one, also beside other noise: there the bounds are
// those of the one Gaussian beside it.
func TestGaussiansTogether(t *testing.T) {
	gaussian := func(m float64) *PrivacyLossDistribution { return must(t)(Gaussian(m)) }
	// 1/15² = 1/25² + 1/(18.75)² exactly, and 4/50² + 9/56.25² the same again.
	several := []Release{{gaussian(25), 1}, {gaussian(18.75), 1}}
	others := []Release{{gaussian(50), 4}, {gaussian(56.25), 9}}
	laplace := Release{must(t)(Laplace(0.1)), 3}
	for _, d := range []float64{0.01, 1e-6, 1e-20} {
		want, err := compose(t, Release{gaussian(15), 1}).Epsilon(d)
		if err != nil {
			t.Fatal(err)
		}
		for _, releases := range [][]Release{several, others} {
			c := compose(t, releases...)
			got, err := c.Epsilon(d)
			if err != nil || got.Upper < want.Lower || got.Lower > want.Upper || got.Upper-got.Lower > 1e-9*got.Upper {
				t.Errorf("at delta %g: %v, %v, want %v", d, got, err, want)
			}
			at := delta(t, c, want.Upper)
			if want.Upper > 0 && (at.Upper < d*(1-1e-6) || at.Lower > d*(1+1e-6) || at.Upper-at.Lower > 1e-8*d) {
				t.Errorf("at epsilon %g: %v, want %g", want.Upper, at, d)
			}
		}
		mixed, err := compose(t, Release{gaussian(15), 1}, laplace).Epsilon(d)
		if err != nil {
			t.Fatal(err)
		}
		got, err := compose(t, several[0], laplace, several[1]).Epsilon(d)
		if err != nil || math.Abs(got.Upper-mixed.Upper) > 1e-9 || math.Abs(got.Lower-mixed.Lower) > 1e-9 {
			t.Errorf("beside Laplace noise at delta %g: %v, %v, want %v", d, got, err, mixed)
		}
	}
	// Basic composition is of the releases as they are given.
	if e, ok := compose(t, several...).BasicEpsilon(1e-6); !ok || e < 2*singleEpsilon(t, gaussian(25), 5e-7) {
		t.Errorf("basic composition: %g, %v", e, ok)
	}
	// So much noise together that the profile leaves float64: the grid answers.
	if b := delta(t, compose(t, Release{gaussian(0.05), 2}), 400); !(b.Lower > 0.1 && b.Upper < 0.9) {
		t.Errorf("two releases of multiplier 0.05: %v", b)
	}
}

// A mechanism of which only (epsilon, delta) is known costs that, and no more, once or several
// times, at exactly its delta.
func TestApproximateAtItsDelta(t *testing.T) {
	for _, x := range []struct{ epsilon, delta float64 }{{1, 1e-6}, {0.3, 0.1}, {7, 1e-12}, {1, 0}} {
		for _, n := range []int{1, 2, 4} { // exact multiples
			c := compose(t, Release{must(t)(Approximate(x.epsilon, x.delta)), n})
			b, err := c.Epsilon(float64(n) * x.delta)
			if want := float64(n) * x.epsilon; err != nil || b.Upper > want || n == 1 && (b.Upper != want || b.Lower < want*(1-1e-9)) {
				t.Errorf("%d times %v: %v, %v, want %g", n, x, b, err, want)
			}
			if d := delta(t, c, float64(n)*x.epsilon); d.Upper > float64(n)*x.delta {
				t.Errorf("%d times %v: delta %v", n, x, d)
			}
		}
		c := compose(t, Release{must(t)(Approximate(x.epsilon, x.delta)), 1})
		if b, err := c.Epsilon(x.delta * (1 - 0x1p-40)); x.delta > 0 && !errors.Is(err, ErrDeltaTooSmall) {
			t.Errorf("%v below its delta: %v, %v", x, b, err)
		}
	}
}

func singleEpsilon(t *testing.T, p *PrivacyLossDistribution, delta float64) float64 {
	t.Helper()
	b, err := compose(t, Release{p, 1}).Epsilon(delta)
	if err != nil {
		t.Fatal(err)
	}
	return b.Lower
}

// The profile of a Gaussian, where it cancels: near 0 loss for small and large
// multipliers. Values of mpmath, 60 digits.
func TestGaussianProfile(t *testing.T) {
	for _, x := range []struct{ sigma, epsilon, delta float64 }{
		{0.05, 200, 0.48010238435167252549},
		{0.05, 0, 1},
		{1, 1, 0.1269367375066439458},
		{1e6, 0, 3.9894228040141605534e-7},
		{1e6, 1e-6, 8.3315512245425403202e-8},
		{10, 1, 1.2308359836427041957e-25},
	} {
		l := must(t)(Gaussian(x.sigma)).pair
		b := Bounds{l.deltaLower(x.epsilon), l.deltaUpper(x.epsilon)}
		if b.Upper < x.delta || b.Lower > x.delta || b.Upper-b.Lower > 1e-7*x.delta {
			t.Errorf("gaussian %g at %g: %v, want %g", x.sigma, x.epsilon, b, x.delta)
		}
	}
}

// TestTruncatedLaplace compares the profile with sums over its density, and several
// releases with those of a table and with what is uncovered.
func TestTruncatedLaplace(t *testing.T) {
	for i, x := range []struct{ epsilon, delta float64 }{{1, 0.1}, {0.2, 0.01}, {4, 0.5}, {2, 1e-6}} {
		if testing.Short() && i > 0 {
			continue
		}
		end := math.Log1p(math.Expm1(x.epsilon)/(2*x.delta)) / x.epsilon // in sensitivities
		peak := x.epsilon / (-2 * math.Expm1(-x.epsilon*end))
		density := func(y float64) float64 {
			if math.Abs(y) > end {
				return 0
			}
			return peak * math.Exp(-x.epsilon*math.Abs(y))
		}
		m := must(t)(TruncatedLaplace(x.epsilon, x.delta))
		for _, share := range []float64{-1.5, -1, -0.3, 0, 0.5, 0.9, 1, 2} {
			const parts = 200000
			most := 0.0
			for _, shift := range []float64{0.5, 1} {
				sum, width := 0.0, (2*end+shift)/parts
				for i := range parts {
					y := -end + (float64(i)+0.5)*width
					sum += width * math.Max(0, density(y)-math.Exp(share*x.epsilon)*density(y-shift))
				}
				most = math.Max(most, sum)
			}
			low, high := m.pair.deltaLower(share*x.epsilon), m.pair.deltaUpper(share*x.epsilon)
			if tolerance := 1e-4 * (1 + end); high < low || high < most-tolerance || low > most+tolerance || high-low > 1e-9 {
				t.Errorf("epsilon %g, delta %g at %g of it: [%g, %g], want about %g", x.epsilon, x.delta, share, low, high, most)
			}
		}
		tight(t, "what is uncovered", delta(t, compose(t, Release{m, 3}), 3*x.epsilon), -math.Expm1(3*math.Log1p(-x.delta)), 1e-6)
	}
	p := dp.Problem{Privacy: dp.Privacy{Epsilon: 0.5, Delta: 1e-3, Sensitivity: 1}, Loss: loss.L1}
	table, err := shapes.TruncatedLaplace(p, tables.Grid{})
	if err != nil {
		t.Fatal(err)
	}
	law, cells := compose(t, Release{must(t)(TruncatedLaplace(0.5, 1e-3)), 8}), compose(t, Release{mustTable(t, table.Mechanism()), 8})
	for _, epsilon := range []float64{0.5, 1, 2} {
		a, b := delta(t, law, epsilon), delta(t, cells, epsilon)
		if a.Lower > b.Upper*1.02 || b.Lower > a.Upper*1.02 || a.Upper > 1.05*a.Lower {
			t.Errorf("delta at %g: %v, of a table %v", epsilon, a, b)
		}
	}
	for _, x := range [][2]float64{{0, 0.1}, {1, 0}, {1, 0.6}, {101, 0.1}, {math.NaN(), 0.1}, {1, math.NaN()}} {
		if _, err := TruncatedLaplace(x[0], x[1]); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("epsilon %g, delta %g: %v, want it to wrap dp.ErrInvalid", x[0], x[1], err)
		}
	}
}

// Pure losses add up, and delta = 0 is an answer to ask for.
func TestPureSums(t *testing.T) {
	c := compose(t,
		Release{must(t)(Laplace(0.25)), 3},
		Release{must(t)(DiscreteLaplace(0.5, 4)), 2},
		Release{must(t)(RandomizedResponse(1, 5)), 1},
		Release{must(t)(Staircase(0.125, loss.L1)), 8})
	e, err := c.Epsilon(0)
	if err != nil {
		t.Fatal(err)
	}
	if e.Upper < 3.75 || e.Lower > 3.75 || e.Upper-e.Lower > 1e-9 {
		t.Errorf("epsilon = %v, want 3.75", e)
	}
	if b := delta(t, c, 3.7501); b.Upper != 0 {
		t.Errorf("delta at 3.7501 = %g, want 0", b.Upper)
	}
	// A delta far below what is followed is no worse than that.
	if e, err = c.Epsilon(1e-300); err != nil || e.Upper > 3.7501 {
		t.Errorf("epsilon at 1e-300 = %v, %v, want at most 3.75", e, err)
	}
	for name, m := range map[string]*PrivacyLossDistribution{"Gaussian": must(t)(Gaussian(1)), "approximate": must(t)(Approximate(1, 1e-9))} {
		if _, err := compose(t, Release{m, 2}).Epsilon(0); !errors.Is(err, ErrDeltaTooSmall) {
			t.Errorf("%s at delta 0: %v, want ErrDeltaTooSmall", name, err)
		}
	}
}

func TestDeltaTooSmall(t *testing.T) {
	for _, n := range []int{1, 2, 1000} {
		c := compose(t, Release{must(t)(Approximate(1, 1e-6)), n})
		_, err := c.Epsilon(0.99e-6)
		if !errors.Is(err, ErrDeltaTooSmall) {
			t.Errorf("%d times: %v, want ErrDeltaTooSmall", n, err)
		}
		if e, err := c.Epsilon(1.01e-6 * float64(n)); err != nil || e.Upper > float64(n) {
			t.Errorf("%d times at a delta just above: %v, %v", n, e, err)
		}
	}
}

// Every mechanism, from one release to the most there can be, at the smallest and
// largest parameters: bounds in order, and upper bounds no worse than basic
// composition.
func TestExtremes(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for i, text := range []string{
		"gaussian:sigma=0.05", "gaussian:sigma=1e6", "laplace:epsilon=100", "laplace:epsilon=1e-7",
		"discrete-gaussian:sigma=0.05", "discrete-gaussian:sigma=20,sensitivity=400", "dp:epsilon=0,delta=0.9",
		"dp:epsilon=0,delta=1e-300", "dp:epsilon=100,delta=1e-20", "dp:epsilon=1e-9,delta=0", "staircase:epsilon=50,loss=l2",
		"staircase:epsilon=1e-5", "randomized-response:epsilon=100,categories=1000000000", "discrete-laplace:epsilon=1e-3,sensitivity=1000",
		"truncated-laplace:epsilon=100,delta=1e-300", "truncated-laplace:epsilon=1e-6,delta=0.5",
		"subsampled-gaussian:sigma=0.05,rate=1e-12", "subsampled-gaussian:sigma=1e6,rate=0.999999999", "subsampled-gaussian:sigma=0.05,rate=0.5",
	} {
		m := must(t)(parse(text))
		for _, n := range []int{1, 2, 37, limits.TableReleases} {
			c := compose(t, Release{m, n})
			epsilons := []float64{0, 5e-324, 1e-9, 1, 99, 101, 1e12, math.MaxFloat64}
			deltas := []float64{math.SmallestNonzeroFloat64, 1e-200, 1e-30, 1e-9, 0.5, 1 - 0x1p-53}
			if n == limits.TableReleases { // a second each
				if i%4 > 0 {
					continue
				}
				epsilons, deltas = epsilons[6:7], deltas[3:4]
			}
			for _, epsilon := range epsilons {
				b := delta(t, c, epsilon)
				one := m.pair.deltaUpper(epsilon / float64(n))
				if basic := math.Min(1, float64(n)*one); b.Lower > basic*(1+1e-9) {
					t.Errorf("%s, %d times: delta at %g is %v, above %g of basic composition", text, n, epsilon, b, basic)
				}
			}
			for _, d := range deltas {
				e, err := c.Epsilon(d)
				if err != nil && !errors.Is(err, ErrDeltaTooSmall) {
					t.Errorf("%s, %d times: epsilon at %g: %v", text, n, d, err)
				}
				if err == nil && !(e.Lower >= 0 && e.Lower <= e.Upper && !math.IsInf(e.Upper, 1)) {
					t.Errorf("%s, %d times: epsilon at %g: %v", text, n, d, e)
				}
			}
		}
	}
}

// One release is what the table's certificate says.
func TestSingleTable(t *testing.T) {
	for _, name := range []string{"table-0.1-1e-9", "table-1-1e-6"} {
		table := readTable(t, name)
		m := mustTable(t, table)
		c := compose(t, Release{m, 1})
		p := table.Privacy()
		want := exact.FloatUp(table.Certify().DeltaUpper)
		b := delta(t, c, p.Epsilon)
		if b.Upper != want || b.Lower < 0.99*want {
			t.Errorf("%s: delta = %v, want the certified %g", name, b, want)
		}
		e, err := c.Epsilon(p.Delta)
		if err != nil {
			t.Fatal(err)
		}
		if e.Upper > p.Epsilon*(1+1e-9) || e.Lower > e.Upper || e.Lower < 0.98*e.Upper {
			t.Errorf("%s: epsilon = %v, want at most %g", name, e, p.Epsilon)
		}
		// Twice, by either spelling.
		twice, again := compose(t, Release{m, 2}), compose(t, Release{m, 1}, Release{mustTable(t, table), 1})
		x, y := delta(t, twice, p.Epsilon), delta(t, again, p.Epsilon)
		if math.Abs(x.Upper-y.Upper) > 1e-6*x.Upper {
			t.Errorf("%s: twice %v, or %v", name, x, y)
		}
	}
}

func readTable(t testing.TB, name string) *tables.Table {
	t.Helper()
	table, err := proof.ReadFile("testdata/"+name+".json", tables.Decode)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// geometric is the discrete Laplace law as a table with a tail, for an integer
// sensitivity.
func geometric(t testing.TB, epsilon float64, sensitivity int) *tables.Table {
	t.Helper()
	// The blocks of Δ cells to either side of the single cell 0.
	b := math.Exp(-epsilon / float64(sensitivity))
	ratio := uint64(math.Exp(-epsilon)*0x1p64) + 1<<14
	weights := make([]uint64, 2*sensitivity+1)
	left := ^uint64(0)
	for i := range sensitivity {
		// p_i·Σ ρ^m, p_i = (1−b)/(1+b)·b^i, i = 1 … Δ.
		w := uint64((1 - b) / (1 + b) * math.Pow(b, float64(i+1)) / -math.Expm1(-epsilon) * 0x1p64 * (1 + 1e-12*float64(sensitivity-i)))
		weights[sensitivity+1+i], weights[sensitivity-1-i] = w, w
		left -= 2 * w
	}
	weights[sensitivity] = left + 1
	table, err := tables.New(tables.Spec{
		Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon * (1 + 1e-9), Sensitivity: float64(sensitivity)}, Query: dp.IntegerQuery, Loss: loss.L1},
		Grid:    tables.Grid{PointsPerCell: 1, CellsPerSensitivity: sensitivity, FirstCell: -sensitivity},
		Weights: weights, TailRatio: ratio,
	})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// A table with a tail is the law it stands for.
func TestTail(t *testing.T) {
	for _, x := range []struct {
		epsilon     float64
		sensitivity int
	}{{1, 1}, {0.5, 3}, {3, 2}, {0.01, 1}} {
		m := mustTable(t, geometric(t, x.epsilon, x.sensitivity))
		law := must(t)(DiscreteLaplace(x.epsilon, x.sensitivity))
		for _, n := range []int{1, 2, 30} {
			for _, d := range []float64{1e-3, 1e-8} {
				e, err := compose(t, Release{m, n}).Epsilon(d)
				if err != nil {
					t.Fatal(err)
				}
				want, err := compose(t, Release{law, n}).Epsilon(d)
				if err != nil {
					t.Fatal(err)
				}
				if e.Upper < want.Lower*(1-1e-6) || e.Lower > want.Upper*(1+1e-6) || e.Upper-e.Lower > 0.012*e.Upper {
					t.Errorf("epsilon %g, sensitivity %d, %d times at %g: %v, want %v", x.epsilon, x.sensitivity, n, d, e, want)
				}
			}
		}
		e, err := compose(t, Release{m, 7}).Epsilon(0)
		if err != nil || math.Abs(e.Upper/(7*x.epsilon)-1) > 1e-8 || e.Lower > e.Upper {
			t.Errorf("epsilon %g: %v, %v at delta 0", x.epsilon, e, err)
		}
	}
}
