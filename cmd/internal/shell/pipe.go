// SPDX-License-Identifier: Apache-2.0

//go:build !js && !wasip1 && !plan9

package shell

import (
	"os/signal"
	"syscall"
)

// ignoreBrokenPipes makes a closed pipe an error of the write, so that files are removed.
func ignoreBrokenPipes() { signal.Ignore(syscall.SIGPIPE) }
