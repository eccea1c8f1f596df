package proof

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/files"
	"github.com/noisewright/noisewright/internal/strictjson"
)

// Limits of the dual of a file.
const (
	MaxExponent    = 2000    // in absolute value
	MaxMultipliers = 1 << 21 // all together
)

// Loss is how a file writes a loss.
type Loss struct {
	Name string `json:"name"`
}

// Encode writes a file on one line.
func Encode(pkg string, w io.Writer, file any) error {
	if err := strictjson.Encode(w, file); err != nil {
		return check.Errorf(pkg, nil, "encode: %w", err)
	}
	return nil
}

// ReadFile decodes a regular file. Errors name it.
func ReadFile[T any](pkg, path string, decode func(io.Reader) (*T, error)) (t *T, err error) {
	f, err := files.Regular(path)
	if err == nil {
		defer f.Close() //nolint:errcheck // only read
		t, err = decode(bufio.NewReader(f))
	}
	if err != nil {
		return nil, check.Errorf(pkg, nil, "%s: %w", path, cause(err))
	}
	return t, nil
}

// WriteFile writes a file, whole or not at all. A symbolic link is replaced, not
// followed, and what is neither a link nor a regular file is refused. Errors name it.
func WriteFile(pkg, path string, encode func(io.Writer) error) error {
	f, err := files.Replace(path)
	if err != nil {
		return check.Errorf(pkg, nil, "%w", err)
	}
	defer f.Discard()
	if err := encode(f); err != nil {
		return err
	}
	if err := f.Commit(); err != nil {
		return check.Errorf(pkg, nil, "%w", err)
	}
	return nil
}

// cause is a file error without the path, which the message has already.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Recognize reports whether a file is of a format, given how it starts: that its first
// field is the format's.
func Recognize(head []byte, format string) bool {
	d := json.NewDecoder(bytes.NewReader(head))
	for _, want := range []json.Token{json.Delim('{'), "format", format} {
		if tok, err := d.Token(); err != nil || tok != want {
			return false
		}
	}
	return true
}
