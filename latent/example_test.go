// SPDX-License-Identifier: Apache-2.0

package latent_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"gonum.org/v1/gonum/mat"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/latent"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/sampler"
	"github.com/noisewright/noisewright/tables"
)

// designEncoder makes an encoder for a task and writes it to dir/bundle; designed tables of
// noise are kept in dir/tables for the next design.
func designEncoder(ctx context.Context, dir string, data, task *mat.Dense) error {
	store, err := tables.NewStore(tables.StoreOptions{
		Directory: filepath.Join(dir, "tables"), // keeps designed tables for the next design
		Design: func(ctx context.Context, p dp.Problem) (*tables.Verified, error) {
			r, err := lp.Design(ctx, p, lp.Options{Gap: 0.005})
			if err != nil {
				return nil, err
			}
			return r.Verified, nil // verified
		},
	})
	if err != nil {
		return err
	}
	r, err := latent.Design(ctx, latent.Problem{
		Features: []string{"steps", "minutes", "pulse", "sleep"},
		Data:     data, // *mat.Dense, a row per person, public
		Task:     task, // *mat.Dense, nil for all features alike
		Promise:  bundle.Promise{Epsilon: 5, Delta: 1e-6},
		Domain:   bundle.Box, Clip: 0.7, // or what BestClip finds
	}, latent.Options{Store: store})
	if err != nil {
		return err
	}
	b, err := r.Bundle(r.Best("")) // verified; Best(noise.Laplace) is the best of a kind
	if err != nil {
		return err
	}
	return b.Write(filepath.Join(dir, "bundle"), true)
}

// releaseVector is what a device does: it checks the encoder, adds noise to one vector of
// features, and what it returns may be decoded by anyone.
func releaseVector(dir string, features []float64) (decoded []float64, err error) {
	b, err := bundle.Read(filepath.Join(dir, "bundle")) // or bundle.ReadFS, for an embedded one
	if err != nil {
		return nil, err
	}
	proof, err := b.Verify(nil) // refuses what it cannot prove
	if err != nil {
		return nil, err
	}
	p, err := proof.NewPrivatizer(sampler.Options{})
	if err != nil {
		return nil, err
	}
	private, err := p.Privatize(nil, features) // may leave the device
	if err != nil {
		return nil, err
	}
	return b.Decode(nil, private) // anywhere, by anyone
}

// A private encoder of feature vectors is designed on public data, kept in a directory, and used
// as a device would: what a device needs is the function releaseVector. The second design finds
// its tables of noise in the directory.
func Example() {
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // public data, made up
	data := mat.NewDense(500, 4, nil)
	for i := range 500 {
		active := rng.NormFloat64()
		data.SetRow(i, []float64{
			6000 + 2000*active + 500*rng.NormFloat64(), 40 + 15*active + 5*rng.NormFloat64(),
			70 - 5*active + 4*rng.NormFloat64(), 7 + rng.NormFloat64(),
		})
	}
	task := mat.NewDense(1, 4, []float64{0, 1, 0, 0}) // the minutes
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	for range 2 {
		if err := designEncoder(context.Background(), dir, data, task); err != nil {
			log.Fatal(err)
		}
		decoded, err := releaseVector(dir, []float64{7500, 52, 66, 6.5})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(len(decoded), "features decoded, near those of the data:", math.Abs(decoded[1]) < 1e6)
	}
	// Output:
	// 4 features decoded, near those of the data: true
	// 4 features decoded, near those of the data: true
}
