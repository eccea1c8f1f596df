// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
)

// FuzzTOML: whatever a file is, what is read of it is a JSON list of objects, each with the name of its table, or
// an error in one line.
func FuzzTOML(f *testing.F) {
	for _, text := range []string{
		"", "[a]\nkind = 'count'\n", "a = 1", "[a]\nx = nan", "[a.b]\nx = 1", "[[a]]\nx = 1", "[a]\nname = 'b'", "[\"x y\"]\nt = 1979-05-27T07:32:00Z",
		"[a]\n[b]\n", "a.b = 1", "[a]\nk = [1, {x = inf}]", "\xff", "[a]\nn = 9223372036854775807",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		in, err := tomlList(strings.NewReader(text))
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n") {
				t.Errorf("%q: %q", text, err)
			}
			return
		}
		out, _ := io.ReadAll(in)
		var list []map[string]any
		if err := json.Unmarshal(out, &list); err != nil {
			t.Fatalf("%q: %s: %v", text, out, err)
		}
		for _, t2 := range list {
			if _, ok := t2["name"].(string); !ok {
				t.Errorf("%q: %s has no name", text, out)
			}
		}
	})
}
