// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/limits"
	"github.com/noisewright/noisewright/internal/strictjson"
	"github.com/noisewright/noisewright/proof"
)

// The constants of the file format; docs/bundle-format.md describes it.
const (
	formatName = "noisewright-bundle"
	// Version 2 has what Spec.second tells; bundles without are written as version 1. Version 3 is
	// that of the kind Decision, version 4 that of Balls, and both have the fields of version 2 too.
	ballsVersion, decisionVersion, secondVersion, oldestVersion = 4, 3, 2, 1
)

// fileFormat bounds bundle.json: 2^16 names of up to 1 KiB are meant to be shorter.
var fileFormat = strictjson.Format{
	Noun: "bundle", Name: formatName, Version: ballsVersion, Oldest: oldestVersion, MaxSize: 16 << 20, Err: proof.ErrFormat,
	MaxElements: map[string]int{
		"features": maxFeatures, "table_of": limits.Coordinates, "randomizer_of": limits.Coordinates,
		"layers": maxLayers, "head": maxLayers, "outputs": maxFeatures, "decisions": limits.LocalAnswers,
	},
}

// file is bundle.json.
type file struct {
	Format        string    `json:"format"`
	Version       int       `json:"version"`
	Privacy       *Promise  `json:"privacy" strict:"null"` // null for the kind none
	Features      []string  `json:"features"`
	FeatureBounds bool      `json:"feature_bounds"`
	Coordinates   int       `json:"coordinates"`
	Domain        Domain    `json:"domain"`
	ClipOrigin    string    `json:"clip_origin"`
	Noise         fileNoise `json:"noise"`
	Task          bool      `json:"task"`
	Predicted     Predicted `json:"predicted"`
	// In version 2, and nil or "" before.
	Lookup  *bool       `json:"lookup,omitzero"`
	Layers  []fileLayer `json:"layers,omitzero"`
	Head    []fileLayer `json:"head,omitzero"`
	Output  string      `json:"output,omitzero"`
	Outputs []string    `json:"outputs,omitzero"`
	// In version 3, and nil before.
	Cells *fileCells `json:"cells,omitzero"`
}

// fileCells is a Category without its numbers.
type fileCells struct {
	Levels    int   `json:"levels"`
	Decisions []int `json:"decisions"`
}

// fileLayer is a layer without its numbers.
type fileLayer struct {
	Width      int    `json:"width"`
	Activation string `json:"activation"`
}

// outputFeatures is what Features is in files.
const outputFeatures = "features"

type fileNoise struct {
	Kind        Kind        `json:"kind"`
	Composition Composition `json:"composition"`
	Tau         float64     `json:"tau"`
	Tables      int         `json:"tables"`
	TableOf     []int       `json:"table_of"`
	// In version 2, and nil before.
	Randomizers  *int  `json:"randomizers,omitzero"`
	RandomizerOf []int `json:"randomizer_of,omitzero"`
}

func (n fileNoise) randomizers() int {
	if n.Randomizers == nil {
		return 0
	}
	return *n.Randomizers
}

// second reports whether there is something in a bundle that version 1 does not have.
func (s *Spec) second() bool {
	return len(s.Randomizers) > 0 || s.Lookup != nil || secondOnly(s.Domain, s.Noise, s.Composition) ||
		len(s.Layers) > 0 || len(s.Head) > 0 || s.Output != Features
}

// second is that of the Spec, as far as the file tells.
func (f file) second() bool {
	return f.Noise.randomizers() != 0 || *f.Lookup || secondOnly(f.Domain, f.Noise.Kind, f.Noise.Composition) ||
		len(f.Layers) > 0 || len(f.Head) > 0 || f.Output != outputFeatures
}

// secondOnly reports whether one of these words is none of version 1.
func secondOnly(d Domain, k Kind, c Composition) bool {
	return d == L1Ball || k == None || c == noComposition || c == jointNorm || c == jointBalls
}

