// SPDX-License-Identifier: Apache-2.0

package account

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/tables"
	"github.com/noisewright/noisewright/tables/shapes"
)

// classical stands for a designer: it is far from the best noise, and quick.
func classical(_ context.Context, p dp.Problem, _ float64) (*tables.Verified, error) {
	if p.Delta == 0 {
		return shapes.Laplace(p, tables.Grid{})
	}
	return shapes.TruncatedLaplace(p, tables.Grid{})
}

// target is one on integers: small tables, which compose in little time.
func target(releases int, epsilon, delta float64) Target {
	return Target{Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 2}, Query: dp.IntegerQuery, Loss: loss.L1}, Releases: releases}
}

// keeps checks that the releases of the table keep the target, by another composition.
func keeps(t *testing.T, x Target, c *Calibration, nearly float64) {
	t.Helper()
	composition := compose(t, Release{mustTable(t, c.Table.Mechanism()), x.Releases})
	e, err := composition.Epsilon(x.Delta)
	if err != nil {
		t.Fatal(err)
	}
	if c.Composed.Upper > x.Epsilon || e.Lower > x.Epsilon || math.Abs(e.Upper/c.Composed.Upper-1) > 2e-3 {
		t.Errorf("%d releases at (%g, %g): composed epsilon in %v, and in %v from the table alone", x.Releases, x.Epsilon, x.Delta, c.Composed, e)
	}
	if total, ok := c.Table.Mechanism().ClaimedTotal(); !ok || total != (tables.Total{Releases: x.Releases, Epsilon: x.Epsilon, Delta: x.Delta}) {
		t.Errorf("total %+v, want that of %+v", total, x)
	}
	if b, err := ProveTotal(c.Table); err != nil || b.Upper > x.Epsilon {
		t.Errorf("%d releases at (%g, %g): total proved: %v, %v", x.Releases, x.Epsilon, x.Delta, b, err)
	}
	if c.Composed.Upper < nearly*x.Epsilon {
		t.Errorf("%d releases at (%g, %g): composed epsilon %g, want little less", x.Releases, x.Epsilon, x.Delta, c.Composed.Upper)
	}
}

