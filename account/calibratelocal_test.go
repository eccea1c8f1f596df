// SPDX-License-Identifier: Apache-2.0

package account

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/tables"
)

// threeWay designs randomized response among three categories that tells the truth
// with probability delta more, a hair inside its promise; the loss is the share of false
// answers.
func threeWay(_ context.Context, epsilon, delta, _ float64) (*local.Verified, error) {
	s := local.Spec{
		Epsilon: epsilon, Delta: delta, Values: local.Values{Kind: local.Category, Labels: []string{"a", "b", "c"}},
		AnswerLabels: []string{"a", "b", "c"}, Objective: local.Worst,
	}
	other := uint64((1 - delta) / (math.Exp(epsilon*(1-1e-9)) + 2) * 0x1p64)
	for i := range 3 {
		costs, row := []float64{1, 1, 1}, []uint64{other, other, other}
		costs[i], row[i] = 0, -(2 * other)
		s.Costs, s.Rows = append(s.Costs, costs), append(s.Rows, row)
	}
	r, err := local.New(context.Background(), s)
	if err != nil {
		return nil, err
	}
	return r.Verify()
}

func TestCalibrateLocal(t *testing.T) {
	ctx := context.Background()
	for _, total := range []tables.Total{
		{Releases: 1, Epsilon: 1, Delta: 0.1},
		{Releases: 4, Epsilon: 2, Delta: 0},
		{Releases: 3, Epsilon: 1, Delta: 0.05},
		{Releases: 30, Epsilon: 2, Delta: 1e-3},
	} {
		c, err := CalibrateLocal(ctx, total, threeWay, 0)
		if err != nil {
			t.Fatalf("%+v: %v", total, err)
		}
		if c.Composed.Upper > total.Epsilon || c.Composed.Lower > c.Composed.Upper {
			t.Errorf("%+v: composed %v", total, c.Composed)
		}
		n := float64(total.Releases)
		basic, err := threeWay(ctx, portion(total.Epsilon, total.Releases), portion(total.Delta, total.Releases), 0)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := c.Randomizer.Certificate().Loss().Float64()
		part, _ := basic.Certificate().Loss().Float64()
		if total.Delta < 0.01 && got > part*(1+1e-9) {
			t.Errorf("%+v: loss %g, but an equal part of the total has %g", total, got, part)
		}
		// Proved again from the weights alone: not by the sum only, and not much is left.
		pld, err := LossOf(c.Randomizer.Mechanism())
		if err != nil {
			t.Fatal(err)
		}
		again, err := compose(t, Release{pld, total.Releases}).BestEpsilon(total.Delta)
		if err != nil || again.Upper > total.Epsilon*(1+1e-9) || again.Upper < 0.9*total.Epsilon {
			t.Errorf("%+v: composes to %v, %v", total, again, err)
		}
		if s := c.Randomizer.Mechanism().Spec(); total.Releases == 30 && s.Epsilon < 1.5*total.Epsilon/n {
			t.Errorf("%+v: epsilon %g of each, want more than a part of the total", total, s.Epsilon)
		}
	}
}

func TestCalibrateLocalErrors(t *testing.T) {
	ctx := context.Background()
	failure := errors.New("no solver")
	for name, x := range map[string]struct {
		total  tables.Total
		design localDesigner
		want   error
	}{
		"total":   {tables.Total{Releases: 0, Epsilon: -1, Delta: 2}, threeWay, dp.ErrInvalid},
		"nothing": {tables.Total{Releases: 2, Epsilon: 1}, func(context.Context, float64, float64, float64) (*local.Verified, error) { return nil, nil }, dp.ErrInvalid},
		"failure": {tables.Total{Releases: 2, Epsilon: 1, Delta: 0.1}, func(context.Context, float64, float64, float64) (*local.Verified, error) { return nil, failure }, failure},
	} {
		if c, err := CalibrateLocal(ctx, x.total, x.design, 0); c != nil || !errors.Is(err, x.want) {
			t.Errorf("%s: %v, %v, want %v", name, c, err, x.want)
		}
	}
	loose := func(ctx context.Context, epsilon, delta, gap float64) (*local.Verified, error) {
		return threeWay(ctx, 2*epsilon, delta, gap)
	}
	if c, err := CalibrateLocal(ctx, tables.Total{Releases: 2, Epsilon: 1}, loose, 0); c != nil || err == nil {
		t.Errorf("a randomizer with another promise: %v, %v, want an error", c, err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if c, err := CalibrateLocal(ended, tables.Total{Releases: 2, Epsilon: 1}, threeWay, 0); c != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v, %v", c, err)
	}
}
