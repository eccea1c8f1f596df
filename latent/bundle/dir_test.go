// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/dp"
	"github.com/noisewright/noisewright/proof"
)

func TestRoundTrip(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	specs := exampleSpecs(t)
	specs["local"], specs["local with a lookup"], specs["layers"], specs["filter"] = randomized(t), looked(t), layered(t), filter(t)
	for name, s := range specs {
		s.Features[1] = "Gewicht <kg> & \"größe\""
		if s.Noise != None {
			s.Promise.Epsilon = math.Nextafter(s.Promise.Epsilon, 3)
		}
		b := must(New(s))
		dir := filepath.Join(t.TempDir(), "b")
		if err := b.Write(dir, false); err != nil {
			t.Fatal(err)
		}
		back, err := Read(dir)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !equal(t, b, back) {
			t.Errorf("%s: read back %+v, want %+v", name, back.Spec(), b.Spec())
		}
		again := filepath.Join(t.TempDir(), "again")
		if err := back.Write(again, false); err != nil {
			t.Fatal(err)
		}
		if one, two := contents(t, dir), contents(t, again); !reflect.DeepEqual(one, two) {
			t.Errorf("%s: the files of what was read differ", name)
		}
	}
}

// equal compares bundles, and their tables, randomizers and noise on balls by their files.
func equal(t *testing.T, a, b *Bundle) bool {
	x, y := a.Spec(), b.Spec()
	one, _, _ := x.laws()
	two, _, _ := y.laws()
	if len(one) != len(two) {
		return false
	}
	for k := range one {
		var first, second bytes.Buffer
		if err := errors.Join(one[k].Encode(&first), two[k].Encode(&second)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			return false
		}
	}
	x.Tables, y.Tables, x.Randomizers, y.Randomizers, x.Ball, y.Ball = nil, nil, nil, nil, nil, nil
	return reflect.DeepEqual(x, y)
}

// contents reads all files below a directory.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var text []byte
			text, err = os.ReadFile(filepath.Join(dir, path))
			all[path] = string(text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestWriteThroughLink: a link to a bundle stays a link, and what it leads to is
// replaced.
func TestWriteThroughLink(t *testing.T) {
	parent := t.TempDir()
	dir, link := filepath.Join(parent, "b"), filepath.Join(parent, "link")
	one := must(New(perCoordinate(t)))
	other := perCoordinate(t)
	other.ClipOrigin = "another"
	two := must(New(other))
	if err := one.Write(dir, false); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("b", link); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	if err := two.Write(link, true); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info, err)
	}
	if back := must(Read(dir)); !equal(t, back, two) {
		t.Error("the bundle was not replaced")
	}
}

// TestHugeMatrix: a shape whose product overflows is refused.
func TestHugeMatrix(t *testing.T) {
	s := perCoordinate(t)
	s.Task = Matrix{Rows: math.MaxInt, Cols: len(s.Features)}
	if _, err := New(s); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("error = %v, want ErrInvalid", err)
	}
	s.Task = Matrix{Rows: 1 << 62, Cols: len(s.Features)}
	if _, err := New(s); !errors.Is(err, dp.ErrInvalid) {
		t.Errorf("error = %v, want ErrInvalid", err)
	}
}

func TestWriteLeavesAlone(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "b")
	one := must(New(perCoordinate(t)))
	other := perCoordinate(t)
	other.Tables, other.TableOf = other.Tables[:1], []int{0, 0}
	other.Promise = sumPromise(other.Tables[0], other.Tables[0])
	two := must(New(other))

	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := one.Write(dir, true); !errors.Is(err, fs.ErrExist) {
		t.Errorf("an empty directory: %v, want fs.ErrExist", err)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := one.Write(dir+"/", false); err != nil {
		t.Fatal(err)
	}
	if err := two.Write(dir, false); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a bundle: %v, want fs.ErrExist", err)
	}
	if err := two.Write(dir, true); err != nil {
		t.Error(err)
	}
	if back := must(Read(dir)); !equal(t, back, two) {
		t.Error("the bundle was not replaced")
	}
	if _, err := os.Stat(filepath.Join(dir, "tables", "01.json")); err == nil {
		t.Error("a table of the old bundle is left")
	}
	mine := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(mine, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := one.Write(dir, true); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "notes.txt") {
		t.Errorf("a bundle with a file more: %v, want fs.ErrExist about notes.txt", err)
	}
	if err := errors.Join(os.Rename(mine, filepath.Join(parent, "notes.txt")), os.Symlink(filepath.Join("..", "notes.txt"), filepath.Join(dir, "task.npy"))); err == nil {
		if err := one.Write(dir, true); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "task.npy") {
			t.Errorf("a bundle with a link: %v, want fs.ErrExist about task.npy", err)
		}
		if err := errors.Join(os.Remove(filepath.Join(dir, "task.npy")), os.Rename(filepath.Join(parent, "notes.txt"), mine)); err != nil {
			t.Fatal(err)
		}
	}
	if err := one.Write(mine, true); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file: %v, want fs.ErrExist", err)
	}
	if err := one.Write(filepath.Join(parent, "none", "b"), false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no parent: %v, want fs.ErrNotExist", err)
	}
	entries, err := os.ReadDir(parent)
	if err != nil || len(entries) != 1 {
		t.Errorf("left beside the bundle: %v, %v", entries, err)
	}
}

