// SPDX-License-Identifier: Apache-2.0

//go:build unix

package ledger

import (
	"io/fs"
	"syscall"
)

func links(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink) //nolint:unconvert // of other widths on other systems
	}
	return 1
}
