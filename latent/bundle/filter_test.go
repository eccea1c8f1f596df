// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/sampler"
)

// filter is a bundle without noise.
func filter(t testing.TB) Spec {
	s := layered(t)
	s.Noise, s.Composition, s.Tables, s.TableOf, s.Promise = None, noComposition, nil, nil, noPromise
	return s
}

// TestFilter: no way leads from a filter to a proof or a Privatizer.
func TestFilter(t *testing.T) {
	b := must(New(filter(t)))
	v, err := b.Verify(VerifiedElsewhere)
	if v != nil || !errors.Is(err, ErrNoPromise) || errors.Is(err, proof.ErrNotPrivate) || errors.Is(err, dp.ErrInvalid) {
		t.Errorf("Verify = %v, %v, want ErrNoPromise alone", v, err)
	}
	if p, err := v.NewPrivatizer(sampler.Options{}); p != nil || !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("NewPrivatizer: %v, %v", p, err)
	}
	if p, err := v.NewDeterministicPrivatizer([32]byte{}, sampler.Options{}); p != nil || !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("NewDeterministicPrivatizer: %v, %v", p, err)
	}
	if p := b.Promise(); !math.IsInf(p.Epsilon, 1) || p.Delta != 0 || len(b.spec.Tables) > 0 || len(b.spec.Randomizers) > 0 {
		t.Errorf("promise %+v, tables %v", p, b.spec.Tables)
	}
	x := []float64{1.25, 1.5}
	if one, two := must(b.Filter(nil, x)), must(b.Encode(nil, x)); !slices.Equal(one, two) || one[0] == 0 {
		t.Errorf("Filter = %v, Encode = %v", one, two)
	}
	if u, err := b.Filter(nil, []float64{1, math.NaN()}); u != nil || !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("Filter of a NaN = %v, %v", u, err)
	}
	for name, s := range map[string]Spec{"joint noise": layered(t), "tables": perCoordinate(t), "randomizers": randomized(t)} {
		if u, err := must(New(s)).Filter(nil, x); u != nil || !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("Filter of a bundle with %s = %v, %v, want ErrInvalid", name, u, err)
		}
	}
}

func TestFilterIsAllOrNothing(t *testing.T) {
	for name, c := range map[string]struct {
		of     Spec
		change func(s *Spec)
		says   string
	}{
		"a promise":                {filter(t), func(s *Spec) { s.Promise = Promise{1, 0} }, "promise = epsilon 1, delta 0, want none"},
		"a large promise":          {filter(t), func(s *Spec) { s.Promise.Epsilon = math.MaxFloat64 }, "promise"},
		"a delta":                  {filter(t), func(s *Spec) { s.Promise.Delta = 0.5 }, "promise"},
		"a NaN":                    {filter(t), func(s *Spec) { s.Promise.Epsilon = math.NaN() }, "promise"},
		"another composition":      {filter(t), func(s *Spec) { s.Composition = basic }, "noise.composition = basic, want none for the kind none"},
		"a table":                  {filter(t), func(s *Spec) { s.Tables = twoTables(t) }, "2 tables and 0 randomizers"},
		"a table of coordinates":   {filter(t), func(s *Spec) { s.TableOf = []int{0, 0} }, "none of any coordinate"},
		"a randomizer":             {filter(t), func(s *Spec) { s.Randomizers = randomized(t).Randomizers }, "0 tables and 2 randomizers"},
		"a scale":                  {filter(t), func(s *Spec) { s.Tau = 1 }, "noise.tau"},
		"noise and no composition": {layered(t), func(s *Spec) { s.Composition = noComposition }, "noise.kind = laplace, want none for the composition none"},
		"noise and no promise":     {layered(t), func(s *Spec) { s.Promise = noPromise }, "epsilon = +Inf"},
		"a kind alone":             {layered(t), func(s *Spec) { s.Noise = None }, "noise.composition = l1, want none for the kind none"},
	} {
		c.change(&c.of)
		if b, err := New(c.of); b != nil || !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want ErrInvalid about %s", name, err, c.says)
		}
	}
}