func newFile(s *Spec) file {
	f := file{
		Format: formatName, Version: oldestVersion,
		Privacy:  &s.Promise,
		Features: s.Features, FeatureBounds: s.FeatureLower != nil,
		Coordinates: s.coordinates(), Domain: s.Domain, ClipOrigin: s.ClipOrigin,
		Noise:     fileNoise{Kind: s.Noise, Composition: s.Composition, Tau: s.Tau, Tables: len(s.Tables), TableOf: append([]int{}, s.TableOf...)},
		Task:      s.Task.Rows > 0,
		Predicted: s.Predicted,
	}
	if s.Noise == None {
		f.Privacy = nil
	}
	if s.second() {
		f.Version = secondVersion
		f.Noise.Randomizers, f.Noise.RandomizerOf, f.Lookup = new(len(s.Randomizers)), append([]int{}, s.RandomizerOf...), new(s.Lookup != nil)
		f.Layers, f.Head = newFileLayers(s.Layers), newFileLayers(s.Head)
		f.Output, f.Outputs = cmp.Or(s.Output, outputFeatures), append([]string{}, s.Outputs...)
	}
	if s.Ball != nil {
		f.Version = ballsVersion
	}
	if c := s.Category; c != nil {
		f.Version, f.Cells = decisionVersion, &fileCells{c.levels(), c.Decisions}
	}
	return f
}

func newFileLayers(layers []Layer) []fileLayer {
	list := make([]fileLayer, len(layers))
	for i, l := range layers {
		list[i] = fileLayer{l.Weights.Rows, l.Activation}
	}
	return list
}

// spec returns what the file tells. The weights of layers have their number of rows alone.
func (f file) spec() Spec {
	s := Spec{
		Features: f.Features, Domain: f.Domain, ClipOrigin: f.ClipOrigin,
		Noise: f.Noise.Kind, Composition: f.Noise.Composition, Tau: f.Noise.Tau, TableOf: orNil(f.Noise.TableOf), RandomizerOf: orNil(f.Noise.RandomizerOf),
		Promise: noPromise, Predicted: f.Predicted,
		Layers: layersOf(f.Layers), Head: layersOf(f.Head), Output: f.Output, Outputs: orNil(f.Outputs),
	}
	if f.Privacy != nil {
		s.Promise = *f.Privacy
	}
	if f.Lookup != nil && *f.Lookup {
		s.Lookup = new(Lookup)
	}
	if f.Output == outputFeatures {
		s.Output = Features
	}
	if c := f.Cells; c != nil {
		s.Category = &Category{Edges: Matrix{Rows: len(f.Outputs), Cols: c.Levels - 1}, Decisions: c.Decisions}
	}
	return s
}

func layersOf(list []fileLayer) (layers []Layer) {
	for _, l := range list {
		layers = append(layers, Layer{Weights: Matrix{Rows: l.Width}, Activation: l.Activation})
	}
	return layers
}

// orNil returns nil for no elements.
func orNil[T any](list []T) []T { return append([]T(nil), list...) }

func (f file) encode(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	return e.Encode(f)
}

// decodeFile reads bundle.json, as strictly as package tables reads its files.
// Errors wrap proof.ErrFormat, or are those of r.
func decodeFile(r io.Reader) (file, error) {
	var f file
	err := strictjson.Decode(r, fileFormat, &f)
	if err == nil {
		err = f.check()
	}
	if err != nil {
		return file{}, err
	}
	return f, nil
}

