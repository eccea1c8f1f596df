package noise

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestParametersValidate(t *testing.T) {
	for _, p := range []Parameters{
		{0, 0, 1},
		{20, 0.999, 1e-6},
		{math.MaxFloat64, math.SmallestNonzeroFloat64, math.MaxFloat64},
	} {
		if err := p.Validate(); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
	}
	for _, c := range []struct {
		p    Parameters
		want []string // one line each, before the sentinel's text
	}{
		{Parameters{-1, 0.5, 1}, []string{"noise: epsilon = -1, want a finite number >= 0"}},
		{Parameters{math.Inf(1), 0.5, 1}, []string{"noise: epsilon = +Inf, want a finite number >= 0"}},
		{Parameters{math.NaN(), 0.5, 1}, []string{"noise: epsilon = NaN, want a finite number >= 0"}},
		{Parameters{1, 1, 1}, []string{"noise: delta = 1, want a probability, 0 <= delta < 1"}},
		{Parameters{1, -1e-9, 1}, []string{"noise: delta = -1e-09, want a probability, 0 <= delta < 1"}},
		{Parameters{1, math.NaN(), 1}, []string{"noise: delta = NaN, want a probability, 0 <= delta < 1"}},
		{Parameters{1, 0.5, 0}, []string{"noise: sensitivity = 0, want a finite number > 0 (query units)"}},
		{Parameters{1, 0.5, -2}, []string{"noise: sensitivity = -2, want a finite number > 0 (query units)"}},
		{Parameters{1, 0.5, math.Inf(1)}, []string{"noise: sensitivity = +Inf, want a finite number > 0 (query units)"}},
		{Parameters{1, 0.5, math.NaN()}, []string{"noise: sensitivity = NaN, want a finite number > 0 (query units)"}},
		{Parameters{-1, 2, 0}, []string{
			"noise: epsilon = -1, want a finite number >= 0",
			"noise: delta = 2, want a probability, 0 <= delta < 1",
			"noise: sensitivity = 0, want a finite number > 0 (query units)",
		}},
	} {
		err := c.p.Validate()
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: error %v does not wrap ErrInvalid", c.p, err)
			continue
		}
		want := strings.Join(c.want, ": "+ErrInvalid.Error()+"\n") + ": " + ErrInvalid.Error()
		if err.Error() != want {
			t.Errorf("%+v:\n got %q\nwant %q", c.p, err, want)
		}
	}
}

// TestBadParametersRefused: every entry point that takes parameters refuses bad
// ones with ErrInvalid, before anything else.
func TestBadParametersRefused(t *testing.T) {
	bad := []Parameters{{-1, 0.1, 1}, {1, 1, 1}, {1, 0.1, 0}, {math.NaN(), 0.1, 1}, {1, math.NaN(), 1}, {1, 0.1, math.Inf(1)}}
	for _, p := range bad {
		for _, b := range Baselines() {
			m, err := b.New(p, L1{})
			if !errors.Is(err, ErrInvalid) || errors.Is(err, ErrNotApplicable) || m != nil {
				t.Errorf("%s %+v: %v, %v; want nil and ErrInvalid", b.Name, p, m, err)
			}
		}
		for name, f := range map[string]func() error{
			"TulapLoss":             func() error { _, err := TulapLoss(p, L1{}); return err },
			"LowerBound":            func() error { _, err := LowerBound(p, L1{}); return err },
			"NearOptimalLowerBound": func() error { _, err := NearOptimalLowerBound(p); return err },
			"NearOptimalRoundedUp":  func() error { _, err := NearOptimalRoundedUp(p); return err },
			"AdditiveOptimum":       func() error { _, err := AdditiveOptimum(p, L1{}); return err },
		} {
			if err := f(); !errors.Is(err, ErrInvalid) {
				t.Errorf("%s %+v: %v, want ErrInvalid", name, p, err)
			}
		}
		if _, ok := StaircaseLoss(p, L1{}); ok && p.Delta == 0.1 {
			t.Errorf("StaircaseLoss %+v: ok, want not ok", p)
		}
	}
	for _, c := range []struct{ epsilon, delta float64 }{{-1, 0.1}, {1, 1}, {math.Inf(1), 0.1}, {1, math.NaN()}} {
		if _, err := AwanDongTails(c.epsilon, c.delta); !errors.Is(err, ErrInvalid) {
			t.Errorf("AwanDongTails(%g, %g): %v, want ErrInvalid", c.epsilon, c.delta, err)
		}
		if _, err := AwanDongLoss(c.epsilon, c.delta, L1{}); !errors.Is(err, ErrInvalid) {
			t.Errorf("AwanDongLoss(%g, %g): %v, want ErrInvalid", c.epsilon, c.delta, err)
		}
	}
	for _, c := range []struct {
		epsilon     float64
		sensitivity int64
	}{{-1, 1}, {1, 0}, {1, -3}, {math.NaN(), 1}} {
		if _, _, err := DiscreteStaircase(c.epsilon, c.sensitivity, L1{}); !errors.Is(err, ErrInvalid) {
			t.Errorf("DiscreteStaircase(%g, %d): %v, want ErrInvalid", c.epsilon, c.sensitivity, err)
		}
	}
}

// TestMissingLossRefused: a nil loss is an error, not a crash.
func TestMissingLossRefused(t *testing.T) {
	p := Parameters{0.5, 0.1, 1}
	for _, b := range Baselines() {
		m, err := b.New(p, nil)
		if err == nil {
			_, _, err = m.ExpectedLoss(nil)
		}
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", b.Name, err)
		}
	}
	for name, f := range map[string]func() error{
		"TulapLoss":         func() error { _, err := TulapLoss(p, nil); return err },
		"LowerBound":        func() error { _, err := LowerBound(p, nil); return err },
		"AdditiveOptimum":   func() error { _, err := AdditiveOptimum(Parameters{0, 0.1, 1}, nil); return err },
		"AwanDongLoss":      func() error { _, err := AwanDongLoss(1, 0.1, nil); return err },
		"DiscreteStaircase": func() error { _, _, err := DiscreteStaircase(1, 1, nil); return err },
	} {
		if err := f(); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
}
