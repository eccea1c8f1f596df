//go:build js || wasip1 || plan9

package cli

// ignoreBrokenPipes has nothing to do where there is no such signal.
func ignoreBrokenPipes() {}