func TestCalibrate(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, test := range []struct {
		x      Target
		shaped bool // exponential power noise is the better one
	}{
		{target(1, 1, 1e-3), false},
		{target(3, 4, 1e-3), false},
		{target(3, 1, 0), false},
		{target(50, 1, 1e-6), true},
	} {
		c, err := Calibrate(context.Background(), test.x, classical, CalibrateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		keeps(t, test.x, c, 0.998)
		if (c.Exponent != 0) != test.shaped || c.Limit != nil || c.DesignError != nil {
			t.Errorf("%+v: exponent %g, limit %v, design error %v", test.x, c.Exponent, c.Limit, c.DesignError)
		}
		for exponents, o := range map[string]CalibrateOptions{"none": {Exponents: []float64{}}, "2": {Exponents: []float64{2}}} {
			if exponents == "2" && !test.shaped {
				continue
			}
			other, err := Calibrate(context.Background(), test.x, classical, o)
			if err != nil {
				t.Fatal(err)
			}
			if other.loss < c.loss*(1-1e-12) || exponents == "none" && other.Exponent != 0 {
				t.Errorf("%+v, exponents %s: loss %g with exponent %g, and %g with the choice of all", test.x, exponents, other.loss, other.Exponent, c.loss)
			}
		}
	}
}

// TestCalibrateKeepsByUpperBounds: what is found is proved, also where the lower bound of the total keeps the target and
// the upper one does not.
func TestCalibrateKeepsByUpperBounds(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, releases := range []int{7, 20, 60} {
		for _, epsilon := range []float64{0.7, 2, 5} {
			x := target(releases, epsilon, 1e-4)
			x.Query, x.Sensitivity = dp.RealQuery, 1
			c, err := Calibrate(t.Context(), x, classical, CalibrateOptions{Exponents: []float64{}})
			if err != nil {
				t.Fatal(err)
			}
			keeps(t, x, c, 0.99)
		}
	}
}

// TestCalibrateEndsEarly: the designer is not asked for good noise where the loss is far above that of exponential power
// noise, and else it is.
func TestCalibrateEndsEarly(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	const gap = 0.001
	for _, test := range []struct {
		releases  int
		exponents []float64
		early     bool
	}{{1000, nil, true}, {1000, []float64{}, false}, {12, nil, false}, {3, nil, false}} {
		x := target(test.releases, 1, 1e-6)
		coarse, fine := 0, 0
		c, err := Calibrate(t.Context(), x, func(ctx context.Context, p dp.Problem, g float64) (*tables.Verified, error) {
			if g == gap {
				fine++
			} else {
				coarse++
			}
			return classical(ctx, p, g)
		}, CalibrateOptions{Gap: gap, Exponents: test.exponents})
		if err != nil {
			t.Fatal(err)
		}
		keeps(t, x, c, 0.99)
		if coarse == 0 || test.early != (fine == 0) || test.early && c.Exponent == 0 || c.DesignError != nil {
			t.Errorf("%d releases, exponents %v: %d coarse and %d good designs, exponent %g, %v", test.releases, test.exponents, coarse, fine, c.Exponent, c.DesignError)
		}
	}
}

// TestCalibrateWithoutDesigner: Gaussian noise alone has about the loss that its closed
// form says, on the integers too.
func TestCalibrateWithoutDesigner(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	x := target(50, 1, 1e-6)
	x.Query, x.Sensitivity = dp.RealQuery, 1
	c, err := Calibrate(context.Background(), x, nil, CalibrateOptions{Exponents: []float64{2}})
	if err != nil {
		t.Fatal(err)
	}
	keeps(t, x, c, 0.998)
	_, _, want := x.Alternatives(context.Background(), nil, 0)
	if c.Exponent != 2 || math.Abs(c.loss/want-1) > 0.003 {
		t.Errorf("loss %g with exponent %g, want %g", c.loss, c.Exponent, want)
	}
	x.Query, x.Sensitivity = dp.IntegerQuery, 3
	if c, err = Calibrate(context.Background(), x, nil, CalibrateOptions{}); err != nil {
		t.Fatal(err)
	}
	keeps(t, x, c, 0.998)
	if c.Table.Mechanism().Query() != dp.IntegerQuery || c.loss > 3*want*1.003 {
		t.Errorf("%s query, loss %g, want integers and at most %g", c.Table.Mechanism().Query(), c.loss, 3*want)
	}
}

// TestCalibrateDesigns: what a designer says beside a table, or instead of one, is
// kept.
func TestCalibrateDesigns(t *testing.T) {
	ended, broken := errors.New("ended early"), errors.New("broken")
	x := target(3, 2, 1e-3)
	gaps := map[float64]int{}
	c, err := Calibrate(context.Background(), x, func(ctx context.Context, p dp.Problem, gap float64) (*tables.Verified, error) {
		gaps[gap]++
		table, err := classical(ctx, p, gap)
		if err != nil {
			return nil, err
		}
		return table, ended
	}, CalibrateOptions{Gap: 0.001, Exponents: []float64{}})
	if err != nil || !errors.Is(c.Limit, ended) || gaps[coarseGap] == 0 || gaps[0.001] == 0 || len(gaps) != 2 {
		t.Errorf("%v, %v, gaps %v", c, err, gaps)
	}
	fails := func(context.Context, dp.Problem, float64) (*tables.Verified, error) { return nil, broken }
	if c, err = Calibrate(context.Background(), x, fails, CalibrateOptions{}); err != nil || c.Exponent == 0 || !errors.Is(c.DesignError, broken) {
		t.Errorf("%v, %v", c, err)
	}
	if c, err = Calibrate(context.Background(), x, fails, CalibrateOptions{Exponents: []float64{}}); c != nil || !errors.Is(err, broken) {
		t.Errorf("%v, %v", c, err)
	}
	x.Constraints.Symmetric = true
	if c, err = Calibrate(context.Background(), x, fails, CalibrateOptions{}); c != nil || !errors.Is(err, broken) {
		t.Errorf("%v, %v", c, err)
	}
	if c, err = Calibrate(context.Background(), x, nil, CalibrateOptions{}); c != nil || !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("%v, %v", c, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if c, err = Calibrate(ctx, target(30, 1, 1e-6), nil, CalibrateOptions{}); c != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", c, err)
	}
}

func TestCalibrateErrors(t *testing.T) {
	good := target(3, 1, 1e-6)
	for name, change := range map[string]func(*Target){
		"no releases":    func(x *Target) { x.Releases = 0 },
		"many":           func(x *Target) { x.Releases = limits.TableReleases + 1 },
		"epsilon 0":      func(x *Target) { x.Epsilon = 0 },
		"epsilon NaN":    func(x *Target) { x.Epsilon = math.NaN() },
		"delta 1":        func(x *Target) { x.Delta = 1 },
		"no sensitivity": func(x *Target) { x.Sensitivity = 0 },
		"no loss":        func(x *Target) { x.Loss = nil },
	} {
		x := good
		change(&x)
		if c, err := Calibrate(context.Background(), x, classical, CalibrateOptions{}); c != nil || !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%s: %v, %v, want ErrInvalid", name, c, err)
		}
		if basic, laplace, gaussian := x.Alternatives(context.Background(), classical, 0); !math.IsNaN(basic) || !math.IsNaN(laplace) || !math.IsNaN(gaussian) {
			t.Errorf("%s: alternatives %v, %v, %v", name, basic, laplace, gaussian)
		}
	}
}

