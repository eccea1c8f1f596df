// SPDX-License-Identifier: Apache-2.0

//go:build (linux && (386 || amd64 || arm || arm64 || loong64 || ppc64le || riscv64 || s390x)) || (darwin && (amd64 || arm64)) || (windows && (386 || amd64 || arm64)) || (freebsd && (386 || amd64 || arm || arm64)) || (openbsd && (amd64 || arm64)) || (netbsd && amd64)

package ledger

import (
	"errors"
	"slices"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// available says that this system has the database.
const available = true

// wrongFile reports whether an error of the database says that the file is not what it should be.
func wrongFile(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && slices.Contains([]int{sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}, e.Code()&0xff) // without what extends it
}
