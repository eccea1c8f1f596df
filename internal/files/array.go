// SPDX-License-Identifier: Apache-2.0

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
	// maxHeader bounds a header; that of a float64 matrix has some 60 bytes, padded to 118.
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

// entry is one of the dictionary that a header is, up to what ends it. Python allows any
// blanks between its parts, and either kind of quotes.
var entry = regexp.MustCompile(`^\s*(?:'(\w+)'|"(\w+)")\s*:\s*(?:'([^'"\\]*)'|"([^'"\\]*)"|(True|False)|\(([0-9,\s]*)\))\s*([,}])`)

// decimal is an integer as Python writes one.
var decimal = regexp.MustCompile(`^(?:0|[1-9][0-9]{0,17})$`)

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

// decodeHeader reads what is before the numbers. The product of the lengths is at most most.
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
	fields, ok := dictionary(header)
	switch descr, order := fields["descr"], fields["fortran_order"]; {
	case !ok:
		return nil, check.Errorf("", ErrArray, "header = %.80q, want that of an array", header)
	case descr.text != float64LE:
		return nil, check.Errorf("", ErrArray, "descr = %.20q, want %q (float64, little-endian)", descr.text, float64LE)
	case order.flag != "False":
		return nil, check.Errorf("", ErrArray, "fortran_order = %.20q, want False", order.flag)
	}
	if shape, ok = lengths(fields["shape"].tuple, most); !ok {
		return nil, check.Errorf("", ErrArray, "shape = (%.60s), want a tuple of positive lengths with a product of at most %d", fields["shape"].tuple, most)
	}
	return shape, nil
}

// literal is a value of a header: one of the three.
type literal struct{ text, flag, tuple string }

// dictionary returns the three fields of a header, each of which is there once, in any order.
func dictionary(header []byte) (fields map[string]literal, ok bool) {
	rest := strings.TrimLeft(string(header), blanks)
	if !strings.HasPrefix(rest, "{") {
		return nil, false
	}
	rest = rest[1:]
	fields = make(map[string]literal)
	for end := ","; end == ","; {
		if after, closed := strings.CutPrefix(strings.TrimLeft(rest, blanks), "}"); closed && len(fields) > 0 {
			rest = after
			break
		}
		m := entry.FindStringSubmatch(rest)
		if m == nil {
			return nil, false
		}
		name := m[1] + m[2]
		if _, twice := fields[name]; twice {
			return nil, false
		}
		fields[name] = literal{m[3] + m[4], m[5], m[6]}
		rest, end = rest[len(m[0]):], m[7]
	}
	for _, name := range []string{"descr", "fortran_order", "shape"} {
		if _, there := fields[name]; !there {
			return nil, false
		}
	}
	return fields, len(fields) == 3 && strings.Trim(rest, blanks) == ""
}

// blanks are what may stand between the parts of a header.
const blanks = " \t\n\r\f"

// lengths returns those of a tuple of Python, in which one number alone has a comma behind it.
func lengths(tuple string, most int) (shape []int, ok bool) {
	parts := strings.Split(tuple, ",")
	last := len(parts) - 1
	switch {
	case last == 0: // a number in parentheses
		return nil, false
	case strings.Trim(parts[last], blanks) == "":
		parts = parts[:last]
	}
	entries := 1
	for _, part := range parts {
		part = strings.Trim(part, blanks)
		v, err := strconv.Atoi(part)
		if err != nil || !decimal.MatchString(part) || v < 1 || v > most/entries {
			return nil, false
		}
		entries *= v
		shape = append(shape, v)
	}
	return shape, true
}

func readExactly(r io.Reader, n int) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, int64(n)))
	if err == nil && len(b) < n {
		err = check.Errorf("", ErrArray, "the file ends early")
	}
	return b, err
}
