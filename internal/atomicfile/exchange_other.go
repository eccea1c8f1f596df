//go:build !linux || !(amd64 || arm64)

package atomicfile

import "errors"

// exchange would swap two names in one step.
func exchange(string, string) error { return errors.ErrUnsupported }
