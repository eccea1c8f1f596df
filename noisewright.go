// SPDX-License-Identifier: Apache-2.0

// Package noisewright designs noise for differential privacy, proves it and draws
// from it. Most users need this package alone: [Release] a statistic of a data set, or
// [Design] noise for one release of a query, or [Calibrate] it for several, or [Load] a
// table designed before, and draw from it with [NewSampler].
//
// A problem is stated once, answered once and proved once, and only what was proved
// can be drawn from. Beyond the front door:
//
//   - dp and loss state problems: privacy, queries and constraints, and what an
//     error costs. Parse of loss reads losses as the program writes them.
//   - lp designs with options (the gap, limits, another solver), sweeps over deltas,
//     trade-offs between two losses, kernels (noise that depends on the value), and
//     local randomizers of one bounded value.
//   - tables, kernels and local hold what was designed with its proof, as values and
//     files. Table.Interval says where the true value behind a released one may be.
//   - sampler draws: AddNoise, exact, with cryptographic randomness.
//   - release has the parts of Release, and release/ledger records what releases cost
//     and refuses to exceed a total.
//   - account bounds the privacy loss of several releases.
//   - latent designs private encoders of feature vectors; latent/bundle is what a
//     device needs of one.
//   - noise and tables/shapes hold classical mechanisms, to compare with and as
//     proved tables.
//
// On a device import tables, proof and sampler (proof.ReadFile, Table.Verify, sampler.NewNoise),
// or latent/bundle for feature vectors: they and what they import use the standard
// library and golang.org/x/sys/cpu only. This package has the LP solver if it is built with
// the tag highs and cgo, or highswasm, and designs tables of every kind without it.
package noisewright

import (
	"context"
	"sync"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/lp/highs"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/release"
	"github.com/noisewright/noisewright/sampler"
	"github.com/noisewright/noisewright/tables"
)

// What a program of this package names, in one import.
type (
	// Problem says which noise is wanted.
	Problem = dp.Problem
	// Privacy is epsilon, delta and the sensitivity of the query, in its units.
	Privacy = dp.Privacy
	// Verified is a table of noise that was proved to keep its promise.
	Verified = tables.Verified
	// Sampler adds noise to values.
	Sampler = sampler.Noise
	// Query says what is asked of a data set.
	Query = release.Query
	// Answer is what is published.
	Answer = release.Answer
)

// The usual losses; package loss has others.
var (
	L1 loss.Loss = loss.L1 // |x|, the absolute error
	L2 loss.Loss = loss.L2 // x², the squared error
)

// Design returns the additive noise with the smallest expected loss for one release: at most 0.1 %
// above that of any that keeps the problem's promise and constraints, as its certificate proves.
//
// A context that ends stops the design. The best noise found so far is then returned beside an
// error that wraps lp.ErrLimit: proved, and usable, but its Bounds().Gap() is larger. Other errors
// come without a table and wrap dp.ErrInvalid for a bad problem, lp.ErrInfeasible for constraints
// that cannot be kept together. It takes milliseconds to seconds.
func Design(ctx context.Context, p Problem) (*Verified, error) { return design(ctx, p, 0) }

var design = lp.Designer(lp.Options{NewSolver: highs.New})

// Calibrate returns the noise of a single release such that so many releases about the same people,
// each with fresh noise, keep the privacy of the problem together. For few releases that is
// designed noise; for many it has a shape between Laplace and Gaussian noise. See
// account.Calibrate, which also tells what it costs. Errors are those of Design.
func Calibrate(ctx context.Context, p Problem, releases int) (*Verified, error) {
	c, err := account.Calibrate(ctx, account.Target{Problem: p, Releases: releases}, design, account.CalibrateOptions{})
	if err != nil {
		return nil, err
	}
	return c.Table, c.Limit
}

// Save writes the table to a file, which appears whole or not at all. What is there is replaced.
func Save(path string, v *Verified) error {
	if v == nil || v.Mechanism() == nil {
		return check.Field("noisewright", "table", "none", "a verified one")
	}
	return proof.WriteFile(path, v.Mechanism())
}

// Load reads a table from a regular file and proves it again. The error wraps
// proof.ErrNotPrivate or proof.ErrFalseClaim if the proof fails, proof.ErrWork if it
// would take more than the default work, of which proof.Verify can allow more,
// proof.ErrFormat or dp.ErrInvalid if the file is no table, or is that of the file system.
func Load(path string) (*Verified, error) {
	t, err := proof.ReadFile(path, tables.Decode)
	if err != nil {
		return nil, err
	}
	return t.Verify()
}

// NewSampler returns a sampler of the noise, seeded by the system. It is for one
// goroutine; Fork makes more. sampler.NewNoise has options.
//
// Guarantee (docs/proofs/sampling.md, rounding.md): AddNoise is as private as the table promises.
func NewSampler(v *Verified) (*Sampler, error) { return sampler.NewNoise(v, sampler.Options{}) }

// Release answers a query about data with the best proven noise: a "count", "sum", "mean",
// "histogram" or "quantile" of rows, or a "value" that was computed elsewhere. The data are
// rows as a slice or an iterator of structs or numbers, or a CSV file, or the number;
// release.ReadData says which values they may have.
//
// The ledger, a *ledger.Ledger of package release/ledger, is charged before the answer exists,
// refuses what would exceed its total, and gives the same answer to the same query about the
// same data again at no cost. nil is none: nothing then adds up what releases cost.
//
// Guarantee: an answer is (q.Epsilon, q.Delta)-private for the query's units and neighbors, and
// all answers of a ledger together keep its total.
//
// Bounds, keys and conditions are public, and must not be chosen in view of the data. Rows that
// are malformed, undecided or without a number do not count, and nothing tells so: errors are
// those of release.Release, and not about single rows.
func Release(ctx context.Context, l account.Ledger, data any, q Query) (*Answer, error) {
	source, err := noise()
	if err != nil {
		return nil, err
	}
	return release.Release(ctx, l, data, q, source)
}

// noise keeps, while the process lives, what it designed for releases.
var noise = sync.OnceValues(func() (release.Source, error) {
	return release.Tables{Design: design}.Source()
})
