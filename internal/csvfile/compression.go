// SPDX-License-Identifier: Apache-2.0

package csvfile

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// maxWindow bounds the memory of the zstd decoder, which the file chooses; it is the
// most that the zstd tool decodes unless told otherwise.
const maxWindow = 128 << 20

var (
	gzipMagic = []byte("\x1f\x8b")
	zstdMagic = []byte("\x28\xb5\x2f\xfd")
)

// other is a kind of file that is no text.
type other struct {
	magic []byte
	what  string
}

// others are the files that are taken for CSV files, by what they start with.
var others = []other{
	{gzipMagic, "compressed with gzip twice, want it compressed once"},
	{zstdMagic, "compressed with zstd twice, want it compressed once"},
	{[]byte("BZh91AY&SY"), "compressed with bzip2, want plain text, gzip or zstd"},
	{[]byte("\xfd7zXZ\x00"), "compressed with xz, want plain text, gzip or zstd"},
	{[]byte("PK\x03\x04"), "a ZIP archive, as spreadsheets are, want CSV text"},
	{[]byte("\xd0\xcf\x11\xe0"), "an old spreadsheet, want CSV text"},
	{[]byte("PAR1\x15"), "a Parquet file, want CSV text"},
	{[]byte("\xff\xfe"), "UTF-16 text, want UTF-8"},
	{[]byte("\xfe\xff"), "UTF-16 text, want UTF-8"},
}

const longestMagic = len("BZh91AY&SY")

// compressed says by its first bytes how data is compressed.
func compressed(head []byte) (name string, ok bool) {
	switch {
	case bytes.HasPrefix(head, gzipMagic):
		return "gzip", true
	case bytes.HasPrefix(head, zstdMagic):
		return "zstd", true
	}
	return "", false
}

// peek returns the first bytes of r, less than n only at the end of the data.
func peek(r *bufio.Reader, n int) ([]byte, error) {
	head, err := r.Peek(n)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return head, nil
}

// decompressed returns the text of r, perhaps in gzip or zstd, and how to release what that takes.
func decompressed(r io.Reader) (text *bufio.Reader, end func(), err error) {
	end = func() {}
	source := &source{Reader: r}
	text = bufio.NewReaderSize(source, bufferSize)
	head, err := peek(text, len(zstdMagic))
	if err != nil {
		return nil, nil, err
	}
	if name, ok := compressed(head); ok {
		d := &decoder{name: name, source: source}
		if d.Reader, end, err = d.open(text); err != nil {
			return nil, nil, d.cause(err)
		}
		text = bufio.NewReaderSize(d, bufferSize)
	}
	if head, err = peek(text, longestMagic); err != nil {
		end()
		return nil, nil, err
	}
	for _, o := range others {
		if bytes.HasPrefix(head, o.magic) {
			end()
			return nil, nil, errors.New("the file is " + o.what)
		}
	}
	return text, end, nil
}

// source remembers the error of a file, which its decoder may have hidden.
type source struct {
	io.Reader
	err error // other than io.EOF
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// decoder tells errors of compressed data from those of the file.
type decoder struct {
	io.Reader
	name   string
	source *source
}

func (d *decoder) open(r io.Reader) (text io.Reader, end func(), err error) {
	if d.name == "gzip" {
		text, err = gzip.NewReader(r)
		return text, func() {}, err
	}
	// With one goroutine decoding is in order and in the caller's, and takes the least memory.
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, nil, err
	}
	return z, z.Close, nil
}

// Read implements io.Reader.
func (d *decoder) Read(p []byte) (int, error) {
	n, err := d.Reader.Read(p)
	return n, d.cause(err)
}

// cause is what went wrong: io.EOF stays what it is.
func (d *decoder) cause(err error) error {
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return err
	case d.source.err != nil:
		return d.source.err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the %s data ends early", d.name)
	}
	return fmt.Errorf("the %s data is damaged: %w", d.name, err)
}

// Compress returns a writer to w that compresses as the name of the file asks: with gzip if it ends
// in .gz, with zstd if in .zst, else not at all. Close ends the data and leaves w open.
func Compress(w io.Writer, name string) (io.WriteCloser, error) {
	switch {
	case strings.HasSuffix(name, ".gz"):
		return gzip.NewWriter(w), nil
	case strings.HasSuffix(name, ".zst"):
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	}
	return plainWriter{w}, nil
}

type plainWriter struct{ io.Writer }

// Close implements io.Closer.
func (plainWriter) Close() error { return nil }
