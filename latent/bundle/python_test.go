// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"encoding/json"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what the bundles of python/tests encode and decode")

// TestEncodingsForPython: the tests of the Python package hold it to what this package makes
// of vectors of all sizes with the bundles there.
func TestEncodingsForPython(t *testing.T) {
	const data = "../../python/tests/data"
	folders, err := filepath.Glob(filepath.Join(data, "bundles", "*"))
	if err != nil {
		t.Fatal(err)
	}
	// By bundle: rows of features, their encodings without noise, and what is decoded from these.
	codes := map[string]map[string][][]float64{}
	file := filepath.Join(data, "encodings.json")
	if !*update {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &codes); err != nil {
			t.Fatal(err)
		}
	}
	for i, folder := range folders {
		name := filepath.Base(folder)
		if strings.HasSuffix(name, "-false") {
			continue
		}
		b, err := Read(folder)
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			codes[name] = map[string][][]float64{"inputs": vectors(rand.New(rand.NewPCG(7, uint64(i))), b.Features())}
		}
		c := codes[name]
		for k, x := range c["inputs"] {
			u, err := b.Encode(nil, x)
			if err != nil {
				t.Fatal(err)
			}
			y, err := b.Decode(nil, u)
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				c["encoded"], c["decoded"] = append(c["encoded"], u), append(c["decoded"], y)
			}
			near(t, name, u, c["encoded"][k], 1e-12)
			near(t, name, y, c["decoded"][k], 1e-10)
		}
	}
	if len(codes) < 9 {
		t.Errorf("%d bundles", len(codes))
	}
	if *update {
		text, err := json.Marshal(codes)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(text, '\n'), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// vectors returns some of all sizes.
func vectors(r *rand.Rand, n int) (out [][]float64) {
	for range 30 {
		x := make([]float64, n)
		size := math.Exp(3 * r.NormFloat64())
		for j := range x {
			x[j] = size * r.NormFloat64()
		}
		out = append(out, x)
	}
	return out
}

func near(t *testing.T, name string, got, want []float64, tolerance float64) {
	t.Helper()
	for k := range want {
		if !(math.Abs(got[k]-want[k]) <= tolerance*math.Max(1, math.Abs(want[k]))) {
			t.Fatalf("%s: %v, want %v", name, got, want)
		}
	}
}
