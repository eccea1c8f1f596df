package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// The constants of the file format; docs/bundle-format.md describes it.
const (
	formatName    = "noisewright-bundle"
	formatVersion = 1
	// maxFileSize bounds bundle.json: 2^16 names of up to 1 KiB are meant to be
	// shorter than that.
	maxFileSize = 16 << 20
)

// file is bundle.json. Names are written in lower case throughout, which checkJSON
// relies on.
type file struct {
	Format        string        `json:"format"`
	Version       int           `json:"version"`
	Privacy       filePrivacy   `json:"privacy"`
	Features      []string      `json:"features"`
	FeatureBounds bool          `json:"feature_bounds"`
	Coordinates   int           `json:"coordinates"`
	Domain        Domain        `json:"domain"`
	ClipOrigin    string        `json:"clip_origin"`
	Noise         fileNoise     `json:"noise"`
	Task          bool          `json:"task"`
	Predicted     filePredicted `json:"predicted"`
}

type filePrivacy struct {
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
}

type fileNoise struct {
	Kind        Kind        `json:"kind"`
	Composition Composition `json:"composition"`
	Tau         float64     `json:"tau"`
	Tables      int         `json:"tables"`
	TableOf     []int       `json:"table_of"`
}

type filePredicted struct {
	TrainingLoss float64 `json:"training_loss"`
	TheoryLoss   float64 `json:"theory_loss"`
}

// fileFields are the fields of bundle.json, all of them required.
var fileFields = []string{
	"format", "version", "privacy", "privacy.epsilon", "privacy.delta", "features", "feature_bounds", "coordinates",
	"domain", "clip_origin", "noise", "noise.kind", "noise.composition", "noise.tau", "noise.tables", "noise.table_of",
	"task", "predicted", "predicted.training_loss", "predicted.theory_loss",
}

func newFile(s *Spec) file {
	return file{
		Format: formatName, Version: formatVersion,
		Privacy:  filePrivacy(s.Promise),
		Features: s.Features, FeatureBounds: s.FeatureLower != nil,
		Coordinates: len(s.Axes), Domain: s.Domain, ClipOrigin: s.ClipOrigin,
		Noise:     fileNoise{s.Noise, s.Composition, s.Tau, len(s.Tables), s.TableOf},
		Task:      s.Task.Rows > 0,
		Predicted: filePredicted(s.Predicted),
	}
}

func (f file) encode(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	return e.Encode(f)
}

// decodeFile reads bundle.json. It refuses what package tables refuses in its files:
// unknown, missing and repeated fields, null, numbers that do not fit, anything after
// the object. Errors wrap ErrFormat, or are those of r.
func decodeFile(r io.Reader) (f file, err error) {
	text, err := io.ReadAll(io.LimitReader(r, maxFileSize+1))
	if err != nil {
		return file{}, err
	}
	if len(text) > maxFileSize {
		return file{}, fmt.Errorf("file is larger than %d bytes: %w", maxFileSize, ErrFormat)
	}
	if err := checkJSON(text); err != nil {
		return file{}, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return file{}, fmt.Errorf("%w: %w", err, ErrFormat)
	}
	switch {
	case f.Format != formatName:
		err = fmt.Errorf("format = %.40q, want %q: %w", f.Format, formatName, ErrFormat)
	case f.Version != formatVersion:
		err = fmt.Errorf("version = %d, want %d, the one this program reads: %w", f.Version, formatVersion, ErrFormat)
	case f.Coordinates < 1 || f.Coordinates > MaxCoordinates || f.Noise.Tables < 1 || f.Noise.Tables > f.Coordinates:
		err = fmt.Errorf("coordinates = %d and tables = %d, want at most %d coordinates and 1 table to one of each: %w",
			f.Coordinates, f.Noise.Tables, MaxCoordinates, ErrFormat)
	case len(f.Features) < 1 || len(f.Features) > MaxFeatures || f.Coordinates > MaxEntries/len(f.Features):
		err = fmt.Errorf("features = %d names for %d coordinates, want 1 to %d names and %d entries of a matrix: %w",
			len(f.Features), f.Coordinates, MaxFeatures, MaxEntries, ErrFormat)
	}
	if err != nil {
		return file{}, err
	}
	return f, nil
}

// checkJSON makes the checks that encoding/json does not: every field of the format
// stands exactly once and under its own name, of which encoding/json would take any
// spelling in capitals, nothing is null, and nothing follows.
func checkJSON(text []byte) error {
	c := jsonChecker{dec: json.NewDecoder(bytes.NewReader(text)), seen: make(map[string]bool)}
	c.dec.UseNumber()
	err := c.value("")
	if err == nil {
		if _, end := c.dec.Token(); !errors.Is(end, io.EOF) {
			err = errors.New("data after the bundle")
		}
	}
	for _, field := range fileFields {
		if err == nil && !c.seen[field] {
			err = fmt.Errorf("%s is missing", field)
		}
	}
	if err != nil {
		return fmt.Errorf("%w: %w", err, ErrFormat)
	}
	return nil
}

type jsonChecker struct {
	dec  *json.Decoder
	seen map[string]bool // fields by their path
}

func (c *jsonChecker) value(path string) error {
	token, err := c.dec.Token()
	if err != nil {
		return fmt.Errorf("not JSON at byte %d: %w", c.dec.InputOffset(), err)
	}
	switch token {
	case nil:
		return fmt.Errorf("%s = null, want a value", path)
	case json.Delim('['):
		for c.dec.More() {
			// An element of an array is no object in this format, and no array.
			if element, err := c.dec.Token(); err != nil {
				return fmt.Errorf("not JSON at byte %d: %w", c.dec.InputOffset(), err)
			} else if _, nested := element.(json.Delim); nested || element == nil {
				return fmt.Errorf("%s has an element %v, want a string or a number", path, element)
			}
		}
		_, err = c.dec.Token()
	case json.Delim('{'):
		for c.dec.More() {
			name, err := c.dec.Token()
			if err != nil {
				return fmt.Errorf("not JSON at byte %d: %w", c.dec.InputOffset(), err)
			}
			field := fmt.Sprint(name)
			if path != "" {
				field = path + "." + field
			}
			if !slices.Contains(fileFields, field) {
				return fmt.Errorf("%s is not a field of the format", strconv.QuoteToGraphic(field[:min(len(field), 60)]))
			}
			if c.seen[field] {
				return fmt.Errorf("%s stands twice", field)
			}
			c.seen[field] = true
			if err := c.value(field); err != nil {
				return err
			}
		}
		_, err = c.dec.Token()
	}
	if err != nil {
		return fmt.Errorf("not JSON at byte %d: %w", c.dec.InputOffset(), err)
	}
	return nil
}
