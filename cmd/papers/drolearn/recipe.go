// SPDX-License-Identifier: Apache-2.0

package drolearn

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/noisewright/noisewright/internal/csvfile"
)

// Recipe says what the paper does with a public data set before it learns from it.
type Recipe struct {
	Name   string // in the paper
	File   string // of the data set
	Target string // column of the labels
	// Numeric are the columns of numbers for naive Bayes and Numbers those for coordinate
	// descent, nil: the same; * stands for any text. All others are categories, but for
	// those to Exclude and those that are the same in every row.
	Numeric, Numbers, Exclude []string
	// Complete leaves out rows in which something is missing. Otherwise a missing number
	// is the mean of the others, and a missing category a category.
	Complete bool
	Without  string // label of rows to leave out, or ""
	Drop     int    // row to leave out, counted from 1, or 0
	// Where there are more than two labels: Above makes those of numbers above it one class
	// and the others another, Against the label of its name and all others. AgainstFor is
	// Against for coordinate descent alone.
	Above               float64
	Against, AgainstFor string
	// Scale multiplies numbers for naive Bayes, whose standard deviations are at least 1; 0: 1.
	Scale float64
	// Draws bounds the draws of noise for coordinate descent in one split: 100 in the authors'
	// program, fewer for large sets, which take long; 0: the set is not for coordinate descent.
	Draws int
}

// Recipes are the data sets, small ones first.
var Recipes = []Recipe{
	{Name: "post-operative", File: "post_operative.csv", Target: "decision", Numeric: []string{"COMFORT"}, Complete: true, Without: "I", Draws: 100},
	{Name: "ecoli", File: "ecoli.csv", Target: "class", Against: "cp", Numeric: []string{"mcg", "gvh", "aac", "alm1", "alm2"}, Numbers: []string{"*"}, Scale: 1000, Draws: 100},
	{Name: "spect", File: "spect.csv", Target: "OVERALL_DIAGNOSIS", Exclude: []string{"split"}, Draws: 100},
	{Name: "breast-cancer", File: "breast_cancer_wisconsin.csv", Target: "Class", Complete: true, Numbers: []string{"*"}, Draws: 100},
	{Name: "dermatology", File: "dermatology.csv", Target: "class", Numeric: []string{"erythema", "scaling"}},
	{Name: "cylinder-bands", File: "bands.csv", Target: "band_type", Drop: 522, Numeric: []string{
		"proof_cut", "viscosity", "caliper", "ink_temperature", "humifity", "roughness", "blade_pressure", "varnish_pct", "press_speed", "ink_pct",
		"solvent_pct", "ESA_Voltage", "ESA_Amperage", "wax", "hardener", "roller_durometer", "current_density", "anode_space_ratio", "chrome_content",
	}, Exclude: []string{"timestamp", "cylinder_number", "customer", "job_number"}, Draws: 50},
	{Name: "absenteeism", File: "absenteeism.csv", Target: "Absenteeism time in hours", Above: 2, Numeric: []string{
		"ID", "Transportation expense", "Distance*", "Service time", "Age", "Work load Average/day", "Hit target", "Son", "Pet", "Weight", "Height", "Body mass index",
	}, Draws: 20},
	{Name: "annealing", File: "annealing.csv", Target: "class", Numeric: []string{"carbon", "hardness", "strength", "thick", "width", "len"}},
	{Name: "contraceptive", File: "cmc.csv", Target: "Contraceptive_method_used", Numeric: []string{"Wifes_age", "Number_of_children*"}, AgainstFor: "1", Draws: 100},
	{Name: "abalone", File: "abalone.csv", Target: "Class_Rings", Above: 9, Numeric: []string{"Length", "Diameter", "Height", "* weight"}, Scale: 1000, Draws: 50},
	{Name: "spambase", File: "spambase.csv", Target: "class", Numeric: []string{"*"}, Scale: 1000, Draws: 10},
	{Name: "bank", File: "bank_full.csv", Target: "y", Numeric: []string{"age", "balance", "duration", "pdays"}},
	{Name: "adult", File: "adult.csv", Target: "income", Exclude: []string{"split", "fnlwgt"}, Complete: true, Numeric: []string{"age", "education-num", "capital-*", "hours-per-week"}},
}

// Table is the text of a data set by columns.
type Table struct {
	Header  []string
	Columns [][]string
}

// Set is a data set to learn from.
type Set struct {
	Recipe  Recipe
	Rows    int
	Labels  []int // 0 to Classes−1, in the order in which they occur
	Classes int
	// Categories has the code of each row, 0 to Values−1, for each categorical column.
	Categories [][]int
	Values     []int
	Numbers    [][]float64 // by columns
	Seed       uint64      // of splits and draws
}

