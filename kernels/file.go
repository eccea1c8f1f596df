package kernels

import "github.com/noisewright/noisewright/internal/claims"

// ReadFile is Decode for the file of the path. Errors name it, and may also be those
// of the file system.
func ReadFile(path string) (*Kernel, error) { return claims.ReadFile("kernels", path, Decode) }

// WriteFile writes the kernel to a file, which appears whole or not at all. What is
// there is replaced. Errors name the file and are those of the file system.
func WriteFile(path string, k *Kernel) error { return claims.WriteFile("kernels", path, k.Encode) }
