// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/tables"
)

// TestDefaults: of a logistic regression: a quarter of the blocks a round, rounded up, and what the options say.
func TestDefaults(t *testing.T) {
	for blocks, want := range map[int]int{1: 1, 4: 1, 5: 2, 8: 2, 9: 3} {
		if got := (LogisticOptions{}).with(blocks); got != (LogisticOptions{100, want, 4, 1e-8}) {
			t.Errorf("%d blocks: %+v", blocks, got)
		}
	}
	o := LogisticOptions{7, 2, 1, 0.5}
	if got := o.with(9); got != o {
		t.Errorf("%+v", got)
	}
}

// TestEndsOfOptions: the largest options are taken, and none beyond.
func TestEndsOfOptions(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for i, c := range []struct {
		o    LogisticOptions
		good bool
	}{
		{LogisticOptions{4096, 4096, 8, 1}, true},
		{LogisticOptions{Rounds: 4097}, false},
		{LogisticOptions{Rounds: -1}, false},
		{LogisticOptions{PerRound: 4097}, false},
		{LogisticOptions{PerRound: -1}, false},
		{LogisticOptions{StepSize: math.Nextafter(8, 9)}, false},
		{LogisticOptions{StepSize: -math.SmallestNonzeroFloat64}, false},
		{LogisticOptions{StepSize: nan}, false},
		{LogisticOptions{Lambda: math.Nextafter(1, 2)}, false},
		{LogisticOptions{Lambda: -math.SmallestNonzeroFloat64}, false},
		{LogisticOptions{Lambda: nan}, false},
		{LogisticOptions{Lambda: inf}, false},
	} {
		if err := c.o.Validate(); c.good != (err == nil) || err != nil && !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("case %d: %v", i, err)
		}
	}
}

// TestEndsOfModels: parameters of models at the ends of their ranges are taken, and none beyond.
func TestEndsOfModels(t *testing.T) {
	s := &Schema{Target: "y", Classes: []string{"a", "b"}, Features: []Feature{
		{Name: "x", Bounds: &Bounds{-1e100, 1e100}}, {Name: "k", Categories: []string{"p", "q"}},
	}}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, b := range []Bounds{{math.Nextafter(-1e100, -1e101), 0}, {0, math.Nextafter(1e100, 1e101)}, {1, 1}} {
		if (&Schema{s.Draft, s.Target, s.Classes, []Feature{{Name: "x", Bounds: &b}}}).Validate() == nil {
			t.Errorf("the bounds %v are taken", b)
		}
	}
	least, most := 1e-30, 1e30
	below, above := math.Nextafter(least, 0), math.Nextafter(most, 2*most)
	bayes := func(change func(m *naiveBayes)) *naiveBayes {
		m := &naiveBayes{Counts: []float64{least, most}, Features: []naiveFeature{
			{Means: []float64{-1, 1}, Variances: []float64{least, most}}, {Cells: [][]float64{{least, most}, {1, 2}}},
		}}
		change(m)
		return m
	}
	odds := func(change func(m *logistic)) *logistic {
		m := &logistic{-most, [][]float64{{most}, {0, -most}}}
		change(m)
		return m
	}
	for i, c := range []struct {
		m    classifier
		good bool
	}{
		{bayes(func(*naiveBayes) {}), true},
		{bayes(func(m *naiveBayes) { m.Counts[0] = below }), false},
		{bayes(func(m *naiveBayes) { m.Counts[1] = above }), false},
		{bayes(func(m *naiveBayes) { m.Counts = m.Counts[:1] }), false},
		{bayes(func(m *naiveBayes) { m.Features[0].Means[0] = math.Nextafter(-1, -2) }), false},
		{bayes(func(m *naiveBayes) { m.Features[0].Means[1] = math.Nextafter(1, 2) }), false},
		{bayes(func(m *naiveBayes) { m.Features[0].Variances[0] = below }), false},
		{bayes(func(m *naiveBayes) { m.Features[0].Variances[1] = above }), false},
		{bayes(func(m *naiveBayes) { m.Features[1].Cells[0][0] = below }), false},
		{bayes(func(m *naiveBayes) { m.Features[1].Cells[1][1] = above }), false},
		{bayes(func(m *naiveBayes) { m.Features[1].Cells = m.Features[1].Cells[:1] }), false},
		{bayes(func(m *naiveBayes) { m.Features[0].Cells = m.Features[1].Cells }), false},
		{bayes(func(m *naiveBayes) { m.Features[1].Means = m.Features[0].Means }), false},
		{bayes(func(m *naiveBayes) { m.Features[1].Variances = m.Features[0].Variances }), false},
		{odds(func(*logistic) {}), true},
		{odds(func(m *logistic) { m.Intercept = most }), true},
		{odds(func(m *logistic) { m.Intercept = -above }), false},
		{odds(func(m *logistic) { m.Intercept = above }), false},
		{odds(func(m *logistic) { m.Coefficients[0][0] = above }), false},
		{odds(func(m *logistic) { m.Coefficients[1][1] = -above }), false},
		{odds(func(m *logistic) { m.Coefficients[1] = []float64{0} }), false},
		{odds(func(m *logistic) { m.Coefficients = m.Coefficients[:1] }), false},
	} {
		bad := check.In("learn")
		c.m.validate(s, bad)
		if bad.None() != c.good {
			t.Errorf("case %d: %v", i, bad.Err())
		}
	}
}

