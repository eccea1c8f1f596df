// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"context"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/release"
	"github.com/noisewright/noisewright/sampler"
	"github.com/noisewright/noisewright/tables"
	"github.com/noisewright/noisewright/tables/shapes"
)

var addRemove = Budget{Epsilon: 1, Delta: 1e-5, Neighbors: dp.AddRemove}

func noiseOf(t *testing.T, kind string, b Budget, releases int, o Options) *Noise {
	t.Helper()
	n, err := NewNoise(t.Context(), kind, b, releases, o)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestNoiseKeepsBudget: what is proved of the noise is within the budget, and not far below.
func TestNoiseKeepsBudget(t *testing.T) {
	for _, c := range []struct {
		kind      string
		budget    Budget
		releases  int
		noise     string
		deviation float64 // in closed form where there is one, else measured
	}{
		{laplace, Budget{1, 0, dp.AddRemove}, 1, "laplace", math.Sqrt2},
		{laplace, Budget{1, 0, dp.Replace}, 1, "laplace", 2 * math.Sqrt2},
		{laplace, Budget{1, 0, dp.AddRemove}, 13, "laplace", 13 * math.Sqrt2},
		{auto, Budget{0.3, 0, dp.AddRemove}, 7, "laplace", 7 / 0.3 * math.Sqrt2},
		{laplace, Budget{1, 0, dp.Replace}, 13, "laplace", 26 * math.Sqrt2},
		{gaussian, addRemove, 1, "gaussian", 3.7306}, // the analytic Gaussian
		{gaussian, addRemove, 20, "gaussian", 3.7306 * math.Sqrt(20)},
		{auto, addRemove, 12, "exponential-power of exponent 1.75", math.Sqrt(160)},
		{gaussian, Budget{1, 1e-5, dp.Replace}, 2, "gaussian", 10.584},
	} {
		if testing.Short() && (c.budget.Delta > 0 || c.releases > 1) {
			continue // slow
		}
		n := noiseOf(t, c.kind, c.budget, c.releases, Options{})
		g := n.Guarantee()
		if g.Epsilon > c.budget.Epsilon || g.Epsilon < 0.998*c.budget.Epsilon || g.Delta != c.budget.Delta || g.Neighbors != c.budget.Neighbors || g.Releases != c.releases {
			t.Errorf("%s, %+v: guarantee %+v", c.kind, c.budget, g)
		}
		if g.Noise != c.noise || math.Abs(g.Deviation/c.deviation-1) > 0.01 || n.Deviation() != g.Deviation {
			t.Errorf("%s, %+v: %s of deviation %v, want %s and %v", c.kind, c.budget, g.Noise, g.Deviation, c.noise, c.deviation)
		}
		if c.budget.Neighbors == dp.Replace { // a promise, the same whatever noise is found
			if got := n.Costs(); len(got) != 1 || got[0] != (account.Cost{Epsilon: c.budget.Epsilon, Delta: c.budget.Delta, Times: 1}) {
				t.Errorf("%s, %+v: costs %+v, want the budget", c.kind, c.budget, got)
			}
			continue
		}
		// A ledger counts no less.
		e, err := n.cost.EpsilonAt(c.budget.Delta)
		if err != nil || e > c.budget.Epsilon || e < g.Epsilon*(1-1e-6) {
			t.Errorf("%s, %+v: the costs are epsilon %v, %v, want %v", c.kind, c.budget, e, err, g.Epsilon)
		}
	}
}

// TestShapes: noise that was not designed is named by the exponent that it has.
func TestShapes(t *testing.T) {
	for exponent, want := range map[float64]string{
		1: laplace, 1.25: "exponential-power of exponent 1.25", 1.5: "exponential-power of exponent 1.5", 1.75: "exponential-power of exponent 1.75", 2: gaussian,
	} {
		for _, scale := range []float64{3, 20} {
			v, err := shapes.ExponentialPower(dp.Problem{Privacy: dp.Privacy{Epsilon: 2, Delta: 0.1, Sensitivity: 1}, Query: dp.RealQuery, Loss: loss.L2}, exponent, scale, tables.Grid{})
			if err != nil {
				t.Fatal(err)
			}
			if got := shape(v.Mechanism()); got != want {
				t.Errorf("exponent %v, scale %v: %s, want %s", exponent, scale, got, want)
			}
			proved, err := v.Mechanism().WithDual(t.Context(), &tables.Dual{CellsPerSensitivity: 1})
			if err != nil {
				t.Fatal(err)
			}
			if got := shape(proved); got != designed {
				t.Errorf("exponent %v, scale %v with a dual: %s", exponent, scale, got)
			}
		}
	}
}

// TestPureNoiseOfManyReleases: rounding does not push what is proved above the budget.
func TestPureNoiseOfManyReleases(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, releases := range []int{3, 11, 59} {
		noiseOf(t, laplace, Budget{0.1, 0, dp.AddRemove}, releases, Options{})
	}
}

// TestReplaceIsTwoSteps: the budget of a step, doubled by group privacy, is within the whole.
func TestReplaceIsTwoSteps(t *testing.T) {
	for _, b := range []Budget{{1, 1e-5, dp.Replace}, {20, 0.1, dp.Replace}, {1000, 1e-6, dp.Replace}} {
		p := b.addRemove()
		const places = 300
		steps := new(big.Rat).SetFrac(exact.ExpUp(p.Epsilon, places), new(big.Int).Lsh(big.NewInt(1), places))
		steps.Add(steps, big.NewRat(1, 1))
		whole := new(big.Rat).Mul(steps, exact.Rational(p.Delta))
		more := new(big.Rat).Mul(steps, exact.Rational(p.Delta*(1+0x1p-51)))
		if 2*p.Epsilon != b.Epsilon || whole.Cmp(exact.Rational(b.Delta)) > 0 || more.Cmp(exact.Rational(b.Delta)) < 0 {
			t.Errorf("%+v: a step has %+v", b, p)
		}
		if two := twoSteps(p.Epsilon); two.Cmp(steps) < 0 {
			t.Errorf("1+exp(%g) is more than %s", p.Epsilon, two)
		}
	}
}

func TestNewNoiseRefuses(t *testing.T) {
	for want, c := range map[string]struct {
		kind     string
		budget   Budget
		releases int
	}{
		"noise = other":     {"other", addRemove, 1},
		"epsilon = 0":       {auto, Budget{0, 1e-5, dp.AddRemove}, 1},
		"epsilon = NaN":     {auto, Budget{math.NaN(), 1e-5, dp.AddRemove}, 1},
		"epsilon = 1001":    {auto, Budget{1001, 1e-5, dp.AddRemove}, 1},
		"delta = 1":         {auto, Budget{1, 1, dp.AddRemove}, 1},
		"delta = -1":        {auto, Budget{1, -1, dp.AddRemove}, 1},
		"neighbors = ":      {auto, Budget{1, 1e-5, ""}, 1},
		"releases = 0":      {auto, addRemove, 0},
		"delta = 0, want a": {gaussian, Budget{1, 0, dp.AddRemove}, 1},
		"epsilon = 1, want": {none, addRemove, 1},
		"epsilon = 1e-05, delta = 0: no noise was found for 13 releases":                                                                 {auto, Budget{1e-5, 0, dp.AddRemove}, 13},
		"epsilon = 1000 is too much for 13 releases, of which each would have 38.46: there is no noise so small, want at most about 260": {auto, Budget{1000, 1e-5, dp.Replace}, 13},
	} {
		if n, err := NewNoise(t.Context(), c.kind, c.budget, c.releases, Options{}); n != nil || !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", c, err, want)
		}
	}
	if n := noiseOf(t, none, Budget{}, 1, Options{}); n.Guarantee() != nil || n.Deviation() != 0 || n.Costs() != nil {
		t.Errorf("%+v", n)
	}
}

