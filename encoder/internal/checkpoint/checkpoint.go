// Package checkpoint keeps what a training needs to go on after it was stopped, in a
// directory: named arrays as .npy files and the rest as checkpoint.json. It appears whole
// or not at all, so that a writer that is killed leaves the checkpoint before.
package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/noisewright/noisewright/internal/atomicfile"
	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/npy"
	"github.com/noisewright/noisewright/internal/readfile"
	"github.com/noisewright/noisewright/internal/strictjson"
)

// ErrFormat marks a directory that is no checkpoint, or not the one that is wanted.
var ErrFormat = errors.New("not a checkpoint")

// Array is numbers under a name: lower-case letters, digits and underscores, at most 64,
// the first a letter.
type Array struct {
	Name string
	Data []float64 // at least one, at most MaxEntries, none NaN
}

// MaxEntries bounds the numbers of an array.
const MaxEntries = 1 << 24

const (
	stateName = "checkpoint.json"
	suffix    = ".npy"
	// maxArrays and maxElements bound what a reader takes of checkpoint.json.
	maxArrays   = 1 << 8
	maxElements = 1 << 16
)

var names = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// file is checkpoint.json.
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

// Write makes dir, whose parent exists, a checkpoint of the state and the arrays. A
// checkpoint that is there is replaced, anything else is left alone (see CheckWrite). S is a
// struct as package strictjson reads and writes it, with finite numbers.
//
// The error wraps check.ErrInvalid for names and numbers that are not as they should be;
// others are of the file system. What was there then still is.
func Write[S any](dir string, state S, arrays []Array) error {
	if err := CheckWrite(dir); err != nil {
		return err
	}
	f := file[S]{Format: format.Name, Version: format.Version, Arrays: []entry{}, State: state}
	list := check.In("checkpoint")
	seen := map[string]bool{}
	for _, a := range arrays {
		checkArray(list, a, seen)
		f.Arrays = append(f.Arrays, entry{a.Name, len(a.Data)})
	}
	if len(arrays) > maxArrays {
		list.Badf("arrays", len(arrays), "at most %d", maxArrays)
	}
	if err := list.Err(); err != nil {
		return err
	}
	err := atomicfile.Directory(dir, func(dir string) error {
		err := write(filepath.Join(dir, stateName), func(w io.Writer) error { return strictjson.Encode(w, f) })
		for _, a := range arrays {
			if err != nil {
				break
			}
			err = write(filepath.Join(dir, a.Name+suffix), func(w io.Writer) error { return npy.Encode(w, []int{len(a.Data)}, a.Data) })
		}
		return err
	})
	if err != nil {
		return check.Errorf("checkpoint", nil, "%w", err)
	}
	return nil
}

func checkArray(list *check.List, a Array, seen map[string]bool) {
	if !names.MatchString(a.Name) || seen[a.Name] {
		list.Bad("array", fmt.Sprintf("%.80q", a.Name), "a new name of lower-case letters, digits and underscores")
	}
	seen[a.Name] = true
	if len(a.Data) < 1 || len(a.Data) > MaxEntries {
		list.Badf(a.Name, fmt.Sprintf("%d numbers", len(a.Data)), "1 to %d", MaxEntries)
	}
	if slices.ContainsFunc(a.Data, math.IsNaN) {
		list.Bad(a.Name, "NaN", "numbers")
	}
}

func write(path string, encode func(io.Writer) error) error {
	f, err := atomicfile.Create(path)
	if err != nil {
		return err
	}
	defer f.Discard()
	if err := encode(f); err != nil {
		return err
	}
	return f.Commit()
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
		array, isArray := cutSuffix(e.Name())
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

func cutSuffix(name string) (string, bool) {
	if filepath.Ext(name) != suffix {
		return "", false
	}
	return name[:len(name)-len(suffix)], true
}

// Read reads the checkpoint in a directory: its state into *state, and then its arrays
// into those that the function returns, which knows the state. Their names and lengths
// are to be those of the checkpoint, in any order. On an error they hold anything.
//
// Errors wrap ErrFormat, are those of the function, or of the file system.
func Read[S any](dir string, state *S, arrays func() ([]Array, error)) error {
	var f file[S]
	err := read(dir, stateName, func(r io.Reader) error { return strictjson.Decode(r, format, &f) })
	if err != nil {
		return err
	}
	*state = f.State
	wanted, err := arrays()
	if err != nil {
		return err
	}
	if err := match(f.Arrays, wanted); err != nil {
		return check.Errorf("checkpoint", ErrFormat, "%s: %s: %w", dir, stateName, err)
	}
	for _, a := range wanted {
		if err := read(dir, a.Name+suffix, a.decode); err != nil {
			return err
		}
	}
	return nil
}

func (a Array) decode(r io.Reader) error {
	data, _, err := npy.Decode(r, MaxEntries, len(a.Data))
	if err != nil {
		return err
	}
	if slices.ContainsFunc(data, math.IsNaN) {
		return check.Errorf("", ErrFormat, "NaN, want numbers")
	}
	copy(a.Data, data)
	return nil
}

// match compares what there is with what is wanted.
func match(entries []entry, wanted []Array) error {
	there := make(map[string]int, len(entries))
	for _, e := range entries {
		if _, twice := there[e.Name]; twice || e.Entries < 1 || !names.MatchString(e.Name) {
			return fmt.Errorf("array %.80q of %d numbers, want distinct names and positive lengths", e.Name, e.Entries)
		}
		there[e.Name] = e.Entries
	}
	for _, a := range wanted {
		entries, ok := there[a.Name]
		if !ok {
			return fmt.Errorf("no array %q", a.Name)
		}
		if entries != len(a.Data) {
			return fmt.Errorf("array %q has %d numbers, want %d", a.Name, entries, len(a.Data))
		}
		delete(there, a.Name)
	}
	for _, e := range entries {
		if _, left := there[e.Name]; left {
			return fmt.Errorf("array %q is not of this training", e.Name)
		}
	}
	return nil
}

// read opens a file of the directory; errors name it.
func read(dir, name string, decode func(io.Reader) error) error {
	f, err := readfile.Regular(filepath.Join(dir, name))
	if err != nil {
		return check.Errorf("checkpoint", nil, "%w", err)
	}
	defer f.Close() //nolint:errcheck // only read
	err = decode(f)
	if errors.Is(err, npy.ErrFormat) {
		err = check.Errorf("", ErrFormat, "%w", err)
	}
	if err != nil {
		return check.Errorf("checkpoint", nil, "%s: %w", filepath.Join(dir, name), err)
	}
	return nil
}
