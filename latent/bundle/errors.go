package bundle

import (
	"errors"
)

// Sentinel errors, checked with errors.Is.
var (
	// ErrFormat marks files that are not a bundle.
	ErrFormat = errors.New("malformed bundle")
	// ErrNotPrivate marks a bundle whose promise is not proved.
	ErrNotPrivate = errors.New("bundle is not private as promised")
	// ErrExists marks a directory that is there already.
	ErrExists = errors.New("directory exists")
)
