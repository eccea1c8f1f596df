// SPDX-License-Identifier: Apache-2.0

package files

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// create makes a file with the content.
func create(t *testing.T, path, content string) {
	t.Helper()
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Discard()
	if _, err := f.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
}

// holds checks the content of a file, "" for none, and that only the named files
// are in its directory.
func holds(t *testing.T, path, content string, names ...string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if string(got) != content || (err == nil) != (content != "") {
		t.Errorf("%s holds %q, %v, want %q", path, got, err, content)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, e := range entries {
		found = append(found, e.Name())
	}
	if strings.Join(found, " ") != strings.Join(names, " ") {
		t.Errorf("the directory holds %q, want %q", found, names)
	}
}

func TestCreate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("one")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the file is there before Commit")
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	f.Discard()
	f.Discard()
	holds(t, path, "one", "a")

	create(t, path, "two")
	holds(t, path, "two", "a")

	f, err = Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("three")); err != nil {
		t.Fatal(err)
	}
	f.Discard()
	f.Discard()
	holds(t, path, "two", "a")
	if err := f.Commit(); err == nil {
		t.Error("Commit after Discard works")
	}
	holds(t, path, "two", "a")
}

func TestCreateKeepsMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes")
	}
	path := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o604); err != nil {
		t.Fatal(err)
	}
	create(t, path, "one")
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o604 {
		t.Errorf("mode = %v, %v, want 0604", info.Mode(), err)
	}
}

func TestCreateThroughLink(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "a"), filepath.Join(dir, "link")
	create(t, path, "one")
	if err := os.Symlink("a", link); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	create(t, link, "two")
	holds(t, path, "two", "a", "link")
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info, err)
	}
}

func TestCreateErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := Create(dir); err == nil || err.Error() != dir+" is a directory, want a file name" {
		t.Errorf("a directory: %v", err)
	}
	path := filepath.Join(dir, "none", "a")
	if _, err := Create(path); !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), path+": ") {
		t.Errorf("no parent: %v", err)
	}
	// What appears in the way before Commit stays, and nothing else does.
	path = filepath.Join(dir, "a")
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(); err == nil || !strings.HasPrefix(err.Error(), path+": ") {
		t.Errorf("a directory in the way: %v", err)
	}
	f.Discard()
	holds(t, filepath.Join(dir, "none"), "", "a")
}

// TestCreateDevice: what is no regular file is written to, at Commit.
func TestCreateDevice(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("wants /dev/full")
	}
	create(t, os.DevNull, "gone")
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode()&fs.ModeDevice == 0 {
		t.Fatalf("%s is %v, %v", os.DevNull, info, err)
	}
	f, err := Create("/dev/full")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Discard()
	if _, err := f.Write([]byte("much")); err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(); err == nil || err.Error() != "/dev/full: no space left on device" {
		t.Errorf("a full device: %v", err)
	}
}

func TestSpool(t *testing.T) {
	var out bytes.Buffer
	f, err := Spool(&out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("one")); err != nil || out.Len() > 0 {
		t.Errorf("%q, %v before Commit", out.String(), err)
	}
	if err := f.Commit(); err != nil || out.String() != "one" {
		t.Errorf("%q, %v after Commit", out.String(), err)
	}
	f.Discard()
	f.Discard()
}

func TestDirectory(t *testing.T) {
	parent := t.TempDir()
	path, link := filepath.Join(parent, "d"), filepath.Join(parent, "link")
	fill := func(names ...string) func(string) error {
		return func(dir string) error {
			for _, n := range names {
				if err := os.WriteFile(filepath.Join(dir, n), []byte(n), 0o600); err != nil {
					return err
				}
			}
			return nil
		}
	}
	if err := Directory(path+"/", fill("a", "b")); err != nil {
		t.Fatal(err)
	}
	holds(t, filepath.Join(path, "a"), "a", "a", "b")
	if err := Directory(path, fill("c")); err != nil {
		t.Fatal(err)
	}
	holds(t, filepath.Join(path, "c"), "c", "c")
	broken := errors.New("broken")
	if err := Directory(path, func(dir string) error { return errors.Join(fill("d")(dir), broken) }); !errors.Is(err, broken) {
		t.Errorf("fill's error: %v", err)
	}
	holds(t, filepath.Join(path, "c"), "c", "c")
	if err := os.Symlink("d", link); err == nil {
		if err := Directory(link, fill("e")); err != nil {
			t.Error(err)
		}
		holds(t, filepath.Join(path, "e"), "e", "e")
		if err := os.Remove(link); err != nil {
			t.Error("the link is gone: ", err)
		}
	}
	if err := Directory(filepath.Join(parent, "none", "d"), fill()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no parent: %v", err)
	}
	holds(t, path, "", "d")
}

// TestDirectoryIsAlwaysThere reads a directory while it is replaced, where the system
// exchanges names.
func TestDirectoryIsAlwaysThere(t *testing.T) {
	parent := t.TempDir()
	probe := filepath.Join(parent, "probe")
	if err := errors.Join(os.Mkdir(probe, 0o777), os.Mkdir(probe+"2", 0o777)); err != nil {
		t.Fatal(err)
	}
	if err := exchange(probe, probe+"2"); err != nil {
		t.Skip(err)
	}
	path := filepath.Join(parent, "d")
	write := func(dir string) error { return os.WriteFile(filepath.Join(dir, "f"), []byte("x"), 0o600) }
	if err := Directory(path, write); err != nil {
		t.Fatal(err)
	}
	done, missing := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		for {
			select {
			case <-done:
				missing <- n
				return
			default:
			}
			if _, err := os.Lstat(path); err != nil {
				n++
			}
		}
	}()
	for range 300 {
		if err := Directory(path, write); err != nil {
			t.Error(err)
		}
	}
	close(done)
	if n := <-missing; n > 0 {
		t.Errorf("missing %d times", n)
	}
	left, err := os.ReadDir(parent)
	if err != nil || len(left) != 3 {
		t.Errorf("left %v, %v", left, err)
	}
}

// TestNew: what appears is its owner's alone, and a file that has come since is not replaced.
func TestNew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	write := func(content string) error {
		f, err := New(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Discard()
		if _, err := f.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
		return f.Commit()
	}
	if err := write("first"); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
		t.Errorf("%v, %v", info, err)
	}
	if err := write("second"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v, want a refusal", err)
	}
	holds(t, path, "first", "a")
}

// TestReplace holds that a link is replaced and not followed, and that devices, pipes and
// directories are refused.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	victim, link := filepath.Join(dir, "victim"), filepath.Join(dir, "link")
	if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, link); err != nil {
		t.Skip("no symbolic links here")
	}
	f, err := Replace(link)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Discard()
	if _, err := f.Write([]byte("new")); err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{victim: "precious", link: "new"} {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s has %q, %v, want %q", name, got, err, want)
		}
	}
	if _, err := Replace(dir); err == nil {
		t.Error("a directory is replaced")
	}
	if _, err := Replace(os.DevNull); err == nil {
		t.Error("a device is replaced")
	}
}