// TestReadRefuses spoils one file at a time.
func TestReadRefuses(t *testing.T) {
	s := exampleSpecs(t)["basic bounds"]
	good := filepath.Join(t.TempDir(), "b")
	if err := must(New(s)).Write(good, false); err != nil {
		t.Fatal(err)
	}
	files := contents(t, good)
	replace := func(old, with string) func(string) string {
		return func(text string) string {
			if !strings.Contains(text, old) {
				t.Fatalf("no %s in %s", old, text)
			}
			return strings.Replace(text, old, with, 1)
		}
	}
	cut := func(n int) func(string) string { return func(text string) string { return text[:len(text)-n] } }
	for _, c := range []struct {
		name  string
		spoil func(string) string
		want  error
		says  string
	}{
		{"bundle.json", replace(`"version": 1`, `"version": 2`), proof.ErrFormat, "version"},
		{"bundle.json", func(text string) string {
			text = strings.Replace(text, `"version": 1`, `"version": 2, "lookup": false, "layers": [], "head": [], "output": "features", "outputs": []`, 1)
			return strings.Replace(text, `"table_of"`, `"randomizers": 0, "randomizer_of": [], "table_of"`, 1)
		}, proof.ErrFormat, "version = 2, want 1 for a bundle with nothing of version 2"},
		{"bundle.json", replace(`noisewright-bundle`, `noisewright-table`), proof.ErrFormat, "format"},
		{"bundle.json", replace(`"task"`, `"Task"`), proof.ErrFormat, "Task"},
		{"bundle.json", replace(`"task": true,`, ``), proof.ErrFormat, "task is missing"},
		{"bundle.json", replace(`"task": true,`, `"task": true, "task": true,`), proof.ErrFormat, "task stands twice"},
		{"bundle.json", replace(`"task": true,`, `"task": true, "extra": 1,`), proof.ErrFormat, "extra"},
		{"bundle.json", replace(`"task": true,`, `"task": null,`), proof.ErrFormat, "task = null"},
		{"bundle.json", replace(`"task": true,`, `"task": 1,`), proof.ErrFormat, "task"},
		{"bundle.json", replace(`"height"`, `["height"]`), proof.ErrFormat, "features"},
		{"bundle.json", replace(`"height"`, `null`), proof.ErrFormat, "features"},
		{"bundle.json", replace(`"coordinates": 2`, `"coordinates": 5000`), proof.ErrFormat, "coordinates"},
		{"bundle.json", replace(`"coordinates": 2`, `"coordinates": 3`), proof.ErrFormat, "encoder.npy"},
		{"bundle.json", replace(`"tables": 2`, `"tables": 1`), dp.ErrInvalid, "table_of"},
		{"bundle.json", replace(`"domain": "bounds"`, `"domain": "bound"`), dp.ErrInvalid, "domain"},
		{"bundle.json", replace(`"epsilon": 1.5`, `"epsilon": 1e999`), proof.ErrFormat, "epsilon"},
		{"bundle.json", replace(`"domain": "bounds"`, `"domain": "l1-ball"`), proof.ErrFormat, "version = 1, want 2 for the domain l1-ball"},
		{"bundle.json", replace(`"kind": "designed"`, `"kind": "none"`), proof.ErrFormat, "version = 1, want 2 for the domain l1-ball, the kind none"},
		{"bundle.json", replace(`"composition": "basic"`, `"composition": "norm"`), proof.ErrFormat, "version = 1, want 2"},
		{"bundle.json", func(text string) string { return text + "{}" }, proof.ErrFormat, "data after"},
		{"bundle.json", cut(3), proof.ErrFormat, "ends early"},
		{"bundle.json", func(string) string { return strings.Repeat(" ", int(fileFormat.MaxSize)+1) }, proof.ErrFormat, "larger"},
		{"bundle.json", func(string) string { return strings.Repeat("[", 100000) }, proof.ErrFormat, "want an object"},
		{"encoder.npy", cut(1), proof.ErrFormat, "ends early"},
		{"encoder.npy", func(text string) string { return text + "x" }, proof.ErrFormat, "data after"},
		{"encoder.npy", replace("(2, 2)", "(4, 1)"), proof.ErrFormat, "shape"},
		{"encoder.npy", replace("(2, 2)", "(4,)"), proof.ErrFormat, "shape"},
		{"encoder.npy", replace("<f8", ">f8"), proof.ErrFormat, "descr"},
		{"encoder.npy", replace("False", "True"), proof.ErrFormat, "fortran"},
		{"mean.npy", replace("(2,)", "(99999999999999999999,)"), proof.ErrFormat, "shape"},
		{"mean.npy", replace("NUMPY", "NUMPI"), proof.ErrFormat, "not a NumPy"},
		{"mean.npy", replace("NUMPY\x01", "NUMPY\x03"), proof.ErrFormat, "version"},
		{"task.npy", cut(16), proof.ErrFormat, "ends early"},
		{"axes.npy", func(text string) string { return text[:len(text)-8] + "\x00\x00\x00\x00\x00\x00\xf8\x7f" }, dp.ErrInvalid, "axes[1]"},
		{"tables/01.json", replace(`"version":1`, `"version":3`), proof.ErrFormat, "01.json"},
		{"tables/01.json", cut(2), proof.ErrFormat, "01.json"},
	} {
		if testing.Short() && c.says == "larger" {
			continue
		}
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(good)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, c.name), []byte(c.spoil(files[c.name])), 0o600); err != nil {
			t.Fatal(err)
		}
		if b, err := Read(dir); b != nil || !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %v with %q", c.name, err, c.want, c.says)
		}
	}
	for name := range files {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(good)); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if b, err := Read(dir); b != nil || !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v, want fs.ErrNotExist", name, err)
		}
	}
}

