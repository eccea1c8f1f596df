package bundle

import (
	"encoding/json"
	"io"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/strictjson"
)

// The constants of the file format; docs/bundle-format.md describes it.
const (
	formatName    = "noisewright-bundle"
	formatVersion = 1
)

// fileFormat bounds bundle.json: 2^16 names of up to 1 KiB are meant to be shorter.
var fileFormat = strictjson.Format{
	Noun: "bundle", Name: formatName, Version: formatVersion, MaxSize: 16 << 20, Err: ErrFormat,
	MaxElements: map[string]int{"features": MaxFeatures, "table_of": MaxCoordinates},
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
}

type fileNoise struct {
	Kind        Kind        `json:"kind"`
	Composition Composition `json:"composition"`
	Tau         float64     `json:"tau"`
	Tables      int         `json:"tables"`
	TableOf     []int       `json:"table_of"`
}

func newFile(s *Spec) file {
	return file{
		Format: formatName, Version: formatVersion,
		Privacy:  s.Promise,
		Features: s.Features, FeatureBounds: s.FeatureLower != nil,
		Coordinates: len(s.Axes), Domain: s.Domain, ClipOrigin: s.ClipOrigin,
		Noise:     fileNoise{s.Noise, s.Composition, s.Tau, len(s.Tables), append([]int{}, s.TableOf...)},
		Task:      s.Task.Rows > 0,
		Predicted: s.Predicted,
	}
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
	switch {
	case f.Coordinates < 1 || f.Coordinates > MaxCoordinates || f.Noise.Tables < 0 || f.Noise.Tables > f.Coordinates:
		return file{}, check.Errorf("", ErrFormat, "coordinates = %d and tables = %d, want at most %d coordinates and no more than one table of each",
			f.Coordinates, f.Noise.Tables, MaxCoordinates)
	case len(f.Features) < 1 || f.Coordinates > MaxEntries/len(f.Features):
		return file{}, check.Errorf("", ErrFormat, "features = %d names for %d coordinates, want 1 to %d names and %d entries of a matrix",
			len(f.Features), f.Coordinates, MaxFeatures, MaxEntries)
	}
	return f, nil
}
