// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
)

var mixed = &Schema{Target: "y", Classes: []string{"no", "yes"}, Features: []Feature{
	{Name: "x", Bounds: &Bounds{-2, 6}}, {Name: "c", Categories: []string{"u", "v", "w"}}, {Name: "z", Bounds: &Bounds{0, 1}},
}}

const mixedRows = "x,c,z,y\n-2,u,0.5,no\n6,v,1,yes\n6,w,0,no\n0,w,1,yes\n4,v,0.25,yes\n-1,u,0,no\n"

// TestOneRecordOneSum: whatever was released before, a record that is added changes at most
// one of the sums of a release, by at most one unit of the grid's steps.
func TestOneRecordOneSum(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	d := readText(t, mixedRows, mixed)
	fits := 0
	for _, scale := range []float64{1e-3, 1, 30, 1e6, 1e300} {
		for added := range d.Len() {
			var history [][]float64
			var sums [2][][]int64
			o := LogisticOptions{Rounds: 20, StepSize: 8}
			for i, of := range []*Data{d, d.selected([]int{0, 1, 2, 3, 4, 5, added})} {
				releases := 0
				descent := newDescent(of, 1, o)
				descent.add = func(s []int64) ([]float64, error) {
					if i == 0 {
						answer := make([]float64, len(s))
						for k := range answer {
							answer[k] = scale * random.NormFloat64()
						}
						history = append(history, answer)
					}
					sums[i] = append(sums[i], slices.Clone(s))
					releases++
					return history[releases-1], nil
				}
				if _, err := descent.run(t.Context()); err != nil {
					t.Fatal(err)
				}
				if want, err := o.Releases(mixed); releases != want || err != nil {
					t.Fatalf("%d releases, want %d, %v", releases, want, err)
				}
			}
			most := int64(0)
			for at := range sums[0] {
				changed := 0
				for k, s := range sums[0][at] {
					if by := sums[1][at][k] - s; by != 0 {
						changed++
						most = max(most, by, -by)
					}
				}
				if changed > 1 {
					t.Fatalf("scale %g: a record changes %d sums of release %d", scale, changed, at)
				}
			}
			if most != gridSteps { // the number of rows
				t.Errorf("scale %g: a record changes a sum by %d steps, want %d at most, and once", scale, most, gridSteps)
			}
			fits++
		}
	}
	if fits != 30 {
		t.Errorf("%d fits", fits)
	}
}

// TestManyCategories: as many as a schema may have take no more memory than records do, and the
// model can be read.
func TestManyCategories(t *testing.T) {
	f := Feature{Name: "c"}
	for i := range maxCategories {
		f.Categories = append(f.Categories, strconv.Itoa(i))
	}
	s := &Schema{Target: "y", Classes: []string{"no", "yes"}, Features: []Feature{f}}
	d := readText(t, "c,y\n"+strings.Repeat("99999,yes\n0,no\n", 10_000), s)
	m, err := fitWithoutNoise(t, d, LogisticOptions{Rounds: 4})
	if err != nil {
		t.Fatal(err)
	}
	reread(t, &Model{Schema: s, classifier: m})
	if c := m.Coefficients[0]; len(c) != maxCategories || !(c[maxCategories-1] > 0) || c[1] != 0 {
		t.Errorf("%d coefficients, the last %v", len(c), c[len(c)-1])
	}
}

// TestDerivative: from −1 to 1 for all that a margin can be.
func TestDerivative(t *testing.T) {
	for _, margin := range []float64{0, 1, -1, 800, -800, math.Inf(1), math.Inf(-1), math.NaN()} {
		for _, sign := range []float64{-1, 1} {
			for _, x := range []float64{-1, 1, 0.5} {
				g := derivative(sign, x, margin)
				if want := -sign * x / (1 + math.Exp(sign*margin)); !(math.Abs(g) <= math.Abs(x)) || g != want && !math.IsNaN(want) {
					t.Errorf("of sign %g, x %g, margin %g: %g", sign, x, margin, g)
				}
				if steps := onGrid(g); steps < -gridSteps || steps > gridSteps {
					t.Errorf("%d steps", steps)
				}
			}
		}
	}
}

