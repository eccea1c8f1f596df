// SPDX-License-Identifier: Apache-2.0

//go:build !linux || !(amd64 || arm64)

package files

import "errors"

// exchange would swap two names in one step.
func exchange(string, string) error { return errors.ErrUnsupported }
