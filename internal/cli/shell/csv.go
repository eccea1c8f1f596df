package shell

import (
	"io"
	"slices"
	"strings"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/csvfile"
)

// OpenColumns opens a CSV file, "-" for standard input, perhaps compressed with gzip,
// and reads its header, see csvfile.NewColumns. The caller closes the input.
func (a *Streams) OpenColumns(file string, choose, keep func(column string) bool) (*csvfile.Columns, *Input, error) {
	in, err := a.Open(file)
	if err != nil {
		return nil, nil, err
	}
	c, err := csvfile.NewColumns(in, choose, keep)
	if err != nil {
		in.Close()
		return nil, nil, BadFile(file, err)
	}
	return c, in, nil
}

// ReadFrame reads columns of a CSV file, see csvfile.ReadFrame, and warns of those
// that are left out.
func (a *Streams) ReadFrame(file string, choose func(column string) bool, drop bool) (*csvfile.Frame, error) {
	f, err := readFile(a, file, func(r io.Reader) (*csvfile.Frame, error) { return csvfile.ReadFrame(r, choose, drop) })
	if err != nil {
		return nil, err
	}
	if drop && !slices.ContainsFunc(f.Names, func(s string) bool { return !csvfile.IsNumber(s) }) {
		a.Warn("%s: the columns have numbers for names: is the header row missing?", InputName(file))
	}
	if len(f.Text) > 0 {
		a.Warn("%s: %s left out, for it is not numbers", InputName(file), check.Shortened(strings.Join(f.Text, ", ")))
	}
	return f, nil
}

// ReadNamed reads a CSV file of numbers by features, see csvfile.ReadNamed.
func (a *Streams) ReadNamed(file string, features []string) (*csvfile.Frame, error) {
	return readFile(a, file, func(r io.Reader) (*csvfile.Frame, error) { return csvfile.ReadNamed(r, features) })
}

func readFile(a *Streams, file string, read func(io.Reader) (*csvfile.Frame, error)) (*csvfile.Frame, error) {
	in, err := a.Open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	f, err := read(in)
	if err != nil {
		return nil, BadFile(file, err)
	}
	return f, nil
}