func fitWithoutNoise(t *testing.T, d *Data, o LogisticOptions) (*logistic, error) {
	t.Helper()
	releases, err := o.Releases(d.Schema())
	if err != nil {
		t.Fatal(err)
	}
	n, err := NewNoise(t.Context(), none, Budget{}, releases, Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := n.Releaser()
	if err != nil {
		t.Fatal(err)
	}
	m, err := o.Fit(t.Context(), d, r)
	if err != nil {
		return nil, err
	}
	return m.classifier.(*logistic), nil //nolint:errcheck,forcetypeassert // what it returns
}

// TestLogisticModel: what is written is read again, and predicts the same.
func TestLogisticModel(t *testing.T) {
	d := readText(t, mixedRows, mixed)
	fitted, err := fitWithoutNoise(t, d, LogisticOptions{StepSize: 4})
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := (&Model{Schema: mixed, classifier: fitted}).Encode(&file); err != nil {
		t.Fatal(err)
	}
	text := file.String()
	m, err := ReadModel(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for row := range d.Len() {
		if got, want := m.Scores(d, row), fitted.Scores(d, row); !slices.Equal(got, want) {
			t.Errorf("row %d scores %v, want %v", row, got, want)
		}
		if m.Predict(d, row) != d.Class(row) {
			t.Errorf("row %d is class %d, predicted as another", row, d.Class(row))
		}
	}
	if c := fitted.Coefficients; len(c) != 3 || len(c[0]) != 1 || len(c[1]) != 3 || c[1][0] != 0 {
		t.Errorf("coefficients %v, want one of a number, and of categories one each with 0 first", c)
	}
	for was, is := range map[string]string{
		`"intercept":`:          `"intercept":1e31,"was":`,
		`"coefficients":[[`:     `"coefficients":[[1,`,
		`"coefficients":[`:      `"coefficients":[[0],`,
		`"kind":"logistic"`:     `"kind":"naive-bayes"`,
		`"classes":["no","yes"`: `"classes":["no","yes","perhaps"`,
	} {
		changed := strings.Replace(text, was, is, 1)
		if _, err := ReadModel(strings.NewReader(changed)); err == nil || changed == text {
			t.Errorf("%s in the place of %s is read", is, was)
		}
	}
}

func TestLogisticErrors(t *testing.T) {
	three := &Schema{Target: "y", Classes: []string{"no", "yes", "perhaps"}, Features: mixed.Features}
	good := readText(t, mixedRows, mixed)
	for _, c := range []struct {
		what string
		d    *Data
		o    LogisticOptions
		want string
	}{
		{"three classes", readText(t, mixedRows, three), LogisticOptions{}, "classes = 3"},
		{"no classes", &Data{schema: mixed}, LogisticOptions{}, "labeled"},
		{"rounds", good, LogisticOptions{Rounds: -1}, "rounds = -1"},
		{"most rounds", good, LogisticOptions{Rounds: maxRounds + 1}, "rounds = 4097"},
		{"steps", good, LogisticOptions{PerRound: maxRounds + 1}, "per-round = 4097"},
		{"step size", good, LogisticOptions{StepSize: 9}, "step-size = 9"},
		{"no number", good, LogisticOptions{Lambda: math.NaN()}, "lambda = NaN"},
	} {
		n := &Noise{releases: 1000}
		m, err := c.o.Fit(t.Context(), c.d, &Releaser{noise: n, left: 1000})
		if m != nil || !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", c.what, err, c.want)
		}
	}
	r := &Releaser{noise: &Noise{releases: 5}, left: 5}
	if m, err := (LogisticOptions{}).Fit(t.Context(), good, r); m != nil || !errors.Is(err, account.ErrExceeded) {
		t.Errorf("noise for fewer releases: %v", err)
	}
}

// TestLogisticLimits: the last options that are taken.
func TestLogisticLimits(t *testing.T) {
	if err := (LogisticOptions{Rounds: maxRounds, PerRound: maxRounds}).Validate(); err != nil {
		t.Error(err)
	}
}
