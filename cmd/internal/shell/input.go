package shell

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
)

// Input is a file that is read.
type Input struct {
	*bufio.Reader
	from io.Reader
	file *os.File // to close; nil: standard input
	done int64    // bytes read so far
	size int64    // of them; 0: not known
}

// Open opens a file to read that the command line names, "-" for standard input. It may
// be a pipe, as /dev/stdin and <(command) are; then this waits for who writes to it. The
// caller closes it.
func (a *Streams) Open(path string) (*Input, error) {
	in := &Input{from: a.In}
	if path == "-" {
		if a.read {
			return nil, BadInput("", errors.New("standard input is there for one file, want the names of the others in place of -"))
		}
		a.read = true
	} else {
		f, err := os.Open(path)
		if err != nil {
			return nil, BadFile(path, FileCause(err))
		}
		in.from, in.file = f, f
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			in.size = info.Size()
		}
	}
	in.Reader = bufio.NewReaderSize((*counted)(in), inputBuffer)
	return in, nil
}

const inputBuffer = 64 << 10

// counted is an input below its buffer.
type counted Input

// Read implements io.Reader.
func (in *counted) Read(p []byte) (int, error) {
	n, err := in.from.Read(p)
	in.done += int64(n)
	return n, err
}

// Share is how much of the file has been read; NaN: not known.
func (in *Input) Share() float64 {
	if in.size == 0 {
		return math.NaN()
	}
	return float64(in.done) / float64(in.size)
}

// Close closes the file; standard input stays open.
func (in *Input) Close() {
	if in.file != nil {
		_ = in.file.Close()
	}
}

// BadFile is about an input file.
func BadFile(path string, err error) error {
	return BadInput("", fmt.Errorf("%s: %w", InputName(path), err))
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
