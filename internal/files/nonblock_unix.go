// SPDX-License-Identifier: Apache-2.0

//go:build unix

package files

import "syscall"

// nonblock makes opening a pipe return at once.
const nonblock = syscall.O_NONBLOCK
