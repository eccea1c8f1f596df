// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/noisewright/noisewright/release"
)

// records are rows in memory.
type records struct {
	names []string
	rows  [][]string
	next  int
}

func (r *records) Columns() []string { return r.names }

func (r *records) Next() ([]string, int, error) {
	if r.next == len(r.rows) {
		return nil, 0, io.EOF
	}
	r.next++
	return r.rows[r.next-1], r.next + 1, nil
}

// dataset reads a public data set, a header and rows, that the repository does not contain.
func dataset(t *testing.T, name string) *records {
	t.Helper()
	in, err := os.Open(filepath.Join("..", "..", "shared", "data", name))
	if err != nil {
		t.Skip("data set " + name + " not found in ../shared/data beside the repository")
	}
	defer in.Close()
	csv, err := release.NewCSV(in, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer csv.Close()
	all := &records{names: csv.Columns()}
	for {
		record, _, err := csv.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(record, "?") { // complete records
			all.rows = append(all.rows, slices.Clone(record))
		}
	}
}

// binary replaces the last column by whether it is positive.
func (r *records) binary(positive func(string) bool) {
	for _, row := range r.rows {
		last := &row[len(row)-1]
		if positive(*last) {
			*last = "yes"
		} else {
			*last = "no"
		}
	}
}

// encoded reads the records by a schema.
func encoded(t *testing.T, r *records, s *Schema) *Data {
	t.Helper()
	r.next = 0
	d, err := s.Read(r)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// set is a data set, with bounds that count as known.
type set struct {
	file        string
	target      string
	features    []string // nil: all
	categorical []string // of numbers
	positive    func(string) bool
	bounds      map[string]Bounds // of those that are not from 0 to 1
}

func moreThanNine(rings string) bool { return len(rings) > 1 }

var abaloneBounds = map[string]Bounds{
	"Height": {0, 1.2}, "Whole weight": {0, 3}, "Shucked weight": {0, 1.5}, "Shell weight": {0, 1.1},
}

var sets = map[string]set{
	"ecoli": {
		file: "ecoli/ecoli.csv", target: "class", categorical: []string{"lip", "chg"},
		positive: func(c string) bool { return c == "cp" },
	},
	"ecoli-numeric": {
		file: "ecoli/ecoli.csv", target: "class", features: []string{"mcg", "gvh", "aac", "alm1", "alm2"},
		positive: func(c string) bool { return c == "cp" },
	},
	"ecoli-all": { // numbers, as logistic regression takes them
		file: "ecoli/ecoli.csv", target: "class",
		positive: func(c string) bool { return c == "cp" },
	},
	"breast-cancer": {file: "breast-cancer-wisconsin/breast_cancer_wisconsin.csv", target: "Class"},
	"abalone": {
		file: "abalone/abalone.csv", target: "Class_Rings",
		features: []string{"Length", "Diameter", "Height", "Whole weight", "Shucked weight", "Viscera weight", "Shell weight"},
		positive: moreThanNine, bounds: abaloneBounds,
	},
	"abalone-all": {
		file: "abalone/abalone.csv", target: "Class_Rings",
		positive: moreThanNine, bounds: abaloneBounds,
	},
	"adult": {
		file: "adult/adult.csv.gz", target: "income",
		bounds: map[string]Bounds{
			"age": {17, 90}, "education-num": {1, 16}, "capital-gain": {0, 99999}, "capital-loss": {0, 4356}, "hours-per-week": {1, 99},
		},
	},
}

// load returns a data set and its categories, which the benchmarks take off the whole of it.
func load(t *testing.T, name string) *Data {
	t.Helper()
	s, ok := sets[name]
	if !ok {
		t.Fatalf("no data set %s", name)
	}
	r := dataset(t, s.file)
	if s.positive != nil {
		r.binary(s.positive)
	}
	if name == "adult" {
		s.features = slices.DeleteFunc(slices.Clone(r.names), func(c string) bool { return c == "split" || c == "fnlwgt" || c == s.target })
	}
	schema, err := Draft(r, s.target,
		func(c string) bool { return s.features == nil || slices.Contains(s.features, c) },
		func(c string) bool { return name == "breast-cancer" || slices.Contains(s.categorical, c) })
	if err != nil {
		t.Fatal(err)
	}
	schema.Draft = false
	for i, f := range schema.Features {
		if b, ok := s.bounds[f.Name]; f.Numeric() && ok {
			schema.Features[i].Bounds = &b
		} else if f.Numeric() {
			schema.Features[i].Bounds = &Bounds{0, 1}
		}
	}
	return encoded(t, r, schema)
}

// split returns a random fifth for tests, and the rest.
func (d *Data) split(random *rand.Rand) (train, test *Data) {
	order := random.Perm(d.Len())
	fifth := d.Len() / 5
	return d.selected(order[fifth:]), d.selected(order[:fifth])
}