func TestCompare(t *testing.T) {
	x := target(10, 1, 1e-3)
	basic, laplace, gaussian := x.Alternatives(context.Background(), classical, 0)
	// Basic composition of Laplace noise has a scale of 20, and truncated a little less.
	if !(basic > 19.5 && basic < 20) || !(laplace > 10 && laplace < basic) {
		t.Errorf("basic %v, Laplace %v", basic, laplace)
	}
	sigma, err := noise.GaussianSigma(dp.Privacy{Epsilon: 1, Delta: 1e-3, Sensitivity: 2 * math.Sqrt(10)})
	if err != nil || math.Abs(gaussian/(sigma*math.Sqrt(2/math.Pi))-1) > 1e-12 {
		t.Errorf("Gaussian %g, sigma %g, %v", gaussian, sigma, err)
	}
	crossover := x.Crossover(context.Background(), classical, 0)
	if crossover < 2 {
		t.Fatalf("crossover at %d releases", crossover)
	}
	for releases, better := range map[int]bool{crossover - 1: false, crossover: true} {
		x.Releases = releases
		s := &search{target: x, make: x.designs(classical, 0.02), width: coarseWidth}
		r, err := s.findAt(context.Background(), s.part(0.5), portion(x.Epsilon, releases))
		if err != nil || (x.gaussianLoss() < r.loss) != better {
			t.Errorf("%d releases: Gaussian %g, designed %g, %v", releases, x.gaussianLoss(), r.loss, err)
		}
	}
	x.Delta = 0
	if basic, laplace, gaussian := x.Alternatives(context.Background(), nil, 0); !math.IsNaN(basic) || !math.IsNaN(gaussian) || math.Abs(laplace*math.Sinh(1/(2*float64(x.Releases)))-1) > 1e-9 {
		t.Errorf("pure: %v, %v, %v", basic, laplace, gaussian)
	}
	if c := x.Crossover(context.Background(), classical, 0); c != 0 {
		t.Errorf("crossover of pure noise at %d", c)
	}
}

// TestCalibrateChecksTheDesigner: a table of another promise, or for another query, is
// not what the guarantee can rest on, however well it was verified.
func TestCalibrateChecksTheDesigner(t *testing.T) {
	for what, change := range map[string]func(*dp.Problem){
		"epsilon":     func(p *dp.Problem) { p.Epsilon = 5 },
		"delta":       func(p *dp.Problem) { p.Delta = 0.1 },
		"sensitivity": func(p *dp.Problem) { p.Sensitivity = 1 },
		"query":       func(p *dp.Problem) { p.Query = dp.RealQuery },
	} {
		for _, releases := range []int{1, 3} {
			c, err := Calibrate(t.Context(), target(releases, 0.3, 1e-3), func(ctx context.Context, p dp.Problem, gap float64) (*tables.Verified, error) {
				change(&p)
				return classical(ctx, p, gap)
			}, CalibrateOptions{Exponents: []float64{}})
			if c != nil || err == nil {
				t.Errorf("%s, %d releases: %+v, %v, want an error", what, releases, c, err)
			}
		}
	}
}
