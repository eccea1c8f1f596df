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
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/proof"
)

func big400(x float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(x) }

func sum400(x ...*big.Float) *big.Float {
	out := big400(0)
	for _, y := range x {
		out.Add(out, y)
	}
	return out
}

func times400(x ...*big.Float) *big.Float {
	out := big400(1)
	for _, y := range x {
		out.Mul(out, y)
	}
	return out
}

func over400(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(precision).Quo(x, y) }
func minus400(x *big.Float) *big.Float   { return new(big.Float).Neg(x) }

// output is an output, or outputs of one privacy loss: its probability for either of two neighbors.
type output struct{ p, q *big.Float }

// responses are the outputs of randomized response, the true category and another one first.
func responses(epsilon float64, categories int) []output {
	e := bigExp(epsilon)
	whole := sum400(e, big400(float64(categories-1)))
	p, q := over400(e, whole), over400(big400(1), whole)
	rest := times400(q, big400(float64(categories-2)))
	return []output{{p, q}, {q, p}, {rest, rest}}
}

// approximate fails with probability delta, and is randomized response else.
func approximate(epsilon, delta float64) []output {
	works := sum400(big400(1), big400(-delta))
	out := []output{{big400(delta), big400(0)}, {big400(0), big400(delta)}}
	for _, o := range responses(epsilon, 2)[:2] {
		out = append(out, output{times400(o.p, works), times400(o.q, works)})
	}
	return out
}

// normalized are outputs whose weights are known up to a factor.
func normalized(weights []output) []output {
	whole := big400(0)
	for _, o := range weights {
		whole = sum400(whole, o.p)
	}
	for i, o := range weights {
		weights[i] = output{over400(o.p, whole), over400(o.q, whole)}
	}
	return weights
}

// geometricNoise has weights e^(−t|n|), shifted by an integer; t is ε over it, exactly.
func geometricNoise(epsilon float64, shift int) []output {
	t := epsilon / float64(shift)
	side := over400(big400(1), sum400(big400(1), minus400(bigExp(-t)))) // Σ over n >= 0
	far := times400(side, bigExp(-epsilon))
	weights := []output{{side, far}, {far, side}}
	for n := 1; n < shift; n++ {
		weights = append(weights, output{bigExp(-t * float64(n)), bigExp(-t * float64(shift-n))})
	}
	return normalized(weights)
}

// normalIntegers has weights e^(−n²/(2σ²)), shifted by an integer; σ is a power of 2.
func normalIntegers(sigma float64, shift int) []output {
	var weights []output
	weight := func(n int) *big.Float {
		if x := float64(n) / sigma; math.Abs(x) < 36 {
			return bigExp(-x * x / 2)
		}
		return big400(0)
	}
	for n := -int(40 * sigma); n <= int(40*sigma)+shift; n++ {
		weights = append(weights, output{weight(n), weight(n - shift)})
	}
	return normalized(weights)
}

// stairs has the density of a staircase, shifted by its sensitivity, 1; all pieces beyond the first unit
// have the loss of those next to it.
func stairs(epsilon, gamma float64) []output {
	b := bigExp(-epsilon)
	density := func(x float64) *big.Float { // |x| <= 1, up to a factor
		if math.Abs(x) < gamma {
			return big400(1)
		}
		return b
	}
	whole := over400(sum400(big400(gamma), times400(b, sum400(big400(1), big400(-gamma)))), sum400(big400(1), minus400(b)))
	weights := []output{{whole, times400(b, whole)}, {times400(b, whole), whole}} // below 0, from 1 on
	ends := []float64{0, math.Min(gamma, 1-gamma), math.Max(gamma, 1-gamma), 1}
	for i := range 3 {
		width, x := sum400(big400(ends[i+1]), big400(-ends[i])), (ends[i]+ends[i+1])/2
		weights = append(weights, output{times400(width, density(x)), times400(width, density(x-1))})
	}
	return normalized(weights)
}

// profileOf is δ at an epsilon, from its definition.
func profileOf(outputs []output, epsilon float64) *big.Float {
	d, alpha := big400(0), bigExp(epsilon)
	for _, o := range outputs {
		if x := sum400(o.p, minus400(times400(alpha, o.q))); x.Sign() > 0 {
			d = sum400(d, x)
		}
	}
	return d
}

// holds checks that a number is in a bracket, to the last bit, and that this is narrow.
func holds(t *testing.T, what string, low, high float64, truth *big.Float, width float64) {
	t.Helper()
	f, _ := truth.Float64()
	hair := big400(0x1p-360) // of the truth, which cancels
	if sum400(truth, hair).Cmp(big400(low)) < 0 || sum400(truth, minus400(hair)).Cmp(big400(high)) > 0 || high > 1 || high-low > width*(f+0.1) {
		t.Errorf("%s: %v to %v, want %s", what, low, high, truth.Text('g', 25))
	}
}