// TestTamperedFiles edits the files of a proved bundle so that they claim more than
// is true; they can be read, and are not private.
func TestTamperedFiles(t *testing.T) {
	specs := exampleSpecs(t)
	for i, c := range []struct{ of, name, old, with string }{
		{"basic box", "bundle.json", `"epsilon": 1.5`, `"epsilon": 1.4`},
		{"basic box", "tables/00.json", `"epsilon":1`, `"epsilon":0.9`},
		{"basic box", "tables/01.json", `"sensitivity":1`, `"sensitivity":2`},
		{"basic box", "axes.npy", "\xe0\x3f", "\xf0\x3f"}, // 0.5 is 1
		{"l1 box", "bundle.json", `"epsilon": 1`, `"epsilon": 0.99`},
		{"l1 box", "tables/00.json", `"granularity_exponent":-6`, `"granularity_exponent":-7`},
		{"l1 box", "axes.npy", "\xd8\x3f", "\xe8\x3f"},
		{"l1 bounds", "feature_upper.npy", "\x00\x40", "\x08\x40"}, // 2 is 3
		{"l2 ball", "bundle.json", `"delta": 0.001`, `"delta": 0.0009`},
		{"l2 ball", "bundle.json", `"domain": "ball"`, `"domain": "box"`},
		{"norm ball", "bundle.json", `"epsilon": 2.5`, `"epsilon": 2.25`},
		{"norm ball", "bundle.json", `"tau": 0.4`, `"tau": 0.3`},
	} {
		if testing.Short() && i%3 > 0 {
			continue
		}
		dir := filepath.Join(t.TempDir(), "b")
		if err := must(New(specs[c.of])).Write(dir, false); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, c.name)
		text := string(must(os.ReadFile(path)))
		at := strings.LastIndex(text, c.old)
		if at < 0 {
			t.Fatalf("%s: no %q in %s", c.of, c.old, c.name)
		}
		text = text[:at] + c.with + text[at+len(c.old):]
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := Read(dir)
		if err != nil {
			t.Errorf("%s, %s: %v", c.of, c.with, err)
			continue
		}
		if v, err := b.Verify(nil); v != nil || !errors.Is(err, proof.ErrNotPrivate) {
			t.Errorf("%s, %s in %s: %v, want ErrNotPrivate", c.of, c.with, c.name, err)
		}
	}
}

func FuzzDecodeFile(f *testing.F) {
	specs := exampleSpecs(f)
	specs["local"], specs["lookup"], specs["layers"], specs["filter"], specs["category"] = randomized(f), looked(f), layered(f), filter(f), decisive(f)
	for _, name := range []string{"basic bounds", "l1 ball", "l2 box", "norm box", "l1 l1-ball", "local", "lookup", "layers", "filter", "category"} {
		s := specs[name]
		var b bytes.Buffer
		if err := newFile(&s).encode(&b); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
		f.Add(bytes.ReplaceAll(b.Bytes(), []byte("1"), []byte("null")))
		f.Add(bytes.Replace(b.Bytes(), []byte(`"version"`), []byte(`"optional":["x"],"x":[{}],"version"`), 1))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		one, err := decodeFile(bytes.NewReader(text))
		if err != nil {
			if !errors.Is(err, proof.ErrFormat) || !reflect.DeepEqual(one, file{}) {
				t.Fatalf("%+v, %v", one, err)
			}
			return
		}
		if !json.Valid(text) {
			t.Fatal("accepts what is not JSON")
		}
		var b bytes.Buffer
		if err := one.encode(&b); err != nil {
			t.Fatal(err)
		}
		two, err := decodeFile(&b)
		if err != nil || !reflect.DeepEqual(one, two) {
			t.Fatalf("written and read again: %v", err)
		}
	})
}
