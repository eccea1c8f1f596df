package vlm

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/noisewright/noisewright/encoder"
	"github.com/noisewright/noisewright/encoder/internal/dense"
	"github.com/noisewright/noisewright/internal/check"
)

// Column is what is known in public of a feature.
type Column struct {
	Name string
	// Lower and Upper are the range of a number.
	Lower, Upper float64
	// Categories is how many values 0, 1, … a feature has that is none; 0 for a number.
	Categories int
}

// Columns are features, as many as a matrix of people has columns: numbers, and categories
// as their indices.
type Columns []Column

// Ranges returns numbers with the least and the largest value of each column of x for a
// range, as the paper takes them from the people who trained the network.
func Ranges(x encoder.Matrix) Columns {
	c := make(Columns, x.Cols)
	for j := range c {
		c[j] = Column{Lower: math.Inf(1), Upper: math.Inf(-1)}
		for i := range x.Rows {
			v := x.Data[i*x.Stride+j]
			c[j].Lower, c[j].Upper = min(c[j].Lower, v), max(c[j].Upper, v)
		}
	}
	return c
}

// Noise sets dst to what the paper calls direct noising, which may be x: the n columns
// get ε/n each, numbers as Laplace noise of scale n·(Upper-Lower)/ε after clipping to their
// range, and are clipped again, categories as randomized response. It is FOR STUDIES ONLY.
func (c Columns) Noise(dst, x encoder.Matrix, epsilon float64, r *rand.Rand) error {
	if !(epsilon > 0) {
		return check.Field("vlm", "epsilon", epsilon, "a number above 0")
	}
	share := epsilon / float64(len(c))
	for i := range x.Rows {
		for j, v := range dense.Row(x, i) {
			f := &c[j]
			at := i*dst.Stride + j
			if f.Categories > 0 {
				dst.Data[at] = float64(Flip([]int{int(v)}, f.Categories, FlipProbability(f.Categories, share), r)[0])
				continue
			}
			v = min(max(v, f.Lower), f.Upper) + laplace(r)*(f.Upper-f.Lower)/share
			dst.Data[at] = min(max(v, f.Lower), f.Upper)
		}
	}
	return nil
}

// OneHot returns the numbers mapped from their range to -1 … 1 and each category as a column
// of 0 and 1.
func (c Columns) OneHot(x encoder.Matrix) (encoder.Matrix, error) {
	width := 0
	for _, f := range c {
		width += max(1, f.Categories)
	}
	out := dense.NewMatrix(x.Rows, width)
	for i := range x.Rows {
		at := i * width
		for j, v := range dense.Row(x, i) {
			f := &c[j]
			if f.Categories == 0 {
				if f.Upper > f.Lower {
					out.Data[at] = 2*(v-f.Lower)/(f.Upper-f.Lower) - 1
				}
				at++
				continue
			}
			k := int(v)
			if k < 0 || k >= f.Categories || float64(k) != v {
				return encoder.Matrix{}, check.Field("vlm", fmt.Sprintf("row %d of %s", i+1, f.Name), v, fmt.Sprintf("a category from 0 to %d", f.Categories-1))
			}
			out.Data[at+k] = 1
			at += f.Categories
		}
	}
	return out, nil
}

// laplace returns a draw of scale 1. The uniform number is inside of (-1/2, 1/2), where the
// logarithm is finite: a draw at its end would be infinite.
func laplace(r *rand.Rand) float64 {
	u := (float64(r.Uint64()>>12) + 0.5) / (1 << 52)
	if u < 0.5 {
		return math.Log(2 * u)
	}
	return -math.Log(2 - 2*u)
}
