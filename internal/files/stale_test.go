// SPDX-License-Identifier: Apache-2.0

package files

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// What writers that are gone have left is removed by the next one, and nothing else.
func TestStale(t *testing.T) {
	if !locks {
		t.Skip("no locks here")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	left := func(name string) { // by a writer that was killed, or by somebody else
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte("left"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{".a.tmp-ABCDEFGH2345", ".b.tmp-ABCDEFGH2345", ".a.tmp-ABCDEFGH2345.tmp-ABCDEFGH2345"} {
		left(name) // of this path, of another one, and of one with such a name
	}
	for _, name := range []string{".a.tmp-ABCDEFGH23456", ".a.tmp-abcdefgh2345", "a.tmp-ABCDEFGH2345", "..tmp-ABCDEFGH2345"} {
		left(name) // of no writer
	}
	if err := os.Mkdir(filepath.Join(dir, ".a.tmp-ABCDEFGH2346"), 0o700); err != nil { // no file
		t.Fatal(err)
	}
	others := []string{
		"..tmp-ABCDEFGH2345", ".a.tmp-ABCDEFGH23456", ".a.tmp-ABCDEFGH2346", ".a.tmp-abcdefgh2345", "a", "a.tmp-ABCDEFGH2345",
	}
	// One that is at work is left alone, however often others write.
	working, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer working.Discard()
	create(t, path, "one")
	create(t, path, "two")
	if _, err := working.Write([]byte("three")); err != nil {
		t.Fatal(err)
	}
	if err := working.Commit(); err != nil {
		t.Fatal(err)
	}
	holds(t, path, "three", others...)

	// The same for directories.
	dir = t.TempDir()
	path = filepath.Join(dir, "a")
	left(".a.tmp-ABCDEFGH2345")                                                   // no directory
	for _, name := range []string{".a.tmp-ABCDEFGH2346", ".b.tmp-ABCDEFGH2346"} { // the other may hold what was at b
		if err := os.MkdirAll(filepath.Join(dir, name, "inner"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	fill := func(content string) func(string) error {
		return func(dir string) error { return os.WriteFile(filepath.Join(dir, "file"), []byte(content), 0o600) }
	}
	err = Directory(path, func(dir string) error {
		if err := Directory(path, fill("one")); err != nil { // while this one is at work
			return err
		}
		return fill("two")(dir)
	})
	if err != nil {
		t.Fatal(err)
	}
	holds(t, filepath.Join(path, "file"), "two", "file")
	holds(t, filepath.Join(dir, ".a.tmp-ABCDEFGH2345"), "left", ".a.tmp-ABCDEFGH2345", ".b.tmp-ABCDEFGH2346", "a")
}

// Many writers to one path at once, each of which removes what the others seem to have
// left: all succeed, and nothing is left.
func TestConcurrentWriters(t *testing.T) {
	const writers, times = 8, 50
	path := filepath.Join(t.TempDir(), "a")
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range times {
				f, err := Create(path)
				if err != nil {
					t.Errorf("writer %d, file %d: %v", w, i, err)
					return
				}
				if _, err = fmt.Fprint(f, "whole"); err == nil {
					err = f.Commit()
				}
				f.Discard()
				if err != nil {
					t.Errorf("writer %d, file %d: %v", w, i, err)
				}
			}
		})
	}
	all.Wait()
	holds(t, path, "whole", "a")
}
