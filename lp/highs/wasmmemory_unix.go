//go:build highswasm && unix

package highs

import (
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
