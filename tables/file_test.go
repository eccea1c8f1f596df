// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/proof"
)

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "table.json")
	table := geometricTable(t, 1, 0.1, 2)
	for range 2 { // the second time it is replaced
		if err := proof.WriteFile(path, table); err != nil {
			t.Fatal(err)
		}
	}
	back, err := proof.ReadFile(path, Decode)
	if err != nil {
		t.Fatal(err)
	}
	if encoded(t, back) != encoded(t, table) {
		t.Error("another table came back")
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("%d files, %v, want the table alone", len(files), err)
	}
}

// TestFileErrors: errors name the file, once, and say what they are of.
func TestFileErrors(t *testing.T) {
	dir := t.TempDir()
	cut := filepath.Join(dir, "cut.json")
	if err := os.WriteFile(cut, []byte(smallFile(t)[:100]), 0o600); err != nil {
		t.Fatal(err)
	}
	none := filepath.Join(dir, "none", "table.json")
	for _, c := range []struct {
		path string
		err  error
		want error
	}{
		{cut, second(proof.ReadFile(cut, Decode)), proof.ErrFormat},
		{none, second(proof.ReadFile(none, Decode)), fs.ErrNotExist},
		{none, proof.WriteFile(none, geometricTable(t, 1, 0.1, 1)), fs.ErrNotExist},
		{dir, proof.WriteFile(dir, geometricTable(t, 1, 0.1, 1)), nil},
	} {
		if c.err == nil || c.want != nil && !errors.Is(c.err, c.want) || strings.Count(c.err.Error(), c.path) != 1 {
			t.Errorf("%s: error %v, want %v and the name of the file", c.path, c.err, c.want)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("%d files, %v, want nothing left behind", len(files), err)
	}
}

func second[T any](_ T, err error) error { return err }