// TestDiscreteForms: the bounds of laws of finitely many losses hold what the definition gives, to the last bit.
func TestDiscreteForms(t *testing.T) {
	tuned := func(epsilon float64, l loss.Loss) []output {
		gamma, err := noise.StaircaseStep(dp.Privacy{Epsilon: epsilon, Sensitivity: 1}, l)
		if err != nil {
			t.Fatal(err)
		}
		return stairs(epsilon, gamma)
	}
	for text, outputs := range map[string][]output{
		"randomized-response:epsilon=0.7,categories=2":     responses(0.7, 2),
		"randomized-response:epsilon=2,categories=3":       responses(2, 3),
		"randomized-response:epsilon=0.01,categories=1000": responses(0.01, 1000),
		"randomized-response:epsilon=90,categories=2":      responses(90, 2),
		"dp:epsilon=0.3,delta=0.1":                         approximate(0.3, 0.1),
		"dp:epsilon=5,delta=1e-9":                          approximate(5, 1e-9),
		"dp:epsilon=1,delta=0":                             approximate(1, 0),
		"dp:epsilon=0,delta=0.25":                          approximate(0, 0.25),
		"discrete-laplace:epsilon=0.7,sensitivity=1":       geometricNoise(0.7, 1),
		"discrete-laplace:epsilon=1.5,sensitivity=3":       geometricNoise(1.5, 3),
		"discrete-laplace:epsilon=4,sensitivity=8":         geometricNoise(4, 8),
		"discrete-gaussian:sigma=1,sensitivity=1":          normalIntegers(1, 1),
		"discrete-gaussian:sigma=0.5,sensitivity=3":        normalIntegers(0.5, 3),
		"discrete-gaussian:sigma=4,sensitivity=3":          normalIntegers(4, 3),
		"staircase:epsilon=0.5":                            tuned(0.5, loss.L1),
		"staircase:epsilon=3":                              tuned(3, loss.L1),
		"staircase:epsilon=3,loss=l2":                      tuned(3, loss.L2),
	} {
		l := must(t)(parse(text)).pair
		a := l.(*atoms) //nolint:forcetypeassert // all of these are
		if len(a.loss) > 2 && a.natural > 0 && a.loss[0] != a.natural {
			t.Errorf("%s: a largest loss of %v, want %v", text, a.loss[0], a.natural)
		}
		for _, epsilon := range []float64{-5, -1.1, -0.25, 0, 1e-9, 0.01, 0.25, 0.5, 0.5 * (1 - 0x1p-40), 0.7, 1, 1.3, 2, 3, 5, 8, 89, 90, 300} {
			holds(t, fmt.Sprintf("%s at %v", text, epsilon), l.deltaLower(epsilon), l.deltaUpper(epsilon), profileOf(outputs, epsilon), 3e-10)
		}
	}
}

// TestLossesNextToOthers: a large loss that is right to a few roundoffs may be above an ε that it is computed to be below.
func TestLossesNextToOthers(t *testing.T) {
	for _, epsilon := range []float64{1, 90, 500} {
		wrong := 16 * roundoff * epsilon
		l := newAtoms([]float64{epsilon + 1, epsilon - wrong, epsilon - 1}, []float64{1e-15, 0.5, 0.5}, 0, 0)
		if least := 0.5 * -math.Expm1(-wrong); l.deltaUpper(epsilon) < least {
			t.Errorf("delta(%v) <= %g, and it may be %g", epsilon, l.deltaUpper(epsilon), least)
		}
		l = newAtoms([]float64{epsilon + 1, epsilon + wrong, epsilon - 1}, []float64{1e-30, 0.5, 0.5}, 0, 0)
		if most := 1e-30; l.deltaLower(epsilon) > most {
			t.Errorf("delta(%v) >= %g, and it may be %g", epsilon, l.deltaLower(epsilon), most)
		}
	}
}

// normal brackets 1 − Φ(x).
func normal(x *big.Rat) (low, high *big.Float) {
	size := new(big.Rat).Abs(x)
	a, b := exact.NormalTail(size.Num(), size.Denom())
	of := func(n *big.Int) *big.Float {
		f := new(big.Float).SetPrec(precision).SetInt(n)
		return f.SetMantExp(f, -exact.NormalBits)
	}
	if x.Sign() < 0 {
		return sum400(big400(1), minus400(of(b))), sum400(big400(1), minus400(of(a)))
	}
	return of(a), of(b)
}

