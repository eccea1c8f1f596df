// SPDX-License-Identifier: Apache-2.0

package learn_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/learn"
	"github.com/noisewright/noisewright/release"
)

const schemaFile = `{"format": "noisewright-schema", "version": 1, "target": "buys", "classes": ["no", "yes"],
	"features": [{"name": "age", "bounds": {"lower": 18, "upper": 100}}, {"name": "city", "categories": ["Jena", "Ulm"]}]}`

// A model of records by a public schema. What it costs is known before they are read.
func Example() {
	ctx := context.Background()
	file := strings.NewReader("age,city,buys\n34,Ulm,no\n71,Jena,yes\n45,Jena,no\n68,Ulm,yes\n")
	var out bytes.Buffer

	schema, err := learn.ReadSchema(strings.NewReader(schemaFile))
	if err != nil {
		log.Fatal(err)
	}
	budget := learn.Budget{Epsilon: 1, Delta: 1e-6, Neighbors: dp.AddRemove}
	noise, err := learn.NewNoise(ctx, "auto", budget, schema.NaiveBayesReleases(), learn.Options{})
	if err != nil {
		log.Fatal(err)
	}
	rows, err := release.NewCSV(file, ',')
	if err != nil {
		log.Fatal(err)
	}
	defer rows.Close()
	data, err := schema.Read(rows)
	if err != nil {
		log.Fatal(err)
	}
	releaser, err := noise.Releaser()
	if err != nil {
		log.Fatal(err)
	}
	model, err := data.FitNaiveBayes(releaser)
	if err != nil {
		log.Fatal(err)
	}
	if err := model.Encode(&out); err != nil {
		log.Fatal(err)
	}
	g := model.Guarantee
	fmt.Printf("%d releases, epsilon at most %v, delta %v: %v\n", g.Releases, budget.Epsilon, g.Delta, g.Epsilon <= budget.Epsilon)
	// Output:
	// 4 releases, epsilon at most 1, delta 1e-06: true
}

// Logistic regression by proximal coordinate descent makes a release for every step.
func ExampleLogisticOptions_Fit() {
	ctx := context.Background()
	schema, err := learn.ReadSchema(strings.NewReader(schemaFile))
	if err != nil {
		log.Fatal(err)
	}
	rows, err := release.NewCSV(strings.NewReader("age,city,buys\n34,Ulm,no\n71,Jena,yes\n45,Jena,no\n68,Ulm,yes\n"), ',')
	if err != nil {
		log.Fatal(err)
	}
	defer rows.Close()
	data, err := schema.Read(rows)
	if err != nil {
		log.Fatal(err)
	}
	options := learn.LogisticOptions{Rounds: 50}
	releases, err := options.Releases(schema)
	if err != nil {
		log.Fatal(err)
	}
	budget := learn.Budget{Epsilon: 1, Delta: 1e-6, Neighbors: dp.AddRemove}
	noise, err := learn.NewNoise(ctx, "gaussian", budget, releases, learn.Options{})
	if err != nil {
		log.Fatal(err)
	}
	releaser, err := noise.Releaser()
	if err != nil {
		log.Fatal(err)
	}
	if _, err := options.Fit(ctx, data, releaser); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d releases with %s noise\n", releases, releaser.Guarantee().Noise)
	// Output: 51 releases with gaussian noise
}
