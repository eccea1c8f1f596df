// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package files

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

// exchange swaps two names in one step, see renameat2(2). The standard library has no
// name for it, and packages for devices import nothing else.
func exchange(a, b string) error {
	const (
		fromHere = -100 // AT_FDCWD
		swap     = 2    // RENAME_EXCHANGE
	)
	number := uintptr(316) // of the system call
	if runtime.GOARCH == "arm64" {
		number = 276
	}
	from, err := syscall.BytePtrFromString(a)
	if err != nil {
		return err
	}
	to, err := syscall.BytePtrFromString(b)
	if err != nil {
		return err
	}
	here := fromHere
	_, _, errno := syscall.Syscall6(number, uintptr(here), uintptr(unsafe.Pointer(from)), uintptr(here), uintptr(unsafe.Pointer(to)), swap, 0) //nolint:gosec // as syscall.Renameat does
	if errno != 0 {
		return &os.LinkError{Op: "exchange", Old: a, New: b, Err: errno}
	}
	return nil
}
