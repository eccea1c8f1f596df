package bundle

import (
	"encoding/json"
	"io"
	"slices"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/strictjson"
)

// The constants of the file format; docs/bundle-format.md describes it.
const (
	formatName = "noisewright-bundle"
	// Version 2 has randomizers, a lookup or the composition norm; bundles without are
	// written as version 1.
	formatVersion, oldestVersion = 2, 1
)

// fileFormat bounds bundle.json: 2^16 names of up to 1 KiB are meant to be shorter.
var fileFormat = strictjson.Format{
	Noun: "bundle", Name: formatName, Version: formatVersion, Oldest: oldestVersion, MaxSize: 16 << 20, Err: ErrFormat,
	MaxElements: map[string]int{"features": MaxFeatures, "table_of": MaxCoordinates, "randomizer_of": MaxCoordinates},
}

// file is bundle.json.
type file struct {
	Format        string    `json:"format"`
	Version       int       `json:"version"`
	Privacy       Promise   `json:"privacy"`
	Features      []string  `json:"features"`
	FeatureBounds bool      `json:"feature_bounds"`
	Coordinates   int       `json:"coordinates"`
	Domain        Domain    `json:"domain"`
	ClipOrigin    string    `json:"clip_origin"`
	Noise         fileNoise `json:"noise"`
	Task          bool      `json:"task"`
	Predicted     Predicted `json:"predicted"`
	Lookup        *bool     `json:"lookup,omitzero"` // in version 2, and nil before
}

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

func newFile(s *Spec) file {
	f := file{
		Format: formatName, Version: oldestVersion,
		Privacy:  s.Promise,
		Features: s.Features, FeatureBounds: s.FeatureLower != nil,
		Coordinates: len(s.Axes), Domain: s.Domain, ClipOrigin: s.ClipOrigin,
		Noise:     fileNoise{Kind: s.Noise, Composition: s.Composition, Tau: s.Tau, Tables: len(s.Tables), TableOf: append([]int{}, s.TableOf...)},
		Task:      s.Task.Rows > 0,
		Predicted: s.Predicted,
	}
	if count, lookup := len(s.Randomizers), s.Lookup != nil; count > 0 || lookup || s.Composition == Norm {
		f.Version = formatVersion
		f.Noise.Randomizers, f.Noise.RandomizerOf, f.Lookup = &count, append([]int{}, s.RandomizerOf...), &lookup
	}
	return f
}

func (f file) encode(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	return e.Encode(f)
}

// decodeFile reads bundle.json, as strictly as package tables reads its files.
// Errors wrap ErrFormat, or are those of r.
func decodeFile(r io.Reader) (file, error) {
	var f file
	if err := strictjson.Decode(r, fileFormat, &f); err != nil {
		return file{}, err
	}
	second := f.Noise.Randomizers != nil
	counts := []int{f.Noise.Tables, f.Noise.randomizers()}
	switch {
	case second != (f.Version == formatVersion), second != (f.Noise.RandomizerOf != nil), second != (f.Lookup != nil), f.Noise.Composition == Norm && !second:
		return file{}, check.Errorf("", ErrFormat, "version = %d, want %d with the fields noise.randomizers, noise.randomizer_of and lookup, as the composition norm has them, or %d with none of them",
			f.Version, formatVersion, oldestVersion)
	case f.Coordinates < 1 || f.Coordinates > MaxCoordinates || slices.Min(counts) < 0 || slices.Max(counts) > f.Coordinates || slices.Max(counts) < 1 && f.Noise.Composition != Norm:
		return file{}, check.Errorf("", ErrFormat, "coordinates = %d, tables = %d and randomizers = %d, want at most %d coordinates and 1 table or randomizer to one of each",
			f.Coordinates, counts[0], counts[1], MaxCoordinates)
	case len(f.Features) < 1 || f.Coordinates > MaxEntries/len(f.Features):
		return file{}, check.Errorf("", ErrFormat, "features = %d names for %d coordinates, want 1 to %d names and %d entries of a matrix",
			len(f.Features), f.Coordinates, MaxFeatures, MaxEntries)
	}
	return f, nil
}
