package shell

import (
	"bufio"
	"fmt"
	"io"
	"os"

	"github.com/noisewright/noisewright/internal/atomicfile"
)

// Output is where a command's result goes. It appears whole, at commit, or not
// at all.
type Output struct {
	*bufio.Writer
	file *atomicfile.File // nil for direct
	path string           // empty for standard output
}

// IsStandard reports whether a path given by -o means standard output.
func IsStandard(path string) bool { return path == "" || path == "-" }

// Direct returns an output that writes through to standard output, for results
// that are useful from the first byte.
func (s *Streams) Direct() *Output {
	return &Output{Writer: bufio.NewWriterSize(s.Out, outputBuffer)}
}

// Create opens the output path, "" or "-" for standard output. None of the
// inputs may be the same file. The caller calls discard in any case.
func (s *Streams) Create(path string, inputs ...string) (*Output, error) {
	if IsStandard(path) {
		f, err := atomicfile.Spool(s.Out)
		if err != nil {
			return nil, err
		}
		return &Output{Writer: bufio.NewWriterSize(f, outputBuffer), file: f}, nil
	}
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		for _, in := range inputs {
			if same, err := os.Stat(in); err == nil && os.SameFile(info, same) {
				return nil, BadInput("", fmt.Errorf("output %s is the same file as the input %s, want another file", path, in))
			}
		}
	}
	f, err := atomicfile.Create(path)
	if err != nil {
		return nil, BadInput("", fmt.Errorf("output %w", err))
	}
	return &Output{Writer: bufio.NewWriterSize(f, outputBuffer), file: f, path: path}, nil
}

// Commit makes the output appear.
func (o *Output) Commit() error {
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
	if o.file != nil {
		o.file.Discard()
	}
}

const outputBuffer = 64 << 10

// Reserved is an output opened before the work for it, which would be lost otherwise.
type Reserved struct{ *Output } // nil: none was asked for

// Reserve opens the output, if there is one. The caller calls Discard in any case.
func (c *Common) Reserve() (Reserved, error) {
	if c.Output == "" {
		return Reserved{}, nil
	}
	w, err := c.Create(c.Output)
	return Reserved{w}, err
}

// Put makes the output appear with the encoding of v.
func (r Reserved) Put(v interface{ Encode(io.Writer) error }) error {
	if r.Output == nil {
		return nil
	}
	if err := v.Encode(r.Output); err != nil {
		return err
	}
	return r.Commit()
}

// Discard removes what was written, unless it was committed.
func (r Reserved) Discard() {
	if r.Output != nil {
		r.Output.Discard()
	}
}
