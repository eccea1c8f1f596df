// SPDX-License-Identifier: Apache-2.0

package latent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/latent/internal/budget"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/tables"
)

// cutLaplace is a designer without a solver: truncated Laplace noise on a grid of
// 16 points per sensitivity.
func cutLaplace(_ context.Context, epsilon, delta float64) (*tables.Table, error) {
	return cutLaplaceFor(dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 1}, dp.RealQuery, loss.L2, 0)
}

// cutLaplaceFor makes it for any promise; skew > 0 adds cells on the right.
func cutLaplaceFor(p dp.Privacy, query dp.Query, loss loss.Loss, skew int) (*tables.Table, error) {
	const perUnit = 16
	exponent := -4
	if query == dp.IntegerQuery {
		exponent = 0
	}
	for half := perUnit; half < 1<<14; half += 1 + half/32 {
		mass := make([]float64, 2*half+1+skew)
		var sum, left, right float64
		for i := range mass {
			mass[i] = math.Exp(-p.Epsilon * (1 - 1e-9) * math.Abs(float64(i-half)) / perUnit)
			sum += mass[i]
			if i < perUnit {
				left += mass[i]
			}
			if i >= len(mass)-perUnit {
				right += mass[i]
			}
		}
		if math.Max(left, right) > p.Delta*(1-1e-6)*sum {
			continue
		}
		for i := range mass {
			mass[i] /= sum
		}
		weights, atom, err := tables.Quantize(mass, 0)
		if err != nil {
			return nil, err
		}
		return tables.New(tables.Spec{
			Problem: dp.Problem{Privacy: p, Query: query, Loss: loss}, Weights: weights, Atom: atom,
			Grid: tables.Grid{GranularityExponent: exponent, PointsPerCell: 1, CellsPerSensitivity: perUnit, FirstCell: -half},
		})
	}
	return nil, errors.New("too many cells")
}

// designer is what a store of a curve is made of: the Design of tables for (ε, δ).
type designer func(ctx context.Context, epsilon, delta float64) (*tables.Table, error)

// storeOf returns a store whose tables are in memory only.
func storeOf(t testing.TB, design designer) *tables.Store {
	t.Helper()
	store, err := tables.NewStore(tables.StoreOptions{Design: func(ctx context.Context, p dp.Problem) (*tables.Verified, error) {
		table, err := design(ctx, p.Epsilon, p.Delta)
		if err != nil {
			return nil, err
		}
		return table.Verify()
	}})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func curveOf(t testing.TB, design designer) *curve { return newCurve(storeOf(t, design)) }

func pointAt(t *testing.T, c *curve, epsilon, delta float64) *point {
	t.Helper()
	p, err := c.at(t.Context(), epsilon, delta)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestCurveKeepsPoints: a point is measured once, and asked for as the store has it.
func TestCurveKeepsPoints(t *testing.T) {
	var calls atomic.Int64
	c := curveOf(t, func(ctx context.Context, epsilon, delta float64) (*tables.Table, error) {
		calls.Add(1)
		return cutLaplace(ctx, epsilon, delta)
	})
	const callers = 16
	got := make([]*point, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			p, err := c.at(t.Context(), 1, 1e-3)
			if err != nil {
				t.Error(err)
			}
			got[i] = p
		})
	}
	wg.Wait()
	for i, p := range got {
		if p != got[0] {
			t.Errorf("caller %d has another point", i)
		}
	}
	// Neighboring float64s are other points.
	if pointAt(t, c, math.Nextafter(1, 2), 1e-3) == got[0] || calls.Load() != 2 {
		t.Errorf("%d designs, want 2", calls.Load())
	}
}

