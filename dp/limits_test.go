// SPDX-License-Identifier: Apache-2.0

package dp

import (
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/loss"
)

// TestConstraintsValidate: the last that is taken, and the first that is not.
func TestConstraintsValidate(t *testing.T) {
	inf := math.Inf(1)
	support := func(lower, upper float64) Constraints { return Constraints{Support: &Interval{lower, upper}} }
	quantile := func(p, magnitude float64) Constraints {
		return Constraints{Quantiles: []Quantile{{0.5, 1}, {p, magnitude}}}
	}
	for _, c := range []struct {
		c     Constraints
		taken bool
	}{
		{Constraints{}, true},
		{support(-1, 2), true},
		{support(0, 2), true},
		{support(-1, 0), true},
		{support(-inf, inf), true},
		{support(0, 0), false},
		{support(1, 2), false},
		{support(math.SmallestNonzeroFloat64, 2), false},
		{support(-2, -1), false},
		{support(-2, -math.SmallestNonzeroFloat64), false},
		{support(2, -1), false},
		{support(math.NaN(), 1), false},
		{Constraints{MaxVariance: math.MaxFloat64}, true},
		{Constraints{MaxVariance: math.SmallestNonzeroFloat64}, true},
		{Constraints{MaxVariance: inf}, false},
		{Constraints{MaxVariance: -1}, false},
		{Constraints{MaxVariance: math.NaN()}, false},
		{Constraints{MaxDistinguishing: math.Nextafter(1, 0)}, true},
		{Constraints{MaxDistinguishing: math.SmallestNonzeroFloat64}, true},
		{Constraints{MaxDistinguishing: 1}, false},
		{Constraints{MaxDistinguishing: -0.5}, false},
		{Constraints{MaxDistinguishing: math.NaN()}, false},
		{quantile(math.Nextafter(1, 0), 1), true},
		{quantile(math.SmallestNonzeroFloat64, 1), true},
		{quantile(1, 1), false},
		{quantile(0, 1), false},
		{quantile(0.5, 1e60), true},
		{quantile(0.5, 1.1e60), false},
		{quantile(0.5, 0.9e-60), false},
		{Constraints{Quantiles: sixteen()}, true},
		{Constraints{Quantiles: append(sixteen(), Quantile{0.5, 1})}, false},
	} {
		if err := c.c.Validate(); (err == nil) != c.taken || err != nil && !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v, support %+v: %v, want it taken: %v", c.c, c.c.Support, err, c.taken)
		}
	}
}

func sixteen() []Quantile {
	list := make([]Quantile, limits.Quantiles)
	for i := range list {
		list[i] = Quantile{0.5, 1}
	}
	return list
}

// TestConstraintsSay: what there is, one by one, and what holds of noise.
func TestConstraintsSay(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		c        Constraints
		text     string
		none     bool
		mirrored bool
	}{
		{Constraints{}, `{}`, true, true},
		{Constraints{Symmetric: true}, `{"symmetric":true}`, false, true},
		{Constraints{Monotone: true}, `{"monotone":true}`, false, true},
		{Constraints{Unbiased: true}, `{"unbiased":true}`, false, true},
		{Constraints{Support: &Interval{-1, 2}}, `{"lower":-1,"upper":2}`, false, false},
		{Constraints{Support: &Interval{-2, 2}}, `{"lower":-2,"upper":2}`, false, true},
		{Constraints{Support: &Interval{-inf, 2}}, `{"upper":2}`, false, false},
		{Constraints{Support: &Interval{-1, inf}}, `{"lower":-1}`, false, false},
		{Constraints{Support: &Interval{-inf, inf}}, `{}`, false, true},
		{Constraints{MaxVariance: 0.5}, `{"max_variance":0.5}`, false, true},
		{Constraints{Quantiles: []Quantile{{0.5, 3}}}, `{"quantiles":[{"probability":0.5,"magnitude":3}]}`, false, true},
		{Constraints{MaxDistinguishing: 0.25}, `{"max_distinguishing":0.25}`, false, true},
	} {
		text, err := json.Marshal(c.c)
		if err != nil || string(text) != c.text || c.c.None() != c.none || c.c.Mirrored() != c.mirrored {
			t.Errorf("%+v: %s, %v, none %v, mirrored %v; want %+v", c.c, text, err, c.c.None(), c.c.Mirrored(), c)
		}
		for _, x := range []float64{-3, math.Nextafter(-1, -2), -1, 0, 2, math.Nextafter(2, 3), 3} {
			s := c.c.Support
			if want := s == nil || x >= s.Lower && x <= s.Upper; c.c.Holds(x) != want {
				t.Errorf("%+v holds %g: %v, want %v", s, x, !want, want)
			}
		}
	}
}

// TestLimits of budgets, promises and problems.
func TestLimits(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		b     Budget
		taken bool
	}{
		{Budget{1, 0}, true},
		{Budget{math.MaxFloat64, math.Nextafter(1, 0)}, true},
		{Budget{0, 0.5}, false},
		{Budget{inf, 0}, false},
		{Budget{math.NaN(), 0}, false},
		{Budget{1, 1}, false},
		{Budget{1, -math.SmallestNonzeroFloat64}, false},
	} {
		if err := c.b.Validate(); (err == nil) != c.taken {
			t.Errorf("%+v: %v", c.b, err)
		}
	}
	good := Problem{Privacy: Privacy{Epsilon: 1, Sensitivity: 1}, Loss: loss.L1}
	for i, c := range []struct {
		change func(*Problem)
		taken  bool
	}{
		{func(*Problem) {}, true},
		{func(p *Problem) { p.Epsilon = 0 }, true},
		{func(p *Problem) { p.Epsilon = inf }, false},
		{func(p *Problem) { p.Epsilon = -inf }, false},
		{func(p *Problem) { p.Sensitivity = inf }, false},
		{func(p *Problem) { p.Sensitivity = 0 }, false},
		{func(p *Problem) { p.Delta = 1 }, false},
		{func(p *Problem) { p.Query, p.Sensitivity = IntegerQuery, 3 }, true},
		{func(p *Problem) { p.Query, p.Sensitivity = IntegerQuery, 2.5 }, false},
		{func(p *Problem) { p.Query, p.Sensitivity = IntegerQuery, 0.5 }, false},
		{func(p *Problem) { p.Query, p.Step = LatticeQuery, math.MaxFloat64 }, true},
		{func(p *Problem) { p.Query, p.Step = LatticeQuery, math.SmallestNonzeroFloat64 }, true},
		{func(p *Problem) { p.Query, p.Step = LatticeQuery, inf }, false},
		{func(p *Problem) { p.Query, p.Step = LatticeQuery, 0 }, false},
		{func(p *Problem) { p.Step = 1 }, false},
		{func(p *Problem) { p.Loss = nil }, false},
		{func(p *Problem) { p.Query = "other" }, false},
		{func(p *Problem) { p.Constraints.MaxVariance = -1 }, false},
	} {
		p := good
		c.change(&p)
		if err := p.Validate(); (err == nil) != c.taken {
			t.Errorf("case %d: %v", i, err)
		}
	}
}
