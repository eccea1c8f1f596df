// SPDX-License-Identifier: Apache-2.0

package account

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/limits"
)

// vague is a law of which little is proved: its δ is 1 below low, 0 from high on, and between them 1 or 0;
// own is the ε it is made for.
type vague struct {
	dominatingPair
	own, low, high float64
}

func (v vague) unit(float64) float64 { return v.own }

func (v vague) deltaUpper(epsilon float64) float64 {
	if epsilon < v.high {
		return 1
	}
	return 0
}

func (v vague) deltaLower(epsilon float64) float64 {
	if epsilon < v.low {
		return 1
	}
	return 0
}

func (v vague) epsilonUpper(float64) (float64, error) { return v.high, nil }

// TestVagueLaws: upper bounds rest on upper bounds, lower ones on lower ones, and sums are rounded outwards.
func TestVagueLaws(t *testing.T) {
	of := func(own, low, high float64) *PrivacyLossDistribution {
		return &PrivacyLossDistribution{pair: vague{own: own, low: low, high: high}}
	}
	for _, own := range []float64{0, 0.25, 0.5, 1, 1.5, 2} {
		b, err := compose(t, Release{of(own, 0.5, 1.5), 1}).Epsilon(0.25)
		if err != nil || b.Upper != 1.5 || b.Lower < 0.5*(1-1e-9) || b.Lower > 0.5 {
			t.Errorf("own epsilon %g: %v, %v, want 0.5 to 1.5", own, b, err)
		}
	}
	if b, err := compose(t, Release{of(0.1, 0.05, 0.1), 1}).Epsilon(0.25); err != nil || b.Upper != 0.1 {
		t.Errorf("%v, %v, want the own epsilon 0.1", b, err)
	}
	for n := 2; n < 40; n++ {
		c := compose(t, Release{of(0, 0.05, 0.1), n}, Release{of(0, 0.3, 0.7), 1})
		upper := exact.Rational(0.1)
		upper.Mul(upper, big.NewRat(int64(n), 1)).Add(upper, exact.Rational(0.7))
		lower := new(big.Rat)
		for i, r := range c.releases {
			b, err := compose(t, Release{r.PLD, 1}).Epsilon(0)
			if truth := []float64{0.05, 0.3}[i]; err != nil || b.Lower < truth*(1-1e-9) || b.Lower > truth {
				t.Fatalf("%v, %v, want at least %g", b, err, truth)
			}
			lower.Add(lower, new(big.Rat).Mul(exact.Rational(b.Lower), big.NewRat(int64(r.Times), 1)))
		}
		b, err := c.Epsilon(0)
		if err != nil || exact.Rational(b.Upper).Cmp(upper) < 0 || exact.Rational(math.Nextafter(b.Upper, 0)).Cmp(upper) > 0 {
			t.Errorf("%d releases: at most %v, %v, want %s rounded up", n+1, b.Upper, err, upper.FloatString(20))
		}
		if exact.Rational(b.Lower).Cmp(lower) > 0 || exact.Rational(math.Nextafter(b.Lower, 1e9)).Cmp(lower) < 0 {
			t.Errorf("%d releases: at least %v, want %s rounded down", n+1, b.Lower, lower.FloatString(20))
		}
	}
}