// Outside the range of designs the noise is that of a stricter promise.
func TestCurveServesTheWholeRange(t *testing.T) {
	for _, c := range []struct{ epsilon, delta, toEpsilon, toDelta float64 }{
		{1e-4, 0.01, 0, 0.01},
		{1, 0.01, 1, 0.01},
		{50, 0.01, 20, 0.01},
		{1, 0.99, 1, 0.9},
		{1, 1e-13, 1, 0},
	} {
		p, err := designProblem(c.epsilon, c.delta, 1)
		if err != nil || p.Epsilon != c.toEpsilon || p.Delta != c.toDelta {
			t.Errorf("(%g, %g) is served by %+v, %v, want (%g, %g)", c.epsilon, c.delta, p.Privacy, err, c.toEpsilon, c.toDelta)
		}
	}
	curve := curveOf(t, cutLaplace)
	for _, c := range [][4]float64{{50, 0.01, 20, 0.01}, {1e-4, 0.1, 0, 0.1}, {1, 1e-13, 1, 0}} {
		v, err1 := curve.family().Variance(c[0], c[1])
		w, err2 := curve.family().Variance(c[2], c[3])
		if err := errors.Join(err1, err2); err != nil || v != w {
			t.Errorf("variance %g at (%g, %g), want %g as at (%g, %g); %v", v, c[0], c[1], w, c[2], c[3], err)
		}
	}
	if p := pointAt(t, curve, 1e-4, 0.1); p.table.Privacy().Epsilon != 0 {
		t.Errorf("privacy = %+v, want ε = 0", p.table.Privacy())
	}
	for _, bad := range [][2]float64{{0, 0}, {1e-4, 1e-13}, {math.NaN(), 0.1}, {1, -1}, {1, 1}} {
		if _, err := curve.at(t.Context(), bad[0], bad[1]); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%v: %v, want ErrInvalid", bad, err)
		}
	}
}

// The moments of a lopsided table, against a plain sum over its points.
func TestPointMoments(t *testing.T) {
	table, err := cutLaplaceFor(dp.Privacy{Epsilon: 0.5, Delta: 0.2, Sensitivity: 1}, dp.RealQuery, loss.L2, 5)
	if err != nil {
		t.Fatal(err)
	}
	p := measure(table)
	first, second := new(big.Rat), new(big.Rat)
	for i := range table.Cells() {
		w := new(big.Rat).SetInt(new(big.Int).SetUint64(table.Weight(i)))
		w.Quo(w, new(big.Rat).SetFloat64(0x1p64))
		x := big.NewRat(table.Grid().FirstPoint(i), 16)
		first.Add(first, w.Mul(w, x))
		second.Add(second, w.Mul(w, x))
	}
	mean, _ := first.Float64()
	if p.mean != mean || p.mean <= 0 {
		t.Errorf("mean = %g, want %g > 0", p.mean, mean)
	}
	truth := second.Sub(second, first.Mul(first, first))
	want, _ := truth.Float64()
	if !near(p.variance, want, 1e-15) || new(big.Rat).SetFloat64(p.variance).Cmp(truth) < 0 {
		t.Errorf("variance = %g, want %g rounded up", p.variance, want)
	}
	symmetric := pointAt(t, curveOf(t, cutLaplace), 0.5, 0.2)
	if square := exact.FloatUp(symmetric.table.ExpectedLossOf(loss.L2)); symmetric.mean != 0 || symmetric.variance != square {
		t.Errorf("symmetric table: %+v, want mean 0 and variance %g", symmetric, square)
	}
}

// The bound of the search is above what any noise can do, so above what a proven
// table shows to be impossible, and a Laplace table is never much better.
func TestCurveBoundIsNotOptimistic(t *testing.T) {
	c := curveOf(t, cutLaplace)
	r := rand.New(rand.NewPCG(4, 1))
	for range 50 {
		epsilon, delta := 0.2*math.Pow(20, r.Float64()), 1e-4*math.Pow(2000, r.Float64())
		bound, err := c.family().Variance(epsilon, delta)
		if err != nil {
			t.Fatal(err)
		}
		optimum, err := noise.New("discrete-canonical", dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 1}, loss.L2)
		if err != nil {
			t.Fatal(err)
		}
		least, _, err := optimum.ExpectedLoss(loss.L2)
		if err != nil {
			t.Fatal(err)
		}
		least -= 0.25
		if bound < least {
			t.Errorf("(%g, %g): bound %g, below %g", epsilon, delta, bound, least)
		}
		// Rounding the query to the grid spares up to step²/12.
		if p := pointAt(t, c, epsilon, delta); p.variance+1.0/256/12 < bound*0.95 {
			t.Errorf("(%g, %g): bound %g, a table has %g", epsilon, delta, bound, p.variance)
		}
	}
}

