// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package files

// nonblock is for systems with named pipes among the files.
const nonblock = 0
