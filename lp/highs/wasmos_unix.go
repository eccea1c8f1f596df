// SPDX-License-Identifier: Apache-2.0

//go:build highswasm && unix

package highs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/tetratelabs/wazero/experimental"
)

// memory is the memory of a model: addresses for all that the module may ask for,
// of which only what it has asked for is there. Go's own memory would be copied whenever
// it grows, which takes longer than many a solve.
type memory struct{ all []byte }

func reserve(_, most uint64) experimental.LinearMemory {
	all, err := syscall.Mmap(-1, 0, int(most), syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		panic(err)
	}
	return &memory{all}
}

// Reallocate makes the first size bytes usable.
func (m *memory) Reallocate(size uint64) []byte {
	if size > uint64(len(m.all)) || syscall.Mprotect(m.all[:size], syscall.PROT_READ|syscall.PROT_WRITE) != nil {
		return nil
	}
	return m.all[:size]
}

// Free gives the addresses back.
func (m *memory) Free() {
	_ = syscall.Munmap(m.all)
	m.all = nil
}

// trusted reports whether nobody but this user and root can change what is in a folder, whose path
// has no symbolic links: they own it, all that is in it and all folders above it, and others may
// write to none of them. What is in a sticky folder, such as /tmp, only its owner can move away.
func trusted(dir string) bool {
	if !filepath.IsAbs(dir) {
		return false
	}
	for at := dir; at != filepath.Dir(at); {
		at = filepath.Dir(at)
		info, err := os.Lstat(at)
		if err != nil || !info.IsDir() || !(owned(info) && (closed(info) || info.Mode()&fs.ModeSticky != 0)) {
			return false
		}
	}
	info, err := os.Lstat(dir)
	return err == nil && info.IsDir() && filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil || !(info.IsDir() || info.Mode().IsRegular()) || !owned(info) || !closed(info) {
			return errors.Join(fs.ErrPermission, err)
		}
		return nil
	}) == nil
}

// owned reports whether a file is the user's or root's.
func owned(info fs.FileInfo) bool {
	stat, is := info.Sys().(*syscall.Stat_t)
	return is && (stat.Uid == 0 || int(stat.Uid) == os.Geteuid())
}

// closed reports whether others may not write to a file.
func closed(info fs.FileInfo) bool { return info.Mode().Perm()&0o022 == 0 }
