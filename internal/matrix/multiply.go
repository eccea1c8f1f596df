// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
)

// Rows is a matrix that is stored row after row, without gaps, or its transpose.
type Rows struct {
	Data       []float64
	Count      int // of the rows as they are stored
	Transposed bool
}

// Multiplier multiplies matrices that are stored by rows. It keeps its buffers, and serves one goroutine. The zero
// value is ready for use.
type Multiplier struct{ left, right []float64 }

// divided is the number of products from which the work is worth dividing among the cores.
const divided = 1 << 19

// Add adds a·b to out, which is stored by rows. Each element of the product is one sum in the order of a's
// columns, however the work is divided.
func (m *Multiplier) Add(out []float64, a, b Rows) {
	rows, inner := a.shape()
	again, columns := b.shape()
	if again != inner || len(out) != rows*columns {
		panic(fmt.Sprintf("matrix: %d × %d by %d × %d into %d numbers", rows, inner, again, columns, len(out)))
	}
	if len(out) == 0 || inner == 0 {
		return
	}
	height, size := padded(rows)/width, inner*width
	m.left = slices.Grow(m.left[:0], height*size)[:height*size]
	m.right = slices.Grow(m.right[:0], padded(columns)*inner)[:padded(columns)*inner]
	b.pack(m.right, 0, columns, inner, !b.Transposed)
	if rows*columns*inner < divided {
		m.band(out, a, rows, columns, inner, 0, height)
		return
	}
	count := min(height, runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	for k := range count {
		all.Go(func() { m.band(out, a, rows, columns, inner, k*height/count, (k+1)*height/count) })
	}
	all.Wait()
}

// shape returns the numbers of rows and columns.
func (r Rows) shape() (rows, columns int) {
	if r.Count == 0 || len(r.Data)%r.Count != 0 {
		panic(fmt.Sprintf("matrix: %d numbers in %d rows", len(r.Data), r.Count))
	}
	if rows, columns = r.Count, len(r.Data)/r.Count; r.Transposed {
		return columns, rows
	}
	return rows, columns
}

// band adds the product in the panels of rows from one to another.
func (m *Multiplier) band(out []float64, a Rows, rows, columns, inner, from, to int) {
	size := inner * width
	a.pack(m.left[from*size:to*size], from*width, min(rows, to*width), inner, a.Transposed)
	for j := 0; j < columns; j += width {
		right := m.right[j*inner:][:size]
		for i := from; i < to; i++ {
			var t tile // a row of it is one of out
			product(&t, right, m.left[i*size:][:size], 1)
			for r := range min(width, rows-i*width) {
				line := out[(i*width+r)*columns+j:][:min(width, columns-j)]
				for c, v := range t[r*width:][:len(line)] {
					line[c] += v
				}
			}
		}
	}
}

// pack writes panels of eight lines each, of those from one to another. If they go along the rows as they are stored, an element of
// all eight lines is a piece of one row; else each line is a row. The last panel is filled with zeros.
func (r Rows) pack(panels []float64, from, to, inner int, along bool) {
	stride := len(r.Data) / r.Count
	for ; from < to; from, panels = from+width, panels[inner*width:] {
		lines := min(width, to-from)
		if lines < width {
			clear(panels[:inner*width])
		}
		switch {
		case along && lines == width:
			for l := range inner {
				*(*[width]float64)(panels[l*width:]) = [width]float64(r.Data[l*stride+from:])
			}
		case along:
			for l := range inner {
				copy(panels[l*width:][:lines], r.Data[l*stride+from:])
			}
		case lines == width:
			interleave(panels, r.Data[from*stride:], stride, inner)
		default:
			for k := range lines {
				for l, v := range r.Data[(from+k)*stride:][:inner] {
					panels[l*width+k] = v
				}
			}
		}
	}
}

// interleave packs eight rows, each a stride behind the other.
func interleave(panel, data []float64, stride, inner int) {
	var rows [width][]float64
	for k := range rows {
		rows[k] = data[k*stride:][:inner]
	}
	a, b, c, d, e, f, g, h := rows[0], rows[1], rows[2], rows[3], rows[4], rows[5], rows[6], rows[7]
	for l := range a {
		*(*[width]float64)(panel[l*width:]) = [width]float64{a[l], b[l], c[l], d[l], e[l], f[l], g[l], h[l]}
	}
}
