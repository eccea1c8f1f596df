package meet

import "math"

// dualBits is the precision of the multipliers of a certificate: the prices of
// all shifts sum to less than 2^dualBits units.
const DualBits = 60

// integers rounds multipliers down to whole units, without the zeros in front; m is nil
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

// trimmed leaves out the zeros at the end.
func Trimmed(m []int64) []int64 {
	for len(m) > 0 && m[len(m)-1] == 0 {
		m = m[:len(m)-1]
	}
	return m
}

// mirrored reports whether ascending numbers are their own mirror image, up to
// rounding.
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
