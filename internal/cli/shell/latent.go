package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/latent"
	"github.com/noisewright/noisewright/latent/bundle"
	"github.com/noisewright/noisewright/loss"
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
	case errors.Is(err, dp.ErrInvalid), errors.Is(err, bundle.ErrFormat), errors.Is(err, bundle.ErrExists), errors.Is(err, tables.ErrFormat):
		hint := ""
		if strings.Contains(err.Error(), "use a ridge") {
			hint = "--ridge 1e-6"
		}
		return BadInput(hint, err)
	}
	return err
}

// NewCurve returns designed noise with a cache of tables: a directory, that of the
// user for "", none for "-".
func NewCurve(a *Streams, cache string, o lp.Options) (*latent.Curve, error) {
	dir := cache
	switch dir {
	case "-":
		dir = ""
	case "":
		if user, err := os.UserCacheDir(); err == nil {
			dir = filepath.Join(user, "noisewright", "curve")
		}
	}
	if dir != "" {
		// One gap's tables are not another's.
		dir = filepath.Join(dir, fmt.Sprintf("gap-%g", o.Gap))
	}
	options := latent.CurveOptions{
		Directory: dir,
		Design: func(ctx context.Context, epsilon, delta float64) (*tables.Table, error) {
			r, _, err := Design(ctx, dp.Problem{
				Privacy: dp.Privacy{Epsilon: epsilon, Delta: delta, Sensitivity: 1}, Loss: loss.L2{}, Query: dp.RealQuery,
			}, o)
			if err != nil {
				return nil, err
			}
			return r.Table.Table(), nil
		},
		Rejected: func(path string, err error) { a.Warn("cache %s: %s", path, Sentence(err)) },
	}
	c, err := latent.NewCurve(options)
	if err != nil && cache == "" {
		options.Directory = "" // the user's own may not be writable
		return latent.NewCurve(options)
	}
	if err != nil {
		return nil, BadInput("", fmt.Errorf("cache = %s: %w", check.Quoted(cache), FileCause(err)))
	}
	return c, nil
}
