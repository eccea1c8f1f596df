// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/noisewright/noisewright/ball"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/sampler"
	"github.com/noisewright/noisewright/tables"
)

// must is for what cannot fail in a test.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// coarse makes a table of unit sensitivity on a grid of 1/per, from the masses of
// the cells 0, ±1, ±2, …, with the least delta that is true of it.
func coarse(t testing.TB, epsilon float64, per int, masses ...float64) *tables.Table {
	t.Helper()
	n := len(masses)
	pmf := make([]float64, 2*n-1)
	total := 0.0
	for j, m := range masses {
		pmf[n-1-j], pmf[n-1+j] = m, m
	}
	for _, m := range pmf {
		total += m
	}
	for i := range pmf {
		pmf[i] /= total
	}
	weights, _, err := tables.Quantize(pmf, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := tables.Spec{
		Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: epsilon, Delta: 0.9, Sensitivity: 1}, Loss: loss.L2},
		Grid:    tables.Grid{GranularityExponent: -int(math.Log2(float64(per))), PointsPerCell: 1, CellsPerSensitivity: per, FirstCell: 1 - n},
		Weights: weights,
	}
	delta, _ := must(tables.New(s)).Certify().DeltaUpper.Float64()
	s.Privacy.Delta = math.Nextafter(delta, 1)
	return must(tables.New(s))
}

// twoTables are designed-like: flat in the middle, falling in steps.
func twoTables(t testing.TB) []*tables.Table {
	return []*tables.Table{
		coarse(t, 1, 4, 9, 9, 8, 6, 5, 3.5, 3, 3, 2.5, 1.8, 1.2, 1, 0.8, 0.4, 0.2),
		coarse(t, 0.5, 4, 5, 5, 5, 4.5, 4, 4, 3.5, 3, 3, 2, 2, 1.5, 1, 1, 1, 0.5, 0.5, 0.3),
	}
}

// plain is a bundle of two features and two coordinates with the identity for an
// encoder, times scale.
func plain(scale float64, axes ...float64) Spec {
	return Spec{
		Features: []string{"height", "weight"}, Mean: []float64{1, 2},
		Encoder: Matrix{2, 2, []float64{scale, 0, 0, scale}}, Offset: []float64{0, 0},
		Axes: axes, Domain: Box, ClipOrigin: "published limits",
		Noise: Designed, Composition: basic, TableOf: []int{0, 0},
		Decoder: Matrix{2, 2, []float64{1 / scale, 0, 0, 1 / scale}}, DecoderOffset: []float64{1, 2},
		Promise: Promise{Epsilon: 1, Delta: 0.1},
	}
}

func perCoordinate(t testing.TB) Spec {
	s := plain(0.5, 0.5, 0.5)
	s.Tables, s.TableOf = twoTables(t), []int{0, 1}
	s.Promise = sumPromise(s.Tables...)
	return s
}

// sumPromise is the basic composition of tables, as float64s rounded up.
func sumPromise(list ...*tables.Table) Promise {
	var p Promise
	for _, t := range list {
		p.Epsilon += t.Privacy().Epsilon
		p.Delta += t.Privacy().Delta
	}
	p.Delta = math.Nextafter(p.Delta, 1)
	return p
}

func jointLaplace(t testing.TB, domain Domain, epsilon float64, exponent int, axes ...float64) Spec {
	t.Helper()
	s := plain(0.5, axes...)
	s.Domain, s.Noise, s.Composition = domain, noise.Laplace, jointL1
	s.Promise = Promise{Epsilon: epsilon}
	s.Tables = []*tables.Table{must(laplaceTable(epsilon, exponent, domain, axes))}
	return s
}

func jointGaussian(t testing.TB, domain Domain, epsilon, delta float64, axes ...float64) Spec {
	t.Helper()
	s := plain(0.5, axes...)
	s.Domain, s.Noise, s.Composition = domain, noise.Gaussian, jointL2
	s.Promise = Promise{epsilon, delta}
	// Made once: a table takes a quarter of a second, and is immutable.
	key := fmt.Sprint(domain, epsilon, delta, axes)
	made, ok := gaussians.Load(key)
	if !ok {
		table, tau, err := newGaussianTable(epsilon, delta, domain, axes)
		if err != nil {
			t.Fatal(err)
		}
		made, _ = gaussians.LoadOrStore(key, gaussian{table, tau})
	}
	s.Tables, s.Tau = []*tables.Table{made.(gaussian).table}, made.(gaussian).tau
	return s
}

