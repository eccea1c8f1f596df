// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/proof"
)

// StoreOptions say where the tables of a Store come from. The functions must be safe
// for concurrent use.
type StoreOptions struct {
	// Design makes a table for a problem that has none yet, and may be nil if no Get asks for one.
	Design func(ctx context.Context, p dp.Problem) (*Verified, error)
	// Directory holds the tables of earlier runs, a file each. It is made if it does not exist, and
	// may be shared by several processes. Empty: tables are kept in memory only.
	Directory string
	// Name returns the name of a problem's file in the directory. nil:
	// LOSS-epsilon-E-delta-D-sensitivity-S.json, with all digits, and with a hash
	// before the suffix where these do not tell the problem.
	Name func(p dp.Problem) string
	// Rejected, if set, is called with an error that names the file for every file that cannot
	// be read or written, is not about the problem of its name, claims what does not hold, or
	// takes more than the default work to verify. It is not used, and replaced by the next table.
	Rejected func(err error)
}

// Store keeps verified tables by the problem that they answer, in memory and in a directory. What
// is in a file is not used before it is verified. A Store is safe for concurrent use.
type Store struct {
	options StoreOptions
	mu      sync.Mutex
	known   map[string]*Verified // by key
	making  map[string]*making
}

// making is a table that a caller of Get is about to have, until done is closed.
type making struct {
	done  chan struct{}
	table *Verified
	err   error
}

// NewStore returns a Store. Errors are about making the directory.
func NewStore(o StoreOptions) (*Store, error) {
	if o.Directory != "" {
		// 0777 less the umask is what any program gives a directory the user asked for.
		if err := os.MkdirAll(o.Directory, 0o777); err != nil { //nolint:gosec
			return nil, check.Errorf("tables", nil, "directory for tables: %w", err)
		}
	}
	if o.Name == nil {
		o.Name = fileName
	}
	if o.Rejected == nil {
		o.Rejected = func(error) {}
	}
	return &Store{options: o, known: make(map[string]*Verified), making: make(map[string]*making)}, nil
}

