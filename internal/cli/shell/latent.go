package shell

import (
	"context"
	"errors"
	"fmt"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/latent"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/tables"
)

// LatentFailure is the failure of a latent command.
func LatentFailure(err error) error {
	var f *Failure
	switch {
	case errors.As(err, &f):
		return err
	case errors.Is(err, bundle.ErrNotPrivate):
		return Negative("", err)
	case errors.Is(err, tables.ErrWork):
		return BadInput("noisewright latent verify --time-limit 10m checks it", err)
	case errors.Is(err, dp.ErrInvalid), errors.Is(err, bundle.ErrFormat), errors.Is(err, bundle.ErrExists), errors.Is(err, tables.ErrFormat):
		return BadInput("", err)
	}
	return err
}

// NewCurve returns designed noise with a cache of tables: a directory, that of the
// user for "", none for "-".
func NewCurve(a *Streams, cache string, o lp.Options) (*latent.Curve, error) {
	options := tables.StoreOptions{
		Directory: CacheDirectory(cache, "curve", o),
		Name: func(p dp.Problem) string {
			return fmt.Sprintf("%s-epsilon-%v-delta-%v.json", p.Loss.Name(), p.Epsilon, p.Delta)
		},
		Design: func(ctx context.Context, p dp.Problem) (*tables.Verified, error) {
			r, _, err := Design(ctx, p, o)
			if err != nil {
				return nil, err
			}
			return r.Table, nil
		},
		Rejected: func(err error) { a.Warn("cache %s", Sentence(err)) },
	}
	store, err := tables.NewStore(options)
	if err != nil && cache == "" {
		options.Directory = "" // the user's own may not be writable
		store, err = tables.NewStore(options)
	}
	if err != nil {
		return nil, BadInput("", fmt.Errorf("cache = %s: %w", check.Quoted(cache), FileCause(err)))
	}
	return latent.NewCurve(store), nil
}