// gaussians are what jointGaussian has made, by its arguments.
var gaussians sync.Map

type gaussian struct {
	table *tables.Table
	tau   float64
}

func jointSpherical(t testing.TB, domain Domain, epsilon float64, axes ...float64) Spec {
	t.Helper()
	s := plain(0.5, axes...)
	s.Domain, s.Noise, s.Composition = domain, Spherical, jointNorm
	s.Promise, s.TableOf = Promise{Epsilon: epsilon}, nil
	s.Tau = must(sphericalScale(epsilon, domain, axes))
	return s
}

// examples are bundles of every kind that keep their promise.
func exampleSpecs(t testing.TB) map[string]Spec {
	ball := perCoordinate(t)
	ball.Domain = Ball
	basicL1Ball := perCoordinate(t)
	basicL1Ball.Domain = L1Ball
	bounds := perCoordinate(t)
	bounds.Domain, bounds.FeatureLower, bounds.FeatureUpper = Bounds, []float64{0, 1}, []float64{2, 3}
	bounds.Task = Matrix{1, 2, []float64{1, -1}}
	bounds.Predicted = Predicted{0.25, 0.5}
	zonotope := jointLaplace(t, Bounds, 2, -8, 0.6, 0.6)
	zonotope.FeatureLower, zonotope.FeatureUpper = []float64{0, 1}, []float64{2, 3}
	zonotope.Encoder.Data = []float64{0.25, 0.25, 0.25, -0.25} // a diamond: ℓ1 range 1, box 4·0.6
	return map[string]Spec{
		"basic box": perCoordinate(t), "basic ball": ball, "basic bounds": bounds,
		"l1 box": jointLaplace(t, Box, 1, -6, 0.375, 0.125), "l1 ball": jointLaplace(t, Ball, 3, -6, 0.3, 0.4), "l1 bounds": zonotope,
		"l2 box": jointGaussian(t, Box, 1, 1e-5, 0.3, 0.4), "l2 ball": jointGaussian(t, Ball, 2, 1e-3, 0.5, 0.2),
		"norm box": jointSpherical(t, Box, 1, 0.3, 0.4), "norm ball": jointSpherical(t, Ball, 2.5, 0.5, 0.2),
		"basic l1-ball": basicL1Ball, "l1 l1-ball": jointLaplace(t, L1Ball, 2, -6, 0.375, 0.375), "l1 l1-ball of two axes": jointLaplace(t, L1Ball, 2, -6, 0.375, 0.3),
		"balls box": jointOnBalls(t, Box, 1.25, -12, 0.375, 0.5), "balls ball": jointOnBalls(t, Ball, 1, -12, 0.5, 0.2), "balls l1-ball": jointOnBalls(t, L1Ball, 1, -12, 0.5, 0.5),
		"l2 l1-ball": jointGaussian(t, L1Ball, 1, 1e-5, 0.4, 0.4), "norm l1-ball": jointSpherical(t, L1Ball, 1, 0.3, 0.4),
	}
}