// TestOrdersOfNeighbors: where it matters which of two neighbors has more, both are composed, each with
// the others of its kind, and the worse one counts, whichever it is.
func TestOrdersOfNeighbors(t *testing.T) {
	small, large := must(t)(RandomizedResponse(0.25, 2)).pair, must(t)(RandomizedResponse(1, 2)).pair
	plain := Release{&PrivacyLossDistribution{pair: small}, 1}
	for _, both := range []*PrivacyLossDistribution{{pair: small, added: large}, {pair: large, added: small}} {
		for _, x := range []struct {
			got, want []Release
		}{
			{[]Release{{both, 1}}, []Release{{&PrivacyLossDistribution{pair: large}, 1}}},
			{[]Release{{both, 3}}, []Release{{&PrivacyLossDistribution{pair: large}, 3}}},
			{[]Release{plain, {both, 2}}, []Release{plain, {&PrivacyLossDistribution{pair: large}, 2}}},
		} {
			got, want := compose(t, x.got...), compose(t, x.want...)
			for _, epsilon := range []float64{0, 0.3, 0.9} {
				if g, w := delta(t, got, epsilon), delta(t, want, epsilon); g != w {
					t.Errorf("%d releases: delta(%g) = %v, want %v", got.Count(), epsilon, g, w)
				}
			}
			for _, d := range []float64{0, 1e-3, 0.1} {
				g, err := got.Epsilon(d)
				w, failed := want.Epsilon(d)
				if err != nil || failed != nil || g != w {
					t.Errorf("%d releases: epsilon(%g) = %v, %v, want %v", got.Count(), d, g, err, w)
				}
			}
		}
	}
}

// promised is a law made for an epsilon of its own.
type promised struct {
	dominatingPair
	own float64
}

func (p promised) unit(float64) float64 { return p.own }

// TestOwnEpsilons: the sum of the epsilons that releases are made for is no answer at a δ below the sum
// of what each has there. Two normal noises are one, of which the truth is known.
func TestOwnEpsilons(t *testing.T) {
	const own = 0.5
	single := must(t)(Gaussian(2)).pair
	c := compose(t, Release{&PrivacyLossDistribution{pair: promised{single, own}}, 2})
	truth := must(t)(Gaussian(math.Sqrt2)).pair
	for _, d := range []float64{truth.deltaLower(2 * own), 2.01 * single.deltaUpper(2*own), 2.01 * single.deltaUpper(own), 1e-9} {
		b, err := c.Epsilon(d)
		least := solveBelow(truth.deltaLower, d, 100)
		if err != nil || b.Upper < least || b.Lower > least*(1+1e-6) {
			t.Errorf("epsilon(%g) = %v, %v, want %g", d, b, err, least)
		}
	}
}

// TestEpsilonNearTheSum: of pure releases the sum of their own is the answer where δ is next to nothing, and
// not a hair less; of others it is where δ is the sum of theirs.
func TestEpsilonNearTheSum(t *testing.T) {
	for n := 2; n < 12; n++ {
		c := compose(t, Release{must(t)(RandomizedResponse(0.1, 2)), n})
		sum := exact.Rational(0.1)
		sum.Mul(sum, big.NewRat(int64(n), 1))
		least := exact.FloatDown(new(big.Rat).Mul(sum, big.NewRat(1<<40-1, 1<<40)))
		// P(all true) > 2^-n, and the loss n·ε is exceeded by nothing.
		for _, d := range []float64{0, 1e-25} {
			b, err := c.Epsilon(d)
			if err != nil || b.Upper < least || d == 0 && exact.Rational(b.Upper).Cmp(sum) < 0 || exact.Rational(b.Lower).Cmp(sum) > 0 {
				t.Errorf("%d releases: epsilon(%g) = %v, %v, want %s", n, d, b, err, sum.FloatString(20))
			}
		}
		pure, err := c.pure()
		if err != nil {
			t.Fatal(err)
		}
		if d := delta(t, c, math.Nextafter(pure.Upper, 0)); d.Upper == 0 && exact.Rational(pure.Upper).Cmp(sum) == 0 {
			t.Errorf("%d releases: delta is %v just below the sum", n, d)
		}
		if d := delta(t, c, pure.Lower); pure.Lower < pure.Upper*(1-1e-13) && d.Upper == 0 {
			t.Errorf("%d releases: delta is 0 at a lower bound of their epsilon", n)
		}

		const each = 0x1p-40 // so small that the truth is the sum to 1e-20
		c = compose(t, Release{must(t)(Approximate(0.1, each)), n})
		b, err := c.Epsilon(float64(n) * each)
		if err != nil || exact.Rational(b.Upper).Cmp(sum) < 0 || exact.Rational(b.Lower).Cmp(sum) > 0 {
			t.Errorf("%d releases: %v, %v, want %s rounded up", n, b, err, sum.FloatString(20))
		}
	}
}

