package shell

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/csvfile"
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

// CSV is a CSV file that is read.
type CSV struct {
	*csvfile.Reader
	*Input
}

// Close closes the file.
func (c *CSV) Close() {
	c.Reader.Close()
	c.Input.Close()
}

// OpenCSV opens a CSV file, perhaps compressed with gzip or zstd. The caller closes it.
func (a *Streams) OpenCSV(file string, o csvfile.Options) (*CSV, error) {
	in, err := a.Open(file)
	if err != nil {
		return nil, err
	}
	r, err := csvfile.NewReader(in, o)
	if err != nil {
		in.Close()
		return nil, BadFile(file, FileCause(err))
	}
	return &CSV{r, in}, nil
}

// ReadFrame is csvfile.ReadFrame, and warns of columns that are left out.
func (a *Streams) ReadFrame(file string, o csvfile.Options, choose func(column string) bool, drop bool) (*csvfile.Frame, error) {
	f, err := readCSV(a, file, o, func(r *csvfile.Reader) (*csvfile.Frame, error) { return csvfile.ReadFrame(r, choose, drop) })
	if err != nil {
		return nil, err
	}
	if drop && !slices.ContainsFunc(f.Names, func(s string) bool { return !csvfile.IsNumber(s) }) {
		a.Warn("%s: the columns have numbers for names: is the header row missing?", InputName(file))
	}
	if len(f.Text) > 0 {
		a.Warn("%s: %s left out: no numbers", InputName(file), check.Shortened(strings.Join(f.Text, ", ")))
	}
	return f, nil
}

// ReadNamed reads a CSV file of numbers by features, see csvfile.ReadNamed.
func (a *Streams) ReadNamed(file string, o csvfile.Options, features []string) (*csvfile.Frame, error) {
	return readCSV(a, file, o, func(r *csvfile.Reader) (*csvfile.Frame, error) { return csvfile.ReadNamed(r, features) })
}

func readCSV(a *Streams, file string, o csvfile.Options, read func(*csvfile.Reader) (*csvfile.Frame, error)) (*csvfile.Frame, error) {
	in, err := a.OpenCSV(file, o)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	f, err := read(in.Reader)
	if err != nil {
		return nil, BadFile(file, err)
	}
	return f, nil
}
