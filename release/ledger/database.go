// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/noisewright/noisewright/account"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/files"
	"github.com/noisewright/noisewright/proof"
)

const (
	applicationID = 0x4e574c31 // "NWL1", in the header of the file
	schemaVersion = 2          // in user_version; 1 has no delimiter and no one_line
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
	adaptive INTEGER NOT NULL CHECK (adaptive IN (0, 1)),
	delimiter TEXT NOT NULL,
	one_line INTEGER NOT NULL CHECK (one_line IN (0, 1))
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
func Create(ctx context.Context, path string, t account.Terms) error {
	if !available {
		return pathError(path, errNoSQLite)
	}
	if err := validate(&t); err != nil {
		return err
	}
	// What a deleted ledger left would be taken for this one's.
	for _, name := range []string{path, path + "-journal", path + "-wal"} {
		if _, err := os.Lstat(name); err == nil {
			return check.Errorf("ledger", os.ErrExist, "%s exists, want the name of a new file", name)
		}
	}
	text, err := content(ctx, t)
	if err != nil {
		return pathError(path, err)
	}
	f, err := files.New(path)
	if err != nil {
		return check.Errorf("ledger", nil, "%w", err)
	}
	defer f.Discard()
	if _, err = f.Write(text); err == nil {
		err = f.Commit()
	}
	if err != nil {
		return check.Errorf("ledger", nil, "%w", err)
	}
	return nil
}

// sweep removes the names under which a Create that was killed has left the ledger, and
// reports whether there were any.
func sweep(path string, info os.FileInfo) (swept bool) {
	names, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".tmp-*"))
	for _, name := range names {
		if other, err := os.Lstat(name); err == nil && os.SameFile(info, other) {
			swept = os.Remove(name) == nil || swept
		}
	}
	return swept
}

// content returns the bytes of a new ledger.
func content(ctx context.Context, t account.Terms) (text []byte, err error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	defer db.Close() //nolint:errcheck // its content was read
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close() //nolint:errcheck // as above
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d; %s", applicationID, schemaVersion, schema)); err != nil {
		return nil, err
	}
	if _, err := conn.ExecContext(ctx, "INSERT INTO terms VALUES (1, ?, ?, ?, ?, ?, ?, ?)", t.Epsilon, t.Delta, t.Neighbors, t.Unit, t.Adaptive, t.Delimiter, t.OneLine); err != nil {
		return nil, err
	}
	err = conn.Raw(func(c any) error {
		text, err = c.(interface{ Serialize() ([]byte, error) }).Serialize() //nolint:forcetypeassert // SQLite's
		return err
	})
	return text, err
}

// inspect reads what the database says about itself, before anything is asked of it.
func inspect(ctx context.Context, db *sql.DB) (version int64, err error) {
	var id int64
	if err := db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id); err != nil {
		return 0, damaged(ctx, err)
	}
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return 0, damaged(ctx, err)
	}
	if id != applicationID {
		return 0, check.Errorf("", proof.ErrFormat, "no ledger (application id %#x), want a file made by ledger create", id)
	}
	if version < 1 || version > schemaVersion {
		return 0, check.Errorf("", proof.ErrFormat, "ledger of version %d, want at most %d, the last that this program reads", version, schemaVersion)
	}
	var found string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&found); err != nil {
		return 0, damaged(ctx, err)
	}
	if found != "ok" {
		return 0, check.Errorf("", proof.ErrFormat, "damaged: %s", check.Shortened(found))
	}
	var mode string
	if err := db.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil {
		return 0, damaged(ctx, err)
	}
	if mode != "delete" {
		return 0, check.Errorf("", proof.ErrFormat, "journal_mode = %s, want delete", mode)
	}
	return version, nil
}