// steps is a law whose δ falls in steps, and which notes where it is asked for.
type steps struct {
	dominatingPair
	own   float64
	asked *[]float64
}

func (s steps) unit(float64) float64 { return s.own }
func (s steps) deltaUpper(epsilon float64) float64 {
	*s.asked = append(*s.asked, epsilon)
	return 0.1 / (1 + math.Floor(64*epsilon/s.own))
}
func (s steps) deltaLower(float64) float64 { return 0 }

// TestBasicDelta: the δ that are added are those of epsilons whose sum is no larger than the one asked for,
// to the last bit, and the sum of the δ is rounded up.
func TestBasicDelta(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	near, above, inexact := 0, 0, 0
	for range 8000 {
		var asked []float64
		c := &Composition{width: 0.02}
		sum := new(big.Rat)
		for range 1 + r.IntN(3) {
			own, n := 0.5+r.Float64(), 1+r.IntN(5)
			c.releases = append(c.releases, Release{&PrivacyLossDistribution{pair: steps{own: own, asked: &asked}}, n})
			sum.Add(sum, new(big.Rat).Mul(exact.Rational(own), big.NewRat(int64(n), 1)))
		}
		whole := exact.FloatUp(sum)
		epsilon := whole * (1 - 0.025*r.Float64())
		if r.IntN(2) == 0 {
			epsilon = whole
			for range r.IntN(6) {
				epsilon = math.Nextafter(epsilon, float64(r.IntN(3)/2)*100)
			}
		}
		d := c.basicDeltaAt(epsilon)
		if len(asked) == 0 {
			if d != 1 || epsilon > whole*(1-0.0199) {
				t.Fatalf("delta(%v) = %v of the sum %v", epsilon, d, whole)
			}
			continue
		}
		spent, want := new(big.Rat), new(big.Rat)
		for i, release := range c.releases {
			n := big.NewRat(int64(release.Times), 1)
			spent.Add(spent, new(big.Rat).Mul(n, exact.Rational(asked[i])))
			want.Add(want, n.Mul(n, exact.Rational(0.1/(1+math.Floor(64*asked[i]/release.PLD.pair.unit(1))))))
		}
		if spent.Cmp(exact.Rational(epsilon)) > 0 {
			t.Fatalf("delta(%v) is that of %s, with epsilons of the sum %s", epsilon, spent.FloatString(25), sum.FloatString(25))
		}
		if exact.Rational(d).Cmp(want) < 0 || exact.Rational(math.Nextafter(d, 0)).Cmp(want) > 0 {
			t.Fatalf("delta(%v) = %v, want %s rounded up", epsilon, d, want.FloatString(25))
		}
		if exact.Rational(d).Cmp(want) != 0 {
			inexact++
		}
		if epsilon < whole {
			near++
		} else {
			above++
		}
	}
	if near < 1000 || above < 1000 || inexact < 1000 {
		t.Errorf("%d below the sum, %d from it on, %d rounded", near, above, inexact)
	}
	other := &PrivacyLossDistribution{pair: promised{must(t)(Gaussian(1)).pair, 0}}
	if d := compose(t, Release{other, 2}).basicDeltaAt(5); d != 1 {
		t.Errorf("delta = %v of noise made for no epsilon, want 1", d)
	}
}

