package vlm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/internal/check"
)

// Choice is what a search chooses: the paper's λ, l and ε_pre.
type Choice struct {
	// Share is that of the promise which is spent on the features, λ; the rest is for the
	// class. It is above 0 and at most 1.
	Share           float64
	Radius          float64 // as in Options
	TrainingEpsilon float64 // as in Options
}

// Grid returns all combinations.
func Grid(shares, radii, trainingEpsilons []float64) []Choice {
	var out []Choice
	for _, l := range radii {
		for _, e := range trainingEpsilons {
			for _, s := range shares {
				out = append(out, Choice{s, l, e})
			}
		}
	}
	return out
}

// Trial is what people said of a choice.
type Trial struct {
	Choice
	People                  int     // who were asked
	Accuracy, StandardError float64 // by their answers
	Err                     error   // why nobody was asked: the training failed; nil
}

// Validation says how a search asks people whether a classifier is right about them.
type Validation struct {
	// People is how many there are to ask. They are none of those who train.
	People int
	// Epsilon is what each of them spends. The people are divided among the choices, so that
	// each answers once: with k choices, an answer of ε is worth more than k answers of ε/k.
	Epsilon float64
	Seed    uint64
}

// Search makes a classifier for each choice and asks people how good it is. try makes one and
// returns, for people numbered from 0, whether it is right about them; of that only
// randomized answers are used. The trials come back with the best one first, those of equal
// accuracy in the order of the choices; a choice whose training collapses or diverges is
// last. Other errors end the search, as does a choice of which all fail.
//
// The people asked spend v.Epsilon each, and nothing else: those who train are others.
func Search(ctx context.Context, choices []Choice, v Validation, try func(ctx context.Context, c Choice, people []int) ([]bool, error)) ([]Trial, error) {
	bad := check.In("vlm")
	if len(choices) == 0 {
		bad.Bad("choices", 0, "at least 1")
	}
	if v.People < len(choices) {
		bad.Badf("people to ask", v.People, "at least one for each of %d choices", len(choices))
	}
	if !(v.Epsilon > 0) {
		bad.Bad("epsilon of the validation", v.Epsilon, "a number above 0")
	}
	for _, c := range choices {
		if !(c.Share > 0 && c.Share <= 1) {
			bad.Bad("share of the features", c.Share, "a number above 0 and at most 1")
		}
	}
	if err := bad.Err(); err != nil {
		return nil, err
	}
	all := encoder.Rand(v.Seed, "people to ask", 0).Perm(v.People)
	trials := make([]Trial, len(choices))
	failed := 0
	for i, c := range choices {
		people := all[i*len(all)/len(choices) : (i+1)*len(all)/len(choices)]
		t := &trials[i]
		t.Choice, t.People = c, len(people)
		right, err := try(ctx, c, people)
		switch {
		case errors.Is(err, ErrCollapsed) || errors.Is(err, ErrDiverged):
			t.Err, t.People, t.Accuracy = err, 0, math.Inf(-1)
			failed++
			continue
		case err != nil:
			return nil, err
		case len(right) != len(people):
			panic(fmt.Sprintf("vlm: %d answers of %d people", len(right), len(people)))
		}
		if t.Accuracy, t.StandardError, err = PrivateAccuracy(right, v.Epsilon, encoder.Rand(v.Seed, "answers", i)); err != nil {
			return nil, err
		}
	}
	if failed == len(trials) {
		return nil, check.Errorf("vlm", nil, "every choice failed, the last one so: %w", trials[failed-1].Err)
	}
	slices.SortStableFunc(trials, func(a, b Trial) int { return cmp.Compare(b.Accuracy, a.Accuracy) })
	return trials, nil
}
