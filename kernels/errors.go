package kernels

import (
	"errors"

	"github.com/noisewright/noisewright/proof"
)

// Sentinel errors, checked with errors.Is.
var (
	// ErrFormat marks a file that is not a kernel.
	ErrFormat = errors.New("malformed kernel file")
	// ErrNotPrivate marks a kernel that does not keep its privacy promise. It is
	// also tables.ErrNotPrivate.
	ErrNotPrivate = proof.ErrNotPrivate
	// ErrFalseClaim marks a kernel whose stated loss, bound or cap does not hold.
	// It is also tables.ErrFalseClaim.
	ErrFalseClaim = proof.ErrFalseClaim
	// ErrWork marks a kernel that was not checked, because that takes more work than was
	// allowed. It is also tables.ErrWork.
	ErrWork = proof.ErrWork
)
