package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/proof"
)

const (
	applicationID = 0x4e574c31 // "NWL1", in the header of the file
	schemaVersion = 1          // in user_version
)

// schema is what a ledger holds. Nothing is ever deleted, and nothing changed but a
// missing answer, which the triggers hold against other programs too.
const schema = `
CREATE TABLE terms (
	id INTEGER PRIMARY KEY CHECK (id = 1),
	epsilon REAL NOT NULL CHECK (epsilon > 0),
	delta REAL NOT NULL CHECK (delta >= 0 AND delta < 1),
	neighbors TEXT NOT NULL,
	unit TEXT NOT NULL,
	adaptive INTEGER NOT NULL CHECK (adaptive IN (0, 1))
) STRICT;
CREATE TABLE tables (
	sha256 TEXT PRIMARY KEY,
	text BLOB NOT NULL
) STRICT;
CREATE TABLE releases (
	id INTEGER PRIMARY KEY,
	text TEXT NOT NULL,
	data TEXT NOT NULL,
	summary TEXT NOT NULL,
	charged TEXT NOT NULL,
	answered TEXT,
	answer BLOB,
	UNIQUE (text, data),
	CHECK ((answer IS NULL) = (answered IS NULL))
) STRICT;
CREATE TABLE costs (
	release INTEGER NOT NULL REFERENCES releases,
	position INTEGER NOT NULL,
	table_sha256 TEXT REFERENCES tables,
	epsilon REAL,
	delta REAL,
	times INTEGER NOT NULL CHECK (times >= 1),
	PRIMARY KEY (release, position),
	CHECK ((table_sha256 IS NULL) = (epsilon IS NOT NULL) AND (epsilon IS NULL) = (delta IS NULL))
) STRICT, WITHOUT ROWID;
CREATE TRIGGER terms_stay BEFORE UPDATE ON terms BEGIN SELECT RAISE(ABORT, 'the terms of a ledger stay'); END;
CREATE TRIGGER terms_remain BEFORE DELETE ON terms BEGIN SELECT RAISE(ABORT, 'the terms of a ledger stay'); END;
CREATE TRIGGER tables_stay BEFORE UPDATE ON tables BEGIN SELECT RAISE(ABORT, 'tables charged stay'); END;
CREATE TRIGGER tables_remain BEFORE DELETE ON tables BEGIN SELECT RAISE(ABORT, 'tables charged stay'); END;
CREATE TRIGGER costs_stay BEFORE UPDATE ON costs BEGIN SELECT RAISE(ABORT, 'what is charged stays'); END;
CREATE TRIGGER costs_remain BEFORE DELETE ON costs BEGIN SELECT RAISE(ABORT, 'what is charged stays'); END;
CREATE TRIGGER releases_stay BEFORE UPDATE OF id, text, data, summary, charged ON releases BEGIN SELECT RAISE(ABORT, 'what is charged stays'); END;
CREATE TRIGGER answers_stay BEFORE UPDATE OF answer, answered ON releases WHEN OLD.answer IS NOT NULL BEGIN SELECT RAISE(ABORT, 'answers stay'); END;
CREATE TRIGGER releases_remain BEFORE DELETE ON releases BEGIN SELECT RAISE(ABORT, 'what is charged stays'); END;
`

// busyTimeout bounds the wait for other processes, each of which holds the ledger for
// about as long as it composes.
const busyTimeout = 5 * time.Minute

// connect opens the database of a path. It never makes a file.
//
// The rollback journal and synchronous=EXTRA make a commit durable when it returns, power
// cuts included: the journal is synced before the file, the file before the journal is
// deleted, and the directory after that. A write-ahead log would be faster for many
// writers, but needs shared memory and more files.
func connect(path string) (*sql.DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") { // a drive letter
		p = "/" + p
	}
	u := url.URL{Scheme: "file", Path: p, RawQuery: url.Values{
		"mode":          {"rw"},
		"_txlock":       {"immediate"},
		"_defensive":    {"1"},
		"_error_rc":     {"1"},
		"_busy_timeout": {fmt.Sprint(busyTimeout.Milliseconds())},
		"_foreign_keys": {"1"},
		"_synchronous":  {"EXTRA"},
		"_pragma":       {"trusted_schema(0)", "cell_size_check(1)", "mmap_size(0)"},
	}.Encode()}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return nil, err
	}
	// One connection: SQLite has one writer at a time anyway.
	db.SetMaxOpenConns(1)
	return db, nil
}

