// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/ball"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/noise"
	"github.com/noisewright/noisewright/tables"
)

// badFields returns the fields that an error names, in order and with repetitions.
func badFields(t *testing.T, err error) string {
	t.Helper()
	var all []string
	var walk func(err error)
	walk = func(err error) {
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range joined.Unwrap() {
				walk(e)
			}
			return
		}
		var field *check.FieldError
		if !errors.As(err, &field) {
			t.Errorf("%v names no field", err)
			return
		}
		all = append(all, field.Field)
	}
	if err != nil {
		walk(err)
	}
	return strings.Join(all, " ")
}

// stepped is a table with steps of 2^exponent, for queries of the kind.
func stepped(query dp.Query, exponent int) *tables.Table {
	return must(tables.New(tables.Spec{
		Problem: dp.Problem{Privacy: dp.Privacy{Epsilon: 1, Delta: 0.5, Sensitivity: math.Ldexp(1, exponent)}, Loss: loss.L2, Query: query},
		Grid:    tables.Grid{GranularityExponent: exponent, PointsPerCell: 1, CellsPerSensitivity: 1},
		Weights: []uint64{1 << 62, 1 << 62, 1 << 62, 1 << 62},
	}))
}

// wide has n features and z coordinates of spherical noise.
func wide(n, z int) Spec {
	s := Spec{
		Mean: make([]float64, n), Encoder: Matrix{z, n, make([]float64, z*n)}, Offset: make([]float64, z), Axes: slices.Repeat([]float64{1}, z),
		Domain: Box, Noise: Spherical, Composition: jointNorm, Tau: 1, Promise: Promise{Epsilon: 1},
		Decoder: Matrix{n, z, make([]float64, z*n)}, DecoderOffset: make([]float64, n),
	}
	for i := range n {
		s.Features = append(s.Features, fmt.Sprint(i))
	}
	return s
}

// randomResponse is a decision between two classes, of so many levels each, by randomized response.
func randomResponse(levels int, edges ...float64) Spec {
	names, shares := make([]string, 2*levels), slices.Repeat([]float64{1 / float64(4*levels)}, 4*levels)
	for i := range names {
		names[i] = fmt.Sprint(i)
	}
	return Spec{
		Features: []string{"height"}, Mean: []float64{0}, Encoder: Matrix{2, 1, []float64{1, -1}}, Offset: []float64{0, 0},
		Domain: Cells, Noise: Decision, Composition: basic, Promise: Promise{Epsilon: 1},
		Category:    &Category{Edges: Matrix{2, levels - 1, append(edges, edges...)}, Shares: Matrix{2 * levels, 2, shares}, Decisions: make([]int, 2*levels)},
		Randomizers: []*local.Randomizer{must(local.RandomizedResponse(names, 1)).Mechanism()}, RandomizerOf: []int{0},
		Output: Classes, Outputs: []string{"no", "yes"}, Decoder: Matrix{2, 2 * levels, make([]float64, 4*levels)}, DecoderOffset: []float64{0, 0},
	}
}

