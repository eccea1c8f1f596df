// SPDX-License-Identifier: Apache-2.0

package files_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/internal/files"
)

// TestVersion2 reads what NumPy writes for long headers.
func TestVersion2(t *testing.T) {
	var b bytes.Buffer
	if err := files.EncodeArray(&b, []int{2}, []float64{1.5, -2}); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	text = text[:6] + "\x02\x00" + text[8:10] + "\x00\x00" + text[10:]
	data, _, err := files.DecodeArray(strings.NewReader(text), 2, 2)
	if err != nil || !slices.Equal(data, []float64{1.5, -2}) {
		t.Errorf("%v, %v", data, err)
	}
}

// TestHeaders: what Python reads as the dictionary of an array is one, whoever wrote it, and
// nothing else is. The tests of the Python package hold it to the same list.
func TestHeaders(t *testing.T) {
	list, err := os.ReadFile("testdata/headers.json")
	if err != nil {
		t.Fatal(err)
	}
	var headers map[string]bool
	if err := json.Unmarshal(list, &headers); err != nil {
		t.Fatal(err)
	}
	for header, ok := range headers {
		text := "\x93NUMPY\x01\x00" + string([]byte{byte(len(header)), 0}) + header + strings.Repeat("\x00", 16)
		data, _, err := files.DecodeArray(strings.NewReader(text), 1<<20, 2)
		if ok != (err == nil && len(data) == 2) || !ok && !errors.Is(err, files.ErrArray) {
			t.Errorf("%q: %v, %v", header, data, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, c := range []struct {
		shape []int
		data  []float64
	}{{[]int{2, 2}, []float64{1, 2, 3, math.NaN()}}, {[]int{1}, []float64{0.5}}, {[]int{1, 3}, []float64{1, 2, 3}}} {
		var b bytes.Buffer
		if err := files.EncodeArray(&b, c.shape, c.data); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
		f.Add(bytes.Replace(b.Bytes(), []byte("("), []byte("(9999, "), 1))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, want := range [][]int{{-1}, {-1, -1}} {
			data, shape, err := files.DecodeArray(bytes.NewReader(text), 1<<20, want...)
			if err != nil {
				if data != nil || !errors.Is(err, files.ErrArray) {
					t.Fatalf("%v, %v", data, err)
				}
				continue
			}
			var b bytes.Buffer
			if err := files.EncodeArray(&b, shape, data); err != nil {
				t.Fatal(err)
			}
			back, _, err := files.DecodeArray(&b, 1<<20, shape...)
			if err != nil || len(back) != len(data) {
				t.Fatalf("written and read again: %v", err)
			}
			for i := range back {
				if math.Float64bits(back[i]) != math.Float64bits(data[i]) {
					t.Fatalf("entry %d = %v, want %v", i, back[i], data[i])
				}
			}
		}
	})
}

// TestLimit: a header that announces more than is wanted is refused before anything of
// that size is read, whatever the product of its lengths.
func TestLimit(t *testing.T) {
	var b bytes.Buffer
	if err := files.EncodeArray(&b, []int{2, 3}, make([]float64, 6)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		shape string
		most  int
		ok    bool
	}{{"(2, 3)", 6, true}, {"(2, 3)", 5, false}, {"(2, 3)", 0, false}, {"(4294967296, 4294967296)", 1 << 30, false}, {"(0, 3)", 6, false}, {"(-2, 3)", 6, false}} {
		text := strings.Replace(b.String(), "(2, 3)", c.shape, 1)
		_, _, err := files.DecodeArray(strings.NewReader(text), c.most, -1, -1)
		if (err == nil) != c.ok || err != nil && !errors.Is(err, files.ErrArray) {
			t.Errorf("%s of at most %d: %v", c.shape, c.most, err)
		}
	}
}