// TestSourceIsNotTrusted: noise that costs more than the budget, or is for another query, is
// refused whatever the source says.
func TestSourceIsNotTrusted(t *testing.T) {
	laplaceOf := func(epsilon, sensitivity float64, q dp.Query) release.Source {
		return func(_ context.Context, p dp.Problem, _ int) (*tables.Verified, error) {
			p.Epsilon, p.Sensitivity, p.Query = epsilon, sensitivity, q
			return shapes.Laplace(p, tables.Grid{})
		}
	}
	b := Budget{1, 0, dp.AddRemove}
	for want, source := range map[string]release.Source{
		"cost epsilon = 1.0":   laplaceOf(0.501, 1, dp.RealQuery),
		"of sensitivity 0.5":   laplaceOf(0.25, 0.5, dp.RealQuery),
		"for integer queries ": laplaceOf(0.25, 1, dp.IntegerQuery),
	} {
		if _, err := NewNoise(t.Context(), auto, b, 2, Options{Source: source}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	n := noiseOf(t, auto, b, 2, Options{Source: laplaceOf(0.25, 1, dp.RealQuery)})
	if g := n.Guarantee(); g.Epsilon != 0.5 {
		t.Errorf("guarantee %+v, want the 0.5 of the noise", g)
	}
}

// TestSourceInTime: a source that fails or is late leaves other noise; the end of the context
// is another matter.
func TestSourceInTime(t *testing.T) {
	late := func(ctx context.Context, _ dp.Problem, _ int) (*tables.Verified, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	fails := func(context.Context, dp.Problem, int) (*tables.Verified, error) { return nil, errors.New("no solver") }
	for _, source := range []release.Source{late, fails} {
		n := noiseOf(t, auto, Budget{1, 0, dp.AddRemove}, 3, Options{Source: source, TimeLimit: time.Millisecond})
		if g := n.Guarantee(); g.Noise != "laplace" {
			t.Errorf("%+v", g)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewNoise(ended, auto, addRemove, 3, Options{Source: late}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that of the context", err)
	}
}

func TestReleaser(t *testing.T) {
	n := noiseOf(t, laplace, Budget{1, 0, dp.AddRemove}, 2, Options{})
	sums := []int64{0, gridSteps, -5 * gridSteps, 1, 1 << 60}
	r, err := n.Releaser()
	if err != nil {
		t.Fatal(err)
	}
	if g := r.Guarantee(); g == nil || *g != *n.Guarantee() {
		t.Errorf("%+v, want %+v", g, n.Guarantee())
	}
	first, err := r.Release(sums)
	if err != nil {
		t.Fatal(err)
	}
	second, err := r.Release(sums)
	if err != nil {
		t.Fatal(err)
	}
	step, _ := n.table.Mechanism().Grid().Step().Float64()
	for i, x := range first {
		// A chance of 1e-9 each: the deviation is 2.8.
		if sum := float64(sums[i]) / gridSteps; math.Abs(x-sum) > 45 || x == second[i] {
			t.Errorf("%d steps are %v and %v", sums[i], x, second[i])
		}
		if points := x / step; points != math.Round(points) {
			t.Errorf("%v is not on the grid of the noise, of step %v", x, step)
		}
	}
	if got, err := new(Releaser).Release(sums); got != nil || !errors.Is(err, dp.ErrInvalid) || new(Releaser).Guarantee() != nil {
		t.Errorf("a zero Releaser: %v, %v, want ErrInvalid and no guarantee", got, err)
	}
	if got, err := r.Release(sums); got != nil || !errors.Is(err, account.ErrExceeded) {
		t.Errorf("a third release: %v, %v, want account.ErrExceeded", got, err)
	}

	same := func(seed byte) []float64 {
		r, err := n.seeded([32]byte{seed})
		if err != nil {
			t.Fatal(err)
		}
		if r.Guarantee() != nil {
			t.Error("a guarantee of noise that a seed tells")
		}
		out, err := r.Release(sums)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if a, b, c := same(1), same(1), same(2); a[0] != b[0] || a[0] == c[0] {
		t.Errorf("%v, %v, %v", a, b, c)
	}

	exact, err := noiseOf(t, none, Budget{}, 1, Options{}).Releaser()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exact.Release(sums)
	if err != nil || out[0] != 0 || out[1] != 1 || out[2] != -5 || out[3] != 0x1p-24 || exact.Guarantee() != nil {
		t.Errorf("%v, %v", out, err)
	}
}

// TestReleaseIsUnbiased: sums that are not on the grid of the noise are rounded to it, and
// noise of the stated deviation is added. A mean of 4000 draws is off by six of its deviations
// with a chance of 2e-9; a deviation that is 10 % off is noticed.
func TestReleaseIsUnbiased(t *testing.T) {
	const draws = 4000
	n := noiseOf(t, gaussian, addRemove, 1, Options{})
	r, err := n.seeded([32]byte{3})
	if err != nil {
		t.Fatal(err)
	}
	sums := make([]int64, draws)
	for i := range sums {
		sums[i] = 12_345_678_901
	}
	out, err := r.Release(sums)
	if err != nil {
		t.Fatal(err)
	}
	want, mean, square := 12_345_678_901.0/gridSteps, 0.0, 0.0
	for _, x := range out {
		mean += (x - want) / draws
		square += (x - want) * (x - want) / draws
	}
	if off := math.Abs(mean) / n.Deviation() * math.Sqrt(draws); off > 6 {
		t.Errorf("the mean is %v deviations off", off)
	}
	if ratio := math.Sqrt(square) / n.Deviation(); math.Abs(ratio-1) > 0.07 {
		t.Errorf("a deviation of %v of the stated one", ratio)
	}
}

// seeded returns a Releaser whose noise is a function of the seed. Models made by it have no
// guarantee.
func (n *Noise) seeded(seed [32]byte) (*Releaser, error) {
	r := &Releaser{noise: n, left: n.releases}
	var err error
	if n.table != nil {
		r.sampler, err = sampler.NewNoise(n.table, sampler.Options{Entropy: sampler.Deterministic(seed)})
	}
	return r, err
}