func designCutLaplace(ctx context.Context, p dp.Problem) (*tables.Verified, error) {
	table, err := cutLaplace(ctx, p.Epsilon, p.Delta)
	if err != nil {
		return nil, err
	}
	return table.Verify()
}

// Four numbers of different worth share one promise: two are worth a table each.
func ExampleOptions_Split() {
	store, err := tables.NewStore(tables.StoreOptions{Design: designCutLaplace}) // usually lp.Design
	if err != nil {
		fmt.Println(err)
		return
	}
	options := Options{Store: store}
	worth, halfwidth := []float64{16, 4, 1, 0.5}, []float64{2.5, 2.5, 2.5, 2.5}
	variances, err := options.Split(context.Background(), worth, halfwidth, 20, 1e-3)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, v := range variances {
		fmt.Printf("coordinate %d: variance %.3g for sensitivity 1\n", i, v)
	}
	// Output:
	// coordinate 0: variance 0.0158 for sensitivity 1
	// coordinate 1: variance 0.0243 for sensitivity 1
	// coordinate 2: variance 0 for sensitivity 1
	// coordinate 3: variance 0 for sensitivity 1
}

func TestCurveSplit(t *testing.T) {
	var calls atomic.Int64
	c := curveOf(t, func(ctx context.Context, epsilon, delta float64) (*tables.Table, error) {
		calls.Add(1)
		return cutLaplace(ctx, epsilon, delta)
	})
	lambda, halfwidth := []float64{9, 8, 0.1, 0}, []float64{1, 1.2, 3, 1}
	a, err := budget.Split(t.Context(), lambda, halfwidth, 10, 1e-3, c.family())
	if err != nil {
		t.Fatal(err)
	}
	points, err := c.split(t.Context(), lambda, halfwidth, 10, 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	if a.Epsilon[0] == 0 || a.Epsilon[1] == 0 || a.Epsilon[2] != 0 || calls.Load() != 2 {
		t.Fatalf("shares %g and %d designs, want two of both", a.Epsilon, calls.Load())
	}
	for i, p := range points {
		switch {
		case a.Epsilon[i] == 0:
			if p != nil {
				t.Errorf("coordinate %d is not used, but has a table", i)
			}
		case p.table.Privacy().Epsilon != a.Epsilon[i] || p.table.Privacy().Delta != a.Delta[i]:
			t.Errorf("coordinate %d: table %+v, want (%g, %g)", i, p.table.Privacy(), a.Epsilon[i], a.Delta[i])
		}
	}
	failing := curveOf(t, func(context.Context, float64, float64) (*tables.Table, error) { return nil, errTest })
	if _, err := failing.split(t.Context(), lambda, halfwidth, 10, 1e-3); !errors.Is(err, errTest) {
		t.Errorf("failing designer: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.split(ctx, lambda, halfwidth, 10, 1e-3); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Where a share of ε is below what can be designed the search goes on without it.
func TestCurveSplitOfLittle(t *testing.T) {
	c := curveOf(t, cutLaplace)
	lambda, halfwidth := []float64{9, 8, 1}, []float64{1, 1.2, 3}
	a, err := budget.Split(t.Context(), lambda, halfwidth, 0.01, 0, c.family())
	if err != nil || a.Epsilon[0] != 0.01 {
		t.Errorf("%+v, %v, want all for coordinate 0", a, err)
	}
	if _, err := c.split(t.Context(), lambda, halfwidth, 1e-4, 0); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("too little for any design: %v, want ErrInvalid", err)
	}
}

func near(a, b, relative float64) bool {
	return math.Abs(a-b) <= relative*math.Max(math.Abs(a), math.Abs(b))
}

var errTest = errors.New("a designer that fails")
