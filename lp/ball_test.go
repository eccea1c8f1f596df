// SPDX-License-Identifier: Apache-2.0

package lp

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/ball"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
)

// spherical is the mean of a power of the norm of noise of the density e^(−ε·norm/Δ).
func spherical(d int, p dp.Privacy, power float64) float64 {
	a, _ := math.Lgamma(float64(d) + power)
	b, _ := math.Lgamma(float64(d))
	return math.Exp(a-b) * math.Pow(p.Sensitivity/p.Epsilon, power)
}

// TestDesignBall: losses that a program on other grids of rings found, and not above them by more than half a percent;
// never above noise without delta, and what was given is promised.
func TestDesignBall(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds")
	}
	for _, c := range []struct {
		d              int
		epsilon, delta float64
		power, want    float64 // 0: none was found
	}{
		{2, 1, 1e-6, 2, 5.955},
		{2, 1, 0.1, 1, 1.2728},
		{2, 5, 0.01, 2, 0.13539},
		{2, 10, 1e-5, 1, 0.0459},
		{3, 1, 0.1, 2, 3.3772},
		{3, 5, 0.01, 1, 0.4580},
		{3, 10, 1e-5, 2, 0.02895},
		{5, 5, 1e-6, 1, 0.9240},
		{5, 8, 1e-6, 2, 0.291},
		{8, 1, 1e-10, 2, 0},
		{2, 0.1, 1e-6, 1, 0},
		{7, 20, 1e-9, 2, 0},
	} {
		power, want := c.power, c.want
		l := loss.L1
		if power == 2 {
			l = loss.L2
		}
		p := ball.Problem{Dimension: c.d, Privacy: dp.Privacy{Epsilon: c.epsilon, Delta: c.delta, Sensitivity: 3}, Loss: l}
		v, err := DesignBall(t.Context(), p)
		if err != nil {
			t.Errorf("%+v: %v", p, err)
			continue
		}
		got, _ := v.Certificate().ExpectedLoss.Float64()
		got /= math.Pow(3, power)
		if want > 0 && got > 1.005*want {
			t.Errorf("%+v: %v, want at most %v and half a percent", p, got, want)
		}
		if most := spherical(c.d, dp.Privacy{Epsilon: c.epsilon, Sensitivity: 1}, power); got > most {
			t.Errorf("%+v: %v, want at most %v", p, got, most)
		}
		if m := v.Mechanism(); m.Privacy() != p.Privacy || m.Loss().Name() != l.Name() || len(m.Spec().Radii) > 1000 {
			t.Errorf("%+v: designed for %+v and %s, %d balls", p, m.Privacy(), m.Loss().Name(), len(m.Spec().Radii))
		}
	}
}

// TestDesignBallOfEpsilonZero: noise that is private by delta alone is uniform on few balls.
func TestDesignBallOfEpsilonZero(t *testing.T) {
	v, err := DesignBall(t.Context(), ball.Problem{Dimension: 3, Privacy: dp.Privacy{Delta: 0.5, Sensitivity: 1e-6}, Loss: loss.L2})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := v.Certificate().ExpectedLoss.Float64(); got > 2e-12 || got < 2e-13 {
		t.Errorf("%v", got)
	}
}

// TestDesignBallRefuses: one sentence for each bad field, and for what no balls are found.
func TestDesignBallRefuses(t *testing.T) {
	good := ball.Problem{Dimension: 2, Privacy: dp.Privacy{Epsilon: 1, Delta: 0.1, Sensitivity: 1}, Loss: loss.L2}
	for _, c := range []struct {
		change func(*ball.Problem)
		want   string
	}{
		{func(p *ball.Problem) { p.Dimension = 1 }, "dimension = 1, want a number of coordinates from 2 to 8"},
		{func(p *ball.Problem) { p.Dimension = 9 }, "dimension = 9"},
		{func(p *ball.Problem) { p.Delta = 0 }, "delta = 0, want"},
		{func(p *ball.Problem) { p.Delta = math.NaN() }, "delta = NaN"},
		{func(p *ball.Problem) { p.Epsilon = 21 }, "epsilon = 21, want"},
		{func(p *ball.Problem) { p.Sensitivity = 1e10 }, "sensitivity = 1e+10, want"},
		{func(p *ball.Problem) { p.Loss = nil }, "loss = none"},
		{func(p *ball.Problem) { p.Loss, _ = loss.Parse("huber:1") }, "loss = huber:1, want l1, l2 or lp:P"},
		{func(p *ball.Problem) { p.Epsilon, p.Delta = 1e-3, 1e-9 }, "delta = 1e-09, want one for which balls of at most 2048 sensitivities are enough at epsilon 0.001"},
	} {
		p := good
		c.change(&p)
		if v, err := DesignBall(t.Context(), p); v != nil || !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if v, err := DesignBall(ctx, good); v != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that of the context", err)
	}
}
