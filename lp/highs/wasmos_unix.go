//go:build highswasm && unix

package highs

import (
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

// trusted reports whether nobody but this user and root can change what is in the
// folder: they own it and all folders above it, and others may write to none of them.
// What is in a sticky folder, such as /tmp, only its owner can move away.
func trusted(dir string) bool {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil || !filepath.IsAbs(dir) {
		return false
	}
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err != nil || !info.IsDir() {
			return false
		}
		stat, is := info.Sys().(*syscall.Stat_t)
		if !is || stat.Uid != 0 && int(stat.Uid) != os.Geteuid() {
			return false
		}
		if info.Mode().Perm()&0o022 != 0 && (info.Mode()&fs.ModeSticky == 0 || at == dir) {
			return false
		}
		if at == filepath.Dir(at) {
			return true
		}
	}
}
