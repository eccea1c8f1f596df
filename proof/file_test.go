// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/internal/formfile"
	"github.com/noisewright/noisewright/internal/strictjson"
)

// TestRecognize: the first field decides, whatever stands around it, and not what comes
// after or is cut off.
func TestRecognize(t *testing.T) {
	for text, want := range map[string]bool{
		`{"format":"a","version":1}`:    true,
		" {\n\t\"format\" : \"a\" , ":   true,
		`{"format":"a"`:                 true,
		`{"format":"a`:                  false,
		`{"format":"ab"}`:               false,
		`{"version":1,"format":"a"}`:    false,
		`{"Format":"a"}`:                false,
		`{"format":1}`:                  false,
		`["format","a"]`:                false,
		`"format"`:                      false,
		``:                              false,
		`{`:                             false,
		"\xef\xbb\xbf{\"format\":\"a\"": false,
	} {
		if got := pkg.Recognize([]byte(text)); got != want {
			t.Errorf("%q is of the format: %v, want %v", text, got, want)
		}
	}
}

// pkg is a form for tests.
var pkg = Form{Package: "pkg", Noun: "a thing", File: strictjson.Format{Noun: "thing", Name: "a", Version: 1, MaxSize: 1 << 20}}

// written is a mechanism that can be written to a file and nothing else.
type written struct {
	Mechanism
	encode func(w io.Writer) error
	text   string // that was read
}

func (written) Form() Form                 { return pkg }
func (m written) Encode(w io.Writer) error { return m.encode(w) }

func readText(r io.Reader) (written, error) {
	b, err := io.ReadAll(r)
	return written{text: string(b)}, err
}

// TestFiles: what is written is read, in place of what was there, and nothing else is left
// in the directory.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.json")
	for _, text := range []string{"first", "second"} {
		if err := WriteFile(path, written{encode: func(w io.Writer) error { _, err := io.WriteString(w, text); return err }}); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadFile(path, readText); err != nil || got.text != text {
			t.Fatalf("%q, %v, want %q", got.text, err, text)
		}
	}
	broken := errors.New("broken")
	err := WriteFile(path, written{encode: func(w io.Writer) error { _, _ = io.WriteString(w, "half"); return broken }})
	if !errors.Is(err, broken) {
		t.Errorf("%v, want what the encoder said", err)
	}
	if got, err := ReadFile(path, readText); err != nil || got.text != "second" {
		t.Errorf("%q, %v, want the file as it was", got.text, err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("%v, %v in the directory, want one file", list, err)
	}
}

// TestFileErrors name the file once and the package, and are those of the file system or of
// the decoder.
func TestFileErrors(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "none.json")
	broken := errors.New("broken")
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	second := func(_ written, err error) error { return err }
	link := filepath.Join(dir, "link")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(link, written{encode: func(io.Writer) error { return nil }}); err != nil {
		t.Errorf("in place of a link: %v", err)
	}
	if info, err := os.Lstat(link); err != nil || !info.Mode().IsRegular() {
		t.Errorf("%v, %v: the link was followed", info, err)
	}
	for _, c := range []struct {
		path string
		err  error
		want error
	}{
		{path, second(ReadFile(path, readText)), fs.ErrNotExist},
		{file, second(ReadFile(file, func(io.Reader) (written, error) { return written{}, broken })), broken},
		{dir, second(ReadFile(dir, readText)), nil},
		{filepath.Join(dir, "no", "a"), WriteFile(filepath.Join(dir, "no", "a"), written{encode: func(io.Writer) error { return nil }}), fs.ErrNotExist},
		{dir, WriteFile(dir, written{encode: func(io.Writer) error { return nil }}), nil},
	} {
		if c.err == nil || c.want != nil && !errors.Is(c.err, c.want) || strings.Count(c.err.Error(), c.path) != 1 || !strings.HasPrefix(c.err.Error(), "pkg: ") {
			t.Errorf("%v, want %v with the path %s once", c.err, c.want, c.path)
		}
	}
}

// TestDecode: what is not of the form is refused with its sentinel and its package, whatever
// the format's own sentinel is.
func TestDecode(t *testing.T) {
	var file struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if err := pkg.Decode(strings.NewReader(`{"format":"a","version":1}`), &file); err != nil || file.Version != 1 {
		t.Errorf("%+v, %v", file, err)
	}
	for _, bad := range []string{"", "{}", `{"format":"b","version":1}`, `{"format":"a","version":2}`, `{"format":"a","version":1,"x":1}`, `{"format":"a","version":1}{}`} {
		if err := pkg.Decode(strings.NewReader(bad), &file); !errors.Is(err, ErrFormat) || !strings.HasPrefix(err.Error(), "pkg: ") {
			t.Errorf("%s: %v, want ErrFormat", bad, err)
		}
	}
}

// TestEncode: a struct is a line, and an error of the writer is passed on.
func TestEncode(t *testing.T) {
	var b bytes.Buffer
	file := struct {
		Format string        `json:"format"`
		Loss   formfile.Loss `json:"loss"`
	}{"a", formfile.Loss{Name: "l1"}}
	if err := pkg.Encode(&b, file); err != nil || b.String() != `{"format":"a","loss":{"name":"l1"}}`+"\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
	broken := errors.New("broken")
	if err := pkg.Encode(writer{broken}, file); !errors.Is(err, broken) || check.Sentences(err)[0] != "encode: broken" {
		t.Errorf("%v, want that of the writer", err)
	}
}

type writer struct{ err error }

func (w writer) Write([]byte) (int, error) { return 0, w.err }
