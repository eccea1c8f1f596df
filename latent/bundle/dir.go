package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/noisewright/noisewright/internal/atomicfile"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/tables"
)

const (
	fileName  = "bundle.json"
	tablesDir = "tables"
)

func tableName(k int) string { return fmt.Sprintf("%s/%02d.json", tablesDir, k) }

// array is one .npy file of a bundle: where its numbers are, and of which shape, rows
// being -1 if the file alone tells.
type array struct {
	name       string
	rows, cols int // cols is 0 for a vector
	data       *[]float64
	matrix     *Matrix
}

// arrays returns the arrays of a bundle of a shape.
func (s *Spec) arrays(n, z int, bounds, task bool) []array {
	list := []array{
		{name: "mean.npy", rows: n, data: &s.Mean},
		{name: "encoder.npy", rows: z, cols: n, matrix: &s.Encoder},
		{name: "offset.npy", rows: z, data: &s.Offset},
		{name: "axes.npy", rows: z, data: &s.Axes},
		{name: "decoder.npy", rows: n, cols: z, matrix: &s.Decoder},
		{name: "decoder_offset.npy", rows: n, data: &s.DecoderOffset},
	}
	if bounds {
		list = append(list, array{name: "feature_lower.npy", rows: n, data: &s.FeatureLower}, array{name: "feature_upper.npy", rows: n, data: &s.FeatureUpper})
	}
	if task {
		list = append(list, array{name: "task.npy", rows: -1, cols: n, matrix: &s.Task})
	}
	return list
}

// Read reads the bundle in a directory. It checks the structure completely (see New)
// and nothing of the promise (see Verify). It reads the files that docs/bundle-format.md
// names and ignores others, and takes at most a small multiple of their size.
//
// Errors wrap ErrFormat or tables.ErrFormat, dp.ErrInvalid for values
// outside their range, or are those of the file system; each names the file.
func Read(dir string) (*Bundle, error) {
	return ReadFS(os.DirFS(dir))
}

// ReadFS is Read for the root of a file system, such as an embedded one.
func ReadFS(files fs.FS) (*Bundle, error) {
	read := func(name string, decode func(io.Reader) error) error {
		f, err := files.Open(name)
		if err != nil {
			return check.Errorf("bundle", nil, "%w", err)
		}
		defer f.Close() //nolint:errcheck // only read
		if err := decode(f); err != nil {
			return check.Errorf("bundle", nil, "%s: %w", name, err)
		}
		return nil
	}
	var f file
	if err := read(fileName, func(r io.Reader) (err error) { f, err = decodeFile(r); return err }); err != nil {
		return nil, err
	}
	s := Spec{
		Features: f.Features, Domain: f.Domain, ClipOrigin: f.ClipOrigin,
		Noise: f.Noise.Kind, Composition: f.Noise.Composition, Tau: f.Noise.Tau, TableOf: f.Noise.TableOf,
		Promise: Promise(f.Privacy), Predicted: Predicted(f.Predicted),
	}
	for _, a := range s.arrays(len(f.Features), f.Coordinates, f.FeatureBounds, f.Task) {
		if err := read(a.name, a.decode); err != nil {
			return nil, err
		}
	}
	for k := range f.Noise.Tables {
		err := read(tableName(k), func(r io.Reader) error {
			t, err := tables.Decode(r)
			s.Tables = append(s.Tables, t)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return New(s)
}

func (a array) decode(r io.Reader) error {
	if a.matrix == nil {
		data, _, err := decodeNPY(r, a.rows)
		*a.data = data
		return err
	}
	data, shape, err := decodeNPY(r, a.rows, a.cols)
	if err != nil {
		return err
	}
	*a.matrix = Matrix{shape[0], shape[1], data}
	return nil
}

func (a array) encode(w io.Writer) error {
	if a.matrix == nil {
		return encodeNPY(w, []int{len(*a.data)}, *a.data)
	}
	return encodeNPY(w, []int{a.matrix.Rows, a.matrix.Cols}, a.matrix.Data)
}

// Write writes the bundle as a new directory, whose parent exists. It appears whole or
// not at all: it is written beside dir under another name and renamed. If overwrite is
// true, a bundle may already be there and is replaced; anything else, including a bundle
// with files that Write does not write, is left alone.
//
// The error wraps ErrExists if dir may not be replaced, or is that of the file system.
func (b *Bundle) Write(dir string, overwrite bool) error {
	if err := CheckWrite(dir, overwrite); err != nil {
		return err
	}
	if err := atomicfile.Directory(dir, b.writeFiles); err != nil {
		return check.Errorf("bundle", nil, "%w", err)
	}
	return nil
}

// CheckWrite says beforehand whether Write would refuse the directory, with the same
// errors.
func CheckWrite(dir string, overwrite bool) error {
	dir = filepath.Clean(dir)
	switch _, err := os.Lstat(dir); {
	case err == nil:
		return replaceable(dir, overwrite)
	case !errors.Is(err, fs.ErrNotExist):
		return check.Errorf("bundle", nil, "%w", err)
	}
	return nil
}

// written are the names of the files that Write writes, by their path.
var written = regexp.MustCompile(`^(bundle\.json|tables|tables/[0-9]{2,4}\.json|(mean|encoder|offset|axes|decoder|decoder_offset|feature_lower|feature_upper|task)\.npy)$`)

// replaceable returns an error unless dir is a bundle and nothing else.
func replaceable(dir string, overwrite bool) error {
	f, err := os.Open(filepath.Join(dir, fileName)) //nolint:gosec // a directory of the caller's choice
	if err != nil {
		return check.Errorf("bundle", ErrExists, "%s is there and no bundle, want another directory", dir)
	}
	_, err = decodeFile(f)
	f.Close() //nolint:errcheck,gosec // only read
	if err != nil {
		return check.Errorf("bundle", ErrExists, "%s is there and no bundle, want another directory", dir)
	}
	if !overwrite {
		return check.Errorf("bundle", ErrExists, "%s is there already, want another directory or leave to overwrite it", dir)
	}
	return fs.WalkDir(os.DirFS(dir), ".", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && path != "." && !written.MatchString(path) {
			err = check.Errorf("bundle", ErrExists, "%s holds %s, which is no part of a bundle, want it moved away", dir, path)
		}
		return err
	})
}

func (b *Bundle) writeFiles(dir string) error {
	// 0777 and 0666 less the umask are what any program gives files the user asked for.
	if err := os.Mkdir(filepath.Join(dir, tablesDir), 0o777); err != nil { //nolint:gosec
		return err
	}
	write := func(name string, encode func(io.Writer) error) error {
		var text bytes.Buffer
		if err := encode(&text); err != nil {
			return err
		}
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) //nolint:gosec
		if err != nil {
			return err
		}
		_, err = f.Write(text.Bytes())
		if err == nil {
			err = f.Sync()
		}
		return errors.Join(err, f.Close())
	}
	s := &b.spec
	if err := write(fileName, newFile(s).encode); err != nil {
		return err
	}
	for _, a := range s.arrays(b.Features(), b.Coordinates(), s.FeatureLower != nil, s.Task.Rows > 0) {
		if err := write(a.name, a.encode); err != nil {
			return err
		}
	}
	for k, t := range s.Tables {
		if err := write(tableName(k), t.Encode); err != nil {
			return err
		}
	}
	return nil
}