// TestEdgesOfCompose: what is allowed is, to the last one, and what is given twice counts twice.
func TestEdgesOfCompose(t *testing.T) {
	m, other := must(t)(RandomizedResponse(0.5, 2)), must(t)(RandomizedResponse(0.5, 2))
	for _, x := range []struct {
		width    float64
		releases []Release
		ok       bool
	}{
		{1e-6, []Release{{m, 1}}, true},
		{math.Nextafter(1e-6, 0), []Release{{m, 1}}, false},
		{0.5, []Release{{m, 1}}, true},
		{math.Nextafter(0.5, 1), []Release{{m, 1}}, false},
		{0, []Release{{m, limits.TableReleases}}, true},
		{0, []Release{{m, limits.TableReleases + 1}}, false},
		{0, []Release{{m, limits.TableReleases - 1}, {other, 1}}, true},
		{0, []Release{{m, limits.TableReleases - 1}, {other, 2}}, false},
		{0, []Release{{m, limits.TableReleases - 1}, {m, 2}}, false},
	} {
		if c, err := Compose(x.releases, Options{Width: x.width}); (err == nil) != x.ok || !x.ok && (c != nil || !errors.Is(err, dp.ErrInvalid)) {
			t.Errorf("width %v, %d releases: %v", x.width, len(x.releases), err)
		}
	}
	twice, once := compose(t, Release{m, 2}, Release{other, 1}, Release{m, 3}), compose(t, Release{m, 6})
	if twice.Count() != 6 || twice.times != 6 || delta(t, twice, 1).Upper < delta(t, once, 1).Lower || delta(t, once, 1).Upper < delta(t, twice, 1).Lower {
		t.Errorf("%d releases with delta %v, want %v", twice.times, delta(t, twice, 1), delta(t, once, 1))
	}
	if a, ok := twice.BasicEpsilon(0); !ok || a != 3 {
		t.Errorf("basic composition of six of 0.5: %v, %t", a, ok)
	}
	for _, epsilon := range []float64{math.Inf(1), math.NaN(), -5e-324} {
		if b, err := once.Delta(epsilon); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("Delta(%g) = %v, %v", epsilon, b, err)
		}
	}
}

// TestLossesBelowTheGrid: losses a hair below those of the grid are taken for these, and the lower bounds
// give back what that adds: no releases have more than the sum of their largest losses.
func TestLossesBelowTheGrid(t *testing.T) {
	for _, less := range []float64{1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-10} {
		loss := 1 - less
		p := 1 / (1 + math.Exp(-loss))
		law := &PrivacyLossDistribution{pair: newAtoms([]float64{loss, -loss}, []float64{p, p * math.Exp(-loss)}, 0, 1)}
		for _, n := range []int{2, 5} {
			c := compose(t, Release{law, n})
			for _, d := range []float64{1e-9, 1e-4} {
				b, err := c.Epsilon(d)
				// δ(ε) of all true, of the loss n.
				least := float64(n)*loss + math.Log1p(-d/math.Pow(p, float64(n)))
				if err != nil || b.Lower > least*(1+1e-13) || b.Upper < least*(1-1e-13) {
					t.Errorf("%d losses of %v: epsilon(%g) = %v, %v, want %v", n, loss, d, b, err, least)
				}
			}
			if d := delta(t, c, float64(n)*loss*(1+1e-13)); d.Lower > 0 {
				t.Errorf("%d losses of %v: delta = %v above all of them", n, loss, d)
			}
		}
	}
}

