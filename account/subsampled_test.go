// SPDX-License-Identifier: Apache-2.0

package account

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/dp"
)

// TestElementary holds Expm1, Log1p and Log against 400 bits: subsampled.inner rests on an
// error of less than 8 roundoffs.
func TestElementary(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	one := big.NewFloat(1).SetPrec(precision)
	off := func(computed float64, exact *big.Float) float64 {
		d := new(big.Float).Sub(new(big.Float).SetPrec(precision).SetFloat64(computed), exact)
		f, _ := d.Quo(d, exact).Float64()
		return math.Abs(f) / roundoff
	}
	worst := [3]float64{}
	tries := 3000
	if testing.Short() {
		tries = 600
	}
	for range tries {
		x := math.Exp(-30*r.Float64()) * 40
		if r.IntN(3) == 0 {
			x = -math.Min(x, 30)
		}
		worst[0] = math.Max(worst[0], off(math.Expm1(x), new(big.Float).Sub(bigExp(x), one)))
		// An error of log y is a relative one of e^(log y).
		y := math.Expm1(x)
		for i, l := range []struct {
			log float64
			of  *big.Float
		}{
			{math.Log1p(y), new(big.Float).Add(one, new(big.Float).SetPrec(precision).SetFloat64(y))},
			{math.Log(1 + y), new(big.Float).SetPrec(precision).SetFloat64(1 + y)},
		} {
			if l.log != 0 {
				worst[i+1] = math.Max(worst[i+1], off(1, new(big.Float).Quo(bigExp(l.log), l.of))/math.Abs(l.log))
			}
		}
	}
	for i, name := range []string{"Expm1", "Log1p", "Log"} {
		if worst[i] > 4 {
			t.Errorf("%s is off by %g roundoffs, want at most 4", name, worst[i])
		}
	}
}

// Profiles when a person is removed and when one is added, of mpmath with 60 digits.
func TestSubsampledProfile(t *testing.T) {
	for _, x := range []struct{ sigma, rate, epsilon, removed, added float64 }{
		{0.7, 0.00142, 1, 3.5001373418758259245e-9, 0},
		{0.7, 0.00142, -0.001, 0.0011034505806176361059, 0.001563454105862384434},
		{0.7, 0.00142, -0.00142, 0.0014189922785585639418, 0.001929719181561689945},
		{0.7, 0.00142, 0.0001, 0.0007224106772244585296, 0.00067004131673649188697},
		{1, 0.01, 0, 0.0038292492254802621525, 0.0038292492254802621525},
		{1, 0.01, -0.0099, 0.0098511593560176501069, 0.011744351669439759665},
		{1, 0.01, -0.01005, 0.0099996675049777383293, 0.011875155713201747938},
		{1, 0.01, 0.0099, 0.0019120310693440613602, 3.0692100690174508116e-9},
		{2, 0.999, 3, 3.3585797940270604028e-10, 2.6359514448014376061e-10},
		{2, 0.999, -6, 0.99752124782333364158, 0.99752124782333364158},
		{0.05, 0.3, 150, 0.29744935521686535953, 0},
		{50, 1e-06, 1e-08, 3.9909830256742614192e-9, 3.9205712589346722088e-9},
		{50, 1e-06, -1e-08, 1.3920571169728960191e-8, 1.3990982935764431738e-8},
		{10000, 0.5, 1e-05, 0.000015344906269615002169, 0.000015344710747290482948},
		{0.3, 0.001, -0.0003, 0.00092034463921072688965, 0.0011909402179118713775},
		{1, 0.75, 1.38, 0.035206941953592377186, 6.675531846241638216e-12},
		{1, 0.75, -1.38, 0.74842144694192288275, 0.75727875845458707047},
		{1, 0.5, 60, 9.1652274892556341394e-792, 0},
	} {
		m := must(t)(SubsampledGaussian(x.sigma, x.rate))
		for i, want := range []float64{x.removed, x.added} {
			l := []dominatingPair{m.pair, m.added}[i]
			b := Bounds{l.deltaLower(x.epsilon), l.deltaUpper(x.epsilon)}
			// The rounding of want itself; and what cancels near the largest loss.
			if b.Lower > want*(1+4*roundoff) || b.Upper < want*(1-4*roundoff) || b.Upper-b.Lower > 1e-7*want+1e-290 {
				t.Errorf("sigma %g, rate %g at %g, order %d: %v, want %.20g", x.sigma, x.rate, x.epsilon, i, b, want)
			}
		}
	}
}

