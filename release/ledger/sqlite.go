//go:build darwin || freebsd || linux || netbsd || openbsd || windows

package ledger

import (
	"errors"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// hasSQLite says that the driver is there for this system.
const hasSQLite = true

// isDamage reports whether SQLite says that the file is not what it should be.
func isDamage(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() & 0xff { // without what extends it
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR:
		return true
	}
	return false
}
