// SPDX-License-Identifier: Apache-2.0

package matrix

// width is the number of rows in a panel: those of an AVX-512 register.
const width = 8

// Panels is a matrix in panels of eight rows, each of them stored column after column. Numbers of
// rows and columns are rounded up to multiples of eight; what is beyond the matrix has to remain 0.
type Panels struct {
	data    []float64
	columns int
	panels  int
	stride  int // from a panel to the next
}

// NewPanels returns a matrix of zeros.
func NewPanels(rows, columns int) *Panels {
	p := &Panels{columns: columns, panels: padded(rows) / width, stride: padded(columns) * width}
	p.data = make([]float64, p.panels*p.stride)
	return p
}

func padded(n int) int { return (n + width - 1) / width * width }

// Index returns where in Data an element is.
func (p *Panels) Index(row, column int) int { return row/width*p.stride + column*width + row%width }

// Data returns the elements.
func (p *Panels) Data() []float64 { return p.data }

// panel returns the first columns of a panel.
func (p *Panels) panel(i, columns int) []float64 { return p.data[i*p.stride:][:columns*width] }

// Vector returns zeros, as many as the rows of the matrix rounded up.
func (p *Panels) Vector() []float64 { return make([]float64, p.panels*width) }

// Row returns zeros, as many as the columns of the matrix rounded up.
func (p *Panels) Row() []float64 { return make([]float64, p.stride/width) }

// SetColumn sets a column to f·x, x being as long as a Vector.
func (p *Panels) SetColumn(column int, x []float64, f float64) {
	for i := range p.panels {
		to := (*[width]float64)(p.data[i*p.stride+column*width:])
		for r, v := range (*[width]float64)(x[i*width:]) {
			to[r] = f * v
		}
	}
}

// AddTimes adds the product of the matrix with x, which is as long as a Row, to a Vector.
func (p *Panels) AddTimes(to, x []float64) {
	for i := range p.panels {
		out := (*[width]float64)(to[i*width:])
		times(out, p.panel(i, len(x)), x, 1)
	}
}

// TransposedTimes sets a Row to the product of the transposed matrix with x, a Vector.
func (p *Panels) TransposedTimes(to, x []float64) {
	if p.panels == 0 {
		clear(to)
		return
	}
	for j := 0; j < len(to); j += width {
		transposed((*[width]float64)(to[j:]), p.data[j*width:], p.stride, x)
	}
}
