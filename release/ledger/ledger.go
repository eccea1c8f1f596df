// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/files"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

// Ledger is an open ledger. It is safe for concurrent use, by several processes too.
type Ledger struct {
	path   string
	db     *sql.DB
	terms  account.Terms
	budget *account.Budget // without charges, which are in db

	mu     sync.Mutex
	tables map[string]*tables.Verified // of the ledger, by hash
	first  map[string]*tables.Verified // by hash: the pointer that the budget knows a table by
}

// Open opens a ledger, which has to be a regular file, and checks its structure. It
// creates nothing. The caller closes the ledger.
//
// Errors name the path. They wrap proof.ErrFormat for a file that is no ledger, or a damaged
// one, or are those of the file system and of the context.
func Open(ctx context.Context, path string) (*Ledger, error) {
	if !available {
		return nil, pathError(path, errNoSQLite)
	}
	info, err := os.Stat(path)
	if err == nil && links(info) > 1 && sweep(path, info) {
		info, err = os.Stat(path)
	}
	switch {
	case err != nil:
		return nil, pathError(path, err)
	case !info.Mode().IsRegular():
		return nil, check.Errorf("ledger", proof.ErrFormat, "%s is not a regular file, want a ledger", path)
	case links(info) > 1:
		// The journal, which undoes a charge that a crash cut short, goes by the name.
		return nil, check.Errorf("ledger", proof.ErrFormat, "%s has another name, a hard link, want a ledger with one name", path)
	}
	db, err := connect(path)
	if err != nil {
		return nil, pathError(path, err)
	}
	l := &Ledger{path: path, db: db, tables: map[string]*tables.Verified{}, first: map[string]*tables.Verified{}}
	if err := l.read(ctx); err != nil {
		return nil, errors.Join(pathError(path, err), db.Close())
	}
	return l, nil
}

// errNoSQLite is about a system that the driver is not made for.
var errNoSQLite = fmt.Errorf("%w: ledgers need SQLite, which there is not for this system", errors.ErrUnsupported)

// read checks the database and reads the terms.
func (l *Ledger) read(ctx context.Context) error {
	version, err := inspect(ctx, l.db)
	if err != nil {
		return err
	}
	dialect := "delimiter, one_line"
	if version == 1 {
		dialect = "',', 0"
	}
	t := &l.terms
	row := l.db.QueryRowContext(ctx, "SELECT epsilon, delta, neighbors, unit, adaptive, "+dialect+" FROM terms")
	if err := row.Scan(&t.Epsilon, &t.Delta, &t.Neighbors, &t.Unit, &t.Adaptive, &t.Delimiter, &t.OneLine); err != nil {
		return damaged(ctx, err)
	}
	if err := validate(t); err != nil {
		return check.Errorf("", proof.ErrFormat, "terms: %w", err)
	}
	l.budget, err = account.NewBudget(dp.Budget{Epsilon: t.Epsilon, Delta: t.Delta}, t.Adaptive)
	return err
}

// Close closes the ledger. Calls under way end with an error.
func (l *Ledger) Close() error { return l.db.Close() }

// Terms returns what the ledger was made for.
func (l *Ledger) Terms() account.Terms { return l.terms }

// pathError puts the path in front of an error in place of what the error says of it.
func pathError(path string, err error) error {
	return check.Errorf("ledger", nil, "%s: %w", path, files.Cause(err))
}

// failed is the error of a statement on the ledger.
func (l *Ledger) failed(ctx context.Context, err error) error {
	return pathError(l.path, damaged(ctx, err))
}

// damaged marks the errors that say that the file is not what it should be.
func damaged(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if wrongFile(err) {
		return check.Errorf("", proof.ErrFormat, "no ledger or a damaged one: %w", err)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return check.Errorf("", proof.ErrFormat, "damaged: the terms are missing")
	}
	return err
}
