// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/noisewright/noisewright/ball"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/files"
	"github.com/noisewright/noisewright/local"
	"github.com/noisewright/noisewright/proof"
	"github.com/noisewright/noisewright/tables"
)

const (
	fileName = "bundle.json"
	// Directories, of which there is one that has files, named as the fields of their errors.
	tablesDir, randomizersDir, ballsDir = "tables", "randomizers", "balls"
)

// lawName is that of the k-th file of a table or a randomizer.
func lawName(dir string, k int) string { return fmt.Sprintf("%s/%02d.json", dir, k) }

// array is one .npy file of a bundle: its shape, in which -1 stands for what the file
// alone tells, and where its numbers are; matrix is nil for a vector.
type array struct {
	name   string
	shape  []int
	data   *[]float64
	matrix *Matrix
}

// known is a length, or that of a shape that the file alone tells if it is not known yet.
func known(length int) int {
	if length == 0 {
		return -1
	}
	return length
}

// arrays returns the arrays of a bundle of n features, z coordinates and so many tasks.
func (s *Spec) arrays(n, z int, bounds bool, tasks int) []array {
	vector := func(name string, length int, data *[]float64) array {
		return array{name, []int{length}, data, nil}
	}
	matrix := func(name string, rows, cols int, m *Matrix) array {
		return array{name, []int{rows, cols}, &m.Data, m}
	}
	k, encoded, decoded := len(s.outputs()), z, z
	body := []array{vector("axes.npy", z, &s.Axes)}
	if c := s.Category; c != nil {
		encoded, decoded = k, c.answers()
		body = []array{matrix("cell_shares.npy", k*c.levels(), k, &c.Shares)}
		if c.levels() > 1 {
			body = append(body, matrix("cell_edges.npy", k, c.levels()-1, &c.Edges))
		}
	}
	list := append([]array{
		vector("mean.npy", n, &s.Mean),
		matrix("encoder.npy", encoded, width(s.Layers, n), &s.Encoder),
		vector("offset.npy", encoded, &s.Offset),
	}, append(body, vector("decoder_offset.npy", k, &s.DecoderOffset))...)
	layers := func(name string, layers []Layer, in int) {
		for i := range layers {
			l := &layers[i]
			list = append(list, matrix(fmt.Sprintf("%s_%d_weights.npy", name, i+1), l.Weights.Rows, in, &l.Weights), vector(fmt.Sprintf("%s_%d_bias.npy", name, i+1), l.Weights.Rows, &l.Bias))
			in = l.Weights.Rows
		}
	}
	layers("layer", s.Layers, n)
	layers("head", s.Head, z)
	if l := s.Lookup; l != nil {
		list = append(list, matrix("lookup_edges.npy", z, known(l.Edges.Cols), &l.Edges), matrix("lookup_values.npy", known(l.Values.Rows), k, &l.Values))
	} else {
		list = append(list, matrix("decoder.npy", k, width(s.Head, decoded), &s.Decoder))
	}
	if bounds {
		list = append(list, vector("feature_lower.npy", n, &s.FeatureLower), vector("feature_upper.npy", n, &s.FeatureUpper))
	}
	if tasks != 0 {
		list = append(list, matrix("task.npy", tasks, n, &s.Task))
	}
	return list
}

// Read reads the bundle in a directory. It checks the structure completely (see New)
// and nothing of the promise (see Verify). It reads the files that docs/bundle-format.md
// names and ignores others, and takes at most a small multiple of their size.
//
// Errors wrap proof.ErrFormat, dp.ErrInvalid for values outside their range, or are those of
// the file system; each names the file.
func Read(dir string) (*Bundle, error) { return ReadFS(directory(dir)) }

// directory is os.DirFS that opens nothing but regular files, without waiting for others.
type directory string

// Open implements fs.FS.
func (d directory) Open(name string) (fs.File, error) {
	return files.Regular(filepath.Join(string(d), filepath.FromSlash(name)))
}

// ReadFS is Read for the root of a file system, such as an embedded one, of regular files.
func ReadFS(root fs.FS) (*Bundle, error) {
	read := func(name string, decode func(io.Reader) error) error {
		f, err := root.Open(name)
		if err == nil {
			defer f.Close() //nolint:errcheck // only read
			var info fs.FileInfo
			if info, err = f.Stat(); err == nil {
				err = files.Check(name, info)
			}
		}
		if err == nil {
			err = decode(f)
		}
		if err != nil {
			return check.Errorf("bundle", nil, "%s: %w", name, files.Cause(err))
		}
		return nil
	}
	var f file
	if err := read(fileName, func(r io.Reader) (err error) { f, err = decodeFile(r); return err }); err != nil {
		return nil, err
	}
	s := f.spec()
	tasks := 0
	if f.Task {
		tasks = -1
	}
	for _, a := range s.arrays(len(f.Features), f.Coordinates, f.FeatureBounds, tasks) {
		if err := read(a.name, a.decode); err != nil {
			return nil, err
		}
	}
	var err error
	if s.Tables, err = readLaws(read, tablesDir, f.Noise.Tables, tables.Decode); err == nil {
		s.Randomizers, err = readLaws(read, randomizersDir, f.Noise.randomizers(), local.Decode)
	}
	if err == nil && f.balls() {
		var one []*ball.Noise
		if one, err = readLaws(read, ballsDir, 1, ball.Decode); err == nil {
			s.Ball = one[0]
		}
	}
	if err != nil {
		return nil, err
	}
	return New(s)
}