// TestContinuousForms is the same for closed forms, their profiles and the laws of their losses.
func TestContinuousForms(t *testing.T) {
	one := big400(1)
	check := func(what string, c *continuous, e float64, d, p, q *big.Float) {
		t.Helper()
		what = fmt.Sprintf("%s at %v", what, e)
		low, high := c.profile(e)
		holds(t, what+", delta", math.Max(0, low), math.Min(1, high), d, 1e-11)
		if low > 0 && high > 1+1e-12 {
			t.Errorf("%s: a profile of %v", what, high)
		}
		gotP, gotQ := c.survival(e)
		holds(t, what+", P", gotP.low, math.Min(1, gotP.high), p, 1e-11)
		holds(t, what+", Q", math.Max(0, gotQ.low), math.Min(1, gotQ.high), q, 1e-11)
	}
	for _, epsilon := range []float64{0.125, 0.7, 1, 6, 64} {
		half := func(x float64) *big.Float { return over400(bigExp(x/2), big400(2)) } // e^(x/2)/2
		for _, share := range []float64{-2, -1, -1 + 0x1p-30, -0.5, 0, 0x1p-30, 0.25, 0.5, 1 - 0x1p-30, 1 - 0x1p-52, 1, 1 + 0x1p-52, 1.5} {
			e := share * epsilon
			grown := sum400(bigExp(e), minus400(one)) // e^ε − 1
			var d, p, q *big.Float
			switch {
			case e < -epsilon:
				d, p, q = minus400(grown), one, one
			case e > epsilon:
				d, p, q = big400(0), big400(0), big400(0)
			default:
				d = sum400(one, minus400(times400(half(e-epsilon), big400(2))))
				p, q = sum400(one, minus400(half(e-epsilon))), half(-(e + epsilon))
			}
			if e == -epsilon {
				p, q = one, one
			}
			check(fmt.Sprintf("laplace %v", epsilon), must(t)(Laplace(epsilon)).pair.(*continuous), e, d, p, q) //nolint:forcetypeassert // it is

			for _, delta := range []float64{1e-12, 0.01, 0.5} {
				end := sum400(bigExp(epsilon), minus400(one))
				r := over400(big400(2*delta), end)
				more := sum400(one, r)
				switch {
				case e <= -epsilon:
					d, p, q = sum400(minus400(grown), times400(big400(delta), bigExp(e))), one, sum400(one, big400(-delta))
				case e > epsilon:
					d, p, q = big400(delta), big400(delta), big400(0)
				default:
					d = sum400(times400(more, sum400(one, minus400(times400(half(e-epsilon), big400(2))))), over400(times400(big400(delta), grown), end))
					p = sum400(big400(0.5), times400(more, sum400(big400(0.5), minus400(half(e-epsilon)))))
					q = sum400(times400(more, half(-(e+epsilon))), minus400(over400(r, big400(2))))
				}
				check(fmt.Sprintf("truncated %v, %v", epsilon, delta), must(t)(TruncatedLaplace(epsilon, delta)).pair.(*continuous), e, d, p, q) //nolint:forcetypeassert // it is
			}
		}
	}
	for _, multiplier := range []float64{0.0625, 0.3, 1, 8, 1000} {
		c := gaussian(multiplier)
		mu := new(big.Rat).Inv(exact.Rational(multiplier))
		shift := new(big.Rat).Quo(mu, big.NewRat(2, 1))
		for _, x := range []float64{-3, -1, -0.1, 0, 0.1, 1, 3, 6} {
			e := x/multiplier + 1/(2*multiplier*multiplier)
			if math.Abs(e) > 600 || e < 0 && math.Abs(e) > 30 {
				continue
			}
			at := new(big.Rat).Mul(exact.Rational(e), exact.Rational(multiplier))
			gain, gainHigh := normal(new(big.Rat).Sub(at, shift))
			price, priceHigh := normal(new(big.Rat).Add(at, shift))
			low, high := c.profile(e)
			least := sum400(gain, minus400(times400(bigExp(e), priceHigh)))
			most := sum400(gainHigh, minus400(times400(bigExp(e), price)))
			if most.Cmp(big400(low)) < 0 || least.Cmp(big400(high)) > 0 || high-low > 1e-9*high+1e-15 {
				t.Errorf("gaussian %v at %v: %v to %v, want %s", multiplier, e, low, high, least.Text('g', 25))
			}
		}
	}
}

