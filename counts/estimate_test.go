// SPDX-License-Identifier: Apache-2.0

package counts

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/proof"
)

// TestTally: it counts what was added, and refuses what is no answer, which counts nowhere.
func TestTally(t *testing.T) {
	tally := example(t).Tally()
	for _, y := range []int64{2, 0, 2, 2} {
		if err := tally.Add(proof.Code{B: y}); err != nil {
			t.Fatal(err)
		}
	}
	for _, y := range []proof.Value{proof.Code{B: 3}, proof.Code{B: -1}, proof.Code{A: 1, B: 1}, proof.Category("low"), proof.Number(1), nil} {
		if err := tally.Add(y); !errors.Is(err, check.ErrInvalid) {
			t.Errorf("%v is an answer: %v", y, err)
		}
	}
	if got := tally.Counts(); !slices.Equal(got, []int64{1, 0, 3}) || tally.Answers() != 4 {
		t.Errorf("%v of %d answers", got, tally.Answers())
	}
}

// TestLevels: levels are between 0 and 1; and intervals of all together are those of each by itself with what may
// fail shared among the queries.
func TestLevels(t *testing.T) {
	s, answers := example(t), []int64{4000, 3000, 2000}
	for _, level := range []float64{0, 1, -0.1, math.NaN()} {
		if list, err := s.Estimate(answers, level, false); list != nil || !errors.Is(err, check.ErrInvalid) || !strings.HasPrefix(err.Error(), "counts: level = ") {
			t.Errorf("level %g: %v, %v", level, list, err)
		}
	}
	joint, err := s.Estimate(answers, 0.75, true)
	each, other := s.Estimate(answers, 0.875, false) // of two queries
	if err = errors.Join(err, other); err != nil || len(joint) != 2 || !slices.Equal(joint, each) {
		t.Errorf("%v and %v, %v", joint, each, err)
	}
}
