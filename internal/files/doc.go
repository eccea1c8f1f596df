// SPDX-License-Identifier: Apache-2.0

// Package files writes files and directories that appear whole or not at all: under another name
// beside their own, renamed at the end. What a killed writer left there is removed by the next one.
//
// It opens regular files to read without waiting for what may never come: a pipe in the place
// of a file hangs whoever opens it. And it reads and writes arrays of float64s in NumPy's
// format, .npy (NEP 1, R. Kern, 2007): a magic string, the version, the length of the header
// and the header, the text of a Python dictionary; then the numbers.
package files
