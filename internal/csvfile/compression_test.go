// SPDX-License-Identifier: Apache-2.0

package csvfile

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// pack compresses text as a file of the name.
func pack(t testing.TB, text, name string) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := Compress(&b, name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestCompressRoundTrip(t *testing.T) {
	text := "\xef\xbb\xbfa,b\n" + strings.Repeat("1,2\n", 100_000)
	for name, magic := range map[string][]byte{"x.csv.gz": gzipMagic, "x.csv.zst": zstdMagic, "x.csv": []byte("\xef\xbb\xbf"), "gz": []byte("\xef\xbb\xbf")} {
		packed := pack(t, text, name)
		if !bytes.HasPrefix(packed, magic) {
			t.Errorf("%s starts with %x, want %x", name, packed[:4], magic)
		}
		records, back, err := readAll(packed)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(records) != 100_001 || string(back) != text {
			t.Errorf("%s: %d records and %d bytes, want 100001 and %d", name, len(records), len(back), len(text))
		}
	}
}

// TestDamaged cuts and changes compressed files, and has errors of the file below.
func TestDamaged(t *testing.T) {
	read := func(r io.Reader) error {
		c, err := NewReader(r, Options{})
		if err != nil {
			return err
		}
		defer c.Close()
		for err == nil {
			err = c.Next()
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}
	for name, kind := range map[string]string{"x.gz": "gzip", "x.zst": "zstd"} {
		packed := pack(t, "a,b\n1,2\n", name)
		for n := len(zstdMagic); n < len(packed); n++ {
			wantError(t, read(bytes.NewReader(packed[:n])), "the "+kind+" data ")
		}
		last := bytes.Clone(packed)
		last[len(last)-5] ^= 1 // in a checksum
		wantError(t, read(bytes.NewReader(last)), "the "+kind+" data is damaged: ")
		broken := io.MultiReader(bytes.NewReader(packed[:len(packed)-3]), iotest.ErrReader(context.Canceled))
		if err := read(broken); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v, want that of the file", name, err)
		}
		wantError(t, read(bytes.NewReader(pack(t, string(packed), name))), "compressed with "+kind+" twice")
	}
	wantError(t, read(iotest.ErrReader(context.Canceled)), "canceled")
}

// TestOtherFiles has the first bytes of files that are no text.
func TestOtherFiles(t *testing.T) {
	for head, want := range map[string]string{
		"PK\x03\x04\x14":     "a ZIP archive",
		"BZh91AY&SY":         "bzip2",
		"\xfd7zXZ\x00\x00":   "xz",
		"PAR1\x15\x04":       "a Parquet file",
		"\xff\xfea\x00":      "UTF-16",
		"\xd0\xcf\x11\xe0ab": "an old spreadsheet",
	} {
		_, err := NewReader(strings.NewReader(head), Options{})
		wantError(t, err, want)
	}
	for _, header := range []string{"PAR1,b\n", "BZh9,b\n", "PK,b\n"} {
		_, err := open(t, header, Options{}).Header()
		wantError(t, err, "")
	}
}

// FuzzCompressed reads anything behind the first bytes of compressed data: it ends,
// with records or an error.
func FuzzCompressed(f *testing.F) {
	f.Add(pack(f, "a,b\n1,2\n", "x.gz"))
	f.Add(pack(f, "a,b\n1,2\n", "x.zst"))
	f.Fuzz(func(t *testing.T, packed []byte) {
		_, is := compressed(packed)
		if records, back, err := readAll(packed); is && err == nil && len(records) > len(back) {
			t.Fatalf("%d records in %d bytes", len(records), len(back))
		}
	})
}
