// SPDX-License-Identifier: Apache-2.0

package tables_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/loss"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/sampler"
	"github.com/noisewright/noisewright/tables"
)

// coordinate is one feature: the range [-clip, clip] it is clipped to, and its
// share of the privacy budget.
type coordinate struct {
	clip, epsilon, delta float64
}

// coordinates are the features of encode. Replacing a person's record by any other may change all
// of them at once, each by at most 2·clip. By basic composition a released vector is therefore
// (ε, δ)-differentially private with ε = 0.5 + 0.25 + 0.25 and δ = 3·10⁻⁶. A second vector of the
// same person costs as much again.
var coordinates = []coordinate{
	{clip: 4, epsilon: 0.5, delta: 1e-6},
	{clip: 2, epsilon: 0.25, delta: 1e-6},
	{clip: 0.5, epsilon: 0.25, delta: 1e-6},
}

// encode stands for your own encoder.
func encode(record string) []float64 {
	n := float64(len(record))
	return []float64{n / 4, n - 10, 1 / (1 + n)}
}

// releaser adds noise to feature vectors. It is not safe for concurrent use:
// give each goroutine one of its own, with samplers made by Fork.
type releaser struct {
	coordinates []coordinate
	tables      []*tables.Verified
	samplers    []*sampler.Noise
}

// newReleaser takes the tables of the coordinates from the directory, and designs and
// keeps those that are not there yet.
func newReleaser(ctx context.Context, dir string, coordinates []coordinate) (*releaser, error) {
	store, err := tables.NewStore(tables.StoreOptions{Directory: dir, Design: design})
	if err != nil {
		return nil, err
	}
	r := &releaser{coordinates: coordinates}
	for i, c := range coordinates {
		table, err := store.Get(ctx, dp.Problem{
			Privacy: dp.Privacy{Epsilon: c.epsilon, Delta: c.delta, Sensitivity: 2 * c.clip}, Loss: loss.L2,
		})
		if err != nil {
			return nil, fmt.Errorf("coordinate %d: %w", i, err)
		}
		s, err := sampler.NewNoise(table, sampler.Options{})
		if err != nil {
			return nil, err
		}
		r.tables, r.samplers = append(r.tables, table), append(r.samplers, s)
	}
	return r, nil
}

// design finds noise with nearly the least mean squared error. A design that stopped
// at the time limit is proven too, only a little further from the optimum.
func design(ctx context.Context, p dp.Problem) (*tables.Verified, error) {
	result, err := lp.Design(ctx, p, lp.Options{TimeLimit: time.Minute})
	if err != nil && !(errors.Is(err, lp.ErrLimit) && result != nil) {
		return nil, err
	}
	return result.Verified, nil
}

// release returns the features, clipped, with noise. On error it returns none of them.
func (r *releaser) release(features []float64) ([]float64, error) {
	if len(features) != len(r.samplers) {
		return nil, fmt.Errorf("%d features, want %d", len(features), len(r.samplers))
	}
	private := make([]float64, len(features))
	for i, x := range features {
		clip := r.coordinates[i].clip
		y, err := r.samplers[i].AddNoise(max(-clip, min(x, clip)))
		if err != nil {
			return nil, fmt.Errorf("feature %d: %w", i, err)
		}
		private[i] = y
	}
	return private, nil
}

// The feature vectors of an encoder become private: one table of noise per coordinate is designed,
// once, and a draw of each is added to every vector that is released. The tables are kept in a
// directory, which is made if it is missing: later programs find them there.
func ExampleNewStore() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	r, err := newReleaser(context.Background(), dir, coordinates)
	if err != nil {
		log.Fatal(err)
	}
	for i, t := range r.tables {
		c := t.Certificate()
		variance, _ := c.ExpectedLoss.Float64()
		gap, _ := c.Bounds().Gap()
		fmt.Printf("coordinate %d: noise of variance about %.2g, proven to be near the least possible: %v\n", i, variance, gap < 0.02)
	}
	private, err := r.release(encode("a record"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(private), "private features")
	// Output:
	// coordinate 0: noise of variance about 5.1e+02, proven to be near the least possible: true
	// coordinate 1: noise of variance about 5.1e+02, proven to be near the least possible: true
	// coordinate 2: noise of variance about 32, proven to be near the least possible: true
	// 3 private features
}