// TestSolve: what is returned is allowed by the bound, at one where it jumps too, and close to the edge.
func TestSolve(t *testing.T) {
	jump := func(at, before, after float64) func(float64) float64 {
		return func(e float64) float64 {
			if e < at {
				return before
			}
			return after
		}
	}
	for _, x := range []struct {
		bound       func(float64) float64
		delta, want float64 // -1: none
	}{
		{func(e float64) float64 { return math.Max(0, 0.5-e) }, 0.5, 0},
		{func(e float64) float64 { return math.Max(0, 0.5-e) }, 0.25, 0.25},
		{jump(0x1p-30, 1, 0.25), 0.25, 0x1p-30},
		{jump(0.75, 1, 0.25), 0.25, 0.75},
		{jump(1e9, 1, 0.25), 0.25, 1e9},
		{jump(maxSearch, 1, 0.25), 0.25, maxSearch},
		{jump(0.75, 1, 0.25), 0.2, -1},
		{jump(0.75, 1, math.NaN()), 0.2, -1},
	} {
		e, err := solve(x.bound, x.delta)
		if x.want < 0 {
			if !errors.Is(err, ErrDeltaTooSmall) {
				t.Errorf("%v, %v, want no epsilon", e, err)
			}
		} else if err != nil || !(x.bound(e) <= x.delta) || e > x.want*(1+1e-10) {
			t.Errorf("%v with a bound of %v, %v, want %v", e, x.bound(e), err, x.want)
		}
		if x.want < 0 || x.want > maxLoss {
			continue
		}
		on := func(g grid) []float64 { return heights(g, x.bound) }
		e, err = solveOnGrids(on(coarseLosses), on, x.bound, x.delta)
		if err != nil || !(x.bound(e) <= x.delta) || e > x.want*(1+1e-10)+0x1p-47 {
			t.Errorf("on grids %v with a bound of %v, %v, want %v", e, x.bound(e), err, x.want)
		}
	}
	for _, x := range []struct{ middle, delta, most, want float64 }{
		{0.25, 0.25, 1, 0.5}, {0.25, 0.25, 0.6, 0.5}, {0.25, 0.2, 1, 0.8}, {0.25, 0.25, 0.4, 0.4}, {0.25, 1, 1, 0},
	} {
		bound := func(e float64) float64 { return jump(0.5, 1, jump(0.8, x.middle, 0)(e))(e) }
		if e := solveBelow(bound, x.delta, x.most); e > x.most || e > 0 && !(bound(e) > x.delta) || e < x.want*(1-1e-10) {
			t.Errorf("%v below %v with a bound of %v, want %v", e, x.most, bound(e), x.want)
		}
	}
}

// TestSolveAtTheLimit: where δ is about what is left at large losses, and what grids say of it is too much,
// the exact profile decides; and where a finer grid says more than a coarser one, the coarser one stands.
func TestSolveAtTheLimit(t *testing.T) {
	const limit = 0.25
	profile := func(e float64) float64 { return limit + 0.5*math.Exp(-e) }
	for share, ok := range map[float64]bool{1 + 1e-10: true, 1 - 1e-10: false, 1 - 2*closeTogether: false, 0.5: false} {
		exactly := 0
		on := func(g grid) []float64 {
			return heights(g, func(e float64) float64 { return profile(e) * (1 + closeTogether/2) })
		}
		e, err := solveOnGrids(on(coarseLosses), on, func(e float64) float64 { exactly++; return profile(e) }, limit*share)
		if ok != (err == nil) || ok && (profile(e) > limit*share || profile(e*0.999) < limit*share) || !ok && !errors.Is(err, ErrDeltaTooSmall) {
			t.Errorf("%v of the limit: %v, %v", share, e, err)
		}
		if near := share > 1-closeTogether/2; near != (exactly > 0) {
			t.Errorf("%v of the limit: the exact profile was asked %d times", share, exactly)
		}
	}
	fall := func(e float64) float64 { return 0.5 * math.Exp(-e) }
	rough := func(g grid) []float64 { return heights(g, func(e float64) float64 { return 1 }) }
	coarse := heights(coarseLosses, fall)
	e, err := solveOnGrids(coarse, rough, fall, 0.1)
	if want := math.Log(5); err != nil || e < want || e > want+coarseStep {
		t.Errorf("%v, %v, want the loss of the coarse grid above %v", e, err, want)
	}
}