// TestNumericByHand: means are cut to [-1, 1], and variances to the least one, that of the noise, and 1.
func TestNumericByHand(t *testing.T) {
	for _, c := range []struct{ n, sum, square, deviation, mean, variance float64 }{
		{100, -50, -25, 0, -0.5, 0.125},            // (100 − 25)/2/100 − 1/4
		{100, -250, 0, 0, -1, 2e-3},                // 1/2 − 1 is below the least
		{100, 250, 400, 0, 1, 1},                   // 5/2 − 1 is above the largest
		{100, 0, 0, 10, 0, 0.5},                    //
		{100, 99, 100, 40, 0.99, 0.4 / math.Sqrt2}, // of the noise
		{4, 0, 0, 8, 0, math.Sqrt2},                // of the noise, above 1
	} {
		f := newNumeric([]float64{c.n}, []float64{c.n}, []float64{c.sum}, []float64{c.square}, c.deviation)
		if math.Abs(f.Means[0]-c.mean) > 1e-15 || math.Abs(f.Variances[0]-c.variance) > 1e-15 {
			t.Errorf("%+v: %+v", c, f)
		}
	}
}

// TestScoresOfLogistic: the first class has the score 0.
func TestScoresOfLogistic(t *testing.T) {
	s := &Schema{Features: []Feature{{Bounds: &Bounds{-1, 1}}, {Categories: []string{"p", "q"}}}}
	d := &Data{schema: s, columns: [][]int32{{gridSteps / 2}, {1}}, rows: 1}
	if got := (&logistic{1, [][]float64{{4}, {0, 16}}}).Scores(d, 0); !reflect.DeepEqual(got, []float64{0, 19}) {
		t.Errorf("%v", got)
	}
	if got := (&Model{Schema: s, classifier: &logistic{0, [][]float64{{0}, {0, 0}}}}).Predict(d, 0); got != 0 {
		t.Errorf("of equal scores class %d is predicted, want the first", got)
	}
}

// TestIntercept: of a feature that is always 0 the coefficient is 0, and the intercept the logarithm of the odds.
func TestIntercept(t *testing.T) {
	s := &Schema{Target: "y", Classes: []string{"a", "b"}, Features: []Feature{{Name: "x", Bounds: &Bounds{-1, 1}}}}
	d := &Data{schema: s, classes: []int32{1, 0, 1, 1}, columns: [][]int32{{0, 0, 0, 0}}, rows: 4}
	m, err := fitWithoutNoise(t, d, LogisticOptions{Rounds: 100, PerRound: 2})
	if err != nil || math.Abs(m.Intercept-math.Log(3)) > 1e-6 || m.Coefficients[0][0] != 0 {
		t.Errorf("%+v, %v, want %v and 0", m, err, math.Log(3))
	}
}

// TestTimeOfSource: a source has a minute, or what the options say.
func TestTimeOfSource(t *testing.T) {
	for _, limit := range []time.Duration{0, time.Hour} {
		want := limit
		if limit == 0 {
			want = time.Minute
		}
		o := Options{TimeLimit: limit, Source: func(ctx context.Context, _ dp.Problem, _ int) (*tables.Verified, error) {
			if end, ok := ctx.Deadline(); !ok || time.Until(end) > want || time.Until(end) < want/2 {
				t.Errorf("%v: until %v", limit, end)
			}
			return nil, nil
		}}
		if _, err := o.ask(t.Context(), account.Target{}); err != nil {
			t.Error(err)
		}
	}
}

