package tables

import (
	"errors"

	"github.com/noisewright/noisewright/internal/claims"
)

// Sentinel errors, checked with errors.Is.
var (
	// ErrFormat marks a file that is not a table.
	ErrFormat = errors.New("malformed table file")
	// ErrNotPrivate marks a table, or a kernel, that does not keep its privacy
	// promise.
	ErrNotPrivate = claims.ErrNotPrivate
	// ErrFalseClaim marks a table, or a kernel, whose stated loss or bound does
	// not hold.
	ErrFalseClaim = claims.ErrFalseClaim
)
