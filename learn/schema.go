// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/strictjson"
	"github.com/noisewright/noisewright/proof"
)

// Schema says what is public about records: what is read off the data is not protected.
type Schema struct {
	// Draft says that Draft read the schema off a file: nothing is fitted by it.
	Draft bool `json:"draft,omitempty"`
	// Target is the column of the class, one of at least two Classes.
	Target  string   `json:"target"`
	Classes []string `json:"classes"`
	// Features are the columns that the class is predicted from, at least one.
	Features []Feature `json:"features"`
}

// Feature is a column: either Categories or Bounds.
type Feature struct {
	Name string `json:"name"`
	// Categories are all texts that the column may have, at least two. Blanks around a text
	// do not count.
	Categories []string `json:"categories,omitempty"`
	// Bounds, of a numeric feature, are the least and the largest value.
	Bounds *Bounds `json:"bounds,omitempty"`
}

// Bounds are public limits of the values of a feature, in its units: Lower < Upper.
type Bounds struct {
	Lower float64 `json:"lower"`
	Upper float64 `json:"upper"`
}

// Numeric reports whether the values of the feature are numbers within Bounds.
func (f Feature) Numeric() bool { return f.Bounds != nil }

// The bounds of a schema.
const (
	maxClasses    = 1000
	maxFeatures   = 10_000
	maxCategories = 100_000
	maxCells      = 1 << 20 // classes times the categories of all features, and numeric ones
	maxText       = 4 << 20 // of all names, classes and categories: a model repeats them, and is to fit into a ledger
	maxBound      = 1e100
)

// Validate reports all bad fields together, wrapping dp.ErrInvalid.
func (s *Schema) Validate() error {
	bad := check.In("learn")
	bad.If(!name(s.Target), "target", check.Quoted(s.Target), nameRule)
	texts(bad, "classes", s.Classes, maxClasses)
	bad.Want(len(s.Features) >= 1 && len(s.Features) <= maxFeatures, "features", len(s.Features), "from 1 to %d of them", maxFeatures)
	seen, cells, bytes := map[string]bool{s.Target: true}, 0, len(s.Target)+len(strings.Join(s.Classes, ""))
	for i, f := range s.Features {
		field := fmt.Sprintf("features[%d]", i)
		switch {
		case !name(f.Name):
			bad.Bad(field+".name", check.Quoted(f.Name), nameRule)
		case seen[f.Name]:
			bad.Bad(field+".name", check.Quoted(f.Name), "every column once, the target among them")
		}
		seen[f.Name] = true
		f.validate(bad, field+" "+check.Quoted(check.Shortened(f.Name)))
		cells += len(s.Classes) * max(len(f.Categories), 1)
		bytes += len(f.Name) + len(strings.Join(f.Categories, ""))
	}
	bad.Want(bytes <= maxText, "texts", bytes, "at most %d bytes of names, classes and categories together", maxText)
	bad.Want(cells <= maxCells, "features", cells, "at most %d categories, times the number of classes", maxCells)
	return bad.Err()
}

func (f Feature) validate(bad *check.List, field string) {
	switch {
	case f.Numeric() == (f.Categories != nil):
		bad.Bad(field, "no feature", "either categories or bounds")
	case f.Numeric():
		if b := *f.Bounds; !(b.Lower < b.Upper) || math.Abs(b.Lower) > maxBound || math.Abs(b.Upper) > maxBound {
			bad.Badf(field+" bounds", fmt.Sprintf("%v, %v", b.Lower, b.Upper), "lower below upper, both of at most %g", maxBound)
		}
	default:
		texts(bad, field+" categories", f.Categories, maxCategories)
	}
}

const nameRule = "the name of a column, UTF-8 without blanks around it"

func name(s string) bool { return s != "" && text(s) }

func text(s string) bool { return utf8.ValidString(s) && strings.TrimSpace(s) == s }

// texts wants two different texts or more, as they are compared.
func texts(bad *check.List, field string, list []string, most int) {
	bad.Want(len(list) >= 2 && len(list) <= most, field, len(list), "from 2 to %d of them", most)
	seen := make(map[string]bool, len(list))
	for _, s := range list {
		if seen[s] || !text(s) {
			bad.Bad(field, check.Quoted(check.Shortened(s)), "every text once, UTF-8 without blanks around it")
		}
		seen[s] = true
	}
}

// schemaFormat is that of the file of a schema.
var schemaFormat = strictjson.Format{
	Noun: "schema", Name: "noisewright-schema", Version: 1, MaxSize: 64 << 20, Err: proof.ErrFormat,
	MaxElements: map[string]int{"classes": maxClasses, "features": maxFeatures, "categories": maxCategories},
}

type schemaFile struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Schema
}

// ReadSchema reads a schema from its file, format noisewright-schema, version 1
// (docs/learn.md). The error wraps proof.ErrFormat, or those of Validate.
func ReadSchema(r io.Reader) (*Schema, error) {
	var f schemaFile
	if err := strictjson.Decode(r, schemaFormat, &f); err != nil {
		return nil, err
	}
	if err := f.Validate(); err != nil {
		return nil, err
	}
	return &f.Schema, nil
}

// Encode writes the schema as ReadSchema reads it, to be read and edited by people.
func (s *Schema) Encode(w io.Writer) error {
	var line, out bytes.Buffer
	if err := strictjson.Encode(&line, schemaFile{schemaFormat.Name, schemaFormat.Version, *s}); err != nil {
		return err
	}
	if err := json.Indent(&out, line.Bytes(), "", "  "); err != nil {
		return err
	}
	_, err := out.WriteTo(w)
	return err
}
