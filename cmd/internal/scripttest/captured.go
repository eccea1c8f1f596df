// SPDX-License-Identifier: Apache-2.0

package scripttest

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/cmd/internal/shell"
)

// Captured are options of a command with streams that are kept, for runs without flags and
// without a process.
type Captured struct {
	shell.Common
	Stdout, Stderr *bytes.Buffer
}

// Capture returns options with this standard input.
func Capture(stdin string) Captured {
	c := Captured{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}
	c.Streams = &shell.Streams{In: strings.NewReader(stdin), Out: c.Stdout, Err: c.Stderr}
	return c
}

// CaptureJSON returns options for a JSON object.
func CaptureJSON() Captured {
	c := Capture("")
	c.JSON = true
	return c
}

// Object returns what was printed, with the schema that all objects have, and wants keys.
func (c Captured) Object(t *testing.T, keys ...string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := errors.Join(CheckJSON(c.Stdout.Bytes()), json.Unmarshal(c.Stdout.Bytes(), &v)); err != nil {
		t.Fatalf("%v in %q", err, c.Stdout)
	}
	if v["schema"] != float64(shell.Schema) {
		t.Errorf("schema = %v, want %d", v["schema"], shell.Schema)
	}
	WantKeys(t, v, keys...)
	return v
}

// WantKeys wants an object to have keys.
func WantKeys(t *testing.T, v map[string]any, keys ...string) {
	t.Helper()
	for _, k := range keys {
		if _, ok := v[k]; !ok {
			t.Errorf("key %q is missing in %v", k, v)
		}
	}
}

// TextFile writes a text into a folder of its own.
func TextFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
