// SPDX-License-Identifier: Apache-2.0

package concentration

import (
	"math"
	"math/cmplx"
)

// Family is the laws of errors, answer − value, of one person. It is safe for concurrent use.
//
// All numbers are in units of the largest standard deviation, and bounds for every law: the moments
// of values between two nodes are polynomials, of which the Bernstein coefficients are bounds.
type Family struct {
	unit  float64 // the largest standard deviation
	least float64 // the least one
	most  float64 // the largest |error|
	above float64 // the largest error, and below the largest of the other sign
	below float64

	skewness float64 // the largest |E error³|
	fourth   float64 // the largest E error⁴
	lyapunov float64 // the largest E|error|³/E error²

	errors        [][]float64 // of each node
	probabilities [][]float64
	terms         int // of characteristic functions that may be summed
}

// slack is above the relative rounding error of every number here, which is a sum of few thousands of
// products, or a float64 that stands for a weight.
const slack = 1e-9

// New returns the family of the laws of answers to the nodes: rows[i][j] is the probability of
// answers[j] to nodes[i], and the mean of the answers is the node. If mixed, values between two
// neighboring nodes are answered by one of the two, with probabilities that make the value their mean.
func New(answers, nodes []float64, rows [][]float64, mixed bool) *Family {
	f := &Family{probabilities: rows, terms: 1 << 26}
	moment := func(i int, at float64, power int) (sum float64) {
		for j, p := range rows[i] {
			sum += p * math.Pow(math.Abs(answers[j]-at), float64(power))
		}
		return sum
	}
	largest, least := 0.0, math.Inf(1)
	for i, x := range nodes {
		own := moment(i, x, 2)
		largest, least = max(largest, own), min(least, own)
		if mixed && i > 0 {
			largest = max(largest, between(moment(i-1, nodes[i-1], 2), own, x-nodes[i-1])) //nolint:gosec // i > 0
		}
	}
	f.unit = math.Sqrt(largest) * (1 + slack)
	if !(f.unit > 0) {
		return f // answers are the values
	}
	f.least = math.Sqrt(least) / f.unit * (1 - slack)
	for i, x := range nodes {
		own := make([]float64, len(answers))
		for j, y := range answers {
			own[j] = (y - x) / f.unit
			if rows[i][j] > 0 {
				f.above, f.below = max(f.above, own[j]), max(f.below, -own[j])
			}
		}
		f.errors = append(f.errors, own)
		f.cell(i, i, own, own)
	}
	for i := 1; mixed && i < len(nodes); i++ {
		left, right := make([]float64, len(answers)), make([]float64, len(answers))
		for j, y := range answers {
			left[j], right[j] = (y-nodes[i-1])/f.unit, (y-nodes[i])/f.unit
			if rows[i-1][j] > 0 || rows[i][j] > 0 {
				f.above, f.below = max(f.above, left[j]), max(f.below, -right[j])
			}
		}
		f.cell(i-1, i, left, right)
	}
	f.above, f.below = f.above*(1+slack), f.below*(1+slack)
	f.most = max(f.above, f.below)
	return f
}

// Within returns the family with fewer terms of characteristic functions that may be summed in a Radius, which
// may then be larger. There are some thousand for each node and answer.
func (f *Family) Within(terms int) *Family {
	g := *f
	g.terms = min(g.terms, terms)
	return &g
}

// between returns the largest variance of an answer by one of two laws, with the variances a and b
// and with means that are apart: that of (1−t)a + tb + t(1−t)·apart² for t from 0 to 1.
func between(a, b, apart float64) float64 {
	square := apart * apart
	t := min(max(0.5+(b-a)/(2*square), 0), 1)
	return (1-t)*a + t*b + t*(1-t)*square
}

// cell takes the moments of values from one node to another into the bounds: their errors are
// (1−t)·left + t·right by the law (1−t)·p + t·q.
func (f *Family) cell(i, k int, left, right []float64) {
	p, q := f.probabilities[i], f.probabilities[k]
	f.skewness = max(f.skewness, mixedMoment(p, q, left, right, 3))
	f.fourth = max(f.fourth, mixedMoment(p, q, left, right, 4))
	// |(1−t)x + ty|³ <= (1−t)|x|³ + t|y|³.
	var third [2][2]float64
	var variance [2]float64
	for j := range left {
		l, r := math.Pow(math.Abs(left[j]), 3), math.Pow(math.Abs(right[j]), 3)
		third[0][0] += p[j] * l
		third[0][1] += p[j] * r
		third[1][0] += q[j] * l
		third[1][1] += q[j] * r
		variance[0] += p[j] * left[j] * left[j]
		variance[1] += q[j] * right[j] * right[j]
	}
	top := max(third[0][0], (third[0][1]+third[1][0])/2, third[1][1])
	f.lyapunov = max(f.lyapunov, top/min(variance[0], variance[1])*(1+4*slack))
}

// mixedMoment bounds |E error^power| over t from 0 to 1: it is a polynomial of the degree power + 1, and
// nowhere larger than the largest of its coefficients in Bernstein's basis.
func mixedMoment(p, q, left, right []float64, power int) (most float64) {
	// own[k] and other[k] are the means of left^(power−k)·right^k by p and by q.
	own, other := make([]float64, power+1), make([]float64, power+1)
	for j := range left {
		product := math.Pow(left[j], float64(power))
		for k := 0; k <= power; k++ {
			if k > 0 {
				product = math.Pow(left[j], float64(power-k)) * math.Pow(right[j], float64(k))
			}
			own[k] += p[j] * product
			other[k] += q[j] * product
		}
	}
	size := 0.0
	for j, x := range left {
		size += (p[j] + q[j]) * math.Pow(max(math.Abs(x), math.Abs(right[j])), float64(power))
	}
	for k := 0; k <= power+1; k++ {
		sum := 0.0
		if k <= power {
			sum += choose(power, k) * own[k]
		}
		if k > 0 {
			sum += choose(power, k-1) * other[k-1]
		}
		most = max(most, math.Abs(sum)/choose(power+1, k))
	}
	return most + slack*size
}

func choose(n, k int) float64 {
	c := 1.0
	for i := range k {
		c = c * float64(n-i) / float64(i+1)
	}
	return c
}

// characteristic bounds |E exp(iw·error)| from above for every law of the family and every w from a
// to b. Between nodes the modulus is at most the larger one of the two; its slope is at most 1, the
// largest standard deviation.
func (f *Family) characteristic(a, b float64) (top float64) {
	w := (a + b) / 2
	for i, errors := range f.errors {
		var sum complex128
		for j, p := range f.probabilities[i] {
			sin, cos := math.Sincos(w * errors[j])
			sum += complex(p*cos, p*sin)
		}
		top = max(top, cmplx.Abs(sum))
	}
	return min(top+(b-a)/2+1e-12*(1+w), 1)
}
