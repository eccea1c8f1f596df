// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"cmp"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/csvfile"
	"github.com/noisewright/noisewright/release"
)

// Draft reads a schema off a file: the bounds and the categories that are there, of columns
// with a name that are not the same in every row. It is for people to replace by what is public:
// no part of it is private, and nothing is fitted by it. feature chooses the features among the
// columns but the target, nil takes all; categorical says of a column of numbers that these are
// categories, nil of none.
//
// Errors are those of rows, or wrap dp.ErrInvalid: for a target that is no column, and for a
// file without the two classes or without a feature.
func Draft(rows release.Rows, target string, feature, categorical func(column string) bool) (*Schema, error) {
	var names []string
	for _, name := range rows.Columns() {
		names = append(names, strings.TrimSpace(name))
	}
	if _, err := columnOf(rows, target); err != nil {
		return nil, check.Errorf("learn", nil, "target: %w", err)
	}
	columns := make([]seen, len(names))
	for {
		record, _, err := rows.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		for i, name := range names {
			if name == "" || name != target && feature != nil && !feature(name) {
				continue
			}
			columns[i].take(strings.TrimSpace(record[i]))
		}
	}
	s := &Schema{Target: target, Draft: true}
	for i, name := range names {
		c := &columns[i]
		switch {
		case name == target:
			s.Classes = c.categories()
		case len(c.texts) < 2: // the same in every row, or not chosen
		case !c.text && (categorical == nil || !categorical(name)):
			if c.lower == c.upper { // the same number
				continue
			}
			s.Features = append(s.Features, Feature{Name: name, Bounds: &Bounds{c.lower, c.upper}})
		case len(c.texts) > maxCategories:
			return nil, check.Errorf("learn", dp.ErrInvalid, "column %s has more than %d texts, want fewer categories, or no feature of it", check.Quoted(name), maxCategories)
		default:
			s.Features = append(s.Features, Feature{Name: name, Categories: c.categories()})
		}
	}
	return s, s.Validate()
}

// seen is what is known of a column.
type seen struct {
	texts        map[string]float64 // no more than one too many; with their numbers
	text         bool               // there is one that is no number
	lower, upper float64
}

func (c *seen) take(text string) {
	v, err := csvfile.Number(text)
	if err != nil {
		c.text, v = true, 0
	}
	if c.texts == nil {
		c.texts, c.lower, c.upper = make(map[string]float64), v, v
	}
	c.lower, c.upper = min(c.lower, v), max(c.upper, v)
	if _, known := c.texts[text]; !known && len(c.texts) <= maxCategories {
		c.texts[strings.Clone(text)] = v
	}
}

// categories returns the texts in the order of their numbers, or of their letters.
func (c *seen) categories() []string {
	return slices.SortedFunc(maps.Keys(c.texts), func(a, b string) int {
		if !c.text {
			if order := cmp.Compare(c.texts[a], c.texts[b]); order != 0 {
				return order
			}
		}
		return strings.Compare(a, b)
	})
}
