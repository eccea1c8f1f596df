//go:build highswasm && unix

package highs

import (
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
	for dir, want := range map[string]bool{
		own: true, inSticky: true, link("toOwn", own): true,
		public: false, group: false, sticky: false, inPublic: false, link("toPublic", inPublic): false,
		filepath.Join(top, "none"): false,
	} {
		if got := trusted(dir); got != want {
			t.Errorf("trusted(%s) = %v, want %v", dir, got, want)
		}
	}
}