// Create makes the file of a new ledger, readable by its owner alone. A file that is there
// is refused.
//
// Errors wrap dp.ErrInvalid for bad terms, and fs.ErrExist, or are those of the file system.
func Create(ctx context.Context, path string, t Terms) (err error) {
	if !available {
		return pathError(path, errNoSQLite)
	}
	if err := validate(t); err != nil {
		return err
	}
	// What a deleted ledger left would be taken for this one's.
	for _, name := range []string{path, path + "-journal", path + "-wal"} {
		if _, err := os.Lstat(name); err == nil {
			return check.Errorf("ledger", os.ErrExist, "%s exists, want the name of a new file", name)
		}
	}
	// Made under another name, so that it appears whole or not at all.
	dir, err := os.MkdirTemp(filepath.Dir(path), "."+filepath.Base(path)+".tmp-*")
	if err != nil {
		return pathError(path, err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // nothing in it is needed
	name := filepath.Join(dir, "ledger")
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // beside what the caller names
	if err == nil {
		// Closed first: closing any descriptor of the file drops SQLite's locks.
		err = f.Close()
	}
	if err == nil {
		err = fill(ctx, name, t)
	}
	if err == nil {
		err = appear(name, path)
	}
	if err != nil {
		return pathError(path, err)
	}
	return nil
}

// sweep removes the names under which a Create that was killed has left the ledger, and
// reports whether there were any.
func sweep(path string, info os.FileInfo) (swept bool) {
	names, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".tmp-*"))
	for _, dir := range names {
		other, err := os.Lstat(filepath.Join(dir, "ledger"))
		if err == nil && os.SameFile(info, other) {
			swept = os.RemoveAll(dir) == nil || swept
		}
	}
	return swept
}

// appear moves a file to a name that is not taken. A link, unlike a rename, replaces nothing,
// even if another process makes a ledger of this name at the same time.
func appear(name, path string) error {
	err := os.Link(name, path)
	if err == nil || errors.Is(err, os.ErrExist) {
		return err
	}
	// A file system without hard links.
	if _, taken := os.Lstat(path); taken == nil {
		return os.ErrExist
	}
	return os.Rename(name, path)
}

// fill writes a new ledger into an empty file.
func fill(ctx context.Context, path string, t Terms) error {
	db, err := connect(path)
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // committed before
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // of what is not committed
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d; %s", applicationID, schemaVersion, schema)); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO terms VALUES (1, ?, ?, ?, ?, ?)", t.Epsilon, t.Delta, t.Neighbors, t.Unit, t.Adaptive); err != nil {
		return err
	}
	return tx.Commit()
}

// inspect reads what the database says about itself, before anything is asked of it.
func inspect(ctx context.Context, db *sql.DB) error {
	var id, version int64
	if err := db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id); err != nil {
		return damaged(ctx, err)
	}
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return damaged(ctx, err)
	}
	if id != applicationID {
		return check.Errorf("", proof.ErrFormat, "no ledger (application id %#x), want a file made by ledger create", id)
	}
	if version != schemaVersion {
		return check.Errorf("", proof.ErrFormat, "ledger of version %d, want version %d, the one this program reads", version, schemaVersion)
	}
	var found string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&found); err != nil {
		return damaged(ctx, err)
	}
	if found != "ok" {
		return check.Errorf("", proof.ErrFormat, "damaged: %s", check.Shortened(found))
	}
	var mode string
	if err := db.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil {
		return damaged(ctx, err)
	}
	if mode != "delete" {
		return check.Errorf("", proof.ErrFormat, "journal_mode = %s, want delete", mode)
	}
	return nil
}
