package noise

import (
	"errors"
)

// Sentinel errors, checked with errors.Is.
var (
	// ErrNotApplicable marks a mechanism that exists but cannot be used at
	// the given parameters; the error's text says why.
	ErrNotApplicable = errors.New("mechanism does not apply")
)
