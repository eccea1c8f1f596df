package shell

import (
	"slices"
	"strings"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/csvfile"
)

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

// OpenCSV opens a CSV file, "-" for standard input, perhaps compressed with gzip or
// zstd. The caller closes it.
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

// ReadFrame reads columns of a CSV file, see csvfile.ReadFrame, and warns of those
// that are left out.
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
