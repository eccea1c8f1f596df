package shell

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/lp"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

// LatentFailure is the failure of a latent command.
func LatentFailure(err error) error {
	var f *Failure
	switch {
	case errors.As(err, &f):
		return err
	case errors.Is(err, proof.ErrNotPrivate):
		return Negative("", err)
	case errors.Is(err, proof.ErrWork):
		return BadInput("noisewright latent verify --time-limit 10m checks it", err)
	case errors.Is(err, dp.ErrInvalid), errors.Is(err, proof.ErrFormat), errors.Is(err, fs.ErrExist):
		return BadInput("", err)
	}
	return err
}

// NewStore returns the tables of a cache, which designs those that are not there: a
// directory, that of the user for "", none for "-".
func NewStore(a *Streams, cache string, o lp.Options) (*tables.Store, error) {
	options := tables.StoreOptions{
		Directory: CacheDirectory(cache, "curve", o),
		Name: func(p dp.Problem) string {
			name := fmt.Sprintf("%s-epsilon-%v-delta-%v", p.Loss.Name(), p.Epsilon, p.Delta)
			if p.Sensitivity != 1 {
				name += fmt.Sprintf("-sensitivity-%v", p.Sensitivity)
			}
			return name + ".json"
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
	return store, nil
}