// Bayes returns the set as naive Bayes has it.
func (r Recipe) Bayes(t Table) (*Set, error) { return r.set(t, r.Numeric, r.Against) }

// Descent returns the set as coordinate descent has it, of two classes.
func (r Recipe) Descent(t Table) (*Set, error) {
	numeric, against := r.Numeric, r.Against
	if r.Numbers != nil {
		numeric = r.Numbers
	}
	if r.AgainstFor != "" {
		against = r.AgainstFor
	}
	s, err := r.set(t, numeric, against)
	if err == nil && s.Classes != 2 {
		return nil, fmt.Errorf("%d labels in column %s, want 2", s.Classes, r.Target)
	}
	return s, err
}

const fewest = 10

// set makes a Set of the rows that are left.
func (r Recipe) set(t Table, numeric []string, against string) (*Set, error) {
	target := slices.Index(t.Header, r.Target)
	if target < 0 {
		return nil, fmt.Errorf("no column %s", r.Target)
	}
	rows := r.rows(t, target)
	if len(rows) < fewest {
		return nil, fmt.Errorf("%d rows are left, want at least %d", len(rows), fewest)
	}
	labels, err := r.labels(Chosen(t.Columns[target], rows), against)
	if err != nil {
		return nil, err
	}
	s := &Set{Recipe: r, Rows: len(rows)}
	if s.Labels, s.Classes = coded(labels); s.Classes < 2 {
		return nil, fmt.Errorf("one label in column %s, want at least 2", r.Target)
	}
	for i, name := range t.Header {
		column := Chosen(t.Columns[i], rows)
		switch {
		case i == target || csvfile.Matches(r.Exclude, name):
		case csvfile.Matches(numeric, name):
			numbers, err := Numbers(column)
			if err != nil {
				return nil, fmt.Errorf("column %s: %w", name, err)
			}
			if slices.Min(numbers) < slices.Max(numbers) {
				s.Numbers = append(s.Numbers, numbers)
			}
		default:
			if codes, values := coded(column); values > 1 {
				s.Categories, s.Values = append(s.Categories, codes), append(s.Values, values)
			}
		}
	}
	if len(s.Numbers)+len(s.Categories) == 0 {
		return nil, fmt.Errorf("no column of features that is not the same in every row")
	}
	return s, nil
}

// Missing reports whether a field says that there is no value.
func Missing(text string) bool { return text == "" || text == "?" }

// rows are the numbers of the rows that are left, from 0.
func (r Recipe) rows(t Table, target int) (rows []int) {
	for i := range t.Columns[target] {
		incomplete := slices.ContainsFunc(t.Columns, func(c []string) bool { return Missing(c[i]) })
		if r.Complete && incomplete || t.Columns[target][i] == r.Without || i+1 == r.Drop {
			continue
		}
		rows = append(rows, i)
	}
	return rows
}

func (r Recipe) labels(column []string, against string) ([]string, error) {
	out := make([]string, len(column))
	for i, text := range column {
		out[i] = text
		switch {
		case against != "" && text != against:
			out[i] = "not " + against
		case r.Above != 0:
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return nil, fmt.Errorf("column %s: row %d is not a number", r.Target, i+1)
			}
			out[i] = fmt.Sprint(v > r.Above)
		}
	}
	return out, nil
}

// Chosen returns the entries of a column in some rows.
func Chosen[T any](column []T, rows []int) []T {
	out := make([]T, len(rows))
	for k, i := range rows {
		out[k] = column[i]
	}
	return out
}

// coded numbers the values in the order in which they occur.
func coded(column []string) (codes []int, values int) {
	seen := map[string]int{}
	for _, text := range column {
		k, ok := seen[text]
		if !ok {
			k = len(seen)
			seen[text] = k
		}
		codes = append(codes, k)
	}
	return codes, len(seen)
}

// Numbers reads a column of numbers; missing ones are the mean of the others.
func Numbers(column []string) ([]float64, error) {
	sum, count := 0.0, 0.0
	out := make([]float64, len(column))
	for i, text := range column {
		if Missing(text) {
			out[i] = math.NaN()
			continue
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(math.Abs(v) <= 1e100) {
			return nil, fmt.Errorf("row %d is not a number", i+1)
		}
		out[i] = v
		sum, count = sum+v, count+1
	}
	if count == 0 {
		return nil, fmt.Errorf("no numbers")
	}
	for i, v := range out {
		if math.IsNaN(v) {
			out[i] = sum / count
		}
	}
	return out, nil
}
