package proof

import (
	"errors"

	"github.com/noisewright/noisewright/internal/formfile"
)

// Sentinel errors of every form of mechanism, checked with errors.Is.
var (
	// ErrFormat marks a file that is not of the form it is read as.
	ErrFormat = errors.New("malformed file")
	// ErrNotPrivate marks a mechanism that does not keep its privacy promise.
	ErrNotPrivate = errors.New("not private as claimed")
	// ErrFalseClaim marks a mechanism that states something else that does not hold.
	ErrFalseClaim = formfile.ErrFalseClaim
	// ErrWork marks a mechanism that was not checked, because that takes more work than was
	// allowed. It says nothing about whether it is sound.
	ErrWork = errors.New("not checked")
)