// TestEndsOfSchemas: as many features as there may be, and one more.
func TestEndsOfSchemas(t *testing.T) {
	s := &Schema{Target: "y", Classes: []string{"a", "b"}}
	for i := range maxFeatures {
		s.Features = append(s.Features, Feature{Name: fmt.Sprint(i), Bounds: &Bounds{0, 1}})
	}
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
	s.Features = append(s.Features, Feature{Name: "z", Bounds: &Bounds{0, 1}})
	if err := s.Validate(); !errors.Is(err, dp.ErrInvalid) {
		t.Error(err)
	}
}

// TestCells: as many cells and bytes of texts as there may be, and one more.
func TestCells(t *testing.T) {
	list := func(n int) (texts []string) {
		for i := range n {
			texts = append(texts, fmt.Sprint(i))
		}
		return texts
	}
	s := &Schema{Target: "y", Classes: list(512), Features: []Feature{{Name: "k", Categories: list(2048)}}}
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
	more := *s
	more.Features = []Feature{{Name: "k", Categories: list(2047)}, {Name: "x", Bounds: &Bounds{0, 1}}}
	if err := more.Validate(); err != nil {
		t.Error(err)
	}
	more.Features = s.Features
	if more.Features = append(more.Features, Feature{Name: "x", Bounds: &Bounds{0, 1}}); more.Validate() == nil {
		t.Error("more cells are taken")
	}
	s = &Schema{Target: "y", Classes: []string{"a", "b"}, Features: []Feature{{Name: "k", Categories: []string{"p", strings.Repeat("q", maxText-5)}}}}
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
	if s.Target = "yy"; s.Validate() == nil {
		t.Error("more bytes are taken")
	}
}

// TestColumnsOfDescent: the intercept's column is 1, classes are −1 and 1, and the first category has no indicator.
func TestColumnsOfDescent(t *testing.T) {
	s := &Schema{Classes: []string{"a", "b"}, Features: []Feature{{Bounds: &Bounds{-1, 1}}, {Categories: []string{"p", "q", "r"}}}}
	d := &Data{schema: s, classes: []int32{1, 0}, columns: [][]int32{{gridSteps / 2, -gridSteps}, {2, 0}}, rows: 2}
	got := newDescent(d, 3, LogisticOptions{7, 2, 1, 0.5})
	want := &descent{
		blocks: []block{{values: []float64{1, 1}, size: 1}, {values: []float64{0.5, -1}, size: 1}, {codes: []int32{2, 0}, size: 2}},
		signs:  []float64{1, -1}, rounds: 7, steps: 2, stepSize: 1, lambda: 0.5, deviation: 3,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if m := newNaiveBayes(&Schema{}, [][]float64{{0.25, 1.5}}, 1); !reflect.DeepEqual(m.Counts, []float64{1, 1.5}) {
		t.Errorf("the counts %v", m.Counts)
	}
}

// TestHeaders: what is missing is named if one column of the schema is there, and not if none is: then the header may be a record.
func TestHeaders(t *testing.T) {
	for _, c := range []struct {
		header []string
		says   string
	}{
		{[]string{"x", "letter", "y"}, "column = class,"},
		{[]string{"x", "x"}, "column = letter,"},
		{[]string{"12", "secret"}, "the header has none of the schema's columns"},
	} {
		_, err := small().Read(&records{names: c.header})
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, want %q", c.header, err, c.says)
		}
	}
	if got := listed(strings.Fields("a b c d e f g h i")); !strings.HasSuffix(got, `"h" and 1 more`) {
		t.Error(got)
	}
}

// TestEndsOfGuarantees: deviations from 0 to the largest parameter.
func TestEndsOfGuarantees(t *testing.T) {
	for deviation, good := range map[float64]bool{0: true, 0.5: true, 1e30: true, math.Nextafter(1e30, 1e31): false, -math.SmallestNonzeroFloat64: false, math.NaN(): false} {
		bad := check.In("learn")
		(&Guarantee{1, 0, dp.Replace, 1, "laplace", deviation}).validate(bad)
		if bad.None() != good {
			t.Errorf("%v: %v", deviation, bad.Err())
		}
	}
}