// TestRules: every rule of a bundle refuses what breaks it, and names that alone; each limit's largest
// value is accepted.
func TestRules(t *testing.T) {
	next := func(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }
	long := strings.Repeat("x", maxText)
	bases := map[string]Spec{
		"values": perCoordinate(t), "filter": filter(t), "randomized": randomized(t),
		"category": decisive(t), "balls": jointOnBalls(t, Box, 1.25, -12, 0.375, 0.5),
		"laplace": jointLaplace(t, Box, 1, -6, 0.375, 0.125), "spherical": wide(1, 1),
	}
	for _, c := range []struct {
		base   string
		change func(s *Spec)
		bad    string // the fields that are refused
	}{
		{"values", func(s *Spec) { s.Features = nil }, "features"},
		{"values", func(s *Spec) { s.Axes = nil }, "axes answers"},
		{"values", func(s *Spec) { *s = wide(1, limits.Coordinates) }, ""},
		{"values", func(s *Spec) { *s = wide(1, limits.Coordinates+1) }, "axes"},
		{"values", func(s *Spec) { *s = wide(maxFeatures, 1) }, ""},
		{"values", func(s *Spec) { *s = wide(maxFeatures+1, 1) }, "features"},
		{"values", func(s *Spec) { s.Features[0] = long }, ""},
		{"values", func(s *Spec) { s.Features[0] = long + "x" }, "features[0]"},
		{"values", func(s *Spec) { s.Features[1] = "" }, "features[1]"},
		{"values", func(s *Spec) { s.Features[1] = "\xff" }, "features[1]"},
		{"values", func(s *Spec) { s.Features[1] = s.Features[0] }, "features[1]"},
		{"values", func(s *Spec) { s.ClipOrigin = long }, ""},
		{"values", func(s *Spec) { s.ClipOrigin = long + "x" }, "clip_origin"},
		{"values", func(s *Spec) { s.ClipOrigin = "\xff" }, "clip_origin"},
		{"values", func(s *Spec) { s.Mean[0], s.Mean[1] = limits.Magnitude, -limits.Magnitude }, ""},
		{"values", func(s *Spec) { s.Mean[0] = next(limits.Magnitude) }, "mean[0]"},
		{"values", func(s *Spec) { s.Mean[1] = -next(limits.Magnitude) }, "mean[1]"},
		{"values", func(s *Spec) { s.Mean = append(s.Mean, 0) }, "mean"},
		{"values", func(s *Spec) { s.FeatureLower = []float64{0, 0} }, "feature_upper"},
		{"values", func(s *Spec) { s.FeatureUpper = []float64{0, 0} }, "feature_lower"},
		{"values", func(s *Spec) { s.Domain, s.FeatureUpper = Bounds, []float64{0, 0} }, "feature_lower feature_lower"},
		{"values", func(s *Spec) { s.Domain, s.FeatureLower = Bounds, []float64{0, 0} }, "feature_upper"},
		{"values", func(s *Spec) { s.Domain = Bounds }, "feature_lower"},
		{"values", func(s *Spec) { s.FeatureLower, s.FeatureUpper = []float64{0, next(1)}, []float64{0, 1} }, "feature_lower[1]"},
		{"values", func(s *Spec) { s.Encoder.Rows = 3 }, "encoder"},
		{"values", func(s *Spec) { s.Encoder.Cols = 3 }, "encoder"},
		{"values", func(s *Spec) { s.Encoder.Data = s.Encoder.Data[:3] }, "encoder"},
		{"values", func(s *Spec) { s.Encoder.Data[3] = next(limits.Magnitude) }, "encoder[3]"},
		{"values", func(s *Spec) { s.Offset = []float64{0} }, "offset"},
		{"values", func(s *Spec) { s.Axes[1] = -1 }, "axes[1]"},
		{"values", func(s *Spec) { s.Domain = "sphere" }, "domain"},
		{"values", func(s *Spec) { s.Domain = Cells }, "noise.kind"},
		{"values", func(s *Spec) { s.Decoder.Cols = 1 }, "decoder"},
		{"values", func(s *Spec) { s.DecoderOffset = nil }, "decoder_offset"},
		{"values", func(s *Spec) { s.Predicted = Predicted{math.MaxFloat64, math.MaxFloat64} }, ""},
		{"values", func(s *Spec) { s.Predicted.TrainingLoss = -1 }, "predicted.training_loss"},
		{"values", func(s *Spec) { s.Predicted.UnclippedLoss = math.Inf(1) }, "predicted.theory_loss"},

		{"values", func(s *Spec) { s.Noise = "white" }, "noise.kind"},
		{"values", func(s *Spec) { s.Composition = "best" }, "noise.composition"},
		{"values", func(s *Spec) { s.Composition = Exact }, ""},
		{"values", func(s *Spec) { s.Tau = 1 }, "noise.tau"},
		{"values", func(s *Spec) { s.Composition, s.Tau = Exact, 1 }, "noise.tau"},
		{"values", func(s *Spec) { s.Ball = bases["balls"].Ball }, "noise.kind"},
		{"values", func(s *Spec) { s.Noise = Balls }, "noise.kind"},
		{"values", func(s *Spec) { s.Promise.Epsilon = -1 }, "epsilon"},
		{"values", func(s *Spec) { s.Promise.Epsilon = check.MaxEpsilon }, ""},
		{"values", func(s *Spec) { s.Promise.Epsilon = next(check.MaxEpsilon) }, "epsilon"},
		{"values", func(s *Spec) { s.Promise.Epsilon = math.NaN() }, "epsilon"},
		{"values", func(s *Spec) { s.Promise.Delta = 1 }, "delta"},
		{"values", func(s *Spec) { s.Promise.Delta = math.Nextafter(1, 0) }, ""},

		{"values", func(s *Spec) { s.Tables = nil }, "tables table_of[0] table_of[1]"},
		{"values", func(s *Spec) { s.Tables, s.TableOf = append(s.Tables, s.Tables[0]), []int{0, 1, 2} }, "tables table_of"},
		{"values", func(s *Spec) { s.TableOf = []int{1} }, "table_of tables[0]"},
		{"values", func(s *Spec) { s.TableOf = []int{0, 1, 1} }, "table_of"},
		{"values", func(s *Spec) { s.TableOf = []int{0, -1} }, "table_of[1] tables[1]"},
		{"values", func(s *Spec) { s.TableOf = []int{2, 1} }, "table_of[0] tables[0]"},
		{"values", func(s *Spec) { s.TableOf = []int{1, 1} }, "tables[0]"},
		{"values", func(s *Spec) { s.Tables[1] = nil }, "tables[1]"},
		{"values", func(s *Spec) { s.Tables[1] = new(tables.Table) }, "tables[1]"},
		{"values", func(s *Spec) { s.Tables[1] = stepped(dp.IntegerQuery, 0) }, "tables[1]"},
		{"values", func(s *Spec) { s.Tables[1] = stepped(dp.RealQuery, 199) }, ""}, // some 8e59
		{"values", func(s *Spec) { s.Tables[1] = stepped(dp.RealQuery, 200) }, "tables[1]"},
		{"values", func(s *Spec) { s.Axes[1] = 0x1p38 }, ""}, // 2^40 steps
		{"values", func(s *Spec) { s.Axes[1] = next(0x1p38) }, "axes[1]"},
		{"values", func(s *Spec) { s.Randomizers = bases["randomized"].Randomizers }, "randomizers"},
		{"values", func(s *Spec) { s.RandomizerOf = []int{0, 1} }, "randomizers"},

		{"laplace", func(s *Spec) { s.Noise = Designed }, "noise.kind"},
		{"laplace", func(s *Spec) { s.Composition, s.Tau = jointL2, 1 }, "noise.kind"},
		{"laplace", func(s *Spec) { s.Noise, s.Composition, s.Tau = noise.Gaussian, jointL2, 0 }, "noise.tau"},
		{"laplace", func(s *Spec) { s.Tables, s.TableOf = bases["values"].Tables, []int{0, 1} }, "tables"},

		{"randomized", func(s *Spec) { s.Tables = bases["values"].Tables }, "tables"},
		{"randomized", func(s *Spec) { s.TableOf = []int{0, 0} }, "tables"},
		{"randomized", func(s *Spec) { s.Composition = Exact }, "noise.composition"},
		{"randomized", func(s *Spec) { s.Randomizers[1] = nil }, "randomizers[1]"},
		{"randomized", func(s *Spec) { s.Randomizers[1] = new(local.Randomizer) }, "randomizers[1]"},
		{"randomized", func(s *Spec) { s.Randomizers[1] = bases["category"].Randomizers[0] }, "randomizers[1]"},
		{"randomized", func(s *Spec) { s.Randomizers, s.RandomizerOf = append(s.Randomizers, s.Randomizers[0]), []int{0, 1, 2} }, "randomizers randomizer_of"},

		{"spherical", func(s *Spec) { s.Axes[0] = 0x1p8 }, ""}, // 2^40 steps
		{"spherical", func(s *Spec) { s.Axes[0] = next(0x1p8) }, "axes[0]"},
		{"spherical", func(s *Spec) { s.Axes[0], s.Tau = 0x1p10, next(0x1p2) }, ""},
		{"spherical", func(s *Spec) { s.Tau = 0 }, "noise.tau"},
		{"spherical", func(s *Spec) { s.Tau = math.Inf(1) }, "noise.tau"},
		{"spherical", func(s *Spec) { s.Noise = noise.Gaussian }, "noise.kind"},
		{"spherical", func(s *Spec) { s.Tables = bases["values"].Tables }, "tables"},
		{"spherical", func(s *Spec) { s.TableOf = []int{0} }, "tables"},
		{"spherical", func(s *Spec) { s.Randomizers = bases["randomized"].Randomizers }, "tables"},
		{"spherical", func(s *Spec) { s.RandomizerOf = []int{0} }, "tables"},
		{"spherical", func(s *Spec) { s.Ball = bases["balls"].Ball }, "noise.kind"},

		{"balls", func(s *Spec) { s.Tau = 1 }, "noise.tau"},
		{"balls", func(s *Spec) { s.Noise = Spherical }, "noise.kind"},
		{"balls", func(s *Spec) { s.Ball = new(ball.Noise) }, "balls"},
		{"balls", func(s *Spec) { s.Tables = bases["values"].Tables }, "tables"},

		{"filter", func(s *Spec) {}, ""},
		{"filter", func(s *Spec) { s.Noise = Designed }, "noise.kind"},
		{"filter", func(s *Spec) { s.Composition = basic }, "noise.composition"},
		{"filter", func(s *Spec) { s.Promise.Epsilon = math.MaxFloat64 }, "promise"},
		{"filter", func(s *Spec) { s.Promise.Delta = 0x1p-1074 }, "promise"},
		{"filter", func(s *Spec) { s.Tables = bases["values"].Tables }, "tables"},
		{"filter", func(s *Spec) { s.TableOf = []int{0, 0} }, "tables"},
		{"filter", func(s *Spec) { s.Randomizers = bases["randomized"].Randomizers }, "tables"},
		{"filter", func(s *Spec) { s.RandomizerOf = []int{0, 0} }, "tables"},
		{"filter", func(s *Spec) { s.Tau = 1 }, "noise.tau"},

		{"category", func(s *Spec) {}, ""},
		{"category", func(s *Spec) { s.Category = nil }, "category axes answers"},
		{"category", func(s *Spec) { s.Domain = Box }, "noise.kind"},
		{"category", func(s *Spec) { s.Output = Values }, "output"},
		{"category", func(s *Spec) { s.Axes = []float64{1} }, "axes"},
		{"category", func(s *Spec) { s.Composition = Exact }, "noise.composition"},
		{"category", func(s *Spec) { s.Composition = jointL1 }, "noise.kind"},
		{"category", func(s *Spec) { s.Head = []Layer{{Matrix{3, 3, make([]float64, 9)}, make([]float64, 3), "relu"}} }, "head"},
		{"category", func(s *Spec) {
			s.Decoder, s.Lookup = Matrix{}, &Lookup{Matrix{2, 1, []float64{0, 1}}, Matrix{4, 2, make([]float64, 8)}}
		}, "head"},
		{"category", func(s *Spec) {
			s.Outputs, s.Encoder, s.Offset = s.Outputs[:1], Matrix{1, 2, []float64{1, 0}}, []float64{0}
		}, "outputs cell_edges shares decisions[1]"},
		{"category", func(s *Spec) { *s = randomResponse(maxLevels, make([]float64, maxLevels-1)...) }, ""},
		{"category", func(s *Spec) { *s = randomResponse(maxLevels+1, make([]float64, maxLevels)...) }, "cells"},
		{"category", func(s *Spec) { s.Category.Edges = Matrix{2, -1, nil} }, "cells cell_edges shares"},
		{"category", func(s *Spec) { s.Category.Edges = Matrix{1, 1, []float64{1}} }, "cell_edges"},
		{"category", func(s *Spec) { s.Category.Edges = Matrix{2, 2, []float64{1, 2, 1, 2}} }, "shares"},
		{"category", func(s *Spec) { *s = randomResponse(3, 1, 1) }, ""},
		{"category", func(s *Spec) { *s = randomResponse(3, 1, math.Nextafter(1, 0)) }, "cell_edges[0][1]"},
		{"category", func(s *Spec) { s.Category.Edges.Data[1] = -0x1p-1074 }, "cell_edges[1][0]"},
		{"category", func(s *Spec) { s.Category.Shares = Matrix{2, 2, []float64{0.4, 0.1, 0.1, 0.4}} }, "shares"},
		{"category", func(s *Spec) { s.Category.Shares = Matrix{4, 1, []float64{0.4, 0.1, 0.1, 0.4}} }, "shares"},
		{"category", func(s *Spec) { s.Category.Shares.Data[0], s.Category.Shares.Data[2] = -0x1p-1074, 0.4 }, "shares[0]"},
		{"category", func(s *Spec) { s.Category.Shares.Data[0], s.Category.Shares.Data[2] = 0, 0.4 }, ""},
		{"category", func(s *Spec) { s.Category.Shares.Data[0] += 0.999e-9 }, ""},
		{"category", func(s *Spec) { s.Category.Shares.Data[0] -= 0.999e-9 }, ""},
		{"category", func(s *Spec) { s.Category.Shares.Data[0] += 1.001e-9 }, "shares"},
		{"category", func(s *Spec) { s.Category.Shares.Data[0] -= 1.001e-9 }, "shares"},
		{"category", func(s *Spec) { s.Category.Decisions[2] = -1 }, "decisions[2]"},
		{"category", func(s *Spec) { s.Category.Decisions[2] = 2 }, "decisions[2]"},
		{"category", func(s *Spec) { s.Category.Decisions = nil }, "answers"},
		{"category", func(s *Spec) { s.Category.Decisions = make([]int, limits.LocalAnswers+1) }, "answers"},
		{"category", func(s *Spec) {
			s.Category.Decisions, s.Decoder = make([]int, limits.LocalAnswers), Matrix{2, limits.LocalAnswers, make([]float64, 2*limits.LocalAnswers)}
		}, "randomizers[0]"}, // which has three answers
		{"category", func(s *Spec) {
			s.Randomizers[0] = must(local.RandomizedResponse([]string{"a", "b", "c", "d"}, 1)).Mechanism()
		}, "randomizers[0]"}, // of four answers
		{"category", func(s *Spec) {
			s.Randomizers[0] = must(local.RandomizedResponse([]string{"a", "b", "c"}, 1)).Mechanism()
		}, "randomizers[0]"}, // for three cells
		{"category", func(s *Spec) { s.Tables = bases["values"].Tables }, "tables"},
		{"category", func(s *Spec) { s.TableOf = []int{0} }, "tables"},
		{"category", func(s *Spec) { s.Randomizers = nil }, "randomizers randomizer_of[0]"},
		{"category", func(s *Spec) { s.Randomizers = append(s.Randomizers, s.Randomizers[0]) }, "randomizers randomizers[1]"},
		{"category", func(s *Spec) { s.Randomizers[0] = nil }, "randomizers[0]"},
		{"category", func(s *Spec) { s.Randomizers[0] = new(local.Randomizer) }, "randomizers[0]"},
		{"category", func(s *Spec) { s.Randomizers[0] = randomizer(t, 1, 1) }, "randomizers[0]"},
		{"category", func(s *Spec) { s.RandomizerOf = []int{0, 0} }, "randomizer_of"},
		{"category", func(s *Spec) { s.RandomizerOf = nil }, "randomizer_of randomizers[0]"},
		{"category", func(s *Spec) { s.Tau = 1 }, "noise.tau"},
		{"category", func(s *Spec) { s.Promise.Epsilon = -1 }, "epsilon"},
	} {
		s := bases[c.base].clone()
		c.change(&s)
		b, err := New(s)
		if got := badFields(t, err); got != c.bad || (b == nil) != (err != nil) || err != nil && !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%s: %q is refused, want %q: %v", c.base, got, c.bad, err)
		}
	}
}

