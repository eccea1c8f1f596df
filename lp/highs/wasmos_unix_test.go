// SPDX-License-Identifier: Apache-2.0

//go:build highswasm && unix

package highs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestTrusted: machine code is kept only where nobody else could put it.
func TestTrusted(t *testing.T) {
	top := t.TempDir()
	if !trusted(top) {
		t.Skip("others may write to the temporary directory")
	}
	folder := func(name string, mode fs.FileMode) string {
		dir := filepath.Join(top, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, mode); err != nil { // whatever the mask is
			t.Fatal(err)
		}
		return dir
	}
	link := func(name, to string) string {
		at := filepath.Join(top, name)
		if err := os.Symlink(to, at); err != nil {
			t.Fatal(err)
		}
		return at
	}
	own := folder("own", 0o755)
	public := folder("public", 0o777)
	group := folder("group", 0o770)
	sticky := folder("sticky", 0o777|fs.ModeSticky)
	inPublic := folder("public/own", 0o700)
	inSticky := folder("sticky/own", 0o700)
	holdsPublic, holdsLink := folder("holdsPublic", 0o700), folder("holdsLink", 0o700)
	folder("holdsPublic/code", 0o777)
	link("holdsLink/code", own)
	for dir, want := range map[string]bool{
		own: true, inSticky: true,
		public: false, group: false, sticky: false, inPublic: false,
		holdsPublic: false, holdsLink: false, link("toOwn", own): false,
		filepath.Join(top, "none"): false,
	} {
		if got := trusted(dir); got != want {
			t.Errorf("trusted(%s) = %v, want %v", dir, got, want)
		}
	}
}

// TestTrustedFolder: the path does not depend on links that somebody else could replace, and
// designs that are kept beside are not in the folder, which is removed if a file is damaged.
func TestTrustedFolder(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if !trusted(top) {
		t.Skip("others may write to the temporary directory")
	}
	base, to := filepath.Join(top, "link"), filepath.Join(top, "caches")
	if err := errors.Join(os.Mkdir(to, 0o700), os.Symlink(to, base)); err != nil {
		t.Fatal(err)
	}
	if got, want := trustedFolder(base), filepath.Join(to, "noisewright", "highs"); got != want {
		t.Errorf("the folder is %q, want %q", got, want)
	}
	if err := os.Chmod(to, 0o777); err != nil { //nolint:gosec // as an untrusted one
		t.Fatal(err)
	}
	if got := trustedFolder(base); got != "" {
		t.Errorf("the folder is %q where others may write above it", got)
	}
}
