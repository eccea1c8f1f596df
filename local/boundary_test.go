// SPDX-License-Identifier: Apache-2.0

package local

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/exact"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/proof"
)

// TestPromisesThatAreNone: a budget that promises nothing, or a law that is missing, makes no randomizer.
func TestPromisesThatAreNone(t *testing.T) {
	numbers, categories := twoAnswers(), response(3, 1)
	for name, c := range map[string]struct {
		of     Spec
		change func(s *Spec)
	}{
		"epsilon below 0":            {numbers, func(s *Spec) { s.Epsilon = -1 }},
		"epsilon NaN":                {numbers, func(s *Spec) { s.Epsilon = math.NaN() }},
		"epsilon infinite":           {numbers, func(s *Spec) { s.Epsilon = math.Inf(1) }},
		"epsilon above the largest":  {numbers, func(s *Spec) { s.Epsilon = math.Nextafter(check.MaxEpsilon, 1e9) }},
		"delta below 0":              {numbers, func(s *Spec) { s.Delta = -0.5 }},
		"delta NaN":                  {numbers, func(s *Spec) { s.Delta = math.NaN() }},
		"delta 1":                    {numbers, func(s *Spec) { s.Delta = 1 }},
		"a row less":                 {numbers, func(s *Spec) { s.Rows = s.Rows[:1] }},
		"a row more":                 {numbers, func(s *Spec) { s.Rows = append(s.Rows, s.Rows[0]) }},
		"a row less of categories":   {categories, func(s *Spec) { s.Rows = s.Rows[:2] }},
		"costs of a label less":      {categories, func(s *Spec) { s.Costs = s.Costs[:2] }},
		"costs of a label more":      {categories, func(s *Spec) { s.Costs = append(s.Costs, s.Costs[0]) }},
		"answers that fall":          {numbers, func(s *Spec) { s.Answers = []float64{2, -2} }},
		"answers that are equal":     {numbers, func(s *Spec) { s.Answers = []float64{2, 2} }},
		"nodes that fall":            {numbers, func(s *Spec) { s.Nodes = []float64{1, -1} }},
		"no loss":                    {numbers, func(s *Spec) { s.Loss = nil }},
		"one node of an integer":     {numbers, func(s *Spec) { s.Values.Kind, s.Values.Upper = Integer, 0 }},
		"two equal labels":           {categories, func(s *Spec) { s.AnswerLabels[1] = s.AnswerLabels[0] }},
		"a node of categories":       {categories, func(s *Spec) { s.Nodes = []float64{1} }},
		"an answer of categories":    {categories, func(s *Spec) { s.Answers = []float64{1} }},
		"a claim that is no decimal": {numbers, func(s *Spec) { s.Claims.Delta = "x" }},
	} {
		s := formfile.Clone(c.of)
		c.change(&s)
		if r, err := New(t.Context(), s); r != nil || !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
	numbers.Epsilon = check.MaxEpsilon
	if _, err := New(t.Context(), numbers); err != nil {
		t.Errorf("epsilon = %v: %v", numbers.Epsilon, err)
	}
}

// TestSmallCapToAUnit: a cap below 1 is held as others are.
func TestSmallCapToAUnit(t *testing.T) {
	s := response(3, 1)
	worst := newRandomizer(t, s).Certify().WorstLoss
	s.Demands.Cap = exact.FloatUp(worst)
	if _, err := newRandomizer(t, s).Verify(); err != nil || s.Demands.Cap >= 1 {
		t.Errorf("a cap of %v: %v", s.Demands.Cap, err)
	}
	s.Demands.Cap = math.Nextafter(exact.FloatDown(worst), 0)
	if _, err := newRandomizer(t, s).Verify(); !errors.Is(err, proof.ErrFalseClaim) {
		t.Errorf("a cap a unit in the last place less: %v", err)
	}
}

// TestChosenLaws: which law is drawn from for a value, and that values outside have none.
func TestChosenLaws(t *testing.T) {
	reals := newRandomizer(t, twoAnswers())
	s := twoAnswers()
	s.Values.Kind, s.Nodes = Integer, []float64{-1, 0, 1}
	s.Rows = [][]uint64{s.Rows[0], {2 * quarter, 2 * quarter}, s.Rows[1]}
	integers, categories := newRandomizer(t, s), newRandomizer(t, response(3, 1))
	less, more := math.Nextafter(-1, -2), math.Nextafter(1, 2)
	for _, c := range []struct {
		of    *Randomizer
		input proof.Value
		want  proof.Choice
		ok    bool
	}{
		{reals, proof.Number(-1), proof.Choice{Row: 0, Rounded: true, X: -1}, true},
		{reals, proof.Number(0.5), proof.Choice{Row: 0, Rounded: true, X: 0.5}, true},
		{reals, proof.Number(1), proof.Choice{Row: 1, Rounded: true, X: 1}, true},
		{reals, proof.Number(less), proof.Choice{}, false},
		{reals, proof.Number(more), proof.Choice{}, false},
		{reals, proof.Number(math.NaN()), proof.Choice{}, false},
		{reals, proof.Category("a"), proof.Choice{}, false},
		{integers, proof.Number(-1), proof.Choice{Row: 0}, true},
		{integers, proof.Number(0), proof.Choice{Row: 1}, true},
		{integers, proof.Number(1), proof.Choice{Row: 2}, true},
		{integers, proof.Number(0.5), proof.Choice{}, false},
		{integers, proof.Number(-2), proof.Choice{}, false},
		{integers, proof.Number(2), proof.Choice{}, false},
		{categories, proof.Category("a"), proof.Choice{Row: 0}, true},
		{categories, proof.Category("c"), proof.Choice{Row: 2}, true},
		{categories, proof.Category("d"), proof.Choice{}, false},
		{categories, proof.Category(""), proof.Choice{}, false},
		{categories, proof.Number(0), proof.Choice{}, false},
	} {
		got, err := c.of.Choose(c.input)
		if c.ok != (err == nil) || c.ok && got != c.want || !c.ok && !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("%v: %+v, %v, want %+v, %v", c.input, got, err, c.want, c.ok)
		}
	}
	if c, err := categories.ChooseNumber(0); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("a number for categories: %+v, %v", c, err)
	}
	for _, c := range []struct {
		of   *Randomizer
		want proof.Space
	}{
		{reals, proof.Space{Kind: proof.Numbers, Lower: -1, Upper: 1}},
		{integers, proof.Space{Kind: proof.Integers, Lower: -1, Upper: 1}},
		{categories, proof.Space{Kind: proof.Categories, Labels: []string{"a", "b", "c"}}},
	} {
		if got := c.of.Inputs(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("inputs %+v, want %+v", got, c.want)
		}
	}
	if a := categories.Answer(proof.Choice{}, 1, 0); a != proof.Category("b") {
		t.Errorf("answer 1 is %v", a)
	}
	if a := reals.Answer(proof.Choice{}, 1, 0); a != proof.Number(2) || reals.AnswerNumber(proof.Choice{}, 0, 0) != -2 {
		t.Errorf("answer 1 is %v", a)
	}
	all, own := categories.Pairs()
	for i := range 3 {
		for k := range 3 {
			if p := (proof.Pair{Gain: i, Lose: k}); slices.Contains(all, p) != (i != k) || slices.Contains(own, p) != (i != k) {
				t.Errorf("pairs %v and %v", all, own)
			}
		}
	}
}
