// SPDX-License-Identifier: Apache-2.0

//go:build js || wasip1 || plan9

package shell

// ignoreBrokenPipes has nothing to do where there is no such signal.
func ignoreBrokenPipes() {}
