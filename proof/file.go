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

// Encode writes a file of the form on one line.
func (f Form) Encode(w io.Writer, file any) error {
	if err := strictjson.Encode(w, file); err != nil {
		return check.Errorf(f.Package, nil, "encode: %w", err)
	}
	return nil
}

// Recognize reports whether a file is of the form, given how it starts: that its first field
// is the name of the format.
func (f Form) Recognize(head []byte) bool {
	d := json.NewDecoder(bytes.NewReader(head))
	for _, want := range []json.Token{json.Delim('{'), "format", f.File.Name} {
		if tok, err := d.Token(); err != nil || tok != want {
			return false
		}
	}
	return true
}

// Reader reads the files of a form.
type Reader struct {
	form   Form
	decode func(io.Reader) (Mechanism, error)
}

// Reads returns the Reader of a form by the Decode of its package.
func Reads[M Mechanism](f Form, decode func(io.Reader) (M, error)) Reader {
	return Reader{f, func(r io.Reader) (Mechanism, error) {
		m, err := decode(r)
		if err != nil {
			return nil, err // m is a nil pointer, which is not a nil Mechanism
		}
		return m, nil
	}}
}

// peek is how much of a file is looked at for its form.
const peek = 512

// Decode reads a file of one of several forms, as proof/forms lists them. What is of none is
// read as the first, whose errors say what is wrong with it. Nothing is verified. Errors are
// those of the Decode of the form.
func Decode(r io.Reader, forms []Reader) (Mechanism, error) {
	b := bufio.NewReader(r) // r itself, if that is large enough
	head, _ := b.Peek(peek)
	for _, f := range forms {
		if f.form.Recognize(head) {
			return f.decode(b)
		}
	}
	return forms[0].decode(b)
}

// ReadFile decodes a regular file. Errors name it, and may also be those of the file system.
func ReadFile[T any](f Form, path string, decode func(io.Reader) (T, error)) (t T, err error) {
	file, err := files.Regular(path)
	if err == nil {
		defer file.Close() //nolint:errcheck // only read
		t, err = decode(bufio.NewReader(file))
	}
	if err != nil {
		var none T
		return none, check.Errorf(f.Package, nil, "%s: %w", path, cause(err))
	}
	return t, nil
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

// cause is a file error without the path, which the message has already.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
