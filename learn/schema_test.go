// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/proof"
)

// small is a schema with both kinds of features.
func small() *Schema {
	return &Schema{Target: "class", Classes: []string{"a", "b", "c"}, Features: []Feature{
		{Name: "x", Bounds: &Bounds{0, 10}},
		{Name: "letter", Categories: []string{"p", "q", "r", "s"}},
		{Name: "y", Bounds: &Bounds{-4, 4}},
	}}
}

func TestSchemaFile(t *testing.T) {
	for _, draft := range []bool{false, true} {
		want := small()
		want.Draft = draft
		var b bytes.Buffer
		if err := want.Encode(&b); err != nil {
			t.Fatal(err)
		}
		// Who edits a draft removes this line, and the file is one still.
		if text := b.String(); strings.Contains(text, "\n  \"draft\": true,\n") != draft || !strings.HasSuffix(text, "\n}\n") {
			t.Errorf("draft %v: %s", draft, text)
		}
		got, err := ReadSchema(&b)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
	}
	for _, bad := range []string{
		"", "{}", "null", `{"format":"noisewright-table","version":1}`,
		`{"format":"noisewright-schema","version":1,"target":"y","classes":["a","b"],"features":[{"name":"x","bounds":{"lower":0}}]}`,
	} {
		if s, err := ReadSchema(strings.NewReader(bad)); s != nil || !errors.Is(err, proof.ErrFormat) {
			t.Errorf("%q: %v, %v, want ErrFormat", bad, s, err)
		}
	}
}

func TestSchemaValidate(t *testing.T) {
	for want, change := range map[string]func(*Schema){
		"target = , want the name":           func(s *Schema) { s.Target = "" },
		"target = \" class\"":                func(s *Schema) { s.Target = " class" },
		"classes = 1, want from 2":           func(s *Schema) { s.Classes = s.Classes[:1] },
		"classes = a, want every text once":  func(s *Schema) { s.Classes = []string{"a", "a"} },
		"features = 0":                       func(s *Schema) { s.Features = nil },
		"features[2].name = x, want every":   func(s *Schema) { s.Features[2].Name = "x" },
		"features[0].name = class":           func(s *Schema) { s.Features[0].Name = "class" },
		"features[1].name = , want":          func(s *Schema) { s.Features[1].Name = "" },
		"want either categories or bounds":   func(s *Schema) { s.Features[1].Bounds = &Bounds{0, 1} },
		"0] x = no feature, want either":     func(s *Schema) { s.Features[0].Categories = []string{} },
		"features[0] x = no feature":         func(s *Schema) { s.Features[0].Bounds = nil },
		"bounds = 1, 1, want lower below":    func(s *Schema) { s.Features[0].Bounds = &Bounds{1, 1} },
		"bounds = NaN, 1":                    func(s *Schema) { s.Features[0].Bounds = &Bounds{math.NaN(), 1} },
		"bounds = 0, +Inf":                   func(s *Schema) { s.Features[0].Bounds = &Bounds{0, math.Inf(1)} },
		"bounds = -1e+101, 0":                func(s *Schema) { s.Features[0].Bounds = &Bounds{-1e101, 0} },
		"categories = 1, want from 2":        func(s *Schema) { s.Features[1].Categories = []string{"p"} },
		"categories = \"q \", want every te": func(s *Schema) { s.Features[1].Categories = []string{"p", "q "} },
		"categories = p, want every text":    func(s *Schema) { s.Features[1].Categories = []string{"p", "p"} },
	} {
		s := small()
		change(s)
		if err := s.Validate(); !errors.Is(err, dp.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if err := small().Validate(); err != nil {
		t.Error(err)
	}
	wide := small()
	for i := range 4 {
		letters := make([]string, maxCategories)
		for j := range letters {
			letters[j] = strconv.Itoa(j)
		}
		wide.Features = append(wide.Features, Feature{Name: strings.Repeat("f", i+1), Categories: letters})
	}
	if err := wide.Validate(); err == nil || !strings.Contains(err.Error(), "times the number of classes") {
		t.Errorf("%d categories in 3 classes: %v", 4*maxCategories, err)
	}
}

func TestDraft(t *testing.T) {
	rows := func() *records {
		return &records{names: []string{"id", "n", "mixed", "same", "equal", "class"}, rows: [][]string{
			{"10", " 5", "9", "1", "1", "yes"}, {"9", "-2.5", "?", "1", "1.0", "no"}, {"8", "4e1", "10", "1", "1e0", "yes"},
		}}
	}
	got, err := Draft(rows(), "class", nil, func(c string) bool { return c == "id" })
	want := &Schema{Draft: true, Target: "class", Classes: []string{"no", "yes"}, Features: []Feature{
		{Name: "id", Categories: []string{"8", "9", "10"}},
		{Name: "n", Bounds: &Bounds{-2.5, 40}},
		{Name: "mixed", Categories: []string{"10", "9", "?"}},
	}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	got, err = Draft(rows(), "class", func(c string) bool { return c == "n" }, nil)
	if err != nil || len(got.Features) != 1 || got.Features[0].Name != "n" {
		t.Errorf("%+v, %v, want the feature n alone", got, err)
	}
	for target, rows := range map[string]*records{
		"other": rows(), // none of the columns
		"same":  rows(), // one class
		"class": {names: []string{"x", "class"}},
	} {
		if s, err := Draft(rows, target, nil, nil); !errors.Is(err, dp.ErrInvalid) {
			t.Errorf("target %s: %+v, %v, want an error", target, s, err)
		}
	}
	// Numbers may be as many as they like, texts not.
	many := &records{names: []string{"n", "class"}}
	for i := range maxCategories + 1 {
		many.rows = append(many.rows, []string{strconv.Itoa(i), "ab"[i%2 : i%2+1]})
	}
	if s, err := Draft(many, "class", nil, nil); err != nil || !s.Features[0].Numeric() {
		t.Errorf("%v, %v", s, err)
	}
	many.rows, many.next = slices.Insert(many.rows, 0, []string{"text", "a"}), 0
	if _, err := Draft(many, "class", nil, nil); err == nil || !strings.Contains(err.Error(), "column n has more than") {
		t.Errorf("%v, want an error about the column n", err)
	}
}

// TestSchemasFitLedgers: a model repeats all names, and how large it is depends on the draw.
func TestSchemasFitLedgers(t *testing.T) {
	for size, fits := range map[int]bool{maxText: true, maxText + 1: false} {
		s := Schema{Target: "y", Classes: []string{"0", "1"}, Features: []Feature{{Name: "x", Categories: []string{"b", strings.Repeat("<", size-5)}}}}
		if err := s.Validate(); (err == nil) != fits {
			t.Errorf("%d bytes: %.200v", size, err)
		}
	}
}
