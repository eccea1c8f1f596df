package tables

import (
	"errors"
)

// Sentinel errors, checked with errors.Is.
var (
	// ErrFormat marks a file that is not a table.
	ErrFormat = errors.New("malformed table file")
	// ErrNotPrivate marks a table that does not keep its privacy promise.
	ErrNotPrivate = errors.New("table is not private as claimed")
	// ErrFalseClaim marks a table whose stated loss or bound does not hold.
	ErrFalseClaim = errors.New("table makes a false claim")
)
