// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"errors"
	"slices"
	"strings"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/csvfile"
)

// CSVFiles are the endings of CSV files, perhaps compressed.
var CSVFiles = []string{"csv", "gz", "zst"}

// FeatureColumns are patterns of names, separated by commas.
type FeatureColumns struct{ Columns, Exclude string }

// FeatureColumns adds --columns, by default all but others, and --exclude.
func (f *Flags) FeatureColumns(c *FeatureColumns, others string) {
	c.Columns = "*"
	f.String(&c.Columns, "columns", "names of the feature columns, separated by commas, with * and ? for any letters; by default all but "+others)
	f.String(&c.Exclude, "exclude", "names of columns that are no features, as for --columns")
}

// Chosen reports whether the column of the name is a feature.
func (c *FeatureColumns) Chosen(name string) bool {
	return csvfile.Matches(strings.Split(c.Columns, ","), name) && !csvfile.Matches(strings.Split(c.Exclude, ","), name)
}

// Unmatched is about patterns of columns that there are not.
func (c *FeatureColumns) Unmatched(names []string) error {
	return errors.Join(Unmatched("columns", c.Columns, names), Unmatched("exclude", c.Exclude, names))
}

// Unmatched is about patterns of a flag that match none of the names of columns.
func Unmatched(flag, patterns string, names []string) error {
	var errs []error
	for p := range strings.SplitSeq(patterns, ",") {
		if p != "" && !slices.ContainsFunc(names, func(name string) bool { return csvfile.Matches([]string{p}, name) }) {
			errs = append(errs, About(flag, p, Want("names of columns, which are "+check.Shortened(strings.Join(names, ", ")))))
		}
	}
	return errors.Join(errs...)
}
