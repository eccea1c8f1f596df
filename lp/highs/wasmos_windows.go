// SPDX-License-Identifier: Apache-2.0

//go:build highswasm

package highs

import (
	"unsafe"

	"github.com/tetratelabs/wazero/experimental"
	"golang.org/x/sys/windows"
)

// memory is what it is on Unix.
type memory struct {
	start uintptr
	most  uint64
}

func reserve(_, most uint64) experimental.LinearMemory {
	start, err := windows.VirtualAlloc(0, uintptr(most), windows.MEM_RESERVE, windows.PAGE_NOACCESS)
	if err != nil {
		panic(err)
	}
	return &memory{start, most}
}

// Reallocate makes the first size bytes usable.
func (m *memory) Reallocate(size uint64) []byte {
	if size > m.most {
		return nil
	}
	if _, err := windows.VirtualAlloc(m.start, uintptr(size), windows.MEM_COMMIT, windows.PAGE_READWRITE); err != nil {
		return nil
	}
	// The address is not one of Go's: the collector neither moves nor frees it.
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&m.start)), size)
}

// Free gives the addresses back.
func (m *memory) Free() { _ = windows.VirtualFree(m.start, 0, windows.MEM_RELEASE) }

// trusted: the cache directory of a user is closed to others by Windows' defaults.
func trusted(string) bool { return true }
