package cli

import (
	"bufio"
	"fmt"
	"os"

	"github.com/noisewright/noisewright/internal/atomicfile"
)

const bufferSize = 64 << 10

// output is where a command's result goes. It appears whole, at commit, or not
// at all.
type output struct {
	*bufio.Writer
	file *atomicfile.File // nil for direct
	path string           // empty for standard output
}

// isStandard reports whether a path given by -o means standard output.
func isStandard(path string) bool { return path == "" || path == "-" }

// direct returns an output that writes through to standard output, for results
// that are useful from the first byte.
func (a *app) direct() *output {
	return &output{Writer: bufio.NewWriterSize(a.stdout, bufferSize)}
}

// create opens the output path, "" or "-" for standard output. None of the
// inputs may be the same file. The caller calls discard in any case.
func (a *app) create(path string, inputs ...string) (*output, error) {
	if isStandard(path) {
		f, err := atomicfile.Spool(a.stdout)
		if err != nil {
			return nil, err
		}
		return &output{Writer: bufio.NewWriterSize(f, bufferSize), file: f}, nil
	}
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		for _, in := range inputs {
			if same, err := os.Stat(in); err == nil && os.SameFile(info, same) {
				return nil, badInput("", fmt.Errorf("output %s is the same file as the input %s, want another file", path, in))
			}
		}
	}
	f, err := atomicfile.Create(path)
	if err != nil {
		return nil, badInput("", fmt.Errorf("output %w", err))
	}
	return &output{Writer: bufio.NewWriterSize(f, bufferSize), file: f, path: path}, nil
}

// commit makes the output appear.
func (o *output) commit() error {
	err := o.Flush()
	if err == nil && o.file != nil {
		err = o.file.Commit()
	}
	if err != nil && o.path != "" {
		err = fmt.Errorf("output %w", err)
	}
	return err
}

// discard removes what was written, unless it was committed.
func (o *output) discard() {
	if o.file != nil {
		o.file.Discard()
	}
}
