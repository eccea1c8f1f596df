// SPDX-License-Identifier: Apache-2.0

// Package shell is what the commands of the program share: the standard streams and
// how failures are told on them, exit codes, flags read together, files that appear
// whole or not at all, the progress line, and the printing of results.
package shell
