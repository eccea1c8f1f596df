// SPDX-License-Identifier: Apache-2.0

// Package checkpoint keeps what a training needs to go on after it was stopped, in a
// directory: named arrays as .npy files and the rest as checkpoint.json. It appears whole
// or not at all, so that a writer that is killed leaves the checkpoint before.
package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/files"
	"github.com/noisewright/noisewright/internal/strictjson"
)

// ErrFormat marks a directory that is no checkpoint.
var ErrFormat = errors.New("not a checkpoint")

const (
	// maxEntries bounds the numbers of an array.
	maxEntries = 1 << 24
	stateName  = "checkpoint.json"
	suffix     = ".npy"
	// maxArrays and maxElements bound what a reader takes of checkpoint.json.
	maxArrays   = 1 << 8
	maxElements = 1 << 16
)

// names are those of arrays, which are those of their files.
var names = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,63}$`)

type file[S any] struct {
	Format  string  `json:"format"`
	Version int     `json:"version"`
	Arrays  []entry `json:"arrays"`
	State   S       `json:"state"`
}

type entry struct {
	Name    string `json:"name"`
	Entries int    `json:"entries"`
}

var format = strictjson.Format{
	Noun: "checkpoint", Name: "noisewright-checkpoint", Version: 1,
	MaxSize: 1 << 22, MaxElements: map[string]int{"arrays": maxArrays}, Elements: maxElements, Err: ErrFormat,
}

// Write makes dir, whose parent exists, a checkpoint of the state and the arrays by their
// names: lower-case letters, digits, _ and -, at most 64, the first a letter. Empty arrays
// are left out; the others have at most 2^24 numbers, none NaN. A checkpoint that is there is
// replaced, anything else is left alone (see CheckWrite). S is a struct as package
// strictjson reads and writes it, with finite numbers.
//
// The error wraps check.ErrInvalid for names and numbers that are not as they should be;
// others are of the file system. What was there then still is.
func Write[S any](dir string, state S, arrays map[string][]float64) error {
	if err := CheckWrite(dir); err != nil {
		return err
	}
	f := file[S]{Format: format.Name, Version: format.Version, Arrays: []entry{}, State: state}
	list := check.In("checkpoint")
	for _, name := range slices.Sorted(maps.Keys(arrays)) {
		data := arrays[name]
		list.Want(names.MatchString(name), "array", fmt.Sprintf("%.80q", name), "a name of at most 64 lower-case letters, digits, _ and -")
		list.Want(len(data) <= maxEntries, name, fmt.Sprintf("%d numbers", len(data)), "at most %d", maxEntries)
		list.Want(!slices.ContainsFunc(data, math.IsNaN), name, "NaN", "numbers")
		if len(data) > 0 {
			f.Arrays = append(f.Arrays, entry{name, len(data)})
		}
	}
	list.Want(len(f.Arrays) <= maxArrays, "arrays", len(f.Arrays), "at most %d", maxArrays)
	if err := list.Err(); err != nil {
		return err
	}
	err := files.Directory(dir, func(dir string) error {
		err := files.Write(filepath.Join(dir, stateName), func(w io.Writer) error { return strictjson.Encode(w, f) })
		for _, e := range f.Arrays {
			if err != nil {
				break
			}
			err = files.Write(filepath.Join(dir, e.Name+suffix), func(w io.Writer) error { return files.EncodeArray(w, []int{e.Entries}, arrays[e.Name]) })
		}
		return err
	})
	if err != nil {
		return check.Errorf("checkpoint", nil, "%w", err)
	}
	return nil
}

// CheckWrite returns the error of Write for a directory that is there and neither a
// checkpoint nor empty: it is not replaced.
func CheckWrite(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return check.Errorf("checkpoint", nil, "%w", err)
	}
	whole := len(entries) == 0
	for _, e := range entries {
		array, isArray := strings.CutSuffix(e.Name(), suffix)
		if !e.Type().IsRegular() || (e.Name() != stateName && !(isArray && names.MatchString(array))) {
			return check.Errorf("checkpoint", check.ErrInvalid, "%s holds %s, which is no part of a checkpoint, want another directory", dir, e.Name())
		}
		whole = whole || e.Name() == stateName
	}
	if !whole {
		return check.Errorf("checkpoint", check.ErrInvalid, "%s holds arrays and no %s, want another directory", dir, stateName)
	}
	return nil
}

// Read reads the checkpoint in a directory: its state into *state, and its arrays by their names.
//
// Errors wrap ErrFormat, or are those of the file system; *state then stays as it was.
func Read[S any](dir string, state *S) (map[string][]float64, error) {
	var f file[S]
	err := read(dir, stateName, func(r io.Reader) error { return strictjson.Decode(r, format, &f) })
	if err != nil {
		return nil, err
	}
	arrays := make(map[string][]float64, len(f.Arrays))
	for _, e := range f.Arrays {
		if _, twice := arrays[e.Name]; twice || e.Entries < 1 || !names.MatchString(e.Name) {
			return nil, check.Errorf("checkpoint", ErrFormat, "%s: array %.80q of %d numbers, want distinct names and positive lengths", filepath.Join(dir, stateName), e.Name, e.Entries)
		}
		err := read(dir, e.Name+suffix, func(r io.Reader) error {
			data, _, err := files.DecodeArray(r, maxEntries, e.Entries)
			if err == nil && slices.ContainsFunc(data, math.IsNaN) {
				err = check.Errorf("", ErrFormat, "NaN, want numbers")
			}
			arrays[e.Name] = data
			return err
		})
		if errors.Is(err, fs.ErrNotExist) { // that of checkpoint.json alone means that there is none
			return nil, check.Errorf("checkpoint", ErrFormat, "%s is missing", filepath.Join(dir, e.Name+suffix))
		}
		if err != nil {
			return nil, err
		}
	}
	*state = f.State
	return arrays, nil
}

// read opens a file of the directory; errors name it.
func read(dir, name string, decode func(io.Reader) error) error {
	f, err := files.Regular(filepath.Join(dir, name))
	if err != nil {
		return check.Errorf("checkpoint", nil, "%w", err)
	}
	defer f.Close() //nolint:errcheck // only read
	err = decode(f)
	if errors.Is(err, files.ErrArray) {
		err = check.Errorf("", ErrFormat, "%w", err)
	}
	if err != nil {
		return check.Errorf("checkpoint", nil, "%s: %w", filepath.Join(dir, name), err)
	}
	return nil
}
