// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"math"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/tables"
)

// TestPrior: moments are those of the law, the bound has the least error, and the bias is said.
func TestPrior(t *testing.T) {
	for _, text := range []string{"prior:lognormal,-50,0.01", "prior:lognormal,50,5"} {
		if _, err := parsePrior(text); err != nil {
			t.Error(err)
		}
	}
	p := prior{0.5, 1.2}
	for _, u := range []float64{0.3, 2, 40, 500} {
		first, second := p.moments(u)
		var m1, m2 float64
		const steps = 200_000
		for i := range steps { // the integral over 12 deviations
			z := -12 + 24*(float64(i)+0.5)/steps
			off := max(math.Exp(p.mu+p.sigma*z)-u, 0)
			w := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) * 24 / steps
			m1 += w * off
			m2 += w * off * off
		}
		if math.Abs(first-m1) > 1e-6*m1 || math.Abs(second-m2) > 1e-6*m2 {
			t.Errorf("beyond %g: moments %g and %g, want %g and %g", u, first, second, m1, m2)
		}
	}
	q := Query{Kind: Mean, Column: "value", Bounds: "prior:lognormal,0.5,1.2", Rows: 1000, Epsilon: 1, Neighbors: dp.AddRemove}
	square := func(u float64, q Query) float64 {
		first, second := p.moments(u)
		noise := math.Sqrt2 * u * float64(q.most()) / q.Epsilon / float64(q.Rows)
		return first*first + (second-first*first)/float64(q.Rows) + noise*noise
	}
	for _, q.Person = range []string{"", "id"} {
		if q.Person != "" {
			q.MaxPerPerson = 3
		}
		best := p.bound(q)
		for _, factor := range []float64{0.5, 0.9, 1.1, 2} {
			if square(best*factor, q) < square(best, q) {
				t.Errorf("a bound of %g is better than %g", best*factor, best)
			}
		}
	}
	q.Person, q.MaxPerPerson = "", 0
	if one, two := (Query{Kind: Mean, Rows: 1000, Epsilon: 1}), (Query{Kind: Mean, Rows: 1000, Epsilon: 2, Releases: 2}); p.bound(one) != p.bound(two) {
		t.Errorf("two releases, each for half of epsilon: a bound of %g, and of one %g", p.bound(two), p.bound(one))
	}
	for _, noise := range []Query{{Rows: 2, Epsilon: 1}, {Rows: 100_000, Epsilon: 100}} { // the best bound is below the median, or far above it
		noise.Kind = Mean
		best := p.bound(noise)
		for u := 0.05; u < 2000; u *= 1.01 {
			if square(u, noise) < square(best, noise)*(1-1e-3) {
				t.Errorf("%d rows: a bound of %g is better than %g", noise.Rows, u, best)
			}
		}
	}
	for _, q.Kind = range []Kind{Mean, Sum} {
		bias := -p.excess(p.bound(q))
		if q.Kind == Sum {
			bias *= 1000
		}
		plan, err := NewPlan(t.Context(), q, laplaceSource)
		if err != nil {
			t.Fatal(err)
		}
		d, _, err := ReadData(t.Context(), []float64{1, 2, -3, 1e6}, q)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := d.tallies[0].total(), exact.Rational(3+p.bound(q)); got.Cmp(want) != 0 {
			t.Errorf("a sum of %v, want %v", got, want)
		}
		out, err := plan.Answer(d)
		if err != nil || len(plan.Costs()) != 1 {
			t.Fatal(err, plan.Costs())
		}
		if c := out[0].Clipped; c == nil || c.Lower != 0 || c.Upper != p.bound(q) || c.Bias == nil || *c.Bias != bias {
			t.Errorf("%s: clipped to %+v, want 0 to %g and a bias of %g", q.Kind, c, p.bound(q), bias)
		}
	}
}

// TestWithinBounds: what is made for bounds that were found answers as what is planned for these bounds, with noise of their
// scale: of many rows, intervals are as wide, and about the same estimate.
func TestWithinBounds(t *testing.T) {
	most := func(ctx context.Context, p dp.Problem, _ int) (*tables.Verified, error) { // with which a sum and a count are best
		return laplaceSource(ctx, p, 1)
	}
	var d tally
	d.n = 1e6
	d.sum.SetPrec(sumPrecision).SetFloat64(-3e6)
	for _, c := range []struct {
		kind      Kind
		neighbors string
		source    Source
	}{{Sum, dp.AddRemove, laplaceSource}, {Sum, dp.Replace, laplaceSource}, {Mean, dp.Replace, laplaceSource}, {Mean, dp.AddRemove, laplaceSource}, {Mean, dp.AddRemove, most}} {
		q := Query{Kind: c.kind, Column: "value", Lower: 0, Upper: 1, Neighbors: c.neighbors, Missing: middleMissing, Epsilon: 1}.normal()
		within, m, err := newScalable(t.Context(), q, c.source)
		if err != nil {
			t.Fatal(err)
		}
		const lower, upper = -8.0, 2.0
		got, err := within(lower, upper)
		if err != nil {
			t.Fatal(err)
		}
		own := q
		own.Lower, own.Upper = lower, upper
		want, err := newMechanism(t.Context(), own, c.source)
		if err != nil {
			t.Fatal(err)
		}
		if got.cost != m.cost || want.cost != m.cost {
			t.Errorf("%s: costs %+v, %+v and %+v", c.kind, got.cost, want.cost, m.cost)
		}
		of := func(m *mechanism) (width, off float64) {
			out, err := m.answer([]tally{d})
			if err != nil {
				t.Fatal(err)
			}
			exactly, _ := d.sum.Float64()
			if c.kind == Mean {
				exactly /= float64(d.n)
			}
			width = out[0].Upper - out[0].Lower
			return width, math.Abs(out[0].Value-exactly) / width
		}
		width, off := of(got)
		if other, _ := of(want); width > 1.01*other || width < other/1.01 || off > 5 { // with a probability below 1e-6
			t.Errorf("%s from %g to %g, %s: a width of %g, want %g, around an estimate that is %g of them off", c.kind, lower, upper, c.neighbors, width, other, off)
		}
	}
}
