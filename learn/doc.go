// SPDX-License-Identifier: Apache-2.0

// Package learn trains classifiers in the central model of differential privacy: one party
// holds the records, and publishes a model that hides whether any one of them was there.
//
// A [Schema] is what is public: the classes, the categories and the bounds of the features.
// [Schema.Read] encodes records by it. A [Budget] is the total that a model may cost. [NewNoise]
// finds noise for so many releases of that total and proves what they compose to; a
// [Releaser] adds it, once for each release, and refuses more of them. A model is made of
// releases alone:
//
//	noise, err := learn.NewNoise(ctx, "auto", budget, schema.NaiveBayesReleases(), options)
//	data, err := schema.Read(rows)                 // exact, and secret
//	releaser, err := noise.Releaser()
//	model, err := data.FitNaiveBayes(releaser) // private
//
// [LogisticOptions.Fit] is another learner. docs/proofs/learn.md says why the guarantee holds,
// docs/learn.md how to use it.
package learn
