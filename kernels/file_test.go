// SPDX-License-Identifier: Apache-2.0

package kernels

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
	path := filepath.Join(dir, "kernel.json")
	kernel := newKernel(t, exponentialSpec(t, 1, 0.45, Queries{}, 0, 0.5, 1))
	for range 2 { // the second time it is replaced
		if err := proof.WriteFile(path, kernel); err != nil {
			t.Fatal(err)
		}
	}
	back, err := proof.ReadFile(path, Decode)
	if err != nil {
		t.Fatal(err)
	}
	if kernelText(t, back) != kernelText(t, kernel) {
		t.Error("another kernel came back")
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("%d files, %v, want the kernel alone", len(files), err)
	}
}

// TestFileErrors: errors name the file, once, and say what they are of.
func TestFileErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kernel.json")
	if _, err := proof.ReadFile(path, Decode); !errors.Is(err, fs.ErrNotExist) || strings.Count(err.Error(), path) != 1 {
		t.Errorf("no file: %v", err)
	}
	if err := os.WriteFile(path, []byte(smallKernel(t)[:100]), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := proof.ReadFile(path, Decode); !errors.Is(err, proof.ErrFormat) || strings.Count(err.Error(), path) != 1 {
		t.Errorf("half a file: %v", err)
	}
}