// TestGaussianAtTheEnds: where exponentials and tails leave float64 the bounds are on the safe side.
func TestGaussianAtTheEnds(t *testing.T) {
	for _, multiplier := range []float64{0.05, 1, 1e6} {
		c := gaussian(multiplier)
		for _, e := range []float64{0, 1, 150, 690, 709, 710, 1e4, 1e6, 1e9, 1e300, math.MaxFloat64} {
			low, high := c.profile(e)
			gain, _ := c.survival(math.Min(e, 1e6))
			if !(low <= high && high > 0 && high <= gain.high*(1+1e-9)+0x1p-900 && low < 1) {
				t.Errorf("multiplier %g at %g: %g to %g", multiplier, e, low, high)
			}
		}
	}
	if l := must(t)(RandomizedResponse(100, 2)).pair; l.deltaUpper(0) > 1 {
		t.Errorf("delta = %v", l.deltaUpper(0))
	}
	if l := gaussian(0.05); l.deltaUpper(0) > 1 {
		t.Errorf("delta = %v", l.deltaUpper(0))
	}
}

// TestAnalyticGaussian: it keeps what it is asked for, as far as its bounds prove, and no smaller one does.
func TestAnalyticGaussian(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 400 {
		epsilon, delta := math.Exp(6*r.Float64()-4), math.Exp(-25*r.Float64()-0.5)
		c := must(t)(AnalyticGaussian(epsilon, delta)).pair.(*continuous) //nolint:forcetypeassert // it is
		if d := c.deltaUpper(epsilon); d > delta || gaussian(c.multiplier*(1-1e-9)).deltaUpper(epsilon) < delta {
			t.Fatalf("epsilon %v, delta %v: a multiplier of %v has delta %v", epsilon, delta, c.multiplier, d)
		}
	}
}

// TestMergedGaussians: noise of several multipliers is bounded by that of multipliers on either side of the one
// that all are together, also where thousands of kinds are added up.
func TestMergedGaussians(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for _, kinds := range []int{1, 2, 3, 9, 20000} {
		var releases []Release
		squares := new(big.Rat)
		common := 0.0
		for i := range kinds {
			m := 15 * math.Sqrt(float64(kinds)) * (1 + r.Float64()/8)
			if i < 9 {
				common = m
			} else { // of nine kinds, so that the sum stays short
				m = common
			}
			releases = append(releases, Release{must(t)(Gaussian(m)), 2})
			s := new(big.Rat).Inv(exact.Rational(m))
			squares.Add(squares, s.Mul(s, s).Mul(s, big.NewRat(2, 1)))
		}
		m := new(big.Float).Sqrt(new(big.Float).SetPrec(precision).SetRat(squares.Inv(squares)))
		got := mergeGaussians(append(releases, Release{must(t)(Laplace(1)), 7}))
		if len(got) != 2 || got[0].Times != 1 || got[1].Times != 7 {
			t.Fatalf("%d releases, the first %d times", len(got), got[0].Times)
		}
		c := got[0].PLD.pair.(*continuous) //nolint:forcetypeassert // it is
		if m.Cmp(big400(c.multiplier)) <= 0 {
			t.Errorf("%d kinds: a multiplier of %v, want one below %s", kinds, c.multiplier, m.Text('g', 20))
		}
		if kinds < 20000 { // there the margin of a tail is as large
			continue
		}
		root, _ := m.Float64()
		truth := gaussian(root)
		for _, e := range []float64{0.5, 1, 2} {
			low, high := c.profile(e)
			if least, most := truth.profile(e); high < most || low > least || high-low > 1e-7*high {
				t.Errorf("at %v: %v to %v, want %v to %v in it", e, low, high, least, most)
			}
			p, _ := c.survival(e)
			if q, _ := truth.survival(e); p.high > q.low {
				t.Errorf("at %v: P = %v, want less than %v", e, p, q)
			}
		}
	}
}

