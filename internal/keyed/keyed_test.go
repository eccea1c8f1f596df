// SPDX-License-Identifier: Apache-2.0

package keyed

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"testing"
)

// TestSum: a sum is HMAC-SHA-256 (RFC 4231) of the texts, each behind its length in 8
// little-endian bytes.
func TestSum(t *testing.T) {
	s := Secret{1, 2, 3}
	mac := hmac.New(sha256.New, s[:])
	mac.Write([]byte("\x05\x00\x00\x00\x00\x00\x00\x00noise\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00x"))
	if got := s.Sum("noise", "", "x"); !hmac.Equal(got[:], mac.Sum(nil)) {
		t.Errorf("the sum is %s", hex.EncodeToString(got[:]))
	}
}

// TestSumsDiffer: the same texts repeat their sum, and no others have it.
func TestSumsDiffer(t *testing.T) {
	lists := [][]string{nil, {""}, {"", ""}, {"a"}, {"a", ""}, {"", "a"}, {"ab"}, {"a", "b"}, {"b", "a"}, {"a", "b", ""}, {"a\x00b"}, {"a\x01\x00\x00\x00\x00\x00\x00\x00b"}}
	seen := map[[Size]byte][]string{}
	for _, s := range []Secret{{1}, {2}, New(), New()} {
		for _, l := range lists {
			sum := s.Sum(l...)
			if other, ok := seen[sum]; ok || s.Sum(l...) != sum {
				t.Errorf("%q and %q have the same sum, or %q another one when asked again", l, other, l)
			}
			seen[sum] = l
		}
	}
}

// TestStream: a stream repeats, and another one is another.
func TestStream(t *testing.T) {
	s := New()
	read := func(texts ...string) []byte {
		b := make([]byte, 1000)
		if _, err := io.ReadFull(s.Stream(texts...), b); err != nil {
			t.Fatal(err)
		}
		return b
	}
	if !slices.Equal(read("a"), read("a")) || slices.Equal(read("a"), read("b")) {
		t.Error("a stream does not repeat, or two are equal")
	}
}
