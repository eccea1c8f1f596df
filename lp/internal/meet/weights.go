// SPDX-License-Identifier: Apache-2.0

package meet

import (
	"math"

	"github.com/noisewright/noisewright/internal/check"
	"github.com/noisewright/noisewright/tables"
)

// Matrix returns rows of zeros.
func Matrix(rows, columns int) [][]float64 {
	m := make([][]float64, rows)
	for i := range m {
		m[i] = make([]float64, columns)
	}
	return m
}

// Total returns the sum of numbers, added one after the other.
func Total(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum
}

// DualBits is the precision of the multipliers of a certificate: the prices of
// all shifts sum to less than 2^DualBits units.
const DualBits = 60

// Integers rounds multipliers down to whole units, without the zeros in front; m is nil
// if there is nothing else.
func Integers(y []float64, scale float64) (first int, m []int64) {
	for i, v := range y {
		n := int64(v * scale)
		if n == 0 && m == nil {
			first = i + 1
			continue
		}
		m = append(m, n)
	}
	return first, m
}

// Trimmed leaves out the zeros at the end.
func Trimmed(m []int64) []int64 {
	for len(m) > 0 && m[len(m)-1] == 0 {
		m = m[:len(m)-1]
	}
	return m
}

// Mirrored reports whether ascending numbers are their own mirror image, up to rounding.
func Mirrored(x []float64) bool {
	n := len(x)
	width := x[n-1] - x[0]
	for i := range x {
		if math.Abs((x[i]-x[0])-(x[n-1]-x[n-1-i])) > 1e-9*width {
			return false
		}
	}
	return true
}

// Rows rounds laws to weights. A share of the same uniform law in every row makes no divergence
// larger, and keeps a certain answer from needing a weight of 2^64.
func Rows(laws [][]float64, uniform float64) ([][]uint64, error) {
	rows := make([][]uint64, len(laws))
	for k, law := range laws {
		sum := Total(law)
		mixed := make([]float64, len(law))
		for j, m := range law {
			mixed[j] = (1-uniform)*m/sum + uniform/float64(len(law))
		}
		var err error
		if rows[k], _, err = tables.Quantize(mixed, 0); err != nil {
			return nil, check.Errorf("lp", nil, "%w", err)
		}
	}
	return rows, nil
}
