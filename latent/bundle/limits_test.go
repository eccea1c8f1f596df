// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/noisewright/noisewright/dp"
)

// TestEndsOfRanges: what a bundle may hold, at the ends of all ranges, and not beyond.
func TestEndsOfRanges(t *testing.T) {
	spherical := func(axis, tau float64) Spec {
		s := plain(1, axis, axis)
		s.Domain, s.Noise, s.Composition, s.TableOf, s.Tau = Box, Spherical, jointNorm, nil, tau
		return s
	}
	changed := func(change func(s *Spec)) Spec {
		s := perCoordinate(t)
		change(&s)
		return s
	}
	decided := func(change func(s *Spec)) Spec {
		s := decisive(t)
		change(&s)
		return s
	}
	single := perCoordinate(t)
	single.Features, single.Mean, single.Encoder, single.Outputs = single.Features[:1], single.Mean[:1], Matrix{2, 1, []float64{1, 0}}, nil
	single.Decoder, single.DecoderOffset = Matrix{1, 2, []float64{1, 0}}, []float64{0}
	for name, c := range map[string]struct {
		s    Spec
		good bool
	}{
		"one feature":          {single, true},
		"least axis and tau":   {spherical(1e-60, 1e-60), true},
		"largest axis and tau": {spherical(1e60, 1e60), true},
		"axis below":           {spherical(math.Nextafter(1e-60, 0), 1e-60), false},
		"axis above":           {spherical(math.Nextafter(1e60, 1e61), 1e60), false},
		"tau below":            {spherical(1e-60, math.Nextafter(1e-60, 0)), false},
		"tau above":            {spherical(1e60, math.Nextafter(1e60, 1e61)), false},
		"no tau":               {spherical(1, 0), false},
		"tau that is none":     {spherical(1, math.NaN()), false},
		"epsilon":              {changed(func(s *Spec) { s.Promise.Epsilon = 100 }), true},
		"epsilon above":        {changed(func(s *Spec) { s.Promise.Epsilon = math.Nextafter(100, 101) }), false},
		"a feature of one value": {changed(func(s *Spec) {
			s.FeatureLower, s.FeatureUpper = []float64{0, 1}, []float64{1, 1}
		}), true},
		"too few bounds": {changed(func(s *Spec) {
			s.FeatureLower, s.FeatureUpper = []float64{0}, []float64{1, 1}
		}), false},
		"a bound that is none": {changed(func(s *Spec) {
			s.FeatureLower, s.FeatureUpper = []float64{0, math.NaN()}, []float64{1, 1}
		}), false},
		"a loss below 0":     {changed(func(s *Spec) { s.Predicted.TrainingLoss = -1 }), false},
		"a loss of infinity": {changed(func(s *Spec) { s.Predicted.TrainingLoss = math.Inf(1) }), false},
		"an edge of 0":       {decided(func(s *Spec) { s.Category.Edges.Data[0] = 0 }), true},
		"most levels, of which the randomizer has no cells": {decided(func(s *Spec) {
			s.Category.Edges, s.Category.Shares = Matrix{2, 255, make([]float64, 510)}, Matrix{512, 2, slices.Repeat([]float64{0x1p-10}, 1024)}
		}), false},
		"classes without levels": {decided(func(s *Spec) {
			s.Category.Edges, s.Category.Shares = Matrix{Rows: 2}, Matrix{2, 2, []float64{0.4, 0.1, 0.1, 0.6}}
		}), false},
	} {
		if b, err := New(c.s); c.good && err != nil || !c.good && (b != nil || !errors.Is(err, dp.ErrInvalid)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCopies: a bundle shares nothing with what it is made of, nor with what it returns.
func TestCopies(t *testing.T) {
	for name, c := range map[string]struct {
		spec   func() Spec
		change func(s Spec)
	}{
		"bounds": {func() Spec {
			s := perCoordinate(t)
			s.FeatureLower, s.FeatureUpper = []float64{0, 1}, []float64{2, 3}
			return s
		}, func(s Spec) { s.FeatureLower[0]--; s.FeatureUpper[0]++ }},
		"lookup": {func() Spec {
			s := perCoordinate(t)
			s.Decoder = Matrix{}
			s.Lookup = &Lookup{Matrix{2, 1, []float64{0, 1}}, Matrix{4, 2, []float64{1, 2, 3, 4, 5, 6, 7, 8}}}
			return s
		}, func(s Spec) { s.Lookup.Edges.Data[0]--; s.Lookup.Values.Data[0]++ }},
		"category": {func() Spec { return decisive(t) }, func(s Spec) {
			s.Category.Edges.Data[0]++
			s.Category.Shares.Data[0]++
			s.Category.Decisions[0]++
		}},
	} {
		given, want := c.spec(), c.spec()
		b := must(New(given))
		c.change(given)
		c.change(b.Spec())
		got := b.spec
		if !reflect.DeepEqual(got.Category, want.Category) || !reflect.DeepEqual(got.Lookup, want.Lookup) ||
			!reflect.DeepEqual(got.FeatureLower, want.FeatureLower) || !reflect.DeepEqual(got.FeatureUpper, want.FeatureUpper) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// TestDecide: the class is the most probable one, or that of the answer; of other outputs there is none.
func TestDecide(t *testing.T) {
	s := perCoordinate(t)
	values := must(New(s))
	s.Output, s.Outputs = Classes, []string{"no", "yes"}
	classes := must(New(s))
	s = decisive(t)
	s.DecoderOffset = []float64{0.5, 0}
	category := must(New(s))
	for i, c := range []struct{ got, want int }{
		{values.Decide([]float64{0, 0}, []float64{0.3, 0.7}), -1},
		{values.Decide([]float64{0, 0}, nil), -1},
		{classes.Decide([]float64{0, 0}, nil), -1},
		{classes.Decide([]float64{0, 0}, []float64{0.3, 0.7}), 1},
		{category.Decide([]float64{0}, []float64{0.3, 0.7}), 0},
	} {
		if c.got != c.want {
			t.Errorf("case %d: %d, want %d", i, c.got, c.want)
		}
	}
	want := math.Exp(0.5-0.7) / (math.Exp(0.5-0.7) + math.Exp(-0.6))
	if y := must(category.Decode(nil, []float64{2})); math.Abs(y[0]-want) > 1e-15 {
		t.Errorf("decoded %v, want %v first", y, want)
	}
}
