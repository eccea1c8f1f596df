package noise

import (
	"errors"
	"math"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
)

// TestBadParametersRefused: every entry point that takes parameters refuses bad
// ones with ErrInvalid, before anything else.
func TestBadParametersRefused(t *testing.T) {
	bad := []dp.Privacy{{Epsilon: -1, Delta: 0.1, Sensitivity: 1}, {Epsilon: 1, Delta: 1, Sensitivity: 1}, {Epsilon: 1, Delta: 0.1, Sensitivity: 0}, {Epsilon: math.NaN(), Delta: 0.1, Sensitivity: 1}, {Epsilon: 1, Delta: math.NaN(), Sensitivity: 1}, {Epsilon: 1, Delta: 0.1, Sensitivity: math.Inf(1)}}
	for _, p := range bad {
		for _, b := range Baselines() {
			m, err := b.New(p, loss.L1{})
			if !errors.Is(err, dp.ErrInvalid) || errors.Is(err, ErrNotApplicable) || m != nil {
				t.Errorf("%s %+v: %v, %v; want nil and ErrInvalid", b.Name, p, m, err)
			}
		}
		for name, f := range map[string]func() error{
			"TulapLoss":             func() error { _, err := TulapLoss(p, loss.L1{}); return err },
			"LowerBound":            func() error { _, err := LowerBound(p, loss.L1{}); return err },
			"NearOptimalLowerBound": func() error { _, err := NearOptimalLowerBound(p); return err },
			"NearOptimalRoundedUp":  func() error { _, err := NearOptimalRoundedUp(p); return err },
			"AdditiveOptimum":       func() error { _, err := AdditiveOptimum(p, loss.L1{}); return err },
		} {
			if err := f(); !errors.Is(err, dp.ErrInvalid) {
				t.Errorf("%s %+v: %v, want ErrInvalid", name, p, err)
			}
		}
		if _, ok := StaircaseLoss(p, loss.L1{}); ok && p.Delta == 0.1 {
			t.Errorf("StaircaseLoss %+v: ok, want not ok", p)
		}
	}
	for _, c := range []struct{ epsilon, delta float64 }{{-1, 0.1}, {1, 1}, {math.Inf(1), 0.1}, {1, math.NaN()}} {
		if _, err := AwanDongTails(c.epsilon, c.delta); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("AwanDongTails(%g, %g): %v, want ErrInvalid", c.epsilon, c.delta, err)
		}
		if _, err := AwanDongLoss(c.epsilon, c.delta, loss.L1{}); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("AwanDongLoss(%g, %g): %v, want ErrInvalid", c.epsilon, c.delta, err)
		}
	}
	for _, c := range []struct {
		epsilon     float64
		sensitivity int64
	}{{-1, 1}, {1, 0}, {1, -3}, {math.NaN(), 1}} {
		if _, _, err := DiscreteStaircase(c.epsilon, c.sensitivity, loss.L1{}); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("DiscreteStaircase(%g, %d): %v, want ErrInvalid", c.epsilon, c.sensitivity, err)
		}
	}
}

// TestMissingLossRefused: a nil loss is an error, not a crash.
func TestMissingLossRefused(t *testing.T) {
	p := dp.Privacy{Epsilon: 0.5, Delta: 0.1, Sensitivity: 1}
	for _, b := range Baselines() {
		m, err := b.New(p, nil)
		if err == nil {
			_, _, err = m.ExpectedLoss(nil)
		}
		if !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", b.Name, err)
		}
	}
	for name, f := range map[string]func() error{
		"TulapLoss":  func() error { _, err := TulapLoss(p, nil); return err },
		"LowerBound": func() error { _, err := LowerBound(p, nil); return err },
		"AdditiveOptimum": func() error {
			_, err := AdditiveOptimum(dp.Privacy{Epsilon: 0, Delta: 0.1, Sensitivity: 1}, nil)
			return err
		},
		"AwanDongLoss":      func() error { _, err := AwanDongLoss(1, 0.1, nil); return err },
		"DiscreteStaircase": func() error { _, _, err := DiscreteStaircase(1, 1, nil); return err },
	} {
		if err := f(); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
}
