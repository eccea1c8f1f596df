// SPDX-License-Identifier: Apache-2.0

package release

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

// Tables keep verified tables of noise: what was designed once is read, and proved again, the
// next time.
type Tables struct {
	// Design makes a table that there is none of yet; lp.Designer returns one. nil:
	// there are those of the Directory, and for several uses with delta above 0 noise
	// of the shapes of account.Calibrate.
	Design account.Designer
	// Directory holds the tables of earlier runs; it may be shared by several
	// processes. Empty: none.
	Directory string
	// Rejected, if set, is called for every file that cannot be read or written, or
	// is not what its name says. Nothing of it is used.
	Rejected func(error)
}

// Source returns what finds noise there, or makes it.
func (t Tables) Source() (Source, error) {
	if t.Rejected == nil {
		t.Rejected = func(error) {}
	}
	options := tables.StoreOptions{Directory: t.Directory, Rejected: t.Rejected}
	if t.Design != nil {
		options.Design = func(ctx context.Context, p dp.Problem) (*tables.Verified, error) {
			v, err := t.Design(ctx, p, 0)
			if v != nil && ctx.Err() == nil {
				return v, nil // proved, even if a limit ended the design
			}
			return nil, cmp.Or(err, ctx.Err())
		}
	}
	store, err := tables.NewStore(options)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	known := make(map[string]*tables.Verified) // of several uses, by path
	return func(ctx context.Context, p dp.Problem, uses int) (*tables.Verified, error) {
		if uses == 1 {
			return store.Get(ctx, p)
		}
		path := filepath.Join(t.Directory, fmt.Sprintf("uses-%d", uses), name(p))
		mu.Lock()
		defer mu.Unlock() // of several callers with one problem, one calibrates
		if known[path] == nil {
			v, err := t.calibrated(ctx, path, p, uses)
			if err != nil {
				return nil, err
			}
			known[path] = v
		}
		return known[path], nil
	}, nil
}

// calibrated finds noise for several uses.
func (t Tables) calibrated(ctx context.Context, path string, p dp.Problem, uses int) (*tables.Verified, error) {
	if t.Directory != "" {
		v, err := readCalibrated(ctx, path, p, uses)
		if err == nil {
			return v, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			t.Rejected(err)
		}
	}
	c, err := account.Calibrate(ctx, account.Target{Problem: p, Releases: uses}, t.Design, account.CalibrateOptions{})
	if err != nil {
		return nil, err
	}
	if t.Directory != "" {
		// As tables.NewStore makes directories.
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil { //nolint:gosec
			t.Rejected(err)
		} else if err := proof.WriteFile(path, c.Table.Mechanism()); err != nil {
			t.Rejected(err)
		}
	}
	return c.Table, nil
}

// name is that of the file of a problem.
func name(p dp.Problem) string {
	hash := sha256.Sum256(fmt.Appendf(nil, "%v %v %v %v %v", p.Epsilon, p.Delta, p.Sensitivity, p.Query, p.Loss.Name()))
	return fmt.Sprintf("%s-epsilon-%v-delta-%v-%x.json", p.Loss.Name(), p.Epsilon, p.Delta, hash[:6])
}

// readCalibrated reads a table and proves that it serves.
func readCalibrated(ctx context.Context, path string, p dp.Problem, uses int) (*tables.Verified, error) {
	t, err := proof.ReadFile(path, tables.Decode)
	if err != nil {
		return nil, err
	}
	v, err := proof.Verify(ctx, t, proof.Options{})
	if err != nil {
		return nil, check.Errorf("release", nil, "%s: %w", path, err)
	}
	own := t.Problem()
	total, _ := t.ClaimedTotal()
	if own.Sensitivity != p.Sensitivity || t.Query() != p.Query || own.Loss.Name() != p.Loss.Name() || !own.Constraints.None() ||
		total != (tables.Total{Releases: uses, Epsilon: p.Epsilon, Delta: p.Delta}) {
		return nil, check.Errorf("release", nil, "%s is about another problem than its name says", path)
	}
	if _, err := account.ProveTotal(v); err != nil {
		return nil, check.Errorf("release", nil, "%s: %w", path, err)
	}
	return v, nil
}