// TestRefusedForms: what is out of range is refused, and the last of a range is not.
func TestRefusedForms(t *testing.T) {
	refused := func(what string, err error, want bool) {
		t.Helper()
		if (err != nil) != want || want && !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%s: %v, want it refused: %t", what, err, want)
		}
	}
	nan := math.NaN()
	for _, categories := range []int{-1, 0, 1, 2, 1 << 30, 1<<30 + 1} {
		_, err := RandomizedResponse(1, categories)
		refused(fmt.Sprint(categories, " categories"), err, categories < 2 || categories > 1<<30)
	}
	for _, x := range []struct {
		epsilon, delta float64
		refused        bool
	}{
		{0, 0, true},
		{0, 0.5, false},
		{5e-324, 0, false},
		{-5e-324, 0.5, true},
		{100, 0, false},
		{math.Nextafter(100, 200), 0, true},
		{nan, 0.5, true},
		{1, nan, true},
		{1, 1, true},
		{1, -5e-324, true},
		{1, math.Nextafter(1, 0), false},
	} {
		_, err := Approximate(x.epsilon, x.delta)
		refused(fmt.Sprint("approximate ", x), err, x.refused)
	}
	for _, epsilon := range []float64{0, -1, nan, math.Inf(1), math.Nextafter(100, 200), 100, 5e-324} {
		want := !(epsilon > 0 && epsilon <= 100)
		for i, of := range []func() (*PrivacyLossDistribution, error){
			func() (*PrivacyLossDistribution, error) { return Laplace(epsilon) },
			func() (*PrivacyLossDistribution, error) { return RandomizedResponse(epsilon, 2) },
			func() (*PrivacyLossDistribution, error) { return DiscreteLaplace(epsilon, 2) },
		} {
			_, err := of()
			refused(fmt.Sprint("epsilon ", epsilon, " of ", i), err, want)
		}
	}
	for _, x := range []struct {
		epsilon, delta float64
		refused        bool
	}{{100, 0.5, false}, {1, math.Nextafter(0.5, 1), true}, {1, 5e-324, false}, {1, 0, true}, {0, 0.1, true}} {
		_, err := TruncatedLaplace(x.epsilon, x.delta)
		refused(fmt.Sprint("truncated ", x), err, x.refused)
	}
	for _, n := range []int{-1, 0, 1, maxSteps, maxSteps + 1} {
		refused(fmt.Sprint("sensitivity ", n), checkSteps(n), n < 1 || n > 1<<20)
	}
	for _, x := range []struct {
		sigma       float64
		sensitivity int
		refused     bool
	}{{0.05, 1, false}, {0.1, 3, true}, {0, 1, true}, {-1, 1, true}, {nan, 1, true}, {100001, 1, true}, {1, 0, true}} {
		_, err := DiscreteGaussian(x.sigma, x.sensitivity)
		refused(fmt.Sprint("discrete Gaussian ", x), err, x.refused)
	}
	for _, m := range []float64{0.05, math.Nextafter(0.05, 0), 1e6, math.Nextafter(1e6, 1e7), 0, -1, nan} {
		_, err := Gaussian(m)
		refused(fmt.Sprint("multiplier ", m), err, !(m >= 0.05 && m <= 1e6))
	}
	for _, rate := range []float64{0x1p-40, math.Nextafter(0x1p-40, 0), 1, math.Nextafter(1, 2), nan} {
		_, err := SubsampledGaussian(1, rate)
		refused(fmt.Sprint("rate ", rate), err, !(rate >= 0x1p-40 && rate <= 1))
	}
}

// TestDistinctPairs: leaving out mirror images leaves the largest profile as it is, with shifts and without.
func TestDistinctPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	halved := 0
	for trial := range 400 {
		n := 2 + r.IntN(3)
		rows := make([][]uint64, n)
		for k := range rows {
			rows[k] = make([]uint64, 3)
			left := ^uint64(0)
			for j := range 2 {
				rows[k][j] = uint64(float64(left) * r.Float64() * 0.7)
				left -= rows[k][j]
			}
			rows[k][2] = left
			if trial%3 > 0 && 2*k >= n { // mirror images
				rows[k] = reversed(rows[n-1-k])
			}
		}
		if trial%3 > 0 && n%2 == 1 {
			rows[n/2] = []uint64{1 << 62, 1 << 63, 1 << 62}
		}
		var all []proof.Pair
		for g := range n {
			for l := range n {
				if g == l {
					continue
				}
				all = append(all, proof.Pair{Gain: g, Lose: l})
				if trial%4 == 0 { // a shift whose opposite is not there
					all = append(all, proof.Pair{Gain: g, Lose: l, Shift: 1})
				}
			}
		}
		if trial%5 == 0 { // images that are not there
			all = all[:1+r.IntN(len(all))]
		}
		kept := distinct(rows, all)
		if len(kept) < len(all) {
			halved++
		}
		l := &laws{}
		for _, row := range rows {
			l.rows = append(l.rows, law{row, logs(row)})
		}
		for _, epsilon := range []float64{0, 0.5, 2} {
			l.pairs = all
			want := l.deltaUpper(epsilon)
			if l.pairs = kept; l.deltaUpper(epsilon) != want {
				t.Fatalf("trial %d: delta(%g) = %v of %d of %d pairs, want %v", trial, epsilon, l.deltaUpper(epsilon), len(kept), len(all), want)
			}
		}
	}
	if halved < 50 {
		t.Errorf("%d were halved", halved)
	}
}
