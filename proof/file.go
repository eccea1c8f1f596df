// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/files"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/internal/strictjson"
)

// Form is a form of mechanisms.
type Form struct {
	// Package is the one that its errors come from.
	Package string
	// Noun is what a sentence calls one of it, with the article: "a local randomizer".
	Noun string
	// File is the format of its files.
	File strictjson.Format
}

// Decode reads one file of the form into the struct that file points to. It refuses
// duplicate, unknown and missing fields, numbers that are not written plainly or do not fit,
// and anything after it, and allocates at most a small multiple of the file. Errors wrap
// ErrFormat, or are those of r.
func (f Form) Decode(r io.Reader, file any) error {
	format := f.File
	format.Err = ErrFormat
	if err := strictjson.Decode(r, format, file); err != nil {
		return check.Errorf(f.Package, nil, "%w", err)
	}
	return nil
}

// Positive is what an optional field of a file says, 0 if the file leaves it out. The error
// wraps ErrFormat for a number that is not above 0.
func (f Form) Positive(field string, x *float64) (float64, error) {
	if x != nil && !(*x > 0) {
		return 0, check.Errorf(f.Package, ErrFormat, "%s = %g, want a number above 0", field, *x)
	}
	return formfile.Or(x, 0), nil
}

// Encode writes a file of the form on one line.
func (f Form) Encode(w io.Writer, file any) error {
	if err := strictjson.Encode(w, file); err != nil {
		return check.Errorf(f.Package, nil, "encode: %w", err)
	}
	return nil
}

// Recognize says whether a file is of the form by its start: the first field is the format's name.
func (f Form) Recognize(head []byte) bool {
	d := json.NewDecoder(bytes.NewReader(head))
	for _, want := range []json.Token{json.Delim('{'), "format", f.File.Name} {
		if tok, err := d.Token(); err != nil || tok != want {
			return false
		}
	}
	return true
}

// ReadFile decodes a regular file by the Decode of a form, as tables.Decode. Nothing is
// verified. Errors name the file, and may also be those of the file system.
func ReadFile[M Mechanism](path string, decode func(io.Reader) (M, error)) (m M, err error) {
	file, err := files.Regular(path)
	if err == nil {
		defer file.Close() //nolint:errcheck // only read
		m, err = decode(bufio.NewReader(file))
	}
	if err != nil {
		var none M
		pkg := "proof"
		if any(none) != nil { // a form's own pointer, which is nil, knows its form
			pkg = none.Form().Package
		}
		return none, check.Errorf(pkg, nil, "%s: %w", path, files.Cause(err))
	}
	return m, nil
}

// WriteFile writes a mechanism to a file, which appears whole or not at all. What is there
// is replaced: a symbolic link too, which is not followed, but what is neither a link nor a
// regular file is refused. Errors name the file and are those of the file system.
func WriteFile(path string, m Mechanism) error {
	pkg := m.Form().Package
	f, err := files.Replace(path)
	if err != nil {
		return check.Errorf(pkg, nil, "%w", err)
	}
	defer f.Discard()
	if err := m.Encode(f); err != nil {
		return err
	}
	if err := f.Commit(); err != nil {
		return check.Errorf(pkg, nil, "%w", err)
	}
	return nil
}