func TestExamplesAreProved(t *testing.T) {
	for name, s := range exampleSpecs(t) {
		if testing.Short() && (name == "l2 ball" || name == "l2 l1-ball") {
			continue
		}
		v, err := must(New(s)).Verify(nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if v.EpsilonUpper().Cmp(exact.Rational(s.Promise.Epsilon)) > 0 || v.DeltaUpper().Cmp(exact.Rational(s.Promise.Delta)) > 0 {
			t.Errorf("%s: proved %s, %s for %+v", name, v.EpsilonUpper(), v.DeltaUpper(), s.Promise)
		}
		if d := v.distance; (d != nil) != s.Composition.joint() || (d != nil && (d.Sign() <= 0 || d.Cmp(big.NewRat(2, 1)) > 0)) {
			t.Errorf("%s: distance %v", name, d)
		}
		if name == "l1 box" && v.distance.Cmp(big.NewRat(1, 1)) != 0 {
			t.Errorf("%s: distance %v, want 1", name, v.distance)
		}
		if v.Bundle() == nil || s.Ball == nil && len(v.laws) != len(s.Tables)+len(s.Randomizers) || s.Ball != nil && *proof.Of(v.laws[0]).(*ball.Noise) != *s.Ball || len(s.Tables) > 0 && *proof.Of(v.laws[0]).(*tables.Table) != *s.Tables[0] {
			t.Errorf("%s: the proof is about %v", name, v.laws)
		}
		// Nor is much given away: the examples use what they are promised.
		if e, _ := v.EpsilonUpper().Float64(); e < 0.98*s.Promise.Epsilon {
			t.Errorf("%s: epsilon %g of %g is used", name, e, s.Promise.Epsilon)
		}
		if d, _ := v.DeltaUpper().Float64(); d < 0.9*s.Promise.Delta {
			t.Errorf("%s: delta %g of %g is used", name, d, s.Promise.Delta)
		}
	}
}

// TestVerifyRefuses weakens one thing at a time that the promise rests on.
func TestVerifyRefuses(t *testing.T) {
	all := exampleSpecs(t)
	for i, c := range []struct {
		of     string
		weaken func(s *Spec)
		says   string
	}{
		{"basic box", func(s *Spec) { s.Axes[1] = math.Nextafter(0.5, 1) }, "axes[1]"},
		{"basic box", func(s *Spec) { s.Promise.Epsilon = math.Nextafter(s.Promise.Epsilon, 0) }, "epsilon"},
		{"basic box", func(s *Spec) { s.Promise.Delta *= 0.999 }, "delta"},
		{"basic box", func(s *Spec) { s.TableOf = []int{1, 0}; s.Tables[1] = weaker(s.Tables[1]) }, "tables[1]"},
		{"basic box", func(s *Spec) { s.Tables = s.Tables[:1]; s.TableOf = []int{0, 0} }, "epsilon"},
		{"basic box", func(s *Spec) { s.Composition = Exact; s.Promise.Epsilon = math.Nextafter(s.Promise.Epsilon, 0) }, "composition = exact"},
		{"basic box", func(s *Spec) { s.Composition = Exact; s.Promise.Delta *= 0.999 }, "composition = exact"},
		{"basic ball", func(s *Spec) { s.Axes[0] = 0.6 }, "axes[0]"},
		{"basic bounds", func(s *Spec) { s.Axes[0] = 0.6 }, "axes[0]"},
		{"l1 box", func(s *Spec) { s.Axes[0] += 0x1p-6 }, "epsilon"},
		{"l1 box", func(s *Spec) { s.Promise.Epsilon = math.Nextafter(s.Promise.Epsilon, 0) }, "epsilon"},
		{"l1 box", func(s *Spec) { s.Tables = []*tables.Table{must(laplaceTable(1.01, -6, Box, s.Axes))} }, "epsilon"},
		{"l1 box", func(s *Spec) { s.Tables = twoTables(t)[:1] }, "want 0 and 1 cell"},
		{"l1 box", func(s *Spec) { s.Tables[0] = approximate(s.Tables[0]) }, "one with delta = 0.5"},
		{"l1 box", func(s *Spec) { s.Tables[0] = weaker(s.Tables[0]) }, "tables[0]"},
		{"l1 box", func(s *Spec) { s.Domain = Ball; s.Axes = []float64{0.4, 0.4} }, "epsilon"},
		{"l1 ball", func(s *Spec) { s.Axes[1] = s.Axes[1] * 1.0000001 }, "epsilon"},
		{"l1 ball", func(s *Spec) { s.Domain = Box }, "epsilon"},
		{"norm ball", func(s *Spec) { s.Axes[0] = math.Nextafter(s.Axes[0], 1) }, "epsilon"},
		{"norm ball", func(s *Spec) { s.Tau = math.Nextafter(s.Tau, 0) }, "epsilon"},
		{"norm ball", func(s *Spec) { s.Promise.Epsilon = math.Nextafter(s.Promise.Epsilon, 0) }, "epsilon"},
		{"norm ball", func(s *Spec) { s.Domain = Box }, "epsilon"},
		{"norm box", func(s *Spec) { s.Axes[1] *= 1 + 0x1p-30 }, "epsilon"},
		{"balls ball", func(s *Spec) { s.Axes[0] = math.Nextafter(s.Axes[0], 1) }, "axes"},
		{"balls ball", func(s *Spec) { s.Domain = Box }, "axes"},
		{"balls ball", func(s *Spec) { s.Promise.Delta *= 1 - 0x1p-50 }, "delta"},
		{"balls ball", func(s *Spec) { s.Promise.Epsilon *= 1 - 0x1p-50 }, "epsilon"},
		{"balls box", func(s *Spec) { s.Axes[1] += 0x1p-12 }, "axes"},
		{"l1 bounds", func(s *Spec) { s.Encoder.Data[3] *= 1.02 }, "epsilon"},
		{"l1 bounds", func(s *Spec) { s.FeatureUpper[0] += 0.05 }, "epsilon"},
		{"l1 bounds", func(s *Spec) { s.Domain = Box }, "epsilon"},
		{"l2 box", func(s *Spec) { s.Axes[0] *= 1.05 }, "delta"},
		{"l2 box", func(s *Spec) { s.Promise.Delta *= 0.999 }, "delta"},
		{"l2 box", func(s *Spec) { s.Promise.Epsilon *= 0.999 }, "delta"},
		{"l2 box", func(s *Spec) { s.Tau *= 1.0001 }, "delta"}, // the table is no longer close
		{"l2 box", func(s *Spec) { s.Tau = 7.9 * math.Ldexp(1, s.Tables[0].Grid().GranularityExponent) }, "tau"},
		{"l2 box", func(s *Spec) { s.Tau *= 1e6 }, "delta"},
		{"l2 box", func(s *Spec) { s.Tables[0] = weaker(s.Tables[0]) }, "tables[0]"},
		{"l2 box", func(s *Spec) { s.Tables = twoTables(t)[:1] }, "delta"},
		{"l2 ball", func(s *Spec) { s.Axes[1] = 0.51 }, "delta"},
		{"l2 ball", func(s *Spec) { s.Domain = Box }, "delta"},
		{"basic l1-ball", func(s *Spec) { s.Axes[0] = math.Nextafter(0.5, 1) }, "axes[0]"},
		{"l1 l1-ball", func(s *Spec) { s.Axes[1] += 0x1p-6 }, "epsilon"},
		{"l1 l1-ball", func(s *Spec) { s.Promise.Epsilon = math.Nextafter(s.Promise.Epsilon, 0) }, "epsilon"},
		{"l1 l1-ball", func(s *Spec) { s.Domain = Ball }, "epsilon"},
		{"l1 l1-ball", func(s *Spec) { s.Domain = Box }, "epsilon"},
		{"l2 l1-ball", func(s *Spec) { s.Axes[1] *= 1.02 }, "delta"},
		{"l2 l1-ball", func(s *Spec) { s.Domain = Box }, "delta"},
		{"norm l1-ball", func(s *Spec) { s.Axes[1] *= 1 + 0x1p-30 }, "epsilon"},
		{"norm l1-ball", func(s *Spec) { s.Domain = Box }, "epsilon"},
	} {
		if testing.Short() && i%3 > 0 {
			continue // slow
		}
		s := all[c.of].clone()
		c.weaken(&s)
		b, err := New(s)
		if err != nil {
			t.Errorf("%s, %s: not even a bundle: %v", c.of, c.says, err)
			continue
		}
		v, err := b.Verify(nil)
		if v != nil && err == nil {
			t.Errorf("%s: Verify accepts it, want a complaint about %s", c.of, c.says)
			continue
		}
		if !errors.Is(err, proof.ErrNotPrivate) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want ErrNotPrivate about %s", c.of, err, c.says)
		}
		if _, err := v.NewPrivatizer(sampler.Options{}); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%s: NewPrivatizer: %v, want ErrInvalid", c.of, err)
		}
	}
}

