package shell

import (
	"bufio"
	"fmt"

	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/tables"
)

// ReadVerified reads a table file, "-" for standard input, and verifies it. A table that
// does not keep its claims is a negative verdict; other errors are of bad input. They
// name the file.
func (s *Streams) ReadVerified(path string) (*tables.Verified, error) {
	t, k, err := s.ReadEither(path)
	if err != nil {
		return nil, err
	}
	if k != nil {
		return nil, BadInput("", fmt.Errorf("%s is a kernel, want a table made by design", InputName(path)))
	}
	return VerifyTable(path, t)
}

// VerifyTable verifies a table.
func VerifyTable(path string, t *tables.Table) (*tables.Verified, error) {
	v, err := t.Verify()
	if err != nil {
		return nil, Negative("noisewright verify "+path, fmt.Errorf("%s: %w", InputName(path), err))
	}
	return v, nil
}

// formatPeek is how much of a file is looked at for its format.
const formatPeek = 512

// isKernel reports whether the file that r starts with is a kernel.
func isKernel(r *bufio.Reader) bool {
	head, _ := r.Peek(formatPeek)
	return kernels.Recognize(head)
}

// ReadEither reads a table or a kernel file; the other result is nil.
func (s *Streams) ReadEither(path string) (*tables.Table, *kernels.Kernel, error) {
	in, err := s.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer in.Close()
	var t *tables.Table
	var k *kernels.Kernel
	if isKernel(in.Reader) {
		k, err = kernels.Decode(in)
	} else {
		t, err = tables.Decode(in)
	}
	if err != nil {
		return nil, nil, BadInput("", fmt.Errorf("%s: %w", InputName(path), FileCause(err)))
	}
	return t, k, nil
}

// VerifyKernel verifies a kernel. One that does not keep its claims is a negative
// verdict.
func VerifyKernel(path string, k *kernels.Kernel) (*kernels.Verified, error) {
	v, err := k.Verify()
	if err != nil {
		return nil, Negative("noisewright verify "+path, fmt.Errorf("%s: %w", InputName(path), err))
	}
	return v, nil
}
