package local

import (
	"errors"

	"github.com/noisewright/noisewright/proof"
)

// Sentinel errors, checked with errors.Is.
var (
	// ErrFormat marks a file that is not a randomizer.
	ErrFormat = errors.New("malformed randomizer file")
	// ErrNotPrivate marks a randomizer that does not keep its privacy promise. It is
	// also tables.ErrNotPrivate.
	ErrNotPrivate = proof.ErrNotPrivate
	// ErrFalseClaim marks a randomizer whose stated loss, bias, bound or cap does not hold.
	// It is also tables.ErrFalseClaim.
	ErrFalseClaim = proof.ErrFalseClaim
	// ErrWork marks a randomizer that was not checked, because that takes more work than
	// was allowed. It is also tables.ErrWork.
	ErrWork = proof.ErrWork
)