// mixtures are the densities of B and A on a fine grid, and their weights in a sum.
func mixtures(sigma, rate float64) (b, a []float64) {
	const parts = 1 << 16
	from, to := -12*sigma, 1+12*sigma
	width := (to - from) / parts
	density := func(x float64) float64 {
		return width * math.Exp(-x*x/(2*sigma*sigma)) / (sigma * math.Sqrt(2*math.Pi))
	}
	for i := range parts {
		x := from + (float64(i)+0.5)*width
		a = append(a, density(x))
		b = append(b, (1-rate)*density(x)+rate*density(x-1))
	}
	return b, a
}

// TestSubsampledQuadrature compares one and two releases, and one beside another mechanism,
// with integrals of the densities, which do without any of the formulas. Of two releases the
// first is integrated over, and the second's profile, a sum over a grid of losses.
func TestSubsampledQuadrature(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	positive := func(p, q []float64, alpha float64) (sum float64) {
		for i := range p {
			sum += math.Max(0, p[i]-alpha*q[i])
		}
		return sum
	}
	for _, x := range []struct{ sigma, rate float64 }{{1, 0.1}, {0.7, 0.02}, {2, 0.6}, {0.4, 0.3}} {
		m := must(t)(SubsampledGaussian(x.sigma, x.rate))
		b, a := mixtures(x.sigma, x.rate)
		orders := [][2][]float64{{b, a}, {a, b}}
		for _, epsilon := range []float64{0, 0.03, 0.2, 1, 2.5} {
			alpha := math.Exp(epsilon)
			one, two, mixed := 0.0, 0.0, 0.0
			for _, o := range orders {
				p, q := o[0], o[1]
				one = math.Max(one, positive(p, q, alpha))
				// Randomized response of epsilon 0.5 beside it: two losses.
				keep := 1 / (1 + math.Exp(-0.5))
				mixed = math.Max(mixed, keep*positive(p, q, alpha*math.Exp(-0.5))+(1-keep)*positive(p, q, alpha*math.Exp(0.5)))
				// The profile of the second release at every loss, by sums over sorted losses.
				second, sum := secondProfile(p, q), 0.0
				for i := range p {
					if p[i] > 0 {
						sum += p[i] * second(alpha*q[i]/p[i])
					}
				}
				two = math.Max(two, sum)
			}
			for _, y := range []struct {
				what string
				of   *Composition
				want float64
			}{
				{"once", compose(t, Release{m, 1}), one},
				{"twice", compose(t, Release{m, 2}), two},
				{"beside randomized response", compose(t, Release{m, 1}, Release{must(t)(RandomizedResponse(0.5, 2)), 1}), mixed},
			} {
				d := delta(t, y.of, epsilon)
				if d.Lower > y.want*(1+1e-4)+1e-9 || d.Upper < y.want*(1-1e-4)-1e-9 || d.Upper-d.Lower > 0.1*y.want+1e-9 {
					t.Errorf("sigma %g, rate %g, %s: delta at %g is %v, quadrature %g", x.sigma, x.rate, y.what, epsilon, d, y.want)
				}
			}
		}
	}
}

// secondProfile returns α → Σ (p − αq)₊ for laws whose losses are monotone in the index.
func secondProfile(p, q []float64) func(alpha float64) float64 {
	n := len(p)
	up := p[n-1]*q[0] > p[0]*q[n-1] // losses rise
	// Sums over the outputs of larger losses.
	sumP, sumQ := make([]float64, n+1), make([]float64, n+1)
	at := func(k int) int { // in the order of falling losses
		if up {
			return n - 1 - k
		}
		return k
	}
	for k := range n {
		sumP[k+1], sumQ[k+1] = sumP[k]+p[at(k)], sumQ[k]+q[at(k)]
	}
	return func(alpha float64) float64 {
		lo, hi := 0, n // those before lo are positive
		for lo < hi {
			if middle := (lo + hi) / 2; p[at(middle)] > alpha*q[at(middle)] {
				lo = middle + 1
			} else {
				hi = middle
			}
		}
		return math.Max(0, sumP[lo]-alpha*sumQ[lo])
	}
}

// A rate of 1 is the Gaussian itself, and a tiny one costs next to nothing; the loss of a
// composition grows with the rate, and so does that of its steps.
func TestSubsampledLimits(t *testing.T) {
	all, plain := compose(t, Release{must(t)(SubsampledGaussian(3, 1)), 20}), compose(t, Release{must(t)(Gaussian(3)), 20})
	x, err := all.Epsilon(1e-6)
	y, err2 := plain.Epsilon(1e-6)
	if err != nil || err2 != nil || x != y {
		t.Errorf("rate 1: %v, %v, the Gaussian %v, %v", x, err, y, err2)
	}
	last := Bounds{}
	for _, rate := range []float64{0x1p-40, 1e-6, 1e-3, 0.1, 0.9, 1 - 1e-9, 1} {
		e, err := compose(t, Release{must(t)(SubsampledGaussian(3, rate)), 20}).Epsilon(1e-6)
		if err != nil || e.Upper < last.Lower || e.Upper > y.Upper*1.01 {
			t.Errorf("rate %g: %v, %v, after %v", rate, e, err, last)
		}
		if rate == 0x1p-40 && e.Upper > 1e-9 || rate == 1-1e-9 && e.Lower < 0.99*y.Lower {
			t.Errorf("rate %g: %v", rate, e)
		}
		last = e
	}
	// The person's own loss is bounded when added: −log(1−rate) a release.
	added := must(t)(SubsampledGaussian(0.5, 0.01)).added
	if most := -math.Log1p(-0.01); added.deltaUpper(most*(1+1e-12)) != 0 || added.deltaUpper(most*0.999) == 0 {
		t.Errorf("added: delta %g at the largest loss, %g below", added.deltaUpper(most*(1+1e-12)), added.deltaUpper(most*0.999))
	}
}

