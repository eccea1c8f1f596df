//go:build !purego

package sampler

// hasAES reports whether the processor has the instructions aesKeystream uses:
// AES-NI and, for the byte reversal, SSSE3.
var hasAES = func() bool {
	const ssse3, aes = 1 << 9, 1 << 25
	return cpuid(1)&(ssse3|aes) == ssse3|aes
}()

// cpuid returns ECX of the CPUID leaf (sub-leaf 0).
//
//go:noescape
func cpuid(leaf uint32) (ecx uint32)

// aesExpand computes the round keys of AES-256.
//
//go:noescape
func aesExpand(schedule *[aesSchedule]byte, key *[keyBytes]byte)

// aesKeystream writes batches of aesBatch words: the encryptions of the
// big-endian 128-bit integers counter, counter+1, …, which is the keystream of
// counter mode with IV = counter. The integers stay below 2^64.
//
//go:noescape
func aesKeystream(dst *uint64, batches int, counter uint64, schedule *[aesSchedule]byte)