// readLaws reads so many tables or randomizers.
func readLaws[T any](read func(name string, decode func(io.Reader) error) error, dir string, count int, decode func(io.Reader) (*T, error)) (laws []*T, err error) {
	for k := range count {
		err := read(lawName(dir, k), func(r io.Reader) error {
			law, err := decode(r)
			laws = append(laws, law)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return laws, nil
}

func (a array) decode(r io.Reader) error {
	data, shape, err := files.DecodeArray(r, maxEntries, a.shape...)
	*a.data = data
	if errors.Is(err, files.ErrArray) {
		return check.Errorf("", proof.ErrFormat, "%w", err)
	}
	if err == nil && a.matrix != nil {
		a.matrix.Rows, a.matrix.Cols = shape[0], shape[1]
	}
	return err
}

func (a array) encode(w io.Writer) error { return files.EncodeArray(w, a.shape, *a.data) }

// Write writes the bundle as a new directory, whose parent exists. It appears whole or not at
// all. If overwrite is true, a bundle may already be there and is replaced; anything else,
// including a bundle with files that Write does not write, is left alone. On Linux dir is at any
// time the old bundle or the new one. On other systems a crash between two renames leaves both
// beside dir, under names that begin with a dot.
//
// The error wraps fs.ErrExist if dir may not be replaced, or is that of the file system.
func (b *Bundle) Write(dir string, overwrite bool) error {
	if err := CheckWrite(dir, overwrite); err != nil {
		return err
	}
	if err := files.Directory(dir, b.writeFiles); err != nil {
		return check.Errorf("bundle", nil, "%w", err)
	}
	return nil
}

// written are the names of the files that Write writes, by their path.
var written = regexp.MustCompile(`^(bundle\.json|tables|tables/[0-9]{2,4}\.json|randomizers|randomizers/[0-9]{2,4}\.json|balls|balls/00\.json|(mean|encoder|offset|axes|decoder|decoder_offset|lookup_edges|lookup_values|feature_lower|feature_upper|cell_edges|cell_shares|task|(layer|head)_[0-9]{1,2}_(weights|bias))\.npy)$`)

// CheckWrite says beforehand whether Write would refuse the directory, with the same errors.
func CheckWrite(dir string, overwrite bool) error {
	dir = filepath.Clean(dir)
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return check.Errorf("bundle", nil, "%w", err)
	}
	f, err := files.Regular(filepath.Join(dir, fileName))
	if err == nil {
		_, err = decodeFile(f)
		f.Close() //nolint:errcheck,gosec // only read
	}
	if err != nil {
		return check.Errorf("bundle", fs.ErrExist, "%s is there and no bundle, want another directory", dir)
	}
	if !overwrite {
		return check.Errorf("bundle", fs.ErrExist, "%s is there already, want another directory or leave to overwrite it", dir)
	}
	return fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && path != "." && !(written.MatchString(path) && ofBundle(path, entry)) {
			err = check.Errorf("bundle", fs.ErrExist, "%s holds %s, which is no part of a bundle, want it moved away", dir, path)
		}
		return err
	})
}

// ofBundle reports whether an entry with the name of a part of a bundle is of its kind.
func ofBundle(path string, entry fs.DirEntry) bool {
	if path == tablesDir || path == randomizersDir || path == ballsDir {
		return entry.IsDir()
	}
	return entry.Type().IsRegular()
}

func (b *Bundle) writeFiles(dir string) error {
	s := &b.spec
	laws, _, lawsDir := s.laws()
	if len(laws) > 0 {
		// 0777 less the umask is what any program gives a directory the user asked for.
		if err := os.Mkdir(filepath.Join(dir, lawsDir), 0o777); err != nil { //nolint:gosec
			return err
		}
	}
	write := func(name string, encode func(io.Writer) error) error {
		return files.Write(filepath.Join(dir, name), encode)
	}
	if err := write(fileName, newFile(s).encode); err != nil {
		return err
	}
	for _, a := range s.arrays(b.Features(), b.Coordinates(), s.FeatureLower != nil, s.Task.Rows) {
		if err := write(a.name, a.encode); err != nil {
			return err
		}
	}
	for k, m := range laws {
		if err := write(lawName(lawsDir, k), m.Encode); err != nil {
			return err
		}
	}
	return nil
}
