// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/internal/strictjson"
	"github.com/noisewright/noisewright/proof"
)

// classifier scores the classes of records.
type classifier interface {
	// Scores returns a finite number for every class of the schema of the data; the largest
	// is that of the class predicted.
	Scores(d *Data, row int) []float64
	// put writes the kind and the parameters into the file of a model.
	put(*modelFile)
	// validate checks the parameters of a file against the schema.
	validate(*Schema, *check.List)
}

// Model is a classifier that was learned, with what it may be used on and what it costs. All
// of it may be published. It is immutable and safe for concurrent use.
type Model struct {
	Schema *Schema
	// Guarantee is that of the records it was learned from; nil for none.
	Guarantee *Guarantee
	classifier
}

// model returns the classifier of what the Releaser released of the data.
func (d *Data) model(r *Releaser, c classifier) *Model { return &Model{d.schema, r.Guarantee(), c} }

// Predict returns the class with the largest score, the first of several.
func (m *Model) Predict(d *Data, row int) int {
	best, scores := 0, m.Scores(d, row)
	for c, s := range scores {
		if s > scores[best] {
			best = c
		}
	}
	return best
}

// The kinds of models.
const (
	kindNaiveBayes = "naive-bayes"
	kindLogistic   = "logistic"
)

// modelFormat is that of the file of a model.
var modelFormat = strictjson.Format{
	Noun: "model", Name: "noisewright-model", Version: 1, MaxSize: 256 << 20, Err: proof.ErrFormat,
	MaxElements: map[string]int{
		"classes": maxClasses, "features": maxFeatures, "categories": maxCategories,
		"counts": maxClasses, "cells": maxCategories, "means": maxClasses, "variances": maxClasses,
		"coefficients": maxCategories, // of features, and of the categories of one
	},
}

type modelFile struct {
	Format     string      `json:"format"`
	Version    int         `json:"version"`
	Kind       string      `json:"kind"`
	Schema     Schema      `json:"schema"`
	Guarantee  *Guarantee  `json:"guarantee" strict:"null"`
	NaiveBayes *naiveBayes `json:"naive_bayes,omitempty"`
	Logistic   *logistic   `json:"logistic,omitempty"`
}

// Encode writes the model as ReadModel reads it.
func (m *Model) Encode(w io.Writer) error {
	f := modelFile{Format: modelFormat.Name, Version: modelFormat.Version, Schema: *m.Schema, Guarantee: m.Guarantee}
	m.put(&f)
	return strictjson.Encode(w, f)
}

// ReadModel reads a model from its file, format noisewright-model, version 1
// (docs/learn.md). What is read scores every record by finite numbers. The guarantee is what
// the file says: nothing in it can prove how it was learned.
//
// The error wraps proof.ErrFormat, or dp.ErrInvalid with all bad fields together.
func ReadModel(r io.Reader) (*Model, error) {
	var f modelFile
	if err := strictjson.Decode(r, modelFormat, &f); err != nil {
		return nil, err
	}
	if err := f.Schema.Validate(); err != nil {
		return nil, check.Errorf("learn", nil, "schema: %w", err)
	}
	bad := check.In("learn")
	bad.If(f.Schema.Draft, "schema.draft", true, "none: nothing is learned by a draft")
	f.Guarantee.validate(bad)
	m := &Model{Schema: &f.Schema, Guarantee: f.Guarantee}
	switch {
	case f.Kind == kindNaiveBayes && f.NaiveBayes != nil && f.Logistic == nil:
		m.classifier = f.NaiveBayes
		m.validate(m.Schema, bad)
	case f.Kind == kindLogistic && f.Logistic != nil && f.NaiveBayes == nil:
		m.classifier = f.Logistic
		m.validate(m.Schema, bad)
	default:
		bad.Bad("kind", check.Quoted(check.Shortened(f.Kind)), kindNaiveBayes+" or "+kindLogistic+", with its parameters and no others")
	}
	if err := bad.Err(); err != nil {
		return nil, err
	}
	return m, nil
}

func (g *Guarantee) validate(bad *check.List) {
	if g == nil {
		return
	}
	budget := Budget{g.Epsilon, g.Delta, g.Neighbors}
	if budget.Epsilon == 0 { // proved of noise for which delta alone is enough
		budget.Epsilon = limits.LearnEpsilon
	}
	if err := budget.Validate(); err != nil {
		bad.Add(check.Errorf("learn", nil, "guarantee: %w", err))
	}
	odd := strings.ContainsFunc(g.Noise, func(r rune) bool { return !unicode.IsPrint(r) })
	bad.If(odd || check.Shortened(g.Noise) != g.Noise, "guarantee.noise", check.Quoted(check.Shortened(g.Noise)), "a few words")
	bad.If(g.Releases < 1, "guarantee.releases", g.Releases, "at least 1")
	numbers(bad, "guarantee.deviation", []float64{g.Deviation}, 1, 0, maxParameter)
}

// Parameters of models are within maxParameter, and variances and cells not below
// minParameter, so that scores are finite.
const (
	maxParameter = 1e30
	minParameter = 1e-30
)

const asMany = "%d of them, as the schema says"

// numbers wants so many numbers within bounds.
func numbers(bad *check.List, field string, list []float64, n int, lower, upper float64) {
	bad.Want(len(list) == n, field, len(list), asMany, n)
	for _, x := range list {
		if !(x >= lower && x <= upper) {
			bad.Badf(field, x, "a number from %g to %g", lower, upper)
			return
		}
	}
}

func (m *naiveBayes) put(f *modelFile) { f.Kind, f.NaiveBayes = kindNaiveBayes, m }

func (m *naiveBayes) validate(s *Schema, bad *check.List) {
	classes := len(s.Classes)
	numbers(bad, "counts", m.Counts, classes, minParameter, maxParameter)
	if len(m.Features) != len(s.Features) {
		bad.Badf("naive_bayes.features", len(m.Features), asMany, len(s.Features))
		return
	}
	for j, x := range m.Features {
		field := fmt.Sprintf("naive_bayes.features[%d]", j)
		if s.Features[j].Numeric() {
			bad.If(x.Cells != nil, field+".cells", len(x.Cells), "none of a numeric feature")
			numbers(bad, field+".means", x.Means, classes, -1, 1)
			numbers(bad, field+".variances", x.Variances, classes, minParameter, maxParameter)
		} else {
			bad.If(x.Means != nil || x.Variances != nil, field+".means", len(x.Means), "none of a categorical feature")
			bad.Want(len(x.Cells) == classes, field+".cells", len(x.Cells), asMany, classes)
			for c, cells := range x.Cells {
				numbers(bad, fmt.Sprintf("%s.cells[%d]", field, c), cells, len(s.Features[j].Categories), minParameter, maxParameter)
			}
		}
	}
}
