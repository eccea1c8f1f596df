// SPDX-License-Identifier: Apache-2.0

package idx

import (
	"bytes"
	"compress/gzip"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/noisewright/noisewright/internal/check"
)

// file is two images of three by one pixels.
var file = []byte{0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 1, 10, 20, 30, 40, 50, 60}

func TestRead(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(file); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for _, content := range [][]byte{file, packed.Bytes()} {
		a, err := Read(bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(a.Dims, []int{2, 3, 1}) || !slices.Equal(a.Data, []byte{10, 20, 30, 40, 50, 60}) {
			t.Errorf("read %v", a)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	change := func(at int, b byte) []byte {
		c := slices.Clone(file)
		c[at] = b
		return c
	}
	for _, c := range []struct {
		content []byte
		want    string
	}{
		{nil, "it ends early"},
		{file[:9], "it ends early"},
		{file[:20], "it ends after 4 of 6 entries"},
		{append(slices.Clone(file), 7), "it goes on after its 6 entries"},
		{change(0, 1), "want 00 00, a type and a number of dimensions"},
		{change(2, 13), "its entries are of the type 0x0d"},
		{change(7, 0), "dimension 1 is 0, want at least 1"},
		{change(4, 255), "dimension 1 is 4278190082, want at least 1 and at most"},
		{[]byte{0x1f, 0x8b, 0, 0}, "not an IDX file"},
	} {
		a, err := Read(bytes.NewReader(c.content))
		if a != nil || !errors.Is(err, check.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Read(% x) = %v, %v, want an error with %q", c.content, a, err, c.want)
		}
	}
}

func TestLogit(t *testing.T) {
	if lo, hi := Logit(0, 0.05), Logit(255, 0.05); math.Abs(lo+2.9444389791664403) > 1e-14 || math.Abs(hi+lo) > 1e-14 {
		t.Errorf("Logit spans %v to %v, want -2.944… to 2.944…", lo, hi)
	}
}
