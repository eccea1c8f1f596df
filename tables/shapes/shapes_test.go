// SPDX-License-Identifier: Apache-2.0

package shapes

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

func problem(epsilon, delta, sensitivity float64, l loss.Loss) dp.Problem {
	return dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: sensitivity}, Loss: l}
}

// expected returns the table's expected loss, and fails unless the table promises the
// epsilon, and the delta if it is not negative.
func expected(t *testing.T, what string, table *tables.Verified, err error, epsilon, delta float64) float64 {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if p := table.Mechanism().Privacy(); p.Epsilon != epsilon || delta >= 0 && p.Delta != delta {
		t.Errorf("%s: promise %+v, want (%g, %g)", what, p, epsilon, delta)
	}
	l, _ := table.Certificate().ExpectedLoss.Float64()
	return l
}

// near allows for cells that are flat and grids that are a little longer.
func near(t *testing.T, what string, got, want, share float64) {
	t.Helper()
	if !(math.Abs(got/want-1) <= share) {
		t.Errorf("%s: expected loss %g, want %g", what, got, want)
	}
}

func lossOf(t *testing.T, name string, p dp.Problem) float64 {
	t.Helper()
	m, err := noise.New(name, p.Privacy, p.Loss)
	if err != nil {
		t.Fatal(err)
	}
	l, _, err := m.ExpectedLoss(p.Loss)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestAgainstClosedForms: tables for real queries have about the losses of the laws
// that they stand for.
func TestAgainstClosedForms(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, l := range []loss.Loss{loss.L1, loss.L2} {
		for _, epsilon := range []float64{0.01, 0.3, 1, 5} {
			for _, sensitivity := range []float64{1e-3, 1, 700} {
				p := problem(epsilon, 1e-5, sensitivity, l)
				what := fmt.Sprintf("epsilon %g, sensitivity %g, %s", epsilon, sensitivity, l.Name())
				table, err := Laplace(p, tables.Grid{})
				near(t, "Laplace, "+what, expected(t, what, table, err, epsilon, 0), lossOf(t, noise.Laplace, p), 2e-3)
				table, err = TruncatedLaplace(p, tables.Grid{})
				near(t, "truncated Laplace, "+what, expected(t, what, table, err, epsilon, 1e-5), lossOf(t, noise.TruncatedLaplace, p), 0.01)
				table, err = Staircase(p, 0, tables.Grid{})
				near(t, "staircase, "+what, expected(t, what, table, err, epsilon, 0), lossOf(t, noise.Staircase, p), 2e-3)
				sigma, err := noise.GaussianSigma(p.Privacy)
				if err != nil {
					t.Fatal(err)
				}
				table, err = Gaussian(p, sigma, tables.Grid{})
				near(t, "Gaussian, "+what, expected(t, what, table, err, epsilon, -1), lossOf(t, noise.AnalyticGaussian, p), 2e-3)
				if d := table.Mechanism().Privacy().Delta; !(d > 0.99e-5 && d < 1.01e-5) {
					t.Errorf("Gaussian, %s: delta = %g, want about 1e-5", what, d)
				}
				table, err = ExponentialPower(p, 2, sigma*math.Sqrt2, tables.Grid{})
				near(t, "exponent 2, "+what, expected(t, what, table, err, epsilon, -1), lossOf(t, noise.AnalyticGaussian, p), 2e-3)
				table, err = ExponentialPower(p, 1, sensitivity/epsilon, tables.Grid{})
				near(t, "exponent 1, "+what, expected(t, what, table, err, epsilon, -1), lossOf(t, noise.Laplace, p), 0.03)
			}
		}
	}
}

// TestQueries: integers and lattices are their own grid.
func TestQueries(t *testing.T) {
	integer := problem(0.7, 1e-4, 3, loss.L1)
	integer.Query = dp.IntegerQuery
	lattice := problem(0.7, 1e-4, 0.7, loss.L1)
	lattice.Query, lattice.Step = dp.LatticeQuery, 0.7/3 // 3 of which are less than 0.7
	for _, p := range []dp.Problem{integer, lattice} {
		for name, make := range map[string]func() (*tables.Verified, error){
			"Laplace":           func() (*tables.Verified, error) { return Laplace(p, tables.Grid{}) },
			"truncated Laplace": func() (*tables.Verified, error) { return TruncatedLaplace(p, tables.Grid{}) },
			"staircase":         func() (*tables.Verified, error) { return Staircase(p, 0, tables.Grid{}) },
			"Gaussian":          func() (*tables.Verified, error) { return Gaussian(p, 10*p.Sensitivity, tables.Grid{}) },
			"exponent 1.5":      func() (*tables.Verified, error) { return ExponentialPower(p, 1.5, 5*p.Sensitivity, tables.Grid{}) },
		} {
			table, err := make()
			expected(t, name, table, err, 0.7, -1)
			if g := table.Mechanism().Grid(); table.Mechanism().Query() != p.Query || g.PointsPerCell != 1 {
				t.Errorf("%s: query %s, %d points per cell", name, table.Mechanism().Query(), g.PointsPerCell)
			}
		}
	}
	table, err := Laplace(problemOfIntegers(1), tables.Grid{})
	q := math.Exp(-1.0)
	near(t, "geometric noise", expected(t, "geometric noise", table, err, 1, 0), 2*q/(1-q*q), 1e-8)
	table, err = Laplace(problemOfIntegers(30), tables.Grid{})
	q = math.Exp(-30.0)
	near(t, "next to no noise", expected(t, "next to no noise", table, err, 30, 0), 2*q/(1-q*q), 1e-3)
}

func problemOfIntegers(epsilon float64) dp.Problem {
	p := problem(epsilon, 0, 1, loss.L1)
	p.Query = dp.IntegerQuery
	return p
}

// TestStaircaseAnywhere: the core may lie beside 0, and the tails begin beyond it.
func TestStaircaseAnywhere(t *testing.T) {
	p := problemOfIntegers(0.5)
	p.Sensitivity = 3
	for _, first := range []int{-40, -5, -4, -1, 0, 2, 30} {
		for _, core := range []int{1, 2, 5} {
			g := tables.Grid{PointsPerCell: 1, CellsPerSensitivity: 3, FirstCell: first}
			table, err := Staircase(p, core, g)
			expected(t, fmt.Sprintf("core of %d from %d on", core, first), table, err, 0.5, 0)
		}
	}
}

// TestUniform is truncated Laplace noise of no slope.
func TestUniform(t *testing.T) {
	table, err := TruncatedLaplace(problem(0, 0.01, 1, loss.L1), tables.Grid{})
	near(t, "uniform", expected(t, "uniform", table, err, 0, 0.01), 25, 0.01)
}

func TestRefused(t *testing.T) {
	p := problem(1, 1e-6, 1, loss.L1)
	with := func(change func(*dp.Problem)) dp.Problem {
		q := p
		change(&q)
		return q
	}
	none := tables.Grid{}
	for name, err := range map[string]error{
		"no epsilon":      second(Laplace(with(func(q *dp.Problem) { q.Epsilon = 0 }), none)),
		"NaN":             second(Laplace(with(func(q *dp.Problem) { q.Epsilon = math.NaN() }), none)),
		"large epsilon":   second(Laplace(with(func(q *dp.Problem) { q.Epsilon = 1e4 }), none)),
		"no loss":         second(Laplace(with(func(q *dp.Problem) { q.Loss = nil }), none)),
		"no delta":        second(TruncatedLaplace(with(func(q *dp.Problem) { q.Delta = 0 }), none)),
		"delta 1":         second(TruncatedLaplace(with(func(q *dp.Problem) { q.Delta = 1 }), none)),
		"little delta":    second(TruncatedLaplace(with(func(q *dp.Problem) { q.Epsilon, q.Delta = 0, 1e-9 }), none)),
		"no loss, stairs": second(Staircase(with(func(q *dp.Problem) { q.Loss = nil }), 0, none)),
		"no grid":         second(Staircase(p, 3, none)),
		"negative core":   second(Staircase(p, -1, tables.Grid{PointsPerCell: 1, CellsPerSensitivity: 1})),
		"no sensitivity":  second(Gaussian(with(func(q *dp.Problem) { q.Sensitivity = 0 }), 1, none)),
		"no sigma":        second(Gaussian(p, 0, none)),
		"coarse":          second(Gaussian(problemOfIntegers(1), 2, none)),
		"wide":            second(Gaussian(problemOfIntegers(1), 1e6, none)),
		"exponent":        second(ExponentialPower(p, 3, 1, none)),
		"scale":           second(ExponentialPower(p, 2, math.Inf(1), none)),
		"many steps": second(ExponentialPower(with(func(q *dp.Problem) {
			q.Query, q.Sensitivity = dp.IntegerQuery, 1e5
		}), 2, 1e5, none)),
	} {
		if !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
	narrow := with(func(q *dp.Problem) { q.Constraints.Support = &dp.Interval{Lower: -1, Upper: 1} })
	if err := second(Gaussian(narrow, 5, none)); !errors.Is(err, proof.ErrFalseClaim) {
		t.Errorf("noise outside the support: %v, want ErrFalseClaim", err)
	}
}

func second(_ *tables.Verified, err error) error { return err }

func law(t *tables.Table) (masses []float64, lowest int) {
	for i := range t.Cells() {
		masses = append(masses, float64(t.Weight(i))*0x1p-64)
	}
	return masses, t.Grid().FirstCell
}

// TestEachMass holds the recursion against differences of the distribution function.
func TestEachMass(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, c := range []struct {
		sigma float64
		reach int
	}{{1, 160}, {1.7, 400}, {math.Pi, 500}, {100, 14000}} {
		h := new(big.Rat).Quo(big.NewRat(1, 8), exact.Rational(c.sigma))
		eachMass(h, c.reach, func(j int, low, high *big.Int) {
			if j == 0 || j%37 > 2 && j < c.reach-5 {
				return
			}
			at := func(n int64) (low, high *big.Int) {
				x := new(big.Rat).Mul(h, big.NewRat(n, 2))
				return exact.NormalTail(x.Num(), x.Denom())
			}
			fromLow, fromHigh := at(2*int64(j) - 1)
			toLow, toHigh := at(2*int64(j) + 1)
			wantHigh, wantLow := fromHigh.Sub(fromHigh, toLow), fromLow.Sub(fromLow, toHigh)
			if low.Cmp(high) > 0 || low.Cmp(wantHigh) > 0 || high.Cmp(wantLow) < 0 || new(big.Int).Sub(high, low).BitLen() > 2 {
				t.Errorf("sigma %g, mass of %d: [%s, %s], want [%s, %s]", c.sigma, j, low, high, wantLow, wantHigh)
			}
		})
	}
}

// TestGaussianWeights holds them against math.Erfc, on cells of one point and of
// three, and the distance of another law against a sum of float64s.
func TestGaussianWeights(t *testing.T) {
	for _, points := range []int64{1, 3} {
		const sigma = 5.1
		cell := 0.125 * float64(points)
		table, err := Gaussian(problem(1, 0, 1.5, loss.L2), sigma, tables.Grid{GranularityExponent: -3, PointsPerCell: points, CellsPerSensitivity: 12 / int(points)})
		if err != nil {
			t.Fatal(err)
		}
		cdf := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
		const other = 5.2
		tv := 0.0
		masses, lowest := law(table.Mechanism())
		for i, p := range masses {
			n := math.Abs(float64(lowest + i))
			want := cdf((-n+0.5)*cell/sigma) - cdf((-n-0.5)*cell/sigma)
			if math.Abs(p-want) > 1e-15 {
				t.Errorf("mass of %g = %g, want %g", n, p, want)
			}
			tv += math.Abs(p-cdf((-n+0.5)*cell/other)+cdf((-n-0.5)*cell/other)) / 2
		}
		if got, _ := GaussianDistance(table.Mechanism(), sigma).Float64(); got > 1e-16 || got <= 0 {
			t.Errorf("total variation = %g, want about 1e-17", got)
		}
		if got, _ := GaussianDistance(table.Mechanism(), other).Float64(); math.Abs(got/tv-1) > 1e-9 {
			t.Errorf("total variation = %g, want %g", got, tv)
		}
	}
}