// check holds fields against each other that say which files there are, and how large they may be.
func (f file) check() error {
	second := f.Version >= secondVersion
	for _, there := range []bool{f.Noise.Randomizers != nil, f.Noise.RandomizerOf != nil, f.Lookup != nil, f.Layers != nil, f.Head != nil, f.Output != "", f.Outputs != nil} {
		if there != second {
			return malformed("version = %d, want %d with all of the fields noise.randomizers, noise.randomizer_of, lookup, layers, head, output and outputs, or %d with none of them",
				f.Version, secondVersion, oldestVersion)
		}
	}
	if err := f.checkCells(); err != nil {
		return err
	}
	counts := []int{f.Noise.Tables, f.Noise.randomizers()}
	lawless := f.Noise.Composition == jointNorm || f.Noise.Composition == noComposition || f.balls()
	switch {
	case f.balls() != (f.Version == ballsVersion) || (f.Noise.Kind == Balls) != f.balls():
		return malformed("version = %d, want %d with the kind ball and the composition ball, or none of the three", f.Version, ballsVersion)
	case f.balls() && f.Noise.Tables+f.Noise.randomizers() != 0:
		return malformed("tables = %d and randomizers = %d, want none for the composition ball", f.Noise.Tables, f.Noise.randomizers())
	case !second && secondOnly(f.Domain, f.Noise.Kind, f.Noise.Composition):
		return malformed("version = %d, want %d for the domain l1-ball, the kind none and the compositions norm and none", f.Version, secondVersion)
	case second && !f.second():
		return malformed("version = %d, want %d for a bundle with nothing of version %[1]d", f.Version, oldestVersion)
	case (f.Privacy == nil) != (f.Noise.Kind == None):
		return malformed("privacy = null or noise.kind = none without the other, want both or neither")
	case f.Coordinates < 1 || f.Coordinates > limits.Coordinates || slices.Min(counts) < 0 || slices.Max(counts) > f.Coordinates || slices.Max(counts) < 1 && !lawless:
		return malformed("coordinates = %d, tables = %d and randomizers = %d, want at most %d coordinates and 1 table or randomizer to one of each",
			f.Coordinates, counts[0], counts[1], limits.Coordinates)
	case len(f.Features) < 1 || f.encoded() > maxEntries/len(f.Features):
		return malformed("features = %d names for %d coordinates or scores, want 1 to %d names and %d entries of a matrix",
			len(f.Features), f.encoded(), maxFeatures, maxEntries)
	}
	// The weights are bounded before any file is read.
	if left, err := checkLayers(f.Layers, len(f.Features), maxEntries); err != nil {
		return err
	} else if _, err = checkLayers(f.Head, f.Coordinates, left); err != nil {
		return err
	}
	return nil
}

// balls reports whether there is noise on balls.
func (f file) balls() bool { return f.Noise.Composition == jointBalls }

// encoded returns how many numbers the encoder makes: those that are released, or a score for each class.
func (f file) encoded() int {
	if f.Cells != nil {
		return len(f.Outputs)
	}
	return f.Coordinates
}

// checkCells holds the cells against the version and the noise.
func (f file) checkCells() error {
	c, kind := f.Cells, f.Noise.Kind == Decision
	switch {
	case (c != nil) != (f.Version == decisionVersion) || kind != (c != nil) || (f.Domain == Cells) != kind:
		return malformed("version = %d, want %d with the field cells, the kind category and the domain cells, or none of the four", f.Version, decisionVersion)
	case c == nil:
		return nil
	case f.Coordinates != 1 || f.Noise.Tables != 0 || f.Noise.randomizers() != 1 || len(f.Head) > 0 || *f.Lookup || f.Task:
		return malformed("coordinates = %d with %d tables and %d randomizers, want 1 coordinate with 1 randomizer, and no head, lookup or task, for the kind category", f.Coordinates, f.Noise.Tables, f.Noise.randomizers())
	case c.Levels < 1 || c.Levels > maxLevels || len(f.Outputs) < 2 || len(f.Outputs)*c.Levels > limits.LocalNodes || len(c.Decisions) < 1:
		return malformed("levels = %d of %d classes and %d decisions, want at least 1 level, 2 classes, 1 decision and at most %d cells", c.Levels, len(f.Outputs), len(c.Decisions), limits.LocalNodes)
	}
	return nil
}

func malformed(format string, args ...any) error {
	return check.Errorf("", proof.ErrFormat, format, args...)
}

// checkLayers bounds the weights of layers that read so many numbers, and returns what is left.
func checkLayers(layers []fileLayer, in, left int) (int, error) {
	for _, l := range layers {
		if l.Width < 1 || l.Width > maxFeatures || l.Width > left/in {
			return 0, malformed("width = %d of a layer of %d numbers, want 1 to %d, and at most %d entries of all weights", l.Width, in, maxFeatures, maxEntries)
		}
		left -= in * l.Width
		in = l.Width
	}
	return left, nil
}
