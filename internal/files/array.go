package files

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/noisewright/noisewright/internal/check"
)

// ErrArray marks what is not such an array, for errors.Is.
var ErrArray = errors.New("malformed array")

const (
	magic = "\x93NUMPY"
	// maxHeader bounds the text of a header; that of a float64 matrix has some 60
	// bytes, padded to 118.
	maxHeader = 1 << 12
	float64LE = "<f8"
)

// EncodeArray writes numbers of the given shape, in C order, as version 1.0. Any float64 is
// written as it is. The error is that of w.
func EncodeArray(w io.Writer, shape []int, data []float64) error {
	tuple := strings.ReplaceAll(strings.Trim(fmt.Sprint(shape), "[]"), " ", ", ")
	if len(shape) == 1 {
		tuple += "," // as Python writes it
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", float64LE, tuple)
	// The numbers begin at a multiple of 64 bytes, after a newline.
	const before = len(magic) + 4
	header += strings.Repeat(" ", 63-(before+len(header))%64) + "\n"
	b := append([]byte(magic), 1, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(header))) //nolint:gosec // some 118
	b, err := binary.Append(append(b, header...), binary.LittleEndian, data)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// dictionary is the header as NumPy writes it; its keys are always sorted.
var dictionary = regexp.MustCompile(`^\{'descr': '([^']*)', 'fortran_order': (True|False), 'shape': \(([0-9, ]*)\),? *\} *\n?$`)

// DecodeArray reads an array of at most so many float64s in C order, of version 1.0 or 2.0,
// with nothing after it. The shape, which is returned, has to be the given one, where -1 stands
// for any length from 1 on. No more memory is taken than a small multiple of what r holds.
// Errors wrap ErrArray, or are those of r.
func DecodeArray(r io.Reader, most int, want ...int) (data []float64, shape []int, err error) {
	shape, err = decodeHeader(r, most)
	if err != nil {
		return nil, nil, err
	}
	if !slices.EqualFunc(shape, want, func(s, w int) bool { return w < 0 || s == w }) {
		return nil, nil, check.Errorf("", ErrArray, "shape = %v, want %v (-1: any)", shape, want)
	}
	entries := 1
	for _, d := range shape {
		entries *= d
	}
	raw, err := readExactly(r, 8*entries)
	if err != nil {
		return nil, nil, err
	}
	if rest, err := io.ReadAll(io.LimitReader(r, 1)); err != nil || len(rest) > 0 {
		return nil, nil, cmp.Or(err, check.Errorf("", ErrArray, "data after the last of %d numbers", entries))
	}
	data = make([]float64, entries)
	_, err = binary.Decode(raw, binary.LittleEndian, data)
	return data, shape, err
}

// decodeHeader reads what is before the numbers. The product of the lengths of the shape is
// at most most.
func decodeHeader(r io.Reader, most int) (shape []int, err error) {
	start, err := readExactly(r, len(magic)+2)
	if err != nil {
		return nil, err
	}
	if string(start[:len(magic)]) != magic {
		return nil, check.Errorf("", ErrArray, "not a NumPy file")
	}
	major, minor := start[len(magic)], start[len(magic)+1]
	if (major != 1 && major != 2) || minor != 0 {
		return nil, check.Errorf("", ErrArray, "version = %d.%d, want 1.0 or 2.0", major, minor)
	}
	size, err := readExactly(r, 2*int(major)) // 2 bytes for version 1, 4 for version 2
	if err != nil {
		return nil, err
	}
	length := binary.LittleEndian.Uint32(append(size, 0, 0)[:4])
	if length > maxHeader {
		return nil, check.Errorf("", ErrArray, "header of %d bytes, want at most %d", length, maxHeader)
	}
	header, err := readExactly(r, int(length))
	if err != nil {
		return nil, err
	}
	m := dictionary.FindSubmatch(header)
	switch {
	case m == nil:
		return nil, check.Errorf("", ErrArray, "header = %.80q, want that of an array", header)
	case string(m[1]) != float64LE:
		return nil, check.Errorf("", ErrArray, "descr = %.20q, want %q (float64, little-endian)", m[1], float64LE)
	case string(m[2]) != "False":
		return nil, check.Errorf("", ErrArray, "fortran_order = True, want False")
	}
	entries := 1
	for _, d := range strings.Split(strings.TrimSuffix(string(m[3]), ","), ",") {
		v, err := strconv.Atoi(strings.TrimSpace(d))
		if err != nil || v < 1 || v > most/entries {
			return nil, check.Errorf("", ErrArray, "shape = (%.60s), want positive lengths with a product of at most %d", m[3], most)
		}
		entries *= v
		shape = append(shape, v)
	}
	return shape, nil
}

// readExactly reads n bytes.
func readExactly(r io.Reader, n int) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, int64(n)))
	if err == nil && len(b) < n {
		err = check.Errorf("", ErrArray, "the file ends early")
	}
	return b, err
}