// TestWindow: what the window leaves out on either side is below e^−wrapBits of the tilted law, which is
// summed here term by term; its transform has room for it, and a power of 2 of points.
func TestWindow(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	outside := 0
	for trial := range 300 {
		theta := math.Exp(4*r.Float64() - 2)
		var ps parts
		law, first := []float64{1}, 0
		logScale := 0.0
		for range 1 + r.IntN(2) {
			d := &pmf{step: 0.25, first: r.IntN(9) - 4, mass: make([]float64, 2+r.IntN(5))}
			for i := range d.mass {
				d.mass[i] = math.Exp(-20 * r.Float64())
			}
			if r.IntN(3) == 0 { // all at one loss
				clear(d.mass)
				d.mass[0] = 1
			}
			p := part{d, 1 + r.IntN(60)}
			ps = append(ps, p)
			norm := 0.0
			for i, m := range d.mass {
				norm += m * math.Exp(theta*0.25*float64(i))
			}
			logScale += float64(p.times) * math.Log(norm)
			for range p.times {
				next := make([]float64, len(law)+len(d.mass)-1)
				for i, a := range law {
					for j, m := range d.mass {
						next[i+j] += a * m * math.Exp(theta*0.25*float64(j)) / norm
					}
				}
				law, first = next, first+d.first
			}
		}
		from, to := ps.window(theta)
		below, above := 0.0, 0.0
		for i, p := range law {
			if at := float64(first + i); at < from {
				below += p
			} else if at > to {
				above += p
			}
		}
		if below > 0 || above > 0 {
			outside++
		}
		if most := math.Exp(-wrapBits); below > most || above > most {
			t.Fatalf("trial %d: %g below and %g above the window from %g to %g", trial, below, above, from, to)
		}
		c, err := ps.compose(theta, maxLength)
		if err != nil {
			t.Fatal(err)
		}
		n := len(c.mass)
		if n < 16 || n&(n-1) != 0 || float64(n) < to-from+1 || c.first != int(from) {
			t.Fatalf("trial %d: %d points from %d on, for a window from %g to %g", trial, n, c.first, from, to)
		}
		for i, p := range law {
			if k := first + i - c.first; k >= 0 && k < n && math.Abs(c.mass[k]-p) > c.noise+1e-13*p+4*math.Exp(-wrapBits) {
				t.Fatalf("trial %d: %g at loss %d, want %g", trial, c.mass[k], first+i, p)
			}
		}
		if _, err := ps.compose(theta, int(to-from)+1); err != nil {
			t.Fatalf("trial %d: a window as long as allowed: %v", trial, err)
		}
		if _, err := ps.compose(theta, int(to-from)); err == nil {
			t.Fatalf("trial %d: a window longer than allowed", trial)
		}
	}
	if outside < 50 {
		t.Errorf("%d windows that leave anything out, want 50", outside)
	}
	for _, first := range []int{1 << 43, -1 << 43} {
		if _, err := (parts{{&pmf{step: 1, first: first, mass: []float64{0.5, 0.5}}, 1}}).compose(1e-9, maxLength); err == nil {
			t.Errorf("losses of %d steps were composed", first)
		}
	}
	if _, err := (parts{{&pmf{step: 1, mass: []float64{0, 0}}, 1}}).compose(1, maxLength); err == nil {
		t.Error("nothing was composed")
	}
}

// TestHockeyAtTheEnd: the last loss may in truth be above an ε that is a rounding away, and above it there is none.
func TestHockeyAtTheEnd(t *testing.T) {
	c := &composed{step: 0.3, theta: 1e-9, first: 1<<20 - 1, mass: []float64{0, 1}, kinds: 1, releases: 1, most: math.Inf(1)}
	last := c.at(1)
	if _, margin := c.hockey(last); margin < 0x1p-53*last {
		t.Errorf("a margin of %g at the last loss, want the rounding of %g", margin, last)
	}
	for _, steps := range []float64{0.5, 1, 1.5, 2, 2.5, 10} {
		if value, margin := c.hockey(last + steps*c.step); value != 0 || margin > 1e-8 {
			t.Errorf("%v ± %v, %g steps above the last loss", value, margin, steps)
		}
	}
}
