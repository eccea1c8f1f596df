package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/noisewright/noisewright/sampler"
	"github.com/noisewright/noisewright/tables"
)

// readTable reads a table file, "-" for standard input. Every error is one of
// bad input, and names the file.
func (a *app) readTable(path string) (*tables.Table, error) {
	t, k, err := a.readEither(path)
	if err == nil && k != nil {
		err = badInput("", fmt.Errorf("%s is a kernel, want a table made by design", inputName(path)))
	}
	return t, err
}

// open opens a file to read, "-" for standard input. The caller calls done.
func (a *app) open(path string) (r *bufio.Reader, done func(), err error) {
	if path == "-" {
		return bufio.NewReaderSize(a.stdin, bufferSize), func() {}, nil
	}
	f, err := openInput(path)
	if err != nil {
		return nil, nil, err
	}
	return bufio.NewReaderSize(f, bufferSize), func() { _ = f.Close() }, nil
}

// readSound reads a table file and verifies it. A table that does not keep its
// claims is a negative verdict.
func (a *app) readSound(path string) (*tables.Table, tables.Certificate, error) {
	t, err := a.readTable(path)
	if err != nil {
		return nil, tables.Certificate{}, err
	}
	c, err := soundTable(path, t)
	if err != nil {
		return nil, c, err
	}
	return t, c, nil
}

// soundTable verifies a table.
func soundTable(path string, t *tables.Table) (tables.Certificate, error) {
	c, err := t.Verify()
	if err != nil {
		return c, negative("noisewright verify "+path, fmt.Errorf("%s: %w", inputName(path), err))
	}
	return c, nil
}

// newSampler returns a sampler of the table file, verified.
func (a *app) newSampler(path string, o sampler.Options) (*sampler.Sampler, error) {
	t, _, err := a.readSound(path)
	if err != nil {
		return nil, err
	}
	return sampler.NewVerified(t, o)
}

// openInput opens a file to read.
func openInput(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, badInput("", fmt.Errorf("%s: %w", path, inputCause(err)))
	}
	return f, nil
}

// inputCause strips the path, which messages have already, from a file error.
func inputCause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// inputName names an input in messages.
func inputName(path string) string {
	if path == "-" {
		return "standard input"
	}
	return path
}
