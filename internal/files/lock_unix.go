// SPDX-License-Identifier: Apache-2.0

//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package files

import (
	"errors"
	"os"
	"syscall"
)

// locks says that there are locks that end with the process.
const locks = true

// lock locks f for this process, until it is closed, and reports whether another one has
// it locked. Where the file system knows no locks nobody has.
func lock(f *os.File) (taken bool) { return errors.Is(flock(f), syscall.EWOULDBLOCK) }

// acquired reports whether f could be locked and now is.
func acquired(f *os.File) bool { return flock(f) == nil }

func flock(f *os.File) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	failed := c.Control(func(fd uintptr) { err = syscall.Flock(int(fd), syscall.LOCK_EX|syscall.LOCK_NB) }) //nolint:gosec // a descriptor is an int
	return errors.Join(failed, err)
}
