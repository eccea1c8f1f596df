//go:build !js && !wasip1 && !plan9

package shell

import (
	"os/signal"
	"syscall"
)

// ignoreBrokenPipes makes a closed pipe an error of the write, after which temporary
// files are removed, and not the end of the process.
func ignoreBrokenPipes() { signal.Ignore(syscall.SIGPIPE) }