// Get returns the table of a problem: from memory, from the directory or from Design,
// in this order, and keeps it in both. Of several callers with one problem one
// designs, and the others wait for it.
//
// Guarantee: the table's Problem is p, and it is verified.
//
// Errors wrap dp.ErrInvalid for no valid problem, or for one without a table if there is
// no Design; or they are those of Design and of the context.
func (s *Store) Get(ctx context.Context, p dp.Problem) (*Verified, error) {
	k, err := key(p)
	if err != nil {
		return nil, err
	}
	for {
		s.mu.Lock()
		if v := s.known[k]; v != nil {
			s.mu.Unlock()
			return v, nil
		}
		m, another := s.making[k]
		if !another {
			m = &making{done: make(chan struct{})}
			s.making[k] = m
		}
		s.mu.Unlock()
		if !another {
			return s.make(ctx, m, p, k)
		}
		select {
		case <-m.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		// Another caller's context is no reason to give up.
		if !errors.Is(m.err, context.Canceled) && !errors.Is(m.err, context.DeadlineExceeded) {
			return m.table, m.err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// make obtains a table for all who wait for it. It lets go of them whatever happens: the
// functions of the options may panic.
func (s *Store) make(ctx context.Context, m *making, p dp.Problem, k string) (*Verified, error) {
	m.err = check.Errorf("tables", nil, "the design of %s ended without a result", s.options.Name(p))
	defer func() {
		s.mu.Lock()
		delete(s.making, k) // after a failure the next one may have more luck
		s.mu.Unlock()
		close(m.done)
	}()
	m.table, m.err = s.obtain(ctx, p, k)
	return m.table, m.err
}

// obtain loads or designs a table.
func (s *Store) obtain(ctx context.Context, p dp.Problem, k string) (*Verified, error) {
	if v := s.load(ctx, p, k); v != nil {
		return v, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.options.Design == nil {
		return nil, check.Field("tables", "design", "none", "a function that makes "+s.options.Name(p))
	}
	v, err := s.options.Design(ctx, p)
	if err != nil {
		return nil, err
	}
	t := v.Mechanism()
	if t == nil {
		return nil, errNoTable()
	}
	if own, err := key(t.spec.Problem); err != nil || own != k {
		return nil, check.Errorf("tables", nil, "the designed table is about another problem, %+v, want %+v", t.spec.Privacy, p.Privacy)
	}
	if err := s.Keep(v); err != nil {
		s.options.Rejected(err)
	}
	return v, nil
}

// Load returns the table of a problem from memory or from the directory, nil if there is none.
func (s *Store) Load(p dp.Problem) *Verified {
	k, err := key(p)
	if err != nil {
		return nil
	}
	s.mu.Lock()
	v := s.known[k]
	s.mu.Unlock()
	if v == nil {
		v = s.load(context.Background(), p, k)
	}
	return v
}

// Keep stores a table under its Problem, in place of what was there. Errors are
// about its file; in memory it is kept in any case.
func (s *Store) Keep(v *Verified) error {
	t := v.Mechanism()
	if t == nil {
		return errNoTable()
	}
	p := t.spec.Problem
	k, err := key(p)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.known[k] = v
	s.mu.Unlock()
	if s.options.Directory == "" {
		return nil
	}
	return proof.WriteFile(s.path(p), t)
}

func errNoTable() error { return check.Field("tables", "table", "none", "one that Verify has proved") }

func (s *Store) path(p dp.Problem) string {
	return filepath.Join(s.options.Directory, s.options.Name(p))
}

// load reads a table from the directory, trusts nothing in it, and keeps it in memory.
func (s *Store) load(ctx context.Context, p dp.Problem, k string) *Verified {
	if s.options.Directory == "" {
		return nil
	}
	v, err := read(ctx, s.path(p), k)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) && ctx.Err() == nil {
			s.options.Rejected(err)
		}
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if first := s.known[k]; first != nil { // another caller was faster
		return first
	}
	s.known[k] = v
	return v
}

// read reads and verifies a table about the problem with the key.
func read(ctx context.Context, path, k string) (*Verified, error) {
	t, err := proof.ReadFile(path, Decode)
	if err != nil {
		return nil, err
	}
	if own, err := key(t.spec.Problem); err != nil || own != k {
		return nil, check.Errorf("tables", dp.ErrInvalid, "%s is about another problem than its name says", path)
	}
	v, err := proof.Verify(ctx, t, proof.Options{})
	if err != nil {
		return nil, check.Errorf("tables", nil, "%s: %w", path, err)
	}
	return v, nil
}

// key returns a text that is the same for the same problem only.
func key(p dp.Problem) (string, error) {
	if err := p.Validate(); err != nil {
		return "", check.Errorf("tables", nil, "%w", err)
	}
	if p.Query == "" {
		p.Query = dp.RealQuery
	}
	constraints, err := json.Marshal(p.Constraints) // as they are in files
	if err != nil {
		return "", check.Errorf("tables", dp.ErrInvalid, "constraints: %w", err)
	}
	// Floats are printed with all their digits, and no name of a loss holds a line end.
	return fmt.Sprintf("%s\n%v %v %v\n%s %v\n%s", p.Loss.Name(), p.Epsilon, p.Delta, p.Sensitivity, p.Query, p.Step, constraints), nil
}

// fileName is the Name of StoreOptions if there is none.
func fileName(p dp.Problem) string {
	loss := p.Loss.Name()
	word := loss[:strings.IndexFunc(loss+".", func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })]
	name := fmt.Sprintf("%s-epsilon-%v-delta-%v-sensitivity-%v", word, p.Epsilon, p.Delta, p.Sensitivity)
	if word != loss || !(p.Query == "" || p.Query == dp.RealQuery) || !p.Constraints.None() {
		k, _ := key(p)
		hash := sha256.Sum256([]byte(k))
		name += fmt.Sprintf("-%x", hash[:6])
	}
	return name + ".json"
}
