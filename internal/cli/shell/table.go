package shell

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/noisewright/noisewright/kernels"
	"github.com/noisewright/noisewright/tables"
)

// ReadTable reads a table file, "-" for standard input. Every error is one of
// bad input, and names the file.
func (a *Streams) ReadTable(path string) (*tables.Table, error) {
	t, k, err := a.ReadEither(path)
	if err == nil && k != nil {
		err = BadInput("", fmt.Errorf("%s is a kernel, want a table made by design", InputName(path)))
	}
	return t, err
}

// Open opens a file to read, "-" for standard input. The caller calls done.
func (a *Streams) Open(path string) (r *bufio.Reader, done func(), err error) {
	if path == "-" {
		return bufio.NewReaderSize(a.In, inputBuffer), func() {}, nil
	}
	f, err := OpenInput(path)
	if err != nil {
		return nil, nil, err
	}
	return bufio.NewReaderSize(f, inputBuffer), func() { _ = f.Close() }, nil
}

// ReadSound reads a table file and verifies it. A table that does not keep its
// claims is a negative verdict.
func (a *Streams) ReadSound(path string) (*tables.Verified, error) {
	t, err := a.ReadTable(path)
	if err != nil {
		return nil, err
	}
	return SoundTable(path, t)
}

// SoundTable verifies a table.
func SoundTable(path string, t *tables.Table) (*tables.Verified, error) {
	v, err := t.Verify()
	if err != nil {
		return nil, Negative("noisewright verify "+path, fmt.Errorf("%s: %w", InputName(path), err))
	}
	return v, nil
}

// OpenInput opens a file to read.
func OpenInput(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, BadInput("", fmt.Errorf("%s: %w", path, FileCause(err)))
	}
	return f, nil
}

// FileCause strips the path, which messages have already, from a file error.
func FileCause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// InputName names an input in messages.
func InputName(path string) string {
	if path == "-" {
		return "standard input"
	}
	return path
}

// formatPeek is how much of a file is looked at for its format.
const formatPeek = 512

// isKernel reports whether the file that r starts with is a kernel.
func isKernel(r *bufio.Reader) bool {
	head, _ := r.Peek(formatPeek)
	return kernels.Recognize(head)
}

// ReadEither reads a table or a kernel file; the other result is nil.
func (a *Streams) ReadEither(path string) (*tables.Table, *kernels.Kernel, error) {
	r, done, err := a.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	var t *tables.Table
	var k *kernels.Kernel
	if isKernel(r) {
		k, err = kernels.Decode(r)
	} else {
		t, err = tables.Decode(r)
	}
	if err != nil {
		return nil, nil, BadInput("", fmt.Errorf("%s: %w", InputName(path), FileCause(err)))
	}
	return t, k, nil
}

// SoundKernel verifies a kernel. One that does not keep its claims is a negative
// verdict.
func SoundKernel(path string, k *kernels.Kernel) (*kernels.Verified, error) {
	v, err := k.Verify()
	if err != nil {
		return nil, Negative("noisewright verify "+path, fmt.Errorf("%s: %w", InputName(path), err))
	}
	return v, nil
}

const inputBuffer = 64 << 10