// approximate is private per step with a delta only.
func approximate(t *tables.Table) *tables.Table {
	p := t.Privacy()
	p.Delta = 0.5
	return must(tables.New(tables.Spec{
		Problem: dp.Problem{Privacy: p, Loss: t.Loss()}, Grid: tables.Grid{GranularityExponent: t.Grid().GranularityExponent, PointsPerCell: 1, CellsPerSensitivity: 1},
		Weights: []uint64{1 << 62, 1 << 62, 1 << 62, 1 << 62},
	}))
}

// weaker moves a little weight of a table outwards, which breaks its own promise.
func weaker(t *tables.Table) *tables.Table {
	weights := make([]uint64, t.Cells())
	for i := range weights {
		weights[i] = t.Weight(i)
	}
	i := slices.Index(weights, slices.Max(weights))
	move := weights[i] / 4
	weights[i] -= move
	weights[len(weights)-1] += move
	return must(tables.New(tables.Spec{
		Problem: dp.Problem{Privacy: t.Privacy(), Loss: t.Loss()}, Grid: t.Grid(), Weights: weights, Atom: t.Atom(), TailRatio: t.TailRatio(),
	}))
}

// TestIrrelevant changes what has no part in privacy.
func TestIrrelevant(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for name, s := range exampleSpecs(t) {
		s.Offset[0] += 3
		s.Mean[1] -= 5
		s.Decoder.Data[0], s.DecoderOffset[0], s.ClipOrigin = 7, 7, "nowhere"
		if s.Domain != Bounds {
			s.Encoder.Data[1] = 100
		}
		if _, err := must(New(s)).Verify(nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// tableAt is the table of the i-th coordinate.
func tableAt(b *Bundle, i int) *tables.Table { return b.spec.Tables[b.spec.TableOf[i]] }

func TestAccountant(t *testing.T) {
	s := perCoordinate(t)
	s.Composition = Exact
	s.Promise = Promise{1.5, 0.02}
	b := must(New(s))
	for _, c := range []struct {
		compose func([]*tables.Table, Promise) (float64, error)
		ok      bool
	}{
		{nil, false},
		{VerifiedElsewhere, true},
		{func(c []*tables.Table, p Promise) (float64, error) {
			if len(c) != 2 || *c[0] != *s.Tables[0] || *c[1] != *s.Tables[1] || p != s.Promise {
				t.Errorf("composes %v for %+v", c, p)
			}
			return 0.02, nil
		}, true},
		{func([]*tables.Table, Promise) (float64, error) { return math.Nextafter(0.02, 1), nil }, false},
		{func([]*tables.Table, Promise) (float64, error) { return math.NaN(), nil }, false},
		{func([]*tables.Table, Promise) (float64, error) { return 0, errors.New("no") }, false},
	} {
		v, err := b.Verify(c.compose)
		if c.ok != (err == nil) || (err != nil && !errors.Is(err, proof.ErrNotPrivate)) || (err != nil) != (v == nil) {
			t.Errorf("Verify: %v, %v, want success = %v", v, err, c.ok)
		}
	}
}

// TestExactBySums: without an accountant what the sums prove is proved, to the last bit.
func TestExactBySums(t *testing.T) {
	s := exampleSpecs(t)["basic box"]
	sums := must(must(New(s)).Verify(nil))
	s.Composition = Exact
	v, err := must(New(s)).Verify(nil)
	if err != nil || v.EpsilonUpper().Cmp(sums.EpsilonUpper()) != 0 || v.DeltaUpper().Cmp(sums.DeltaUpper()) != 0 {
		t.Errorf("%v, want epsilon %s and delta %s proved", err, sums.EpsilonUpper(), sums.DeltaUpper())
	}
}

func TestNewRefuses(t *testing.T) {
	for field, spoil := range map[string]func(s *Spec){
		"features =":        func(s *Spec) { s.Features = nil },
		"features[1]":       func(s *Spec) { s.Features[1] = s.Features[0] },
		"mean =":            func(s *Spec) { s.Mean = s.Mean[:1] },
		"mean[1]":           func(s *Spec) { s.Mean[1] = math.NaN() },
		"feature_upper":     func(s *Spec) { s.FeatureLower = []float64{0, 0} },
		"feature_lower[1]":  func(s *Spec) { s.FeatureLower, s.FeatureUpper = []float64{0, 2}, []float64{0, 1} },
		"encoder =":         func(s *Spec) { s.Encoder.Cols = 3 },
		"encoder[3]":        func(s *Spec) { s.Encoder.Data[3] = math.Inf(1) },
		"offset":            func(s *Spec) { s.Offset = nil },
		"axes[0]":           func(s *Spec) { s.Axes[0] = 0 },
		"axes =":            func(s *Spec) { s.Axes = nil },
		"domain":            func(s *Spec) { s.Domain = "sphere" },
		"feature_lower =":   func(s *Spec) { s.Domain = Bounds },
		"decoder =":         func(s *Spec) { s.Decoder = Matrix{} },
		"decoder_offset[0]": func(s *Spec) { s.DecoderOffset[0] = 1e91 },
		"task":              func(s *Spec) { s.Task = Matrix{2, 2, []float64{1}} },
		"epsilon":           func(s *Spec) { s.Promise.Epsilon = -1 },
		"delta":             func(s *Spec) { s.Promise.Delta = 1 },
		"predicted.theory":  func(s *Spec) { s.Predicted.UnclippedLoss = math.NaN() },
		"noise.kind":        func(s *Spec) { s.Noise = "white" },
		"kind = designed":   func(s *Spec) { s.Composition = jointL1; s.Tables, s.TableOf = s.Tables[:1], []int{0, 0} },
		"noise.composition": func(s *Spec) { s.Composition = "best" },
		"noise.tau":         func(s *Spec) { s.Tau = 1 },
		"tables =":          func(s *Spec) { s.Tables = nil },
		"tables[1]":         func(s *Spec) { s.TableOf = []int{0, 0} },
		"tables[0]":         func(s *Spec) { s.Tables[0] = nil },
		"table_of[0]":       func(s *Spec) { s.TableOf[0] = 2 },
		"table_of =":        func(s *Spec) { s.TableOf = []int{0} },
		"clip_origin":       func(s *Spec) { s.ClipOrigin = "\xff" },
	} {
		s := perCoordinate(t)
		spoil(&s)
		if b, err := New(s); b != nil || !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), "bundle: "+field) && !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	s := perCoordinate(t)
	s.Mean[0], s.Promise.Delta, s.Domain = math.NaN(), 2, ""
	if _, err := New(s); err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("three bad fields: %v", err)
	}
}

// TestEncode holds the clipping to what the proof needs, in exact arithmetic, for
// inputs of all sizes.
// shortReader has entropy for some reads only.
// TestNoEntropy lets the randomness end between the coordinates of one release.
// TestMoments draws many releases with a fixed seed: their mean is the encoding and
// their covariance that of the tables. A mean of N draws of variance v is off by more
// than 6.2·√(v/N) with a probability below 1e-9, and so is a mean of squares or products,
// whose variances are measured; 8 bundles and 5 means each.
func ExampleBundle_Verify() {
	spec := Spec{
		Features: []string{"age", "hours"}, Mean: []float64{40, 40},
		Encoder: Matrix{2, 2, []float64{0.0125, 0, 0, 0.0125}}, Offset: []float64{0, 0},
		Axes: []float64{0.25, 0.25}, Domain: Box, ClipOrigin: "20 years or hours around 40",
		Noise:   noise.Laplace, // for the distance 2·(0.25 + 0.25) = 1
		Decoder: Matrix{2, 2, []float64{80, 0, 0, 80}}, DecoderOffset: []float64{40, 40},
		Promise: Promise{Epsilon: 2},
	}
	if err := spec.Calibrate(); err != nil {
		fmt.Println(err)
		return
	}
	b, err := New(spec)
	if err != nil {
		fmt.Println(err)
		return
	}
	proof, err := b.Verify(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := proof.NewPrivatizer(sampler.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := p.Privatize(nil, []float64{70, 35}); err != nil {
		fmt.Println(err)
		return
	}
	clipped, err := b.Encode(nil, []float64{70, 35}) // for the example: never release it
	if err != nil {
		fmt.Println(err)
		return
	}
	x, err := b.Decode(nil, clipped)
	fmt.Println("epsilon", proof.EpsilonUpper().FloatString(2), "clipped", x, err)
	// Output: epsilon 2.00 clipped [60 35] <nil>
}
