package cells

import (
	"errors"

	"github.com/noisewright/noisewright/proof"
)

// Sentinel errors, checked with errors.Is. All but the first are those of tables and
// kernels too.
var (
	// ErrFormat marks a file that is not an additive kernel.
	ErrFormat = errors.New("malformed additive kernel file")
	// ErrNotPrivate marks a kernel that does not keep its privacy promise.
	ErrNotPrivate = proof.ErrNotPrivate
	// ErrFalseClaim marks a kernel whose stated loss, bound or cap does not hold.
	ErrFalseClaim = proof.ErrFalseClaim
	// ErrWork marks a kernel that was not checked, because that takes more work than was
	// allowed.
	ErrWork = proof.ErrWork
)
