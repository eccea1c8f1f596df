// SPDX-License-Identifier: Apache-2.0

// Package idx reads arrays of bytes in the IDX format, in which MNIST and its relatives are
// distributed (Y. LeCun, C. Cortes and C. J. C. Burges, "The MNIST database"): two zero
// bytes, the type of the entries, the number of dimensions, each dimension as a big-endian
// 32-bit number, and the entries, the last dimension running fastest.
package idx

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/noisewright/noisewright/internal/check"
)

// maxEntries bounds what a file can make a reader allocate.
const maxEntries = 1 << 30

// unsignedByte is the type of entries that is read; the format has five others.
const unsignedByte = 0x08

// Array is an array of bytes. It is a plain value.
type Array struct {
	Dims []int
	Data []byte // the product of Dims, the last one running fastest
}

// Read reads an array, plain or compressed with gzip, to the end of r.
func Read(r io.Reader) (*Array, error) {
	b := bufio.NewReader(r)
	if head, err := b.Peek(2); err == nil && bytes.Equal(head, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, malformed("%w", err)
		}
		return read(z)
	}
	return read(b)
}

func read(r io.Reader) (*Array, error) {
	const most = 4 + 4*math.MaxUint8 + maxEntries
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, malformed("%w", err)
	}
	if len(text) < 4 {
		return nil, malformed("it ends early")
	}
	magic, text := text[:4], text[4:]
	if magic[0] != 0 || magic[1] != 0 || magic[3] == 0 {
		return nil, malformed("it begins with the bytes % x, want 00 00, a type and a number of dimensions", magic)
	}
	if magic[2] != unsignedByte {
		return nil, malformed("its entries are of the type 0x%02x, want 0x%02x, unsigned bytes", magic[2], unsignedByte)
	}
	a, entries := &Array{Dims: make([]int, magic[3])}, 1
	for i := range a.Dims {
		if len(text) < 4 {
			return nil, malformed("it ends early")
		}
		n := binary.BigEndian.Uint32(text)
		if n == 0 || int64(n) > maxEntries/int64(entries) {
			return nil, malformed("dimension %d is %d, want at least 1 and at most %d entries in all", i+1, n, maxEntries)
		}
		a.Dims[i], text = int(n), text[4:]
		entries *= int(n)
	}
	switch {
	case err != nil:
		return nil, malformed("it ends early")
	case len(text) < entries:
		return nil, malformed("it ends after %d of %d entries", len(text), entries)
	case len(text) > entries:
		return nil, malformed("it goes on after its %d entries", entries)
	}
	a.Data = text
	return a, nil
}

func malformed(format string, args ...any) error {
	return check.Errorf("idx", check.ErrInvalid, "not an IDX file of bytes: %w", fmt.Errorf(format, args...))
}

// Logit maps a byte v to the log-odds of alpha + (1 - 2·alpha)·v/255, which are finite for
// 0 < alpha < 1/2: how pixels are given to a Gaussian model.
func Logit(v byte, alpha float64) float64 {
	p := alpha + (1-2*alpha)*float64(v)/math.MaxUint8
	return math.Log(p) - math.Log1p(-p)
}
