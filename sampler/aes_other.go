//go:build !amd64 || purego

package sampler

// hasAES is false where this package has no AES of its own: the AES of the
// standard library cannot be given a new key without leaving the old one in
// memory, and without hardware support its timing depends on the key.
const hasAES = false

func aesExpand(*[aesSchedule]byte, *[keyBytes]byte) { panic("sampler: no AES") }

func aesKeystream(*uint64, int, uint64, *[aesSchedule]byte) { panic("sampler: no AES") }