// TestMatrixLimit: a matrix of 2^24 rows is one that a bundle may have, and one of more is not.
func TestMatrixLimit(t *testing.T) {
	for rows, bad := range map[int]string{maxEntries: "", maxEntries + 1: "m"} {
		c := checker{check.In("bundle")}
		c.matrix("m", Matrix{Rows: rows}, rows, 0)
		if got := badFields(t, c.Err()); got != bad {
			t.Errorf("%d rows: %q is refused, want %q", rows, got, bad)
		}
	}
}

// TestKindsCompose: each kind of noise has the composition that its proof is about.
func TestKindsCompose(t *testing.T) {
	joint := map[Kind]Composition{noise.Laplace: "l1", noise.Gaussian: "l2", Spherical: "norm", Balls: "ball", None: "none"}
	for _, k := range kinds {
		want := joint[k]
		if want == "" {
			want = "basic"
		}
		if got := k.Composition(); got != want {
			t.Errorf("%s has the composition %s, want %s", k, got, want)
		}
	}
}

// TestCalibrate: what is calibrated is proved, has the least noise for it, and replaces what was there;
// other kinds have none to calibrate.
func TestCalibrate(t *testing.T) {
	for _, kind := range []Kind{noise.Laplace, noise.Gaussian, Spherical} {
		s := plain(0.5, 0.375, 0.5) // 1.25 apart
		s.Noise, s.Composition, s.Tau, s.Tables, s.TableOf = kind, "best", 7, twoTables(t), []int{1, 0}
		s.Promise = Promise{Epsilon: 1}
		if kind == noise.Gaussian {
			s.Promise.Delta = 1e-5
		}
		if err := s.Calibrate(); err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		want := 1.25 * map[Kind]float64{noise.Gaussian: 3.7306, Spherical: 1}[kind] // Balle & Wang's σ for 1 and 1e-5, and 1/ε
		if math.Abs(s.Tau-want) > 1e-3 || len(s.Tables) == 1 != (kind != Spherical) || len(s.TableOf) == 2 != (kind != Spherical) {
			t.Errorf("%s: tau = %g, want some %g; %d tables of %v", kind, s.Tau, want, len(s.Tables), s.TableOf)
		}
		if _, err := must(New(s)).Verify(nil); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	for _, kind := range kinds {
		s := plain(0.5, 0.3, 0.4)
		if s.Noise = kind; kind == noise.Laplace || kind == noise.Gaussian || kind == Spherical {
			s.Axes = nil // for which nothing is calibrated either
		}
		if err := s.Calibrate(); !errors.Is(err, dp.ErrInvalid) || s.Tau != 0 || s.Tables != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// TestNothingProved: a proof that Verify has not made is about no bundle, and only decisions have laws of answers.
func TestNothingProved(t *testing.T) {
	if b := new(Verified).Bundle(); b != nil {
		t.Errorf("a proof of nothing is about %v", b)
	}
	if m := must(New(perCoordinate(t))).Laws(); m.Rows != 0 || m.Cols != 0 || m.Data != nil {
		t.Errorf("laws %v of noise that is added", m)
	}
}