// TestSubsampledWidth: bounds within 1 % of each other where most losses lie close together,
// and those asked for δ and for ε agree.
func TestSubsampledWidth(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, x := range []struct {
		sigma, rate float64
		steps       int
		delta       float64
	}{
		{0.7, 64.0 / 45000, 54000, 1e-5},
		{0.5, 0.01, 2, 1e-5},
		{1, 1e-6, 100000, 1e-8},
		{0.3, 0.2, 50, 1e-6},
	} {
		c := compose(t, Release{must(t)(SubsampledGaussian(x.sigma, x.rate)), x.steps})
		e, err := c.Epsilon(x.delta)
		if err != nil {
			t.Fatal(err)
		}
		what := fmt.Sprintf("sigma %g, rate %g, %d steps", x.sigma, x.rate, x.steps)
		if !(e.Lower > 0 && e.Upper-e.Lower <= 0.01*e.Upper) {
			t.Errorf("%s: epsilon at %g is %v, want 1 %%", what, x.delta, e)
		}
		d := delta(t, c, e.Upper)
		if d.Upper > 1.01*x.delta || d.Lower > x.delta || d.Lower < 0.8*x.delta {
			t.Errorf("%s: delta at %g is %v, want about %g", what, e.Upper, d, x.delta)
		}
	}
}

func TestSubsampledMultiplier(t *testing.T) {
	m, b, err := SubsampledMultiplier(0.01, 1000, 1.83, 1e-5)
	if err != nil || math.Abs(m-1) > 0.002 || b.Upper > 1.83 || b.Upper < 1.82 {
		t.Errorf("multiplier %g, %v, %v, want about 1", m, b, err)
	}
	// The epsilon is kept by what is proved, not by what may be true: here a multiplier of 1, the first tried, may be enough.
	between, err := subsampledEpsilon(1, 0.2, 3, 1e-5)
	if epsilon := (between.Lower + between.Upper) / 2; err == nil {
		m, b, err = SubsampledMultiplier(0.2, 3, epsilon, 1e-5)
		if err != nil || b.Upper > epsilon || b.Upper < epsilon*(1-multiplierTolerance) || m <= 1 {
			t.Errorf("multiplier %g, %v, %v, want at most %g", m, b, err, epsilon)
		}
	}
	// One step at rate 1 is the analytic Gaussian.
	m, b, err = SubsampledMultiplier(1, 1, 1, 1e-6)
	if g := must(t)(AnalyticGaussian(1, 1e-6)).pair; err != nil || b.Upper > 1 || must(t)(Gaussian(m*(1-multiplierTolerance))).pair.deltaUpper(1) <= g.deltaUpper(1) {
		t.Errorf("multiplier %g, %v, %v: not the smallest", m, b, err)
	}
	for _, x := range []struct {
		rate           float64
		steps          int
		epsilon, delta float64
	}{
		{0, 1, 1, 1e-5},
		{1.1, 1, 1, 1e-5},
		{math.NaN(), 1, 1, 1e-5},
		{0.1, 0, 1, 1e-5},
		{0.1, 1, 0, 1e-5},
		{0.1, 1, math.Inf(1), 1e-5},
		{0.1, 1, 1, 0},
		{0.1, 1, 1, 1},
		{0.5, 1000, 1e-9, 1e-12},
	} {
		if m, _, err := SubsampledMultiplier(x.rate, x.steps, x.epsilon, x.delta); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%+v: %g, %v, want it to wrap dp.ErrInvalid", x, m, err)
		}
	}
	for _, x := range [][2]float64{{0.01, 0.1}, {1e7, 0.1}, {math.NaN(), 0.1}, {1, 0}, {1, -1}, {1, 2}, {1, math.NaN()}} {
		if _, err := SubsampledGaussian(x[0], x[1]); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("multiplier %g, rate %g: %v, want it to wrap dp.ErrInvalid", x[0], x[1], err)
		}
	}
}
