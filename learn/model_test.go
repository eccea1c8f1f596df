// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/proof"
)

// reread writes a model and reads it.
func reread(t *testing.T, m *Model) *Model {
	t.Helper()
	again, err := ReadModel(strings.NewReader(fileOf(t, m)))
	if err != nil {
		t.Fatal(err)
	}
	return again
}

func fileOf(t testing.TB, m *Model) string {
	t.Helper()
	var b bytes.Buffer
	if err := m.Encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// smallModel has parameters that are easy to find in its file.
func smallModel() *Model {
	return &Model{
		Schema:    small(),
		Guarantee: &Guarantee{0.999, 1e-5, addRemove.Neighbors, 6, "gaussian", 13.5},
		classifier: &naiveBayes{Counts: []float64{10, 20, 30}, Features: []naiveFeature{
			{Means: []float64{-0.5, 0, 0.5}, Variances: []float64{0.1, 0.2, 0.3}},
			{Cells: [][]float64{{1, 2, 3, 4}, {4, 3, 2, 1}, {0.5, 0.5, 0.5, 7}}},
			{Means: []float64{0, 0.25, -1}, Variances: []float64{2, 0.002, 0.5}},
		}},
	}
}

func TestModelFile(t *testing.T) {
	m := smallModel()
	if again := reread(t, m); !reflect.DeepEqual(again, m) {
		t.Errorf("%+v, want %+v", again, m)
	}
	m.Guarantee.Epsilon = 0
	if again := reread(t, m); !reflect.DeepEqual(again, m) {
		t.Errorf("%+v, want %+v", again.Guarantee, m.Guarantee)
	}
	m.Guarantee = nil
	if again := reread(t, m); again.Guarantee != nil {
		t.Errorf("%+v, want no guarantee", again.Guarantee)
	}
}

// TestGuaranteeWithoutEpsilon: where delta is enough for all of the cost, the model can be read, too.
func TestGuaranteeWithoutEpsilon(t *testing.T) {
	n := noiseOf(t, gaussian, Budget{1e-6, 0.1, addRemove.Neighbors}, 1, Options{})
	if e := n.Guarantee().Epsilon; e != 0 {
		t.Fatalf("epsilon %v, want 0", e)
	}
	m := smallModel()
	m.Guarantee = n.Guarantee()
	reread(t, m)
}

// TestModelFileIsStrict: every change to a file that makes it something else is refused, with
// a sentence that names the field.
func TestModelFileIsStrict(t *testing.T) {
	text := fileOf(t, smallModel())
	for _, c := range []struct{ old, new, want string }{
		{`"kind":"naive-bayes"`, `"kind":"logistic"`, "kind = logistic, want"},
		{`"kind":"naive-bayes"`, `"kind":"tree"`, "kind = tree, want"},
		{`"naive_bayes":`, `"logistic":{"intercept":0,"coefficients":[]},"naive_bayes":`, "kind = naive-bayes, want"},
		{`"version":1`, `"version":2`, "version = 2"},
		{`"target"`, `"draft":true,"target"`, "schema.draft = true, want none"},
		{`"classes":["a","b","c"]`, `"classes":["a","b"]`, "counts = 3, want 2"},
		{`"classes":["a","b","c"]`, `"classes":["a","a","c"]`, "schema: classes = a, want"},
		{`"counts":[10,20,30]`, `"counts":[10,0,30]`, "counts = 0, want a number from"},
		{`"counts":[10,20,30]`, `"counts":[10,1e300,30]`, "counts = 1e+300, want a number from"},
		{`"counts":[10,20,30]`, `"counts":[10,20]`, "counts = 2, want 3"},
		{`"means":[-0.5,0,0.5]`, `"means":[-0.5,0,1.5]`, "features[0].means = 1.5, want"},
		{`"variances":[0.1,0.2,0.3]`, `"variances":[0.1,-0.2,0.3]`, "features[0].variances = -0.2, want"},
		{`"variances":[0.1,0.2,0.3]`, `"variances":[0.1,0.2]`, "features[0].variances = 2, want 3"},
		{`[4,3,2,1]`, `[4,3,2]`, "features[1].cells[1] = 3, want 4"},
		{`[4,3,2,1]`, `[4,3,2,0]`, "features[1].cells[1] = 0, want"},
		{`[4,3,2,1],`, ``, "features[1].cells = 2, want 3"},
		{`{"cells"`, `{"means":[0,0,0],"cells"`, "features[1].means = 3, want none"},
		{`{"means":[0,0.25`, `{"cells":[[1]],"means":[0,0.25`, "features[2].cells = 1, want none"},
		{`,{"means":[0,0.25,-1],"variances":[2,0.002,0.5]}`, ``, "naive_bayes.features = 2, want 3"},
		{`"epsilon":0.999`, `"epsilon":-1`, "guarantee: epsilon = -1, want"},
		{`"delta":0.00001`, `"delta":2`, "guarantee: delta = 2, want"},
		{`"neighbors":"add-remove"`, `"neighbors":"none"`, "guarantee: neighbors = none, want"},
		{`"releases":6`, `"releases":0`, "guarantee.releases = 0, want"},
		{`"noise":"gaussian"`, `"noise":"gaussian\n\u001b[2Kerrors 0 of 9"`, "guarantee.noise = \"gaussian\\n\\x1b[2K"},
		{`"noise":"gaussian"`, `"noise":"` + strings.Repeat("x", 99) + `"`, "guarantee.noise = xxxx"},
		{`"deviation":13.5`, `"deviation":-13.5`, "guarantee.deviation = -13.5, want"},
	} {
		if !strings.Contains(text, c.old) {
			t.Fatalf("no %s in %s", c.old, text)
		}
		m, err := ReadModel(strings.NewReader(strings.Replace(text, c.old, c.new, 1)))
		if m != nil || !errors.Is(err, dp.ErrInvalid) && !errors.Is(err, proof.ErrFormat) || !strings.Contains(strings.Join(check.Sentences(err), "; "), c.want) {
			t.Errorf("%s: %v, want %s", c.new, err, c.want)
		}
	}
}

// FuzzReadModel: a file is refused, or is a model that predicts by finite scores and is
// written as it was read.
func FuzzReadModel(f *testing.F) {
	m := smallModel()
	f.Add([]byte(fileOf(f, m)))
	m.Guarantee = nil
	f.Add([]byte(fileOf(f, m)))
	f.Add([]byte(`{"format":"noisewright-model","version":1}`))
	f.Add([]byte(strings.Replace(fileOf(f, m), `"version":`, `"optional":["x"],"x":[{}],"version":`, 1)))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := ReadModel(bytes.NewReader(text))
		if err != nil {
			if m != nil {
				t.Error("a model beside an error")
			}
			return
		}
		d := &Data{schema: m.Schema, rows: 2}
		for _, feature := range m.Schema.Features {
			column := []int32{-gridSteps, gridSteps}
			if !feature.Numeric() {
				column = []int32{0, int32(len(feature.Categories) - 1)}
			}
			d.columns = append(d.columns, column)
		}
		for row := range d.rows {
			for _, s := range m.Scores(d, row) {
				if math.IsNaN(s) || math.IsInf(s, 0) {
					t.Errorf("a score of %v", s)
				}
			}
		}
		if again := reread(t, m); !reflect.DeepEqual(again, m) {
			t.Errorf("%+v, want %+v", again, m)
		}
	})
}

// FuzzReadSchema: a schema that is read is good, and written as it was read.
func FuzzReadSchema(f *testing.F) {
	var b bytes.Buffer
	if err := small().Encode(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ReadSchema(bytes.NewReader(text))
		if err != nil {
			return
		}
		if err := s.Validate(); err != nil {
			t.Error(err)
		}
		var b bytes.Buffer
		if err := s.Encode(&b); err != nil {
			t.Fatal(err)
		}
		if again, err := ReadSchema(&b); err != nil || !reflect.DeepEqual(again, s) {
			t.Errorf("%+v, %v, want %+v", again, err, s)
		}
	})
}
