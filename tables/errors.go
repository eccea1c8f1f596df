package tables

import (
	"errors"

	"github.com/noisewright/noisewright/proof"
)

// Sentinel errors, checked with errors.Is.
var (
	// ErrFormat marks a file that is not a table.
	ErrFormat = errors.New("malformed table file")
	// ErrNotPrivate marks a table, or a kernel, that does not keep its privacy
	// promise.
	ErrNotPrivate = proof.ErrNotPrivate
	// ErrFalseClaim marks a table, or a kernel, whose stated loss or bound does
	// not hold.
	ErrFalseClaim = proof.ErrFalseClaim
	// ErrWork marks a table, or a kernel, that was not checked, because that takes more
	// work than was allowed. It says nothing about whether it is sound.
	ErrWork = proof.ErrWork
)
