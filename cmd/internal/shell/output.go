// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/csvfile"
	"github.com/noisewright/noisewright/internal/files"
)

// Output is where a result goes: whole, at commit, or not at all. nil is none.
type Output struct {
	*bufio.Writer
	streams *Streams
	file    *files.File // nil for direct
	path    string      // empty for standard output
}

const outputBuffer = 64 << 10

// IsStandard reports whether a path given by -o means standard output.
func IsStandard(path string) bool { return path == "" || path == "-" }

// Direct writes through to standard output, for results that are useful from the first byte.
func (a *Streams) Direct() *Output {
	return &Output{Writer: bufio.NewWriterSize(a.Out, outputBuffer), streams: a}
}

// Create opens the output path, "" or "-" for standard output. None of the inputs may be the same
// file, nor, without Force, any file that is there. The caller calls Discard in any case.
func (a *Streams) Create(path string, inputs ...string) (*Output, error) {
	if IsStandard(path) {
		f, err := files.Spool(a.Out)
		if err != nil {
			return nil, err
		}
		return a.output(f, ""), nil
	}
	info, err := os.Stat(path)
	there := err == nil && info.Mode().IsRegular() // and no device, pipe or folder
	if there {
		for _, in := range inputs {
			if same, err := os.Stat(in); err == nil && os.SameFile(info, same) {
				return nil, BadInput("", fmt.Errorf("output %s is the same file as the input %s, want another file", path, in))
			}
		}
	}
	if isDatabase(path) {
		return nil, BadInput("", fmt.Errorf("output %s is a database, such as a ledger, or belongs to one, want another file", path))
	}
	if there && !a.Force {
		return nil, BadInput("--force replaces it", fmt.Errorf("output %s is there already, want another file", path))
	}
	f, err := files.Create(path)
	if err != nil {
		return nil, BadInput("", fmt.Errorf("output %w", err))
	}
	return a.output(f, path), nil
}

// output remembers an output, in case it has to be abandoned.
func (a *Streams) output(f *files.File, path string) *Output {
	o := &Output{bufio.NewWriterSize(f, outputBuffer), a, f, path}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.outputs = append(a.outputs, o)
	return o
}

// MakeFolder makes the folder of -o if it is missing.
func MakeFolder(path string) error {
	// 0777 less the umask is what any program gives a directory the user asked for.
	if err := os.MkdirAll(path, 0o777); err != nil { //nolint:gosec
		return BadInput("", fmt.Errorf("output = %s: %w", check.Quoted(path), FileCause(err)))
	}
	return nil
}

// isDatabase reports whether a file is one of SQLite, such as a ledger, or one that it keeps beside.
func isDatabase(path string) bool {
	return slices.ContainsFunc([]string{"", "-journal", "-wal", "-shm"}, func(suffix string) bool {
		name, ok := strings.CutSuffix(path, suffix)
		return ok && start(name) == sqliteMagic
	})
}

// Reserve opens an output before the work for it, which would be lost otherwise; it is
// nil for the path "". The caller calls Discard in any case.
func (a *Streams) Reserve(path string, inputs ...string) (*Output, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // as the type says
	}
	return a.Create(path, inputs...)
}

// WriteFile creates an output that appears with what encode writes.
func (a *Streams) WriteFile(path string, encode func(io.Writer) error, inputs ...string) error {
	w, err := a.Create(path, inputs...)
	if err != nil {
		return err
	}
	defer w.Discard()
	return w.Put(encode)
}

// WriteCSV is WriteFile for a file that is compressed if its name says so.
func (a *Streams) WriteCSV(path string, encode func(io.Writer) error, inputs ...string) error {
	return a.WriteFile(path, func(w io.Writer) error {
		packed, err := csvfile.Compress(w, path)
		if err != nil {
			return err
		}
		if err := encode(packed); err != nil {
			return err
		}
		return packed.Close()
	}, inputs...)
}

// Put makes the output appear with what encode writes.
func (o *Output) Put(encode func(io.Writer) error) error {
	if o == nil {
		return nil
	}
	if err := encode(o); err != nil {
		return err
	}
	return o.Commit()
}

// Commit makes the output appear.
func (o *Output) Commit() error {
	o.streams.line.Load().Clear()
	err := o.Flush()
	if err == nil && o.file != nil {
		err = o.file.Commit()
	}
	if err != nil && o.path != "" {
		err = fmt.Errorf("output %w", err)
	}
	return err
}

// Discard removes what was written, unless it was committed.
func (o *Output) Discard() {
	if o != nil && o.file != nil {
		o.file.Discard()
	}
}
